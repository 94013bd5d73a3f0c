"""Views, in-place reshapes, storages, layouts of gradients, and refused writes: the rules of the documents."""

from __future__ import annotations

import re
import tracemalloc
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.autograd import enforce_grad_layout_policy, grad

f64 = adjoint.float64


def leaf(*shape: int) -> adjoint.Tensor:
    values = np.linspace(-1.0, 2.0, int(np.prod(shape))).reshape(shape)
    return adjoint.tensor(values, dtype=f64, requires_grad=True)


def slope(f: Any, x: adjoint.Tensor) -> np.ndarray:
    """The gradient of a weighted sum of f(x)."""
    y = f(x)
    weights = adjoint.tensor(np.cos(np.arange(y.numel())).reshape(tuple(y.shape)), dtype=y.dtype)
    return grad((y * weights).sum(), x)[0].numpy()


# memory -------------------------------------------------------------------------------------------------------------


def test_as_strided_reads_memory() -> None:
    x = adjoint.arange(6)
    assert x.as_strided((2, 2), (3, 1), 1).tolist() == [[1, 2], [4, 5]]
    assert x[2:].as_strided((2,), (1,)).tolist() == [2, 3]
    assert x[2:].as_strided((2,), (1,), 0).tolist() == [0, 1]
    v = x.view(2, 3).t().as_strided((2, 2), (1, 1))
    assert v._base is x and v.stride() == (1, 1) and v.storage_offset() == 0
    assert x.as_strided((2, 0), (1, 1), 100).shape == (2, 0)


@pytest.mark.parametrize("in_view", [False, True])
def test_strides_in_place_keep_the_memory(in_view: bool) -> None:
    x = adjoint.arange(8)
    y = x[1:] if in_view else x
    before = y.untyped_storage().data_ptr(), y.untyped_storage().nbytes()
    y.as_strided_((2,), (1,), 3)
    assert (y.untyped_storage().data_ptr(), y.untyped_storage().nbytes()) == before
    assert y.storage_offset() == 3 and y.tolist() == [3, 4]
    assert y.as_strided((2, 2), (2, 1), 0).tolist() == [[0, 1], [2, 3]]
    assert y.as_strided_((8,), (1,), 0).tolist() == list(range(8))


def test_gradient_of_as_strided_counts_every_element() -> None:
    x = leaf(6)
    expected = np.zeros(6)
    np.add.at(expected, np.array([0, 1, 1, 2]), np.cos(np.arange(4)))
    np.testing.assert_allclose(slope(lambda x: x.as_strided((2, 2), (1, 1)), x), expected)
    # elements of the tensor share memory, so each gets its part of the gradient
    z = leaf(1, 3)[0].expand(2, 3)
    (g,) = grad(z.as_strided((2, 2), (1, 1), 0).sum(), z)
    assert g.tolist() == [[0.5, 1.0, 0.5], [0.5, 1.0, 0.5]]


def test_writing_to_a_strided_view() -> None:
    x = leaf(6)
    y = x * 1
    y.as_strided((2,), (3,), 1).mul_(5)
    assert y.grad_fn.name() == "torch::autograd::CopySlices"
    (g,) = grad(y.sum(), x)
    assert g.tolist() == [1.0, 5.0, 1.0, 1.0, 5.0, 1.0]


def test_writing_to_strided_views_of_columns() -> None:
    # The base is not row-major in memory, but its cotangent must be for this view.
    x = leaf(2, 3)
    y = x.t() * 1
    assert y.stride() == (1, 3)
    y.as_strided((3,), (1,)).mul_(5)
    (g,) = grad(y.sum(), x)
    assert g.tolist() == [[5.0, 5.0, 5.0], [1.0, 1.0, 1.0]]


STRIDED = {
    "beyond": (
        lambda x: x.as_strided((2, 2), (4, 4)),
        "requiring a storage size of 72 are out of bounds for storage of",
    ),
    "numbers": (lambda x: x.as_strided((2, 2), (1,)), "mismatch in length of strides and shape"),
    "negative stride": (lambda x: x.as_strided((2,), (-1,)), "as_strided: Negative strides are not supported"),
    "negative offset": (lambda x: x.as_strided((2,), (1,), -1), "Tensor: invalid storage offset -1"),
    "negative size": (lambda x: x.as_strided((-2,), (1,)), "Storage size calculation overflowed"),
    "unfold too far": (lambda x: x.unfold(0, 8, 1), "maximum size for tensor at dimension 0 is 6 but size is 8"),
    "unfold no step": (lambda x: x.unfold(0, 2, 0), "step is 0 but must be > 0"),
    "unfold negative": (lambda x: x.unfold(0, -1, 1), "size is -1 but must be >= 0"),
    "real of real": (adjoint.view_as_real, "view_as_real is only supported for complex tensors"),
    "pairs": (adjoint.view_as_complex, "Tensor must have a last dimension of size 2"),
    "pairs apart": (
        lambda x: adjoint.view_as_complex(x.view(2, 3).t()),
        "Tensor must have a last dimension with stride 1",
    ),
    "odd strides": (lambda x: adjoint.view_as_complex(x.view(2, 3)[:, :2]), "stride divisible by 2 for all but last"),
    "odd start": (lambda x: adjoint.view_as_complex(x[1:5].view(2, 2)), "a storage_offset divisible by 2"),
    "retyped apart": (lambda x: x[::2].view(adjoint.complex128), "self.stride(-1) must be 1 to view Double as"),
    "retyped odd": (lambda x: x[:3].view(adjoint.complex128), "self.size(-1) must be divisible by 2"),
    "retyped number": (lambda x: x[0].view(adjoint.int32), "self.dim() cannot be 0 to view Double as Int"),
    "retyped start": (lambda x: x[1:5].view(adjoint.complex128), "self.storage_offset() must be divisible by 2"),
    "retyped rows": (lambda x: x.view(2, 3)[:, :2].view(adjoint.complex128), "self.stride(0) must be divisible by 2"),
}


@pytest.mark.parametrize("name", STRIDED)
def test_views_that_do_not_exist(name: str) -> None:
    action, text = STRIDED[name]
    with pytest.raises(RuntimeError) as caught:
        action(adjoint.arange(6, dtype=f64))
    assert text in str(caught.value)


def test_memory_as_elements_of_another_type() -> None:
    x = adjoint.tensor([1.0, 2.0], requires_grad=True)
    bits = x.detach().view(adjoint.int32)
    assert bits.tolist() == [1065353216, 1073741824] and not bits._is_view() and not x.view(adjoint.int32).requires_grad
    bits.zero_()
    assert x.tolist() == [0.0, 0.0] and x._version == 1
    assert x.view(adjoint.uint8).shape == (8,) and x.view(adjoint.float64).shape == (1,)
    assert x.view(size=(2, 1)).shape == (2, 1)
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        x.view()


def test_parts_of_complex_numbers_share_memory_and_gradients() -> None:
    x = leaf(3, 2)
    z = adjoint.view_as_complex(x * 1)
    assert z.grad_fn.name() == "ViewAsComplexBackward0" and z._is_view()
    z.real.mul_(3)
    adjoint.view_as_real(z)[..., 1].add_(1)
    np.testing.assert_allclose(z.detach().numpy(), 3 * x.detach().numpy()[:, 0] + 1j * (x.detach().numpy()[:, 1] + 1))
    (g,) = grad((z * z.conj()).real.sum(), x)
    a = x.detach().numpy()
    np.testing.assert_allclose(g.numpy(), np.stack([18 * a[:, 0], 2 * (a[:, 1] + 1)], 1))


def test_storage() -> None:
    x = adjoint.zeros(4, 5)
    v = x[1:, 2]
    assert v.storage_offset() == 7 and v.untyped_storage() == x.untyped_storage()
    assert v.untyped_storage().nbytes() == len(v.untyped_storage()) == 80
    assert v.untyped_storage().data_ptr() == x.data_ptr() and v.data_ptr() - x.data_ptr() == 28
    assert v.detach().storage_offset() == v.data.storage_offset() == 7
    assert x.is_set_to(x.view(4, 5)) and not x.is_set_to(x.view(5, 4)) and not x.is_set_to(x.clone())
    with pytest.raises(TypeError, match=r"is_set_to\(\): argument 'tensor'"):
        x.is_set_to(3)


def test_set_refers_to_other_memory() -> None:
    x, y = adjoint.zeros(3), adjoint.arange(4.0)
    assert x.set_(y) is x and x.is_set_to(y) and x._version == 1
    assert x.set_(y.untyped_storage(), 1, (2,), (2,)).tolist() == [1.0, 3.0]
    assert x.set_(y, 2, (2,)).tolist() == [2.0, 3.0]
    assert x.set_().shape == (0,)
    with pytest.raises(RuntimeError, match="Could not set tensor of type long int to a tensor of type float"):
        x.set_(adjoint.zeros(2, dtype=adjoint.int64))
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        leaf(2).set_(adjoint.zeros(2, dtype=f64))
    z = leaf(2) * 1
    z.set_(adjoint.zeros(2, dtype=f64))
    with pytest.raises(RuntimeError, match="derivative for set_ is not implemented"):
        z.sum().backward()


def test_resize() -> None:
    x = adjoint.arange(6)
    v = x[:2]
    assert x.resize_(2, 2).tolist() == [[0, 1], [2, 3]] and v.resize_(3).tolist() == [0, 1, 2] and x._version == 2
    assert x.resize_(8)[:6].tolist() == [0, 1, 2, 3, 4, 5]
    assert x.resize_as_(adjoint.zeros(1, 2)).shape == (1, 2)
    version = x._version
    assert x.resize_(1, 2) is x and x.resize_as_(x) is x and x._version == version, "nothing has changed"
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        leaf(2).resize_(1)
    forward_ad = adjoint.autograd.forward_ad
    with forward_ad.dual_level(), pytest.raises(RuntimeError, match="cannot resize variables that has a forward grad"):
        forward_ad.make_dual(adjoint.ones(2), adjoint.ones(2)).resize_(1)


# reshaping in place -------------------------------------------------------------------------------------------------


def test_reshaping_in_place_keeps_the_graph() -> None:
    x = leaf(2, 3)
    y = x * 1
    before = y[0]
    assert y.t_() is y and y.shape == (3, 2) and y._version == 1 and not y._is_view()
    y.mul_(2)
    # an earlier view has the same memory, and the history of its part
    assert before.tolist() == (2 * x[0]).tolist()
    assert grad(before.sum(), x, retain_graph=True)[0].tolist() == [[2.0] * 3, [0.0] * 3]
    y.unsqueeze_(0).transpose_(0, 1).squeeze_()
    assert y.shape == (3, 2)
    assert grad(y[:, 1].sum(), x)[0].tolist() == [[0.0] * 3, [2.0] * 3]


def test_reshaping_a_view_in_place() -> None:
    x = leaf(2, 3)
    y = x * 1
    v = y[1].unsqueeze_(0).swapaxes_(0, 1)
    assert v.shape == (3, 1) and v._base is y
    v.mul_(7)
    assert grad(y.sum(), x)[0].tolist() == [[1.0] * 3, [7.0] * 3]


def test_reshaping_in_place_without_recording() -> None:
    x = leaf(2, 3)
    with adjoint.no_grad():
        x.t_()
    assert x.shape == (3, 2) and x.is_leaf and x.requires_grad
    (x * x).sum().backward()
    assert x.grad.shape == (3, 2)
    y = x * 1
    with adjoint.no_grad():
        y.t_()
    assert grad(y.sum(), x)[0].shape == (3, 2)


def test_gradient_of_a_leaf_that_was_reshaped_since() -> None:
    x = leaf(2, 3)
    y = x * 2
    with adjoint.no_grad():
        x.t_()
    with pytest.raises(RuntimeError, match=r"size of tensor a \(2\) must match the size of tensor b \(3\)"):
        y.sum().backward()
    x = leaf(3)
    y = x.sum()
    x.data = adjoint.zeros(4, dtype=f64)
    with pytest.raises(RuntimeError, match=r"size of tensor a \(4\) must match the size of tensor b \(3\)"):
        y.backward()


def test_cotangents_fit_a_leaf_as_it_was_when_the_operation_ran() -> None:
    # The leaf's new axis is broadcast, so a sum over the other axis would fit it, too.
    x, y = leaf(3, 1), leaf(1, 3)
    z = x + y
    x.data = x.data.t()
    with pytest.raises(RuntimeError, match=r"gradient of size \[3, 1\] arrived at a leaf of size \[1, 3\]"):
        z.sum().backward()
    x = leaf(2, 3)
    z = x + y
    x.detach_().t_()
    z.sum().backward()
    assert x.grad is None and y.grad.tolist() == [[2.0, 2.0, 2.0]]


IN_PLACE = {
    "leaf": (lambda x: x.t_(), "a leaf Variable that requires grad is being used in an in-place operation."),
    "view of leaf": (lambda x: x[0].unsqueeze_(0), "a view of a leaf Variable that requires grad is being used"),
    "too many axes": (
        lambda x: (x * 1).unsqueeze_(0).t_(),
        "t_() expects a tensor with <= 2 dimensions, but self is 3D",
    ),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_reshaping_in_place_where_it_is_forbidden(name: str) -> None:
    action, text = IN_PLACE[name]
    x = leaf(2, 3)
    with pytest.raises(RuntimeError) as caught:
        action(x)
    assert text in str(caught.value) and x.shape == (2, 3) and x._version == 0


# refused modifications ----------------------------------------------------------------------------------------------


def test_view_made_without_recording_shows_the_flag_of_its_base() -> None:
    x = leaf(3)
    with adjoint.no_grad():
        v = x[:2]
    assert v.requires_grad and v.is_leaf and v.grad_fn is None
    y = (v * 2).sum()
    assert y.requires_grad and grad(y, x, allow_unused=True) == (None,)
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        v.backward(adjoint.ones(2, dtype=f64))


@pytest.mark.parametrize("write", [lambda x, v: x.mul_(2), lambda x, v: x[0].mul_(2)])
def test_history_of_a_view_made_without_recording(write: Any) -> None:
    x = leaf(3) * 1
    with adjoint.no_grad():
        v = x[:2]
    write(x, v)
    for look in (lambda: v.grad_fn, lambda: v.is_leaf, lambda: v * 2):
        with pytest.raises(
            RuntimeError, match="no_grad mode and its base or another view of its base has been modified"
        ):
            look()
    assert "grad_fn=<Invalid>" in repr(v) and v.requires_grad and v.detach().shape == (2,)


def test_history_of_one_of_several_views() -> None:
    x = leaf(4) * 1
    a, _ = x.split(2)
    x.mul_(2)
    with pytest.raises(
        RuntimeError, match="Output 0 of Split is a view and its base or another view of its base has been"
    ):
        _ = a.grad_fn


def test_number_into_elements_that_meet() -> None:
    x = leaf(1, 3)
    y = x * 1
    y.expand(2, 3).fill_(4)
    y.expand(2, 3).zero_()
    assert y.tolist() == [[0.0, 0.0, 0.0]] and grad(y.sum(), x, create_graph=True)[0].tolist() == [[0.0, 0.0, 0.0]]
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        y.expand(2, 3).fill_(x[0, 0])


def test_source_that_lies_partly_over_its_target() -> None:
    x = adjoint.arange(6.0)
    for action in (lambda: x[1:].copy_(x[:-1]), lambda: x.view(2, 3).t().add_(x.view(3, 2)),
                   lambda: adjoint.add(x[:3], 1, out=x[1:4])):  # fmt: skip
        with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor refer"):
            action()
    assert x.tolist() == [0, 1, 2, 3, 4, 5] and x._version == 0
    assert x.add_(x).tolist() == [0, 2, 4, 6, 8, 10]


def test_result_into_memory_of_another_size() -> None:
    adjoint.set_warn_always(True)
    target = adjoint.zeros(2)
    with pytest.warns(UserWarning, match=r"was resized since it had shape \[2\], which does not match the required"):
        adjoint.add(adjoint.ones(3), 1, out=target)
    adjoint.set_warn_always(False)
    assert target.tolist() == [2.0, 2.0, 2.0]
    assert adjoint.add(adjoint.ones(3), 1, out=adjoint.zeros(0)).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(TypeError, match=r"add\(\): argument 'out' must be Tensor, not int"):
        adjoint.add(adjoint.ones(3), 1, out=3)


def test_numbers_that_a_type_cannot_hold() -> None:
    for tensor, number in ((adjoint.zeros(2), 1j), (adjoint.zeros(2, dtype=adjoint.int8), 300)):
        with pytest.raises(RuntimeError, match=r"value cannot be converted to type .* without overflow"):
            tensor.fill_(number)
        assert tensor.tolist() == [0, 0] and tensor._version == 0


# gradients ----------------------------------------------------------------------------------------------------------

LAYOUTS = {
    "columns": (lambda: adjoint.zeros(3, 4).t(), (1, 4)),
    "three axes": (lambda: adjoint.zeros(2, 3, 4).permute(2, 0, 1), (1, 12, 4)),
    "gaps": (lambda: adjoint.zeros(3, 8)[:, ::2], (4, 1)),
    "expanded": (lambda: adjoint.zeros(1, 3).expand(2, 3), (3, 1)),
}


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", LAYOUTS)
def test_layout_of_a_first_gradient(name: str, create_graph: bool) -> None:
    make, stride = LAYOUTS[name]
    for f in (lambda p: p * 2, lambda p: p * p, lambda p: p):
        p = make().requires_grad_()
        f(p).sum().backward(create_graph=create_graph)
        assert p.grad.stride() == stride


@pytest.mark.filterwarnings("ignore:Using backward", "ignore:grad and param do not obey")
def test_layout_of_an_assigned_gradient_stays() -> None:
    p = adjoint.zeros(3, 4).t().requires_grad_()
    p.grad = grad = adjoint.zeros(4, 3)
    (p * 2).sum().backward()
    assert p.grad is grad and grad.stride() == (3, 1) and grad.tolist() == [[2.0] * 3] * 4
    (p * 2).sum().backward(create_graph=True)
    assert p.grad is not grad and p.grad.stride() == (3, 1) and p.grad.tolist() == [[4.0] * 3] * 4


def test_layout_policy() -> None:
    p = adjoint.zeros(3, 4).t().requires_grad_()
    p.grad = adjoint.zeros(4, 3)
    adjoint.set_warn_always(True)
    with pytest.warns(UserWarning, match="grad and param do not obey the gradient layout contract"):
        (p * 2).sum().backward()
    with enforce_grad_layout_policy(False):
        (p * 2).sum().backward()
    adjoint.set_warn_always(False)
    assert p.grad.tolist() == [[4.0] * 3] * 4


def test_dtype_of_gradients() -> None:
    x = adjoint.ones(2, requires_grad=True)
    assert x.grad_dtype is adjoint.float32
    x.grad_dtype = f64
    (x * 2).sum().backward()
    assert x.grad.dtype is f64 and grad((x * 3).sum(), x)[0].dtype is f64
    with pytest.raises(RuntimeError, match="Cannot set grad_dtype to 'Float' because there is already a gradient"):
        x.grad_dtype = adjoint.float32
    x.grad = None
    x.grad_dtype = None
    assert x.grad_dtype is None
    x.grad = adjoint.ones(2, dtype=adjoint.float16)
    with pytest.raises(RuntimeError, match="grad_dtype can only be accessed on leaf tensors"):
        _ = (x * 2).grad_dtype
    with pytest.raises(RuntimeError, match="grad_dtype can only be set on leaf tensors"):
        (x * 2).grad_dtype = f64
    with pytest.raises(RuntimeError, match=r"must be a adjoint.dtype or None, but got int"):
        x.grad_dtype = 3


def test_leaf_switched_off_after_recording_gets_no_gradient() -> None:
    x = leaf(2)
    y = (x * 2).sum()
    x.requires_grad_(False)
    y.backward()
    assert x.grad is None


def test_flags_are_bools() -> None:
    x = leaf(2)
    with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
        x.requires_grad = 1
    with pytest.raises(RuntimeError, match="Deleting tensor data is not allowed"):
        del x.data


def test_numpy_without_recording() -> None:
    x = leaf(2)
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        x.numpy()
    with adjoint.no_grad():
        assert x.numpy().shape == np.asarray(x).shape == (2,)


# writes to copies, reductions by index, grids -----------------------------------------------------------------------

M = np.arange(12.0).reshape(3, 4)


def change_element(part: Any, value: Any) -> np.ndarray:
    result = M.copy()
    part(result)[...] = value
    return result


SCATTERED = {
    "select": (lambda x, s: adjoint.select_scatter(x, s, 0, 1), lambda a: a[1], 4),
    "slice": (lambda x, s: adjoint.slice_scatter(x, s.view(3, 1), 1, 2, 3), lambda a: a[:, 2], 3),
    "diagonal": (lambda x, s: adjoint.diagonal_scatter(x, s, 1), lambda a: a.reshape(-1)[1::5], 3),
    "strided": (lambda x, s: adjoint.as_strided_scatter(x, s, (3,), (5,), 1), lambda a: a.reshape(-1)[1::5], 3),
}


@pytest.mark.parametrize("name", SCATTERED)
def test_copy_with_a_part_replaced(name: str) -> None:
    f, part, n = SCATTERED[name]
    x, s = adjoint.tensor(M, requires_grad=True), adjoint.ones(n, dtype=f64, requires_grad=True)
    y = f(x, s)
    np.testing.assert_array_equal(y.detach().numpy(), change_element(part, 1.0))
    gx, gs = grad((y * y).sum(), (x, s))
    np.testing.assert_array_equal(gx.numpy(), 2 * change_element(part, 0.0))
    np.testing.assert_array_equal(gs.numpy(), np.full(n, 2.0))


def test_copy_with_a_part_of_another_shape() -> None:
    x = adjoint.tensor(M)
    for f in (
        lambda s: x.select_scatter(s, 0, 1),
        lambda s: x.slice_scatter(s, 1, 2, 3),
        lambda s: x.diagonal_scatter(s, 1),
        lambda s: x.as_strided_scatter(s, (3,), (5,)),
    ):
        with pytest.raises(RuntimeError, match=r"expected src to have a size equal to the slice of self\. src size = "):
            f(adjoint.ones(2))


REDUCED = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "amax": np.max, "amin": np.min}


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", REDUCED)
def test_reductions_by_index(reduce: str, include_self: bool) -> None:
    places = np.array([0, 2, 0, 2])
    rng = np.random.default_rng(0)
    target, values = rng.random(4), rng.random(4)
    expected = target.copy()
    for position in set(places):
        before = [target[position]] if include_self else []
        expected[position] = REDUCED[reduce]([*before, *values[places == position]])
    index = adjoint.tensor(places)
    args = (adjoint.tensor(target), 0, index, adjoint.tensor(values), reduce)
    results = [adjoint.scatter_reduce(*args, include_self=include_self)]
    results.append(args[0].clone().scatter_reduce_(*args[1:], include_self=include_self))
    if reduce != "sum":
        results.append(adjoint.index_reduce(*args, include_self=include_self))
        results.append(args[0].clone().index_reduce_(*args[1:], include_self=include_self))
    for y in results:
        np.testing.assert_allclose(y.numpy(), expected)


def test_gradient_of_extremes_is_shared() -> None:
    x, s = adjoint.tensor([5.0, 1.0], requires_grad=True), adjoint.tensor([5.0, 2.0, 5.0], requires_grad=True)
    y = x.scatter_reduce(0, adjoint.tensor([0, 1, 0]), s, "amax")
    gx, gs = grad((y * adjoint.tensor([3.0, 4.0])).sum(), (x, s))
    assert gx.tolist() == [1.0, 0.0] and gs.tolist() == [1.0, 4.0, 1.0]


def test_second_derivatives_of_products_with_zeros() -> None:
    s = adjoint.tensor([0.0, 3.0, 0.0, 2.0], dtype=f64, requires_grad=True)
    places = adjoint.tensor([0, 0, 0, 1])

    def product(s: adjoint.Tensor) -> adjoint.Tensor:
        return adjoint.ones(2, dtype=f64).scatter_reduce(0, places, s, "prod").sum()

    hessian = adjoint.autograd.functional.hessian(product, s)
    expected = np.zeros((4, 4))
    expected[0, 2] = expected[2, 0] = 3.0
    np.testing.assert_allclose(hessian.numpy(), expected)


WRONG = {
    "reduce": (
        lambda x, i: x.scatter_reduce(0, i, x, "multiply"),
        RuntimeError,
        "reduce argument must be either sum, prod",
    ),
    "index reduce": (
        lambda x, i: x.index_reduce(0, i, x, "sum"),
        RuntimeError,
        "one of prod, mean, amax or amin but got",
    ),
    "number": (
        lambda x, i: x.index_reduce(0, i[:1], x, "prod"),
        RuntimeError,
        "Number of indices (1) should be equal to",
    ),
    "matrix": (lambda x, i: x.index_reduce(0, i[None], x, "prod"), IndexError, "Index is supposed to be a vector"),
    "range": (lambda x, i: x.index_reduce(0, i + 3, x, "prod"), IndexError, "index out of range in self"),
    "dtype": (lambda x, i: x.index_reduce(0, i, x.float(), "prod"), RuntimeError, "must have the same scalar type"),
    "grid": (
        lambda x, i: adjoint.meshgrid(x, i, indexing="ij"),
        RuntimeError,
        "expects all tensors to have the same dtype",
    ),
    "grid axes": (lambda x, i: adjoint.meshgrid(x[None], indexing="ij"), RuntimeError, "Expected 0D or 1D tensor"),
    "grid order": (lambda x, i: adjoint.meshgrid(x, indexing="ji"), RuntimeError, 'must be one of "xy" or "ij"'),
    "empty grid": (lambda x, i: adjoint.meshgrid(indexing="ij"), RuntimeError, "expects a non-empty TensorList"),
    "blocks": (lambda x, i: adjoint.block_diag(x[None, None]), RuntimeError, "must have 2 or fewer dimensions"),
    "no blocks": (lambda x, i: adjoint.block_diag(3), TypeError, "expected Tensor as element 0 in argument 0"),
    "product": (lambda x, i: adjoint.cartesian_prod(x[None]), RuntimeError, "Expect a 1D vector, but got shape [1, 3]"),
    "choices": (lambda x, i: adjoint.combinations(x, -1), RuntimeError, "Expect a non-negative number, but got -1"),
    "choices of": (
        lambda x, i: adjoint.combinations(x[None]),
        RuntimeError,
        "Expect a 1D vector, but got shape [1, 3]",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_arguments_that_do_not_fit(name: str) -> None:
    action, error, text = WRONG[name]
    with pytest.raises(error) as caught:
        action(adjoint.arange(3, dtype=f64), adjoint.arange(3))
    assert text in str(caught.value)


def test_grids_blocks_and_choices() -> None:
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])
    for indexing in ("ij", "xy"):
        for actual, expected in zip(
            adjoint.meshgrid(adjoint.tensor(a), adjoint.tensor(b), indexing=indexing),
            np.meshgrid(a, b, indexing=indexing),
            strict=True,
        ):
            np.testing.assert_array_equal(actual.numpy(), expected)
    assert adjoint.block_diag().shape == (1, 0)
    blocks = adjoint.block_diag(adjoint.tensor(1.0), adjoint.tensor([2, 3]))
    assert blocks.tolist() == [[1.0, 0.0, 0.0], [0.0, 2.0, 3.0]]
    x = adjoint.arange(3)
    assert adjoint.cartesian_prod(x) is x
    assert adjoint.combinations(x, 2, True).tolist() == [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 2]]
    assert adjoint.combinations(x, 0).shape == (0,) and adjoint.combinations(x, 4).shape == (0, 4)


COPIES = {
    "alias": (), "as_strided": ((2, 2), (1, 2)), "detach": (), "diagonal": (), "expand": ((2, 3, 4),),
    "narrow": (1, 0, 2), "permute": ((1, 0),), "select": (0, 1), "slice": (0, 1, 3), "squeeze": (), "t": (),
    "transpose": (0, 1), "unfold": (0, 2, 1), "unsqueeze": (0,), "view": ((4, 3),), "split": (2,),
    "split_with_sizes": ((1, 2),), "unbind": (),
}  # fmt: skip
VIEWS = {"alias": lambda x: x, "slice": lambda x, dim, start, end: x[start:end]}


@pytest.mark.parametrize("name", COPIES)
def test_copies_of_views(name: str) -> None:
    x = adjoint.tensor(M)
    result = getattr(adjoint, f"{name}_copy")(x, *COPIES[name])
    view = VIEWS.get(name) or getattr(adjoint.Tensor, name)
    expected = view(x, *COPIES[name])
    several = isinstance(result, tuple)
    for y, z in zip(result if several else [result], expected if several else [expected], strict=True):
        assert not y._is_view() and y.is_contiguous() and not np.may_share_memory(y.numpy(), x.numpy())
        np.testing.assert_array_equal(y.numpy(), z.numpy())
    if not several:
        target = adjoint.zeros(0, dtype=f64)
        assert getattr(adjoint, f"{name}_copy")(x, *COPIES[name], out=target) is target
        np.testing.assert_array_equal(target.numpy(), expected.numpy())


def test_pieces_that_nobody_checks() -> None:
    x = leaf(4)
    y = x * 1
    for pieces in (y.unsafe_split(2), y.unsafe_chunk(2), y.unsafe_split_with_sizes((2, 2))):
        assert not pieces[0]._is_view() and pieces[0].data_ptr() == y.data_ptr()
    pieces[0].mul_(2)
    assert y._version == 0 and grad(pieces[0].sum(), x)[0].tolist() == [2.0, 2.0, 0.0, 0.0]


@pytest.mark.parametrize("dtype", [adjoint.float64, adjoint.float32, adjoint.complex64, adjoint.int64, adjoint.bool])
def test_copies_of_expanded_tensors_lie_row_by_row(dtype: Any) -> None:
    for shape, expanded in (((1, 3, 2), (2, 3, 2)), ((2, 1), (2, 3)), ((3, 1, 1), (3, 2, 4))):
        x = adjoint.ones(shape, dtype=f64).expand(expanded)
        for part in (x, x.mT, x[..., 1:]):
            copy = part.to(dtype, copy=True)
            assert copy.is_contiguous() and copy.contiguous() is copy


def test_parts_of_complex_tensors_are_assigned_in_place():
    x = adjoint.ones(2, requires_grad=True)
    y = x * 1j
    y.real = adjoint.tensor([3.0, 4.0])
    assert y.tolist() == [3 + 1j, 4 + 1j]
    y.imag = 5.0
    assert y.tolist() == [3 + 5j, 4 + 5j]
    y.real = x
    y.real.sum().backward()
    assert x.grad.tolist() == [1, 1]
    z = adjoint.zeros(2)
    z.real = 2
    assert z.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.real = z
    with pytest.raises(RuntimeError, match="imag is not implemented for tensors with non-complex dtypes"):
        z.imag = z


def test_axes_of_length_one_have_strides_as_in_torch():
    x = adjoint.ones(3, 1)
    assert x.expand(1, 3, 1).stride() == (3, 1, 1)
    assert x.expand(2, 3, 1).stride() == (0, 1, 1)
    assert adjoint.ones(3)[None, None].stride() == (3, 3, 1)
    assert adjoint.ones(2, 3).unsqueeze(1).stride() == (3, 3, 1)


@pytest.mark.filterwarnings("ignore:.* is deprecated on 0-D tensors")
def test_what_is_there_already_is_given_back():
    x = adjoint.ones(2, 3)
    assert adjoint.positive(x) is x and +x is x
    assert adjoint.broadcast_tensors(x, adjoint.ones(3))[0] is x
    assert adjoint.tensor(1.0).mT.ndim == 0


def test_whether_it_may_be_written_to_is_said_first():
    x = adjoint.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.index_add_(0, adjoint.tensor([0]), adjoint.ones(5))


def test_new_data_bring_their_place_in_memory():
    x, base = adjoint.zeros(2), adjoint.arange(6.0)
    x.data = base[4:]
    assert x.storage_offset() == 4 and x.untyped_storage() == base.untyped_storage()
    x.data = adjoint.zeros(2)
    assert x.storage_offset() == 0


def test_ravel_copies_what_is_not_contiguous() -> None:
    x = adjoint.zeros(2, 4)
    x.ravel()[0] = 1
    x[:, ::2].ravel()[1] = 5
    x.T.ravel()[2] = 5
    assert x.tolist() == [[1, 0, 0, 0], [0, 0, 0, 0]]


@pytest.mark.filterwarnings("ignore:.* is deprecated on 0-D tensors")
def test_conjugate_transposes_of_numbers_and_vectors() -> None:
    x = adjoint.tensor(1 + 2j)
    assert x.mH.item() == x.H.item() == adjoint.adjoint(x).item() == 1 - 2j
    for transposed in (lambda v: v.mH, adjoint.adjoint, lambda v: v.H):
        with pytest.raises(RuntimeError, match="is only supported on matrices"):
            transposed(adjoint.ones(3))


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [((3, 4), (4, 1), 0), ((4, 3), (1, 4), 0), ((2, 3), (6, 2), 1), ((2, 1, 5), (5, 0, 1), 2), ((3, 2), (2, 2), 0)],
)
def test_the_transpose_of_reading_memory(shape: Any, strides: Any, offset: int) -> None:
    leaf = adjoint.arange(12.0, requires_grad=True)
    weights = adjoint.arange(float(np.prod(shape))).reshape(shape) + 1
    (leaf.as_strided(shape, strides, offset) * weights).sum().backward()
    places = offset + sum(np.indices(shape)[axis] * step for axis, step in enumerate(strides))
    expected = np.zeros(12)
    np.add.at(expected, places, weights.numpy())
    np.testing.assert_array_equal(leaf.grad.numpy(), expected)


# views without elements ----------------------------------------------------------------------------------------------

VIEWS_OF_ANY_SHAPE: dict[str, Any] = {
    "as_strided": lambda x: x.as_strided((0,), (1,)),
    "as_strided at an offset": lambda x: x.as_strided((3, 0), (1, 2), 4),
    "chunk": lambda x: x.chunk(3)[-1],
    "diagonal": lambda x: x.diagonal(7),
    "ellipsis": lambda x: x[...],
    "expand": lambda x: x.expand(0, *x.shape),
    "flatten": lambda x: x[None].flatten(),
    "getitem": lambda x: x[1:1],
    "matrix": lambda x: x.mT,
    "movedim": lambda x: x.movedim(0, -1),
    "narrow": lambda x: x.narrow(0, 0, 0),
    "permute": lambda x: x.permute(*range(x.ndim)[::-1]),
    "select": lambda x: x[:0].select(-1, 0),
    "split": lambda x: x.split([0, x.shape[0]])[0],
    "tensor_split": lambda x: x.tensor_split(9)[8],
    "unbind": lambda x: x[:0].unbind(-1)[0],
    "unflatten": lambda x: x.unflatten(0, (1, -1)),
    "unfold": lambda x: x.unfold(0, 0, 1),
    "unfold more": lambda x: x.unfold(-1, x.shape[-1], 1),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "view": lambda x: x[:0].view(0, 7),
    "view_as_complex": lambda x: adjoint.view_as_complex(x[:0].view(0, 2)),
}


@pytest.mark.parametrize("shape", [(6,), (0,), (2, 0), (0, 3), (2, 3)], ids=str)
@pytest.mark.parametrize("name", VIEWS_OF_ANY_SHAPE)
def test_views_without_elements_are_views(name: str, shape: tuple[int, ...]) -> None:
    x = adjoint.ones(shape, dtype=f64, requires_grad=True)
    base = x * 1
    try:
        view = VIEWS_OF_ANY_SHAPE[name](base)
    except (RuntimeError, IndexError, ValueError):
        pytest.skip("this shape has no such view")
    assert view._is_view() and view._base is base and view.grad_fn is not None
    if name not in ("chunk", "split", "tensor_split", "unbind"):  # several views may not be modified
        view.mul_(2)
        assert base._version == 1 and type(base.grad_fn).__name__ == "CopySlices"
        base.mul_(3)
    ((base.sum() + view.sum().real) * 1).backward()
    assert x.grad is not None and x.grad.shape == x.shape


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0, 1), (6,)], ids=str)
def test_reshaping_a_view_to_nothing_in_place(shape: tuple[int, ...]) -> None:
    """A view keeps its base for every new shape, and so does the other view of the base."""
    x = adjoint.ones(shape, dtype=f64, requires_grad=True)
    base = x * 1
    view, other = base.view(shape), base[:0]
    view.as_strided_((0,), (1,))
    assert view._base is base and view.shape == (0,)
    base.unsqueeze_(0)
    view.mul_(2)
    other.mul_(2)
    base.mul_(3)
    assert view._base is base and other._base is base
    (base.sum() + view.sum() + other.sum()).backward()
    assert x.grad is not None and x.grad.tolist() == (3 * adjoint.ones(shape)).tolist()


def test_a_chain_of_views_takes_memory_in_proportion_to_its_length():
    """Each view of a chain stores only its own step and a reference to the earlier steps."""
    tracemalloc.start()
    try:
        x = adjoint.ones(1, requires_grad=True)
        views = [x * 1]
        for _ in range(8000):
            views.append(views[-1].view(1))
        memory, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert memory < 40e6  # copies of all steps in each view would take 256e6 bytes
    views[-1].mul_(2)
    views[4000].sum().backward()
    assert x.grad.tolist() == [2.0]


def test_as_strided_scatter_where_elements_of_the_input_meet() -> None:
    """The operation copies the memory. A written value appears at all elements that share its memory."""
    x = adjoint.arange(5, dtype=adjoint.float64).requires_grad_()
    source = adjoint.tensor([5.0, 6.0], dtype=adjoint.float64, requires_grad=True)
    result = x.unfold(0, 3, 1).as_strided_scatter(source, (2,), (1,), 1)
    assert result.tolist() == [[0, 5, 6], [5, 6, 3], [6, 3, 4]] and result.stride() == (1, 1)
    assert x.tolist() == [0, 1, 2, 3, 4]
    check = adjoint.autograd.gradcheck
    function = lambda a, b: a.unfold(0, 3, 1).as_strided_scatter(b, (2,), (1,), 1)
    assert check(function, (x, source), check_forward_ad=True)
    rows = adjoint.arange(2.0).expand(3, 2).as_strided_scatter(adjoint.tensor([[5.0, 6]]), (1, 2), (2, 1), 0)
    assert rows.tolist() == [[5, 6], [0, 1], [0, 1]]


@pytest.mark.parametrize("stride", [(0, 1), (1, 1), (1, 0)])
def test_as_strided_scatter_where_elements_to_be_written_meet(stride: tuple[int, int]) -> None:
    x = adjoint.arange(6.0)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory"):
        x.as_strided_scatter(adjoint.ones(2, 2), (2, 2), stride)
    assert x.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (7, 3), (9, 2), (3, 3, 3), (0, 2)])
@pytest.mark.parametrize("wrap", [False, True])
def test_fill_diagonal(shape, wrap):
    expected = np.zeros(shape)
    if 0 not in shape:
        np.fill_diagonal(expected, 4, wrap)
    assert np.array_equal(adjoint.zeros(shape).fill_diagonal_(4, wrap), expected)


def test_fill_diagonal_cuts_the_gradient_there():
    x = adjoint.ones(2, 2, requires_grad=True)
    (x * 1).fill_diagonal_(3).sum().backward()
    assert x.grad.tolist() == [[0, 1], [1, 0]]
    with pytest.raises(RuntimeError, match=re.escape("dimensions must larger than 1")):
        adjoint.ones(2).fill_diagonal_(1)
    with pytest.raises(RuntimeError, match=re.escape("all dimensions of input must be of equal length")):
        adjoint.ones(2, 2, 3).fill_diagonal_(1)


@pytest.mark.parametrize(
    "change",
    [lambda x: x.t_(), lambda x: x.unsqueeze_(0), lambda x: x.transpose_(0, 1), lambda x: x.swapaxes_(0, 1)],
    ids=["t_", "unsqueeze_", "transpose_", "swapaxes_"],
)
def test_other_axes_in_place_count_as_a_change(change):
    """Otherwise a saved tensor would be used with the new axes."""
    x = adjoint.ones(2, 2)
    assert change(x)._version == 1
    leaf = adjoint.ones(2, 2, requires_grad=True)
    saved = adjoint.ones(2, 2)
    y = leaf * saved
    change(saved)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_between_the_elements_of_a_scattered_copy_are_zeros() -> None:
    x = adjoint.ones(3, 2, dtype=f64)[:, ::2]
    for _ in range(20):
        np.full(5, np.nan)  # NaN in memory that the copy may reuse
        assert x.slice_scatter(x, 0).as_strided((5,), (1,)).tolist() == [1, 0, 1, 0, 1]


@pytest.mark.parametrize("tracked", ["neither", "source", "target", "both"])
def test_set_takes_the_history_of_the_source_and_has_no_derivative(tracked: str) -> None:
    source = leaf(2) * 1 if tracked in ("source", "both") else adjoint.ones(2, dtype=f64)
    target = leaf(2) * 1 if tracked in ("target", "both") else adjoint.zeros(2, dtype=f64)
    target.set_(source)
    assert target.requires_grad == (tracked != "neither")
    if tracked != "neither":
        with pytest.raises(RuntimeError, match="derivative for set_ is not implemented"):
            target.sum().backward()


WRITES = {
    "the base": lambda base, x: base.mul_(x),
    "another view": lambda base, x: base[1:].mul_(x[1:]),
    "a view of another shape": lambda base, x: base.view(3, 1).mul_(x[:, None]),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_view_that_was_a_leaf_follows_a_base_that_got_a_history(name: str) -> None:
    x, base = adjoint.tensor([2.0, 3.0, 4.0], requires_grad=True), adjoint.ones(3)
    view = base[1:].requires_grad_()
    (view * 5).sum().backward()
    assert view.is_leaf and view.grad.tolist() == [5, 5]
    earlier = (view * 5).sum()
    WRITES[name](base, x)
    assert not view.is_leaf and view.requires_grad and view.tolist() == [3, 4]
    (view * 2).sum().backward()
    assert x.grad.tolist() == [0, 2, 2]
    with pytest.raises(RuntimeError, match="leaf variable has been moved into the graph interior"):
        earlier.backward()


def test_a_view_that_is_a_leaf_stays_one_where_its_base_has_no_history() -> None:
    base = adjoint.ones(3)
    view = base[1:].requires_grad_()
    base.mul_(2)
    with adjoint.no_grad():
        view.mul_(3)
        base.add_(1)
    (view * view).sum().backward()
    assert view.is_leaf and view.grad.tolist() == [14, 14] and not base.requires_grad


def test_one_of_several_views_that_is_a_leaf_may_not_follow_its_base() -> None:
    x, base = adjoint.ones(3, requires_grad=True), adjoint.ones(3)
    _, view, _ = (part.requires_grad_() for part in base.unbind())
    base.mul_(x)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        view * 2


@pytest.mark.parametrize("looks", [False, True])
def test_a_view_follows_a_flag_that_its_base_got_after_a_write(looks: bool) -> None:
    base = adjoint.ones(3)
    view = base[1:]
    base.mul_(2)
    assert not looks or view.is_leaf  # reading attributes changes nothing
    base.requires_grad_()
    (view * view).sum().backward()
    assert not view.is_leaf and base.grad.tolist() == [0, 4, 4]


#: Writes that multiply the first two elements of a base by 3, through the base, a view of it, or another view.
TRIPLES = {
    "the base": lambda base, view: base.mul_(adjoint.tensor([3.0, 3.0, 1.0], dtype=f64)),
    "the view": lambda base, view: view[:2].mul_(3),
    "another view": lambda base, view: base[:2].mul_(3),
    "a function of the base": lambda base, view: base.mul_(adjoint.tensor([3.0, 3.0, 1.0], dtype=f64) * leaf(3) ** 0),
    "nothing": lambda base, view: None,
}
MEMORY = {
    "data": lambda base: setattr(base, "data", adjoint.zeros(3, dtype=f64)),
    "data of another shape": lambda base: setattr(base, "data", adjoint.zeros(4, dtype=f64)),
    "set_": lambda base: base.set_(adjoint.zeros(3, dtype=f64)),
    "set_ to another shape": lambda base: base.set_(adjoint.zeros(4, dtype=f64)),
}


@pytest.mark.parametrize("memory", MEMORY)
@pytest.mark.parametrize("write", TRIPLES)
def test_a_view_keeps_the_history_of_writes_when_its_base_gets_other_memory(write: str, memory: str) -> None:
    x = adjoint.ones(3, dtype=f64, requires_grad=True)
    base = x * 1
    view = base[:]
    TRIPLES[write](base, view)
    MEMORY[memory](base)
    factors = [1, 1, 1] if write == "nothing" else [3, 3, 1]
    assert view.tolist() == factors
    if memory.startswith("set_"):
        with pytest.raises(RuntimeError, match=r"derivative for set_ is not implemented|no gradient flows through"):
            view.sum().backward()
        return
    view.sum().backward()
    assert x.grad.tolist() == factors


def test_a_view_of_a_leaf_that_gets_other_memory() -> None:
    x = adjoint.ones(3, dtype=f64, requires_grad=True)
    view = x[1:]
    with adjoint.no_grad():
        x.mul_(2)
    x.data = adjoint.zeros(3, dtype=f64)
    (view * view).sum().backward()
    assert view.tolist() == [2, 2] and x.grad.tolist() == [0, 4, 4]


def test_a_view_of_a_reshaped_base_that_gets_other_memory() -> None:
    base = leaf(3) * 1
    view = base[1:]
    base.unsqueeze_(0)
    base.mul_(2)
    base.data = adjoint.zeros(1, 3, dtype=f64)
    with pytest.raises(RuntimeError, match="no gradient flows through this view: its base was modified, and has"):
        view.sum().backward()
