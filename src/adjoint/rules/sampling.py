"""Sampling images between their elements: each result is a weighted sum of a few elements at places of its own.

Images have shape (.., C, S), all their axes in one; places and weights (.., P, T) name T elements for each of P
results. A place of -1 is none. The three operations are one trilinear form with one of its arrays left out, so the
derivatives of each are the other two.
"""

from math import prod

from adjoint.arrays.kernels import scatter

from .declare import Array, Constant, constant, multilinear

_OPTIONS = {"method": False, "function": False, "batching": "joint", "node": "GridSamplerBackward0"}


def _rows(xp, array):
    # (.., C, S) as one row of channels for each element: (images * S, C)
    turned = xp.matrix_transpose(array)
    return xp.reshape(turned, (prod(turned.shape[:-1]), turned.shape[-1]))


def _images(xp, rows, outer, n):
    # the transposes: (.., C, n)
    images = xp.empty((*outer, rows.shape[-1], n), dtype=rows.dtype)
    images[...] = xp.matrix_transpose(xp.reshape(rows, (*outer, n, rows.shape[-1])))
    return images


def _rows_at(xp, indices, size):
    # for each of T the numbers of rows, and a mask of results without a row (None: each result has one)
    images = prod(indices.shape[:-2])
    flat = xp.reshape(indices, (images, *indices.shape[-2:]))
    missing = flat < 0
    where = xp.where(missing, 0, flat) + (xp.arange(images) * size)[:, None, None]
    some = bool(xp.any(missing))
    for t in range(indices.shape[-1]):
        yield xp.reshape(where[..., t], (-1,)), xp.reshape(missing[..., t], (-1,)) if some else None


def _picked(xp, rows, where, missing):
    if not rows.shape[0]:
        return xp.zeros((where.shape[0], rows.shape[1]), dtype=rows.dtype)
    picked = xp.take(rows, where, axis=0)
    if missing is not None:
        picked = xp.where(missing[:, None], 0, picked)
    return picked


def _have_loops(places, *arrays):
    return scatter.can_do(*arrays) and type(places) is type(arrays[0])


def _column(xp, weight, t):
    return xp.reshape(weight[..., t], (-1, 1))


@constant(method=False, function=False, core="(n)->(m)")
def corner_places(xp, wholes: Array, lengths, steps):
    """The places in flat images of points (.., n), given by whole numbers along each axis, and of neighbours.

    steps: how far along each axis the neighbours lie from a point. -1 for what lies outside of the image.
    """
    if scatter.can_do(wholes) and wholes.size:
        return scatter.corner_places(wholes, lengths, steps)
    flat = inside = None
    for axis, length in enumerate(lengths):
        step = xp.asarray([step[axis] for step in steps], dtype=wholes.dtype)
        whole = wholes[..., axis : axis + 1] + step
        here = (whole >= 0) & (whole < length)
        number = xp.astype(xp.where(here, whole, 0), xp.int64)
        flat = number if flat is None else flat * length + number
        inside = here if inside is None else inside & here
    return xp.where(inside, flat, -1)


@multilinear(**_OPTIONS)
def sample(xp, input: Array, weight: Array, places: Constant):
    """The weighted sums of elements: (.., C, P)."""
    if _have_loops(places, input, weight):
        return scatter.samples(input, weight, places)
    rows = _rows(xp, input)
    count = places.shape[-2]
    total = xp.zeros((prod(places.shape[:-1]), input.shape[-2]), dtype=input.dtype)
    for t, (where, missing) in enumerate(_rows_at(xp, places, input.shape[-1])):
        total += _picked(xp, rows, where, missing) * _column(xp, weight, t)
    return _images(xp, total, input.shape[:-2], count)


@multilinear(**_OPTIONS)
def sample_input(xp, grad: Array, weight: Array, places: Constant, size):
    """The transpose of sample in its input, of `size` elements: sums of each element's contributions to all results."""
    if _have_loops(places, grad, weight):
        return scatter.sampled_images(weight, places, grad, size)
    rows = _rows(xp, grad)
    outer = grad.shape[:-2]
    total = xp.zeros((prod(outer) * size, grad.shape[-2]), dtype=grad.dtype)
    for t, (where, missing) in enumerate(_rows_at(xp, places, size)):
        values = rows * _column(xp, weight, t)
        if missing is not None:
            where, values = where[~missing], xp.getitem(values, (~missing,))
        if where.shape[0]:
            total += xp.sum_at(total.shape, (where,), values)
    return _images(xp, total, outer, size)


@multilinear(**_OPTIONS)
def sample_weight(xp, grad: Array, input: Array, places: Constant):
    """The transpose of sample in its weights: the inner products over channels of results and elements."""
    if _have_loops(places, grad, input):
        return scatter.sampled_weights(input, places, grad)
    results, rows = _rows(xp, grad), _rows(xp, input)
    columns = [
        xp.sum(results * _picked(xp, rows, where, missing), axis=-1)
        for where, missing in _rows_at(xp, places, input.shape[-1])
    ]
    return xp.reshape(xp.stack(columns, axis=-1), places.shape)


@sample.vjp("input")
def _(ops, g, weight, places, input_shape):
    return ops.sample_input(g, ops.conjugated(weight), places, input_shape[-1])


@sample.vjp("weight")
def _(ops, g, input, places):
    return ops.sample_weight(g, ops.conjugated(input), places)


@sample_input.vjp("grad")
def _(ops, g, weight, places):
    return ops.sample(g, ops.conjugated(weight), places)


@sample_input.vjp("weight")
def _(ops, g, grad, places):
    return ops.sample_weight(ops.conjugated(grad), g, places)


@sample_weight.vjp("grad")
def _(ops, g, input, places):
    return ops.sample(ops.conjugated(input), g, places)


@sample_weight.vjp("input")
def _(ops, g, grad, places, input_shape):
    return ops.sample_input(ops.conjugated(grad), g, places, input_shape[-1])
