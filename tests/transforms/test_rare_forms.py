"""Rare forms of calls of transformations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import adjoint
from adjoint import func
from adjoint.autograd import forward_ad
from adjoint.testing import assert_close

X = adjoint.tensor([0.5, -1.5, 2.0], dtype=adjoint.float64)


TAYLOR: dict[str, Callable[[Any], Any]] = {
    "a constant": lambda x: x.floor() * x,
    "broadcasting": lambda x: x[0] + adjoint.ones_like(x) * x,
    "an expanded part": lambda x: (x[:1] + adjoint.ones_like(x)) * x,
    "an expanded tensor": lambda x: x.expand(3, 3) * x[:, None],
    "several results": lambda x: x.sort()[0] * x,
    "a solution": lambda x: adjoint.linalg.solve(adjoint.eye(3, dtype=x.dtype) * 2, x),
    "a determinant": lambda x: adjoint.linalg.det(x.diag() + adjoint.ones(3, 3, dtype=x.dtype)),
    "a logarithm of one": lambda x: adjoint.linalg.slogdet(x.exp().diag() + 1)[1],
    "a power of a number": lambda x: 2.0**x,
    "numbers of complex ones": lambda x: ((x + 1j) * (x - 2j)).real,
    "magnitudes": lambda x: (x + 1j).abs(),
    "a stack": lambda x: adjoint.stack([x, x * x, adjoint.ones_like(x)]).prod(0),
    "a maximum of several": lambda x: adjoint.stack([x, -x]).amax(0),
    "powers of constants": lambda x: (x * x + 1) ** adjoint.tensor([1.0, 2.5, 3.0], dtype=x.dtype),
    "a whole power": lambda x: x**3,
    "a norm over axes": lambda x: adjoint.linalg.vector_norm(x * x[:, None], 3, dim=(0, 1)),
    "logsumexp over axes": lambda x: adjoint.logsumexp(x * x[:, None], (0, 1)),
    "a variance over axes": lambda x: (x * x[:, None]).var((0, 1)),
}


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("name", TAYLOR)
def test_series_are_derivatives(name: str, order: int) -> None:
    function = TAYLOR[name]
    direction = adjoint.tensor([1.0, 0.5, -1.0], dtype=adjoint.float64)

    def along(t: Any) -> Any:
        return function(X + t * direction)

    series = func.taylor(along, adjoint.zeros((), dtype=adjoint.float64), order)
    derivative, factor = along, 1.0
    for k in range(order + 1):
        assert_close(series[k] * factor, derivative(adjoint.zeros((), dtype=adjoint.float64)))
        derivative, factor = func.jacrev(derivative), factor * (k + 1)


@pytest.mark.parametrize("name", TAYLOR)
def test_laplacians_are_traces_of_hessians(name: str) -> None:
    def total(x: Any) -> Any:
        return TAYLOR[name](x).sum()

    assert_close(func.laplacian(total)(X), func.hessian(total)(X).trace())


def test_series_of_several_views_follow_their_base() -> None:
    def modify(x: Any) -> Any:
        y = x * 1
        first, *_ = y.split(1)
        y.mul_(3)
        return first * y

    t, direction = adjoint.tensor(0.2, dtype=adjoint.float64), adjoint.ones(3, dtype=adjoint.float64)
    result = func.taylor(lambda t: modify(X + t * direction), t, 3)
    assert_close(result, func.taylor(lambda t: 9 * (X[0] + t) * (X + t * direction), t, 3))


def test_trees_have_series() -> None:
    (values,) = func.taylor(lambda tree: (tree["a"] * tree["a"],), {"a": X}, 2)
    assert_close(values, adjoint.stack([X * X, 2 * X, adjoint.ones_like(X)]))


def test_errors_of_functions_of_series_are_shown() -> None:
    def fail(x: Any) -> Any:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        func.taylor(fail, X, 2)


def test_chunks_of_what_is_not_mapped() -> None:
    results = adjoint.vmap(lambda a, b: (a + b, b * 2), (0, None), (0, None), chunk_size=2)(X, adjoint.tensor(1.0))
    assert_close(results, (X + 1, adjoint.tensor(2.0)))


def test_what_a_batch_looks_like() -> None:
    notes = []
    adjoint.vmap(lambda a: notes.append(repr(a._array)) or a)(X)
    assert notes[0].startswith("BatchedTensor(lvl=1, bdim=0, value=\n")


@pytest.mark.parametrize(("result", "text"), [([X], "list"), (X[None], r"shape \(1, 3\)")])
def test_log_likelihoods_are_a_vector(result: Any, text: str) -> None:
    with pytest.raises(ValueError, match=f"expected a vector with one log-likelihood for each sample, got {text}"):
        func.fisher(lambda p: result, (X,), (X,))


def test_levels_are_left_in_their_order() -> None:
    def leave(x: Any) -> Any:
        forward_ad.exit_dual_level()
        return x

    with forward_ad.dual_level(), pytest.raises(RuntimeError, match="not the last one that was created"):
        func.jvp(leave, (X,), (X,))


def test_a_level_is_entered_and_left() -> None:
    level = forward_ad.enter_dual_level()
    dual = forward_ad.make_dual(X.clone(), adjoint.ones_like(X))
    with forward_ad.set_fwd_grad_enabled(False):
        dual.mul_(2)
    assert_close(forward_ad.unpack_dual(dual).tangent, adjoint.ones_like(X))
    forward_ad.exit_dual_level(level=level)
    assert forward_ad.unpack_dual(dual).tangent is None


class View(adjoint.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.view(-1)

    @staticmethod
    def jvp(ctx: Any, t: Any) -> None:
        return None


def test_a_view_without_a_tangent() -> None:
    with forward_ad.dual_level():
        assert forward_ad.unpack_dual(View.apply(forward_ad.make_dual(X, X))).tangent is None
