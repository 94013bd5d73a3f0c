"""The processor as a device, under torch.cpu's names."""

import typing as _typing

from adjoint.tensor.older.left_out import AttributeOf as _AttributeOf

__all__ = ["current_device", "device_count", "is_available", "is_initialized", "set_device", "synchronize"]


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def device_count() -> int:
    """One."""
    return 1


def current_device() -> str:
    """The name "cpu"."""
    return "cpu"


def set_device(device: _typing.Any) -> None:
    """Nothing, as there is but one."""


def synchronize(device: _typing.Any = None) -> None:
    """Nothing, as operations on the processor are done when they return."""


if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)
