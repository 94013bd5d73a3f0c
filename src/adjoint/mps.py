"""Apple's Metal, which no array library here serves: there are no such devices."""

import typing as _typing

from adjoint.tensor.older.left_out import AttributeOf as _AttributeOf

__all__ = ["device_count", "is_available"]


def is_available() -> bool:
    """False: arrays lie in main memory, or with CuPy on a CUDA device."""
    return False


def device_count() -> int:
    """Always 0."""
    return 0


if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)
