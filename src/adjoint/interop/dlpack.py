"""DLPack: memory shared with other libraries, in both directions."""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

import numpy

from adjoint.arrays.dtypes import from_numpy_dtype
from adjoint.arrays.size import cuda_is_available
from adjoint.core.graph import new_tensor
from adjoint.core.modes.state import current
from adjoint.core.operations.dependence import check_kept
from adjoint.interop.operands import is_tensor
from adjoint.tensor.tensor import Tensor


def dlpack(tensor: Tensor, **options: Any) -> Any:
    """The result of Tensor.__dlpack__. Raises BufferError for a Tensor that requires grad."""
    if current().dual_stack:
        check_kept(tensor, "an exported tensor")
    if tensor.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    return tensor._array.__dlpack__(**options)


def dlpack_device(tensor: Tensor) -> tuple[int, int]:
    """The result of Tensor.__dlpack_device__."""
    return tensor._array.__dlpack_device__()


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A Tensor that shares the memory of another library's array (or a copy of it, if copy is True).

    device: where the tensor is to be; None means where the array is. On another device it is a copy.

    Memory of a CUDA device becomes a tensor on that device. Raises BufferError for a Tensor that requires grad, and for
    memory that is neither main memory nor on a CUDA device.

    >>> import adjoint, numpy
    >>> a = numpy.zeros(2)
    >>> t = adjoint.from_dlpack(a)
    >>> a[0] = 1.0
    >>> t
    tensor([1., 0.], dtype=adjoint.float64)
    """
    if is_tensor(ext_tensor) and ext_tensor.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if type(ext_tensor).__name__ == "PyCapsule":
        ext_tensor = _Exchange(ext_tensor)
    array = _library_for(ext_tensor).from_dlpack(ext_tensor, copy=copy)
    from_numpy_dtype(array.dtype)
    tensor = new_tensor(array)
    return tensor if device is None else tensor.to(device)


class _Exchange:
    """A capsule of DLPack's as an object that gives it."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return _device_in(self.capsule)


#: The kinds of devices that CuPy has arrays on, by DLPack's numbers: CUDA's memory, and its managed memory.
_ON_CUDA = (2, 13)
#: The offset of a capsule's device in its memory, by the capsule's name: after the address of the elements.
_OFFSETS = {b"dltensor": 8, b"dltensor_versioned": 40}


def _device_in(capsule: Any) -> tuple[int, int]:
    """The device of a capsule's memory, as DLPack's kind and number; main memory for a consumed capsule."""
    api = ctypes.pythonapi
    api.PyCapsule_IsValid.argtypes = api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    for name, offset in _OFFSETS.items():
        if api.PyCapsule_IsValid(capsule, name):
            kind, number = (ctypes.c_int32 * 2).from_address(api.PyCapsule_GetPointer(capsule, name) + offset)
            return int(kind), int(number)
    return 1, 0


def _library_for(source: Any) -> Any:
    """The library whose arrays share the memory of an object that exchanges it: CuPy for memory of a CUDA device."""
    device = source.__dlpack_device__() if hasattr(source, "__dlpack_device__") else (1, 0)
    return importlib.import_module("cupy") if device[0] in _ON_CUDA and cuda_is_available() else numpy


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule with the tensor's memory for another library; it can be consumed once.

    Raises TypeError for an object that is no Tensor, and BufferError for a Tensor that requires grad.

    >>> import adjoint
    >>> adjoint.from_dlpack(adjoint.utils.dlpack.to_dlpack(adjoint.ones(2)))
    tensor([1., 1.])
    """
    if not is_tensor(tensor):
        raise TypeError(f"to_dlpack(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    # without a version NumPy, for one, takes the memory as read-only
    return dlpack(tensor, max_version=(1, 0))
