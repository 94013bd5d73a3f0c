"""torch.accelerator's names: the accelerator of this machine is a CUDA device, or there is none."""

import typing as _typing

from adjoint import cuda as _cuda
from adjoint.arrays.size import device as _device
from adjoint.tensor.older.absent import AttributeOf as _AttributeOf

__all__ = [
    "current_accelerator",
    "current_device_index",
    "current_stream",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_memory_info",
    "is_available",
    "memory_allocated",
    "memory_reserved",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def is_available() -> bool:
    """True if CuPy is installed and sees a device.

    >>> import adjoint
    >>> adjoint.accelerator.is_available() == (adjoint.accelerator.device_count() > 0)
    True
    """
    return _cuda.is_available()


def device_count() -> int:
    """The number of accelerators; 0 without CuPy or without a device.

    >>> import adjoint
    >>> adjoint.accelerator.device_count() >= 0
    True
    """
    return _cuda.device_count()


def current_accelerator(check_available: bool = False) -> _device | None:
    """The kind of accelerator as a device without a number; None without one.

    >>> import adjoint
    >>> device = adjoint.accelerator.current_accelerator() or adjoint.device("cpu")
    """
    return _device("cuda") if is_available() else None


def current_device_index() -> int:
    """The number of the current accelerator.

    Raises AssertionError if there is none.
    """
    return _cuda.current_device()


def set_device_index(device: _typing.Any, /) -> None:
    """Make an accelerator the current one.

    device: a device, its number or name. Raises AssertionError if there is none.
    """
    _cuda.set_device(device)


def synchronize(device: _typing.Any = None, /) -> None:
    """Wait until an accelerator has finished all work that it received.

    device: a device, its number or name; the current accelerator unless one is passed.
    Raises AssertionError without one.
    """
    _cuda.synchronize(device)


current_stream = _cuda.current_stream
empty_cache = _cuda.empty_cache
get_device_capability = _cuda.get_device_capability
get_memory_info = _cuda.mem_get_info
memory_allocated = _cuda.memory_allocated
memory_reserved = _cuda.memory_reserved
set_stream = _cuda.set_stream

if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)
