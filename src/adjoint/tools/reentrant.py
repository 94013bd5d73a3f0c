"""The older kind of checkpoint: the function runs unrecorded, and its backward pass runs a backward pass of its own."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from adjoint.core.engine import accumulates
from adjoint.core.graph import TensorBase, needs_grad
from adjoint.core.modes import random
from adjoint.core.modes.draws import drawing_from
from adjoint.core.modes.grad_mode import enable_grad
from adjoint.tensor.differentiate import backward, needing_grad
from adjoint.transforms.custom_functions.function import Function

NO_GRADIENT_NEEDED = "None of the inputs have requires_grad=True. Gradients will be None"
ONLY_BACKWARD = (
    "When use_reentrant=True, adjoint.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter "
    "to .backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without "
    "passing the `inputs` argument."
)
NO_OUTPUT = "none of output has requires_grad=True, this checkpoint() is not necessary"


def checkpoint_reentrant(function: Callable[..., Any], preserve_rng_state: bool, args: tuple[Any, ...]) -> Any:
    """Call `function(*args)`; only tensors among args themselves are differentiated by, and parameters of its own."""
    check_backward_validity(args, stacklevel=4)
    return CheckpointFunction.apply(function, preserve_rng_state, *args)


def check_backward_validity(inputs: Iterable[Any], stacklevel: int = 2) -> None:
    """Warn if no input is a tensor that requires grad.

    A backward pass would then skip the checkpoint. inputs: any objects. stacklevel: that of the warning.
    """
    if not any(isinstance(each, TensorBase) and needs_grad(each) for each in inputs):
        warnings.warn(NO_GRADIENT_NEEDED, stacklevel=stacklevel)


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs, with tensors as leaves without history that require grad as before.

    Raises RuntimeError unless the inputs are a tuple.

    >>> import adjoint
    >>> from adjoint.utils.checkpoint import detach_variable
    >>> x = adjoint.ones(1, requires_grad=True)
    >>> detach_variable((2 * x, 3))
    (tensor([2.], requires_grad=True), 3)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(
        needing_grad(each.detach(), needs_grad(each)) if isinstance(each, TensorBase) else each for each in inputs
    )


class CheckpointFunction(Function):
    """The Function of reentrant checkpoints.

    `forward` runs a function without recording. `backward` runs it again with recording, and differentiates that run.
    """

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        """The value of the function, computed without recording.

        function: the checkpointed function. preserve_rng_state: whether the second run draws the same numbers.
        """
        ctx.function = function
        ctx.random_state = random.get_rng_state() if preserve_rng_state else None
        ctx.tensor_positions = [i for i, arg in enumerate(args) if isinstance(arg, TensorBase)]
        ctx.others = [None if isinstance(arg, TensorBase) else arg for arg in args]
        ctx.save_for_backward(*[args[i] for i in ctx.tensor_positions])
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
        """The cotangents of the arguments, from a second run of the function.

        Cotangents of other leaves are accumulated into their `.grad`. Raises RuntimeError outside of `backward`.
        """
        if not accumulates():
            raise RuntimeError(ONLY_BACKWARD)
        args = list(ctx.others)
        for i, tensor in zip(ctx.tensor_positions, detach_variable(ctx.saved_tensors), strict=True):
            args[i] = tensor
        with drawing_from(ctx.random_state), enable_grad():
            outputs = ctx.function(*args)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [
            (output, g)
            for output, g in zip(outputs, cotangents, strict=True)
            if isinstance(output, TensorBase) and needs_grad(output)
        ]
        if not pairs:
            raise RuntimeError(NO_OUTPUT)
        backward([output for output, _ in pairs], [g for _, g in pairs])
        return None, None, *[arg.grad if isinstance(arg, TensorBase) else None for arg in args]
