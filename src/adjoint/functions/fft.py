"""The functions of adjoint.fft: three forms (one axis, two, any) of six transforms, frequencies and shifts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy

from adjoint.arrays.dtypes import as_dtype, dtype, from_numpy_dtype, get_default_dtype, is_half
from adjoint.arrays.shapes import normalize_dim, require_dim
from adjoint.arrays.size import as_int
from adjoint.core.graph import new_tensor
from adjoint.functions.arguments import real_number
from adjoint.functions.composite import composite, describe, into, ops, torch_call
from adjoint.rules.fft import SWAPPED_NORM
from adjoint.tensor.memory.pinning import pinnable

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
F = TypeVar("F", bound=Callable[..., Any])
Dims = int | Sequence[int] | None

# axes and sizes of a transform ---------------------------------------------------------------------------------------


def _norm(norm: str | None) -> str:
    if norm is not None and norm not in SWAPPED_NORM:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return norm or "backward"


def _inexact(input: Tensor) -> Tensor:
    """The input itself, or whole numbers in the default type."""
    kind = input._array.dtype
    if is_half(kind):
        raise RuntimeError(f"Unsupported dtype {from_numpy_dtype(kind).long_name}")
    return input if kind.kind in "fc" else ops.cast(input, get_default_dtype())


def _resize(input: Tensor, dims: tuple[int, ...], sizes: tuple[int, ...]) -> Tensor:
    shape = input._array.shape
    if tuple([shape[dim] for dim in dims]) == sizes:
        return input
    return ops.resize_axes(input, dims, sizes)


def _full(input: Tensor, dims: tuple[int, ...], sizes: tuple[int, ...], norm: str, inverse: bool) -> Tensor:
    """From a whole signal to its whole spectrum, or back."""
    if not dims:
        return ops.cast(input, input.dtype.to_complex())
    return ops.fft_c2c(_resize(input, dims, sizes), dims, norm, inverse)


def _to_half(input: Tensor, dims: tuple[int, ...], sizes: tuple[int, ...], norm: str, inverse: bool) -> Tensor:
    """From a real signal to half of its spectrum; with the sign of the inverse that is the conjugate."""
    result = ops.fft_r2c(_resize(input, dims, sizes), dims, SWAPPED_NORM[norm] if inverse else norm)
    return ops.conj(result) if inverse else result


def _from_half(input: Tensor, dims: tuple[int, ...], sizes: tuple[int, ...], norm: str, inverse: bool) -> Tensor:
    """From half a spectrum to the real signal; with the sign of the forward transform from the conjugate."""
    half = _resize(input, dims, (*sizes[:-1], sizes[-1] // 2 + 1))
    if not inverse:
        half, norm = ops.conjugate(half), SWAPPED_NORM[norm]
    return ops.fft_c2r(half, dims, norm, sizes[-1])


class _Transform(NamedTuple):
    """One of the six transforms: its operations, and the text of its documentation."""

    run: Callable[..., Tensor]
    inverse: bool
    text: str


_TRANSFORMS = {
    "fft": _Transform(_full, False, "The Fourier transform, the sum of x[j] exp(-2 pi i j k / n) over j"),
    "ifft": _Transform(_full, True, "The inverse Fourier transform, the mean of X[k] exp(2 pi i j k / n) over k"),
    "rfft": _Transform(_to_half, False, "The first half of the Fourier transform of a real signal"),
    "irfft": _Transform(_from_half, True, "The real signal of which the first half of the spectrum is given"),
    "hfft": _Transform(_from_half, False, "The real spectrum of a Hermitian signal of which the first half is given"),
    "ihfft": _Transform(_to_half, True, "The first half of the Hermitian signal whose spectrum is real"),
}
_SHAPES = {_full: [4, 6], _to_half: [4, 4], _from_half: [4, 10]}

# arguments ------------------------------------------------------------------------------------------------------------


def _as_list(values: Any) -> tuple[int, ...]:
    return tuple(map(index, values)) if isinstance(values, (tuple, list)) else (index(values),)


def _axes_and_sizes(name: str, input: Tensor, s: Dims, dim: Dims) -> tuple[tuple[int, ...], list[int]]:
    """The axes to transform, and their sizes after cropping or padding (-1 for no change)."""
    sizes = None if s is None else _as_list(s)
    if dim is not None:
        dims = tuple([require_dim(d, input.ndim) for d in _as_list(dim)])
        if len(set(dims)) < len(dims):
            raise RuntimeError("FFT dims must be unique")
        if sizes is not None and len(sizes) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    else:
        n = input.ndim if sizes is None else len(sizes)
        if n > input.ndim:
            raise RuntimeError(f"Got shape with {n} values but input tensor only has {input.ndim} dimensions.")
        dims = tuple(range(input.ndim - n, input.ndim))
    if not dims and _TRANSFORMS[name].run is not _full:
        raise RuntimeError(f"{name}n must transform at least one axis")
    return dims, list(sizes or [-1] * len(dims))


_REAL_ONLY = {
    "rfft": "{} expects a real input tensor, but got {}",
    "ihfft": "{} expects a real input tensor, but got {}",
    "rfftn": "{} expects a real-valued input tensor, but got {}",
    "ihfftn": "Only supports floating-point dtypes, but found: {1}",
}


def _check_real(name: str, input: Tensor) -> None:
    if name in _REAL_ONLY and input.is_complex():
        raise RuntimeError(_REAL_ONLY[name].format(name, input.dtype.long_name))


def _transform(name: str, input: Tensor, dims: tuple[int, ...], sizes: list[int], norm: str | None) -> Tensor:
    transform = _TRANSFORMS[name]
    shape = input._array.shape
    for position, (dim, n) in enumerate(zip(dims, sizes, strict=True)):
        length = shape[dim]
        halved = transform.run is _from_half and position == len(dims) - 1
        sizes[position] = n if n != -1 else 2 * (length - 1) if halved else length
        if sizes[position] < 1:
            raise RuntimeError(f"Invalid number of data points ({sizes[position]}) specified")
    factor = _norm(norm)
    return transform.run(_inexact(input), dims, tuple(sizes), factor, transform.inverse)


# the functions --------------------------------------------------------------------------------------------------------

_DOC = """{text}; over {axes}.

    Args:
        {size}: the {of} (of half a spectrum: that of the whole) to which the input is cut or continued with zeros.
        dim: {dim}.
        norm: where the factor 1 / n stands: on the inverse ("backward", or None), on the forward transform
            ("forward"), or its root on both ("ortho").

    Raises RuntimeError for half precision{real} and sizes below 1, IndexError for an axis out of range.

    >>> import adjoint
    >>> adjoint.fft.{name}(adjoint.ones(4, 6)).shape
    adjoint.Size({shape})
    """


_ONE = {"axes": "one axis", "size": "n", "of": "size", "dim": "the axis"}
_TWO = {"axes": "two axes", "size": "s", "of": "sizes", "dim": "the axes, or one of them"}
_MANY = {"axes": "several axes", "size": "s", "of": "sizes", "dim": "the axes; None for the last len(s), or for all"}


def _declare(name: str, transform: str, axes: dict[str, str]) -> Callable[[F], F]:
    """Declare a function of adjoint.fft over one axis, two or many, with the docstring of its transform."""
    kind = _TRANSFORMS[transform]
    real = " and complex numbers" if kind.run is _to_half else ""

    def declare(function: F) -> F:
        describe(_DOC, name=name, text=kind.text, real=real, shape=_SHAPES[kind.run], **axes)(function)
        return composite(namespace="fft", method=False)(torch_call(f"fft_{name}")(function))

    return declare


def _over_one(name: str, input: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
    _check_real(name, input)
    axis = require_dim(as_int(f"fft_{name}", "dim", 3, dim), input.ndim)
    size = -1 if n is None else as_int(f"fft_{name}", "n", 2, n)
    if n is not None and size < 1:
        raise RuntimeError(f"Invalid number of data points ({size}) specified")
    return _transform(name, input, (axis,), [size], norm)


def _over_many(name: str, input: Tensor, s: Dims, dim: Dims, norm: str | None) -> Tensor:
    _check_real(f"{name}n", input)
    if _TRANSFORMS[name].run is _full and not input.is_complex():
        real = _inexact(input)
        input = ops.cast(real, real.dtype.to_complex())  # as in torch: the node keeps no real numbers
    return _transform(name, input, *_axes_and_sizes(name, input, s, dim), norm)


@_declare("fft", "fft", _ONE)
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    return _over_one("fft", input, n, dim, norm)


@_declare("fft2", "fft", _TWO)
def fft2(input: Tensor, s: Dims = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    return _over_many("fft", input, s, dim, norm)


@_declare("fftn", "fft", _MANY)
def fftn(input: Tensor, s: Dims = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    return _over_many("fft", input, s, dim, norm)


@_declare("ifft", "ifft", _ONE)
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    return _over_one("ifft", input, n, dim, norm)


@_declare("ifft2", "ifft", _TWO)
def ifft2(input: Tensor, s: Dims = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    return _over_many("ifft", input, s, dim, norm)


@_declare("ifftn", "ifft", _MANY)
def ifftn(input: Tensor, s: Dims = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    return _over_many("ifft", input, s, dim, norm)


@_declare("rfft", "rfft", _ONE)
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    return _over_one("rfft", input, n, dim, norm)


@_declare("rfft2", "rfft", _TWO)
def rfft2(input: Tensor, s: Dims = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    return _over_many("rfft", input, s, dim, norm)


@_declare("rfftn", "rfft", _MANY)
def rfftn(input: Tensor, s: Dims = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    return _over_many("rfft", input, s, dim, norm)


@_declare("irfft", "irfft", _ONE)
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    return _over_one("irfft", input, n, dim, norm)


@_declare("irfft2", "irfft", _TWO)
def irfft2(input: Tensor, s: Dims = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    return _over_many("irfft", input, s, dim, norm)


@_declare("irfftn", "irfft", _MANY)
def irfftn(input: Tensor, s: Dims = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    return _over_many("irfft", input, s, dim, norm)


@_declare("hfft", "hfft", _ONE)
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    return _over_one("hfft", input, n, dim, norm)


@_declare("hfft2", "hfft", _TWO)
def hfft2(input: Tensor, s: Dims = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    return _over_many("hfft", input, s, dim, norm)


@_declare("hfftn", "hfft", _MANY)
def hfftn(input: Tensor, s: Dims = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    return _over_many("hfft", input, s, dim, norm)


@_declare("ihfft", "ihfft", _ONE)
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    return _over_one("ihfft", input, n, dim, norm)


@_declare("ihfft2", "ihfft", _TWO)
def ihfft2(input: Tensor, s: Dims = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    return _over_many("ihfft", input, s, dim, norm)


@_declare("ihfftn", "ihfft", _MANY)
def ihfftn(input: Tensor, s: Dims = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    return _over_many("ihfft", input, s, dim, norm)


# frequencies ----------------------------------------------------------------------------------------------------------


def _roll(input: Tensor, dim: Dims, part: Callable[[int], int]) -> Tensor:
    dims = tuple(range(input.ndim)) if dim is None else tuple([normalize_dim(d, input.ndim) for d in _as_list(dim)])
    if not dims:
        raise RuntimeError("`shifts` required")
    shifts: dict[int, int] = {}
    for axis in dims:
        shifts[axis] = shifts.get(axis, 0) + part(input.shape[axis])
    return ops.roll(input, tuple(shifts.values()), tuple(shifts))


@composite(namespace="fft", method=False)
@torch_call("fft_fftshift")
def fftshift(input: Tensor, dim: Dims = None) -> Tensor:
    """The elements of a spectrum in the order of their frequencies: the frequency 0 in the middle of each axis.

    >>> import adjoint
    >>> adjoint.fft.fftshift(adjoint.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _roll(input, dim, lambda n: n // 2)


@composite(namespace="fft", method=False)
@torch_call("fft_ifftshift")
def ifftshift(input: Tensor, dim: Dims = None) -> Tensor:
    """The inverse of fftshift(): the frequency 0 comes first.

    >>> import adjoint
    >>> adjoint.fft.ifftshift(adjoint.tensor([-0.5, -0.25, 0.0, 0.25]))
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    return _roll(input, dim, lambda n: (n + 1) // 2)


def _frequencies(
    name: str, frequencies: Any, n: int, d: float, out: Tensor | None, dtype: dtype | None, requires_grad: bool
) -> Tensor:
    kind = get_default_dtype() if dtype is None else as_dtype(dtype, f"fft_{name}")
    if not (kind.is_floating_point or kind.is_complex):
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    d = real_number(f"fft_{name}", "d", 2, d)
    with numpy.errstate(all="ignore"):
        result = new_tensor((frequencies * (1 / numpy.float64(n * d))).astype(kind.numpy))
    if out is not None:
        return into(out, result, f"fft_{name}")
    result.requires_grad = requires_grad
    return result


@composite(namespace="fft", method=False)
@pinnable
def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies, in cycles per unit of the sample spacing d, of the elements of a transform of size n.

    Raises RuntimeError for a negative size and for a dtype of whole numbers.

    >>> import adjoint
    >>> adjoint.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    n = as_int("fft_fftfreq", "n", 1, n)
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    indices = numpy.arange(n)
    indices[(n + 1) // 2 :] -= n
    return _frequencies("fftfreq", indices, n, d, out, dtype, requires_grad)


@composite(namespace="fft", method=False)
@pinnable
def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of the elements of rfft() of size n: the first half of fftfreq(), all positive.

    >>> import adjoint
    >>> adjoint.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    n = as_int("fft_rfftfreq", "n", 1, n)
    if n < -2:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n // 2 + 1}: [{n // 2 + 1}]")
    return _frequencies("rfftfreq", numpy.arange(n // 2 + 1), n, d, out, dtype, requires_grad)
