"""Creation of Tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.dtypes import dtype as Dtype
from adjoint.core.graph import new_tensor
from adjoint.interop.array_api.dtypes import check_device, numpy_kind
from adjoint.interop.dlpack import from_dlpack as from_any_dlpack
from adjoint.interop.functions.creation import convert
from adjoint.interop.table import FUNCTIONS

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Shape = int | tuple[int, ...]


def asarray(obj: Any, /, *, dtype: Dtype | None = None, device: Any = None, copy: bool | None = None) -> Tensor:
    """Data as a Tensor: a Tensor, an array, a number, nested sequences of these. Tensors keep their history."""
    check_device(device)
    return convert(obj, numpy_kind(dtype), copy)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """An array of another library as a Tensor that shares its memory."""
    check_device(device)
    return from_any_dlpack(x, copy=copy)


def arange(
    start: float, /, stop: float | None = None, step: float = 1, *, dtype: Dtype | None = None, device: Any = None
) -> Tensor:
    """Numbers from start (0 if only stop is given) up to but not including stop."""
    check_device(device)
    start, stop = (0, start) if stop is None else (start, stop)
    return new_tensor(numpy.arange(start, stop, step, dtype=numpy_kind(dtype)))


def empty(shape: Shape, *, dtype: Dtype | None = None, device: Any = None) -> Tensor:
    """Memory of no particular content."""
    check_device(device)
    return new_tensor(numpy.empty(shape, numpy_kind(dtype)))


def zeros(shape: Shape, *, dtype: Dtype | None = None, device: Any = None) -> Tensor:
    """Zeros."""
    check_device(device)
    return new_tensor(numpy.zeros(shape, numpy_kind(dtype)))


def ones(shape: Shape, *, dtype: Dtype | None = None, device: Any = None) -> Tensor:
    """Ones."""
    check_device(device)
    return new_tensor(numpy.ones(shape, numpy_kind(dtype)))


def full(shape: Shape, fill_value: Any, *, dtype: Dtype | None = None, device: Any = None) -> Tensor:
    """A number, which may be a Tensor with history, repeated."""
    check_device(device)
    return FUNCTIONS["full"](shape, fill_value, numpy_kind(dtype))


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Dtype | None = None, device: Any = None
) -> Tensor:
    """Ones on a diagonal."""
    check_device(device)
    return new_tensor(numpy.eye(n_rows, n_cols, k, numpy_kind(dtype) or numpy.float64))


def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: Dtype | None = None, device: Any = None, endpoint: bool = True
) -> Tensor:
    """`num` numbers from start to stop, evenly spaced."""
    check_device(device)
    return FUNCTIONS["linspace"](start, stop, num, endpoint, dtype=numpy_kind(dtype))


def empty_like(x: Tensor, /, *, dtype: Dtype | None = None, device: Any = None) -> Tensor:
    """empty() of the shape and dtype of a Tensor."""
    check_device(device)
    return FUNCTIONS["empty_like"](x, numpy_kind(dtype))


def zeros_like(x: Tensor, /, *, dtype: Dtype | None = None, device: Any = None) -> Tensor:
    """zeros() of the shape and dtype of a Tensor."""
    check_device(device)
    return FUNCTIONS["zeros_like"](x, numpy_kind(dtype))


def ones_like(x: Tensor, /, *, dtype: Dtype | None = None, device: Any = None) -> Tensor:
    """ones() of the shape and dtype of a Tensor."""
    check_device(device)
    return FUNCTIONS["ones_like"](x, numpy_kind(dtype))


def full_like(x: Tensor, /, fill_value: Any, *, dtype: Dtype | None = None, device: Any = None) -> Tensor:
    """full() of the shape and dtype of a Tensor."""
    check_device(device)
    return FUNCTIONS["full_like"](x, fill_value, numpy_kind(dtype))


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """The coordinates of a grid, one Tensor for each axis."""
    return list(FUNCTIONS["meshgrid"](*arrays, indexing=indexing))


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The lower triangle of matrices, and zeros."""
    return FUNCTIONS["tril"](x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The upper triangle of matrices, and zeros."""
    return FUNCTIONS["triu"](x, k)
