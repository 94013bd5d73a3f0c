"""The processor as a device, under torch.cpu's names."""

import typing as _typing

from adjoint.tensor.older.absent import AttributeOf as _AttributeOf

__all__ = ["current_device", "device_count", "is_available", "is_initialized", "set_device", "synchronize"]


def is_available() -> bool:
    """True: main memory is always there.

    >>> import adjoint
    >>> adjoint.cpu.is_available()
    True
    """
    return True


def is_initialized() -> bool:
    """True: the processor needs no initialization.

    >>> import adjoint
    >>> adjoint.cpu.is_initialized()
    True
    """
    return True


def device_count() -> int:
    """The number of devices, always 1.

    >>> import adjoint
    >>> adjoint.cpu.device_count()
    1
    """
    return 1


def current_device() -> str:
    """The name of the device, always "cpu".

    >>> import adjoint
    >>> adjoint.cpu.current_device()
    'cpu'
    """
    return "cpu"


def set_device(device: _typing.Any) -> None:
    """Accepted for programs written for torch. It changes nothing, since there is one device.

    device: any object.
    """


def synchronize(device: _typing.Any = None) -> None:
    """Accepted for programs written for torch. It returns at once.

    Operations on the processor are complete when they return.
    """


if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)
