"""Discrete Fourier transforms.

All are linear. A transform is, up to a factor, the transpose of its inverse. So one rule with a direction serves both,
and every derivative is again one of the three transforms. `norm` places the factor, as in NumPy: "backward" puts 1/n on
the inverse, "forward" puts it on the forward transform, "ortho" puts its root on both. A transpose swaps "backward" and
"forward".

Of a real signal's spectrum only the first half is stored: every frequency but the first (and for an even size the
last) represents its mirror image, too.
"""

from adjoint.arrays.dtypes import kind_of

from .declare import Array, linear

#: The place of the factor in the transform of the opposite direction with the same factor.
SWAPPED_NORM = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


#: The node of transforms of real numbers: torch's saves them, and needs no more than their shape.
_REAL = ("FftR2CBackward0",)


def _node_of_full(input, *others):
    return "FftC2CBackward0" if kind_of(input._array) == "c" else _REAL[0]


# Attributes of torch's nodes: its number of a norm (the factor is 1, the root of 1 / n, or 1 / n), and the direction.
_HIDDEN = dict.fromkeys(("norm", "inverse", "size", "input_shape"))


def _factor(norm, inverse):
    return 1 if norm == "ortho" else 2 if (norm == "backward") == inverse else 0


_SHOWN_FULL = {
    "shown": _HIDDEN,
    "attributes": lambda norm, inverse: {"forward": not inverse, "normalization": _factor(norm, inverse)},
}
_SHOWN_HALF = {
    "shown": _HIDDEN,
    "attributes": lambda norm: {"onesided": True, "normalization": _factor(norm, False)},
}
_SHOWN_BACK = {"shown": _HIDDEN, "attributes": lambda norm: {"normalization": _factor(norm, True)}}


def _with_axis(shape, dim, n):
    return (*shape[:dim], n, *shape[dim + 1 :])


@linear(axes=("dim",), dtypes="any", method=False, function=False, node=_node_of_full, runs_once=_REAL, **_SHOWN_FULL)
def fft_c2c(xp, input: Array, dim, norm, inverse):
    """The transform over axes, the complex result in full; `inverse` has the opposite sign in the exponent."""
    if not input.size:
        return xp.zeros(input.shape, dtype=xp.result_type(input.dtype, xp.complex64))
    return (xp.fft.ifftn if inverse else xp.fft.fftn)(input, axes=dim, norm=norm)


@fft_c2c.vjp("input")
def _(ops, g, dim, norm, inverse):
    return ops.fft_c2c(g, dim, SWAPPED_NORM[norm], not inverse)


@linear(axes=("dim",), dtypes="any", method=False, function=False, node=_REAL[0], runs_once=_REAL, **_SHOWN_HALF)
def fft_r2c(xp, input: Array, dim, norm):
    """The transform of real numbers over axes; of the last one the first half of the result."""
    if not input.size:
        shape = _with_axis(input.shape, dim[-1], input.shape[dim[-1]] // 2 + 1)
        return xp.zeros(shape, dtype=xp.result_type(input.dtype, xp.complex64))
    return xp.fft.rfftn(input, axes=dim, norm=norm)


@fft_r2c.vjp("input")
def _(ops, g, input_shape, dim, norm):
    n = input_shape[dim[-1]]
    return ops.fft_c2r(ops.scale_mirrored(g, dim[-1], n, 0.5), dim, SWAPPED_NORM[norm], n)


@linear(axes=("dim",), dtypes="any", method=False, function=False, node="FftC2RBackward0", **_SHOWN_BACK)
def fft_c2r(xp, input: Array, dim, norm, size):
    """The inverse transform over axes, real; of the last one the first half is given, `size` is its size in full."""
    if not input.size:
        return xp.real(xp.zeros(_with_axis(input.shape, dim[-1], size), dtype=input.dtype))
    sizes = [input.shape[axis] for axis in dim[:-1]]
    return xp.fft.irfftn(input, s=(*sizes, size), axes=dim, norm=norm)


@fft_c2r.vjp("input")
def _(ops, g, dim, norm, size):
    return ops.scale_mirrored(ops.fft_r2c(g, dim, SWAPPED_NORM[norm]), dim[-1], size, 2)


@linear(axes=("dim",), method=False, function=False)
def scale_mirrored(xp, input: Array, dim, size, factor):
    """Half a spectrum with a factor on the entries that represent two frequencies of the whole spectrum of a size."""
    result = xp.asarray(input, copy=True)
    result[(slice(None),) * dim + (slice(1, (size + 1) // 2), ...)] *= factor
    return result


@scale_mirrored.vjp("input")
def _(ops, g, dim, size, factor):
    return ops.scale_mirrored(g, dim, size, factor)


@linear(axes=("dim",), method=False, function=False)
def resize_axes(xp, input: Array, dim, sizes):
    """The input with axes cut off, or continued with zeros, to given sizes."""
    shape, part = list(input.shape), [slice(None)] * input.ndim
    for axis, n in zip(dim, sizes, strict=True):
        shape[axis], part[axis] = n, slice(min(n, input.shape[axis]))
    result = xp.zeros(tuple(shape), dtype=input.dtype)
    result[tuple(part)] = input[tuple(part)]
    return result


@resize_axes.vjp("input")
def _(ops, g, input_shape, dim):
    return ops.resize_axes(g, dim, tuple([input_shape[axis] for axis in dim]))


# cosine and sine transforms -------------------------------------------------------------------------------------------
# Their matrices are symmetric except at the ends. Types 2 and 3 are each other's transpose except at the ends.

#: By name and type: the type of the transpose, and how often the first and last elements count, before and behind it.
_TRANSPOSED = {
    ("dct", 1): (1, (2, 2), (0.5, 0.5)),
    ("dct", 2): (3, (2, 1), (1, 1)),
    ("dct", 3): (2, (1, 1), (0.5, 1)),
    ("dct", 4): (4, (1, 1), (1, 1)),
    ("dst", 1): (1, (1, 1), (1, 1)),
    ("dst", 2): (3, (1, 2), (1, 1)),
    ("dst", 3): (2, (1, 1), (1, 0.5)),
    ("dst", 4): (4, (1, 1), (1, 1)),
}


def weighted_ends(ops, x, first, last):
    """The first and last elements along the last axis multiplied by numbers."""
    if first == last == 1 or not x.shape[-1]:
        return x
    if x.shape[-1] == 1:
        return x * (first * last)
    return ops.cat([x[..., :1] * first, x[..., 1:-1], x[..., -1:] * last], x.ndim - 1)


@linear(method=False, function=False)
def trigonometric(xp, input: Array, name, type):
    """scipy.fft's dct or dst along the last axis, without normalization."""
    return getattr(xp.fft, name)(input, type=type)


@trigonometric.vjp("input")
def _(ops, g, name, type):
    other, before, behind = _TRANSPOSED[name, type]
    turned = ops.trigonometric(weighted_ends(ops, g, *before), name, other)
    return weighted_ends(ops, turned, *behind)
