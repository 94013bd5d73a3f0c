"""The memory behind tensors, as torch shows it: which tensors share one, where in it they start, how large it is."""

from __future__ import annotations

from typing import Any

import numpy

from adjoint.arrays.namespace import namespace
from adjoint.arrays.numpy_namespace import as_strided, memory_of
from adjoint.arrays.size import device, type_name
from adjoint.core.graph import TensorBase, VersionCounter, counter_of

Tensor = Any
_CPU = device("cpu")


class UntypedStorage:
    """The memory that a tensor and its views share; its size and places count bytes.

    >>> import adjoint
    >>> x = adjoint.zeros(4)
    >>> x[1:].untyped_storage().nbytes(), x[1:].untyped_storage().data_ptr() == x.data_ptr()
    (16, True)
    """

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = array

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return bounds(self._array)[0]

    def nbytes(self) -> int:
        """The number of bytes."""
        start, stop = bounds(self._array)
        return stop - start

    size = nbytes

    def __len__(self) -> int:
        return self.nbytes()

    @property
    def device(self) -> device:
        """Where the memory is."""
        return _CPU

    @property
    def _cdata(self) -> int:
        return self.data_ptr()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and bounds(self._array) == bounds(other._array)

    def __hash__(self) -> int:
        return hash(bounds(self._array))


def bounds(array: Any) -> tuple[int, int]:
    """The addresses of the first byte of an array and of the first behind it."""
    start = address(array)
    if array.flags.forc:
        return start, start + array.nbytes
    spans = [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]
    return start + sum(min(span, 0) for span in spans), start + sum(max(span, 0) for span in spans) + array.itemsize


def address(array: Any) -> int:
    """The address of an array's first element."""
    if not isinstance(array, numpy.ndarray) and has_address(array):
        return int(namespace(array).address(array))
    return int(array.__array_interface__["data"][0])


def has_address(array: Any) -> bool:
    """True for arrays that lie in memory at a place that can be told: NumPy's and CuPy's."""
    return isinstance(array, numpy.ndarray) or hasattr(namespace(array), "device_of")


def storage_of(tensor: TensorBase) -> Any:
    """The array that the memory of a tensor belongs to: that of its base, or the tensor's own."""
    base = tensor if tensor._view is None else tensor._view.base
    array, counter = base._array, tensor._counter
    if counter is not None and counter.storage is not None:
        array = counter.storage
    if not has_address(array):
        return tensor._array
    start, stop = bounds(array)
    return array if start <= address(tensor._array) <= stop else tensor._array


def share_version(twin: TensorBase, tensor: TensorBase) -> None:
    """Let a tensor made from the memory of another count its versions along with it, and know where memory starts."""
    twin._counter = counter_of(tensor)
    if tensor._view is not None and isinstance(tensor._array, numpy.ndarray) and not tensor.is_inference():
        twin._counter.storage = storage_of(tensor)


def share_memory(twin: TensorBase, tensor: TensorBase) -> None:
    """Let a tensor made from the memory of another know where this starts; it counts versions of its own."""
    if tensor.is_inference():
        twin._counter = tensor._counter
        return
    if twin.is_inference():
        twin._counter = VersionCounter()
    if not isinstance(tensor._array, numpy.ndarray):
        return
    if knows_more(tensor):
        twin._counter = VersionCounter()
        twin._counter.storage = storage_of(tensor)


def share_start(tensor: TensorBase, source: TensorBase) -> None:
    """Let a tensor whose array was replaced by that of another know where the memory of this starts."""
    if isinstance(source._array, numpy.ndarray) and knows_more(source) and not tensor.is_inference():
        counter_of(tensor).storage = storage_of(source)


def knows_more(tensor: TensorBase) -> bool:
    """True if the memory of a tensor belongs to another array than its own."""
    return tensor._view is not None or (tensor._counter is not None and tensor._counter.storage is not None)


def placed(source: Any, offset: int | None, size: Any, stride: Any, like: Tensor) -> Any:
    """The array that set_() names: memory of a tensor or a storage, read with a size and strides.

    Raises TypeError for what is neither, RuntimeError for another dtype or places outside the memory.
    """
    dtype = like._array.dtype
    if source is None:
        return numpy.empty((0,), dtype)
    if isinstance(source, TensorBase):
        if source._array.dtype != dtype:
            names = [t.dtype.c_name for t in (source, like)]  # type: ignore[attr-defined]
            raise RuntimeError(f"Could not set tensor of type {names[0]} to a tensor of type {names[1]}")
        if size is None:
            return source._array
        array = storage_of(source)
    elif isinstance(source, UntypedStorage):
        array = source._array
    else:
        raise TypeError(f"set_(): argument 'source' (position 1) must be Tensor or Storage, not {type_name(source)}")
    memory, start = memory_of(array)
    whole = memory[start : start + bounds(array)[1] - bounds(array)[0]].view(dtype)
    shape = (len(whole),) if size is None else tuple(size)
    if stride is None:
        stride = [1] * len(shape)
        for axis in range(len(shape) - 1, 0, -1):
            stride[axis - 1] = stride[axis] * max(shape[axis], 1)
    return as_strided(whole, shape, tuple(stride), offset or 0)
