"""The standard's extension of Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy
import numpy.fft

from adjoint.arrays.dtypes import dtype as Dtype
from adjoint.core.graph import new_tensor
from adjoint.interop.array_api.dtypes import check_device, numpy_kind
from adjoint.interop.table import FUNCTIONS

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def _one(name: str) -> Any:
    function = FUNCTIONS[f"fft.{name}"]

    def transform(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
        return function(x, n, axis, norm)

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = f"numpy.fft.{name}, along one axis."
    return transform


def _several(name: str) -> Any:
    function = FUNCTIONS[f"fft.{name}"]

    def transform(
        x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
    ) -> Tensor:
        return function(x, s, axes, norm)

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = f"numpy.fft.{name}, along several axes."
    return transform


fft, ifft, rfft, irfft, hfft, ihfft = map(_one, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))
fftn, ifftn, rfftn, irfftn = map(_several, ("fftn", "ifftn", "rfftn", "irfftn"))


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Dtype | None = None, device: Any = None) -> Tensor:
    """The frequencies of a transform of length n."""
    check_device(device)
    return new_tensor(numpy.fft.fftfreq(n, d).astype(numpy_kind(dtype) or numpy.float64))


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Dtype | None = None, device: Any = None) -> Tensor:
    """The frequencies of a transform of a real signal of length n."""
    check_device(device)
    return new_tensor(numpy.fft.rfftfreq(n, d).astype(numpy_kind(dtype) or numpy.float64))


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Frequency 0 moved to the middle."""
    return FUNCTIONS["fft.fftshift"](x, axes)


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of fftshift()."""
    return FUNCTIONS["fft.ifftshift"](x, axes)
