"""CUDA devices through CuPy: their number, the current one, and their properties."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from adjoint.arrays.size import cuda_is_available
from adjoint.arrays.size import device as _Device
from adjoint.core.graph import TensorBase

NO_DEVICE = (
    "{}: no CUDA device is available: install CuPy on a machine with one, or ask adjoint.cuda.is_available() first"
)


def is_available() -> bool:
    """True if CuPy is installed and sees a CUDA device.

    >>> import adjoint
    >>> device = "cuda" if adjoint.cuda.is_available() else "cpu"
    """
    return cuda_is_available()


def cuda_of(function: str) -> Any:
    """The module `cupy.cuda`. Raises AssertionError, which names the function, without a device."""
    if not cuda_is_available():
        raise AssertionError(NO_DEVICE.format(f"adjoint.cuda.{function}()"))
    return importlib.import_module("cupy").cuda


def device_count() -> int:
    """The number of CUDA devices; 0 without CuPy.

    >>> import adjoint
    >>> adjoint.cuda.device_count() >= 0
    True
    """
    return int(cuda_of("device_count").runtime.getDeviceCount()) if cuda_is_available() else 0


def init() -> None:
    """Check that a device can be used.

    CuPy initializes devices itself. Raises AssertionError without a device.
    """
    cuda_of("init").runtime.getDeviceCount()


def is_initialized() -> bool:
    """True if devices can be used.

    CuPy initializes a device at its first use.
    """
    return cuda_is_available()


def number_of(device: Any, function: str, *, optional: bool = True) -> int:
    """The number of a device, which is given as a number, a name, a device, or None for the current one.

    Raises ValueError for another kind of device, and RuntimeError for a number without a device.
    """
    cuda = cuda_of(function)
    if device is None and optional:
        return int(cuda.Device().id)
    if isinstance(device, int) and not isinstance(device, bool):
        number: int | None = device
    else:
        target = device if isinstance(device, _Device) else _Device(device)
        if target.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {target}")
        number = int(cuda.Device().id) if target.index is None else target.index
    if number is None or not 0 <= number < device_count():
        raise RuntimeError(f"{function}(): invalid device ordinal {number}: there are {device_count()} CUDA devices")
    return number


def current_device() -> int:
    """The number of the device for new arrays.

    Raises AssertionError without a device.
    """
    return number_of(None, "current_device")


def set_device(device: Any) -> None:
    """Select the current device of the calling thread; a negative number has no effect.

    Raises AssertionError without a device, and RuntimeError for a number without a device.
    """
    if isinstance(device, int) and device < 0:
        return
    cuda_of("set_device").Device(number_of(device, "set_device", optional=False)).use()


class device:
    """A block with another current device; None or a negative number has no effect.

    Entering the block raises AssertionError without a device.

    >>> import adjoint
    >>> with adjoint.cuda.device(None):
    ...     x = adjoint.ones(2)
    """

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None else device
        self._blocks: list[Any] = []

    def __enter__(self) -> None:
        if isinstance(self.idx, int) and self.idx < 0:
            self._blocks.append(None)
            return
        block = cuda_of("device").Device(number_of(self.idx, "device", optional=False))
        block.__enter__()
        self._blocks.append(block)

    def __exit__(self, *error: object) -> None:
        block = self._blocks.pop()
        if block is not None:
            block.__exit__(*error)


class device_of(device):
    """A block with the device of a tensor as current device; a tensor in main memory has no effect.

    >>> import adjoint
    >>> with adjoint.cuda.device_of(adjoint.ones(2)):
    ...     x = adjoint.ones(2)
    """

    def __init__(self, obj: Any) -> None:
        on_device = isinstance(obj, TensorBase) and obj.is_cuda  # type: ignore[attr-defined]
        super().__init__(obj.get_device() if on_device else None)


@contextmanager
def _on(device: Any, function: str) -> Iterator[Any]:
    """A block with a current device; its value is the module `cupy.cuda`."""
    cuda = cuda_of(function)
    with cuda.Device(number_of(device, function)):
        yield cuda


def synchronize(device: Any = None) -> None:
    """Wait until a device, by default the current one, has finished all its work.

    Raises AssertionError without a device.
    """
    cuda_of("synchronize").Device(number_of(device, "synchronize")).synchronize()


def get_device_properties(device: Any = None) -> SimpleNamespace:
    """The properties of a device: name, major, minor, total_memory, multi_processor_count, warp_size, L2_cache_size.

    Raises AssertionError without a device.
    """
    number = number_of(device, "get_device_properties")
    properties = cuda_of("get_device_properties").runtime.getDeviceProperties(number)
    name = properties["name"]
    return SimpleNamespace(
        name=name.decode() if isinstance(name, bytes) else str(name),
        major=int(properties["major"]),
        minor=int(properties["minor"]),
        total_memory=int(properties["totalGlobalMem"]),
        multi_processor_count=int(properties["multiProcessorCount"]),
        warp_size=int(properties["warpSize"]),
        L2_cache_size=int(properties["l2CacheSize"]),
    )


def get_device_name(device: Any = None) -> str:
    """The name of a device, usually its model.

    device: a device, its number or name; the default is the current device.
    Raises AssertionError without a device.
    """
    return str(get_device_properties(device).name)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a device as (major, minor).

    device: a device, its number or name; the default is the current device.
    Raises AssertionError without a device.
    """
    properties = get_device_properties(device)
    return properties.major, properties.minor


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """True if one device can read the memory of the other.

    device, peer_device: devices, their numbers or names. Raises AssertionError without devices.
    """
    first, second = (number_of(each, "can_device_access_peer", optional=False) for each in (device, peer_device))
    return bool(cuda_of("can_device_access_peer").runtime.deviceCanAccessPeer(first, second))


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: CuPy has no arrays of bfloat16.

    including_emulation: accepted for programs written for torch.
    """
    return False


def is_tf32_supported() -> bool:
    """True if the current device can multiply float32 matrices with TF32.

    Devices of the Ampere generation and later can. False without a device.
    """
    return cuda_is_available() and get_device_capability()[0] >= 8


# memory ---------------------------------------------------------------------------------------------------------------


def memory_allocated(device: Any = None) -> int:
    """The bytes that arrays occupy on a device; 0 without a device.

    device: a device, its number or name; the default is the current device.
    """
    return _pool_of("used_bytes", device)


def memory_reserved(device: Any = None) -> int:
    """The bytes in CuPy's memory pool on a device, in use and free; 0 without a device.

    device: a device, its number or name; the default is the current device.
    """
    return _pool_of("total_bytes", device)


def _pool_of(amount: str, device: Any) -> int:
    if not cuda_is_available():
        return 0
    with _on(device, "memory_allocated"):
        return int(getattr(_pool(), amount)())


def _pool() -> Any:
    return importlib.import_module("cupy").get_default_memory_pool()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """The free bytes and the total bytes of a device's memory.

    device: a device, its number or name; the default is the current device.
    Raises AssertionError without a device.
    """
    with _on(device, "mem_get_info") as cuda:
        free, total = cuda.runtime.memGetInfo()
    return int(free), int(total)


def empty_cache() -> None:
    """Release the free memory in CuPy's pool on the current device. It has no effect without a device.

    >>> import adjoint
    >>> adjoint.cuda.empty_cache()
    """
    if cuda_is_available():
        _pool().free_all_blocks()


def out_of_memory_error() -> type[Exception]:
    """The error for too little memory on a device: CuPy's subclass of MemoryError, or MemoryError."""
    if importlib.util.find_spec("cupy") is None:
        return MemoryError
    properties: type[Exception] = importlib.import_module("cupy").cuda.memory.OutOfMemoryError
    return properties
