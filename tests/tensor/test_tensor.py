"""Definitions in tensor/tensor.py: attributes, Python's protocols, conversions, switches of the graph.

Expected values and messages are those of PyTorch 2.13 for the same calls.
"""

import copy
import math
import operator
import pickle
import re

import numpy as np
import pytest

import adjoint
from adjoint import Size, Tensor


def arange6():
    return adjoint.arange(6.0).reshape(2, 3)


def leaf():
    return adjoint.tensor([1.0, 2.0], requires_grad=True)


def raises(error, message):
    return pytest.raises(error, match=re.escape(message))


# attributes ---------------------------------------------------------------------------------------------------------


def test_shape_is_a_size():
    x = arange6()
    assert type(x.shape) is Size and x.shape == (2, 3) and x.shape.numel() == 6
    assert x.size() == x.shape and type(x.size()) is Size
    assert (x.size(0), x.size(-1), x.size(dim=1)) == (2, 3, 3)
    with raises(IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 2)"):
        x.size(2)
    for call in (lambda: adjoint.tensor(1.0).size(-1), lambda: adjoint.tensor(1.0).stride(0)):
        with pytest.raises(IndexError, match=r"Dimension specified as (-1|0) but tensor has no dimensions"):
            call()


def test_counts():
    x = arange6()
    assert (x.ndim, x.dim(), x.ndimension()) == (2, 2, 2)
    assert (x.numel(), x.nelement(), x.element_size(), x.itemsize, x.nbytes) == (6, 6, 4, 4, 24)
    assert x.double().nbytes == 48


@pytest.mark.parametrize(
    ("make", "strides"),
    [
        (lambda: adjoint.ones(2, 3), (3, 1)),
        (lambda: adjoint.ones(2, 3).t(), (1, 3)),
        (lambda: adjoint.ones(2, 3).expand(4, 2, 3), (0, 3, 1)),
        (lambda: adjoint.ones(2, 1, 3), (3, 3, 1)),
        (lambda: adjoint.ones(0, 3), (3, 1)),
        (lambda: adjoint.ones(3, 0, 2), (2, 2, 1)),
        (lambda: adjoint.tensor(3.0), ()),
        (lambda: adjoint.tensor([1 + 2j, 3 - 1j]).imag, (2,)),
    ],
)
def test_strides_count_elements(make, strides):
    x = make()
    assert x.stride() == strides
    assert tuple(x.stride(i) for i in range(x.ndim)) == strides


def test_stride_of_an_axis_that_is_not_there():
    with raises(IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 5)"):
        arange6().stride(5)


@pytest.mark.parametrize(
    ("make", "contiguous"),
    [
        (lambda: adjoint.ones(2, 3), True),
        (lambda: adjoint.ones(2, 3).t(), False),
        (lambda: adjoint.ones(2, 1), True),
        (lambda: adjoint.ones(3, 2)[:, :1], False),
        (lambda: adjoint.ones(3, 4)[:1], True),
        (lambda: adjoint.tensor([1j, 2j]).imag, False),
    ],
)
def test_is_contiguous(make, contiguous):
    assert make().is_contiguous() is contiguous
    assert make().contiguous().is_contiguous()


def test_storage():
    x = arange6()
    assert x.storage_offset() == 0 and x[1].storage_offset() == 3 and x[1, 1:].storage_offset() == 4
    assert x.data_ptr() == x.view(6).data_ptr() == x._array.ctypes.data
    assert x[1].data_ptr() - x.data_ptr() == 12
    assert x.clone().data_ptr() != x.data_ptr()


@pytest.mark.parametrize(
    "make",
    [
        lambda position: adjoint.tensor([1.0], device=position),
        lambda position: adjoint.zeros(2, device=position),
        lambda position: adjoint.arange(3, device=position),
        lambda position: adjoint.randn(2, device=position),
        lambda position: adjoint.as_tensor([1.0], device=position),
        lambda position: adjoint.ones_like(adjoint.ones(2), device=position),
        lambda position: adjoint.ones(2).new_zeros(2, device=position),
        lambda position: adjoint.ones(2).to(position) + adjoint.ones(2),
        lambda position: adjoint.nn.Linear(1, 1).to(position).weight,
        lambda position: adjoint.nn.Linear(1, 1, device=position).weight,
    ],
)
def test_a_cpu_with_a_number_is_main_memory(make):
    for position in ("cpu:0", adjoint.device("cpu", 0), "cpu:1"):
        assert str(make(position).device) == "cpu"
        with adjoint.device(position):
            assert str(make(None).device) == "cpu"


def test_device():
    x = arange6()
    assert x.device == adjoint.device("cpu") and x.device.type == "cpu" and x.cpu() is x


@pytest.mark.parametrize(
    ("dtype", "floating", "complex_", "signed"),
    [
        (adjoint.float32, True, False, True),
        (adjoint.bfloat16, True, False, True),
        (adjoint.complex64, False, True, True),
        (adjoint.int8, False, False, True),
        (adjoint.uint8, False, False, False),
        (adjoint.bool, False, False, False),
    ],
)
def test_kinds_of_dtype(dtype, floating, complex_, signed):
    x = adjoint.ones(1, dtype=dtype)
    assert x.dtype is dtype
    assert (x.is_floating_point(), x.is_complex(), x.is_signed()) == (floating, complex_, signed)


def test_transposes_of_matrices():
    x, c = arange6(), adjoint.tensor([[1 + 2j, 3 - 1j]])
    assert x.T.tolist() == x.mT.tolist() == x.H.tolist() == x.mH.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert c.H.tolist() == c.mH.tolist() == [[1 - 2j], [3 + 1j]]
    assert c.T.tolist() == c.mT.tolist() == [[1 + 2j], [3 - 1j]]
    assert x.T.data_ptr() == x.data_ptr()


def test_transposes_of_batches_and_others():
    x = adjoint.arange(6).reshape(1, 2, 3)
    assert x.mT.shape == x.mH.shape == (1, 3, 2)
    adjoint.set_warn_always(True)
    with pytest.warns(UserWarning, match="The use of `x.T` on tensors of dimension other than 2"):
        assert x.T.shape == (3, 2, 1)
    for name, result in {"T": 3j, "mT": 3j, "H": -3j, "mH": -3j}.items():
        with pytest.warns(UserWarning, match=f"Tensor.{name} is deprecated on 0-D tensors"):
            assert getattr(adjoint.tensor(3j), name).item() == result
    adjoint.set_warn_always(False)
    assert adjoint.tensor([[3.0]]).T.item() == 3.0
    with raises(RuntimeError, "tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor."):
        _ = adjoint.ones(3).mT
    with raises(RuntimeError, "tensor.H is only supported on matrices (2-D tensors). Got 1-D tensor."):
        _ = adjoint.ones(3).H
    with raises(RuntimeError, "Got 3-D tensor. For batches of matrices, consider using tensor.mH"):
        _ = x.H


def test_transposes_are_differentiable():
    x = adjoint.arange(6.0).reshape(2, 3).requires_grad_()
    (x.T * x.mT).sum().backward()
    assert x.grad.tolist() == (2 * x.detach()).tolist()


def test_real_and_imag_are_views():
    c = adjoint.tensor([1 + 2j, 3 - 1j])
    assert c.real.tolist() == [1, 3] and c.imag.tolist() == [2, -1]
    assert c.real.data_ptr() == c.data_ptr()
    c.imag[0] = 7
    assert c[0].item() == 1 + 7j
    x = arange6()
    assert x.real is x
    with raises(RuntimeError, "imag is not implemented for tensors with non-complex dtypes."):
        _ = x.imag


@pytest.mark.parametrize("name", ["T", "shape", "dtype", "grad_fn", "is_leaf", "device"])
def test_attributes_that_cannot_be_assigned(name):
    with pytest.raises(AttributeError):
        setattr(arange6(), name, None)


def test_own_attributes():
    x = arange6()
    x.label = "weights"
    assert x.label == "weights"


# text ---------------------------------------------------------------------------------------------------------------


def test_repr():
    r = leaf()
    assert repr(r) == "tensor([1., 2.], requires_grad=True)"
    assert repr(r * 2) == "tensor([2., 4.], grad_fn=<MulBackward0>)"
    assert repr(r[0]) == "tensor(1., grad_fn=<SelectBackward0>)"
    assert repr((r * 2).sum()) == "tensor(6., grad_fn=<SumBackward0>)"
    assert repr((r * 2).detach()) == repr(r.data * 2) == "tensor([2., 4.])"
    both = adjoint.ones(2, dtype=adjoint.float64, requires_grad=True)
    assert repr(both) == "tensor([1., 1.], dtype=adjoint.float64, requires_grad=True)"


def test_format():
    s = adjoint.tensor(3.0)
    old_style = "%.1f" % s  # noqa: UP031
    assert (f"{s}", f"{s:.2f}", old_style, f"{adjoint.tensor(2):d}") == ("3.0", "3.00", "3.0", "2")
    assert f"{leaf().sum():.1f}" == f"{leaf().sum()}" == "3.0"
    assert f"{leaf()}" == "tensor([1., 2.], requires_grad=True)"
    with raises(TypeError, "unsupported format string passed to Tensor.__format__"):
        f"{arange6():.2f}"


# Python's protocols -------------------------------------------------------------------------------------------------


def test_len():
    assert len(arange6()) == 2 and len(adjoint.ones(0, 3)) == 0
    with raises(TypeError, "len() of a 0-d tensor"):
        len(adjoint.tensor(1.0))


def test_iteration_gives_differentiable_rows():
    x = arange6().requires_grad_()
    first, second = x
    assert first.tolist() == [0, 1, 2] and second.tolist() == [3, 4, 5]
    (first * second).sum().backward()
    assert x.grad.tolist() == [[3, 4, 5], [0, 1, 2]]
    assert [type(element) for element in x[0]] == [Tensor] * 3
    with raises(TypeError, "iteration over a 0-d tensor"):
        iter(adjoint.tensor(1.0))


def test_reversed():
    assert reversed(adjoint.arange(3)).tolist() == [2, 1, 0]
    assert reversed(adjoint.tensor(3.0)).item() == 3.0


def test_bool():
    assert bool(adjoint.tensor(3.0)) is True and bool(adjoint.tensor([[0]])) is False
    with raises(RuntimeError, "Boolean value of Tensor with more than one value is ambiguous"):
        bool(adjoint.ones(2))
    with raises(RuntimeError, "Boolean value of Tensor with no values is ambiguous"):
        bool(adjoint.ones(0))


def test_numbers():
    assert float(adjoint.tensor([2.5])) == 2.5 and type(float(adjoint.tensor(2))) is float
    assert int(adjoint.tensor([[2.7]])) == 2 and type(int(adjoint.tensor(2.7))) is int
    assert complex(adjoint.tensor(1 + 2j)) == 1 + 2j and complex(adjoint.tensor(2.0)) == 2
    assert float(adjoint.tensor(3 + 0j)) == 3.0
    assert math.floor(adjoint.tensor(2.5)) == 2 and math.sqrt(leaf().sum().detach() + 1) == 2.0


@pytest.mark.parametrize("convert", [float, int, complex])
def test_several_elements_are_no_number(convert):
    for x in (adjoint.ones(2), adjoint.ones(0)):
        with raises(ValueError, "only one element tensors can be converted to Python scalars"):
            convert(x)


def test_complex_is_no_real_number():
    with raises(RuntimeError, "value cannot be converted to type double without overflow"):
        float(adjoint.tensor(1 + 2j))
    with raises(RuntimeError, "value cannot be converted to type int64_t without overflow"):
        int(adjoint.tensor(1 + 2j))


def test_index():
    assert [10, 20, 30][adjoint.tensor(1)] == 20 and list(range(adjoint.tensor([2]))) == [0, 1]
    assert operator.index(adjoint.tensor(True)) == 1
    for x in (adjoint.tensor(1.0), adjoint.tensor([1, 2])):
        with raises(TypeError, "only integer tensors of a single element can be converted to an index"):
            operator.index(x)


def test_contains():
    x = arange6()
    assert 1.0 in x and 9 not in x and x[0] in x and float("nan") not in adjoint.tensor([float("nan")])
    for element in ("a", None):
        with raises(RuntimeError, "Tensor.__contains__ only supports Tensor or scalar, but you passed in a <class"):
            _ = element in x


def test_hash_is_identity():
    x = arange6()
    assert hash(x) == hash(x) and hash(x) != hash(x.clone())
    assert {x: 1}[x] == 1 and len({x, x, x.clone()}) == 2


def test_equality_is_elementwise_except_with_what_is_no_number():
    x = adjoint.tensor([1.0, 2.0])
    assert (x == x).tolist() == [True, True]
    assert (x == 2).tolist() == [False, True] and (x != 2).tolist() == [True, False]
    assert (x == np.array([1.0, 0.0])).tolist() == [True, False]
    for other in (None, "a", [1.0, 2.0], object()):
        assert (x == other) is False and (x != other) is True


# copies -------------------------------------------------------------------------------------------------------------


def test_deepcopy():
    x = leaf()
    x.grad = adjoint.ones(2)
    x.notes = ["a"]
    twin, same = copy.deepcopy([x, x])
    assert twin is same and twin is not x
    assert twin.tolist() == [1, 2] and twin.data_ptr() != x.data_ptr()
    assert twin.requires_grad and twin.is_leaf and x.requires_grad
    assert twin.grad.tolist() == [1, 1] and twin.grad is not x.grad and twin.grad.data_ptr() != x.grad.data_ptr()
    assert twin.notes == ["a"] and twin.notes is not x.notes
    assert set(vars(twin)) - set(vars(adjoint.ones(1))) <= set(vars(x))


def test_deepcopy_of_a_used_leaf_takes_no_graph_along():
    x = leaf()
    y = (x * x).sum()
    twin = copy.deepcopy(x)
    twin.sum().backward()
    assert x.grad is None and twin.grad.tolist() == [1, 1]
    y.backward()
    assert x.grad.tolist() == [2, 4]


def test_deepcopy_of_a_result():
    with raises(RuntimeError, "Only Tensors created explicitly by the user (graph leaves) support the deepcopy"):
        copy.deepcopy(leaf() * 2)
    assert copy.deepcopy((leaf() * 2).detach()).tolist() == [2, 4]


def test_copy_shares_memory():
    x = leaf()
    twin = copy.copy(x)
    assert twin is not x and twin.data_ptr() == x.data_ptr() and twin.requires_grad and twin.is_leaf


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol):
    x = leaf()
    (x * x).sum().backward()
    x.notes = ["a"]
    twin, same = pickle.loads(pickle.dumps([x, x], protocol))
    assert twin is same and twin.tolist() == [1, 2] and twin.requires_grad and twin.is_leaf
    assert twin.grad is None and twin.notes == ["a"]
    twin.sum().backward()
    assert twin.grad.tolist() == [1, 1] and x.grad.tolist() == [2, 4]


def test_pickle_of_a_result_gives_a_leaf():
    twin = pickle.loads(pickle.dumps(leaf() * 2))
    assert twin.is_leaf and twin.requires_grad and twin.grad_fn is None and twin.tolist() == [2, 4]


@pytest.mark.parametrize("dtype", [adjoint.bfloat16, adjoint.complex64, adjoint.bool, adjoint.int8])
def test_pickle_keeps_the_dtype(dtype):
    twin = pickle.loads(pickle.dumps(adjoint.ones(2, dtype=dtype)))
    assert twin.dtype is dtype and twin.tolist() == [1, 1]


# conversions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "dtype", "kind"),
    [
        (2.5, adjoint.float32, float),
        (2.5, adjoint.float16, float),
        (2.5, adjoint.bfloat16, float),
        (2, adjoint.int8, int),
        (True, adjoint.bool, bool),
        (1 + 2j, adjoint.complex64, complex),
    ],
)
def test_item_and_tolist_give_python_numbers(value, dtype, kind):
    x = adjoint.tensor([value], dtype=dtype)
    for number in (x.item(), x[0].item(), x[0].tolist(), *x.tolist(), *x[None].tolist()[0]):
        assert type(number) is kind and number == value


def test_item_of_several():
    with raises(RuntimeError, "a Tensor with 6 elements cannot be converted to Scalar"):
        arange6().item()
    assert leaf().sum().item() == 3.0 and leaf().tolist() == [1, 2]


def test_numpy_shares_memory():
    x = adjoint.ones(2)
    array = x.numpy()
    array[0] = 7
    x[1] = 3
    assert type(array) is np.ndarray and x.tolist() == [7, 3] and array.tolist() == [7, 3]


def test_numpy_refuses_with_requires_grad():
    message = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
    for x in (leaf(), leaf() * 2):
        with raises(RuntimeError, message):
            x.numpy()
        with raises(RuntimeError, message):
            np.asarray(x)
        with raises(RuntimeError, message):
            np.sin(np.asarray(x))
        assert x.numpy(force=True).tolist() == x.detach().numpy().tolist() == x.tolist()
    with pytest.raises(TypeError, match="numpy"):
        leaf().numpy(True)


def test_array_protocol():
    x = adjoint.ones(2)
    assert np.shares_memory(np.asarray(x), x.numpy())
    assert not np.shares_memory(np.array(x), x.numpy())
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    assert np.asarray(x, copy=True) is not x.numpy()
    with pytest.raises(ValueError, match="copy"):
        np.asarray(x, dtype=np.float64, copy=False)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((adjoint.float32,), {}),
        (("cpu",), {}),
        ((adjoint.device("cpu"),), {}),
        (("cpu", adjoint.float32), {}),
        ((), {"dtype": adjoint.float32, "device": "cpu"}),
        ((adjoint.ones(1),), {}),
        ((None,), {}),
        ((), {}),
    ],
)
def test_to_gives_itself_where_nothing_changes(args, kwargs):
    x = arange6()
    assert x.to(*args, **kwargs) is x
    twin = x.to(*args, **kwargs, copy=True)
    assert twin is not x and twin.data_ptr() != x.data_ptr() and twin.tolist() == x.tolist()


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((adjoint.float64,), {}),
        ((float,), {}),
        (("cpu", adjoint.float64), {}),
        (("cpu", adjoint.float64, False, True), {}),
        ((adjoint.float64, False, True), {}),
        ((), {"dtype": adjoint.float64, "non_blocking": True}),
        ((adjoint.ones(1, dtype=adjoint.float64),), {}),
    ],
)
def test_to_another_dtype(args, kwargs):
    assert arange6().to(*args, **kwargs).dtype is adjoint.float64


def test_to_copies_by_position():
    x = arange6()
    assert x.to(adjoint.float32, False, True) is not x and x.to(adjoint.float32, True) is x


def test_to_rounds_towards_zero():
    assert adjoint.tensor([1.9, -1.9]).to(adjoint.int64).tolist() == [1, -1]
    assert adjoint.tensor([0, 2]).to(adjoint.bool).tolist() == [False, True]
    assert adjoint.tensor([1 + 2j]).to(adjoint.float32).tolist() == [1]


def test_to_is_differentiable():
    x = leaf()
    y = x.to(adjoint.float64)
    assert type(y.grad_fn).__name__ == "ToCopyBackward0"
    y.sum().backward()
    assert x.grad.dtype is adjoint.float32 and x.grad.tolist() == [1, 1]
    assert not x.to(adjoint.int64).requires_grad


def test_to_what_it_cannot():
    x = arange6()
    with pytest.raises(AssertionError, match="CUDA"):
        x.to("cuda")
    with raises(RuntimeError, "device type at start of device string: foo"):
        x.to("foo")
    with pytest.raises(TypeError, match="foo"):
        x.to(foo=1)


def test_type():
    x = arange6()
    assert x.type() == "adjoint.FloatTensor" and adjoint.tensor([1j]).type() == "adjoint.ComplexFloatTensor"
    assert adjoint.ones(1, dtype=adjoint.bfloat16).type() == "adjoint.BFloat16Tensor"
    assert x.type(adjoint.float64).dtype is x.type("adjoint.DoubleTensor").dtype is adjoint.float64
    assert x.type_as(adjoint.tensor([1])).dtype is adjoint.int64 and x.type_as(x) is x
    with raises(ValueError, "invalid type: 'adjoint.FooTensor'"):
        x.type("adjoint.FooTensor")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("bool", adjoint.bool),
        ("char", adjoint.int8),
        ("short", adjoint.int16),
        ("int", adjoint.int32),
        ("long", adjoint.int64),
        ("half", adjoint.float16),
        ("float", adjoint.float32),
        ("double", adjoint.float64),
        ("cfloat", adjoint.complex64),
        ("cdouble", adjoint.complex128),
    ],
)
def test_methods_named_after_dtypes(name, dtype):
    assert getattr(adjoint.ones(2), name)().dtype is dtype


# new tensors with the properties of this one ------------------------------------------------------------------------


def test_new_tensors_take_the_dtype():
    x = adjoint.arange(3)
    assert repr(x.new_zeros(2)) == "tensor([0, 0])" and repr(x.new_ones((1, 2))) == "tensor([[1, 1]])"
    assert repr(x.new_full((2,), 1.5)) == "tensor([1, 1])" and repr(x.new_tensor([1.0, 2.0])) == "tensor([1, 2])"
    assert x.new_empty(2, 3).shape == (2, 3) and x.new_empty(1).dtype is adjoint.int64
    assert x.new_zeros(2, dtype=adjoint.float32, requires_grad=True).requires_grad
    assert x.new_tensor(x).data_ptr() != x.data_ptr()


# the constructor ----------------------------------------------------------------------------------------------------


def test_constructor():
    assert Tensor(2, 3).shape == Tensor(Size([2, 3])).shape == (2, 3) and Tensor(np.int64(2)).shape == (2,)
    assert Tensor().tolist() == Tensor([]).tolist() == []
    for data in ([1, 2], (1, 2), np.array([1, 2]), range(1, 3)):
        x = Tensor(data)
        assert type(x) is Tensor and x.dtype is adjoint.float32 and x.tolist() == [1, 2] and not x.requires_grad


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (3.0, TypeError, "new(): data must be a sequence (got float)"),
        (True, TypeError, "new(): data must be a sequence (got bool)"),
        (None, TypeError, "new(): data must be a sequence (got NoneType)"),
        ({1: 2}, TypeError, "new(): data must be a sequence (got dict)"),
        (np.float64(2), TypeError, "new(): data must be a sequence (got numpy.float64)"),
        ("a", TypeError, "new(): invalid data type 'str'"),
        (["a"], ValueError, "too many dimensions 'str'"),
        ([[1], [2, 3]], ValueError, "expected sequence of length 1 at dim 1 (got 2)"),
        (-1, RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"),
    ],
)
def test_constructor_refuses(data, error, message):
    with raises(error, message):
        Tensor(data)


def test_constructor_of_a_tensor_shares_memory_and_history():
    x = leaf()
    alias = Tensor(x)
    assert alias is not x and alias.data_ptr() == x.data_ptr() and not alias.is_leaf
    alias.sum().backward()
    assert x.grad.tolist() == [1, 1]
    assert Tensor(adjoint.tensor([1])).dtype is adjoint.int64


def test_subclasses():
    class Weight(Tensor):
        pass

    weight = Weight([1, 2])
    assert type(weight) is Weight and isinstance(weight, Tensor) and weight.tolist() == [1, 2]
    assert (weight + 1).tolist() == [2, 3]


# the graph ----------------------------------------------------------------------------------------------------------


def test_is_leaf_and_grad_fn():
    x = leaf()
    y = x * 2
    assert (x.is_leaf, y.is_leaf, y.detach().is_leaf, (x.detach() * 2).is_leaf) == (True, False, True, True)
    assert x.grad_fn is None and y.grad_fn.name() == "MulBackward0" and y.output_nr == 0
    with pytest.warns(UserWarning, match="The .grad attribute of a Tensor that is not a leaf Tensor is being accessed"):
        assert y.grad is None


def test_the_gradient_of_a_view_without_history_is_none():
    base = leaf() * 2
    part = base.chunk(2)[0]
    base.mul_(2)
    with pytest.raises(RuntimeError, match="is a view and its base"):
        part.grad_fn  # noqa: B018
    with pytest.warns(UserWarning, match="not a leaf Tensor is being accessed"):
        assert part.grad is None


def test_requires_grad_():
    x = adjoint.ones(2)
    assert x.requires_grad_() is x and x.requires_grad
    assert not x.requires_grad_(False).requires_grad
    y = leaf() * 2
    assert y.requires_grad_() is y
    with raises(RuntimeError, "you can only change requires_grad flags of leaf variables."):
        y.requires_grad_(False)
    with raises(RuntimeError, "only Tensors of floating point dtype can require gradients"):
        adjoint.ones(2, dtype=adjoint.int64).requires_grad_()
    assert adjoint.ones(2, dtype=adjoint.complex64).requires_grad_().requires_grad


def test_detach_shares_memory_and_version():
    x = leaf()
    y = x.detach()
    y.add_(1)
    assert not y.requires_grad and x.tolist() == [2, 3] and (x._version, y._version) == (1, 1)


def test_changes_through_detach_are_noticed():
    x = leaf()
    y = (x * x).sum()
    x.detach().add_(1)
    with raises(RuntimeError, "has been modified by an inplace operation"):
        y.backward()


def test_detach_():
    y = leaf() * 2
    assert y.detach_() is y and y.is_leaf and not y.requires_grad and y.grad_fn is None
    assert not leaf().detach_().requires_grad
    assert leaf().detach().detach_().is_leaf
    for view in ((leaf() * 2)[0], leaf()[0], adjoint.ones(2)[0]):
        with raises(RuntimeError, "Can't detach views in-place. Use detach() instead."):
            view.detach_()


def test_data_escapes_the_checks():
    x = leaf()
    y = (x * x).sum()
    x.data.add_(1)
    assert x._version == 0 and not x.data.requires_grad
    y.backward()
    assert x.grad.tolist() == [4, 6]


def test_data_can_be_replaced():
    x = leaf()
    x.data = adjoint.ones(3)
    assert x.shape == (3,) and x.requires_grad and x.is_leaf
    with raises(TypeError, "Variable data has to be a tensor, but got int"):
        x.data = 1
    with raises(RuntimeError, "data set to a tensor that requires gradients must be floating point or complex dtype"):
        x.data = adjoint.tensor([1])


@pytest.mark.parametrize("shape", [(2,), (3,), (2, 2), ()])
def test_a_leaf_with_other_memory_is_another_place_in_the_graph(shape):
    def put_by_set(x, other):
        with adjoint.no_grad():
            x.set_(other)

    def put_as_data(x, other):
        x.data = other

    for change, dtype in ((put_by_set, adjoint.float32), (put_as_data, adjoint.float64)):
        x = adjoint.ones(2, requires_grad=True)
        y = (x * 2).sum()
        change(x, adjoint.full(shape, 3.0, dtype=dtype))
        with raises(RuntimeError, "The differentiated Tensor at index 0 appears to not have been used"):
            adjoint.autograd.grad(y, x, retain_graph=True)
        assert x.requires_grad and x.is_leaf
        (g,) = adjoint.autograd.grad((adjoint.stack([x, x]) * x).sum(), x)
        assert g.shape == shape and g.dtype is dtype and (g == 12).all()
        (x * x).sum().backward()
        assert x.grad.shape == shape and (x.grad == 6).all()


def test_set_():
    x = adjoint.ones(2)
    source = arange6()
    assert x.set_(source) is x and x.shape == (2, 3) and x.data_ptr() == source.data_ptr()


def test_zero_():
    x = arange6()
    assert x.zero_() is x and x.tolist() == [[0, 0, 0], [0, 0, 0]] and x._version == 1


def test_requires_grad_cannot_be_deleted():
    for x in (leaf(), leaf() * 2, arange6()):
        before = x.requires_grad
        with raises(RuntimeError, "requires_grad must be a bool"):
            del x.requires_grad
        assert x.requires_grad is before


def test_retain_grad():
    x = leaf()
    y = x * 2
    assert not y.retains_grad
    y.retain_grad()
    assert y.retains_grad
    (y * y).sum().backward()
    assert y.grad.tolist() == [4, 8] and x.grad.tolist() == [8, 16]
    x.retain_grad()
    assert not x.retains_grad
    with raises(RuntimeError, "can't retain_grad on Tensor that has requires_grad=False"):
        adjoint.ones(1).retain_grad()


def test_hooks():
    x = leaf()
    handle = x.register_hook(lambda g: g * 10)
    (x * 2).sum().backward()
    handle.remove()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [22, 22]
    grads = []
    x.register_post_accumulate_grad_hook(lambda t: grads.append(t.grad.tolist()))
    x.sum().backward()
    assert grads == [[23, 23]]


@pytest.mark.parametrize("name", ["register_hook", "register_post_accumulate_grad_hook"])
def test_hooks_need_a_gradient(name):
    with raises(RuntimeError, "cannot register a hook on a tensor that doesn't require gradient"):
        getattr(adjoint.ones(1), name)(print)


def test_post_accumulate_hooks_belong_to_leaves():
    with raises(RuntimeError, "post accumulate grad hooks cannot be registered on non-leaf tensors"):
        (leaf() * 2).register_post_accumulate_grad_hook(print)


def test_backward_method():
    x = leaf()
    y = x * x
    with raises(RuntimeError, "grad can be implicitly created only for scalar outputs"):
        y.backward()
    y.backward(adjoint.tensor([1.0, 10.0]), retain_graph=True)
    y.backward(adjoint.tensor([1.0, 10.0]), inputs=[x])
    assert x.grad.tolist() == [4, 80]


@pytest.mark.parametrize("apply", [operator.eq, operator.add, operator.lt, operator.matmul])
def test_what_an_operand_raises_when_it_is_asked_for_its_class(apply):
    """For example, a signal may raise an error in the Python metaclass of numbers.Number."""

    class Raises:
        @property
        def __class__(self):
            raise KeyboardInterrupt("asked")

    with raises(KeyboardInterrupt, "asked"):
        apply(leaf(), Raises())
