"""Distances between points, and vectors shortened to a length."""

from math import inf

from adjoint.arrays.dtypes import kind_of
from adjoint.arrays.kernels.vectors import pairs, run_pairs
from adjoint.arrays.namespace import native

from .declare import Array, Kernels, Numeric, general
from .reduce import dims_of, norm_gradient

# distances between all pairs ------------------------------------------------------------------------------------------


@general(
    core="(p,m),(r,m)->(p,r)",
    separable=True,
    method=False,
    function=False,
    node="CdistBackward0",
    shown={"by_product": None},
)
def cdist(xp, x1: Array, x2: Array, p: Numeric, by_product=False):
    """The p-norm of the difference of each row of x1 and each row of x2.

    by_product: for p 2 from the squares of lengths and one matrix product, which is faster and less accurate.
    """
    if by_product:
        lengths = [xp.sum(x * x, axis=-1) for x in (x1, x2)]
        squares = lengths[0][..., :, None] + lengths[1][..., None, :] - 2 * xp.matmul(x1, xp.matrix_transpose(x2))
        return xp.sqrt(xp.maximum(squares, 0))
    return xp.pairwise_distances(x1, x2, p)


def _weights(ops, g, y):
    zero = y == 0
    return ops.where(zero, 0, g / ops.where(zero, 1, y))


def _between(x1, x2):
    return x1[..., :, None, :] - x2[..., None, :, :]


def _slopes(ops, scale, y, away, p):
    """The derivative of each distance by the difference of its two points, times a number; 0 for equal points."""
    if p == 0:
        return away * 0
    if p == 2:
        return away * _weights(ops, scale, y)[..., None]
    # the sign is 0 where coordinates are equal, as all are of equal points
    direction = ops.sgn(away) * scale[..., None]
    if p == 1:
        return direction
    size = ops.abs(away)
    if p == inf:
        return ops.where(size == y[..., None], direction, 0)
    flat = size == 0
    ratio = ops.where(flat, 1, size) / ops.where(y == 0, 1, y)[..., None]
    return ops.where(flat, 0, direction * ratio ** (p - 1))


@cdist.vjp("x1", "x2")
def _(ops, g, y, x1, x2, p, by_product, needs):
    if not by_product:
        slopes = _slopes(ops, g, y, _between(x1, x2), p)
        first = ops.sum(slopes, g.ndim - 1, False) if needs[0] else None
        return first, (-ops.sum(slopes, g.ndim - 2, False) if needs[1] else None)
    w = _weights(ops, g, y)
    w_t = ops.transpose(w, -2, -1)
    first = x1 * ops.sum(w, w.ndim - 1, True) - w @ x2 if needs[0] else None
    return first, (x2 * ops.sum(w_t, w.ndim - 1, True) - w_t @ x1 if needs[1] else None)


@cdist.jvp("x1")
def _(ops, t, y, x1, x2, p, by_product):
    if by_product:
        along = ops.sum(x1 * t, t.ndim - 1, False)[..., :, None] - t @ ops.transpose(x2, -2, -1)
        return _weights(ops, along, y)
    slopes = _slopes(ops, ops.ones_like(y), y, _between(x1, x2), p)
    return ops.sum(slopes * t[..., :, None, :], slopes.ndim - 1, False)


@cdist.jvp("x2")
def _(ops, t, y, x1, x2, p, by_product):
    if by_product:
        along = ops.sum(x2 * t, t.ndim - 1, False)[..., None, :] - x1 @ ops.transpose(t, -2, -1)
        return _weights(ops, along, y)
    slopes = _slopes(ops, ops.ones_like(y), y, _between(x1, x2), p)
    return -ops.sum(slopes * t[..., None, :, :], slopes.ndim - 1, False)


@general(core="(n,m)->(k)", method=False, function=False)
def pdist(xp, input: Array, p: Numeric):
    """The p-norms of the differences of all pairs of rows."""
    distances = run_pairs(input, p)
    if distances is not None:
        return distances
    first, second = pairs(input.shape[-2])
    away = xp.take(input, xp.asarray(first), axis=-2) - xp.take(input, xp.asarray(second), axis=-2)
    if not away.shape[-1]:
        return xp.sum(away, axis=-1)
    return Kernels(xp).linalg_vector_norm(away, p, (away.ndim - 1,), False)


@pdist.vjp("input")
def _(ops, g, y, input, p):
    cotangent = native(run_pairs, input, p, y, g)
    if cotangent is not None:
        return cotangent
    first, second = pairs(input.shape[-2])
    # the points first, then the axes of a batch
    axis = input.ndim - 2
    points = ops.transpose(input, 0, axis)
    away = ops.index(points, (first,)) - ops.index(points, (second,))
    slopes = ops.transpose(_slopes(ops, g, y, ops.transpose(away, 0, axis), p), 0, axis)
    total = ops.sum_at(slopes, points.shape, (first,)) - ops.sum_at(slopes, points.shape, (second,))
    return ops.transpose(total, 0, axis)


# vectors of limited length --------------------------------------------------------------------------------------------

#: Added to a length before dividing by it, as torch does.
_TINY = 1e-7


def _others(dim, ndim):
    reduced = dims_of(dim, ndim)
    return tuple([axis for axis in range(ndim) if axis not in reduced])


def _check_renorm(input, p, dim, maxnorm):
    if not isinstance(p, (int, float)) or p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input._array.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input._array.ndim} dimensions")
    if kind_of(input._array) in "biu":
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {input.dtype.long_name}"
        )


def _shortening(ops, length, maxnorm):
    """The mask of lengths that are too long, the factor of their vectors, and the factor's derivative by the length."""
    long = length > maxnorm
    padded = ops.where(long, length, 1) + _TINY
    factor = maxnorm / padded
    return long, ops.where(long, factor, 1), -factor / padded


@general(axes=("dim",), separable=False, rows=True, inplace=True, check=_check_renorm)
def renorm(xp, input: Array, p: Numeric, dim, maxnorm: Numeric):
    """The slices along an axis, scaled down to maxnorm if their p-norm is larger."""
    axes = _others(dim, input.ndim)
    size = xp.abs(input)
    if p == inf:
        length = xp.max(size, axis=axes, keepdims=True, initial=0)
    else:
        length = xp.sum(size**p, axis=axes, keepdims=True) ** (1 / p)
    return input * xp.astype(xp.where(length > maxnorm, maxnorm / (length + _TINY), 1), size.dtype)


@renorm.vjp("input")
def _(ops, g, input, p, dim, maxnorm):
    axes = _others(dim, input.ndim)
    length = ops.linalg_vector_norm(input, p, axes, True)
    long, factor, slope = _shortening(ops, length, maxnorm)
    pull = slope * ops.sum(ops.real(ops.conj(input) * g), axes, True)
    return g * factor + ops.where(long, norm_gradient(ops, pull, length, input, p, axes, True), 0)


@renorm.jvp("input")
def _(ops, t, input, p, dim, maxnorm):
    axes = _others(dim, input.ndim)
    length = ops.linalg_vector_norm(input, p, axes, True)
    long, factor, slope = _shortening(ops, length, maxnorm)
    gradient = norm_gradient(ops, ops.ones_like(length), length, input, p, axes, True)
    change = slope * ops.sum(ops.real(ops.conj(gradient) * t), axes, True)
    return t * factor + ops.where(long, input * change, 0)


@renorm.batch
def _(dim):
    return {"dim": (0, *dim) if isinstance(dim, tuple) else (0, dim)}
