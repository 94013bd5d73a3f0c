"""Data types: their limits and kinds, their promotion, and the names that the namespace has for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from adjoint.arrays import dtypes as kinds
from adjoint.arrays.dtypes import dtype as Dtype
from adjoint.arrays.dtypes import from_numpy_dtype
from adjoint.arrays.size import CPU, as_device, device
from adjoint.interop.operands import cast, is_tensor

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

#: The kinds of the standard and the dtypes of each.
KINDS: dict[str, tuple[Dtype, ...]] = {
    "bool": (kinds.bool_,),
    "signed integer": (kinds.int8, kinds.int16, kinds.int32, kinds.int64),
    "unsigned integer": (kinds.uint8, kinds.uint16, kinds.uint32, kinds.uint64),
    "real floating": (kinds.float32, kinds.float64),
    "complex floating": (kinds.complex64, kinds.complex128),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]


def dtype_of(value: Any) -> Any:
    """The dtype of a Tensor; other objects unchanged."""
    return value.dtype if is_tensor(value) else value


def numpy_kind(dtype: Any) -> Any:
    """A dtype argument as NumPy's, None for None. Raises TypeError for objects that are no dtype of adjoint."""
    if dtype is None:
        return None
    return kinds.as_dtype(dtype, "array_api").numpy


def check_device(device: Any) -> None:
    """Raise RuntimeError or TypeError for a device other than the computer's memory."""
    if device is not None:
        as_device(device, "array_api")


def astype(x: Tensor, dtype: Dtype, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """A Tensor with another dtype; itself if it has it already and copy is False."""
    check_device(device)
    result = cast(x, numpy_kind(dtype))
    return result.clone() if copy and result is x else result


def result_type(*arrays_and_dtypes: Any) -> Dtype:
    """The dtype to which all promote; Python numbers count by their kind."""
    operands = [value.numpy if isinstance(value, Dtype) else value for value in map(dtype_of, arrays_and_dtypes)]
    return from_numpy_dtype(numpy.result_type(*operands))


def can_cast(from_: Any, to: Dtype, /) -> bool:
    """Whether a dtype (or that of a Tensor) promotes to another without loss of kind."""
    return bool(numpy.can_cast(dtype_of(from_).numpy, to.numpy))


def isdtype(dtype: Dtype, kind: Any) -> bool:
    """Whether a dtype is of a kind: a name such as "real floating", a dtype, or a tuple of these."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"isdtype: unrecognized kind {kind!r}; it must be one of {sorted(KINDS)} or a dtype")
        return dtype in KINDS[kind]
    return dtype is kind


class FloatingLimits(NamedTuple):
    """The result of finfo()."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Dtype


class IntegerLimits(NamedTuple):
    """The result of iinfo()."""

    bits: int
    max: int
    min: int
    dtype: Dtype


def finfo(type: Any, /) -> FloatingLimits:
    """The limits of a floating point dtype, or of that of a Tensor."""
    dtype = dtype_of(type)
    limits = kinds.finfo(dtype)
    return FloatingLimits(limits.bits, limits.eps, limits.max, limits.min, limits.smallest_normal, dtype.to_real())


def iinfo(type: Any, /) -> IntegerLimits:
    """The limits of an integer dtype, or of that of a Tensor."""
    dtype = dtype_of(type)
    limits = kinds.iinfo(dtype)
    return IntegerLimits(limits.bits, limits.max, limits.min, dtype)


class NamespaceInfo:
    """The properties of the namespace, by the standard's inspection functions."""

    def capabilities(self) -> dict[str, Any]:
        """The optional features, and whether they exist."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> device:
        """The device of new Tensors."""
        return CPU

    def default_dtypes(self, *, device: Any = None) -> dict[str, Dtype]:
        """The dtypes of Tensors for which none is given."""
        check_device(device)
        return {
            "real floating": kinds.float64,
            "complex floating": kinds.complex128,
            "integral": kinds.int64,
            "indexing": kinds.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Dtype]:
        """The dtypes of a kind (or of several, or all) by their names."""
        check_device(device)
        kinds = ("bool", "numeric") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        names = [dtype for each in kinds for dtype in KINDS[each]]
        return {dtype.name: dtype for dtype in names}

    def devices(self) -> list[device]:
        """All devices."""
        return [CPU]


def __array_namespace_info__() -> NamespaceInfo:
    """The properties of the namespace."""
    return NamespaceInfo()
