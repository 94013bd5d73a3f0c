"""scipy.signal over Tensors: convolution and correlation, by the declared convolutions or by Fourier transforms."""

from __future__ import annotations

import numpy

from adjoint.interop.numpy_functions import FUNCTIONS, Array, function
from adjoint.interop.operands import axes_of, inexact, kind_of, plain, promote, tensor_of
from adjoint.tensor.table import ops


def _by_fourier(a, b, axes):
    """The full convolution along axes; the others broadcast."""
    lengths = [a.shape[i] + b.shape[i] - 1 for i in axes]
    if "c" in (kind_of(a).kind, kind_of(b).kind):
        spectrum = FUNCTIONS["fft.fftn"](a, lengths, axes) * FUNCTIONS["fft.fftn"](b, lengths, axes)
        return FUNCTIONS["fft.ifftn"](spectrum, lengths, axes)
    spectrum = FUNCTIONS["fft.rfftn"](a, lengths, axes) * FUNCTIONS["fft.rfftn"](b, lengths, axes)
    return FUNCTIONS["fft.irfftn"](spectrum, lengths, axes)


def _directly(a, b):
    """The full convolution as a sum of moved copies of the larger one, one for each element of the smaller one."""
    if a.numel() < b.numel():
        a, b = b, a
    total = None
    for index in numpy.ndindex(*b.shape):
        pads = [(k, n - 1 - k) for k, n in zip(index, b.shape, strict=True)]
        part = b[index] * ops.constant_pad_nd(a, tuple(width for pair in reversed(pads) for width in pair))
        total = part if total is None else total + part
    return total


def _crop(full, a_shape, b_shape, mode, axes):
    """The part of a full convolution that a mode keeps."""
    if mode == "full":
        return full
    if mode == "same":
        sizes = {i: a_shape[i] for i in axes}
    elif mode == "valid":
        sizes = {i: max(a_shape[i], b_shape[i]) - min(a_shape[i], b_shape[i]) + 1 for i in axes}
    else:
        raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")
    for i, size in sizes.items():
        full = full.narrow(i, (full.shape[i] - size) // 2, size)
    return full


def _check(a, b):
    if a.ndim != b.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")


#: Up to this number of elements of the smaller one the sum is quicker than transforms, and more exact.
_FEW = 64


@function("scipy.signal.convolve")
def convolve(in1: Array, in2: Array, mode="full", method="auto"):
    """The convolution of two arrays of as many axes."""
    a, b = promote(in1, in2)
    _check(a, b)
    if not a.ndim:
        return a * b
    if not a.numel() or not b.numel():
        return tensor_of(numpy.zeros(0, kind_of(a)))
    few = min(a.numel(), b.numel()) <= _FEW
    direct = method == "direct" or (method == "auto" and (few or kind_of(a).kind in "biu"))
    full = _directly(a, b) if direct else _by_fourier(inexact(a), inexact(b), tuple(range(a.ndim)))
    return _crop(full, a.shape, b.shape, mode, range(a.ndim))


@function("scipy.signal.fftconvolve", "scipy.signal.oaconvolve")
def fftconvolve(in1: Array, in2: Array, mode="full", axes=None):
    """The convolution along axes by Fourier transforms."""
    a, b = promote(inexact(in1), inexact(in2))
    _check(a, b)
    if not a.ndim:
        return a * b
    along = axes_of(axes, a.ndim)
    return _crop(_by_fourier(a, b, along), a.shape, b.shape, mode, along)


@function("scipy.signal.correlate")
def correlate(in1: Array, in2: Array, mode="full", method="auto"):
    """The correlation: the convolution with in2 conjugated and in reverse."""
    a, b = promote(in1, in2)
    if not b.ndim:
        return a * ops.conj(b)
    kernel = ops.flip(b, tuple(range(b.ndim)))
    kernel = ops.conj(kernel) if kind_of(kernel).kind == "c" else kernel
    return FUNCTIONS["scipy.signal.convolve"](a, kernel, mode, method)


@function("scipy.signal.convolve2d")
def convolve2d(in1: Array, in2: Array, mode="full", boundary="fill", fillvalue=0):
    """The convolution of two matrices, with zeros around them."""
    if boundary != "fill" or plain(fillvalue) != 0:
        raise TypeError(
            f"convolve2d(): boundary={boundary!r} with fillvalue={fillvalue!r} is not supported for Tensors; use "
            "boundary='fill' with fillvalue=0, or pad() them"
        )
    return FUNCTIONS["scipy.signal.convolve"](in1, in2, mode)


@function("scipy.signal.correlate2d")
def correlate2d(in1: Array, in2: Array, mode="full", boundary="fill", fillvalue=0):
    """The correlation of two matrices, with zeros around them."""
    if boundary != "fill" or plain(fillvalue) != 0:
        raise TypeError(
            f"correlate2d(): boundary={boundary!r} with fillvalue={fillvalue!r} is not supported for Tensors; use "
            "boundary='fill' with fillvalue=0, or pad() them"
        )
    return FUNCTIONS["scipy.signal.correlate"](in1, in2, mode)


@function("scipy.signal.detrend")
def detrend(data: Array, axis=-1, type="linear", bp=0, overwrite_data=False):
    """Samples without their mean or their linear trend."""
    data = inexact(data)
    if plain(bp) != 0:
        raise TypeError(f"detrend(): bp={bp!r} is not supported for Tensors; detrend each piece by itself")
    (dim,) = axes_of(axis, data.ndim)
    if type in ("constant", "c"):
        return data - ops.mean(data, (dim,), True)
    if type not in ("linear", "l"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    n = data.shape[dim]
    basis = numpy.linalg.qr(numpy.stack([numpy.ones(n), numpy.arange(n) / n], 1))[0].astype(kind_of(data))
    rows = ops.transpose(data, dim, -1)
    return ops.transpose(rows - (rows @ tensor_of(basis)) @ tensor_of(basis.T), dim, -1)
