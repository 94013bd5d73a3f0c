"""The files of torch.save: a zip archive with a pickle, and the memory of each storage beside it.

Tensors, dtypes, sizes and devices have torch's names in the pickle, so PyTorch reads adjoint's files, and adjoint reads
PyTorch's. Tensors that share memory share it again after reading.
"""

from __future__ import annotations

import collections
import io
import mmap
import pickle
import stat
import struct
import sys
import zipfile
from collections.abc import Callable
from typing import IO, Any, ClassVar

import numpy

from adjoint.arrays.dtypes import _dtype_named, from_numpy_dtype, numpy_dtype
from adjoint.arrays.dtypes import dtype as Dtype
from adjoint.arrays.layout import strided
from adjoint.arrays.size import Size, device
from adjoint.core.hooks import warn_if_has_hooks
from adjoint.tensor.memory.safe_pickle import SafeUnpickler, check
from adjoint.tensor.tensor import Tensor, _rebuild, _user_attributes

#: The first bytes of a zip archive.
MAGIC = b"PK\x03\x04"
#: The name of the folder in archives that are not written to a path.
FOLDER = "archive"
#: The dtype of each class of storages; other dtypes lie in untyped ones.
STORAGES = {
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}
CLASSES = {name: kind for kind, name in STORAGES.items()}
DTYPES = (*STORAGES.values(), "uint16", "uint32", "uint64")
UNTYPED = ("torch.storage", "UntypedStorage")
PARAMETER = ("adjoint.nn.parameter", "Parameter")
#: Memory that may be written to: of its own, or of a file that is mapped.
Bytes = bytearray | memoryview
#: The part of an entry of an archive that stands before its name: 30 bytes, the last four say how much stands there.
HEADER = struct.Struct("<4s22xHH")
#: The alignment of entries, enough for arrays of all dtypes.
ALIGNMENT = 64
#: The kind of the field of an entry that fills the place before its contents, as torch writes it.
PADDING = int.from_bytes(b"FB", "little")


class TorchName:
    """A name of torch's in a file: module and name."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self, *arguments: Any) -> Any:
        return MAKERS[self](*arguments)


_names: dict[tuple[str, str], TorchName] = {}


def _torch_name(module: str, name: str) -> TorchName:
    return _names.setdefault((module, name), TorchName(module, name))


# writing -------------------------------------------------------------------------------------------------------------


class _Memory:
    """The memory of a storage, to be written once: the bytes, and their dtype."""

    def __init__(self, array: numpy.ndarray, kind: str) -> None:
        self.array, self.kind = array, kind


class _Pickler(pickle._Pickler):
    """Writes tensors under torch's names; `storages` are the memories that belong to the pickle."""

    dispatch: ClassVar[dict[Any, Any]] = dict(pickle._Pickler.dispatch)

    def __init__(self, file: IO[bytes], protocol: int) -> None:
        super().__init__(file, protocol)
        self.storages: dict[Any, tuple[str, _Memory]] = {}

    def save_name(self, name: TorchName) -> None:
        self.write(pickle.GLOBAL + f"{name.module}\n{name.name}\n".encode())
        self.memoize(name)

    def save_dtype(self, dtype: Dtype) -> None:
        self.write(pickle.GLOBAL + f"torch\n{str(dtype).rpartition('.')[2]}\n".encode())
        self.memoize(dtype)

    dispatch[TorchName] = save_name
    dispatch[Dtype] = save_dtype

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, _Memory):
            return None
        array, size = obj.array, obj.array.nbytes
        start = array.__array_interface__["data"][0]
        # an empty array has no memory of its own
        key, _ = self.storages.setdefault((start, size, obj.kind) if size else id(obj), (str(len(self.storages)), obj))
        if obj.kind in CLASSES:
            return "storage", _torch_name("torch", CLASSES[obj.kind]), key, "cpu", array.size
        return "storage", _torch_name(*UNTYPED), key, "cpu", size

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            return _reduce(obj)
        if type(obj) is Size:
            return _torch_name("torch", "Size"), (tuple(obj),)
        if type(obj) is device:
            return _torch_name("torch", "device"), ("cpu",)
        return NotImplemented


def _reduce(tensor: Tensor) -> Any:
    """The call that makes a tensor again, in torch's words."""
    cls = (type(tensor).__module__, type(tensor).__qualname__)
    if (cls != PARAMETER and type(tensor) is not Tensor) or tensor.layout is not strided:
        return tensor.__reduce_ex__(2)
    flags: tuple[Any, Any] = (bool(tensor.requires_grad), collections.OrderedDict())
    attributes = _user_attributes(tensor)
    if cls == PARAMETER:
        if attributes:
            return _torch_name("torch._utils", "_rebuild_parameter_with_state"), (tensor.detach(), *flags, attributes)
        return _torch_name("torch._utils", "_rebuild_parameter"), (tensor.detach(), *flags)
    warn_if_has_hooks(tensor)
    array = numpy.asarray(tensor.detach().cpu()._array)
    memory, offset, strides = _storage_of(array)
    parts = (memory, offset, tuple(array.shape), strides, *flags)
    function = _torch_name("torch._utils", "_rebuild_tensor_v2")
    if memory.kind not in CLASSES:
        function, parts = _torch_name("torch._utils", "_rebuild_tensor_v3"), (*parts, tensor.dtype)  # type: ignore[assignment]
    if attributes:
        whole = (function, _torch_name("torch", "Tensor"), parts, attributes)
        return _torch_name("torch._tensor", "_rebuild_from_type_v2"), whole
    return function, parts


def _storage_of(array: numpy.ndarray) -> tuple[_Memory, int, tuple[int, ...]]:
    """The memory that an array lies in, the place where it begins, and its strides, in elements."""
    kind = str(from_numpy_dtype(array.dtype)).rpartition(".")[2]
    root = array
    while isinstance(root.base, numpy.ndarray):
        root = root.base
    size = array.itemsize
    in_order = root.dtype == array.dtype and (root.flags.c_contiguous or root.flags.f_contiguous)
    if not in_order or any(stride < 0 or stride % size for stride in array.strides):
        root = array = numpy.ascontiguousarray(array).reshape(array.shape)
    starts = [each.__array_interface__["data"][0] for each in (root, array)]
    offset = (starts[1] - starts[0]) // size if array.size else 0
    return _Memory(root, kind), offset, tuple(stride // size for stride in array.strides)


def write(obj: Any, file: IO[bytes], protocol: int, folder: str = FOLDER) -> None:
    """Write an archive with an object."""
    contents = io.BytesIO()
    # references to storages are there from the first protocol on
    pickler = _Pickler(contents, max(1, protocol))
    pickler.dump(obj)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(f"{folder}/data.pkl", contents.getvalue())
        archive.writestr(f"{folder}/byteorder", sys.byteorder)
        for key, memory in pickler.storages.values():
            order: Any = "C" if memory.array.flags.c_contiguous else "F"
            _write_aligned(archive, f"{folder}/data/{key}", memory.array.tobytes(order))
        archive.writestr(f"{folder}/version", "3\n")


def _write_aligned(archive: zipfile.ZipFile, name: str, contents: bytes) -> None:
    """Write an entry whose contents begin where arrays can, so that they can be used in the mapped file."""
    entry = zipfile.ZipInfo(name)
    start = archive.start_dir + HEADER.size + len(name.encode())
    # a field of its own, of a kind and a length, fills the place
    n = -(start + 4) % ALIGNMENT
    entry.extra = struct.pack("<HH", PADDING, n) + bytes(n)
    archive.writestr(entry, contents)


# reading -------------------------------------------------------------------------------------------------------------


class _Storage:
    """The bytes of a storage that is read, and the dtype of its elements; None for any.

    foreign: the bytes of an element have foreign order, and the size of an element is unknown.
    """

    def __init__(self, data: Bytes, kind: str | None, foreign: bool) -> None:
        self.data, self.kind, self.foreign = data, kind, foreign
        self._dtype: numpy.dtype | None = None

    def bytes_for(self, dtype: numpy.dtype) -> Bytes:
        """The bytes for a tensor of a dtype, in this machine's order; the first tensor's says how long elements are."""
        if self.foreign and self._dtype is None:
            check(len(self.data) % dtype.itemsize == 0, "a storage has whole elements")
            if self.data:
                numpy.frombuffer(self.data, dtype).byteswap(inplace=True)
            self._dtype = dtype
        check(not self.foreign or dtype == self._dtype, "a storage in another order of bytes has elements of one type")
        return self.data


class _Archive:
    """An open archive: its folder, and the storages that are read from it.

    mapped: storages lie in the file itself, mapped to memory.
    """

    def __init__(self, archive: zipfile.ZipFile, mapped: bool) -> None:
        self.archive = archive
        self.map: memoryview | None = None
        if mapped:
            file: Any = archive.fp
            self.map = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        check_places(archive)
        self.folder = next(
            name.rpartition("/")[0] for name in archive.namelist() if name.rpartition("/")[2] == "data.pkl"
        )
        self.storages: dict[str, _Storage] = {}
        says_order = f"{self.folder}/byteorder" in archive.namelist()
        self.swapped = (self.read("byteorder") if says_order else b"little") != sys.byteorder.encode()

    def entry(self, name: str) -> zipfile.ZipInfo:
        """An entry, which is not compressed."""
        entry = self.archive.getinfo(f"{self.folder}/{name}")
        is_plain = entry.compress_type == zipfile.ZIP_STORED and entry.compress_size == entry.file_size
        check(is_plain, "entries are not compressed")
        check(not stat.S_ISLNK(entry.external_attr >> 16), "entries are no links")
        return entry

    def read(self, name: str) -> bytes:
        """The contents of an entry."""
        return self.archive.read(self.entry(name))

    def memory(self, name: str) -> Bytes:
        """The contents of an entry: a copy, or the file itself where that is mapped and arrays can lie in it."""
        entry = self.entry(name)
        if self.map is None:
            return bytearray(self.archive.read(entry))
        check(entry.header_offset >= 0, "entries lie in the file")
        magic, *lengths = HEADER.unpack_from(self.map, entry.header_offset)
        start = entry.header_offset + HEADER.size + sum(lengths)
        check(magic == MAGIC and start + entry.file_size <= len(self.map), "entries lie in the file")
        contents = self.map[start : start + entry.file_size]
        return bytearray(contents) if start % ALIGNMENT else contents

    def storage(self, reference: Any) -> _Storage:
        """The storage of a reference in the pickle."""
        check(type(reference) is tuple and len(reference) == 5, "a storage has five parts")
        word, cls, key, _, count = reference
        check(word == "storage" and type(key) is str and type(count) is int, "a storage has a name and a size")
        check(isinstance(cls, TorchName) and (cls.name in STORAGES or cls.name == UNTYPED[1]), "a storage has a class")
        if key not in self.storages:
            kind = STORAGES.get(cls.name)
            data = self.memory(f"data/{key}")
            if self.swapped and kind is not None:
                data = bytearray(numpy.frombuffer(data, numpy_dtype(_dtype_named(kind))).byteswap().tobytes())
            self.storages[key] = _Storage(data, kind, self.swapped and kind is None)
        contents = self.storages[key]
        check(contents.kind == STORAGES.get(cls.name), "a storage has one class")
        return contents


def check_places(archive: zipfile.ZipFile) -> None:
    """Refuse an archive with entries that share bytes: a small file could then have the contents of a large one."""
    entries = sorted(archive.infolist(), key=lambda entry: entry.header_offset)
    ends = [*(entry.header_offset for entry in entries[1:]), archive.start_dir]
    for entry, end in zip(entries, ends, strict=True):
        check(entry.header_offset + HEADER.size + entry.compress_size <= end, "entries do not overlap")


def _tensor(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any = False,
    hooks: Any = None,
    metadata: Any = None,
    kind: Any = None,
) -> Tensor:
    """A tensor over a part of a storage."""
    check(isinstance(storage, _Storage), "a tensor lies in a storage")
    lengths = (offset, *size, *stride)
    check(all(type(number) is int and number >= 0 for number in lengths), "sizes are integers")
    check(len(size) == len(stride) <= 64 and type(requires_grad) is bool, "a tensor has sizes, strides and a flag")
    dtype = numpy_dtype(_dtype_named(storage.kind) if kind is None else kind)
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    check(0 in size or (last + 1) * dtype.itemsize <= len(storage.data), "a tensor lies within its storage")
    data = storage.bytes_for(dtype)
    memory = numpy.frombuffer(data, numpy.uint8) if data else numpy.empty(0, numpy.uint8)
    if type(metadata) is dict and metadata.get("conj"):
        # of the elements in memory: strides of 0 can make many more of them
        whole = len(data) // dtype.itemsize * dtype.itemsize
        memory = memory[:whole].view(dtype).conj().view(numpy.uint8)
    strides = tuple(step * dtype.itemsize for step in stride)
    if 0 in size:
        array = numpy.empty(size, dtype)
    else:
        array = numpy.ndarray(tuple(size), dtype, memory, offset * dtype.itemsize, strides)
    return _rebuild(Tensor, array, requires_grad, {})


def _tensor_of_dtype(*parts: Any) -> Tensor:
    check(len(parts) == 7 and isinstance(parts[6], Dtype), "a tensor has a dtype")
    storage, offset, size, stride, requires_grad, hooks, kind = parts
    return _tensor(storage, offset, size, stride, requires_grad, hooks, None, kind)


def _parameter(data: Any, requires_grad: Any, hooks: Any = None, state: Any = None) -> Tensor:
    check(type(data) is Tensor and type(requires_grad) is bool, "a parameter has a tensor and a flag")
    state = {} if state is None else state
    check(type(state) is dict and all(type(name) is str for name in state), "attributes have names")
    return _rebuild(SafeUnpickler.import_object(*PARAMETER), data._array, requires_grad, state)


def _tensor_with_attributes(function: Any, cls: Any, parts: Any, state: Any) -> Tensor:
    maker = MAKERS.get(function)
    check(maker is not None and type(parts) is tuple and type(state) is dict, "a tensor has parts and attributes")
    check(all(type(name) is str for name in state), "attributes have names")
    tensor: Tensor = maker(*parts)  # type: ignore[misc]
    vars(tensor).update(state)
    return tensor


def _size(items: Any) -> Size:
    check(type(items) is tuple, "a Size is made of a tuple")
    return Size(items)


def _device(*name: Any) -> device:
    check(bool(name) and type(name[0]) is str, "a device has a name")
    return device("cpu")


#: The objects that replace torch's names in a file.
NAMES: dict[tuple[str, str], Any] = {("torch", "Tensor"): Tensor, UNTYPED: _torch_name(*UNTYPED)}
NAMES |= {("torch", name): _torch_name("torch", name) for name in STORAGES}
#: The functions that run for torch's.
MAKERS: dict[Any, Callable[..., Any]] = {}
for _module, _name, _maker in (
    ("torch._utils", "_rebuild_tensor_v2", _tensor),
    ("torch._utils", "_rebuild_tensor_v3", _tensor_of_dtype),
    ("torch._utils", "_rebuild_parameter", _parameter),
    ("torch._utils", "_rebuild_parameter_with_state", _parameter),
    ("torch._tensor", "_rebuild_from_type_v2", _tensor_with_attributes),
    ("torch", "Size", _size),
    ("torch", "device", _device),
):
    NAMES[_module, _name] = _torch_name(_module, _name)
    MAKERS[NAMES[_module, _name]] = _maker


def _torch_object(module: str, name: str) -> Any:
    """The object here for one of torch's names; None for other names."""
    if module == "torch" and name in DTYPES:
        return _dtype_named(name)
    return NAMES.get((module, name))


class _SafeReader(SafeUnpickler):
    """Reads the pickle of an archive: what SafeUnpickler makes, and tensors under torch's names."""

    def __init__(self, file: IO[bytes], archive: _Archive) -> None:
        super().__init__(file)
        self.archive = archive

    def find_class(self, module: str, name: str) -> Any:
        torch_object = _torch_object(module, name)
        return super().find_class(module, name) if torch_object is None else torch_object

    def maker(self, function: Any) -> Any:
        return MAKERS.get(function) or super().maker(function)

    def persistent_load(self, reference: Any) -> Any:
        return self.archive.storage(reference)


def _reader_of_anything(base: type, file: IO[bytes], archive: _Archive) -> Any:
    """An unpickler that may run any code; adjoint's classes replace torch's."""

    class Reader(base):  # type: ignore[misc]
        def find_class(self, module: str, name: str) -> Any:
            torch_object = _torch_object(module, name)
            if torch_object is not None:
                return torch_object
            first, *path = module.split(".")
            if first != "torch":
                return super().find_class(module, name)
            try:
                return super().find_class(".".join(["adjoint", *path]), name)
            except (ModuleNotFoundError, AttributeError):
                # a class that adjoint defines in another file
                return super().find_class(".".join(["adjoint", *path[:1]]), name)

        def persistent_load(self, reference: Any) -> Any:
            return archive.storage(reference)

    return Reader(file)


#: The errors of archives that are cut off or inconsistent.
_BROKEN = (zipfile.BadZipFile, LookupError, StopIteration, EOFError, OSError, RuntimeError, ValueError, struct.error)


def read(file: IO[bytes], weights_only: bool, pickle_module: Any, mapped: bool = False) -> Any:
    """The object in an archive; mapped: its tensors lie in the file.

    Raises UnpicklingError for broken files and, with weights_only, for other contents.
    """
    try:
        with zipfile.ZipFile(file) as opened:
            archive = _Archive(opened, mapped)
            contents = io.BytesIO(archive.read("data.pkl"))
            if weights_only:
                return _SafeReader(contents, archive).load()
            return _reader_of_anything(pickle_module.Unpickler, contents, archive).load()
    except pickle.UnpicklingError:
        raise
    except _BROKEN as error:
        if not weights_only and not isinstance(error, zipfile.BadZipFile):
            raise
        message = f"load(): the file is broken ({type(error).__name__}: {error})"
        raise pickle.UnpicklingError(message) from error
