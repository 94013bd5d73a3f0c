"""Values and derivatives in rare cases: unusual kinds of numbers, empty results, sums without terms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.func import grad, jet, vmap

F = adjoint.nn.functional
X = adjoint.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=adjoint.float64)
PLACES = adjoint.tensor([0, 1, 0])


@pytest.mark.parametrize(
    ("reduce", "expected"),
    [("amax", [7, -6, 1]), ("amin", [-5, -6, 1]), ("mean", [1, -6, 1]), ("prod", [-35, -6, 1])],
)
def test_reduction_of_integers_at_places(reduce: str, expected: list[int]) -> None:
    source = adjoint.tensor([-5, -6, 7])
    ones = adjoint.ones(3, dtype=adjoint.int64)
    assert ones.index_reduce(0, PLACES, source, reduce, include_self=False).tolist() == expected
    assert ones.scatter_reduce(0, PLACES, source, reduce, include_self=False).tolist() == expected


@pytest.mark.parametrize(("reduce", "expected"), [("amax", [True, False, False]), ("amin", [False, False, False])])
def test_reduction_of_truth_values_at_places(reduce: str, expected: list[bool]) -> None:
    source = adjoint.tensor([True, False, False])
    nothing = adjoint.zeros(3, dtype=adjoint.bool)
    assert nothing.scatter_reduce(0, PLACES, source, reduce, include_self=False).tolist() == expected


def test_padding_that_leaves_nothing_of_the_input() -> None:
    x = X.clone().requires_grad_()
    y = F.pad(x, (-3, 4), value=2.0)
    assert y.tolist() == [[2.0] * 4] * 2
    y.sum().backward()
    assert x.grad.tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("batched", range(3))
def test_no_part_of_what_is_multiplied_by_zero(batched: int) -> None:
    """addmm with beta=0 ignores NaN in its first argument, also in a batch."""
    nothing = adjoint.full((2, 2), float("nan"))
    operands = [nothing, adjoint.ones(2, 2), adjoint.eye(2)]
    dims: list[int | None] = [None] * 3
    operands[batched], dims[batched] = adjoint.stack([operands[batched]] * 3), 0
    result = vmap(lambda *each: adjoint.addmm(*each, beta=0, alpha=0.5), tuple(dims))(*operands)
    assert result.tolist() == [[[0.5, 0.5], [0.5, 0.5]]] * 3


def test_series_of_many_products() -> None:
    """All products of pairs of coefficients at once would be large, so the sums are made row by row."""
    x = adjoint.tensor(np.random.default_rng(0).normal(size=(60, 60)))
    value, (first, second, third) = jet(lambda t: (t @ t).sum(), (x,), ((x, x, x),))
    square = float((x @ x).sum())
    # t -> x (1 + t + t^2/2 + t^3/6), squared: its derivatives are 2, 4 and 8
    np.testing.assert_allclose([float(v) for v in (value, first, second, third)], np.array([1, 2, 4, 8]) * square)


def test_series_of_the_power_zero() -> None:
    value, terms = jet(lambda t: t**0, (X,), ((X, X),))
    assert value.tolist() == [[1.0] * 3] * 2
    assert all(term.tolist() == [[0.0] * 3] * 2 for term in terms)


def test_gradient_by_the_second_argument_alone() -> None:
    y = X + 1.5
    gradients = grad(lambda t: adjoint.cdist(X, t).sum())(y)
    both = grad(lambda s, t: adjoint.cdist(s, t).sum(), argnums=(0, 1))(X, y)
    np.testing.assert_allclose(gradients.numpy(), both[1].numpy())
    assert float(gradients.abs().sum()) > 0


def test_places_in_sorted_rows_by_their_own_orders() -> None:
    rows = adjoint.tensor([[3, 1, 2], [1, 3, 2]])
    result: Any = adjoint.searchsorted(rows, adjoint.tensor([[2], [3]]), sorter=rows.argsort(1))
    assert result.tolist() == [[1], [2]]


@pytest.mark.parametrize(
    ("shifts", "dims", "expected"), [(1, (), [[6, 1, 2], [3, 4, 5]]), ((1,), None, [[6, 1, 2], [3, 4, 5]])]
)
def test_roll_of_all_elements(shifts: Any, dims: Any, expected: list[list[float]]) -> None:
    assert X.roll(shifts, dims).tolist() == expected


def test_series_of_a_reduction_over_all_axes_by_none() -> None:
    """The derivatives of logsumexp along a line are the moments of its softmax."""
    value, (first, second) = jet(lambda t: adjoint.logsumexp(t, ()), (X,), ((X, 0 * X),))
    chances = adjoint.softmax(X.flatten(), 0).reshape(2, 3)
    mean = float((chances * X).sum())
    np.testing.assert_allclose(float(value), float(X.exp().sum().log()))
    np.testing.assert_allclose(float(first), mean)
    np.testing.assert_allclose(float(second), float((chances * X * X).sum()) - mean**2)
