"""Gradients clipped together and parameters as one vector, beside NumPy's norms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.nn import utils

GRADS = [np.array([[3.0, -4.0], [0.5, 1.0]]), np.array([12.0, 0.25, -2.0])]
FLAT = np.concatenate([grad.ravel() for grad in GRADS])


def parameters():
    """Two with gradients, one without."""
    made = [adjoint.ones(grad.shape, dtype=adjoint.float64, requires_grad=True) for grad in GRADS]
    for parameter, grad in zip(made, GRADS, strict=True):
        parameter.grad = adjoint.tensor(grad)
    return [*made, adjoint.ones(2, requires_grad=True)]


def grads(made):
    return np.concatenate([parameter.grad.numpy().ravel() for parameter in made[:2]])


@pytest.mark.parametrize("order", [1, 2.0, 3, math.inf, "inf"])
def test_gradients_are_clipped_by_their_norm(order):
    made = parameters()
    total = np.linalg.norm(FLAT, float(order))
    assert utils.clip_grad_norm_(iter(made), 0.5, order).item() == pytest.approx(total)
    assert np.allclose(grads(made), FLAT * 0.5 / (total + 1e-6), rtol=1e-14)
    assert made[2].grad is None


def test_short_gradients_stay():
    made = parameters()
    utils.clip_grad_norm_(made, 100.0)
    assert np.array_equal(grads(made), FLAT)
    assert utils.clip_grad_norm_([], 1.0).item() == 0.0


def test_a_norm_that_is_not_finite():
    made = parameters()
    made[0].grad[0, 0] = math.inf
    with pytest.raises(RuntimeError, match=r"The total norm of order 2.0 for gradients .* is non-finite"):
        utils.clip_grad_norm_(made, 1.0, error_if_nonfinite=True)
    assert grads(made)[1] == -4.0
    with np.errstate(invalid="ignore"):
        assert utils.clip_grad_norm_(made, 1.0).item() == math.inf
    assert np.isnan(grads(made)[0]) and grads(made)[1] == 0


def test_a_total_norm_is_a_number_outside_of_the_graph():
    made = parameters()
    total = utils.get_total_norm(made[:2])
    assert total.item() == pytest.approx(math.sqrt(7)) and not total.requires_grad
    utils.clip_grads_with_norm_(made, 1.0, adjoint.tensor(4.0))
    assert np.allclose(grads(made), FLAT / (4 + 1e-6))


def test_gradients_are_clipped_by_value():
    made = parameters()
    utils.clip_grad_value_(made, 1.5)
    assert np.array_equal(grads(made), FLAT.clip(-1.5, 1.5))
    utils.clip_grad_value_(made[0], 0.75)
    assert made[0].grad.max() == 0.75


def test_parameters_become_a_vector_and_come_back():
    made = parameters()[:2]
    vector = utils.parameters_to_vector(made)
    (g,) = adjoint.autograd.grad((vector * adjoint.arange(7.0)).sum(), made[1:])
    assert g.tolist() == [4.0, 5.0, 6.0]
    utils.vector_to_parameters(adjoint.arange(7.0, dtype=adjoint.float64), made)
    assert made[0].tolist() == [[0, 1], [2, 3]] and made[1].tolist() == [4, 5, 6]
    assert all(parameter.is_leaf and parameter.requires_grad for parameter in made)


@pytest.mark.parametrize(
    ("vector", "error", "message"),
    [
        ([1.0], TypeError, "expected adjoint.Tensor, but got: list"),
        (adjoint.ones(2), RuntimeError, "is invalid for input of size 2"),
    ],
)
def test_vectors_that_do_not_fit(vector, error, message):
    with pytest.raises(error, match=message):
        utils.vector_to_parameters(vector, parameters())


@pytest.mark.parametrize("parameters", [np.ones(3), ["a"], [None], [adjoint.ones(2), 1.0]], ids=str)
@pytest.mark.parametrize("function", [utils.clip_grad_norm_, utils.clip_grad_value_, utils.clip_grads_with_norm_])
def test_what_is_no_tensor_is_named(function, parameters):
    arguments = (1.0, adjoint.ones(())) if function is utils.clip_grads_with_norm_ else (1.0,)
    with pytest.raises(TypeError, match=r"argument 'parameters' \(position 1\) must be a Tensor or Tensors"):
        function(parameters, *arguments)


@pytest.mark.parametrize(
    "call",
    [
        lambda p: utils.vector_to_parameters(adjoint.ones(6), p),
        lambda p: utils.parameters_to_vector(p),
        lambda p: utils.clip_grad_norm_(p, 1.0),
        lambda p: utils.get_total_norm(p),
        lambda p: utils.clip_grads_with_norm_(p[:1], 1.0, p[1]),
    ],
)
@pytest.mark.parametrize("other", [1.0, "a", None])
def test_parameters_that_are_no_tensors_are_named_and_nothing_is_changed(call: Any, other: Any) -> None:
    first = adjoint.zeros(2)
    with pytest.raises(TypeError, match=type(other).__name__):
        call([first, other])
    assert not first.any()
