"""Clipped gradients and parameter vectors, compared with NumPy's norms."""

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
    """Two parameters with gradients, and one without."""
    tensors = [adjoint.ones(grad.shape, dtype=adjoint.float64, requires_grad=True) for grad in GRADS]
    for parameter, grad in zip(tensors, GRADS, strict=True):
        parameter.grad = adjoint.tensor(grad)
    return [*tensors, adjoint.ones(2, requires_grad=True)]


def grads(tensors):
    return np.concatenate([parameter.grad.numpy().ravel() for parameter in tensors[:2]])


@pytest.mark.parametrize("order", [1, 2.0, 3, math.inf, "inf"])
def test_gradients_are_clipped_by_their_norm(order):
    tensors = parameters()
    total = np.linalg.norm(FLAT, float(order))
    assert utils.clip_grad_norm_(iter(tensors), 0.5, order).item() == pytest.approx(total)
    assert np.allclose(grads(tensors), FLAT * 0.5 / (total + 1e-6), rtol=1e-14)
    assert tensors[2].grad is None


def test_short_gradients_stay():
    tensors = parameters()
    utils.clip_grad_norm_(tensors, 100.0)
    assert np.array_equal(grads(tensors), FLAT)
    assert utils.clip_grad_norm_([], 1.0).item() == 0.0


def test_a_norm_that_is_not_finite():
    tensors = parameters()
    tensors[0].grad[0, 0] = math.inf
    with pytest.raises(RuntimeError, match=r"The total norm of order 2.0 for gradients .* is non-finite"):
        utils.clip_grad_norm_(tensors, 1.0, error_if_nonfinite=True)
    assert grads(tensors)[1] == -4.0
    with np.errstate(invalid="ignore"):
        assert utils.clip_grad_norm_(tensors, 1.0).item() == math.inf
    assert np.isnan(grads(tensors)[0]) and grads(tensors)[1] == 0


def test_a_total_norm_is_a_number_outside_of_the_graph():
    tensors = parameters()
    total = utils.get_total_norm(tensors[:2])
    assert total.item() == pytest.approx(math.sqrt(7)) and not total.requires_grad
    utils.clip_grads_with_norm_(tensors, 1.0, adjoint.tensor(4.0))
    assert np.allclose(grads(tensors), FLAT / (4 + 1e-6))


def test_gradients_are_clipped_by_value():
    tensors = parameters()
    utils.clip_grad_value_(tensors, 1.5)
    assert np.array_equal(grads(tensors), FLAT.clip(-1.5, 1.5))
    utils.clip_grad_value_(tensors[0], 0.75)
    assert tensors[0].grad.max() == 0.75


def test_parameters_become_a_vector_and_come_back():
    tensors = parameters()[:2]
    vector = utils.parameters_to_vector(tensors)
    (g,) = adjoint.autograd.grad((vector * adjoint.arange(7.0)).sum(), tensors[1:])
    assert g.tolist() == [4.0, 5.0, 6.0]
    utils.vector_to_parameters(adjoint.arange(7.0, dtype=adjoint.float64), tensors)
    assert tensors[0].tolist() == [[0, 1], [2, 3]] and tensors[1].tolist() == [4, 5, 6]
    assert all(parameter.is_leaf and parameter.requires_grad for parameter in tensors)


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
