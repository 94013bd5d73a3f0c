"""Properties of a derivative besides its value: it is linear, and accepts undefined cotangents and batches."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import numpy

from adjoint.core.graph import FunctionNode, connect_inputs, connect_outputs, new_node
from adjoint.core.modes.batches import running
from adjoint.tensor.differentiate import grad, of_all_members
from adjoint.tensor.table import ops
from adjoint.tensor.tensor import Tensor

from . import messages
from .analytical import jvp
from .functions import Function, results_of, tensor_like, tensor_of, tensors_to_check
from .messages import GradcheckError

_BATCH = 2


def noise(model: Tensor, rng: numpy.random.Generator) -> Tensor:
    """A tensor of normal random numbers like another."""
    values = rng.standard_normal(model.shape)
    if model.is_complex():
        values = values + 1j * rng.standard_normal(model.shape)
    return tensor_like(values, model)


def zeros_for(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Zeros like each of these."""
    return [tensor_like(numpy.zeros(x.shape), x) for x in tensors]


def is_zero(gradient: Tensor | None) -> bool:
    """True for an undefined gradient too."""
    return gradient is None or not gradient._array.any()


# the cotangent --------------------------------------------------------------------------------------------------------


def check_multiplied(func: Function, inputs: tuple[Any, ...]) -> None:
    """Zero cotangents give zero gradients."""
    targets = list(tensors_to_check(inputs).values())
    outputs = list(tensors_to_check(results_of(func, inputs)).values())
    if not outputs:
        return
    gradients = grad(outputs, targets, zeros_for(outputs), retain_graph=True, allow_unused=True)
    for index, (g, x) in enumerate(zip(gradients, targets, strict=True)):
        if g is None:
            continue
        if not is_zero(g):
            raise GradcheckError(messages.NOT_MULTIPLIED)
        if g.dtype != x.dtype:
            raise GradcheckError(f"grad is incorrect type: {g.dtype} for input {index}, which is {x.dtype}")
        if g.shape != x.shape:
            raise GradcheckError(f"grad is incorrect size: {g.shape} for input {index}, which has size {x.shape}")


def with_undefined_cotangent(output: Tensor) -> Tensor:
    """An output behind which an undefined cotangent arrives, whatever cotangent it is given."""
    node: Any = new_node(FunctionNode, FunctionNode)
    node.function = _pass_nothing_on
    connect_inputs(node, [output])
    result: Any = tensor_of(output._array)
    connect_outputs(node, [result])
    return cast(Tensor, result)


def _pass_nothing_on(node: FunctionNode, cotangent: Any, create_graph: bool) -> list[None]:
    return [None]


def check_undefined(func: Function, inputs: tuple[Any, ...]) -> None:
    """Check that undefined cotangents count as zeros, for each output (with zeros for the others) and for all."""
    targets = list(tensors_to_check(inputs).values())
    n = len(tensors_to_check(results_of(func, inputs)))
    subsets = [{k} for k in range(n)] + ([set(range(n))] if n > 1 else [])
    for subset in subsets:
        outputs = list(tensors_to_check(results_of(func, inputs)).values())
        roots = [with_undefined_cotangent(y) if k in subset else y for k, y in enumerate(outputs)]
        try:
            gradients = grad(roots, targets, zeros_for(outputs), allow_unused=True)
        except Exception as error:
            _warn()
            raise GradcheckError(messages.UNDEFINED_ERROR) from error
        if not all(map(is_zero, gradients)):
            _warn()
            raise GradcheckError(messages.UNDEFINED_NOT_ZERO)


def _warn() -> None:
    warnings.warn(messages.UNDEFINED_WARNING, UserWarning, stacklevel=5)


# tangents -------------------------------------------------------------------------------------------------------------


def check_undefined_tangents(func: Function, inputs: tuple[Any, ...], positions: Sequence[int]) -> None:
    """Check that an undefined tangent of each input acts like zeros, for any tangents of the others."""
    rng = numpy.random.default_rng(0)
    tangents = {i: noise(x, rng) for i, x in tensors_to_check(inputs).items()}
    for i, x in tensors_to_check(inputs).items():
        expected = jvp(func, inputs, {**tangents, i: zeros_for([x])[0]})
        try:
            tangents_out = jvp(func, inputs, {**tangents, i: None})
        except Exception as error:
            raise GradcheckError(messages.UNDEFINED_TANGENT_ERROR.format(error=error)) from error
        for o in positions:
            if not same(tangents_out[o], expected[o]):
                raise GradcheckError(
                    messages.UNDEFINED_TANGENT.format(output=o, input=x, got=tangents_out[o], expected=expected[o])
                )


def same(a: Tensor | None, b: Tensor | None) -> bool:
    """True for close tensors; an undefined one is zero."""
    if a is None or b is None:
        return is_zero(a) and is_zero(b)
    return bool(numpy.allclose(a._array, b._array, equal_nan=True))


# batches --------------------------------------------------------------------------------------------------------------


def check_batched_grad(inputs: Sequence[Tensor], output: Tensor, index: int) -> None:
    """One backward pass with a batch of cotangents gives the results of one pass for each."""
    rng = numpy.random.default_rng(0)
    cotangents = [noise(output, rng) for _ in range(_BATCH)]
    stacked = tensor_of(numpy.stack([v._array for v in cotangents]))
    options: dict[str, Any] = {"retain_graph": True, "allow_unused": True}
    each = [grad(output, inputs, v, **options) for v in cotangents]
    try:
        with quiet():
            gradients = grad(output, inputs, stacked, is_grads_batched=True, **options)
    except Exception as error:
        raise GradcheckError(
            messages.BATCHED_ERROR.format(error=error, remedy=messages.FAILED_BATCHED_GRAD_MSG)
        ) from error
    compare_batches(gradients, each, itertools.repeat(index), range(len(inputs)), messages.FAILED_BATCHED_GRAD_MSG)


def check_batched_jvp(func: Function, inputs: tuple[Any, ...], positions: Sequence[int]) -> None:
    """Forward mode with a batch of tangents gives the results of one pass for each."""
    rng = numpy.random.default_rng(0)
    remedy = messages.FAILED_BATCHED_GRAD_MSG_FWD_AD
    for index, (i, x) in enumerate(tensors_to_check(inputs).items()):
        push = partial(push_one, func, inputs, positions, i)
        steps = [noise(x, rng) for _ in range(_BATCH)]
        each = [push(t) for t in steps]
        try:
            with quiet():
                tangents_out = of_batch(push, tensor_of(numpy.stack([t._array for t in steps])))
        except Exception as error:
            raise GradcheckError(messages.BATCHED_ERROR.format(error=error, remedy=remedy)) from error
        compare_batches(tangents_out, each, range(len(positions)), itertools.repeat(index), remedy)


def of_batch(function: Callable[[Tensor], tuple[Tensor, ...]], stacked: Tensor) -> list[Tensor]:
    """The results of a function of one tensor for all members of a batch.

    This is no transformation of functions, as vmap is: a custom function runs as it does outside.
    """
    size = stacked._array.shape[0]
    with running(size) as batch:
        return [of_all_members(t, batch.level, size) for t in function(ops.batch_in(stacked, batch.level))]  # type: ignore[misc]


def push_one(
    func: Function, inputs: tuple[Any, ...], positions: Sequence[int], i: int, tangent: Tensor
) -> tuple[Tensor, ...]:
    """The tangents of the outputs at the given places for a tangent of the i-th argument."""
    tangents: dict[int, Tensor | None] = {j: zeros_for([x])[0] for j, x in tensors_to_check(inputs).items()}
    tangents_out = jvp(func, inputs, {**tangents, i: tangent})
    # an output that has no tangent does not depend on this argument
    return tuple(tensor_of(numpy.zeros(())) if t is None else t for t in (tangents_out[o] for o in positions))


def compare_batches(batch: Any, each: Any, outputs: Any, inputs: Any, remedy: str) -> None:
    """Raise GradcheckError if a batched result is not the stack of single results."""
    for result, single, o, i in zip(batch, zip(*each, strict=True), outputs, inputs, strict=False):
        if result is None and all(s is None for s in single):
            continue
        expected = numpy.stack([numpy.zeros(result.shape[1:]) if s is None else s._array for s in single])
        if result is None or not numpy.allclose(result._array, expected, equal_nan=True):
            raise GradcheckError(
                messages.BATCHED_MISMATCH.format(
                    output=o, input=i, remedy=remedy, got=result, expected=tensor_of(expected)
                )
            )


class quiet(warnings.catch_warnings):
    """Without the warning that an operation of a batch is run one by one."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.filterwarnings("ignore", message="There is a performance drop")
