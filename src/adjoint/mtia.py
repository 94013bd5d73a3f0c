"""MTIA: no array library here supports it, so no such device exists."""

import typing as _typing

from adjoint.tensor.older.absent import AttributeOf as _AttributeOf

__all__ = ["device_count", "is_available"]


def is_available() -> bool:
    """False: arrays are in main memory, or with CuPy on a CUDA device.

    There is no backend for devices of this kind.
    """
    return False


def device_count() -> int:
    """The number of devices of this kind, always 0.

    Arrays are in main memory, or with CuPy on a CUDA device.
    """
    return 0


if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)
