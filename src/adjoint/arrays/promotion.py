"""Promotion of a kernel's operands to one dtype by torch's rules; half precision is computed in a wider dtype."""

from collections.abc import Sequence
from typing import Any

import numpy

from adjoint.arrays.dtypes import (
    DIMENSIONED,
    SCALAR,
    ZERO_DIM,
    bfloat16,
    dtype,
    float16,
    from_numpy_dtype,
    get_default_dtype,
    is_half,
    numpy_dtype,
    result_type,
    scalar_dtype,
)
from adjoint.arrays.namespace import astype

#: Types of arrays that are computed with as they are.
PLAIN = frozenset(numpy.dtype(name) for name in ("float32", "float64", "complex64", "complex128"))
#: Python's numbers by the kind of dtype: they take the type of the arrays in the same operation.
_NUMBERS: dict[str, Any] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
_FLOAT32 = numpy.dtype("float32")


def upcast(value: Any) -> Any:
    """A half-precision array in float32; other objects unchanged."""
    kind = getattr(value, "dtype", None)
    return astype(value, _FLOAT32) if kind is not None and is_half(kind) else value


def operand_type(value: Any) -> tuple[dtype, int]:
    """The dtype and rank of a raw operand in promotion."""
    kind = getattr(value, "dtype", None)
    if kind is None:
        return scalar_dtype(value), SCALAR
    return from_numpy_dtype(kind), DIMENSIONED if value.ndim else ZERO_DIM


def common_dtype(operands: Sequence[Any], policy: str) -> dtype:
    """The dtype of the result of an operation on these raw operands.

    policy "float": integers and bools become the default dtype.
    """
    if _are_alike(operands, range(len(operands)), "float"):
        return from_numpy_dtype(operands[0].dtype)
    common = result_type(*[operand_type(value) for value in operands])
    if policy == "float" and not (common.is_floating_point or common.is_complex):
        return get_default_dtype()
    return common


def promote(
    raw: list[Any], positions: Sequence[int], sequence: int, policy: str, wide: Sequence[int] = ()
) -> numpy.dtype[Any] | None:
    """Cast the operands at `positions` of `raw` (the list is changed) to their common type.

    If that is a half-precision type, operands of other types are rounded to it, except operands of the ranks in `wide`
    (SCALAR, ZERO_DIM). The computation then runs in float32.

    Returns the half-precision type to which the result must be rounded, or None.
    """
    if sequence < 0 and _are_alike(raw, positions, policy):
        return None
    operands = raw[sequence] if sequence >= 0 else [raw[position] for position in positions]
    operands = [value for value in operands if value is not None]
    kinds = {
        value.dtype if type(value) is numpy.ndarray else numpy_dtype(value.dtype)
        for value in operands
        if hasattr(value, "dtype")
    }
    if len(kinds) == 1 and not (kinds - PLAIN) and not any(isinstance(v, complex) for v in operands):
        return None
    common = common_dtype(operands, policy)
    half = common.numpy if common in (float16, bfloat16) else None
    target = _FLOAT32 if half is not None else common.numpy

    def cast(value: Any) -> Any:
        if half is not None and operand_type(value)[1] not in wide:
            value = _round(value, half)
        return _cast(value, target)

    if sequence >= 0:
        raw[sequence] = [cast(value) for value in operands]
    else:
        for position in positions:
            if raw[position] is not None:
                raw[position] = cast(raw[position])
    return half


def _are_alike(raw: Sequence[Any], positions: Sequence[int], policy: str) -> bool:
    """True for arrays of NumPy's of one type that is computed with as it is: the usual case, seen at once."""
    kind = None
    for position in positions:
        value = raw[position]
        if type(value) is not numpy.ndarray or (kind is not None and value.dtype is not kind):
            return False
        kind = value.dtype
    return kind in PLAIN or (policy == "same" and kind is not None and kind.kind in "biu")


def _round(value: Any, half: numpy.dtype[Any]) -> Any:
    """A number or an array of another type as a half-precision type holds it."""
    kind = getattr(value, "dtype", None)
    if kind is not None:
        return value if numpy_dtype(kind) == half else astype(value, half)
    if isinstance(value, bool):
        return value
    with numpy.errstate(over="ignore"):
        return float(numpy.asarray(float(value)).astype(half))


def _cast(value: Any, target: numpy.dtype[Any]) -> Any:
    kind = getattr(value, "dtype", None)
    if kind is None:
        if isinstance(value, bool) != (target.kind == "b"):
            return _NUMBERS[target.kind](value)
        return wrap(_of_64_bits(value), target) if type(value) is int and target.kind in "iu" else value
    return value if numpy_dtype(kind) == target else astype(value, target)


def _of_64_bits(value: int) -> int:
    """The integer itself. Raises OverflowError if no dtype holds it: its lowest bits would be another number."""
    if value >= 2**64:
        raise OverflowError("int too big to convert")
    if value < -(2**63):
        raise OverflowError("can't convert negative int to unsigned")
    return value


def number_as(value: Any, kind: numpy.dtype[Any]) -> Any:
    """A Python number as a type takes it: integer types drop its fraction and keep its lowest bits.

    >>> number_as(-1, numpy.dtype("uint8")), number_as(2.7, numpy.dtype("int8")), number_as(-1, numpy.dtype("float32"))
    (255, 2, -1)
    """
    if not isinstance(value, (int, float)):
        return value
    kind = numpy_dtype(kind)
    return wrap(int(value), kind) if kind.kind in "iu" else value


def wrap(value: int, kind: numpy.dtype[Any]) -> int:
    """A number as an integer type holds it, which keeps its lowest bits.

    >>> wrap(300, numpy.dtype("uint8")), wrap(200, numpy.dtype("int8")), wrap(-1, numpy.dtype("uint8"))
    (44, -56, 255)
    """
    bits = 8 * kind.itemsize
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind.kind == "i" and value >> (bits - 1) else value
