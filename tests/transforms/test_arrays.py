"""Transformations of functions of arrays: values and derivatives of functions of tensors, in every combination."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import func
from adjoint.autograd import functional

X = np.array([0.5, 1.0, 2.0])


def loss(x: Any) -> Any:
    """A loss with the same result for arrays and tensors."""
    return (x**3 / (1 + x * x)).sum() + x[0] * x[1]


def vector(x: Any) -> Any:
    return x**2 * x[0]


ONES = np.ones(3)
#: Transformations of arrays, as functions of the constructor: NumPy's array, or its Tensor.
TRANSFORMS: dict[str, Any] = {
    "grad": lambda of: func.grad(loss)(of(X)),
    "grad of grad": lambda of: func.grad(lambda x: func.grad(loss)(x).sum())(of(X)),
    "grad_and_value": lambda of: func.grad_and_value(loss)(of(X)),
    "value_and_grad": lambda of: func.value_and_grad(loss)(of(X)),
    "aux": lambda of: func.grad(lambda x: (loss(x), x * 2), has_aux=True)(of(X)),
    "two arguments": lambda of: func.grad(lambda a, b: loss(a * b), argnums=(0, 1))(of(X), of(2 * X)),
    "tree": lambda of: func.grad(lambda p: loss(p["a"] * p["b"][0]))({"a": of(X), "b": [of(ONES)]}),
    "vjp": lambda of: func.vjp(vector, of(X))[1](of(ONES)),
    "jvp": lambda of: func.jvp(vector, (of(X),), (of(ONES),)),
    "linearize": lambda of: func.linearize(vector, of(X))[1](of(ONES)),
    "linear_transpose": lambda of: func.linear_transpose(lambda x: 3 * x[1:], of(X))(of(ONES[1:])),
    "jacrev": lambda of: func.jacrev(vector)(of(X)),
    "jacfwd": lambda of: func.jacfwd(vector)(of(X)),
    "jacobian": lambda of: func.jacobian(vector)(of(X)),
    "hessian": lambda of: func.hessian(loss)(of(X)),
    "jvp of grad": lambda of: func.jvp(func.grad(loss), (of(X),), (of(ONES),))[1],
    "grad of jvp": lambda of: func.grad(lambda x: func.jvp(loss, (x,), (x * 2,))[1])(of(X)),
    "vmap": lambda of: func.vmap(loss)(of(np.stack([X, 2 * X]))),
    "vmap of grad": lambda of: func.vmap(func.grad(loss))(of(np.stack([X, 2 * X]))),
    "functional.vjp": lambda of: functional.vjp(vector, of(X), of(ONES)),
    "functional.jvp": lambda of: functional.jvp(vector, of(X), of(ONES)),
    "functional.jacobian": lambda of: functional.jacobian(vector, of(X), vectorize=True),
    "functional.hessian": lambda of: functional.hessian(loss, of(X)),
    "functional.hvp": lambda of: functional.hvp(loss, of(X), of(ONES)),
    "functional.vhp": lambda of: functional.vhp(loss, of(X), of(ONES)),
}  # fmt: skip


def leaves_of(result: Any) -> list[Any]:
    from adjoint.runtime.pytree import flatten

    return flatten(result)[0]


@pytest.mark.parametrize("name", TRANSFORMS)
def test_arrays_give_what_tensors_give_as_arrays(name: str) -> None:
    on_arrays = leaves_of(TRANSFORMS[name](np.array))
    on_tensors = leaves_of(TRANSFORMS[name](adjoint.from_numpy))
    assert all(isinstance(result, (np.ndarray, np.floating)) for result in on_arrays)
    assert len(on_arrays) == len(on_tensors)
    for ours, theirs in zip(on_arrays, on_tensors, strict=True):
        assert ours == pytest.approx(theirs.detach().numpy(), rel=1e-12, abs=1e-14)


def test_numbers_are_arguments() -> None:
    assert func.grad(lambda x: np.sin(x) * x)(2.0) == pytest.approx(math.sin(2) + 2 * math.cos(2))
    assert func.grad(func.grad(np.sin))(1.0) == pytest.approx(-math.sin(1))
    assert isinstance(func.grad(np.sin)(1.0), float)


def test_the_function_gets_arrays_and_the_callers_are_not_written_to() -> None:
    x = X.copy()

    def writes(a: Any) -> Any:
        assert isinstance(a, adjoint.numpy.Array)
        first = a * 1
        a[0] = 7.0
        a += 1
        return (a * first).sum()

    assert func.grad(writes)(x) == pytest.approx([8.0, 2 * 1.0 + 1, 2 * 2.0 + 1])
    assert x.tolist() == X.tolist()


@pytest.mark.parametrize("whole", [3, np.arange(3), True, np.bool_(1)])
def test_whole_numbers_have_no_derivative(whole: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"whole numbers|must be Tensor"):
        func.grad(lambda x: (x * 1.0).sum())(whole)


def test_arrays_and_tensors_at_once_are_an_error() -> None:
    with pytest.raises(ValueError, match="must be Tensor"):
        func.grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(X, adjoint.ones(3))


@adjoint.custom(vjp=lambda g, x: g * np.cos(x))
def sine(x: Any) -> Any:
    assert type(x) is np.ndarray
    return np.array([math.sin(value) for value in x])


@adjoint.custom(jvp=lambda t, x: t * np.cos(x))
def other_sine(x: Any) -> Any:
    return np.array([math.sin(value) for value in x])


@pytest.mark.parametrize("function", [sine, other_sine])
def test_custom_functions_of_plain_arrays(function: Any) -> None:
    assert function(X) == pytest.approx(np.sin(X))
    assert adjoint.grad(lambda x: function(x).sum())(X) == pytest.approx(np.cos(X))
    assert adjoint.jvp(function, (X,), (ONES,))[1] == pytest.approx(np.cos(X))
    assert adjoint.hessian(lambda x: np.sum(function(x)))(X) == pytest.approx(np.diag(-np.sin(X)))
    assert adjoint.jacobian(function)(X) == pytest.approx(np.diag(np.cos(X)))
    with pytest.raises(RuntimeError, match=r"one member after the other"):
        adjoint.vmap(function)(np.stack([X, X]))


@pytest.mark.parametrize("of", [np.array, adjoint.from_numpy])
def test_safe_where_has_the_derivative_of_the_chosen_branch(of: Any) -> None:
    x = of(np.array([0.0, 4.0, -1.0]))
    root = np.sqrt if of is np.array else adjoint.sqrt

    def select(x: Any) -> Any:
        return adjoint.safe_where(x > 0, root, lambda x: 3 * x, x).sum()

    assert adjoint.grad(select)(x).tolist() == [3.0, 0.25, 3.0]
    assert func.jvp(select, (x,), (of(np.ones(3)),))[1].tolist() == 6.25
    assert adjoint.vmap(adjoint.grad(select))(x[None]).tolist() == [[3.0, 0.25, 3.0]]
    none = adjoint.grad(lambda x: adjoint.safe_where(x > 9, root, 2.0, x).sum())(x)
    assert none.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("transform", [adjoint.grad, adjoint.func.jacfwd])
def test_what_a_custom_function_uses_besides_its_arguments_is_not_lost(transform: Any) -> None:
    def scale(x: Any, factor: Any) -> Any:
        function = adjoint.custom(lambda v: v * factor)
        function.vjp(lambda g: g * adjoint.numpy.detach(factor))
        return np.sum(function(x))

    x = np.array([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"uses besides its arguments, is a plain value.*among the arguments"):
        transform(lambda x: scale(x, x[0]))(x)
    assert transform(lambda x: scale(x, adjoint.numpy.detach(x[1])))(x).tolist() == [2.0, 2.0]
    assert scale(x, x[1]) == 6.0


def test_numbers_of_an_array_as_objects_keep_their_derivatives() -> None:
    x = np.array([1.0, 2.0])
    assert adjoint.grad(lambda x: (x.astype(object) ** 2).sum())(x).tolist() == [2.0, 4.0]
    with pytest.raises(RuntimeError, match="would be lost"):
        adjoint.grad(lambda x: x.astype([("a", float)])["a"].sum() + (0 * x).sum())(x)


def test_a_pullback_of_plain_arrays_takes_differentiable_ones() -> None:
    _, pullback = func.vjp(lambda x: x * x, np.array([1.0, 2.0]))
    # This is the derivative of v -> sum(2 x v).
    assert func.grad(lambda v: np.sum(pullback(v)[0]))(np.ones(2)).tolist() == [2.0, 4.0]


@pytest.mark.parametrize("of_function", [np.array, adjoint.numpy.Array])
@pytest.mark.parametrize("of_pullback", [np.array, adjoint.numpy.Array])
def test_a_pullback_gives_differentiable_arrays_if_one_came_in(of_function: Any, of_pullback: Any) -> None:
    _, pullback = func.vjp(lambda x: x * x, of_function([1.0, 2.0]))
    (gradient,) = pullback(of_pullback([1.0, 1.0]))
    assert isinstance(gradient, adjoint.numpy.Array) == (adjoint.numpy.Array in (of_function, of_pullback))
    assert gradient.tolist() == [2.0, 4.0]
