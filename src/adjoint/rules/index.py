"""Indexing: gather, scatter, index assignment, fills and masks.

Every one of these is linear. Picking is transposed by adding the cotangent up at the places picked, writing by picking;
so the transposes are operations of this file again, and derivatives of any order follow.

A basic index (ints, slices, None, Ellipsis) picks a view, an advanced one (arrays of ints or bools, full slices
between them) a copy. The function `getitem` of the floor above splits an index into the two.
"""

from math import prod
from sys import maxsize

from adjoint.arrays.dtypes import from_numpy_dtype, kind_of, numpy_dtype
from adjoint.arrays.kernels.products_and_sums import EMBED, READ
from adjoint.arrays.namespace import count_true, first_outside, is_lazy, laid_out_as, namespace, row_major, underlying
from adjoint.arrays.promotion import number_as
from adjoint.arrays.shapes import broadcast_shapes

from .declare import Array, Constant, Indices, Number, constant, general, linear
from .elementwise import copy_in_order
from .member_rows import MemberRows
from .refusals import check_fits, overflow_error

DYNAMIC_SHAPE = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{name}."
)
BATCHED_MASK = (
    "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for each "
    "batch this would return a differently shaped Tensor."
)

# basic indices: views -------------------------------------------------------------------------------------------------


def _explain_basic(error, input, index):
    if not isinstance(error, IndexError):
        return None
    if not input.ndim:
        first = next((item for item in index if item is not None), None)
        if first is Ellipsis:
            return IndexError("too many indices for tensor of dimension 0")
        if isinstance(first, slice):
            return IndexError("slice() cannot be applied to a 0-dim tensor.")
        return IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
            "0-dim tensor to a number"
        )
    if "too many indices" in str(error):
        return IndexError(f"too many indices for tensor of dimension {input.ndim}")
    return IndexError(str(error).replace("axis", "dimension"))


def last_step(shape, index):
    """The last step of a basic index, as (item, dim, shape) of the axis; None if there is none.

    A full slice counts only in an index without other steps.
    """
    steps, dim, rest = [], 0, list(shape)
    for k, item in enumerate(index):
        if item is Ellipsis:
            dim = len(rest) - sum([step is not None for step in index[k + 1 :]])
            continue
        steps.append((item, dim, tuple(rest)))
        if item is None:
            rest.insert(dim, 1)
        elif isinstance(item, slice):
            rest[dim] = len(range(*item.indices(rest[dim])))
        else:
            del rest[dim]
            continue
        dim += 1
    cuts = [step for step in steps if step[0] != slice(None)] or steps
    return cuts[-1] if cuts else None


def _shown_step(input_shape, index):
    # attributes of PyTorch's nodes of select, slice and unsqueeze; one index may be several of them
    step = last_step(input_shape, index)
    if step is None:
        return {}
    item, dim, shape = step
    if item is None:
        return {"dim": dim}
    if not isinstance(item, slice):
        return {"dim": dim, "index": item, "self_sym_sizes": shape}
    start, stop = item.start or 0, maxsize if item.stop is None else item.stop
    return {"dim": dim, "start": start, "end": stop, "step": item.step or 1, "self_sym_sizes": shape}


_OF_STEPS = {"attributes": _shown_step, "shown": {"index": None, "input_shape": None}}


def _basic(name, node):
    # one operation under several names: the node is named after the last step of the index
    options = {**_OF_STEPS, "explain": _explain_basic, "native": READ}

    @linear(name=name, view=True, method=False, function=False, node=node, **options)
    def getitem(xp, input: Array, index):
        """The view input[index] for a tuple of ints, slices, None and Ellipsis."""
        return xp.getitem(input, index)

    @getitem.vjp("input", native=EMBED)
    def _(ops, g, input_shape, index):
        return ops.embed_view(g, input_shape, index)

    @getitem.batch
    def _(index):
        return {"index": (slice(None), *index)}

    @getitem.batch_rule
    def _(batch, input, index):
        # the same without the way through the arguments
        return input[index]


_basic("getitem_select", "SelectBackward0")
_basic("getitem_slice", "SliceBackward0")
_basic("getitem_unsqueeze", "UnsqueezeBackward0")
_basic("getitem_alias", "AliasBackward0")


def _node_of_step(input, shape, index):
    # PyTorch has one backward operation for each kind of view
    step = last_step(shape, index)
    if step is None or step[0] is None:
        return "SqueezeBackward1" if step else "AliasBackward0"
    return "SliceBackwardBackward0" if isinstance(step[0], slice) else "SelectBackwardBackward0"


@linear(moves=True, method=False, function=False, node=_node_of_step)
def embed_view(xp, input: Array, shape, index):
    """Zeros of the given shape with the input at [index], a basic index."""
    result = xp.zeros(shape, dtype=input.dtype)
    xp.setitem(result, index, input)
    return result


@linear(moves=True, method=False, function=False, scalars=True, batching="joint", node="SliceScatterBackward0")
def written_at(xp, input: Array, index, source: Array):
    """A copy of input with source, broadcast, at [index], a basic index."""
    result = xp.asarray(input, copy=True)
    xp.setitem(result, index, source)
    return result


@written_at.batch
def _(input, index, source):
    items = [item for item in index if item is not Ellipsis]
    ndim = input.ndim - 1 + items.count(None) - sum([not isinstance(item, slice) for item in items if item is not None])
    if hasattr(source, "ndim"):
        source = source[(slice(None), *(None,) * (ndim + 1 - source.ndim), ...)]
    return {"index": (slice(None), *index), "source": source}


@written_at.vjp("input")
def _(ops, g, index):
    return ops.written_at(g, index, 0)


@written_at.vjp("source")
def _(ops, g, index):
    return ops.getitem_slice(g, index)


@embed_view.vjp("input", native=READ)
def _(ops, g, index):
    return ops.getitem_slice(g, index)


@embed_view.batch
def _(size, shape, index):
    return {"shape": (size, *shape), "index": (slice(None), *index)}


# advanced indices: copies ---------------------------------------------------------------------------------------------


def axes_replaced(item):
    """The number of axes that an index array replaces: one for an array of ints, its own rank for a mask."""
    return item.ndim if kind_of(item) == "b" else 1


def places_ndim(indices):
    """The number of axes of the positions that index arrays pick together; the positions of a mask form a vector."""
    return max(1 if kind_of(item) == "b" else item.ndim for item in indices if not isinstance(item, slice))


def wrong_mask(input, indices):
    """The error for the first mask whose shape differs from the indexed axes, or None."""
    axis = 0
    for item in indices:
        if isinstance(item, slice):
            axis += 1
            continue
        covers = axes_replaced(item)
        if kind_of(item) == "b" and item.shape != input.shape[axis : axis + covers]:
            return IndexError(
                f"The shape of the mask {list(item.shape)} at index 0 does not match the shape of the indexed tensor "
                f"{list(input.shape)} at index {axis}"
            )
        axis += covers
    return None if axis <= input.ndim else IndexError(f"too many indices for tensor of dimension {input.ndim}")


def places_shape(item):
    """The shape of an index array; a mask counts its true elements."""
    return [count_true(item)] if kind_of(item) == "b" else list(item.shape)


def _explain_index(error, input, indices):
    if not isinstance(error, IndexError):
        return None
    wrong = wrong_mask(input, indices)
    if wrong is not None:
        return wrong
    if "could not be broadcast" in str(error):
        shapes = ", ".join(str(places_shape(item)) for item in indices if not isinstance(item, slice))
        return IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}")
    return IndexError(str(error).replace("axis", "dimension"))


@linear(moves=True, method=False, function=False, explain=_explain_index, native=READ)
def index(xp, input: Array, indices: Indices):
    """The copy input[indices] for a tuple of raw arrays (ints or bools) and full slices."""
    return xp.getitem(input, indices)


def moved_axis(ops, x, axis):
    """An array with its first axis moved to another place."""
    return ops.permute(x, (*range(1, axis + 1), 0, *range(axis + 1, x.ndim))) if axis else x


@index.vjp("input")
def _(ops, g, input_shape, indices):
    return ops.sum_at(g, input_shape, indices)


def of_batch(indices):
    """The indices for a batch, or None: where slices separate arrays, their axes move before the batch axis."""
    kinds = [isinstance(item, slice) for item in indices]
    arrays = [i for i, is_slice in enumerate(kinds) if not is_slice]
    together = all(not is_slice for is_slice in kinds[arrays[0] : arrays[-1] + 1])
    return (slice(None), *indices) if together else None


@index.batch
def _(indices):
    batched = of_batch(indices)
    return batched and {"indices": batched}


@index.batch_rule
def _(batch, input, indices):
    """Arrays with slices between them: the places that they pick come first, in front of the batch axis."""
    if of_batch(indices) is not None:
        return NotImplemented
    data, _ = batch.strip(input)
    ops, n = batch.ops_for([data]), places_ndim(indices)
    elements = ops.index(data, (slice(None), *indices))
    return batch.join(ops.permute(elements, (n, *range(n), *range(n + 1, elements.ndim))))


@linear(method=False, function=False, node="IndexPutBackward0")
def sum_at(xp, input: Array, shape, indices: Indices):
    """Zeros of the given shape with the input added at [indices]; repeated places add up."""
    return xp.sum_at(shape, indices, input)


@sum_at.vjp("input")
def _(ops, g, indices):
    return ops.index(g, indices)


@sum_at.batch
def _(size, shape, indices):
    batched = of_batch(indices)
    return batched and {"shape": (size, *shape), "indices": batched}


@sum_at.batch_rule
def _(batch, input, shape, indices):
    if of_batch(indices) is not None:
        return NotImplemented
    data, _ = batch.strip(input)
    ops = batch.ops_for([data])
    values = _axis_behind(ops, data, places_ndim(indices))
    return batch.join(ops.sum_at(values, (data.shape[0], *shape), (slice(None), *indices)))


def _axis_behind(ops, array, n):
    """Moves the first axis after the next n axes."""
    return ops.permute(array, (*range(1, n + 1), 0, *range(n + 1, array.ndim)))


def same_dtype(input, other, message):
    """Raise RuntimeError, with both dtypes' names in the message, if a tensor has another dtype."""
    input_dtype = getattr(input, "_array", input).dtype
    other_dtype = getattr(getattr(other, "_array", other), "dtype", None)
    if other_dtype is not None and other_dtype is not input_dtype and other.dtype != input.dtype:
        raise RuntimeError(message.format(dtype_name(input), dtype_name(other)))


def dtype_name(value):
    """The name of a Tensor's dtype as messages show it: Float, Long ..."""
    return value.dtype.long_name


def _check_index_put(input, indices, values, accumulate):
    same_dtype(
        input,
        values,
        "Index put requires the source and destination dtypes match, got {} for the destination and {} for the source.",
    )


def _explain_index_put(error, input, indices, values, accumulate):
    if isinstance(error, (TypeError, ValueError)):  # NumPy has another error for masks
        target_shape, values_shape = list(input[indices].shape), list(values.shape)
        return RuntimeError(
            f"shape mismatch: value tensor of shape {values_shape} cannot be broadcast to indexing result of shape "
            f"{target_shape}"
        )
    return _explain_index(error, input, indices)


@linear(
    method=False,
    function=False,
    inplace=True,
    scalars=True,
    batching="joint",
    check=_check_index_put,
    explain=_explain_index_put,
)
def index_put(xp, input: Array, indices: Indices, values: Array, accumulate=False):
    """A copy of input with values, broadcast, written at (or, if accumulate, added to) [indices]."""
    if accumulate:
        return xp.index_add(input, indices, values)
    result = copy_in_order(xp, input)
    xp.setitem(result, indices, number_as(values, input.dtype))
    return result


@index_put.vjp("input")
def _(ops, g, indices, accumulate):
    return g if accumulate else ops.index_put(g, indices, 0)


@index_put.vjp("values")
def _(ops, g, indices):
    return ops.index(g, indices)


@index_put.batch
def _(values, indices, ndim):
    batched = of_batch(indices)
    if batched is None:
        return None
    if getattr(values, "ndim", 0):
        # the axes that the arrays index are replaced by the axes of one array of places
        result_ndim = (
            ndim + places_ndim(indices) - sum(axes_replaced(item) for item in indices if not isinstance(item, slice))
        )
        values = values[(slice(None), *(None,) * (result_ndim - values.ndim + 1))]
    return {"values": values, "indices": batched}


@index_put.batch_rule
def _(batch, input, indices, values, accumulate):
    if of_batch(indices) is not None:
        return NotImplemented
    (data, axis), (source, source_axis) = batch.strip(input), batch.strip(values)
    ops = batch.ops_for([data, source])
    size = (data if axis == 0 else source).shape[0]
    if axis is None:
        data = ops.expand(data, (size, *data.shape))
    if source_axis == 0:
        shape = batch.ops_for([input]).index(input, indices).shape
        source = source[(slice(None), *(None,) * (len(shape) + 1 - source.ndim))]
        source = _axis_behind(ops, ops.expand(source, (size, *shape)), places_ndim(indices))
    return batch.join(ops.index_put(data, (slice(None), *indices), source, accumulate))


# indices along one axis -----------------------------------------------------------------------------------------------


@constant(method=False, function=False)
def zeros_of(xp, input: Array, shape):
    """Zeros of another shape with the input's type."""
    return xp.zeros(shape, dtype=input.dtype)


@zeros_of.batch
def _(size, shape):
    return {"shape": (size, *shape)}


def check_indices(operation, index, n, *, dim=0, error=RuntimeError, wording=None, prefix="", wrap=False):
    """Raise unless an index tensor holds int32 or int64 numbers from 0 (or -n, counted from the end) to n - 1."""
    least = -n if wrap else 0
    raw = underlying(index._array)
    kind = numpy_dtype(raw.dtype)
    if kind.kind not in "iu" or kind.itemsize < 4:
        kinds = "int32 or int64" if operation == "index_select" else "int32/int64"
        raise RuntimeError(f"{operation}(): Expected dtype {kinds} for index")
    wrong = first_outside(raw, least, n)
    if wrong is not None:
        raise error(wording or f"{prefix}index {wrong} is out of bounds for dimension {dim} with size {n}")


def check_places(operation, input, dim, index):
    """Raise RuntimeError unless `index` names places of `input` along one axis; an empty one may be of any kind."""
    shape, places = input._array.shape, index._array.shape
    if 0 in places:
        return
    if (len(shape) or 1) != (len(places) or 1):
        what = "input" if operation == "gather" else "self"
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {what} tensor")
    check_indices(operation, index, shape[dim] if shape else 1, dim=dim)


def larger(index, other, but=None):
    """The first axis (other than `but`) along which an index tensor is longer than another tensor, or None."""
    places, shape = index._array.shape, other._array.shape
    if places == shape or 0 in places:
        return None
    pairs = zip(places or (1,), shape or (1,), strict=True)
    return next((axis for axis, (n, m) in enumerate(pairs) if n > m and axis != but), None)


def _check_gather(input, dim, index, sparse_grad):
    check_places("gather", input, dim, index)
    axis = larger(index, input, but=dim)
    if axis is not None:
        raise RuntimeError(
            f"Size does not match at dimension {axis} expected index {list(index.shape)} to be no larger than self "
            f"{list(input.shape)} apart from dimension {dim}"
        )


@linear(moves=True, axes=("dim",), rows=True, batching="joint", check=_check_gather)
def gather(xp, input: Array, dim, index: Constant, sparse_grad=False):
    """result[i, j, ..] = input[i, .., index[i, j, ..], ..]: the elements that index names along one axis."""
    if 0 in index.shape:
        return xp.zeros(index.shape, dtype=input.dtype)
    if not input.ndim or not index.ndim:
        return xp.reshape(xp.take(xp.reshape(input, (-1,)), xp.reshape(index, (-1,))), index.shape)
    return xp.getitem(input, xp.along_axis(index, dim))


def along_axis_of_batch(ops, x, dim):
    """The members of a batch, which is the first axis, behind each other along an axis that they have."""
    x = moved_axis(ops, x, dim)
    return ops.reshape(x, (*x.shape[:dim], x.shape[dim] * x.shape[dim + 1], *x.shape[dim + 2 :]))


def _gathered_of_batch(ops, g, input_shape, dim, index):
    if not input_shape or index.ndim == 1:
        return None
    g, index = [along_axis_of_batch(ops, x, dim) for x in (g, index)]
    return ops.scatter_add(ops.zeros_of(g, input_shape), dim, index, g)


@gather.vjp("input", summed=_gathered_of_batch)
def _(ops, g, input_shape, dim, index):
    return ops.scatter_add(ops.zeros_of(g, input_shape), dim, index, g)


def _check_scatter(operation):
    def check(input, dim, index, src):
        check_places(operation, input, dim, index)
        has_shape = hasattr(src, "_array")
        if not has_shape:
            check_fits(input, src)
        too_large = larger(index, input, but=dim) is not None
        if too_large or (has_shape and larger(index, src) is not None):
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from "
                f"dimension {dim}" + (f" and to be no larger size than src {list(src.shape)}" if has_shape else "")
            )
        same_dtype(input, src, f"{operation}(): Expected self.dtype to be equal to src.dtype")

    return check


def copied_in_rows(xp, array):
    """A copy that lies in memory row by row."""
    rows = row_major(array)
    return xp.asarray(array, copy=True) if rows is array else rows


def _scatter_parts(xp, input, dim, index, src):
    # input as a writable copy, the indices into it, and the elements to write
    result = copied_in_rows(xp, input)
    if 0 in index.shape:
        return result, xp.reshape(result, (-1,)), (xp.zeros((0,), dtype=xp.int64),), 0
    part = src
    if getattr(src, "ndim", 0) and src.shape != index.shape:
        part = xp.getitem(src, tuple([slice(n) for n in index.shape]))
    if not input.ndim or not index.ndim:
        return result, xp.reshape(result, (-1,)), (xp.reshape(index, (-1,)),), part
    return result, result, xp.along_axis(index, dim), part


@linear(
    axes=("dim",),
    batching="joint",
    scalars=True,
    inplace=True,
    method=False,
    function=False,
    node={"": "ScatterBackward0", "src": "ScatterBackward1"},
    check=_check_scatter("scatter"),
)
def scatter(xp, input: Array, dim, index: Constant, src: Array):
    """A copy of input with the elements of src (or a number) written to the places that index names along one axis."""
    result, target, where, part = _scatter_parts(xp, input, dim, index, number_as(src, input.dtype))
    xp.setitem(target, where, part)
    return result


def of_source(ops, g, dim, index, shape):
    """The cotangent of a scattered tensor; elements that were not used get zeros."""
    if 0 in index.shape:
        return ops.zeros_of(g, shape)
    picked = ops.gather(g, dim, index)
    if tuple(index.shape) == tuple(shape) or not shape:
        return picked
    return ops.embed_view(picked, shape, tuple(slice(n) for n in index.shape))


@scatter.vjp("input")
def _(ops, g, dim, index):
    return ops.scatter(g, dim, index, 0)


@scatter.vjp("src")
def _(ops, g, dim, index, src_shape):
    return of_source(ops, g, dim, index, src_shape)


@linear(axes=("dim",), batching="joint", inplace=True, check=_check_scatter("scatter"))
def scatter_add(xp, input: Array, dim, index: Constant, src: Array):
    """A copy of input with the elements of src added at the places that index names along one axis."""
    result, target, where, part = _scatter_parts(xp, input, dim, index, src)
    xp.add_at(target, where, part)
    return result


@scatter_add.vjp("input")
def _(g):
    return g


@scatter_add.vjp("src")
def _(ops, g, dim, index, src_shape):
    return of_source(ops, g, dim, index, src_shape)


# reductions of elements scattered to one place ------------------------------------------------------------------------

REDUCTIONS = {"sum": "add", "mean": "add", "prod": "multiply", "amax": "maximum", "amin": "minimum"}


def _check_order(reduce, input):
    if reduce == "mean" and kind_of(input._array) == "b":
        raise NotImplementedError("\"div_floor_cpu\" not implemented for 'Bool'")
    if reduce in ("amax", "amin") and input.is_complex():
        kernel = REDUCTIONS[reduce]
        raise NotImplementedError(f"\"{kernel}_cpu\" not implemented for '{input.dtype.long_name}'")


def _check_scatter_reduce(input, dim, index, src, reduce, include_self):
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    _check_order(reduce, input)
    _check_scatter("scatter")(input, dim, index, src)


def _check_index_reduce(input, dim, index, src, reduce, include_self):
    # the vector of indices has the shape of src here
    if reduce not in REDUCTIONS or reduce == "sum":
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    _check_order(reduce, input)


def neutral(xp, reduce, dtype):
    """The neutral element of a reduction."""
    if reduce in ("sum", "mean", "prod"):
        return 1 if reduce == "prod" else 0
    least = reduce == "amax"
    if kind_of(dtype) in "iu":
        info = xp.iinfo(dtype)
        return info.min if least else info.max
    return not least if kind_of(dtype) == "b" else (-xp.inf if least else xp.inf)


def where_equal(ops, a, b):
    """1 where two values are the same, else 0."""
    return ops.cast(ops.eq(a, b), from_numpy_dtype(a.dtype))


def _declare_reduction(name, check):
    def kernel(xp, input: Array, dim, index: Constant, src: Array, reduce, include_self=True):
        """A copy in which each element is reduced with the elements of src that index sends to its position."""
        result, target, where, part = _scatter_parts(xp, input, dim, index, src)
        if not include_self:
            xp.setitem(target, where, neutral(xp, reduce, input.dtype))
        xp.reduce_at(REDUCTIONS[reduce], target, where, part)
        if reduce == "mean":
            numbers = xp.full(input.shape, int(include_self), dtype=xp.int64)
            numbers, counts, where, _ = _scatter_parts(xp, numbers, dim, index, 0)
            xp.reduce_at("add", counts, where, 1)
            divide = xp.divide if kind_of(input) in "fc" else xp.floor_divide
            result = divide(result, xp.astype(xp.maximum(numbers, 1), input.dtype))
        return result

    rule = general(name=name, axes=("dim",), batching="joint", method=False, function=False, check=check)(kernel)

    @rule.vjp("input", "src")
    def _(ops, g, y, input, dim, index, src, reduce, include_self):
        if 0 in index.shape:
            return g, ops.zeros_of(g, src.shape)
        # a number and a vector of one index fit each other
        is_number = len(index.shape) != len(src.shape)
        part = ops.reshape(src, tuple(index.shape)) if is_number else src
        if tuple(index.shape) != tuple(part.shape):
            part = ops.getitem_slice(src, tuple(slice(n) for n in index.shape))
        ones = ops.ones_like(part)
        # 1 where the input's own value is one of the reduced values
        input_weight = ops.ones_like(input)
        if not include_self:
            input_weight = ops.scatter(input_weight, dim, index, 0)
        of_input, of_part = _FORMULAS[reduce](ops, g, y, input, part, input_weight, ones, dim, index)
        if is_number:
            return of_input, ops.reshape(of_part, tuple(src.shape))
        if tuple(index.shape) != tuple(src.shape):
            of_part = ops.embed_view(of_part, src.shape, tuple(slice(n) for n in index.shape))
        return of_input, of_part

    return rule


def _of_sum(ops, g, y, input, part, input_weight, ones, dim, index):
    return g * input_weight, ops.gather(g, dim, index)


def _of_mean(ops, g, y, input, part, input_weight, ones, dim, index):
    counts = ops.scatter_add(input_weight, dim, index, ones)
    share = g / counts
    return share * input_weight, ops.gather(share, dim, index)


def _of_extreme(ops, g, y, input, part, input_weight, ones, dim, index):
    # equal extremes share the cotangent evenly
    of_input = where_equal(ops, input, y) * input_weight
    of_part = where_equal(ops, part, ops.gather(y, dim, index))
    share = g / ops.maximum(ops.scatter_add(of_input, dim, index, of_part), ops.ones_like(input))
    return share * of_input, ops.gather(share, dim, index) * of_part


def _of_product(ops, g, y, input, part, input_weight, ones, dim, index):
    # The product of all other factors. p is the product of the nonzero factors. With one zero among the factors, the
    # result is p for the zero, and p / x times the zero for any other x. With two zeros it is p times the other zero
    # for each zero. The zeros enter as their sum, so that this can be differentiated again.
    own_zero, part_zero = where_zero(ops, input) * input_weight, where_zero(ops, part)
    zeros = ops.scatter_add(own_zero, dim, index, part_zero)
    total = ops.scatter_add(input * own_zero, dim, index, part * part_zero)
    # a value outside the reduction counts as 1, and its cotangent is dropped below
    input = ops.where(ops.ne(input_weight, 0), input, 1)
    product = ops.scatter_reduce(input + own_zero, dim, index, part + part_zero, "prod", True)

    def others(x, is_zero, zeros, total, product):
        one, two = where_equal(ops, zeros, 1 + zeros * 0), where_equal(ops, zeros, 2 + zeros * 0)
        none = where_zero(ops, zeros)
        of_zero, of_other = one + two * (total - x), none + one * total
        # a zero counts as 1 in the product; this changes the derivative by the zero alone
        return ops.conj(product / (x + is_zero) * (is_zero * of_zero + (1 - is_zero) * of_other))

    at_index = [ops.gather(value, dim, index) for value in (zeros, total, product)]
    of_input = others(input, own_zero, zeros, total, product) * input_weight
    return g * of_input, ops.gather(g, dim, index) * others(part, part_zero, *at_index)


def where_zero(ops, a):
    """1 where a value is 0, else 0."""
    return where_equal(ops, a, ops.zeros_like(a))


_FORMULAS = {"sum": _of_sum, "mean": _of_mean, "prod": _of_product, "amax": _of_extreme, "amin": _of_extreme}
_declare_reduction("scatter_reduce", _check_scatter_reduce)
_declare_reduction("index_reduce", _check_index_reduce)


# places along one axis: whole slices ----------------------------------------------------------------------------------


def check_vector(operation, index):
    """Raise IndexError for an index tensor with more than one axis."""
    if index.ndim > 1:
        raise IndexError(f"{operation}(): Index is supposed to be a vector")


def along(dim, item):
    """The index tuple that applies `item` to one axis."""
    return (slice(None),) * dim + (item,)


def _check_index_select(input, dim, index):
    check_vector("index_select", index)
    shape = input._array.shape
    n = shape[dim] if shape else 1
    check_indices("index_select", index, n, error=IndexError, wording="index out of range in self")


@linear(moves=True, axes=("dim",), check=_check_index_select)
def index_select(xp, input: Array, dim, index: Constant):
    """The slices along one axis that a vector of indices names."""
    return xp.take(input, xp.reshape(index, (-1,)), axis=dim) if input.ndim else xp.asarray(input, copy=True)


def _slices_of_batch(ops, g, input_shape, dim, index):
    if not input_shape or index.ndim == 1 or 0 in g.shape:
        return None
    return ops.index_add(ops.zeros_of(g, input_shape), dim, ops.reshape(index, (-1,)), along_axis_of_batch(ops, g, dim))


@index_select.vjp("input", summed=_slices_of_batch)
def _(ops, g, input_shape, dim, index):
    return ops.index_add(ops.zeros_of(g, input_shape), dim, index, g)


@index_select.batch_rule
def _(batch, input, dim, index):
    if not batch.has(index):
        return NotImplemented
    if not input.ndim:
        return _as_vector("index_select", batch, input, index)
    data, axis = batch.strip(input)
    places, _ = batch.strip(index)
    ops = batch.ops_for([data, places])
    if axis is None:
        picked = ops.index_select(data, dim, ops.reshape(places, (-1,)))
        size = places.shape[0]
        shape = (*picked.shape[:dim], size, picked.shape[dim] // max(size, 1), *picked.shape[dim + 1 :])
        order = (dim, *[i for i in range(len(shape)) if i != dim])
        return batch.join(ops.permute(ops.reshape(picked, shape), order))
    rows = MemberRows(batch, data.shape[0], ops)
    return rows.members(ops.index_select(rows.of(input, dim), 0, rows.numbers(index, input.shape[dim])), dim)


def _as_vector(name, batch, input, index, *others, **options):
    """An operation on 0-d arrays, treated as vectors of one element."""
    others = tuple([each[None] if getattr(each, "ndim", None) == 0 else each for each in others])
    return getattr(batch.ops, name)(input[None], 0, index, *others, **options)[0]


def _batched_slices(name):
    """index_add or index_copy where each member has indices of its own."""

    def run(batch, input, dim, index, source, **others):
        if input.ndim and not source.ndim:
            return getattr(batch.ops, name)(input, dim, index, source[None], **others)
        if not batch.has(index):
            return NotImplemented
        if not input.ndim:
            return _as_vector(name, batch, input, index, source, **others)
        data = [batch.strip(array)[0] for array in (input, index, source)]
        rows = MemberRows(batch, data[1].shape[0], batch.ops_for(data))
        numbers = rows.numbers(index, input.shape[dim])
        results = getattr(rows.ops, name)(rows.of(input, dim), 0, numbers, rows.of(source, dim), **others)
        return rows.members(results, dim)

    return run


def _check_slices(operation, error, prefix, number):
    def check(input, dim, index, source, alpha=1):
        check_vector(operation, index)
        if operation == "index_copy" and numpy_dtype(index._array.dtype).itemsize < 8:
            name = index.dtype.long_name
            raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {name}")
        input_shape, source_shape = input._array.shape, source._array.shape
        n = input_shape[dim] if input_shape else 1
        if operation == "index_add" and len(input_shape) < 2:
            check_indices(operation, index, n, error=IndexError, wording="index out of range in self")
        else:
            check_indices(operation, index, n, dim=dim, error=error, prefix=prefix)
        size = source_shape[dim] if source_shape else 1
        number_of_indices = prod(index._array.shape)
        if number_of_indices != size:
            raise error(
                f"{operation}_(): Number of indices ({number_of_indices}) should be equal to source.size(dim)"
                + number.format(size, dim)
            )
        if input_shape[:dim] != source_shape[:dim] or input_shape[dim + 1 :] != source_shape[dim + 1 :]:
            raise RuntimeError(
                "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape "
                f"= {list(input_shape)} source.shape = {list(source_shape)}"
            )
        same_dtype(input, source, operation + "_(): self ({}) and source ({}) must have the same scalar type")

    return check


def scale(xp, alpha, array):
    """alpha * array, in the type of the array."""
    return array if alpha == 1 else xp.astype(xp.asarray(alpha), array.dtype) * array


@linear(axes=("dim",), inplace=True, check=_check_slices("index_add", RuntimeError, "", ": ({}), for dim: {}"))
def index_add(xp, input: Array, dim, index: Constant, source: Array, *, alpha: Number = 1):
    """A copy of input with alpha times the slices of source added to the slices that a vector of indices names."""
    if not input.ndim:
        return input + scale(xp, alpha, xp.reshape(source, ()))
    rows = source if source.ndim else xp.reshape(source, (1,))
    if dim:
        rows = xp.moveaxis(rows, dim, 0)
    total = xp.sum_at((input.shape[dim], *rows.shape[1:]), (xp.reshape(index, (-1,)),), rows)
    if dim:
        total = xp.moveaxis(total, 0, dim)
    return input + scale(xp, alpha, total)


@index_add.vjp("input")
def _(g):
    return g


@index_add.vjp("source")
def _(ops, g, source_shape, dim, index, alpha):
    of_source = ops.reshape(ops.index_select(g, dim, index), source_shape)
    return of_source if alpha == 1 else of_source * alpha


@linear(axes=("dim",), inplace=True, check=_check_slices("index_copy", IndexError, "index_copy_(): ", " ({})"))
def index_copy(xp, input: Array, dim, index: Constant, source: Array):
    """A copy of input with the slices of source written over the slices that a vector of indices names."""
    if not input.ndim:
        return xp.asarray(xp.reshape(source, ()), copy=True)
    result = copied_in_rows(xp, input)
    xp.setitem(result, along(dim, xp.reshape(index, (-1,))), source)
    return result


@index_copy.vjp("input")
def _(ops, g, dim, index):
    return ops.index_fill(g, dim, index, 0)


@index_copy.vjp("source")
def _(ops, g, source_shape, dim, index):
    return ops.reshape(ops.index_select(g, dim, index), source_shape)


for _rule in (index_add, index_copy):
    _rule.batch_rule(_batched_slices(_rule.name))


def check_value(operation, input, value):
    """Raise RuntimeError unless a value is a number or a tensor without axes that the input's type can hold."""
    if type(value) is float or type(value) is int:
        check_fits(input, value)
        return
    if getattr(value, "ndim", 0):
        raise RuntimeError(
            f"{operation}_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    kind = getattr(value, "dtype", None)
    is_complex = isinstance(value, complex) or (kind is not None and kind.is_complex)
    if is_complex and operation == "index_fill" and not input.dtype.is_complex:
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    if is_complex and kind is not None and not input.dtype.is_complex and kind_of(input._array) != "b":
        raise overflow_error(input.dtype)
    if kind not in (None, input.dtype) and underlying(value._array) is value._array and not is_lazy(value._array):
        value = value.item()
    check_fits(input, value)


def _check_index_fill(input, dim, index, value):
    check_vector("index_fill", index)
    check_value("index_fill", input, value)
    if numpy_dtype(index._array.dtype).itemsize < 8:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    check_indices("index_fill", index, input.shape[dim] if input.ndim else 1, dim=dim, error=IndexError, wrap=True)


@linear(
    axes=("dim",),
    inplace=True,
    scalars=True,
    node={"": "IndexFillBackward1", "value": "IndexFillBackward0"},
    check=_check_index_fill,
)
def index_fill(xp, input: Array, dim, index: Constant, value: Array):
    """A copy of input with a value in all elements of the slices that a vector of indices names."""
    result = copy_in_order(xp, input)
    value = number_as(value, input.dtype)
    xp.setitem(result, along(dim, xp.reshape(index, (-1,))) if input.ndim else ..., value)
    return result


@index_fill.vjp("input")
def _(ops, g, dim, index):
    return ops.index_fill(g, dim, index, 0)


@index_fill.vjp("value")
def _(ops, g, dim, index):
    # a slice that is named twice is filled once
    return ops.where(ops.index_fill(ops.zeros_like(g), dim, index, 1) == 1, g, 0)


@index_fill.batch
def _(value, ndim):
    return {"value": value[(slice(None), *(None,) * (ndim + 1 - value.ndim))]} if hasattr(value, "ndim") else {}


@index_fill.batch_rule
def _(batch, input, dim, index, value):
    ops = batch.ops
    if not input.ndim:
        return (ops.zeros_like(input) + value).astype(input.dtype)
    if not batch.has(index):
        return NotImplemented
    n = index.shape[0] if index.ndim else 1
    source = ops.zeros_of(input, (*input.shape[:dim], n, *input.shape[dim + 1 :])) + value
    if source.dtype != input.dtype:
        source = source.astype(input.dtype)
    return ops.index_copy(input, dim, index, source)


# places in the flattened tensor ---------------------------------------------------------------------------------------


def _check_take(input, index):
    indices, n = underlying(index._array), input.numel()
    if kind_of(indices) != "i" or numpy_dtype(indices.dtype).itemsize != 8:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {dtype_name(index)}")
    wrong = first_outside(indices, -n, n)
    if wrong is not None:
        raise IndexError(f"out of range: tried to access index {wrong} on a tensor of {n} elements.")


@linear(batching="loop", check=_check_take)
def take(xp, input: Array, index: Constant):
    """The elements of the flattened input at the indices; negative indices count from the end."""
    return xp.getitem(xp.reshape(input, (-1,)), (index,))


@take.vjp("input", summed=True)
def _(ops, g, input_shape, index):
    return ops.put(ops.zeros_of(g, input_shape), index, g, True)


@take.batch_rule
def _(batch, input, index):
    flat, places = batch.ops.reshape(input, (-1,)), batch.ops.reshape(index, (-1,))
    return batch.ops.reshape(batch.ops.index_select(flat, 0, places), index.shape)


def _check_put(input, index, source, accumulate):
    _check_take(input, index)
    if index.numel() != source.numel():
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.numel()}, index.numel() = {index.numel()}"
        )
    same_dtype(
        input,
        source,
        "put_(): self and source expected to have the same dtype, but got self.dtype = {} and source.dtype = {}",
    )


@linear(batching="loop", inplace=True, check=_check_put)
def put(xp, input: Array, index: Constant, source: Array, accumulate=False):
    """A copy of input with source written at (or added to) places of the flattened tensor."""
    flat, where, values = xp.reshape(input, (-1,)), xp.reshape(index, (-1,)), xp.reshape(source, (-1,))
    if accumulate:
        return input + xp.reshape(xp.sum_at(flat.shape, (where,), values), input.shape)
    flat = xp.asarray(flat, copy=True)
    xp.setitem(flat, (where,), values)
    return laid_out_as(xp.reshape(flat, input.shape), input)


@put.vjp("input")
def _(ops, g, index, accumulate):
    return g if accumulate else ops.put(g, index, ops.zeros_of(g, index.shape), False)


@put.vjp("source")
def _(ops, g, source_shape, index):
    return ops.reshape(ops.take(g, index), source_shape)


@put.batch_rule
def _(batch, input, index, source, accumulate):
    flat, places, values = [batch.ops.reshape(array, (-1,)) for array in (input, index, source)]
    write = batch.ops.index_add if accumulate else batch.ops.index_copy
    return batch.ops.reshape(write(flat, 0, places, values), input.shape)


# masks ----------------------------------------------------------------------------------------------------------------


def _check_masked_fill(input, mask, value):
    if kind_of(mask._array) != "b":
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype.c_name}")
    check_value("masked_fill", input, value)
    broadcast_shapes(mask._array.shape, input._array.shape)


@linear(
    by_element=True,
    inplace=True,
    rows=True,
    scalars=True,
    node={"": "MaskedFillBackward1", "value": "MaskedFillBackward0"},
    check=_check_masked_fill,
)
def masked_fill(xp, input: Array, mask: Constant, value: Array):
    """A copy of input, broadcast with the mask, with a value where the mask is true."""
    return xp.where(mask, xp.asarray(number_as(value, input.dtype), dtype=input.dtype), input)


@masked_fill.vjp("input")
def _(ops, g, mask):
    return ops.where(mask, 0, g)


@masked_fill.vjp("value")
def _(ops, g, mask):
    return ops.where(mask, g, 0)


def _check_masked_select(input, mask):
    if kind_of(mask._array) != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    broadcast_shapes(mask.shape, input.shape)


@linear(batching="loop", check=_check_masked_select)
def masked_select(xp, input: Array, mask: Constant):
    """The elements where the mask, broadcast with the input, is true, as a vector in row-major order."""
    shape = broadcast_shapes(input.shape, mask.shape)
    return xp.getitem(xp.broadcast_to(input, shape), (xp.broadcast_to(mask, shape),))


@masked_select.vjp("input")
def _(ops, g, input_shape, mask):
    shape = broadcast_shapes(tuple(input_shape), tuple(mask.shape))
    return ops.masked_scatter(ops.zeros_of(g, shape), mask, g)


@masked_select.batch_rule
def _(batch, input, mask):
    if batch.is_batched(mask):
        raise RuntimeError(BATCHED_MASK)
    shape = broadcast_shapes(input.shape, mask.shape)
    whole = namespace(mask).broadcast_to(mask, shape)
    return batch.ops.index(batch.ops.expand(input, shape), (whole,))


TOO_FEW = "Number of elements of source < number of ones in mask"


def _check_masked_scatter(input, mask, source):
    if kind_of(mask._array) != "b":
        dtype_name = mask.dtype.long_name
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {dtype_name}")
    same_dtype(input, source, "masked_scatter: expected self and source to have same dtypes but got {} and {}")
    shape = broadcast_shapes(mask.shape, input.shape)
    repeats = 1
    for n, m in zip(shape, (1,) * (len(shape) - mask.ndim) + tuple(mask.shape), strict=True):
        repeats *= n if m == 1 else 1
    # the batch form checks a mask that differs between the members of a batch
    same_for_all = underlying(mask._array) is mask._array and not is_lazy(mask._array)
    if same_for_all and count_true(mask._array) * repeats > source.numel():
        raise RuntimeError(TOO_FEW)


@linear(inplace=True, batching="loop", check=_check_masked_scatter)
def masked_scatter(xp, input: Array, mask: Constant, source: Array):
    """A copy of input, broadcast with the mask, with source's first elements in turn where the mask is true."""
    shape = broadcast_shapes(input.shape, mask.shape)
    result = copied_in_rows(xp, xp.broadcast_to(input, shape))
    mask = xp.broadcast_to(mask, shape)
    xp.setitem(result, (mask,), xp.reshape(source, (-1,))[: count_true(mask)])
    return result


@masked_scatter.vjp("input")
def _(ops, g, mask):
    return ops.where(mask, 0, g)


@masked_scatter.vjp("source")
def _(ops, g, mask, source_shape):
    return ops.masked_gather(g, mask, source_shape)


def _ranks(ops, mask):
    """For each true element of a flat mask, the number of true elements before it; 0 elsewhere."""
    return ops.where(mask, ops.cumsum(mask, 0) - 1, 0)


@masked_scatter.batch_rule
def _(batch, input, mask, source):
    ops = batch.ops
    shape = broadcast_shapes(input.shape, mask.shape)
    input, mask = [ops.reshape(ops.expand(array, shape), (-1,)) for array in (input, mask)]
    source, ranks = ops.reshape(source, (-1,)), _ranks(ops, mask)
    if underlying(mask).any() and underlying(ranks).max() >= source.shape[0]:
        raise RuntimeError(TOO_FEW)
    if source.shape[0]:
        input = ops.where(mask, ops.index_select(source, 0, ranks), input)
    return ops.reshape(input, shape)


@linear(batching="loop", method=False, function=False)
def masked_gather(xp, input: Array, mask: Constant, shape):
    """The elements where the mask, broadcast to the input, is true, and zeros behind them to fill the shape."""
    result = xp.zeros(shape, dtype=input.dtype)
    elements = xp.getitem(input, (xp.broadcast_to(mask, input.shape),))
    flat = xp.reshape(result, (-1,))
    flat[: elements.shape[0]] = elements
    return xp.reshape(flat, shape)


@masked_gather.vjp("input")
def _(ops, g, mask, input_shape):
    return ops.masked_scatter(ops.zeros_of(g, input_shape), mask, g)


@masked_gather.batch_rule
def _(batch, input, mask, shape):
    ops = batch.ops
    mask = ops.reshape(ops.expand(mask, input.shape), (-1,))
    result = ops.zeros_of(input, (prod(shape),))
    if result.shape[0]:
        elements = ops.where(mask, ops.reshape(input, (-1,)), 0)
        result = ops.index_add(result, 0, _ranks(ops, mask), elements)
    return ops.reshape(result, shape)


@constant()
def argwhere(xp, input: Array):
    """The places of the elements that are not zero, one in each row."""
    if not input.ndim:
        return xp.zeros((int(bool(input)), 0), dtype=xp.int64)
    return xp.stack(xp.nonzero(input), axis=1)


@argwhere.batch_rule
def _(batch, input):
    raise RuntimeError(DYNAMIC_SHAPE.format(name="nonzero"))
