"""From Python data to arrays: the conversion of numbers, nested sequences and NumPy values by ``torch.tensor(data)``.

It works level by level on flat lists, so the interpreter handles each number once (in ``map`` and ``chain``), and NumPy
converts all of them at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from math import prod
from typing import Any, NoReturn

import numpy as np

from adjoint.arrays.dtypes import (
    bool_,
    can_cast,
    complex128,
    dtype,
    from_numpy_dtype,
    get_default_complex_dtype,
    get_default_dtype,
    iinfo,
    int64,
    promote_all,
    uint64,
)  # fmt: skip
from adjoint.arrays.namespace import held_array, in_memory, is_array, is_traced, namespace, underlying
from adjoint.arrays.size import type_name

Array = np.ndarray[Any, Any]
#: Returns the array of a tensor, and None for other objects.
Unwrap = Callable[[object], "Array | None"]

_MAX_DIMS = 64
_REAL_NUMBERS = frozenset((bool, int, float))
_NUMBERS = _REAL_NUMBERS | {complex}
_FLOAT, _INT = {float}, {int}


def no_tensors(x: object) -> None:
    """The ``unwrap`` of callers that know no tensors."""
    return


TRACED = (
    "got an {kind} of {module}, which stands for an array while another library takes a derivative: adjoint's tensors "
    "cannot hold it. Take both derivatives with one library; adjoint.compat.autograd has the functions of HIPS autograd"
)


def array_from_data(data: object, dtype: dtype | None = None, *, unwrap: Unwrap = no_tensors) -> Array:
    """A new array of the numbers in ``data``.

    Args:
        data: a number, an array, or sequences of these, nested to a regular shape.
        dtype: the dtype of the result. By default arrays and NumPy scalars keep their dtype, Python ints become int64,
            floats the default dtype, complex numbers its complex counterpart, and mixtures promote.
        unwrap: returns the array of a tensor, and None for other objects. A tensor among the items of a sequence must
            have one element.

    Arrays in a foreign byte order, with negative strides or of unsigned 64-bit integers, which
    ``torch.tensor`` refuses, are copied like any other.

    Raises:
        ValueError: the sequences differ in length, strings are among them, or an int does not fit into int64.
        TypeError: an item is no number, or a number that ``dtype`` cannot hold.
        RuntimeError: a number is out of the range of ``dtype``, or no dtype follows from an item's type.

    >>> array_from_data([[1, 2.5], [3, 4]])
    array([[1. , 2.5],
           [3. , 4. ]], dtype=float32)
    """
    if type(data) is float and (dtype is None or dtype.is_floating_point):
        return _float_array(data, dtype or get_default_dtype())
    if type(data) is list and data:
        types = set(map(type, data))
        if types == _FLOAT and (dtype is None or dtype.is_floating_point):
            return _float_array(data, dtype or get_default_dtype())
        if types == _INT and (dtype is None or dtype is int64):
            return _integer_array(data, int64)
    array = data if is_array(data) else unwrap(data)
    if array is not None:
        return _copy_array(array if isinstance(array, np.ndarray) else held_array(array), dtype)
    if isinstance(data, (str, bytes)):
        _cannot_infer(data)
    shape = _shape_of(data, unwrap)
    leaves = _flatten(data, shape, dtype, unwrap)
    if dtype is None:
        dtype = promote_all(_dtypes_of(leaves)) if len(leaves) else get_default_dtype()
    if isinstance(leaves, np.ndarray):
        source = from_numpy_dtype(leaves.dtype)
        if source is dtype or (dtype.category > 1 and can_cast(source, dtype)):
            return leaves.astype(dtype.numpy, copy=False)
        leaves = list(leaves.reshape(-1))  # items that may not fit are converted, and refused, one by one
    if not prod(shape):
        return np.empty(shape, dtype.numpy)
    return _store(leaves, dtype).reshape(shape)


def _copy_array(array: Array, dtype: dtype | None) -> Array:
    if not isinstance(array, np.ndarray) and underlying(in_memory(array)) is array:
        return _copy_in_library(array, dtype)
    native = array.dtype.newbyteorder("=")
    kind = from_numpy_dtype(native) if dtype is None else dtype
    if dtype is not None:
        from_numpy_dtype(native)  # objects and strings are refused, not converted
    if array.dtype.kind == "c" and not kind.is_complex and kind is not bool_:
        array = array.real
    with np.errstate(over="ignore", invalid="ignore"):
        return np.array(array, dtype=kind.numpy)


def _copy_in_library(array: Any, dtype: dtype | None) -> Any:
    """A copy of an array of another library, such as Dask's or CuPy's, by that library."""
    library, source = namespace(array), from_numpy_dtype(array.dtype)
    kind = source if dtype is None else dtype
    copy = library.asarray(array, copy=True)
    if source.is_complex and not kind.is_complex and kind is not bool_:
        copy = library.real(copy)
    return copy if kind is source else library.astype(copy, kind.numpy)


# --- structure ----------------------------------------------------------------------------------------------


def _is_sequence(x: object, unwrap: Unwrap) -> bool:
    cls = type(x)
    if cls is list or cls is tuple:
        return True
    if cls in _NUMBERS or isinstance(x, (str, bytes, np.generic, Mapping)):
        return False
    if is_array(x):
        return bool(x.ndim)  # type: ignore[attr-defined]
    if is_traced(x):
        raise TypeError(TRACED.format(kind=cls.__name__, module=cls.__module__))
    return hasattr(cls, "__getitem__") and hasattr(cls, "__len__") and unwrap(x) is None


def _shape_of(data: Any, unwrap: Unwrap) -> tuple[int, ...]:
    """The shape that the first items of each level announce."""
    shape: list[int] = []
    while True:
        if isinstance(data, str) and data:
            raise ValueError("too many dimensions 'str'")
        if not _is_sequence(data, unwrap):
            return tuple(shape)
        shape.append(len(data))
        if len(shape) > _MAX_DIMS:
            raise ValueError(f"too many dimensions '{type_name(data)}'")
        if not len(data):
            return tuple(shape)
        data = data[0]


def _flatten(data: Any, shape: tuple[int, ...], dtype: dtype | None, unwrap: Unwrap) -> Any:
    """The numbers in ``data`` as a flat list, or an array where all sequences of a level are arrays."""
    items = [data]
    for dim, length in enumerate(shape):
        types = set(map(type, items))
        if length and types == {np.ndarray} and (stacked := _stack(items, shape, dim)) is not None:
            return stacked
        if not types <= {list, tuple} and not all(_is_sequence(each, unwrap) for each in items):
            if dtype is None:
                _check_inferable(data, unwrap)
            raise TypeError("not a sequence")
        if length == 0:
            # the siblings of an empty first sequence are not stored, but they count for the dtype
            return _type_examples(data, unwrap)
        if set(map(len, items)) != {length}:
            if dtype is None:
                _check_inferable(data, unwrap)
            actual = next(n for n in map(len, items) if n != length)
            raise ValueError(f"expected sequence of length {length} at dim {dim} (got {actual})")
        items = list(chain.from_iterable(items))
    if set(map(type, items)) <= _NUMBERS:
        return items
    return [_leaf(each, dtype, unwrap) for each in items]


def _stack(items: list[Array], shape: tuple[int, ...], dim: int) -> Array | None:
    """Arrays of one shape joined into the result's shape; None if they differ or do not hold numbers."""
    if any(each.shape != items[0].shape or each.dtype.kind not in "biufcV" for each in items):
        return None
    kind = promote_all(dict.fromkeys(from_numpy_dtype(each.dtype.newbyteorder("=")) for each in items))
    return np.stack([each.astype(kind.numpy, copy=False) for each in items]).reshape(shape[:dim] + items[0].shape)


def _leaf(x: Any, dtype: dtype | None, unwrap: Unwrap) -> Any:
    """An item as a Python number or NumPy scalar; other items stay, for the errors of later steps."""
    array = x if isinstance(x, np.ndarray) and not x.ndim else unwrap(x)
    if array is None:
        return x
    kind = array.dtype.kind
    if array.size != 1 or (dtype is not None and dtype.category < 2 and kind not in "biu"):
        if kind in "biu" or (dtype is not None and dtype.category < 2):
            raise TypeError("only integer tensors of a single element can be converted to an index")
        raise ValueError("only one element tensors can be converted to Python scalars")
    value = array.reshape(-1)[0]
    return bool(value) if kind == "b" else value  # NumPy's bool is no integer, a tensor of bool counts as one


def _type_examples(data: Any, unwrap: Unwrap) -> list[Any]:
    """One item for each type in ``data``: for an array a scalar, for an empty sequence a float."""
    if isinstance(data, np.ndarray):
        return [np.zeros(1, data.dtype)[0]]
    if not _is_sequence(data, unwrap):
        return [_leaf(data, None, unwrap)]
    return [example for item in data for example in _type_examples(item, unwrap)] if len(data) else [0.0]


# --- types --------------------------------------------------------------------------------------------------


def _dtypes_of(leaves: Any) -> list[dtype]:
    """The dtypes of the items, each once, in the order of their first appearance."""
    if isinstance(leaves, np.ndarray):
        return [from_numpy_dtype(leaves.dtype)]
    types = set(map(type, leaves))
    if types <= _NUMBERS:
        return [_dtype_of(each()) for each in types]
    examples = {type(each): each for each in reversed(leaves)}
    dtypes = (_dtype_of(each) for each in reversed(examples.values()) if not isinstance(each, (list, tuple)))
    return list(dict.fromkeys(dtypes)) or [int64]


def _dtype_of(x: object) -> dtype:
    if isinstance(x, np.generic):
        return from_numpy_dtype(x.dtype)
    if isinstance(x, bool):
        return bool_
    if isinstance(x, int):
        return int64
    if isinstance(x, float):
        return get_default_dtype()
    if isinstance(x, complex):
        return get_default_complex_dtype()
    _cannot_infer(x)


def _cannot_infer(x: object) -> NoReturn:
    if isinstance(x, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type_name(x)}'")
    raise RuntimeError(f"Could not infer dtype of {type_name(x)}")


def _check_inferable(data: Any, unwrap: Unwrap) -> None:
    """Raise the error for an item without a dtype; it precedes errors about the structure."""
    _dtypes_of(_type_examples(data, unwrap))


# --- conversion ---------------------------------------------------------------------------------------------


def _store(leaves: list[Any], dtype: dtype) -> Array:
    """A flat array of the items."""
    if dtype is bool_:
        _check_items(leaves, "__index__", allowed=(float, complex, np.number, np.bool_))
        return np.array(list(map(bool, leaves)), dtype=bool)
    if dtype.is_complex:
        _check_items(leaves, "__float__", allowed=(complex, np.complexfloating))
        plain = leaves if set(map(type, leaves)) <= _NUMBERS else list(map(complex, leaves))
        with np.errstate(over="ignore"):
            return np.array(plain, dtype=complex128.numpy).astype(dtype.numpy, copy=False)
    if dtype.is_floating_point:
        _check_items(leaves, "__float__", allowed=(np.complexfloating,))
        if not set(map(type, leaves)) <= _REAL_NUMBERS:
            leaves = [each.real if isinstance(each, np.complexfloating) else each for each in leaves]
        return _float_array(leaves, dtype)
    _check_items(leaves, "__index__", allowed=(float,))
    return _integer_array(leaves, dtype)


def _check_items(leaves: list[Any], protocol: str, allowed: tuple[type, ...]) -> None:
    """Refuse the first item whose type neither has the protocol (or __index__) nor is allowed."""
    if set(map(type, leaves)) <= (_NUMBERS if complex in allowed else _REAL_NUMBERS):
        return
    examples = {type(each): each for each in reversed(leaves)}
    for cls in reversed(examples):
        if issubclass(cls, allowed) or hasattr(cls, protocol) or hasattr(cls, "__index__"):
            continue
        name = type_name(examples[cls])
        if protocol == "__index__":
            raise TypeError(f"'{name}' object cannot be interpreted as an integer")
        raise TypeError(f"must be real number, not {name}")


def _float_array(values: Any, dtype: dtype) -> Array:
    """Numbers with ``__float__``; too large numbers become infinity."""
    wide = np.array(values, dtype=np.float64)
    if dtype.itemsize == 8:
        return wide
    with np.errstate(over="ignore"):
        return wide.astype(dtype.numpy)


def _integer_array(leaves: list[Any], dtype: dtype) -> Array:
    types = set(map(type, leaves))
    if dtype is uint64:
        return _uint64_array(leaves)
    limits = iinfo(dtype)
    smallest = limits.min if dtype.is_signed else -limits.max  # -1 means the largest unsigned number
    if not types <= {int, bool}:
        leaves = [_as_int(each, limits) for each in leaves]
    try:
        array = np.array(leaves, dtype=np.int64)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None
    if dtype is int64:
        return array
    if array.min() < smallest or array.max() > limits.max:
        _out_of_range(dtype.name)
    return array.astype(dtype.numpy)


def _as_int(x: Any, limits: iinfo) -> int:
    """An integer-like item, or a float cut to its whole part; floats have no wrapped negative values."""
    if not isinstance(x, float):
        return x.__index__() if not isinstance(x, np.bool_) else int(x)
    if not limits.min <= x <= limits.max or x == 2.0**63:
        _out_of_range(limits.dtype)
    return int(x)


def _uint64_array(leaves: list[Any]) -> Array:
    limits = iinfo(uint64)
    numbers = [_as_int(each, limits) for each in leaves]
    if min(numbers) < 0:
        raise OverflowError("can't convert negative int to unsigned")
    if max(numbers) > limits.max:
        raise OverflowError("int too big to convert")
    return np.array(numbers, dtype=np.uint64)


def _out_of_range(name: str) -> NoReturn:
    raise RuntimeError(f"value cannot be converted to type {name} without overflow")
