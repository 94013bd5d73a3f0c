"""Recursive and smoothing filters of scipy.signal over Tensors: signals and coefficients have derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.namespace import underlying
from adjoint.core.graph import new_tensor
from adjoint.interop.numpy_functions import FUNCTIONS, function
from adjoint.interop.operands import axis_of, kind_of, plain
from adjoint.interop.scipy_functions.axes import by_matrix, extend, move_axes, tensors, windows
from adjoint.interop.scipy_functions.ndimage import by_rank
from adjoint.interop.scipy_functions.pieces import constants
from adjoint.interop.scipy_functions.pieces import plain as values_of
from adjoint.solvers.flattening import one_by_one
from adjoint.tensor.table import ops
from adjoint.transforms.custom_functions.custom import custom

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

# the recursion --------------------------------------------------------------------------------------------------------


@custom
def recursion(a: Tensor, u: Tensor) -> Tensor:
    """y[n] = u[n] - a[1] * y[n - 1] - ... along the last axis; a[0] counts as 1."""
    return one_by_one(_recursion_of_values, a, u)


def _recursion_of_values(a: Tensor, u: Tensor) -> Tensor:
    import scipy.signal

    first = values_of(a).copy()
    first[0] = 1
    y = scipy.signal.lfilter(numpy.ones(1), first, values_of(u), axis=-1)
    return new_tensor(numpy.ascontiguousarray(y.astype(kind_of(u))))


@recursion.vjp
def _(g: Any, y: Any, a: Any) -> Any:
    # the transpose is the same recursion backward in time, with conjugate coefficients
    back = ops.flip(recursion(_conjugate(a), ops.flip(g, (-1,))), (-1,))
    n = y.shape[-1]
    rows = [0 * ops.sum(back)]
    for j in range(1, a.shape[0]):
        rows.append(-ops.sum(back[..., j:] * _conjugate(y[..., : n - j])) if j < n else 0 * ops.sum(back))
    return {"a": ops.stack(rows, 0), "u": back}


def _conjugate(x: Any) -> Any:
    return ops.conj(x) if kind_of(x).kind == "c" else x


def _delay(x: Any, steps: int) -> Any:
    """A signal that begins later, with zeros before."""
    return ops.constant_pad_nd(x, (steps, 0))[..., : x.shape[-1]]


def _normalise(b: Any, a: Any, *others: Any) -> list[Any]:
    """Coefficients with a[0] = 1, of one dtype with others. Raises ValueError where a[0] is 0."""
    b, a, *rest = tensors(b, a, *others)
    b, a = (ops.reshape(c, (1,)) if c.ndim == 0 else c for c in (b, a))
    if numpy.any(underlying(a[0]._array) == 0):
        raise ValueError("The leading coefficient of a must not be 0.")
    return [b / a[0], a / a[0], *rest]


def _apply_filter(b: Any, a: Any, x: Any, start: Any = None) -> Any:
    """A filter with normalised coefficients along the last axis; start: the state of its delays."""
    u = b[0] * x
    for i in range(1, min(b.shape[0], x.shape[-1])):
        u = u + b[i] * _delay(x, i)
    if start is not None:
        n = min(start.shape[-1], x.shape[-1])
        form = (*x.shape[:-1], n)
        u = u + ops.constant_pad_nd(ops.expand(start[..., :n], form), (0, x.shape[-1] - n))
    return recursion(a, u)


def _final_state(b: Any, a: Any, x: Any, y: Any, start: Any) -> Any:
    """The state of the delays after the last element."""
    n, size = x.shape[-1], max(b.shape[0], a.shape[0]) - 1
    state = []
    for k in range(size):
        total = ops.expand(start[..., k + n], tuple(x.shape[:-1])) if k + n < size else 0 * x[..., 0]
        for i in range(k + 1, min(size, k + n) + 1):
            position = n + k - i
            if i < b.shape[0]:
                total = total + b[i] * x[..., position]
            if i < a.shape[0]:
                total = total - a[i] * y[..., position]
        state.append(total)
    return ops.stack(state, -1) if state else x[..., :0]


@function("scipy.signal.lfilter")
def lfilter(b, a, x, axis=-1, zi=None):
    """A signal through a rational filter; with the state zi of its delays, the state afterwards, too."""
    others = [x] if zi is None else [x, zi]
    b, a, *others = _normalise(b, a, *others)
    axis = axis_of(axis, others[0].ndim)
    x, *start = [move_axes(each, axis, -1) for each in others]
    y = _apply_filter(b, a, x, *start)
    if zi is None:
        return move_axes(y, -1, axis)
    return move_axes(y, -1, axis), move_axes(_final_state(b, a, x, y, start[0]), -1, axis)


@function("scipy.signal.lfilter_zi")
def lfilter_zi(b, a):
    """The state of a filter's delays that answers a constant 1 with a constant."""
    b, a = _normalise(b, a)
    n = max(b.shape[0], a.shape[0])
    b, a = (ops.constant_pad_nd(c, (0, n - c.shape[0])) for c in (b, a))
    shift = constants(numpy.eye(n - 1, k=1), a)
    unit = constants(numpy.eye(n - 1)[:, :1], a)
    matrix = constants(numpy.eye(n - 1), a) - shift + a[1:, None] * ops.transpose(unit, 0, 1)
    return ops.linalg_solve(matrix, (b[1:] - a[1:] * b[0])[:, None])[:, 0]


# sections in a row ----------------------------------------------------------------------------------------------------


def _sections(sos: Any) -> list[tuple[Any, Any]]:
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    return [(sos[i, :3], sos[i, 3:]) for i in range(sos.shape[0])]


@function("scipy.signal.sosfilt")
def sosfilt(sos, x, axis=-1, zi=None):
    """A signal through sections of the second order; with their states zi, the states afterwards, too."""
    sos, x = tensors(sos, x)
    start = None if zi is None else tensors(zi, x)[0]
    axis = axis_of(axis, x.ndim)
    states = []
    for i, (b, a) in enumerate(_sections(sos)):
        if start is None:
            x = lfilter(b, a, x, axis)
        else:
            x, state = lfilter(b, a, x, axis, start[i])
            states.append(state)
    return x if start is None else (x, ops.stack(states, 0))


@function("scipy.signal.sosfilt_zi")
def sosfilt_zi(sos):
    """The states of sections that answer a constant 1 with constants."""
    states, gain = [], 1.0
    for b, a in _sections(tensors(sos)[0]):
        states.append(gain * lfilter_zi(b, a))
        gain = gain * ops.sum(b, (0,)) / ops.sum(a, (0,))
    return ops.stack(states, 0)


# forward and backward -------------------------------------------------------------------------------------------------

#: How a signal goes on beyond its ends.
_PADS = ("odd", "even", "constant", None)


def _both_ways(x: Any, axis: int, padtype: Any, width: int, one_way: Any) -> Any:
    """A filter forward, then backward, over a signal that goes on at both ends. one_way: of it and its first value."""
    if padtype not in _PADS:
        raise ValueError(
            f"Unknown value '{padtype}' given to padtype. padtype must be 'even', 'odd', 'constant', or None."
        )
    width = 0 if padtype is None else width
    x = move_axes(x, axis, -1)
    if x.shape[-1] <= width:
        raise ValueError(f"The length of the input vector x must be greater than padlen, which is {width}.")
    y = _pad(x, padtype, width)
    for _ in range(2):
        y = ops.flip(one_way(y, y[..., :1]), (-1,))
    return move_axes(y[..., width : y.shape[-1] - width], -1, axis)


def _pad(x: Any, padtype: Any, width: int) -> Any:
    if not width:
        return x
    last = x.ndim - 1
    if padtype == "constant":
        return extend(x, last, width, width, "edge")
    even = extend(x, last, width, width, "reflect")
    if padtype == "even":
        return even
    n = x.shape[-1]
    low, high = 2 * x[..., :1] - even[..., :width], 2 * x[..., -1:] - even[..., width + n :]
    return ops.cat([low, x, high], -1)


@function("scipy.signal.filtfilt")
def filtfilt(b, a, x, axis=-1, padtype="odd", padlen=None, method="pad", irlen=None):
    """A signal through a filter forward and backward."""
    if method != "pad":
        raise TypeError(f"filtfilt: method={method!r} is not supported for Tensors; use method='pad'")
    b, a, x = _normalise(b, a, x)
    start = lfilter_zi(b, a)
    width = 3 * max(b.shape[0], a.shape[0]) if padlen is None else padlen
    return _both_ways(x, axis_of(axis, x.ndim), padtype, width, lambda y, first: _apply_filter(b, a, y, start * first))


@function("scipy.signal.sosfiltfilt")
def sosfiltfilt(sos, x, axis=-1, padtype="odd", padlen=None):
    """A signal through sections of the second order forward and backward."""
    sos, x = tensors(sos, x)
    start = sosfilt_zi(sos)
    zeros = min((values_of(sos)[:, 2] == 0).sum(), (values_of(sos)[:, 5] == 0).sum())
    width = 3 * (2 * sos.shape[0] + 1 - int(zeros)) if padlen is None else padlen

    def one_way(y: Any, first: Any) -> Any:
        for i, (b, a) in enumerate(_sections(sos)):
            b, a = _normalise(b, a)
            y = _apply_filter(b, a, y, start[i] * first)
        return y

    return _both_ways(x, axis_of(axis, x.ndim), padtype, width, one_way)


# smoothing and resampling ---------------------------------------------------------------------------------------------

_WAYS = {"mirror": "reflect", "nearest": "edge", "wrap": "wrap", "constant": "constant"}


@function("scipy.signal.savgol_filter")
def savgol_filter(x, window_length, polyorder, deriv=0, delta=1.0, axis=-1, mode="interp", cval=0.0):
    """A signal smoothed by polynomials over windows."""
    import scipy.signal

    x = tensors(x)[0]
    axis = axis_of(axis, x.ndim)
    if mode not in (*_WAYS, "interp"):
        raise ValueError("mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
    if mode == "interp" and window_length > x.shape[axis]:
        raise ValueError("If mode is 'interp', window_length must be less than or equal to the size of x.")
    weights = scipy.signal.savgol_coeffs(window_length, polyorder, deriv, delta)[::-1].copy()
    half = window_length // 2
    if mode != "interp":
        x = extend(x, axis, half, window_length - 1 - half, _WAYS[mode], cval)
    inner = windows(x, axis, window_length) @ constants(weights, x)
    if mode != "interp":
        return inner

    def of_window(rows: Any) -> Any:
        return scipy.signal.savgol_filter(rows, window_length, polyorder, deriv, delta, axis=1)

    first, last = x.narrow(axis, 0, window_length), x.narrow(axis, x.shape[axis] - window_length, window_length)
    ends = [by_matrix(of_window, part, axis) for part in (first, last)]
    return ops.cat([ends[0].narrow(axis, 0, half), inner, ends[1].narrow(axis, half + 1, half)], axis)


@function("scipy.signal.resample")
def resample(x, num, t=None, axis=0, window=None, domain="time"):
    """A signal at another number of places, by its Fourier series: a linear function of it."""
    import scipy.signal

    if t is not None or domain != "time":
        raise TypeError(
            f"resample: t and domain={domain!r} are not supported for Tensors; use t=None and domain='time'"
        )
    x = tensors(x)[0]
    return by_matrix(lambda rows: scipy.signal.resample(rows, num, axis=1, window=window), x, axis_of(axis, x.ndim))


@function("scipy.signal.upfirdn")
def upfirdn(h, x, up=1, down=1, axis=-1, mode="constant", cval=0):
    """A signal with zeros between its elements, convolved with a vector and sampled at every `down`-th element."""
    if mode != "constant" or plain(cval) != 0:
        raise TypeError(
            f"upfirdn: mode={mode!r} with cval={cval!r} is not supported for Tensors; use mode='constant' with cval=0, "
            "or pad() the signal"
        )
    up, down = int(plain(up)), int(plain(down))
    h, x = tensors(h, x)
    if h.ndim != 1 or not h.shape[0]:
        raise ValueError("h must be 1-D with non-zero length")
    if up < 1 or down < 1:
        raise ValueError("Both up and down must be >= 1")
    axis = axis_of(axis, x.ndim)
    x = move_axes(x, axis, -1)
    wide = ops.constant_pad_nd(ops.unsqueeze(x, -1), (0, up - 1))
    wide = ops.reshape(wide, (*x.shape[:-1], -1))[..., : (x.shape[-1] - 1) * up + 1]
    kernel = ops.reshape(h, (*[1] * (x.ndim - 1), -1))
    return move_axes(FUNCTIONS["scipy.signal.convolve"](wide, kernel)[..., ::down], -1, axis)


#: Ways of resample_poly to go on beyond the ends that are linear functions of the signal.
_LINEAR_PADS = ("constant", "line", "mean", "symmetric", "reflect", "edge", "wrap")


@function("scipy.signal.resample_poly")
def resample_poly(x, up, down, axis=0, window=("kaiser", 5.0), padtype="constant", cval=None):
    """A signal at another rate, through a filter of finite length: a linear function of it."""
    import scipy.signal

    if padtype not in _LINEAR_PADS or cval:
        raise TypeError(
            f"resample_poly: padtype={padtype!r} with cval={cval!r} is not supported for Tensors; use one of "
            f"{', '.join(_LINEAR_PADS)} without cval"
        )
    x = tensors(x)[0]
    up, down, window = plain(up), plain(down), plain(window)
    return by_matrix(
        lambda rows: scipy.signal.resample_poly(rows, up, down, axis=1, window=window, padtype=padtype),
        x,
        axis_of(axis, x.ndim),
    )


@function("scipy.signal.decimate")
def decimate(x, q, n=None, ftype="iir", axis=-1, zero_phase=True):
    """A signal after an anti-aliasing filter, sampled at every q-th element: a linear function of the signal."""
    import scipy.signal

    x = tensors(x)[0]
    q = plain(q)
    return by_matrix(
        lambda rows: scipy.signal.decimate(rows, q, n, ftype, axis=1, zero_phase=zero_phase), x, axis_of(axis, x.ndim)
    )


@function("scipy.signal.hilbert")
def hilbert(x, N=None, axis=-1):
    """A real signal without the negative frequencies: a linear function of it."""
    import scipy.signal

    x = tensors(x)[0]
    return by_matrix(lambda rows: scipy.signal.hilbert(rows, N, axis=1), x, axis_of(axis, x.ndim))


# filters by rank ------------------------------------------------------------------------------------------------------


def _rank(x, rank_of, sizes, footprint):
    return by_rank(x, rank_of, sizes, footprint, "constant", 0.0, 0, None)


@function("scipy.signal.medfilt")
def medfilt(volume, kernel_size=None):
    """The median of each window, with zeros beyond the edges; the derivative goes to the median element."""
    x = FUNCTIONS["atleast_1d"](tensors(volume)[0])
    return _rank(x, lambda n: n // 2, _odd(3 if kernel_size is None else kernel_size), None)


def _odd(kernel_size):
    sizes = plain(kernel_size)
    if any(size % 2 != 1 for size in numpy.atleast_1d(sizes)):
        raise ValueError("Each element of kernel_size should be odd.")
    return sizes


@function("scipy.signal.medfilt2d")
def medfilt2d(input, kernel_size=3):
    """The median of each window of a matrix, with zeros beyond the edges; the derivative goes to the median element."""
    return _rank(tensors(input)[0], lambda n: n // 2, _odd(kernel_size), None)


@function("scipy.signal.order_filter")
def order_filter(a, domain, rank):
    """The element of a rank in each window, with zeros beyond the edges; the derivative is its own."""
    return _rank(tensors(a)[0], lambda n: int(plain(rank)), None, plain(domain))
