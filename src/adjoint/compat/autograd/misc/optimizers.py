"""Gradient descent in three kinds, on vectors or nested containers of arrays.

Each takes grad(x, i), the gradient at x in iteration i, a start x0, and calls callback(x, i, g) before each step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy

from adjoint.compat.autograd.misc.flatten import flatten

Function = Callable[..., Any]


def unflatten_optimizer(optimize: Function) -> Function:
    """An optimizer of nested containers, from an optimizer of vectors.

    optimize: a function of (grad, x, callback, ...) for vectors.
    """

    @functools.wraps(optimize)
    def optimize_trees(grad: Function, x0: Any, callback: Function | None = None, *args: Any, **kwargs: Any) -> Any:
        start, unflatten = flatten(x0)

        def flat_grad(x: Any, i: int) -> Any:
            return flatten(grad(unflatten(x), i))[0]

        def flat_callback(x: Any, i: int, g: Any) -> None:
            if callback:
                callback(unflatten(x), i, unflatten(g))

        return unflatten(optimize(flat_grad, start, flat_callback, *args, **kwargs))

    return optimize_trees


@unflatten_optimizer
def sgd(
    grad: Function, x: Any, callback: Function, num_iters: int = 200, step_size: float = 0.1, mass: float = 0.9
) -> Any:
    """Stochastic gradient descent with momentum.

    grad: a function of (x, i) that returns the gradient at step i. x: an array or nested containers. callback: called
    with (x, i, gradient) before each step. Returns the last x.

    >>> from adjoint.compat.autograd.misc.optimizers import sgd
    >>> abs(float(sgd(lambda x, i: 2 * x, 1.0))) < 0.01
    True
    """
    velocity = numpy.zeros(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        callback(x, i, g)
        velocity = mass * velocity - (1.0 - mass) * g
        x = x + step_size * velocity
    return x


@unflatten_optimizer
def rmsprop(
    grad: Function,
    x: Any,
    callback: Function,
    num_iters: int = 100,
    step_size: float = 0.1,
    gamma: float = 0.9,
    eps: float = 1e-8,
) -> Any:
    """RMSprop: steps divided by the root of the running mean of squared gradients (Tieleman and Hinton, 2012).

    grad: a function of (x, i) that returns the gradient at step i. x: an array or nested containers. callback: called
    with (x, i, gradient) before each step. Returns the last x.
    """
    mean_square = numpy.ones(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        callback(x, i, g)
        mean_square = mean_square * gamma + g**2 * (1 - gamma)
        x = x - step_size * g / (numpy.sqrt(mean_square) + eps)
    return x


@unflatten_optimizer
def adam(
    grad: Function,
    x: Any,
    callback: Function,
    num_iters: int = 100,
    step_size: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
) -> Any:
    """Adam (Kingma and Ba, 2015, https://arxiv.org/abs/1412.6980).

    grad: a function of (x, i) that returns the gradient at step i. x: an array or nested containers. callback: called
    with (x, i, gradient) before each step. Returns the last x.
    """
    m, v = numpy.zeros(len(x)), numpy.zeros(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        callback(x, i, g)
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * g**2 + b2 * v
        x = x - step_size * (m / (1 - b1 ** (i + 1))) / (numpy.sqrt(v / (1 - b2 ** (i + 1))) + eps)
    return x
