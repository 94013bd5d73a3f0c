"""`reinforce(reward)`: gradients of random draws from the score of their distribution.

A draw y from a distribution with parameters p has no derivative with respect to p. With a reward r, the score function
estimator replaces it: the gradient of -r log P(y; p), so that steps down the gradient make draws with
high rewards more likely (R. J. Williams, Simple statistical gradient-following algorithms, 1992).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from adjoint.arrays.dtypes import numpy_dtype
from adjoint.core.graph import (
    FunctionNode,
    TensorBase,
    needs_grad,
    new_tensor,
    project,
)
from adjoint.core.modes.state import current
from adjoint.tensor.function_nodes import function_node

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Array = Any
#: The derivatives of a draw's log-probability with respect to its parameters, times the reward.
Score = Callable[[Array], tuple[Array, ...]]

REINFORCE = (
    "reinforce() is deprecated: multiply with the reward yourself, as in loss = -log_prob(action) * reward, and call "
    "loss.backward()."
)
NOT_A_DRAW = (
    "reinforce() can be called only on what bernoulli(), multinomial() or normal() drew from a tensor that requires "
    "grad, and not on what was computed from it"
)


class Draw(NamedTuple):
    """The distribution of a tensor of random draws: the parameters that need a gradient, the score."""

    parameters: list[TensorBase]
    score: Score


class MultinomialBackward0(FunctionNode):
    """The history of draws by multinomial(), which they have from reinforce() on."""


def remember(draws: Tensor, parameters: list[Any], score: Score) -> Tensor:
    """Let draws know their distribution, if a parameter needs a gradient; returns them."""
    needing = [p for p in parameters if isinstance(p, TensorBase) and needs_grad(p)]
    if needing and current().grad_enabled and type(draws._array) is numpy.ndarray:
        draws.__dict__["_draw"] = Draw(needing, score)
    return draws


def reinforce(draws: Tensor, reward: Any) -> None:
    """Register the reward of draws, for their backward pass; see `Tensor.reinforce`."""
    warnings.warn(REINFORCE, DeprecationWarning, stacklevel=3)
    draw = draws.__dict__.get("_draw")
    if draw is None:
        raise RuntimeError(NOT_A_DRAW)
    if is_reinforced(draws):
        raise RuntimeError("reinforce() was called on this draw before; each draw has one reward")
    shape = draws._array.shape
    rewards = numpy.asarray(reward._array if isinstance(reward, TensorBase) else reward)
    if rewards.shape not in ((), shape):
        raise ValueError(
            f"reinforce() got a reward of shape {list(rewards.shape)} for a draw of shape {list(shape)}; give one "
            "number for each element, or one for all"
        )
    if draws.grad_fn is None:
        # indices are in the graph only from here on
        draws._node = function_node(MultinomialBackward0, zeros_of_inputs, draw.parameters, draws)
    scores = [numpy.negative(each) for each in draw.score(numpy.broadcast_to(rewards, shape))]

    def replace(grad_inputs: tuple[Any, ...], grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The scores of the parameters, whatever gradient arrived."""
        remaining = iter(scores)
        return tuple([None if g is None else substitute_score(next(remaining), g) for g in grad_inputs])

    draws.grad_fn.register_hook(replace)
    draws.__dict__["_draw"] = draw._replace(score=None)


def is_reinforced(tensor: Any) -> bool:
    """True for draws with a reward: their backward pass needs no cotangent."""
    draw = getattr(tensor, "_draw", None)
    return draw is not None and draw.score is None


def substitute_score(score: Array, gradient: Tensor) -> Tensor:
    """A score instead of a gradient."""
    return new_tensor(project(score, gradient._array.shape, numpy_dtype(gradient._array.dtype)))


def zeros_of_inputs(node: Any, cotangent: Any, create_graph: bool) -> list[Any]:
    """Zero for each input."""
    layouts = [target._input_metadata[nr] for target, nr in node.next_functions]
    zeros = [numpy.zeros(layout.shape, layout.dtype.numpy) for layout in layouts]
    return [new_tensor(array) for array in zeros] if create_graph else zeros


def bernoulli_score(chances: Array, sample: Array) -> Score:
    """log P = y log p + (1 - y) log(1 - p)."""
    return lambda reward: (reward * (sample - chances) / (chances * (1 - chances)),)


def normal_score(unit: Array, std: Array, are_means: list[bool]) -> Score:
    """log P = -(y - m)^2 / 2 s^2 - log s, with y - m = unit * s; for the mean, the deviation, or both."""
    return lambda reward: tuple([reward * (unit if is_mean else unit * unit - 1) / std for is_mean in are_means])


def multinomial_score(weights: Array, sample: Array, replacement: bool) -> Score:
    """log P = sum over the draws of log w_i - log(sum of the weights that could be drawn)."""

    def score(reward: Array) -> tuple[Array]:
        rows, indices, rewards = [numpy.atleast_2d(each) for each in (weights, sample, reward)]
        result = numpy.zeros(rows.shape, rows.dtype)
        remaining = numpy.ones(rows.shape, bool)
        at = numpy.arange(len(rows))
        for i, r in zip(indices.T, rewards.T, strict=True):
            total = (rows * remaining).sum(axis=-1)
            result[at, i] += r / rows[at, i]
            result -= remaining * (r / total)[:, None]
            if not replacement:
                remaining[at, i] = False
        return (result.reshape(weights.shape),)

    return score
