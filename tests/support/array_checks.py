"""Checks of NumPy code on differentiable arrays: values as on plain ones, derivatives by central differences."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import adjoint
from adjoint.numpy import Array, detach

Function = Callable[..., Any]
STEP = 1e-6


def leaves(result: Any) -> Iterator[Any]:
    """All arrays, numbers and texts in a result."""
    if isinstance(result, dict):
        result = list(result.values())
    elif dataclasses.is_dataclass(result) and not isinstance(result, type):
        result = [getattr(result, field.name) for field in dataclasses.fields(result)]
    if isinstance(result, (list, tuple)):
        for member in result:
            yield from leaves(member)
    else:
        yield result


def is_inexact(leaf: Any) -> bool:
    """True for an array or a number of a dtype that has derivatives."""
    if isinstance(leaf, (np.ndarray, np.generic, Array)):
        return leaf.dtype.kind in "fc"
    return isinstance(leaf, (float, complex))


def assert_same(result: Any, expected: Any) -> None:
    """The values, dtypes and shapes of NumPy's result."""
    actual, targets = list(leaves(detach(result))), list(leaves(expected))
    assert len(actual) == len(targets), (actual, targets)
    for ours, theirs in zip(actual, targets, strict=True):
        if isinstance(theirs, (np.ndarray, np.generic, numbers.Number)):
            assert np.shape(ours) == np.shape(theirs), (ours, theirs)
            assert np.asarray(ours).dtype == np.asarray(theirs).dtype, (ours, theirs)
            rough = 1e-5 if np.asarray(ours).dtype.name in ("float32", "complex64") else 1e-10
            np.testing.assert_allclose(ours, theirs, rtol=rough, atol=rough)
        else:
            assert type(ours) is type(theirs) and ours == theirs, (ours, theirs)


def weights_of(start: int, shape: tuple[int, ...]) -> Any:
    """Weights that tell elements apart, counted from `start`."""
    size = int(np.prod(shape, dtype=int))
    return np.cos(1.3 * np.arange(start, start + size) + 0.4).reshape(shape)


def weighted_sum(result: Any) -> Any:
    """A real number that depends on all elements of a result, each with a weight of its own."""
    total: Any = 0.0
    count = 0
    for leaf in leaves(result):
        if is_inexact(leaf):
            weights = weights_of(count, np.shape(leaf))
            count += int(np.size(leaf))
            total = total + np.sum(np.real(leaf) * weights + np.imag(leaf) * np.flip(weights) * 0.7)
    return total


def differences(function: Function, arguments: list[Any], position: int, step: float = STEP) -> Any:
    """The derivative of a real number by one argument, by central differences; by both parts of complex numbers."""
    argument = np.asarray(arguments[position])
    kind = np.complex128 if argument.dtype.kind == "c" else np.float64
    gradient = np.zeros(argument.shape, kind)
    for index in np.ndindex(argument.shape):
        for direction in (1.0, 1j) if argument.dtype.kind == "c" else (1.0,):
            ends = []
            for sign in (1, -1):
                neighbour = argument.astype(kind)
                neighbour[index] += sign * step * direction
                changed = [np.array(each) if isinstance(each, np.ndarray) else each for each in arguments]
                changed[position] = neighbour if isinstance(arguments[position], np.ndarray) else kind(neighbour)
                ends.append(function(*changed))
            gradient[index] += direction * (ends[0] - ends[1]) / (2 * step)
    return gradient


def check(function: Function, *arguments: Any, step: float = STEP, tolerance: float = 1e-5) -> int:
    """Check a function through adjoint.grad by all arguments. Returns how many derivatives differ from zero."""
    plain = [np.array(each) if isinstance(each, np.ndarray) else each for each in arguments]
    expected = function(*plain)
    results: list[Any] = []

    def loss(*values: Any) -> Any:
        results.append(function(*values))
        return weighted_sum(results[-1])

    gradients = adjoint.grad(loss, argnums=tuple(range(len(arguments))))(*arguments)
    assert_same(results[-1], expected)
    nonzero = 0
    for position, gradient in enumerate(gradients):
        assert gradient.dtype == np.asarray(arguments[position]).dtype
        by_differences = differences(lambda *inputs: weighted_sum(function(*inputs)), list(arguments), position, step)
        np.testing.assert_allclose(gradient, by_differences, rtol=tolerance, atol=tolerance)
        nonzero += int(np.count_nonzero(by_differences))
    return nonzero


def is_of_real_numbers(function: Function, *arguments: Any) -> bool:
    """True for a function of real numbers whose result is one array of real numbers."""
    result = function(*[np.array(each) if isinstance(each, np.ndarray) else each for each in arguments])
    are_real = all(np.asarray(each).dtype.kind == "f" for each in arguments)
    return are_real and isinstance(result, (np.ndarray, np.float64)) and result.dtype.kind == "f"


def check_jacobian(function: Function, *arguments: Any) -> None:
    """Check adjoint.jacobian by all arguments against adjoint.grad, for a function of real numbers."""
    result = function(*[np.array(each) if isinstance(each, np.ndarray) else each for each in arguments])
    weights = weights_of(0, result.shape)
    every = tuple(range(len(arguments)))
    jacobians = adjoint.jacobian(function, argnums=every)(*arguments)
    gradients = adjoint.grad(lambda *values: np.sum(function(*values) * weights), argnums=every)(*arguments)
    for rows, gradient, argument in zip(jacobians, gradients, arguments, strict=True):
        assert rows.shape == (*result.shape, *np.shape(argument))
        np.testing.assert_allclose(np.tensordot(weights, rows, result.ndim), gradient, rtol=1e-10, atol=1e-10)
