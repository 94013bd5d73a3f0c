"""Batch forms of operations for which the declaration does not say enough, or not the quickest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy

from adjoint.arrays.kernels.contraction import ascii_letters, split_equation
from adjoint.arrays.namespace import underlying
from adjoint.core.recorded import raw_ops
from adjoint.rules.index import TOO_FEW, of_batch, places_ndim
from adjoint.transforms.batch_rules import batch_spread
from adjoint.transforms.batched import (
    AT_LEVEL,
    REFUSED,
    BatchedArray,
    batched_ops,
    batches_of,
    inner_ops,
    stripped,
)

DYNAMIC = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{name}."
)
MASKED_SELECT = (
    "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for each "
    "batch this would return a differently shaped Tensor."
)

def _whole(name: str) -> Callable[..., Any]:
    """What is a property of the array or of all members together, or holds for each member as it is."""

    def run(level: int, input: Any, **others: Any) -> Any:
        return getattr(raw_ops(input.underlying), name)(input.underlying, **others)

    return run


def _made_like(name: str) -> Callable[..., Any]:
    def run(level: int, input: Any, **others: Any) -> Any:
        return BatchedArray(level, getattr(raw_ops(input.data), name)(input.data, **others))

    return run


def _identity(level: int, like: Any, rows: int, columns: int) -> Any:
    return raw_ops(like.underlying).identity(like.underlying, rows, columns)


def _matmul(level: int, left: Any, right: Any) -> Any:
    """The matrix product: as few products of as large matrices as the operands allow."""
    (a, dim_a), (b, dim_b) = stripped(left, level), stripped(right, level)
    inside = inner_ops([a, b])
    if dim_a is None and right.ndim == 1 and left.ndim <= 2:
        # W @ x for many x
        result = inside.matmul(b, inside.transpose(a, 0, 1) if left.ndim == 2 else a)
    elif dim_b is None and right.ndim <= 2 and left.ndim >= 1:
        rows = inside.reshape(a, (-1, a.shape[-1])) if a.size else a
        result = inside.matmul(rows, b)
        result = inside.reshape(result, (*a.shape[:-1], *b.shape[1:]))
    else:
        a, b = _as_matrices(a, left.ndim, column=False), _as_matrices(b, right.ndim, column=True)
        rank = max(a.ndim - (dim_a == 0), b.ndim - (dim_b == 0))
        a, b = [_of_rank(x, dim, rank) for x, dim in ((a, dim_a), (b, dim_b))]
        result = inside.matmul(a, b)
        if left.ndim == 1:
            result = result[..., 0, :]
        if right.ndim == 1:
            result = result[..., 0]
    return BatchedArray(level, result)


def _as_matrices(array: Any, ndim: int, column: bool) -> Any:
    if ndim != 1:
        return array
    return array[..., None] if column else array[..., None, :]


def _of_rank(array: Any, dim: int | None, rank: int) -> Any:
    """A batch with axes of size 1 behind the batch axis until its members have `rank` axes."""
    return array if dim is None else array[(slice(None), *(None,) * (rank + 1 - array.ndim))]


def _product(level: int, **operands: Any) -> Any:
    return _matmul(level, *operands.values())


def _sum_and_product(level: int, input: Any, *, beta: Any, alpha: Any, **factors: Any) -> Any:
    product = batched_ops.matmul(*factors.values())
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    return product + (input if beta == 1 else input * beta)


def _einsum(level: int, operands: Sequence[Any], equation: str) -> Any:
    arrays, dims = stripped(list(operands), level)
    inputs, output = split_equation(equation)
    axis = next(c for c in ascii_letters if c not in equation)
    labels = [letters if dim is None else axis + letters for letters, dim in zip(inputs, dims, strict=True)]
    return BatchedArray(level, inner_ops(arrays).einsum(arrays, f"{','.join(labels)}->{axis}{output}"))


def _tensordot(level: int, input: Any, other: Any, dims_self: Any, dims_other: Any) -> Any:
    first = list(ascii_letters[: input.ndim])
    second = list(ascii_letters[input.ndim : input.ndim + other.ndim])
    for i, j in zip(dims_self, dims_other, strict=True):
        second[j % other.ndim] = first[i % input.ndim]
    paired = set(first) & set(second)
    free = [c for c in first + second if c not in paired]
    return batched_ops.einsum([input, other], f"{''.join(first)},{''.join(second)}->{''.join(free)}")


def _flip(level: int, input: Any, dims: Any) -> Any:
    return batched_ops.clone(input) if dims == () else NotImplemented


def _permute(level: int, input: Any, dims: Any) -> Any:
    data = input.data
    order = (0, *[d % input.ndim + 1 for d in dims])
    return BatchedArray(level, raw_ops(data).permute(data, order))


def _places_behind(array: Any, n: int) -> Any:
    """The axis in front moved behind the next n ones."""
    return raw_ops(array).permute(array, (*range(1, n + 1), 0, *range(n + 1, array.ndim)))


def _index(level: int, input: Any, indices: Any) -> Any:
    """Arrays with slices between them: the places that they pick come first, in front of the batch axis."""
    if of_batch(indices) is not None:
        return NotImplemented
    data, n = input.data, places_ndim(indices)
    picked = raw_ops(data).index(data, (slice(None), *indices))
    return BatchedArray(level, raw_ops(picked).permute(picked, (n, *range(n), *range(n + 1, picked.ndim))))


def _sum_at(level: int, input: Any, shape: Any, indices: Any) -> Any:
    if of_batch(indices) is not None:
        return NotImplemented
    data = _places_behind(input.data, places_ndim(indices))
    whole = (input.data.shape[0], *shape)
    return BatchedArray(level, raw_ops(data).sum_at(data, whole, (slice(None), *indices)))


def _index_put(level: int, input: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    if of_batch(indices) is not None:
        return NotImplemented
    (data, dim), (given, given_dim) = stripped(input, level), stripped(values, level)
    inside = inner_ops([data, given])
    size = (data if dim == 0 else given).shape[0]
    if dim is None:
        data = inside.expand(data, (size, *data.shape))
    if given_dim == 0:
        picked = raw_ops(input).index(input, indices).shape
        given = inside.expand(_of_rank(given, 0, len(picked)), (size, *picked))
        n = places_ndim(indices)
        given = inside.permute(given, (*range(1, n + 1), 0, *range(n + 1, given.ndim)))
    return BatchedArray(level, inside.index_put(data, (slice(None), *indices), given, accumulate))


def _roll(level: int, input: Any, shifts: Any, dims: Any) -> Any:
    if dims is not None:
        return NotImplemented
    flat = batched_ops.reshape(input, (-1,))
    return batched_ops.reshape(batched_ops.roll(flat, shifts, (0,)), input.shape)


class _Rows:
    """A batch whose members are indexed along one axis, with the members' rows one behind the other."""

    def __init__(self, level: int, size: int, inside: Any) -> None:
        self.level, self.size, self.inside = level, size, inside

    def of(self, array: Any, dim: int) -> Any:
        """All members' slices along `dim` as rows of one array; an array without the level is repeated."""
        data, batch_dim = stripped(array, self.level)
        if batch_dim is None:
            data = self.inside.expand(data, (self.size, *data.shape))
        order = (0, dim + 1, *[i for i in range(1, data.ndim) if i != dim + 1])
        return self.inside.reshape(self.inside.permute(data, order), (-1, *[data.shape[i] for i in order[2:]]))

    def back(self, rows: Any, dim: int) -> BatchedArray:
        """The members again, the rows along `dim`."""
        data = self.inside.reshape(rows, (self.size, rows.shape[0] // self.size, *rows.shape[1:]))
        order = [0, *range(2, data.ndim)]
        order.insert(dim + 1, 1)
        return BatchedArray(self.level, self.inside.permute(data, tuple(order)))

    def places(self, index: Any, n: int) -> Any:
        """A vector of indices of each member as the numbers of rows, of which each member has n."""
        data, _ = stripped(index, self.level)
        data = self.inside.reshape(data, (self.size, -1)) if data.size else self.inside.reshape(data, (self.size, 0))
        data = self.inside.where(data < 0, data + n, data)
        return self.inside.reshape(data + numpy.arange(self.size)[:, None] * n, (-1,))


def _own_index(level: int, index: Any) -> bool:
    """True if each member has indices of its own."""
    return isinstance(index, BatchedArray) and index.level == level


def _at_one_place(name: str, input: Any, index: Any, *others: Any, **options: Any) -> Any:
    """An operation along the axis that an array without axes has by courtesy."""
    others = tuple([each[None] if getattr(each, "ndim", None) == 0 else each for each in others])
    return getattr(batched_ops, name)(input[None], 0, index, *others, **options)[0]


def _index_select(level: int, input: Any, dim: int, index: Any) -> Any:
    if not _own_index(level, index):
        return NotImplemented
    if not input.ndim:
        return _at_one_place("index_select", input, index)
    data, batch_dim = stripped(input, level)
    inside = inner_ops([data, index.data])
    if batch_dim is None:
        flat = inside.reshape(index.data, (-1,))
        picked = inside.index_select(data, dim, flat)
        size = index.data.shape[0]
        shape = (*picked.shape[:dim], size, picked.shape[dim] // max(size, 1), *picked.shape[dim + 1 :])
        order = (dim, *[i for i in range(len(shape)) if i != dim])
        return BatchedArray(level, inside.permute(inside.reshape(picked, shape), order))
    rows = _Rows(level, data.shape[0], inside)
    places = rows.places(index, input.shape[dim])
    return rows.back(inside.index_select(rows.of(input, dim), 0, places), dim)


def _written(name: str) -> Callable[..., Any]:
    """index_add or index_copy where each member has indices of its own."""

    def run(level: int, input: Any, dim: int, index: Any, source: Any, **others: Any) -> Any:
        if input.ndim and not source.ndim:
            return getattr(batched_ops, name)(input, dim, index, source[None], **others)
        if not _own_index(level, index):
            return NotImplemented
        if not input.ndim:
            return _at_one_place(name, input, index, source, **others)
        rows = _Rows(level, index.data.shape[0], inner_ops([stripped(x, level)[0] for x in (input, index, source)]))
        places = rows.places(index, input.shape[dim])
        written = getattr(rows.inside, name)
        return rows.back(written(rows.of(input, dim), 0, places, rows.of(source, dim), **others), dim)

    return run


def _index_fill(level: int, input: Any, dim: int, index: Any, value: Any) -> Any:
    if not input.ndim:
        return (batched_ops.zeros_like(input) + value).astype(input.dtype)
    if not _own_index(level, index):
        return NotImplemented
    n = index.shape[0] if index.ndim else 1
    source = batched_ops.zeros_of(input, (*input.shape[:dim], n, *input.shape[dim + 1 :])) + value
    if source.dtype != input.dtype:
        source = source.astype(input.dtype)
    return batched_ops.index_copy(input, dim, index, source)


def _take(level: int, input: Any, index: Any) -> Any:
    flat, places = batched_ops.reshape(input, (-1,)), batched_ops.reshape(index, (-1,))
    return batched_ops.reshape(batched_ops.index_select(flat, 0, places), index.shape)


def _put(level: int, input: Any, index: Any, source: Any, accumulate: bool) -> Any:
    flat, places, values = [batched_ops.reshape(x, (-1,)) for x in (input, index, source)]
    write = batched_ops.index_add if accumulate else batched_ops.index_copy
    return batched_ops.reshape(write(flat, 0, places, values), input.shape)


def _written_over(name: str) -> Callable[..., Any]:
    """copy or fill: what is written to has all batches of what is written."""

    def run(level: int, input: Any, **others: Any) -> Any:
        (other,) = others.values()
        wider = batch_spread(input, batches_of(other))
        return NotImplemented if wider is input else getattr(batched_ops, name)(wider, other)

    return run


def _masked_select(level: int, input: Any, mask: Any) -> Any:
    shape = numpy.broadcast_shapes(input.shape, mask.shape)
    whole = numpy.broadcast_to(mask, shape)
    return batched_ops.index(batched_ops.expand(input, shape), (whole,))


def _turns(mask: Any) -> Any:
    """How many elements of a flat mask are true before each that is; 0 elsewhere."""
    return batched_ops.where(mask, batched_ops.cumsum(mask, 0) - 1, 0)


def _masked_scatter(level: int, input: Any, mask: Any, source: Any) -> Any:
    shape = numpy.broadcast_shapes(input.shape, mask.shape)
    input, mask = [batched_ops.reshape(batched_ops.expand(x, shape), (-1,)) for x in (input, mask)]
    source, turns = batched_ops.reshape(source, (-1,)), _turns(mask)
    if underlying(mask).any() and underlying(turns).max() >= source.shape[0]:
        raise RuntimeError(TOO_FEW)
    if source.shape[0]:
        input = batched_ops.where(mask, batched_ops.index_select(source, 0, turns), input)
    return batched_ops.reshape(input, shape)


def _masked_gather(level: int, input: Any, mask: Any, shape: Any) -> Any:
    mask = batched_ops.reshape(batched_ops.expand(mask, input.shape), (-1,))
    result = batched_ops.zeros_of(input, (prod(shape),))
    if result.shape[0]:
        picked = batched_ops.where(mask, batched_ops.reshape(input, (-1,)), 0)
        result = batched_ops.index_add(result, 0, _turns(mask), picked)
    return batched_ops.reshape(result, shape)


# convolution ----------------------------------------------------------------------------------------------------------


def _as_samples(array: Any) -> Any:
    """All images of a batch of batches: (B, N, ..) as (B * N, ..)."""
    return raw_ops(array).reshape(array, (array.shape[0] * array.shape[1], *array.shape[2:]))


def _as_channels(array: Any, dim: int | None, size: int) -> Any:
    """The channels of all members next to each other: (B, N, C, ..) as (N, B * C, ..); without batch repeated."""
    inside = raw_ops(array)
    if dim is None:
        array = inside.expand(array, (size, *array.shape))
    turned = inside.permute(array, (1, 0, *range(2, array.ndim)))
    return inside.reshape(turned, (turned.shape[0], size * turned.shape[2], *turned.shape[3:]))


def _from_channels(array: Any, size: int) -> Any:
    """The way back: (N, B * C, ..) as (B, N, C, ..)."""
    inside = raw_ops(array)
    apart = inside.reshape(array, (array.shape[0], size, array.shape[1] // size, *array.shape[2:]))
    return inside.permute(apart, (1, 0, *range(2, apart.ndim)))


def _members_apart(array: Any, size: int) -> Any:
    """(B * O, ..) as (B, O, ..)."""
    return raw_ops(array).reshape(array, (size, array.shape[0] // size, *array.shape[1:]))


def _convolution(name: str) -> Callable[..., Any]:
    """One kernel for all members: these are more images. A kernel for each: these are more groups of channels."""

    def run(level: int, input: Any, weight: Any, bias: Any, *, groups: int, **geometry: Any) -> Any:
        if bias is not None and _own_index(level, bias):
            plain = getattr(batched_ops, name)(input, weight, None, groups=groups, **geometry)
            return plain + bias[(slice(None), *(None,) * (input.ndim - 2))]
        (x, dim_x), (w, dim_w) = stripped(input, level), stripped(weight, level)
        operation = getattr(inner_ops([x, w, bias]), name)
        if dim_w is None:
            many = operation(_as_samples(x), w, bias, groups=groups, **geometry)
            return BatchedArray(level, _members_apart(many, x.shape[0]))
        size = w.shape[0]
        if bias is not None:
            inside = raw_ops(bias)
            bias = inside.reshape(inside.expand(bias, (size, *bias.shape)), (-1,))
        if dim_x is None and groups == 1 and name == "convolution":
            many = operation(x, _as_samples(w), bias, groups=1, **geometry)
        else:
            many = operation(_as_channels(x, dim_x, size), _as_samples(w), bias, groups=size * groups, **geometry)
        return BatchedArray(level, _from_channels(many, size))

    return run


def _convolution_weight(level: int, grad: Any, input: Any, kernel: Any, *, groups: int, **geometry: Any) -> Any:
    (g, dim_g), (x, dim_x) = stripped(grad, level), stripped(input, level)
    operation = inner_ops([g, x]).convolution_weight
    size = (g if dim_g == 0 else x).shape[0]
    g = _as_channels(g, dim_g, size)
    if dim_x is None and groups == 1:
        found = operation(g, x, kernel, groups=1, **geometry)
    else:
        found = operation(g, _as_channels(x, dim_x, size), kernel, groups=size * groups, **geometry)
    return BatchedArray(level, _members_apart(found, size))


AT_LEVEL |= {
    **{name: _whole(name) for name in ("is_complex_array", "is_negligible")},
    **{name: _made_like(name) for name in ("zeros_like", "ones_like", "full_like")},
    **dict.fromkeys(("matmul", "mm", "bmm", "mv", "dot"), _product),
    "identity": _identity,
    "einsum": _einsum,
    "tensordot": _tensordot,
    "roll": _roll,
    "flip": _flip,
    "permute": _permute,
    "index": _index,
    "sum_at": _sum_at,
    "index_put": _index_put,
    **dict.fromkeys(("addmm", "baddbmm", "addmv"), _sum_and_product),
    "index_select": _index_select,
    "index_add": _written("index_add"),
    "index_copy": _written("index_copy"),
    "index_fill": _index_fill,
    "take": _take,
    "put": _put,
    "masked_select": _masked_select,
    "masked_scatter": _masked_scatter,
    "masked_gather": _masked_gather,
    "copy": _written_over("copy"),
    "fill": _written_over("fill"),
    **{name: _convolution(name) for name in ("convolution", "transposed_convolution")},
    "convolution_weight": _convolution_weight,
}


def _refuse_dynamic(**values: Any) -> None:
    raise RuntimeError(DYNAMIC.format(name="nonzero"))


def _refuse_mask(**values: Any) -> None:
    if isinstance(values["mask"], BatchedArray):
        raise RuntimeError(MASKED_SELECT)


REFUSED |= {"argwhere": _refuse_dynamic, "masked_select": _refuse_mask}

