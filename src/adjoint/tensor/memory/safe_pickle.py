"""Reads pickles from untrusted sources: only tensors, arrays, numbers and containers.

A pickle is a program for a small machine. The machine here knows only the instructions that these objects need, and
calls only the functions of `_MAKERS`, each of which checks its arguments first. An array, for instance, needs a plain
numeric type and exactly as many bytes as its shape takes. Memory is allocated as data arrive, so that a short file
cannot allocate much.
"""

from __future__ import annotations

import collections
import contextlib
import importlib
import math
import pickle
import struct
import sys
from collections.abc import Callable, Iterable
from typing import IO, Any

import numpy
from numpy._core.multiarray import _reconstruct as _numpy_reconstruct
from numpy._core.multiarray import scalar as _numpy_scalar
from numpy._core.numeric import _frombuffer as _numpy_frombuffer

from adjoint.arrays.dtypes import _dtype_named
from adjoint.arrays.libraries.sparse_arrays import SparseArray
from adjoint.arrays.size import Size, device
from adjoint.tensor.tensor import Tensor, _rebuild

#: The classes and functions that the program trusts (`add_safe_globals`), by their names in files.
_trusted: dict[tuple[str, str], Any] = {}
#: The errors of instructions that are cut off or inconsistent.
_BROKEN = (EOFError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, struct.error)
#: The number of bytes per allocation.
_CHUNK = 1 << 24
_DEEPEST_KEY = 50
#: So many times as much as a file has may its calls copy.
_COPIES = 4
_COPIED = (bytes, bytearray, str, list, tuple, dict)
_MOST_AXES = 64


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Let load(..., weights_only=True) make these classes, and call these functions.

    safe_globals: classes and functions; or pairs of one and its name in files, such as (Point, "shapes.Point").

    Raises TypeError for a pair without a name.

    >>> from fractions import Fraction
    >>> with safe_globals([Fraction]):
    ...     [each.__name__ for each in get_safe_globals()]
    ['Fraction']
    """
    for each in safe_globals:
        value, name = each if isinstance(each, tuple) else (each, f"{each.__module__}.{each.__qualname__}")
        if not isinstance(name, str) or "." not in name:
            raise TypeError(f"add_safe_globals(): a pair is an object and its full name, but got {each!r}")
        module, _, last = name.rpartition(".")
        _trusted[module, last] = value


def clear_safe_globals() -> None:
    """Trust no class and no function any more."""
    _trusted.clear()


def get_safe_globals() -> list[Any]:
    """The classes and functions of `add_safe_globals`."""
    return list(_trusted.values())


class safe_globals(contextlib.AbstractContextManager[None]):
    """`add_safe_globals` for the duration of a with block."""

    def __init__(self, safe_globals: Iterable[Any]) -> None:
        self.safe_globals = list(safe_globals)

    def __enter__(self) -> None:
        self.before = dict(_trusted)
        add_safe_globals(self.safe_globals)

    def __exit__(self, *_: object) -> None:
        _trusted.clear()
        _trusted.update(self.before)


def _is_trusted(value: Any) -> bool:
    return any(value is each for each in _trusted.values())


class SafeUnpickler(pickle._Unpickler):
    """Makes only tensors, arrays, numbers and containers of these, and what the program trusts."""

    def __init__(self, file: IO[bytes]) -> None:
        self.source = _Source(file)
        super().__init__(self.source)
        #: Counts the bytes from the file that calls have copied.
        self.copied = 0
        self.unfinished: dict[int, numpy.ndarray] = {}

    def load(self) -> Any:
        """The object that the file describes. Raises UnpicklingError, whatever is wrong with the file."""
        try:
            return super().load()
        except pickle.UnpicklingError:
            raise
        except _BROKEN as error:
            message = f"load(): the file is broken ({type(error).__name__}: {error})"
            raise pickle.UnpicklingError(message) from error

    def find_class(self, module: str, name: str) -> Any:
        """The object of a name in the file."""
        module = "builtins" if module == "__builtin__" else module
        if name == "xrange":
            name = "range"
        if (module, name) in _NAMES:
            return _NAMES[module, name]
        if (module, name) in _IMPORTED:
            return self.import_object(module, name)
        if (module, name) in _trusted:
            return _trusted[module, name]
        raise _refusal(f"names {module}.{name}, which may run any code")

    @staticmethod
    def import_object(module: str, name: str) -> Any:
        """The object of a name in another module."""
        return getattr(importlib.import_module(module), name)

    def maker(self, function: Any) -> Callable[..., Any] | None:
        """The function with checks that replaces one in the file."""
        checked_maker = _MAKERS.get(function)
        if checked_maker is None and _is_trusted(function):
            return function
        return function if checked_maker is None and getattr(function, "checks_arguments", False) else checked_maker

    def refer(self) -> None:
        """Put the object of a reference outside of the pickle on the stack."""
        reference = self.stack.pop()
        if type(self).persistent_load is pickle._Unpickler.persistent_load:
            raise _refusal("refers to objects outside of it")
        try:
            self.append(self.persistent_load(reference))
        except (TypeError, ValueError, LookupError) as error:
            raise _refusal(f"refers to other objects than save() writes ({error})") from error

    def reduce(self) -> None:
        """Call a function that the file names, after a check of the arguments."""
        arguments = self.stack.pop()
        function = self.stack[-1]
        maker = self.maker(function) if isinstance(function, collections.abc.Hashable) else None
        if maker is None or type(arguments) is not tuple:
            raise _refusal(f"calls {_type_name(function)}")
        self.count_copies(arguments)
        try:
            result = maker(*arguments)
        except (TypeError, ValueError, OverflowError, RuntimeError, LookupError) as error:
            raise _refusal(f"calls {_type_name(function)} with other arguments than save() writes ({error})") from error
        if function is _numpy_reconstruct:
            self.unfinished[id(result)] = result
        self.stack[-1] = result

    def new_object(self, instruction: Callable[[Any], None]) -> None:
        """Make an object of a class that the program trusts."""
        cls = self.stack[-2 if instruction is _PLAIN[pickle.NEWOBJ[0]] else -3]
        if not _is_trusted(cls):
            raise _refusal(f"makes a {_type_name(cls)}")
        instruction(self)

    def count_copies(self, arguments: tuple[Any, ...]) -> None:
        """Raise where the file has the same values copied again and again: save() writes each once."""
        self.copied += sum(sys.getsizeof(each) for each in arguments if type(each) in _COPIED)
        if self.copied > _COPIES * self.source.n_read + _CHUNK:
            raise _refusal("copies what it has brought again and again")

    def build(self) -> None:
        """Finish an array or a dtype by the state that follows it."""
        state = self.stack.pop()
        target = self.stack[-1]
        if type(target) is numpy.ndarray and self.unfinished.pop(id(target), None) is target:
            _check_array_state(state)
            target.__setstate__(state)
        elif isinstance(target, numpy.dtype) and _is_plain(target):
            _check_dtype_state(target, state)
            if state[1] == (">" if sys.byteorder == "little" else "<"):
                if target.kind == "V":  # NumPy has no form of bfloat16 in another order
                    raise _refusal("has bfloat16 in the other order of bytes than this machine's")
                target.__setstate__(state)
        elif type(target) is collections.OrderedDict and type(state) is dict and list(state) == ["_metadata"]:
            # the versions of modules, beside their state
            vars(target).update(state)
        elif _is_trusted(type(target)):
            self.append(state)
            _PLAIN[pickle.BUILD[0]](self)
        else:
            raise _refusal(f"sets the state of {_type_name(target)}")

    def bytes_to_change(self) -> None:
        """A bytearray, which grows as its data arrive."""
        rest = int.from_bytes(self.read(8), "little")
        data = bytearray()
        while rest > 0:
            part = self.read(min(rest, _CHUNK))
            if not part:
                raise pickle.UnpicklingError("load(): the file is broken (it ends within an array)")
            data += part
            rest -= len(part)
        self.append(data)

    def with_list_on_top(self, instruction: Callable[[Any], None]) -> None:
        """Add the objects on the stack to the list of the file's that lies below them."""
        target = self.stack[-2] if instruction is _PLAIN[pickle.APPEND[0]] else self.metastack[-1][-1]
        if type(target) is not list and not _is_trusted(type(target)):
            raise _refusal(f"appends to {_type_name(target)}")
        instruction(self)

    def with_keys(self, instruction: Callable[[Any], None]) -> None:
        """Put items into a dictionary or a set that the file has made."""
        if instruction is _PLAIN[pickle.SETITEM[0]]:
            target, keys = self.stack[-3], self.stack[-2:-1]
        elif instruction in (_PLAIN[pickle.FROZENSET[0]], _PLAIN[pickle.DICT[0]]):
            target, keys = None, self.stack[:: 1 if instruction is _PLAIN[pickle.FROZENSET[0]] else 2]
        else:
            adds = instruction is _PLAIN[pickle.ADDITEMS[0]]
            target, keys = self.metastack[-1][-1], self.stack[:: 1 if adds else 2]
        types = (dict, set, collections.OrderedDict, collections.defaultdict)
        if target is not None and type(target) not in types and not _is_trusted(type(target)):
            raise _refusal(f"puts items into {_type_name(target)}")
        _check_keys(keys)
        instruction(self)


class _Source:
    """A file, read in pieces: memory is allocated as data arrive."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.n_read = 0

    def read(self, size: int) -> bytes:
        data = self.pieces(size)
        self.n_read += len(data)
        return data

    def pieces(self, size: int) -> bytes:
        if size <= _CHUNK:
            return self.file.read(size)
        parts = []
        while size > 0 and (part := self.file.read(min(size, _CHUNK))):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def readline(self) -> bytes:
        line = self.file.readline()
        self.n_read += len(line)
        return line


# the instructions ----------------------------------------------------------------------------------------------------


def _guard(guard: Callable[..., None], instruction: Callable[[Any], None]) -> Callable[[Any], None]:
    return lambda machine: guard(machine, instruction)


_PLAIN: dict[int, Callable[[Any], None]] = dict(pickle._Unpickler.dispatch)
_HARMLESS = (
    "PROTO FRAME STOP MARK POP POP_MARK DUP NONE NEWTRUE NEWFALSE INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT "
    "BINFLOAT UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES BINBYTES8 TUPLE TUPLE1 TUPLE2 "
    "TUPLE3 EMPTY_TUPLE LIST EMPTY_LIST EMPTY_DICT EMPTY_SET GET BINGET LONG_BINGET PUT BINPUT LONG_BINPUT MEMOIZE "
    "GLOBAL STACK_GLOBAL"
)


def _opcode(name: str) -> int:
    code: bytes = getattr(pickle, name)
    return code[0]


_LIST_INSTRUCTIONS = ("APPEND", "APPENDS")
_OBJECT_INSTRUCTIONS = ("NEWOBJ", "NEWOBJ_EX")
_KEY_INSTRUCTIONS = ("SETITEM", "SETITEMS", "ADDITEMS", "FROZENSET", "DICT")
_dispatch: dict[int, Callable[[Any], None]] = {
    **{_opcode(name): _PLAIN[_opcode(name)] for name in _HARMLESS.split()},
    **{_opcode(name): _guard(SafeUnpickler.with_list_on_top, _PLAIN[_opcode(name)]) for name in _LIST_INSTRUCTIONS},
    **{_opcode(name): _guard(SafeUnpickler.with_keys, _PLAIN[_opcode(name)]) for name in _KEY_INSTRUCTIONS},
    **{_opcode(name): _guard(SafeUnpickler.new_object, _PLAIN[_opcode(name)]) for name in _OBJECT_INSTRUCTIONS},
    _opcode("REDUCE"): SafeUnpickler.reduce,
    _opcode("BUILD"): SafeUnpickler.build,
    _opcode("BYTEARRAY8"): SafeUnpickler.bytes_to_change,
    _opcode("BINPERSID"): SafeUnpickler.refer,
}
SafeUnpickler.dispatch = _dispatch


# the objects ---------------------------------------------------------------------------------------------------------


def _encode(text: str, encoding: str = "latin1") -> bytes:
    """Bytes, as older protocols write them."""
    check(type(text) is str and encoding == "latin1", "bytes are text in latin1")
    return text.encode("latin1")


def _bytearray(*arguments: Any) -> bytearray:
    if len(arguments) == 2:
        check(arguments[1] in ("latin-1", "latin1"), "bytes are text in latin1")
        return bytearray(_encode(arguments[0]))
    check(all(type(each) is bytes for each in arguments) and len(arguments) < 2, "a bytearray is made of bytes")
    return bytearray(*arguments)


def _bytes() -> bytes:
    return b""


def _set(items: Any = ()) -> set[Any]:
    check(type(items) in (list, tuple), "a set is made of a list")
    _check_keys(items)
    return set(items)


def _frozenset(items: Any = ()) -> frozenset[Any]:
    return frozenset(_set(items))


def _complex(real: float, imag: float) -> complex:
    check(type(real) is float and type(imag) is float, "a complex number has two floats")
    return complex(real, imag)


def _range(*parts: int) -> range:
    check(all(type(part) is int for part in parts), "a range is made of integers")
    return range(*parts)


def _slice(*parts: Any) -> slice:
    return slice(*parts)


def _ordered_dict() -> collections.OrderedDict[Any, Any]:
    return collections.OrderedDict()


def _default(factory: Any = None) -> collections.defaultdict[Any, Any]:
    check(any(factory is each for each in _FACTORIES), f"a factory is one of {', '.join(map(str, _FACTORIES))}")
    return collections.defaultdict(factory)


def _counter(counts: Any) -> collections.Counter[Any]:
    check(type(counts) is dict, "a counter is made of a dictionary")
    return collections.Counter(counts)


def _size(items: Any) -> Size:
    check(type(items) is tuple, "a Size is made of a tuple")
    return Size(items)


def _device(name: Any) -> device:
    check(type(name) is str, "a device has a name")
    return device(name)


def _dtype(name: Any) -> Any:
    check(type(name) is str, "a dtype has a name")
    return _dtype_named(name)


def _numpy_dtype(code: Any, align: Any = False, copy: Any = True) -> numpy.dtype:
    plain = code in _CODES if type(code) is str else isinstance(code, type) and code.__module__ == "ml_dtypes"
    check(plain and align is False and copy is True, "only plain numeric types are read")
    return numpy.dtype(code, align=False, copy=True)


def _unfinished_array(cls: Any, shape: Any, code: Any) -> numpy.ndarray:
    check(cls is numpy.ndarray and shape == (0,) and code in (b"b", "b"), "an array begins empty")
    result: Any = _numpy_reconstruct(numpy.ndarray, (0,), b"b")
    return numpy.asarray(result)


def _array(data: Any, dtype: Any, shape: Any, order: Any, axes: Any = None) -> numpy.ndarray:
    check(type(data) in (bytes, bytearray), "an array is made of bytes")
    _check_contents(shape, dtype, len(data))
    if axes is None:
        check(order in ("C", "F"), "an order is C or F")
        result: numpy.ndarray = _elements(data, dtype).reshape(shape, order=order)
        return result
    axis_order = list(range(len(shape)))
    check(order == "K" and type(axes) is tuple and all(type(axis) is int for axis in axes), "axes are integers")
    check(sorted(axes) == axis_order, "axes are numbered")
    return _elements(data, dtype).reshape(shape).transpose(axes)


def _elements(data: bytes | bytearray, dtype: numpy.dtype) -> numpy.ndarray:
    """The elements in bytes."""
    return numpy.frombuffer(data, dtype) if data else numpy.empty(0, dtype)


def _scalar(dtype: Any, data: Any) -> Any:
    check(type(data) is bytes, "a number is made of bytes")
    _check_contents((), dtype, len(data))
    return _numpy_scalar(dtype, data)


def _tensor(cls: Any, array: Any, requires_grad: Any, attributes: Any) -> Tensor:
    check(isinstance(cls, type) and issubclass(cls, Tensor), "a tensor is a Tensor or a Parameter")
    is_plain = type(array) in (numpy.ndarray, SparseArray)
    check(is_plain and type(requires_grad) is bool, "a tensor has an array and a flag")
    check(type(attributes) is dict and all(type(name) is str for name in attributes), "attributes have names")
    return _rebuild(cls, array, requires_grad, attributes)


_FACTORIES = (None, list, dict, set, tuple, int, float, str, bool, complex)
_FLOATS = ("f2", "f4", "f8", "f12", "f16", "c8", "c16", "c24", "c32")
_CODES = frozenset(
    order + code
    for order in ("", "<", ">", "|", "=")
    for code in ["b1", *(f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)), *_FLOATS]
)
_NAMES: dict[tuple[str, str], Any] = {
    ("adjoint.tensor.tensor", "Tensor"): Tensor,
    ("adjoint.tensor.tensor", "_rebuild"): _rebuild,
    ("adjoint.arrays.size", "Size"): Size,
    ("adjoint.arrays.size", "device"): device,
    ("adjoint.arrays.dtypes", "_dtype_named"): _dtype_named,
    ("numpy", "dtype"): numpy.dtype,
    ("numpy", "ndarray"): numpy.ndarray,
    ("numpy._core.multiarray", "_reconstruct"): _numpy_reconstruct,
    ("numpy._core.multiarray", "scalar"): _numpy_scalar,
    ("numpy._core.numeric", "_frombuffer"): _numpy_frombuffer,
    ("_codecs", "encode"): _encode,
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("collections", "defaultdict"): collections.defaultdict,
    ("collections", "Counter"): collections.Counter,
    **{("builtins", each.__name__): each for each in _FACTORIES[1:]},
    **{("builtins", each.__name__): each for each in (bytes, bytearray, frozenset, range, slice)},
}
#: Names that are imported only when a file contains them.
_IMPORTED = {
    ("ml_dtypes", "bfloat16"),
    ("adjoint.nn.parameter", "Parameter"),
    ("adjoint.functions.sparse_operations", "rebuilt"),
}
#: Names that a file may call, and the function with checks that replaces each.
_MAKERS: dict[Any, Callable[..., Any]] = {
    _rebuild: _tensor,
    Size: _size,
    device: _device,
    _dtype_named: _dtype,
    numpy.dtype: _numpy_dtype,
    _numpy_reconstruct: _unfinished_array,
    _numpy_scalar: _scalar,
    _numpy_frombuffer: _array,
    _encode: _encode,
    collections.OrderedDict: _ordered_dict,
    collections.defaultdict: _default,
    collections.Counter: _counter,
    bytes: _bytes,
    bytearray: _bytearray,
    complex: _complex,
    frozenset: _frozenset,
    range: _range,
    set: _set,
    slice: _slice,
}


# checks --------------------------------------------------------------------------------------------------------------


def check(right: bool, rule: str) -> None:
    """Raise ValueError with the text of a rule if it is broken."""
    if not right:
        raise ValueError(rule)


def _is_plain(dtype: Any) -> bool:
    return isinstance(dtype, numpy.dtype) and (dtype.kind in "biufc" or dtype.name == "bfloat16")


def _check_contents(shape: Any, dtype: Any, n_bytes: int) -> None:
    """Raise ValueError unless an array of this shape and type has exactly so many bytes."""
    check(_is_plain(dtype), "only plain numeric types are read")
    check(type(shape) is tuple and len(shape) <= _MOST_AXES, "a shape is a tuple")
    check(all(type(length) is int and length >= 0 for length in shape), "a shape has integers")
    check(math.prod(length or 1 for length in shape) * dtype.itemsize <= sys.maxsize, "the shape is too large")
    size = math.prod(shape) * dtype.itemsize
    check(size == n_bytes, f"an array of shape {shape} has {size} bytes, the file has {n_bytes}")


def _check_array_state(state: Any) -> None:
    right = type(state) is tuple and len(state) == 5 and state[0] == 1 and type(state[3]) in (bool, int)
    try:
        check(right and type(state[4]) is bytes, "an array is made of bytes")
        _check_contents(state[1], state[2], len(state[4]))
    except ValueError as error:
        raise _refusal(f"has an array with other contents than save() writes ({error})") from error


def _check_dtype_state(dtype: numpy.dtype, state: Any) -> None:
    right = type(state) is tuple and len(state) == 8 and state[0] == 3 and state[1] in ("<", ">", "|", "=")
    sizes = (dtype.itemsize, dtype.itemsize) if dtype.kind == "V" else (-1, -1)
    if not right or state[2:7] != (None, None, None, *sizes):
        raise _refusal("describes a dtype that is not a plain numeric one")


def _check_keys(keys: Iterable[Any]) -> None:
    """Raise unless each can be hashed at moderate depth; hashing a tuple in a tuple calls itself without a limit."""
    level = list(keys)
    for _ in range(_DEEPEST_KEY):
        level = [part for key in level if type(key) in (tuple, Size) for part in key]
        if not level:
            return
    raise _refusal("has a key of tuples in tuples without end")


def _refusal(what: str) -> pickle.UnpicklingError:
    return pickle.UnpicklingError(
        f"Weights only load failed: the file {what}. If you trust its source, say load(..., weights_only=False)."
    )


def _type_name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}" if isinstance(value, type) else type(value).__name__
