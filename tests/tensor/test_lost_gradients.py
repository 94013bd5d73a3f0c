"""No function drops an argument's gradient silently: its floating point results require one, or it raises an error."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import adjoint
from support import function_calls
from support.function_probe import Problem, flat

Tensor = adjoint.Tensor
F = adjoint.nn.functional

#: Functions, and argument positions, that give constants in PyTorch, too: only shapes or signs are read.
CONSTANTS = {
    ("cosine_embedding_loss", 2), ("hinge_embedding_loss", 1), ("nn.functional.cosine_embedding_loss", 2),
    ("nn.functional.hinge_embedding_loss", 1), ("expand_as", 1), ("reshape_as", 1), ("view_as", 1), ("type_as", 1),
    ("detach", 0), ("detach_copy", 0), ("full_like", 0), ("ones_like", 0), ("zeros_like", 0), ("histc", 0),
    ("masked.argmax", 0), ("masked.argmin", 0),
}  # fmt: skip
#: Names whose result is the tensor itself.
NO_FUNCTIONS = {"cpu"}


def problem_of(name: str) -> Problem:
    """A call as a function of all its floating point arguments, including constants."""
    problem = Problem(name, "float64")
    problem.leaves = [each for each in problem.arguments if each.dtype.is_floating_point]
    return problem


def is_inexact(value: Any) -> bool:
    return isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())


def drops(name: str, position: int) -> bool:
    """True if a call drops the gradient of one of its arguments."""
    problem = problem_of(name)
    tensors = problem.starts()
    tensors[position].requires_grad_()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = [each for each in flat(problem.run(tensors)) if is_inexact(each)]
    except RuntimeError:  # NotImplementedError is a RuntimeError
        return False
    return bool(results) and not any(each.requires_grad for each in results)


def test_no_function_drops_a_gradient() -> None:
    calls = [(name, len(problem_of(name).leaves)) for name in function_calls.CALLS if name not in NO_FUNCTIONS]
    result = {(name, position) for name, n in calls for position in range(n) if drops(name, position)}
    assert result == CONSTANTS


X = adjoint.tensor([[0.1, 0.7], [0.4, 0.2]])
CLASSES = adjoint.tensor([0, 1])
OPTIONAL = {
    "nll_loss": lambda w: F.nll_loss(X, CLASSES, weight=w),
    "cross_entropy": lambda w: F.cross_entropy(X, CLASSES, weight=w),
    "multi_margin_loss": lambda w: F.multi_margin_loss(X, CLASSES, weight=w),
    "pinv": lambda w: adjoint.linalg.pinv(X, atol=w[0]),
    "pinv, rtol": lambda w: adjoint.linalg.pinv(X, rtol=w[0]),
    "batch_norm": lambda w: F.batch_norm(X, w, adjoint.ones(2)),
    "fractional_max_pool2d": lambda w: F.fractional_max_pool2d(
        adjoint.rand(1, 1, 4, 4), 2, output_size=2, _random_samples=w.reshape(1, 1, 2)
    ),
}


@pytest.mark.parametrize("function", OPTIONAL.values(), ids=OPTIONAL)
def test_arguments_that_take_no_gradient_may_not_require_one(function: Any) -> None:
    w = adjoint.tensor([0.3, 0.6], requires_grad=True)
    with pytest.raises(RuntimeError, match="is not differentiable with respect to argument"):
        function(w)
    with adjoint.no_grad():
        assert not function(w).requires_grad


@pytest.mark.parametrize("dtype", [adjoint.uint8, adjoint.int32, adjoint.int64])
def test_weights_of_counts_have_a_gradient(dtype: adjoint.dtype) -> None:
    w = adjoint.tensor([0.5, 1.0, 2.0], requires_grad=True)
    places = adjoint.tensor([2, 0, 2]).to(dtype)
    adjoint.bincount(places, w).mul(adjoint.tensor([1.0, 5.0, 7.0])).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [7, 1, 7]


@pytest.mark.parametrize("both", [False, True])
def test_factors_given_to_ldl_solve_have_no_derivative(both: bool) -> None:
    factor, pivots = adjoint.linalg.ldl_factor(X @ X.T + adjoint.eye(2))
    factor.requires_grad_()
    solution = adjoint.linalg.ldl_solve(factor, pivots, adjoint.eye(2).requires_grad_(both))
    with pytest.raises(RuntimeError, match="ldl_solve is not implemented"):
        solution.sum().backward()
