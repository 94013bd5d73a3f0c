"""scipy.fft over Tensors: the transforms that numpy.fft has, and cosine and sine transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjoint.interop.numpy_functions import FUNCTIONS, Array, function
from adjoint.interop.operands import axis_of, inexact, plain
from adjoint.rules.fft import weighted_ends
from adjoint.tensor.table import ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def _along_one_axis(name: str) -> None:
    of_numpy = FUNCTIONS[f"fft.{name}"]

    @function(f"scipy.fft.{name}")
    def transform(x: Array, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, *, plan=None):
        return of_numpy(x, n, axis, norm)

    transform.__doc__ = f"scipy.fft.{name} along one axis."


def _along_several_axes(name: str) -> None:
    of_numpy = FUNCTIONS[f"fft.{name}"]
    usual = (-2, -1) if name.endswith("2") else None

    @function(f"scipy.fft.{name}")
    def transform(x: Array, s=None, axes=usual, norm=None, overwrite_x=False, workers=None, *, plan=None):
        if s is not None and axes is None:
            axes = tuple(range(x.ndim - len(s), x.ndim))
        return of_numpy(x, s, axes, norm)

    transform.__doc__ = f"scipy.fft.{name} along several axes."


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _along_one_axis(_name)
for _name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"):
    _along_several_axes(_name)
for _name in ("fftshift", "ifftshift"):
    FUNCTIONS[f"scipy.fft.{_name}"] = FUNCTIONS[f"fft.{_name}"]


# cosine and sine transforms -------------------------------------------------------------------------------------------


#: How often the ends count in the orthogonal transforms, before and behind those without normalization.
_ENDS = {
    ("dct", 1): ((2**0.5, 2**0.5), (0.5**0.5, 0.5**0.5)),
    ("dct", 2): ((1, 1), (0.5**0.5, 1)),
    ("dct", 3): ((2**0.5, 1), (1, 1)),
    ("dst", 2): ((1, 1), (1, 0.5**0.5)),
    ("dst", 3): ((1, 2**0.5), (1, 1)),
}
#: The type of the inverse.
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
#: By the normalization: the power of the number of samples in a period that the results are multiplied by.
_POWERS = {None: 0.0, "backward": 0.0, "ortho": -0.5, "forward": -1.0}


def _real_transform(name: str) -> None:
    forward = name[-3:]

    @function(f"scipy.fft.{name}")
    def transform(x: Array, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):
        x = inexact(x)
        dim = axis_of(axis, x.ndim)
        n = x.shape[dim] if n is None else plain(n)
        x = ops.transpose(_fit(x, dim, n), dim, x.ndim - 1)
        power, kind = _POWERS[norm], type
        if name != forward:
            power, kind = -1.0 - power, _INVERSE[type]
        period = 2 * n if kind > 1 else 2 * (n - 1) if forward == "dct" else 2 * (n + 1)
        ends = _ENDS.get((forward, kind)) if orthogonalize or (orthogonalize is None and norm == "ortho") else None
        before, behind = ends or ((1, 1), (1, 1))
        y = weighted_ends(ops, ops.trigonometric(weighted_ends(ops, x, *before), forward, kind), *behind)
        return ops.transpose(y * period**power if power else y, dim, x.ndim - 1)

    transform.__doc__ = f"scipy.fft.{name} along one axis."


def _fit(x: Tensor, dim: int, n: int) -> Tensor:
    """The elements along an axis cut off behind the n-th, or followed by zeros."""
    if n <= x.shape[dim]:
        return x.narrow(dim, 0, n)
    widths = [(0, n - x.shape[dim]) if i == dim else (0, 0) for i in range(x.ndim)]
    return ops.constant_pad_nd(x, tuple(width for pair in reversed(widths) for width in pair))


for _name in ("dct", "idct", "dst", "idst"):
    _real_transform(_name)
