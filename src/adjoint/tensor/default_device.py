"""The default device of new tensors, and questions about devices."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from adjoint.arrays.size import CPU, DEFAULT, as_device, device
from adjoint.core import errors
from adjoint.core.graph import TensorBase, any_overrides, registry
from adjoint.core.operations.naming import known_by
from adjoint.core.operations.operation import PublicFunction
from adjoint.core.operations.public_functions import skip_wrapper
from adjoint.runtime.lazy import LazyTable
from adjoint.tensor import creation
from adjoint.tensor.memory.pinning import pinnable, pinned_if_asked, signature_with_pin_memory

F = TypeVar("F", bound=Callable[..., Any])

#: Functions that make tensors, and so follow the default. The ..._like functions follow their argument.
FOLLOWING = (
    "tensor", "as_tensor", "asarray", "zeros", "ones", "empty", "full", "empty_strided", "arange", "linspace",
    "logspace", "eye", "rand", "randn", "randint", "randperm", "scalar_tensor", "tril_indices", "triu_indices",
    "empty_permuted", "range",
)  # fmt: skip


#: Functions whose tensors are in pinned memory for pin_memory=True, as are windows and similar tensors.
PINNED = (
    *(name for name in FOLLOWING if name not in ("as_tensor", "asarray", "range")),
    "zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like",
)  # fmt: skip

#: Functions that only read their arguments, whose classes may override them.
QUESTIONS = ("numel", "result_type", "is_floating_point", "is_complex", "is_nonzero", "is_same_size")


def set_default_device(device: Any) -> None:
    """Set the device of tensors that are created without one, in the calling thread; None: the CPU.

    Intermediate values of adjoint, `from_numpy` and the ..._like functions are not affected.

    Raises RuntimeError for an unknown name; whether the device exists is checked when a tensor is made.

    >>> import adjoint
    >>> adjoint.set_default_device("cpu")
    >>> adjoint.get_default_device()
    device(type='cpu')
    >>> adjoint.set_default_device(None)
    """
    DEFAULT.device = None if device is None else _Device(device)


def get_default_device() -> device:
    """The device of tensors that are created without one.

    Raises AssertionError where it is a CUDA device and none is available.
    """
    return CPU if DEFAULT.device is None else as_device(DEFAULT.device, "get_default_device")


def on_default_device(function: F) -> F:
    """A function that makes a tensor, by default on the default device; for pin_memory= see `pinnable`."""
    pins = function.__name__ in PINNED

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if registry.overriding and any_overrides([]):
            return registry.dispatch(public, args, kwargs)
        if DEFAULT.device is not None and kwargs.get("device") is None:
            kwargs["device"] = DEFAULT.device
        if pins and "pin_memory" in kwargs:
            return pinned_if_asked(function, args, kwargs)
        return function(*args, **kwargs)

    if pins:
        call.__signature__ = signature_with_pin_memory(function)
    public = skip_wrapper(function, call, "pin_memory", follows=True)
    return public


_Device = device

#: The public functions of `creation` as users get them.
PUBLIC: LazyTable[str, Callable[..., Any]] = LazyTable()


def _make(name: str) -> None:
    """Make a function of `PUBLIC`."""
    function = creation.range_ if name == "range" else getattr(creation, name)
    if name in FOLLOWING:
        function = known_by(on_default_device(function), "adjoint", name)
    elif name in PINNED:
        function = known_by(PublicFunction(pinnable(function), name, True), "adjoint", name)
    elif name in QUESTIONS:
        function = known_by(PublicFunction(function, name, True), "adjoint", name)
    PUBLIC.enter(name, function)


PUBLIC.expect({name: name for name in (*creation.PUBLIC, "range")}, _make)


def get_device(input: Any) -> int:
    """The number of the CUDA device that holds a tensor, and -1 for a tensor in main memory.

    Raises TypeError for an input that is no tensor.

    >>> import adjoint
    >>> adjoint.get_device(adjoint.ones(2))
    -1
    """
    if not isinstance(input, TensorBase):
        raise TypeError(errors.must_be_tensor("get_device", "input", 0, input))
    return input.get_device()


_PRECISIONS = ("highest", "high", "medium")


class _Precision:
    """The precision that was set; products of float32 are always computed in float32."""

    name = "highest"


def get_float32_matmul_precision() -> str:
    """The precision of products of float32 matrices: "highest", "high" or "medium".

    "highest" is the default; `set_float32_matmul_precision` changes it.

    >>> import adjoint
    >>> adjoint.get_float32_matmul_precision()
    'highest'
    """
    return _Precision.name


def set_float32_matmul_precision(precision: str) -> None:
    """Permit products of float32 matrices to be less precise: "high" or "medium"; no product makes use of that.

    Raises RuntimeError for another word.

    >>> import adjoint
    >>> adjoint.set_float32_matmul_precision("high")
    >>> adjoint.get_float32_matmul_precision()
    'high'
    >>> adjoint.set_float32_matmul_precision("highest")
    """
    if precision not in _PRECISIONS:
        raise RuntimeError(f"precision must be one of {', '.join(_PRECISIONS)}, got {precision!r}")
    _Precision.name = precision
