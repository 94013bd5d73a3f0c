"""`pin_memory=` of functions that make tensors: memory that a CUDA device reads at full speed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from adjoint.arrays.size import cuda_is_available, type_name
from adjoint.core.graph import TensorBase
from adjoint.core.operations.public_functions import skip_wrapper

F = TypeVar("F", bound=Callable[..., Any])

NO_PINNED_MEMORY = (
    "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on this "
    "system."
)


def pinnable(function: F) -> F:
    """A function that makes a tensor, which lies in pinned memory where pin_memory=True asks for that.

    Raises RuntimeError without a CUDA device, and for a tensor that lies on one; TypeError for anything but a bool.
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return pinned_if_asked(function, args, kwargs) if "pin_memory" in kwargs else function(*args, **kwargs)

    call.__signature__ = signature_with_pin_memory(function)
    return skip_wrapper(function, call, "pin_memory")


def signature_with_pin_memory(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function, with the keyword that `pinnable` adds."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    if "pin_memory" in signature.parameters:
        return signature
    position = len(parameters) - (parameters[-1].kind is inspect.Parameter.VAR_KEYWORD)
    added = inspect.Parameter("pin_memory", inspect.Parameter.KEYWORD_ONLY, default=False, annotation="bool")
    return signature.replace(parameters=[*parameters[:position], added, *parameters[position:]])


def pinned_if_asked(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a function, in pinned memory if the keyword pin_memory is true; it is removed from the others."""
    is_requested = kwargs.pop("pin_memory")
    if not isinstance(is_requested, bool) and is_requested is not None:
        raise TypeError(f"{function.__name__}(): argument 'pin_memory' must be bool, not {type_name(is_requested)}")
    if not is_requested:
        return function(*args, **kwargs)
    if not cuda_is_available():
        raise RuntimeError(NO_PINNED_MEMORY)
    from adjoint.arrays.shared_memory import pin

    result: TensorBase = function(*args, **kwargs)
    if result.is_cuda:
        raise RuntimeError(f"cannot pin '{result.type()}' only dense CPU tensors can be pinned")
    result._array = pin(result._array)
    return result
