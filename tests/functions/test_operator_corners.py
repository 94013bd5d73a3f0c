"""Operators at the corners of their domains: no axes, no elements, ties, large numbers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.autograd import gradcheck, gradgradcheck
from adjoint.func import jvp, vjp

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("reduce", "include_self", "value", "gradients"),
    [
        ("amax", True, 3, (0, 1)), ("amin", True, 2, (1, 0)), ("mean", True, 2.5, (0.5, 0.5)),
        ("prod", True, 6, (3, 2)),
        ("amax", False, 3, (0, 1)), ("amin", False, 3, (0, 1)), ("mean", False, 3, (0, 1)), ("prod", False, 3, (0, 1)),
    ],
)  # fmt: skip
def test_index_reduce_without_axes(reduce: str, include_self: bool, value: float, gradients: Any) -> None:
    x, source = adjoint.tensor(2.0, requires_grad=True), adjoint.tensor(3.0, requires_grad=True)
    found = x.index_reduce(0, adjoint.tensor([0]), source, reduce, include_self=include_self)
    assert found.item() == value and found.shape == ()
    assert tuple(g.item() for g in adjoint.autograd.grad(found, [x, source])) == gradients
    here = adjoint.tensor(2.0)
    assert here.index_reduce_(0, adjoint.tensor([0]), source.detach(), reduce, include_self=include_self) is here
    assert here.item() == value


@pytest.mark.parametrize(("own", "source"), [((), (1,)), ((), (2,)), ((2,), ()), ((2, 3), (1, 2)), ((2, 3), (1,))])
def test_index_reduce_of_other_shapes(own: Any, source: Any) -> None:
    index = adjoint.zeros(source[0] if source else 1, dtype=adjoint.int64)
    with pytest.raises(RuntimeError, match="source tensor shape must match self tensor shape"):
        adjoint.ones(own).index_reduce(0, index, adjoint.ones(source), "amax")


def test_take_along_dim_counts_from_the_end() -> None:
    for shape, dim in (((2, 3), 1), ((3, 2), 0), ((2, 4, 3), -1)):
        x = adjoint.from_numpy(RNG.normal(size=shape)).requires_grad_()
        n = shape[dim]
        index = RNG.integers(-n, n, shape)
        taken = adjoint.take_along_dim(x, adjoint.from_numpy(index), dim)
        np.testing.assert_array_equal(taken.detach().numpy(), np.take_along_axis(x.detach().numpy(), index, dim))
        (found,) = adjoint.autograd.grad(taken.sum(), x)
        (expected,) = adjoint.autograd.grad(adjoint.take_along_dim(x, adjoint.from_numpy(index % n), dim).sum(), x)
        np.testing.assert_array_equal(found.numpy(), expected.numpy())
        for outside in (n, -n - 1):
            with pytest.raises(RuntimeError, match=f"index {outside} is out of bounds"):
                adjoint.take_along_dim(x, adjoint.full(shape, outside), dim)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(0, 3), (0, 3, 4), (2, 3, 0), (2, 0, 4), (0, 0)])
def test_batch_norm_without_elements(shape: tuple[int, ...], training: bool) -> None:
    x, weight, bias = [adjoint.ones(n, requires_grad=True) for n in (shape, shape[1], shape[1])]
    mean, var = adjoint.zeros(shape[1]), adjoint.ones(shape[1])
    found = adjoint.nn.functional.batch_norm(x, mean, var, weight, bias, training)
    assert found.shape == shape and found.requires_grad
    assert mean.tolist() == [0] * shape[1] and var.tolist() == [1] * shape[1]
    for leaf, gradient in zip((x, weight, bias), adjoint.autograd.grad(found.sum(), (x, weight, bias)), strict=True):
        assert gradient.shape == leaf.shape and not gradient.any()


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e9, -1e9])
@pytest.mark.parametrize("kind", ["float64", "complex128"])
def test_derivatives_of_logcumsumexp_keep_their_digits(offset: float, kind: str) -> None:
    # the shares are those of the numbers without the offset, which is exact
    rest = np.round(RNG.normal(size=50) * 3, 4) * 1.0
    x = (rest + offset).astype(kind)
    rest = x - offset
    t = RNG.normal(size=50).astype(kind)
    function = lambda v: adjoint.logcumsumexp(v, 0)
    found = jvp(function, (adjoint.from_numpy(x),), (adjoint.from_numpy(t),))[1].numpy()
    powers = np.exp(rest)
    expected = np.cumsum(powers * t) / np.cumsum(powers)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    (back,) = vjp(function, adjoint.from_numpy(x))[1](adjoint.from_numpy(t))
    expected = powers * np.cumsum((t / np.cumsum(powers))[::-1])[::-1]
    np.testing.assert_allclose(back.numpy(), expected, rtol=1e-12)


def test_logcumsumexp_of_nothing_and_of_infinities() -> None:
    x = adjoint.tensor([-np.inf, -np.inf, 1.0, np.inf, 2.0], dtype=adjoint.float64)
    found = jvp(lambda v: adjoint.logcumsumexp(v, 0), (x,), (adjoint.tensor([1.0, 2, 3, 4, 5], dtype=x.dtype),))[1]
    assert found.tolist() == [0, 0, 3, 4, 4]
    result = adjoint.logcumsumexp(x.requires_grad_(), 0)
    result.detach().mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.backward(adjoint.ones_like(result))


@pytest.mark.parametrize("upper", [False, True])
def test_triangle_of_cholesky_inverse(upper: bool) -> None:
    """The triangle that is read counts: along it the tangent is that of finite differences."""
    factor = np.tril(RNG.normal(size=(4, 4))) + 3 * np.eye(4)
    t, other = np.tril(RNG.normal(size=(4, 4))), np.triu(RNG.normal(size=(4, 4)), 1)
    if upper:
        factor, t, other = factor.T.copy(), t.T.copy(), other.T.copy()
    function = lambda v: adjoint.cholesky_inverse(v, upper=upper)
    found = jvp(function, (adjoint.from_numpy(factor),), (adjoint.from_numpy(t),))[1].numpy()
    step = 1e-6
    sides = [function(adjoint.from_numpy(factor + sign * step * t + other)).numpy() for sign in (1, -1)]
    np.testing.assert_allclose(found, (sides[0] - sides[1]) / (2 * step), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("kind", ["float64", "int64"])
def test_topk_takes_the_first_of_equals(kind: str, largest: bool) -> None:
    for shape, dim in (((7,), 0), ((5, 40), 1), ((40, 3), 0), ((2, 30, 3), 1)):
        array = RNG.integers(0, 4, shape).astype(kind)
        if kind == "float64":
            array[array == 3] = np.nan
        order = np.argsort(np.nan_to_num(-array if largest else array, nan=-9 if largest else 9), dim, stable=True)
        for k in range(shape[dim] + 1):
            found = adjoint.from_numpy(array).topk(k, dim, largest)
            np.testing.assert_array_equal(found.indices.numpy(), np.take(order, range(k), dim))
    assert adjoint.tensor([1.0, 1, 0]).topk(1).indices.tolist() == [0]


def test_native_batch_norm_without_elements() -> None:
    for shape in ((0, 3), (2, 0), (2, 3, 0)):
        x = adjoint.zeros(*shape)
        channels = (adjoint.zeros(shape[1]), adjoint.ones(shape[1]))
        with pytest.raises(RuntimeError, match=re.escape(f"at least one element, but got input_sizes = {[*shape]}")):
            adjoint.native_batch_norm(x, None, None, *channels, True, 0.1, 1e-5)
        found = adjoint.native_batch_norm(x, None, None, *channels, False, 0.1, 1e-5)
        assert [tuple(each.shape) for each in found] == [shape, (0,), (0,)]
        assert [each.tolist() for each in channels] == [[0] * shape[1], [1] * shape[1]]


def test_as_strided_scatter_where_elements_of_the_input_meet() -> None:
    """The memory is what is copied, so that a value written shows wherever its element does."""
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


def test_masked_logaddexp_where_all_is_masked_out() -> None:
    x, y = (adjoint.from_numpy(RNG.normal(size=3)) for _ in range(2))
    keep_x, keep_y = adjoint.tensor([True, False, False]), adjoint.tensor([True, True, False])

    def total(a: adjoint.Tensor, b: adjoint.Tensor) -> adjoint.Tensor:
        return adjoint.masked.logaddexp(a, b, input_mask=keep_x, other_mask=keep_y).sum()

    share = 1 / (1 + np.exp(float(y[0]) - float(x[0])))
    curvature = np.zeros((3, 3))
    curvature[0, 0] = share * (1 - share)
    first = adjoint.func.grad(total, argnums=(0, 1))
    with np.errstate(invalid="ignore"):
        gradients = first(x, y)
    np.testing.assert_allclose([each.tolist() for each in gradients], [[share, 0, 0], [1 - share, 1, 0]])
    for outer in (adjoint.func.jacfwd, adjoint.func.jacrev):
        with np.errstate(invalid="ignore"):
            found = outer(first, argnums=(0, 1))(x, y)
        for i in range(2):
            for j in range(2):
                np.testing.assert_allclose(found[i][j].numpy(), curvature if i == j else -curvature, atol=1e-15)


SMOOTH_AT_TIES = {
    "logcumsumexp": lambda x: adjoint.logcumsumexp(x, 0),
    "logcumsumexp of columns": lambda x: adjoint.logcumsumexp(x.mT, 1),
    "logsumexp": lambda x: adjoint.logsumexp(x, 0),
    "masked.logsumexp": lambda x: adjoint.masked.logsumexp(x, 0, mask=adjoint.tensor([[True], [True], [False]])),
    "logaddexp": lambda x: adjoint.logaddexp(x[0], x[1]),
    "logaddexp2": lambda x: adjoint.logaddexp2(x[0], x[1]),
    "softmax": lambda x: adjoint.softmax(x, 0),
    "log_softmax": lambda x: adjoint.log_softmax(x, 0),
    "hypot": lambda x: adjoint.hypot(x[0], x[1]),
    "vector_norm": lambda x: adjoint.linalg.vector_norm(x, 3.0, 0),
}


OF_COMPLEX = ("logcumsumexp", "logcumsumexp of columns", "logsumexp")


@pytest.mark.parametrize(
    ("name", "kind"), [(n, "float64") for n in SMOOTH_AT_TIES] + [(n, "complex128") for n in OF_COMPLEX]
)
def test_equal_elements_are_no_kinks_to_any_order(name: str, kind: str) -> None:
    x = adjoint.tensor([[1.0, 0.5], [1.0, 0.7], [1.0, 0.5]], dtype=getattr(adjoint, kind), requires_grad=True)
    function = SMOOTH_AT_TIES[name]
    assert gradcheck(function, (x,), check_forward_ad=True)
    assert gradgradcheck(function, (x,), check_fwd_over_rev=True)
