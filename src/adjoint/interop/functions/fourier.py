"""numpy.fft."""

from __future__ import annotations

from adjoint.functions.binding import functions
from adjoint.interop.numpy_functions import Array, function
from adjoint.interop.operands import cast, inexact, kind_of, plain

_fft = functions["fft"]


def _signal(a, real):
    a = inexact(a)
    a = cast(a, "float32") if kind_of(a).name == "float16" else a
    if real and kind_of(a).kind == "c":
        raise TypeError("ufunc 'rfft' did not contain a loop with signature matching complex input")
    return a


def _along_one(name):
    def transform(a: Array, n=None, axis=-1, norm=None, out=None):
        if n is not None and n < 1:
            raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
        return _fft[name](_signal(a, name in ("rfft", "ihfft")), plain(n), axis, norm)

    return transform


def _along_several(name, default):
    def transform(a: Array, s=None, axes=default, norm=None, out=None):
        a = _signal(a, name == "rfftn")
        s, axes = plain(s), plain(axes)
        if axes is None:
            axes = tuple(range(a.ndim))[-len(s) :] if s is not None else tuple(range(a.ndim))
        if not axes:
            return a
        if len(set(axes)) < len(axes):
            # NumPy transforms again along an axis that is named twice
            for axis in reversed(axes):
                a = _fft[name.rstrip("n")](a, None, axis, norm)
            return a
        return _fft[name](a, s, axes, norm)

    return transform


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _one = _along_one(_name)
    _one.__name__, _one.__doc__ = _name, f"numpy.fft.{_name}, along one axis."
    function(f"fft.{_name}")(_one)
for _name in ("fft", "ifft", "rfft", "irfft"):
    for _suffix, _axes in (("2", (-2, -1)), ("n", None)):
        _several = _along_several(f"{_name}n", _axes)
        _several.__name__, _several.__doc__ = _name + _suffix, f"numpy.fft.{_name}{_suffix}, along several axes."
        function(f"fft.{_name}{_suffix}")(_several)


@function("fft.fftshift")
def fftshift(x: Array, axes=None):
    """Frequency 0 moved to the middle."""
    return _fft["fftshift"](x, plain(axes))


@function("fft.ifftshift")
def ifftshift(x: Array, axes=None):
    """The inverse of fftshift()."""
    return _fft["ifftshift"](x, plain(axes))
