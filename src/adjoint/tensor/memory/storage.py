"""Storages, as in torch: the memory that tensors share, its size, and the offset of each tensor in it."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.dtypes import as_dtype, dtype, get_default_dtype
from adjoint.arrays.infer import array_from_data
from adjoint.arrays.libraries.numpy_namespace import as_strided, memory_of
from adjoint.arrays.namespace import address, device_of, has_address, in_memory, on_device
from adjoint.arrays.shared_memory import is_pinned, is_shared, pin, shared_bytes
from adjoint.arrays.size import device, type_name
from adjoint.core.graph import TensorBase, VersionCounter, counter_of

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
_CPU = device("cpu")


class UntypedStorage:
    """The memory that a tensor and its views share; its size and places count bytes.

    UntypedStorage(n) is new memory of n bytes, UntypedStorage(numbers) holds these.

    >>> import adjoint
    >>> x = adjoint.zeros(4)
    >>> x[1:].untyped_storage().nbytes(), x[1:].untyped_storage().data_ptr() == x.data_ptr()
    (16, True)
    """

    __slots__ = ("_array",)

    def __init__(self, array: Any = 0) -> None:
        if isinstance(array, int):
            array = numpy.zeros(array, numpy.uint8)
        elif isinstance(array, Sequence):
            array = numpy.array(array, numpy.uint8)
        self._array = array

    def data_ptr(self) -> int:
        """The address of the first element.

        Tensors that share memory have storages with the same address.
        """
        return bounds(self._array)[0]

    def nbytes(self) -> int:
        """The number of bytes.

        It counts the whole memory, also bytes outside of the tensor's view.
        """
        start, stop = bounds(self._array)
        return stop - start

    size = nbytes

    def element_size(self) -> int:
        """The number of bytes of one element, always 1.

        Elements of an untyped storage are bytes.
        """
        return 1

    def __len__(self) -> int:
        return self.nbytes()

    @property
    def device(self) -> device:
        """The device of the memory.

        A `device` of type "cpu", or "cuda" with CuPy's arrays.
        """
        return device_of(self._array)

    @property
    def is_cuda(self) -> bool:
        """True if the memory is a CUDA device's.

        It then belongs to one of CuPy's arrays.
        """
        return self.device.type == "cuda"

    @property
    def _cdata(self) -> int:
        return self.data_ptr()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and bounds(self._array) == bounds(other._array)

    def __hash__(self) -> int:
        return hash(bounds(self._array))

    def __repr__(self) -> str:
        return f"{_lines_of(self)}[adjoint.UntypedStorage(device={self.device}) of size {len(self)}]"

    # contents ---------------------------------------------------------------------------------------------------------

    def _bytes(self) -> Any:
        """All of it as a flat array. Raises TypeError where it is a device's."""
        if not isinstance(self._array, numpy.ndarray):
            raise TypeError(f"the memory is on {self.device}: read it through a tensor, with Tensor.cpu()")
        return flat_bytes(self._array)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise RuntimeError(f"Trying to slice with a step of {index.step}, but only a step of 1 is supported")
            return UntypedStorage(self._bytes()[index])
        return int(self._bytes()[_position(index, len(self), "UntypedStorage")])

    def __setitem__(self, index: Any, value: int) -> None:
        where = index if isinstance(index, slice) else _position(index, len(self), "UntypedStorage")
        self._bytes()[where] = _byte(value)

    def tolist(self) -> list[int]:
        """The elements as a list of Python numbers.

        The elements of an untyped storage are bytes.
        """
        return self._bytes().tolist()

    def fill_(self, value: int) -> UntypedStorage:
        """Set all bytes to a number, modulo 256, and return the storage.

        Raises RuntimeError unless the argument is an int.
        """
        self._bytes()[...] = _byte(value)
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool | None = None) -> UntypedStorage:
        """Copy the bytes of another storage, and return this one.

        Raises RuntimeError for a storage of another size.
        """
        source_bytes, target_bytes = source._bytes(), self._bytes()
        if len(source_bytes) != len(target_bytes):
            raise RuntimeError(
                f"size does not match, self was {len(target_bytes)} bytes but src was {len(source_bytes)} bytes"
            )
        target_bytes[...] = source_bytes
        return self

    def clone(self) -> UntypedStorage:
        """A storage of new memory with the same elements.

        Writes to it leave this storage unchanged.
        """
        return UntypedStorage(self._bytes().copy())

    def cpu(self) -> UntypedStorage:
        """A storage in main memory with the same elements.

        It is this storage itself if it is in main memory.
        """
        return UntypedStorage(on_device(self._array, _CPU)) if self.is_cuda else self

    def untyped(self) -> UntypedStorage:
        """The storage itself.

        `TypedStorage.untyped` returns an object of this class.
        """
        return self

    # whose it is ------------------------------------------------------------------------------------------------------

    def is_shared(self) -> bool:
        """Whether processes that are forked share the memory; always on a device.

        See share_memory_().

        >>> import adjoint
        >>> adjoint.ones(2).is_shared()
        False
        """
        return self.is_cuda or is_shared(self._array)

    def share_memory_(self) -> UntypedStorage:
        """Move the memory, with all tensors in it, to memory that forked processes share.

        Each process sees the writes of the others. Returns the storage.
        """
        if not self.is_shared():
            moved_to_shared(self)
        return self

    def is_pinned(self, device: Any = None) -> bool:
        """True if the memory is pinned.

        A device reads pinned memory at full speed.
        """
        return is_pinned(self._array)

    def pin_memory(self, device: Any = None) -> UntypedStorage:
        """A storage in pinned memory with the same elements.

        It is this storage itself if it is pinned. Raises RuntimeError without a device.
        """
        return self if self.is_pinned() else UntypedStorage(pin(self._bytes()))

    def resizable(self) -> bool:
        """False: NumPy's memory keeps its size.

        Tensor.resize_ allocates larger memory.
        """
        return False


class TypedStorage:
    """The memory of tensors as numbers of one dtype; older, see UntypedStorage.

    TypedStorage(numbers) is new memory that holds these, of the default dtype unless another is given.

    >>> import adjoint
    >>> adjoint.TypedStorage([1.0, 2.0]).tolist()
    [1.0, 2.0]
    """

    __slots__ = ("_kind", "_untyped")

    def __init__(self, data: Any = 0, *, dtype: Any = None, wrap_storage: UntypedStorage | None = None) -> None:
        self._kind = get_default_dtype() if dtype is None else as_dtype(dtype, "TypedStorage")
        if wrap_storage is None:
            array = numpy.zeros(data, self._kind.numpy) if isinstance(data, int) else array_from_data(data, self._kind)
            wrap_storage = UntypedStorage(array)
        self._untyped = wrap_storage

    @property
    def dtype(self) -> dtype:
        """The dtype of the elements.

        It is fixed for the storage; `to` makes a storage of another one.
        """
        return self._kind

    @property
    def device(self) -> device:
        """The device of the memory.

        A `device` of type "cpu", or "cuda" with CuPy's arrays.
        """
        return self._untyped.device

    @property
    def is_cuda(self) -> bool:
        """True if the memory is a CUDA device's.

        It then belongs to one of CuPy's arrays.
        """
        return self._untyped.is_cuda

    def untyped(self) -> UntypedStorage:
        """The same memory as a storage of bytes.

        A write to one changes the other.
        """
        return self._untyped

    def element_size(self) -> int:
        """The number of bytes of one element.

        It is the `itemsize` of the dtype.
        """
        return int(self._kind.numpy.itemsize)

    def size(self) -> int:
        """The number of elements.

        It counts the whole memory, also elements outside of the tensor's view.
        """
        return self._untyped.nbytes() // self.element_size()

    __len__ = size

    def nbytes(self) -> int:
        """The number of bytes.

        It counts the whole memory, also bytes outside of the tensor's view.
        """
        return self._untyped.nbytes()

    def data_ptr(self) -> int:
        """The address of the first element.

        Tensors that share memory have storages with the same address.
        """
        return self._untyped.data_ptr()

    def pickle_storage_type(self) -> str:
        """The name of this kind of storage in torch's files.

        For float32 it is "FloatStorage".
        """
        return f"{self._kind.long_name}Storage"

    def _values(self) -> Any:
        return self._untyped._bytes().view(self._kind.numpy)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._values()[_position(index, len(self), "TypedStorage")].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        where = index if isinstance(index, slice) else _position(index, len(self), "TypedStorage")
        self._values()[where] = value

    def tolist(self) -> list[Any]:
        """The elements as a list of Python numbers.

        The elements of an untyped storage are bytes.
        """
        return self._values().tolist()

    def fill_(self, value: Any) -> TypedStorage:
        """Set all elements to one number, and return the storage.

        Tensors over the memory see the change.
        """
        self._values()[...] = value
        return self

    def copy_(self, source: TypedStorage, non_blocking: bool | None = None) -> TypedStorage:
        """Copy the bytes of another storage, and return this one.

        Raises RuntimeError for a storage of another size.
        """
        self._untyped.copy_(source.untyped())
        return self

    def clone(self) -> TypedStorage:
        """A storage of new memory with the same elements.

        Writes to it leave this storage unchanged.
        """
        return TypedStorage(dtype=self._kind, wrap_storage=self._untyped.clone())

    def to(self, dtype: Any) -> TypedStorage:
        """A storage with the elements converted to another dtype.

        It is this storage itself if it has that dtype.
        """
        kind = as_dtype(dtype, "to")
        if kind is self._kind:
            return self
        return TypedStorage(dtype=kind, wrap_storage=UntypedStorage(self._values().astype(kind.numpy)))

    def cpu(self) -> TypedStorage:
        """A storage in main memory with the same elements.

        It is this storage itself if it is in main memory.
        """
        return TypedStorage(dtype=self._kind, wrap_storage=self._untyped.cpu()) if self.is_cuda else self

    def is_shared(self) -> bool:
        """True if forked processes share the memory.

        `share_memory_` moves memory there.
        """
        return self._untyped.is_shared()

    def share_memory_(self) -> TypedStorage:
        """Move the memory, with all tensors in it, to memory that forked processes share.

        Each process sees the writes of the others. Returns the storage.
        """
        self._untyped.share_memory_()
        return self

    def is_pinned(self, device: Any = None) -> bool:
        """True if the memory is pinned.

        A device reads pinned memory at full speed.
        """
        return self._untyped.is_pinned()

    def pin_memory(self, device: Any = None) -> TypedStorage:
        """A storage in pinned memory with the same elements.

        It is this storage itself if it is pinned. Raises RuntimeError without a device.
        """
        return TypedStorage(dtype=self._kind, wrap_storage=self._untyped.pin_memory())

    def __repr__(self) -> str:
        return f"{_lines_of(self)}[adjoint.TypedStorage(dtype={self._kind}, device={self.device}) of size {len(self)}]"


def is_storage(obj: object) -> bool:
    """True for the memory of a tensor: an UntypedStorage or a TypedStorage.

    >>> import adjoint
    >>> adjoint.is_storage(adjoint.ones(2).untyped_storage()), adjoint.is_storage(adjoint.ones(2))
    (True, False)
    """
    return isinstance(obj, (UntypedStorage, TypedStorage))


def _position(index: Any, n: int, kind: str) -> int:
    """An index of a storage. Raises RuntimeError for anything but an int, IndexError outside of it."""
    if not isinstance(index, int):
        raise RuntimeError(f"can't index a adjoint.{kind} with {type_name(index)}")
    if not -n <= index < n:
        raise IndexError(f"index {index} out of range for storage of size {n}")
    return index


def _byte(value: Any) -> int:
    if not isinstance(value, int):
        raise RuntimeError(f"fill_ expects int, but got {type_name(value)}")
    return value % 256


def _lines_of(storage: Any) -> str:
    return "".join(f" {value}\n" for value in storage.tolist()) if not storage.is_cuda else ""


def flat_bytes(array: Any) -> Any:
    """The memory between the first and the last element of an array, as bytes."""
    memory, _ = memory_of(array)
    start, stop = bounds(array)
    first = address(memory)
    return memory[start - first : stop - first] if stop > start else memory[:0]


def moved_to_shared(storage: UntypedStorage) -> None:
    """Move memory to pages that forked processes share, and let all tensors and storages in it refer to these.

    Other references to the memory, NumPy's arrays and values that a graph has saved, keep the old memory.
    """
    memory, _ = memory_of(storage._array)
    start, stop = bounds(memory)
    target = shared_bytes(memory.nbytes)
    target[...] = memory

    # an array with two references must stay one array: views compare their base's array with the earlier one
    shared: dict[int, tuple[Any, Any]] = {}

    def relocate(array: Any) -> Any:
        if not isinstance(array, numpy.ndarray) or array.size == 0 or not start <= address(array) < stop:
            return array
        if id(array) not in shared:
            new = numpy.ndarray(array.shape, array.dtype, target, address(array) - start, array.strides)
            shared[id(array)] = new, array
        return shared[id(array)][0]

    old = storage._array
    storage._array = relocate(old) if old.size else target.view(old.dtype).reshape(old.shape)
    for user in gc.get_objects():
        if isinstance(user, UntypedStorage):
            user._array = relocate(user._array)
        elif isinstance(user, TensorBase):
            user._array = relocate(user._array)
            if user._counter is not None:
                user._counter.storage = relocate(user._counter.storage)
            if user._view is not None:
                user._view.layout = relocate(user._view.layout)


def bounds(array: Any) -> tuple[int, int]:
    """The addresses of the first byte of an array and of the first behind it."""
    start = address(in_memory(array))
    if array.flags.forc:
        return start, start + array.nbytes
    spans = [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]
    return start + sum(min(span, 0) for span in spans), start + sum(max(span, 0) for span in spans) + array.itemsize


def storage_of(tensor: TensorBase) -> Any:
    """The array that owns the memory of a tensor: its base's array, or its own."""
    base = tensor if tensor._view is None else tensor._view.base
    array, counter = base._array, tensor._counter
    if counter is not None and counter.storage is not None:
        array = counter.storage
    if not has_address(array):
        return tensor._array
    start, stop = bounds(array)
    return array if start <= address(in_memory(tensor._array)) <= stop else tensor._array


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


def place(source: Any, offset: int | None, size: Any, stride: Any, like: Tensor) -> Any:
    """The array that set_() names: memory of a tensor or a storage, read with a size and strides.

    Raises TypeError for other objects, RuntimeError for another dtype or indices outside the memory.
    """
    dtype = like._array.dtype
    if source is None:
        return numpy.empty((0,), dtype)
    if isinstance(source, TensorBase):
        if source._array.dtype != dtype:
            names = [t.dtype.c_name for t in (source, like)]
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
