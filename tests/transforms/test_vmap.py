"""vmap: batch axes of arguments and results, refusals, randomness, in-place operations, derivatives."""

from __future__ import annotations

import gc
import math
import re
import warnings
import weakref
from collections import namedtuple
from functools import partial
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import vmap
from adjoint.autograd import grad
from adjoint.core.graph import new_tensor
from adjoint.rules import TABLE
from adjoint.transforms.chunks import Chunks

F64 = adjoint.float64


def t(*shape: int, seed: int = 0) -> Any:
    return new_tensor(np.random.default_rng(seed).standard_normal(shape))


def same(actual: Any, expected: Any, tolerance: float = 1e-12) -> None:
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual.detach()._array, expected.detach()._array, tolerance, tolerance)


def loop(function: Any, *args: Any) -> Any:
    return adjoint.stack([function(*members) for members in zip(*args, strict=True)])


def axis_behind(tensor: Any, dim: int) -> Any:
    return tensor.movedim(0, dim)


# axes -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -3])
def test_in_dims_and_out_dims(dim: int) -> None:
    x, y = t(4, 2, 3), t(4, 2, 3, seed=1)
    expected = loop(lambda a, b: a @ b.mT, x, y)
    same(vmap(lambda a, b: a @ b.mT, (dim, 1), dim)(axis_behind(x, dim), axis_behind(y, 1)), axis_behind(expected, dim))


def test_none_is_the_same_for_all_members() -> None:
    x, w = t(4, 3), t(3)
    same(vmap(lambda a, b: a * b, (0, None))(x, w), x * w)
    same(vmap(lambda a, b=None: a * b)(x, b=w), x * w)


Pair = namedtuple("Pair", "first second")


def test_containers() -> None:
    x, y = t(4, 3), t(3, 4, seed=1)

    def function(tree: Any) -> Any:
        return {"sum": tree["a"] + tree["b"][0], "pair": Pair(tree["a"], [tree["b"][1]])}

    result = vmap(function, ({"a": 0, "b": (1, None)},), {"sum": 1, "pair": Pair(0, None)})({"a": x, "b": (y, 2.0)})
    same(result["sum"], (x + y.mT).mT)
    same(result["pair"].first, x)
    assert result["pair"].second == [2.0]


def test_one_number_stands_for_a_container() -> None:
    x = t(2, 5)
    same(vmap(lambda pair, s: pair[0] - pair[1] * s, (1, None), 1)((x, x), 3.0), x - 3 * x)


def test_results_without_the_batch_are_repeated() -> None:
    result = vmap(lambda a: adjoint.ones(2))(t(3))
    same(result, adjoint.ones(3, 2))
    same(vmap(lambda a: adjoint.ones(2), out_dims=None)(t(3)), adjoint.ones(2))
    same(vmap(lambda a: adjoint.ones(2), out_dims=(None,))(t(3)), adjoint.ones(2))
    same(vmap(lambda a: 2 * a, out_dims=(1,))(X), 2 * X.mT)
    same(vmap(lambda a: [2 * a], out_dims=[1])(X)[0], 2 * X.mT)


@pytest.mark.parametrize(
    ("function", "slope"),
    [(lambda a, b: b, 2.0), (lambda a, b: b * 3, 6.0), (lambda a, b: vmap(lambda c: b)(a), 6.0)],
    ids=["argument", "product", "nested"],
)
@pytest.mark.parametrize("out_dims", [0, 1])
def test_gradient_of_a_result_that_is_the_same_for_all_members(function: Any, slope: float, out_dims: int) -> None:
    b = t(4).requires_grad_()
    result = vmap(function, (0, None), out_dims)(t(2, 3), b)
    (gradient,) = grad(result.sum(), b)
    same(gradient, adjoint.full((4,), slope, dtype=F64))
    # the gradients of members, and their derivatives, are included
    each = vmap(lambda a: grad((b * b).sum(), b, create_graph=True)[0])(t(2, 3))
    same(each, (2 * b).expand(2, 4))
    same(grad(each.sum(), b)[0], adjoint.full((4,), 4.0, dtype=F64))


def test_spans() -> None:
    assert list(Chunks(5, 2)) == [(0, 2), (2, 4), (4, 5)]
    assert list(Chunks(5, 5)) == [(0, 5)]
    assert list(Chunks(0, 3)) == [(0, 0)]


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 7, 10])
def test_chunks(chunk_size: int) -> None:
    x, y = t(7, 3), t(3, 7, seed=1)

    def function(a: Any, b: Any) -> Any:
        return a.outer(b), {"dot": a.dot(b)}

    whole = vmap(function, (0, 1), (1, 0))(x, y)
    result = vmap(function, (0, 1), (1, 0), chunk_size=chunk_size)(x, y)
    same(result[0], whole[0])
    same(result[1]["dot"], whole[1]["dot"])


def test_empty_batch() -> None:
    assert vmap(lambda a: (a * 2).sum())(adjoint.zeros(0, 3)).shape == (0,)


def test_nested_with_different_axes() -> None:
    x, y = t(4, 3), t(5, 3, seed=1)
    gram = vmap(lambda a: vmap(lambda b: a.dot(b))(y))(x)
    same(gram, x @ y.mT)
    same(vmap(vmap(lambda a, b: a.dot(b), (None, 0)), (0, None))(x, y), x @ y.mT)
    same(vmap(vmap(vmap(adjoint.mul, (0, None)), (None, 0)), (0, 0))(t(2, 3), t(2, 4, 5)).sum(),
         (t(2, 3)[:, None, :, None] * t(2, 4, 5)[:, :, None]).sum(), 1e-9)  # fmt: skip


# refusals, with torch's messages --------------------------------------------------------------------------------------


def first_line(function: Any) -> str:
    try:
        function()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


X = t(2, 3)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: vmap(lambda: 1)(), "ValueError: vmap(<lambda>)(<inputs>): got no inputs. Maybe you forgot to add "
         "inputs, or you are trying to vmap over a function with no inputs. The latter is unsupported."),
        (lambda: vmap(lambda a: a, in_dims=None)(X), "ValueError: vmap(<lambda>, in_dims=None, ...)(<inputs>): "
         "expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: <class "
         "'NoneType'>."),
        (lambda: vmap(lambda a: a, in_dims=(0, 0))(X), "ValueError: vmap(<lambda>, in_dims=(0, 0), ...)(<inputs>): "
         "in_dims is not compatible with the structure of `inputs`. in_dims has structure TreeSpec(tuple, None, [*,\n"
         "  *]) but inputs has structure TreeSpec(tuple, None, [*])."),
        (lambda: vmap(lambda a: a, in_dims=({"b": 1},))({"a": X}), "ValueError: vmap(<lambda>, in_dims=({'b': 1},), "
         "...)(<inputs>): in_dims is not compatible with the structure of `inputs`. in_dims has structure "
         "TreeSpec(tuple, None, [TreeSpec(dict, ['b'], [*])]) but inputs has structure TreeSpec(tuple, None, "
         "[TreeSpec(dict, ['a'], [*])])."),
        (lambda: vmap(lambda a: a, in_dims=(0.5,))(X), "ValueError: vmap(<lambda>, in_dims=(0.5,), ...)(<inputs>): Got "
         "in_dim=0.5 for an input but in_dim must be either an integer dimension or None."),
        (lambda: vmap(lambda a, b: a * b)(X, 2.0), "ValueError: vmap(<lambda>, in_dims=0, ...)(<inputs>): Got in_dim=0 "
         "for an input but the input is of type <class 'float'>. We cannot vmap over non-Tensor arguments, please use "
         "None as the respective in_dim"),
        (lambda: vmap(lambda a: a, in_dims=2)(X), "ValueError: vmap(<lambda>, in_dims=2, ...)(<inputs>): Got in_dim=2 "
         "for some input, but that input is a Tensor of dimensionality 2 so expected in_dim to satisfy -2 <= in_dim < "
         "2."),
        (lambda: vmap(lambda a, b: a)(X, X.mT), "ValueError: vmap: Expected all tensors to have the same size in the "
         "mapped dimension, got sizes [2, 3] for the mapped dimension"),
        (lambda: vmap(lambda a: a, in_dims=(None,))(X), "ValueError: vmap: Expected at least one Tensor to vmap over"),
        (lambda: vmap(lambda a: 1.0)(X), "ValueError: vmap(<lambda>, ...): `<lambda>` must only return Tensors, got "
         "type <class 'float'>. Did you mean to set out_dims= to None for output?"),
        (lambda: vmap(lambda a: None)(X), "ValueError: vmap(<lambda>, ...): `<lambda>` must only return Tensors, got "
         "type <class 'NoneType'>. Did you mean to set out_dims= to None for output?"),
        (lambda: vmap(lambda a: a, out_dims="a")(X), "ValueError: vmap(<lambda>, ..., out_dims=a): `out_dims` must be "
         "an int, None or a python collection of ints representing where in the outputs the vmapped dimension should "
         "appear."),
        (lambda: vmap(lambda a: (a, a), out_dims=(0, 0, 0))(X), "ValueError: vmap(<lambda>, ..., out_dims=(0, 0, 0))"
         "(<inputs>): out_dims is not compatible with the structure of `outputs`. out_dims has structure "
         "TreeSpec(tuple, None, [*,\n  *,\n  *]) but outputs has structure TreeSpec(tuple, None, [*,\n  *])."),
        (lambda: vmap(lambda a: a, out_dims=3)(X), "IndexError: Dimension out of range (expected to be in range of "
         "[-2, 1], but got 3)"),
        (lambda: vmap(lambda a: a, out_dims=None)(X), "ValueError: vmap(<lambda>, ...): `<lambda>` can not return a "
         "BatchedTensor when out_dim is None"),
        (lambda: vmap(lambda a: a, randomness="no"), "RuntimeError: Only allowed values for randomness are 'error', "
         "'different', or 'same'. Got no"),
        (lambda: vmap(lambda a: a, chunk_size=0), "ValueError: vmap: chunk_size should be None or greater than 0. "
         "(got 0)"),
        (lambda: vmap(partial(lambda a, b: a, b=X), in_dims=3)(X), "ValueError: vmap(functools.partial(<lambda>, ...), "
         "in_dims=3, ...)(<inputs>): Got in_dim=3 for some input, but that input is a Tensor of dimensionality 2 so "
         "expected in_dim to satisfy -2 <= in_dim < 2."),
        (lambda: vmap(lambda a: (a * a).sum().backward())(X), "RuntimeError: backward() called inside a functorch "
         "transform. This is not supported, please use functorch.grad or functorch.vjp instead or call backward() "
         "outside of functorch transforms."),
    ],
)  # fmt: skip
def test_messages(function: Any, message: str) -> None:
    assert first_line(function) == message


@pytest.mark.parametrize(
    ("function", "start"),
    [
        (lambda a: a.sum().item(), "vmap: It looks like you're calling .item() on a Tensor."),
        (lambda a: float(a[0]), "vmap: It looks like you're calling .item() on a Tensor."),
        (lambda a: 1.0 in a, "vmap: It looks like you're calling .item() on a Tensor."),
        (lambda a: adjoint.tensor([a[0], a[1]]), "vmap: It looks like you're calling .item() on a Tensor."),
        (lambda a: a if a.sum() > 0 else -a, "vmap: It looks like you're attempting to use a Tensor in some "
         "data-dependent control flow."),
        (lambda a: a.numpy(), "Cannot access data pointer of Tensor that doesn't have storage"),
        (lambda a: np.sin(np.asarray(a)), "Cannot access data pointer of Tensor that doesn't have storage"),
        (lambda a: a.tolist(), "Cannot access data pointer of Tensor that doesn't have storage"),
        (lambda a: a.data_ptr(), "Cannot access data pointer of Tensor that doesn't have storage"),
        (lambda a: a.nonzero(), "vmap: We do not support batching operators that can output dynamic shape."),
        (lambda a: adjoint.where(a > 0)[0], "vmap: We do not support batching operators that can output dynamic"),
        (lambda a: a[a > 0], "vmap: We do not support batching operators that can support dynamic shape."),
        (lambda a: a.masked_select(a > 0), "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask)"),
        (lambda a: adjoint.allclose(a, a), "vmap over torch.allclose isn't supported yet."),
        (lambda a: adjoint.equal(a, a), "Batching rule not implemented for aten::equal."),
        (lambda a: adjoint.zeros(3, dtype=F64).copy_(a), "vmap: inplace arithmetic(self, *extra_args) is not possible"),
        (lambda a: adjoint.zeros(3, dtype=F64).add_(a), "vmap: inplace arithmetic(self, *extra_args) is not possible "
         "because there exists a Tensor `other` in extra_args that has more elements than `self`."),
        (lambda a: adjoint.zeros(3, dtype=F64).fill_(a[0]), "vmap: fill_(self, *extra_args) is not possible"),
        (lambda a: adjoint.zeros(3, dtype=F64).index_put_((adjoint.tensor([0]),), a[0]),
         "vmap: index_put_(self, *extra_args) is not possible"),
        (lambda a: adjoint.add(a, 1, out=adjoint.zeros(3, dtype=F64)), "vmap: inplace arithmetic(self, *extra_args)"),
        (lambda a: adjoint.ones(3, dtype=F64).pow_(a), "vmap: pow_(self, *extra_args) is not possible"),
        (lambda a: a.masked_scatter(a == a, adjoint.zeros(2, dtype=F64)), "Number of elements of source < number of "
         "ones in mask"),
        (lambda a: adjoint.rand(2), "vmap: called random operation while in randomness error mode."),
        (lambda a: adjoint.bernoulli(a.sigmoid()), "vmap: called random operation while in randomness error mode."),
    ],
)  # fmt: skip
def test_what_a_mapped_function_cannot_do(function: Any, start: str) -> None:
    with pytest.raises(RuntimeError, match=re.escape(start)):
        vmap(function)(X)


def test_levels_are_closed_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError):
        vmap(lambda a: 1 // 0)(X)
    X.clone().requires_grad_().sum().backward()
    assert adjoint.rand(1).shape == (1,)


def test_representation() -> None:
    texts: list[str] = []
    vmap(vmap(lambda a: texts.append(repr(a)) or a))(adjoint.tensor([[[1.0, 2.0]]]))
    assert texts == [
        "BatchedTensor(lvl=2, bdim=0, value=\n    BatchedTensor(lvl=1, bdim=0, value=\n        tensor([[[1., 2.]]])\n"
        "    )\n)"
    ]


def test_a_loop_warns_once_and_names_the_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TABLE["take"], "batch_kernel", None)
    x = t(3, 4)

    def function(a: Any) -> Any:
        return a.take(adjoint.tensor([2, 0]))

    with pytest.warns(UserWarning, match="no batching rule for take") as caught:
        result = vmap(function)(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vmap(function)(x)
    assert len(caught) == 1
    same(result, loop(function, x))


# randomness -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "draw",
    [
        lambda a: adjoint.rand(5),
        lambda a: adjoint.randn(5),
        lambda a: adjoint.randn_like(a),
        lambda a: adjoint.randint(0, 1000, (5,)),
        lambda a: adjoint.randperm(50),
        lambda a: adjoint.bernoulli(adjoint.full((40,), 0.5)),
    ],
)
def test_randomness(draw: Any) -> None:
    x = t(3, 5)
    first = vmap(draw, randomness="same")(x)
    assert adjoint.equal(first[0], first[1])
    assert adjoint.equal(first[0], first[2])
    other = vmap(draw, randomness="different")(x)
    assert not adjoint.equal(other[0], other[1])
    both = vmap(vmap(draw, randomness="different"), randomness="same")(adjoint.stack([x, x]))
    assert adjoint.equal(both[0], both[1])
    assert not adjoint.equal(both[0, 0], both[0, 1])


def test_bernoulli_of_batched_chances() -> None:
    chances = adjoint.tensor([[0.0, 1.0], [1.0, 0.0]])
    assert vmap(adjoint.bernoulli, randomness="different")(chances).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    with pytest.raises(RuntimeError, match="same randomness with a batched tensor input"):
        vmap(adjoint.bernoulli, randomness="same")(chances)


def test_same_random_numbers_in_all_chunks() -> None:
    result = vmap(lambda a: a * 0 + adjoint.rand(3), randomness="same", chunk_size=2)(adjoint.zeros(5, 3))
    assert all(adjoint.equal(result[0], row) for row in result)


def test_different_random_numbers_in_all_chunks() -> None:
    result = vmap(lambda a: a + adjoint.rand(()), randomness="different", chunk_size=2)(adjoint.zeros(5))
    assert result.shape == (5,) and len(set(result.tolist())) == 5


# operations that select a method by their arguments -------------------------------------------------------------------

SPD = adjoint.stack([m @ m.mT + adjoint.eye(3, dtype=F64) for m in t(4, 3, 3)])

COMPOSITES = {
    "softmax": lambda a: a.softmax(-1),
    "log_softmax": lambda a: a.log_softmax(0),
    "max": lambda a: a.max(0).values + a.max(),
    "argmax": lambda a: a.argmax(1),
    "sort": lambda a: a.sort(1).values,
    "var": lambda a: a.var(1) + a.std(),
    "mean": lambda a: a.mean() + a.mean(0, keepdim=True),
    "norm": lambda a: a.norm() + adjoint.linalg.norm(a, 2) + adjoint.linalg.vector_norm(a, 1, dim=0),
    "logsumexp": lambda a: a.logsumexp(0),
    "prod": lambda a: a.prod() + a.cumprod(0),
    "where": lambda a: adjoint.where(a > 0, a, -1.0),
    "clamp": lambda a: a.clamp(-0.5, 0.5) + a.clamp(min=0),
    "cat": lambda a: adjoint.cat([a, adjoint.ones(3, 3, dtype=F64), a]),
    "stack": lambda a: adjoint.stack([a, adjoint.ones(3, 3, dtype=F64)], 1),
    "einsum": lambda a: adjoint.einsum("ij,jk,k->i", a, a, a[0]),
    "tensordot": lambda a: adjoint.tensordot(a, t(3, 3), dims=([0], [1])),
    "matmul": lambda a: a @ t(3, 2) + t(3, 3) @ a @ t(3, 2),
    "vectors": lambda a: a[0] @ t(3, 2) + t(2, 3) @ a[1] + a[0] @ a[1] + a[0] @ t(3) + t(3) @ a[0],
    "linear": lambda a: adjoint.nn.functional.linear(a, t(2, 3), t(2)),
    "addmm": lambda a: adjoint.addmm(t(2), a, t(3, 2)),
    "outer": lambda a: a[0].outer(a[1]),
    "index": lambda a: a[1:, [0, 2]] + a[0, ..., None][:2],
    "index beside slices": lambda a: a[None, [0, 1], :, None][:, :, [2, 0]],
    "separated indices": lambda a: a.reshape(3, 1, 3)[[0, 1], :, [2, 0]],
    "mask": lambda a: a[adjoint.tensor([True, False, True])],
    "gather": lambda a: a.gather(1, a.argsort(1)),
    "take_along_dim": lambda a: adjoint.take_along_dim(a, a.argsort(0), 0),
    "own index": lambda a: a[a.argmax(1)] + t(3, 3)[a.argmax(0)],
    "two own indices": lambda a: t(3, 4, 3)[a.argmax(0), :, a.argmin(1)],
    "own number": lambda a: t(3, 3)[a[0].argmax()],
    "negative own index": lambda a: t(3, 3)[:, a.argmax(1) - 3],
    "index_select": lambda a: t(5, 3).index_select(0, a.argmax(1)),
    "index_add": lambda a: t(3, 3).index_add(0, a.argmax(1), a),
    "scatter_add": lambda a: a.scatter_add(1, a.argsort(1), a),
    "masked_fill": lambda a: a.masked_fill(a > 0, 1.0),
    "take": lambda a: a.take(a.argmax(1)) + t(9).take(a.argmax(0)),
    "solve": lambda a: adjoint.linalg.solve(a, t(3)) + adjoint.linalg.solve(t(3, 3), a)[0],
    "inv": lambda a: adjoint.linalg.inv(a),
    "cholesky": lambda a: adjoint.linalg.cholesky(a),
    "det": lambda a: adjoint.linalg.det(a) + adjoint.linalg.slogdet(a)[1],
    "eigvalsh": lambda a: adjoint.linalg.eigvalsh(a),
    "matrix_power": lambda a: adjoint.linalg.matrix_power(a, 3),
    "unbind": lambda a: sum(row for row in a),
    "split": lambda a: adjoint.cat(a.split(2)[::-1]),
    "roll": lambda a: a.roll(1) + a.roll(1, 0),
    "flip": lambda a: a.flip(0),
    "permute": lambda a: a.T.contiguous().view(9),
    "expand": lambda a: a[0].expand(2, 3),
    "repeat": lambda a: a.repeat(2, 1),
    "triangles": lambda a: a.tril() - a.triu(1),
    "diag": lambda a: a.diagonal() + a.trace(),
    "isclose": lambda a: adjoint.isclose(a, a + 1e-12),
    "new_zeros": lambda a: a.new_zeros(3).add_(a[0]),
    "like": lambda a: adjoint.zeros_like(a).copy_(a) + adjoint.full_like(a, 2.0) + adjoint.ones_like(a),
    "scalar": lambda a: (a[0, 0] * 2).sum() + a[0, 0].cumsum(0),
    "types": lambda a: a.float() + (a > 0) * 2 + a.long(),
}


@pytest.mark.parametrize("function", COMPOSITES.values(), ids=list(COMPOSITES))
def test_composites(function: Any) -> None:
    expected = loop(function, SPD)
    result = vmap(function)(SPD)
    assert result.dtype is expected.dtype
    same(result, expected, 1e-9)
    doubled = adjoint.stack([SPD, SPD])
    same(vmap(vmap(function))(doubled), adjoint.stack([expected, expected]), 1e-9)


# in place -------------------------------------------------------------------------------------------------------------


def test_in_place_changes_the_argument() -> None:
    x = t(3, 4)
    before = x.clone()
    vmap(lambda a: a.mul_(2))(x)
    same(x, before * 2)
    assert x._version == 1


def write(a: Any, b: Any) -> Any:
    a = a.clone()
    a[1:] *= 2
    a[0] = b[0]
    a[[2, 3]] = b[:2]
    a[b.argmax()] = -1.0
    a.view(2, 2)[0].add_(b[:2] * a[:2].clone())
    return a * a


def test_in_place_with_gradients() -> None:
    x, y = t(3, 4), t(3, 4, seed=1)
    leaves = [x.clone().requires_grad_(), y.clone().requires_grad_()]
    again = [x.clone().requires_grad_(), y.clone().requires_grad_()]
    actual, expected = vmap(write)(*leaves), loop(write, *again)
    same(actual, expected)
    for g, e in zip(grad((actual**2).sum(), leaves), grad((expected**2).sum(), again), strict=True):
        same(g, e)


def test_in_place_on_the_argument_with_gradients() -> None:
    w, x = t(3, 4).requires_grad_(), t(3, 4, seed=1)
    y = w * 1
    vmap(lambda a, b: a.mul_(b))(y, x)
    (g,) = grad(y.sum(), w)
    same(g, x)


@pytest.mark.parametrize("squeeze", [lambda y: y.squeeze(), lambda y: y.squeeze(()), lambda y: y.squeeze(0)])
def test_squeeze_is_a_view_of_a_member(squeeze: Any) -> None:
    def function(x: Any) -> Any:
        y = x * 1
        view = squeeze(y)
        y.mul_(2)
        return view * x

    for shape in ((3, 2, 2), (3, 1, 2)):
        x = t(*shape)
        same(vmap(function)(x), loop(function, x))


RESHAPES_IN_PLACE = {
    "transpose_": lambda y: y.transpose_(0, 1),
    "swapaxes_": lambda y: y.swapaxes_(0, -1),
    "t_": lambda y: y.t_(),
    "unsqueeze_": lambda y: y.unsqueeze_(1),
    "squeeze_": lambda y: y.unsqueeze_(0).squeeze_(),
}
VIEWS = {
    "transposed": lambda y: y.mT,
    "row": lambda y: y[1],
    "steps": lambda y: y[:, ::2],
    "column": lambda y: y[..., 1:].t(),
}


@pytest.mark.parametrize("reshape", RESHAPES_IN_PLACE)
@pytest.mark.parametrize("view", VIEWS)
def test_views_of_a_base_that_is_reshaped_in_place(view: str, reshape: str) -> None:
    def function(x: Any) -> Any:
        y = x * x
        part = VIEWS[view](y)
        RESHAPES_IN_PLACE[reshape](y)
        y.mul_(x.sum())
        return part.sin().sum() * y.sum()

    x = t(2, 3, 2, 3).requires_grad_()
    mapped, plain = vmap(vmap(function))(x), adjoint.stack([loop(function, members) for members in x])
    same(mapped, plain)
    for order in range(2):
        mapped, plain = (grad(y.cos().sum(), x, create_graph=order == 0)[0] for y in (mapped, plain))
        same(mapped, plain)


def test_in_place_on_a_result() -> None:
    x = t(3, 4).requires_grad_()
    y = vmap(lambda a: a * 2)(x)
    y.mul_(3)
    same(grad(y.sum(), x)[0], adjoint.full_like(x, 6.0))


def test_overwritten_saved_value_is_found() -> None:
    x = t(3, 4).requires_grad_()
    y = vmap(adjoint.exp)(x)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        grad(y.sum(), x)


# derivatives ----------------------------------------------------------------------------------------------------------


def model(params: Any, x: Any) -> Any:
    return ((params["w2"] @ adjoint.tanh(params["w1"] @ x + params["b"])) ** 2).sum()


PARAMS = {"w1": t(5, 3), "b": t(5, seed=1), "w2": t(2, 5, seed=2)}
DATA = t(6, 3, seed=3)


def leaves_of(params: Any) -> Any:
    return {name: value.clone().requires_grad_() for name, value in params.items()}


def test_gradient_of_a_mapped_function() -> None:
    params, others = leaves_of(PARAMS), leaves_of(PARAMS)
    x, z = DATA.clone().requires_grad_(), DATA.clone().requires_grad_()
    gradients = grad(vmap(model, (None, 0))(params, x).sum(), [*params.values(), x])
    expected = grad(loop(lambda a: model(others, a), z).sum(), [*others.values(), z])
    for g, e in zip(gradients, expected, strict=True):
        same(g, e)


def test_backward_of_a_mapped_function() -> None:
    params = leaves_of(PARAMS)
    vmap(model, (None, 0))(params, DATA).sum().backward()
    vmap(model, (None, 0))(params, DATA).sum().backward()
    leaves = leaves_of(PARAMS)
    loop(lambda a: model(leaves, a), DATA).sum().backward()
    for name in params:
        assert type(params[name].grad._array) is np.ndarray
        same(params[name].grad, 2 * leaves[name].grad)


def per_sample(params: Any, x: Any) -> Any:
    leaves = {name: value.detach() for name, value in params.items()}
    for value in leaves.values():
        value.requires_grad = True
    return dict(zip(leaves, grad(model(leaves, x), list(leaves.values())), strict=True))


def test_gradients_of_each_sample() -> None:
    result = vmap(per_sample, (None, 0))(PARAMS, DATA)
    by_func = vmap(adjoint.func.grad(model), (None, 0))(PARAMS, DATA)
    for name, g in result.items():
        expected = adjoint.stack([per_sample(PARAMS, x)[name] for x in DATA])
        same(g, expected)
        same(by_func[name], expected)


def test_gradient_of_what_is_the_same_for_all_inside() -> None:
    w = t(3).requires_grad_()
    same(vmap(lambda x: grad((w * x).sin().sum(), w)[0])(DATA), DATA * (w * DATA).cos())


def test_second_derivatives_through_gradients_of_each_sample() -> None:
    w = t(3).requires_grad_()

    def slope(x: Any) -> Any:
        (g,) = grad((w * x).sin().sum(), w, create_graph=True)
        return (g * g).sum()

    result = vmap(slope)(DATA)
    same(result, loop(slope, DATA))
    same(grad(result.sum(), w)[0], grad(loop(slope, DATA).sum(), w)[0])


def f(x: Any) -> Any:
    return (x.sin() @ t(3, 3) @ x + (x**3).prod()).tanh() * x


def test_hessian_by_nesting() -> None:
    x = t(3)
    eye = adjoint.eye(3, dtype=F64)

    def row(e: Any) -> Any:
        leaf = x.clone()
        leaf.requires_grad = True
        (g,) = grad(f(leaf).sum(), leaf, create_graph=True)
        return grad(g, leaf, e)[0]

    same(vmap(row)(eye), loop(row, eye), 1e-10)
    same(vmap(row)(eye), adjoint.func.hessian(lambda a: f(a).sum())(x), 1e-9)


@pytest.mark.parametrize("outer", ["jacrev", "jacfwd", "vmap"])
@pytest.mark.parametrize("inner", ["jacrev", "jacfwd", "vmap"])
def test_compositions_with_func(outer: str, inner: str) -> None:
    transforms = {"jacrev": adjoint.func.jacrev, "jacfwd": adjoint.func.jacfwd, "vmap": of_scaled}
    mapped = transforms[outer](transforms[inner](f if "vmap" not in (outer, inner) else elementwise))
    x = t(2, *[3] * (1 + (outer == "vmap") + (inner == "vmap")))
    same(vmap(mapped)(x), loop(mapped, x), 1e-9)


def of_scaled(function: Any) -> Any:
    return vmap(lambda b: function(b * b[0]))


def elementwise(x: Any) -> Any:
    return x.sin() * x.sum()


def test_forward_mode_inside_and_outside() -> None:
    x, v = t(4, 3), t(4, 3, seed=1)
    expected = adjoint.stack([adjoint.func.jvp(f, (a,), (b,))[1] for a, b in zip(x, v, strict=True)])
    same(vmap(lambda a, b: adjoint.func.jvp(f, (a,), (b,))[1])(x, v), expected, 1e-10)
    same(adjoint.func.jvp(vmap(f), (x,), (v,))[1], expected, 1e-10)
    w = t(3)
    _, tangent = adjoint.func.jvp(lambda w: vmap(lambda a: (w * a).sin().sum())(x), (w,), (v[0],))
    same(tangent, ((w * x).cos() * x * v[0]).sum(1), 1e-10)


# batches of cotangents ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("create_graph", [False, True])
def test_jacobian_by_a_batch_of_cotangents(create_graph: bool) -> None:
    x = t(3).requires_grad_()
    y = f(x)
    eye = adjoint.eye(3, dtype=F64)
    (gradient,) = grad(y, x, eye, create_graph=create_graph, retain_graph=True, is_grads_batched=True)
    same(gradient, adjoint.stack([grad(y, x, e, retain_graph=True)[0] for e in eye]))
    assert gradient.requires_grad is create_graph
    if create_graph:
        (twice,) = grad((gradient**2).sum(), x, retain_graph=True)
        rows = adjoint.stack([grad(y, x, e, create_graph=True)[0] for e in eye])
        same(twice, grad((rows**2).sum(), x)[0], 1e-10)


def test_batch_of_cotangents_through_a_mapped_function() -> None:
    x = t(2, 3).requires_grad_()
    w = t(3).requires_grad_()
    y = vmap(lambda a: f(a * w))(x)
    drivers = t(4, 2, 3)
    gradients = grad(y, [x, w], drivers, retain_graph=True, is_grads_batched=True)
    for position, g in enumerate(gradients):
        same(g, adjoint.stack([grad(y, [x, w], d, retain_graph=True)[position] for d in drivers]), 1e-10)


def test_batch_of_cotangents_with_hooks() -> None:
    x = t(3).requires_grad_()
    grads: list[Any] = []
    y = x * 2
    y.register_hook(lambda g: grads.append(g.shape) or g * 3)
    (gradient,) = grad(y.sin(), x, adjoint.eye(3, dtype=F64), is_grads_batched=True)
    assert grads == [(3,)]
    same(gradient, adjoint.diag(6 * (2 * x).cos()))


@pytest.mark.parametrize("dtype", [adjoint.float64, adjoint.float16, adjoint.bfloat16])
def test_batched_cotangents_of_what_was_broadcast(dtype):
    x = adjoint.tensor([1.0, 2.0], dtype=dtype, requires_grad=True)
    y = x * adjoint.ones(3, 2, dtype=dtype)
    (gradient,) = grad(y, x, adjoint.ones(4, 3, 2, dtype=dtype), is_grads_batched=True)
    same(gradient, adjoint.full((4, 2), 3, dtype=dtype))


def test_batch_of_cotangents_unused() -> None:
    x, z = t(3).requires_grad_(), t(2).requires_grad_()
    eye = adjoint.eye(3, dtype=F64)
    gradients = grad(x * 2, [x, z], eye, is_grads_batched=True, allow_unused=True)
    same(gradients[0], 2 * eye)
    assert gradients[1] is None
    same(grad(x * 2, [x, z], eye, is_grads_batched=True, materialize_grads=True)[1], adjoint.zeros(2, dtype=F64))
    with pytest.raises(RuntimeError, match="The differentiated Tensor at index 1 appears to not have been used"):
        grad(x * 2, [x, z], eye, is_grads_batched=True)


@pytest.mark.parametrize(
    ("outputs", "drivers", "error", "start"),
    [
        (lambda x: x * 2, lambda: adjoint.ones(4, 2), RuntimeError, "If `is_grads_batched=True`, we interpret the "
         "first dimension of each grad_output as the batch dimension. The sizes of the remaining dimensions are "
         "expected to match the shape of corresponding output, but a mismatch was detected: grad_output[0] has a "
         "shape of adjoint.Size([2]) and output[0] has a shape of adjoint.Size([3])."),
        (lambda x: x.sum(), lambda: None, ValueError, "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some"),
        (lambda x: x.sum(), lambda: adjoint.ones(()), IndexError, "invalid index of a 0-dim tensor"),
        (lambda x: [x * 2, x.sum()], lambda: [adjoint.ones(4, 3), adjoint.ones(5)], ValueError, "vmap: Expected all "
         "tensors to have the same size in the mapped dimension, got sizes [4, 5] for the mapped dimension"),
    ],
)  # fmt: skip
def test_batch_of_cotangents_that_does_not_fit(outputs: Any, drivers: Any, error: type, start: str) -> None:
    x = adjoint.ones(3, requires_grad=True)
    with pytest.raises(error, match=re.escape(start)):
        grad(outputs(x), x, drivers(), is_grads_batched=True)


def test_graph_of_a_mapped_function_dies_with_its_last_reference() -> None:
    x, w = t(3, 4).requires_grad_(), t(4).requires_grad_()
    gc.collect()
    gc.disable()
    try:
        y = vmap(lambda a: (a * w).exp())(x)
        node = weakref.ref(y.grad_fn)
        inner = weakref.ref(y.grad_fn.next_functions[0][0])
        del y
        assert node() is None
        assert inner() is None
    finally:
        gc.enable()


I0, NINE = adjoint.tensor(0), adjoint.tensor(9.0, dtype=adjoint.float64)


@pytest.mark.parametrize("shape", [(3,), (3, 4)])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, i: x.gather(0, i),
        lambda x, i: x.scatter(0, i, NINE),
        lambda x, i: x.scatter(0, i, 9.0),
        lambda x, i: x.scatter_add(0, i, x.sum()),
        lambda x, i: x.scatter_reduce(0, i, NINE, "prod"),
        lambda x, i: x.index_add(0, i, x.sum()),
        lambda x, i: x.index_copy(0, i, x.sum()),
        lambda x, i: x.index_select(0, i),
    ],
)
def test_indices_without_axes_name_one_place_of_each_member(function: Any, shape: tuple[int, ...]) -> None:
    x = adjoint.arange(1.0, 1 + math.prod(shape), dtype=adjoint.float64).reshape(shape)
    each = adjoint.zeros(3, dtype=adjoint.int64) if len(shape) == 1 else adjoint.tensor([2, 0, 1])
    for indices, in_dims in ((each, (0, 0)), (I0, (0, None))):
        calls = [(x[k], indices[k] if indices.ndim else indices) for k in range(3)]
        expected = adjoint.stack([function(*call) for call in calls])
        assert adjoint.vmap(function, in_dims)(x, indices).tolist() == expected.tolist()
        slopes = adjoint.vmap(adjoint.func.grad(lambda x, i: (function(x, i) ** 2).sum()), in_dims)(x, indices)
        for (member, i), slope in zip(calls, slopes, strict=True):
            leaf = member.clone().requires_grad_()
            (function(leaf, i) ** 2).sum().backward()
            assert slope.tolist() == leaf.grad.tolist()


@pytest.mark.parametrize("shape", [(3, 4), (3, 0), (0, 3)])
@pytest.mark.parametrize("sizes", [(-1,), (1, -1), (-1, 3)])
@pytest.mark.parametrize("name", ["reshape", "view"])
def test_sizes_of_members_of_an_empty_batch(name: str, sizes: tuple[int, ...], shape: tuple[int, ...]) -> None:
    one = getattr(adjoint.zeros(*shape), name)(*sizes)
    assert vmap(lambda x: getattr(x, name)(*sizes))(adjoint.zeros(0, *shape)).shape == (0, *one.shape)


@pytest.mark.parametrize("function", [adjoint.addmm, adjoint.addmv, adjoint.addr, adjoint.baddbmm, adjoint.addbmm])
def test_a_batch_that_counts_nothing_has_a_gradient(function: Any) -> None:
    ranks = {"addmm": (2, 2), "addmv": (2, 1), "addr": (1, 1), "baddbmm": (3, 3), "addbmm": (3, 3)}[function.__name__]
    factors = [t(*[3] * rank, seed=rank) for rank in ranks]
    x = t(2, 1).requires_grad_()
    # the pass through sin() uses the saved value of each member
    y = vmap(lambda x: function(x.sin().expand(*[1] * max(1, max(ranks) - 1)), *factors, beta=0))(x)
    same(y, adjoint.stack([function(adjoint.zeros(1, dtype=F64), *factors, beta=0)] * 2))
    assert grad(y.sum(), x)[0].tolist() == [[0.0], [0.0]]
