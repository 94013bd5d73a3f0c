"""Max pooling, windows laid out as columns, and constant margins.

`maxima` takes the largest element of each window. Its backward scatters the cotangents to the elements that were
largest: `from_places` gathers elements by their places, and `on_places` is the transpose. `im2col` and `col2im` are
transposes of each other as well. Average pooling is a linear map along axes: see interpolation.py.
"""

from math import prod

from adjoint.arrays.kernels import axis_maps, scatter
from adjoint.arrays.namespace import with_channels_as
from adjoint.runtime.caches import memoize

from .declare import Array, Constant, Number, constant, general, linear, second_order_name
from .elementwise import row_major_copy

# max pooling ----------------------------------------------------------------------------------------------------------


def _maximum_node(n):
    return f"MaxPool{max(n, 2)}DWithIndicesBackward0"


@general(
    method=False,
    function=False,
    batching="align",
    node=lambda input, maps: _maximum_node(len(maps)),
    shown={"maps": None},
)
def maxima(xp, input: Array, maps):
    """The largest element of each window over the last axes."""
    return with_channels_as(axis_maps.maxima(xp, input, maps), input)


@constant(method=False, function=False, batching="axes", dtypes="same")
def places_of_maxima(xp, input: Array, maps):
    """The indices of the maxima in the flat image."""
    return with_channels_as(axis_maps.places_of_maxima(xp, input, maps), input)


def _of_filled_windows(ops, numbers, maps):
    """Drops cotangents or tangents of windows that hold only padding: their -inf depends on no element."""
    filled = axis_maps.zero_fills(maps)
    return numbers if filled is None else ops.along_axes(numbers, filled)


@maxima.vjp("input")
def _(ops, g, input, maps):
    g = _of_filled_windows(ops, g, maps)
    # the input is saved, since the result may be overwritten: relu in place after pooling is usual
    image = tuple(input.shape[input.ndim - len(maps) :])
    once = all(axis_map.transpose.passes == 1 for axis_map in maps)
    return ops.on_places(g, ops.places_of_maxima(input, maps), image, len(maps), once)


@maxima.jvp("input")
def _(ops, t, input, maps):
    tangents = ops.from_places(t, ops.places_of_maxima(input, maps), len(maps))
    return _of_filled_windows(ops, tangents, maps)


def _flat(xp, indices, size, ndim):
    """Indices in each image as indices in all images, concatenated."""
    images = indices.shape[: indices.ndim - ndim]
    start = xp.reshape(xp.arange(prod(images)) * size, (*images, *(1,) * ndim))
    return xp.reshape(indices + start, (-1,))


@linear(method=False, function=False, batching="joint", dtypes="same")
def from_places(xp, input: Array, places: Constant, ndim):
    """The elements at indices of the flat image; image and results both have `ndim` last axes."""
    size = prod(input.shape[input.ndim - ndim :])
    if not places.size:
        return xp.zeros(places.shape, dtype=input.dtype)
    elements = xp.take(xp.reshape(input, (-1,)), _flat(xp, places, size, ndim), axis=0)
    return xp.reshape(elements, places.shape)


@from_places.vjp("input")
def _(ops, g, input_shape, places, ndim):
    return ops.on_places(g, places, input_shape[len(input_shape) - ndim :], ndim, False)


def _node_on_places(input, places, image, *others):
    return second_order_name(_maximum_node(len(image)))


@linear(method=False, function=False, batching="joint", dtypes="same", node=_node_on_places)
def on_places(xp, input: Array, places: Constant, image, ndim, once):
    """The transpose of from_places: elements added at places of images of zeros; `once`: no place is named twice."""
    outer = input.shape[: input.ndim - ndim]
    if scatter.can_do(input):
        return xp.reshape(scatter.add_elements(input, places, prod(outer), prod(image)), (*outer, *image))
    result = xp.zeros((prod(outer) * prod(image),), dtype=input.dtype)
    if input.size:
        where, values = _flat(xp, places, prod(image), ndim), xp.reshape(input, (-1,))
        if once:
            xp.setitem(result, (where,), values)
        else:
            xp.reduce_at("add", result, (where,), values)
    return xp.reshape(result, (*outer, *image))


@on_places.vjp("input")
def _(ops, g, places, ndim):
    return ops.from_places(g, places, ndim)


# fractional max pooling -----------------------------------------------------------------------------------------------


def _starts(xp, samples, size, kernel, count):
    """The first indices of windows along an axis, for random samples of [0, 1).

    The distances between windows are the two integers next to the mean distance. The sample determines their order.
    Every step rounds to the samples' dtype, so that the windows are PyTorch's.
    """
    last = size - kernel
    u = samples[..., None]
    step = xp.asarray(last / (count - 1) if count > 1 else 0.0, dtype=u.dtype)
    numbers = xp.astype(xp.arange(count), u.dtype)
    starts = xp.astype((numbers + u) * step, xp.int64) - xp.astype(u * step, xp.int64)
    starts[..., -1:] = last
    return starts


@constant(method=False, function=False, batching="joint")
def places_in_drawn_windows(xp, input: Array, samples: Constant, kernel, results):
    """The place of each window's maximum in the flat image: the first maximum, or the last NaN."""
    n = len(kernel)
    outer, image = input.shape[: input.ndim - n], input.shape[input.ndim - n :]
    places = xp.zeros((*outer, *(1,) * (2 * n)), dtype=xp.int64)
    for axis, (size, k, count) in enumerate(zip(image, kernel, results, strict=True)):
        starts = _starts(xp, samples[..., axis], size, k, count)
        along = [1] * (2 * n)
        along[axis], along[n + axis] = count, k
        places = places * size + xp.reshape(starts[..., None] + xp.arange(k), (*outer, *along))
    places = xp.reshape(places, (*outer, prod(results), prod(kernel)))
    flat, all_places = xp.reshape(input, (*outer, prod(image))), xp.reshape(places, (*outer, prod(places.shape[-2:])))
    values = xp.reshape(xp.take_along_axis(flat, all_places, axis=-1), places.shape)
    missing = xp.isnan(values)
    last = prod(kernel) - 1 - xp.argmax(xp.flip(missing, axis=-1), axis=-1)
    indices = xp.where(xp.any(missing, axis=-1), last, xp.argmax(values, axis=-1))
    return xp.reshape(xp.take_along_axis(places, indices[..., None], axis=-1), (*outer, *results))


# windows as columns ---------------------------------------------------------------------------------------------------


def _order_of_tiles(first, n, direction):
    """The order of axes that moves the axes of windows before those of results (1), or back between them (-1)."""
    numbers = range(first, first + 2 * n)
    if direction > 0:
        return (*range(first), *numbers[1::2], *numbers[::2])
    return (*range(first), *[number for pair in zip(numbers[n:], numbers[:n], strict=True) for number in pair])


@linear(method=False, function=False, dtypes="same", node="Im2ColBackward0")
def im2col(xp, input: Array, maps):
    """The windows over the last axes, of all channels: (.., C, *image) gives (.., C * elements, windows)."""
    results = tuple([axis_map.results for axis_map in maps])
    count = prod([axis_map.passes for axis_map in maps])
    outer = input.shape[: input.ndim - len(maps)]
    if all(axis_map.is_tiling for axis_map in maps):
        tiles = xp.reshape(input, (*outer, *[n for axis_map in maps for n in (axis_map.results, axis_map.passes)]))
        columns = row_major_copy(xp, xp.permute_dims(tiles, _order_of_tiles(len(outer), len(maps), 1)))
        return xp.reshape(columns, (*outer[:-1], outer[-1] * count, prod(results)))
    columns = xp.zeros((*outer, count, *results), dtype=input.dtype)
    for element in axis_maps.elements(maps):
        xp.setitem(columns, (..., element.number, *element.into[1:]), axis_maps.elements_under(xp, input, element))
    return xp.reshape(columns, (*outer[:-1], outer[-1] * count, prod(results)))


@im2col.vjp("input")
def _(ops, g, maps):
    return ops.col2im(g, maps)


@linear(method=False, function=False, dtypes="same", node="Col2ImBackward0")
def col2im(xp, input: Array, maps):
    """The transpose of im2col: for each element of the image the sum over all windows that contain it."""
    results = tuple([axis_map.results for axis_map in maps])
    count = prod([axis_map.passes for axis_map in maps])
    outer = (*input.shape[:-2], input.shape[-2] // count)
    if all(axis_map.is_tiling for axis_map in maps):
        columns = xp.reshape(input, (*outer, *[axis_map.passes for axis_map in maps], *results))
        tiles = row_major_copy(xp, xp.permute_dims(columns, _order_of_tiles(len(outer), len(maps), -1)))
        return xp.reshape(tiles, (*outer, *[axis_map.n for axis_map in maps]))
    columns = xp.reshape(input, (*outer, count, *results))
    image = xp.zeros((*outer, *[axis_map.n for axis_map in maps]), dtype=input.dtype)
    for element in axis_maps.elements(maps):
        summand = xp.getitem(columns, (..., element.number, *element.into[1:]))
        xp.setitem(image, (..., *element.of), xp.getitem(image, (..., *element.of)) + summand)
    return image


@col2im.vjp("input")
def _(ops, g, maps):
    return ops.im2col(g, maps)


# margins --------------------------------------------------------------------------------------------------------------


def _inverse_padding(pad):
    return tuple([-n for n in pad])


@memoize(1024)
def _margins(shape, pad):
    """The shape of a padded array, the part of it that the array fills, and that part of the array; None if empty."""
    n = len(pad) // 2
    pairs = [(pad[2 * i], pad[2 * i + 1]) for i in reversed(range(n))]
    image = shape[len(shape) - n :]
    padded = [size + before + behind for size, (before, behind) in zip(image, pairs, strict=True)]
    into, of = [], []
    for size, (before, behind) in zip(image, pairs, strict=True):
        into.append(slice(max(before, 0), max(before, 0) + size + min(before, 0) + min(behind, 0)))
        of.append(slice(max(-before, 0), size + min(behind, 0)))
    is_empty = not all(part.start < part.stop for part in of)
    return (*shape[: len(shape) - n], *padded), (..., *into), None if is_empty else (..., *of)


@general(method=False, function=False, batching="align", dtypes="same")
def constant_pad_nd(xp, input: Array, pad, value: Number = 0):
    """Adds margins of a number around the last axes, given from the last axis on; negative margins crop."""
    shape, into, of = _margins(tuple(input.shape), tuple(pad))
    result = xp.full(shape, value, dtype=input.dtype) if value else xp.zeros(shape, dtype=input.dtype)
    if of is not None:
        result[into] = input[of]
    return with_channels_as(result, input)


@constant_pad_nd.vjp("input")
def _(ops, g, pad):
    return ops.constant_pad_nd(g, _inverse_padding(pad))


@constant_pad_nd.jvp("input")
def _(ops, t, pad):
    return ops.constant_pad_nd(t, pad)
