"""Shape: views under another shape, joining and splitting, reordering, repeating, triangles and diagonals.

All are linear and move values without changing them, so each transpose moves the cotangent back: where values were
repeated it sums, where they were dropped it fills in zeros.
"""

import math
from operator import index
from typing import Any

from adjoint.arrays.dtypes import from_numpy_dtype, kind_of
from adjoint.arrays.kernels import products_and_sums
from adjoint.arrays.kernels.products_and_sums import (
    AS_STRIDED,
    DIAGONAL,
    EXPAND,
    JOIN,
    PERMUTE,
    PERMUTE_BACK,
    RESHAPE,
    SQUEEZE,
    STACK,
    SUM_TO,
    SWAP,
    UNSQUEEZE,
    VIEW,
    WINDOWS,
)
from adjoint.arrays.namespace import row_major, underlying
from adjoint.arrays.shapes import expand_shape, require_dim, sum_to

from .declare import Array, Arrays, constant, linear
from .elementwise import copy_in_order


def integers(operation, argument, values):
    """The values as a tuple of Python ints; NumPy integers and integer tensors are accepted."""
    try:
        return tuple(map(index, values))
    except TypeError:
        wrong = next((v for v in values if not isinstance(v, int)), None)
        raise TypeError(
            f"{operation}(): argument '{argument}' must be tuple of ints, but found element of type "
            f"{type(wrong).__name__}"
        ) from None


_HIDDEN: Any = {"method": False, "function": False}


# other shapes of the same elements ------------------------------------------------------------------------------------


def proper_sizes(operation, shape):
    """The sizes as ints. Raises RuntimeError for negative ones other than -1."""
    shape = integers(operation, "shape", shape)
    for i, n in enumerate(shape):
        if n < -1:
            raise RuntimeError(f"invalid shape dimension {n} at index {i} of shape {list(shape)}")
    return shape


def _explain_reshape(error, input, shape):
    if not isinstance(error, ValueError):
        return None
    if shape.count(-1) > 1:
        return RuntimeError("only one dimension can be inferred")
    if -1 in shape and 0 in shape and not input.size:
        return RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 "
            "can be any value and is ambiguous"
        )
    return RuntimeError(f"shape '{list(shape)}' is invalid for input of size {input.size}")


@linear(view=True, spread="shape", node="ViewBackward0", explain=_explain_reshape, native=RESHAPE)
def reshape(xp, input: Array, shape):
    """The elements in row-major order under another shape (one size may be -1): a view if possible, else a copy."""
    return xp.reshape(input, proper_sizes("reshape", shape))


@linear(view=True, spread="shape", node="ViewBackward0", explain=_explain_reshape, native=VIEW, **_HIDDEN)
def view(xp, input: Array, shape):
    """The elements under another shape (one size may be -1), sharing memory."""
    result = xp.reshape(input, proper_sizes("view", shape))
    if result.size and not xp.may_share_memory(result, input):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across "
            "two contiguous subspaces). Use .reshape(...) instead."
        )
    return result


@reshape.vjp("input", native=RESHAPE)
def _(ops, g, input_shape):
    return ops.reshape(g, input_shape)


def _of_whole_batch(size, input, shape):
    """The shape of a batch of results. An empty batch has no elements, so -1 could not be inferred later."""
    shape = tuple(shape)
    others = math.prod([n for n in shape if n != -1])
    elements = math.prod(input.shape[1:])
    if not size and shape.count(-1) == 1 and others and elements % others == 0:
        shape = tuple([elements // others if n == -1 else n for n in shape])
    return {"shape": (size, *shape)}


reshape.batch(_of_whole_batch)


@view.vjp("input", native=RESHAPE)
def _(ops, g, input_shape):
    return ops.reshape(g, input_shape)


view.batch(_of_whole_batch)


@linear(view=True, new_axes=("dim",), native=UNSQUEEZE)
def unsqueeze(xp, input: Array, dim):
    """A view with one more axis, of length one, at place dim."""
    return xp.expand_dims(input, axis=dim)


@unsqueeze.vjp("input")
def _(ops, g, dim):
    return ops.squeeze(g, dim)


def _squeeze(name, node):
    # the same operation under the three names that its node has
    keeps = () if name == "squeeze_all" else ("dim",)

    hidden = {**_HIDDEN, "node": node, "keeps": keeps}

    @linear(name=name, view=True, axes=("dim",), native=SQUEEZE, **hidden)
    def squeeze(xp, input: Array, dim):
        """A view without the named axes that have length one."""
        dims = dim if isinstance(dim, tuple) else (dim,)
        return xp.squeeze(input, axis=tuple(d for d in dims if input.ndim and input.shape[d] == 1))

    @squeeze.vjp("input", native=RESHAPE)
    def _(ops, g, input_shape):
        return ops.reshape(g, input_shape)

    @squeeze.batch_rule
    def _(batch, input, dim):
        if dim != ():
            return NotImplemented
        # a view also if no axis is removed
        data, _ = batch.strip(input)
        return batch.join(data[...])


_squeeze("squeeze", "SqueezeBackward1")
_squeeze("squeeze_all", "SqueezeBackward0")
_squeeze("squeeze_several", "SqueezeBackward2")


# other orders of the axes ---------------------------------------------------------------------------------------------


@linear(view=True, axes=("dims",), native=PERMUTE, **_HIDDEN)
def permute(xp, input: Array, dims):
    """A view whose axis k is the input's axis dims[k]."""
    return xp.permute_dims(input, dims)


@permute.vjp("input", native=PERMUTE_BACK)
def _(ops, g, dims):
    return ops.permute(g, tuple(sorted(range(len(dims)), key=dims.__getitem__)))


@permute.batch
def _(dims):
    return {"dims": (0, *dims)}


@permute.batch_rule
def _(batch, input, dims):
    data, _ = batch.strip(input)
    ndim = data.ndim - 1
    return batch.join(batch.ops_for([data]).permute(data, (0, *[d % ndim + 1 for d in dims])))


@linear(view=True, axes=("dim0", "dim1"), native=SWAP)
def transpose(xp, input: Array, dim0, dim1):
    """A view with two axes exchanged."""
    if dim0 == dim1:
        return input[...]
    order = list(range(input.ndim))
    order[dim0], order[dim1] = dim1, dim0
    return xp.permute_dims(input, tuple(order))


@transpose.vjp("input", native=SWAP)
def _(ops, g, dim0, dim1):
    return ops.transpose(g, dim0, dim1)


@linear(view=True, core="(m,n)->(n,m)", method=False, function=False)
def t(xp, input: Array):
    """A matrix with its two axes exchanged."""
    return xp.matrix_transpose(input)


@t.vjp("input")
def _(ops, g):
    return ops.t(g)


# repeated values ------------------------------------------------------------------------------------------------------


def expanded_sizes(input, size):
    """The sizes of expand(), with -1 replaced. Raises RuntimeError where the input does not fit."""
    if not input.ndim and type(size) is tuple and min(size, default=0) >= 0:
        return size
    size = integers("expand", "size", size)
    shape, extra = input.shape, len(size) - input.ndim
    if extra >= 0 and size[extra:] == shape and min(size, default=0) >= 0:
        return size
    if extra < 0:
        kind = from_numpy_dtype(input.dtype).long_name
        raise RuntimeError(
            f"expand(adjoint.{kind}Tensor{{{list(shape)}}}, size={list(size)}): the number of sizes provided "
            f"({len(size)}) must be greater or equal to the number of dimensions in the tensor ({input.ndim})"
        )
    for i, n in enumerate(size[:extra]):
        if n < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing dimension {i}"
            )
    for i, (n, m) in reversed(list(enumerate(zip(size[extra:], shape, strict=True), extra))):
        if n not in (-1, m) and (m != 1 or n < 0):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({m}) at non-singleton "
                f"dimension {i}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
            )
    return size[:extra] + tuple(m if n == -1 else n for n, m in zip(size[extra:], shape, strict=True))


@linear(view=True, spread="size", function=False, native=EXPAND)
def expand(xp, input: Array, size):
    """A view with axes of length one repeated to the given sizes (-1: as it is), and new axes in front."""
    if type(size) is tuple and 1 not in size:
        view = products_and_sums.expand(input, size)
        if view is not None:
            return view
    return expand_shape(xp, input, expanded_sizes(input, size))


@expand.vjp("input", native=SUM_TO)
def _(ops, g, input_shape):
    return ops.sum_to_size(g, input_shape)


def with_axes(input, n):
    """A batch whose members get n more axes of length one in front."""
    return input[(slice(None), *(None,) * n)]


@expand.batch
def _(input, size, ndim):
    return {"input": with_axes(input, len(size) - ndim), "size": (input.shape[0], *size)}


@linear(dtypes="same", node="SumBackward1", shown={"batch_ndim": None}, native=SUM_TO, **_HIDDEN)
def sum_to_size(xp, input: Array, size, batch_ndim=0):
    """The input summed along axes that are shorter in `size`, and repeated along axes that are longer.

    The first batch_ndim axes are unchanged and not part of `size`.
    """
    if not batch_ndim:
        return sum_to(xp, input, size)
    lead, shape = input.shape[:batch_ndim], input.shape[batch_ndim:]
    rank = max(len(shape), len(size))
    aligned = xp.reshape(input, lead + (1,) * (rank - len(shape)) + shape)
    return xp.reshape(sum_to(xp, aligned, lead + (1,) * (rank - len(size)) + tuple(size)), lead + tuple(size))


@sum_to_size.vjp("input")
def _(ops, g, input_shape, batch_ndim):
    return ops.sum_to_size(g, input_shape[batch_ndim:], batch_ndim)


@sum_to_size.batch
def _(batch_ndim):
    return {"batch_ndim": batch_ndim + 1}


def check_repeat(input, repeats):
    """Raise RuntimeError unless there is a number for each axis, none negative."""
    if len(repeats) < input.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if any(n < 0 for n in repeats):
        shape = (1,) * (len(repeats) - input.ndim) + tuple(input.shape)
        sizes = [n * m for n, m in zip(repeats, shape, strict=True)]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(sizes)}: {sizes}")


@linear(moves=True, spread="repeats", function=False, check=check_repeat)
def repeat(xp, input: Array, repeats):
    """The input repeated repeats[k] times along each axis k."""
    return xp.tile(input, integers("repeat", "repeats", repeats))


@repeat.vjp("input")
def _(ops, g, input_shape, repeats):
    shape = (1,) * (len(repeats) - len(input_shape)) + tuple(input_shape)
    pairs = tuple(n for pair in zip(repeats, shape, strict=True) for n in pair)
    total = ops.sum(ops.reshape(g, pairs), tuple(range(0, len(pairs), 2))) if pairs else g
    return ops.reshape(total, input_shape)


@repeat.batch
def _(input, repeats, ndim):
    return {"input": with_axes(input, len(repeats) - ndim), "repeats": (1, *repeats)}


# joining and splitting ------------------------------------------------------------------------------------------------


def check_cat(tensors, dim):
    """Raise unless the tensors agree in all axes but dim; an empty one-dimensional tensor goes with everything."""
    if not tensors:
        raise ValueError("adjoint.cat(): expected a non-empty list of Tensors")
    shapes = [tensor._array.shape for tensor in tensors]
    first = shapes[0]
    if first and shapes.count(first) == len(shapes):
        return
    if () in shapes:
        raise RuntimeError(f"zero-dimensional tensor (at position {shapes.index(())}) cannot be concatenated")
    for i, shape in enumerate(shapes):
        if shape == first:
            continue
        if len(shape) != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
        for axis, (n, m) in enumerate(zip(first, shape, strict=True)):
            if n != m and axis != dim:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {n} but got size {m} "
                    f"for tensor number {i} in the list."
                )


@linear(moves=True, dtypes="same", axes=("dim",), check=check_cat, native=JOIN, **_HIDDEN)
def cat(xp, tensors: Arrays, dim=0):
    """The tensors joined along one axis."""
    return row_major(xp.concat(tensors, axis=dim))


@cat.vjp("tensors")
def _(ops, g, tensors_shapes, dim):
    parts, start = [], 0
    for shape in tensors_shapes:
        stop = start + shape[dim]
        parts.append(g[(slice(None),) * dim + (slice(start, stop), ...)])
        start = stop
    return parts


def check_stack(tensors, dim):
    """Raise RuntimeError unless there are tensors and all have the same shape."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0]._array.shape
    for i, tensor in enumerate(tensors):
        if tensor._array.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(tensor.shape)} at entry {i}"
            )


@linear(moves=True, dtypes="same", new_axes=("dim",), check=check_stack, method=False, native=STACK)
def stack(xp, tensors: Arrays, dim=0):
    """Tensors of one shape joined along a new axis."""
    return row_major(xp.stack(tensors, axis=dim))


@stack.vjp("tensors")
def _(ops, g, dim):
    return list(ops.unbind(g, dim))


def split_views(input, sizes, dim):
    """Consecutive views of the input along dim, one for each size."""
    views, start = [], 0
    for n in sizes:
        views.append(input[(slice(None),) * dim + (slice(start, start + n), ...)])
        start += n
    return views


def equal_sizes(n, size):
    """The sizes of pieces of an axis of length n, all of one size but the last."""
    return [min(size, n - start) for start in (range(0, n, size) if n else (0,))]


def check_split(input, split_size, dim):
    """Raise RuntimeError unless the size is valid for a piece."""
    if input.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    if split_size == 0 and input.shape[dim]:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {input.shape[dim]}"
        )


_OF_SPLIT = {"keeps": ("input_shape", "split_size")}
_OF_SIZES = {"keeps": ("input_shape", "split_sizes")}


@linear(view=True, outputs=(), axes=("dim",), check=check_split, method=False, function=False, **_OF_SPLIT)
def split(xp, input: Array, split_size, dim=0):
    """Views of split_size along one axis, the last of the rest."""
    return split_views(input, equal_sizes(input.shape[dim], split_size), dim)


@split.vjp("input")
def _(ops, g, dim):
    return ops.cat(list(g), dim)


def check_split_with_sizes(input, split_sizes, dim):
    """Raise RuntimeError unless the sizes add up to the length of the axis."""
    if input.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    sizes = list(integers("split_with_sizes", "split_sizes", split_sizes))
    if any(n < 0 for n in sizes):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={sizes}"
        )
    if sum(sizes) != input.shape[dim]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {input.shape[dim]} (input tensor's size at "
            f"dimension {dim}), but got split_sizes={sizes}"
        )


@linear(view=True, outputs=(), axes=("dim",), check=check_split_with_sizes, **_OF_SIZES)
def split_with_sizes(xp, input: Array, split_sizes, dim=0):
    """Views of the given sizes along one axis."""
    return split_views(input, split_sizes, dim)


@split_with_sizes.vjp("input")
def _(ops, g, dim):
    return ops.cat(list(g), dim)


@linear(
    outputs=(),
    batching="axes",
    method=False,
    function=False,
    node=lambda members, node: node,
    shown={"node": None},
    undefined=True,
)
def join_results(xp, members: Arrays, node):
    """Several tensors as the results of one operation, which has a node of the given name."""
    return list(members)


@join_results.vjp("members")
def _(g):
    return g


@linear(outputs=(), axes=("dim",), check=check_split, **_OF_SPLIT)
def unsafe_split(xp, input: Array, split_size, dim=0):
    """As split(), but the pieces count as separate tensors, without the check that they share the input's memory."""
    return split_views(input, equal_sizes(input.shape[dim], split_size), dim)


@unsafe_split.vjp("input")
def _(ops, g, dim):
    return ops.cat(list(g), dim)


@linear(outputs=(), axes=("dim",), check=check_split_with_sizes, **_OF_SIZES)
def unsafe_split_with_sizes(xp, input: Array, split_sizes, dim=0):
    """As split_with_sizes(), but the pieces count as separate tensors."""
    return split_views(input, split_sizes, dim)


@unsafe_split_with_sizes.vjp("input")
def _(ops, g, dim):
    return ops.cat(list(g), dim)


def check_unbind(input, dim):
    """Raise IndexError for a tensor without axes."""
    require_dim(dim, input.ndim)


@linear(view=True, outputs=(), axes=("dim",), check=check_unbind)
def unbind(xp, input: Array, dim=0):
    """Views of all slices along one axis, without that axis."""
    before = (slice(None),) * dim
    return [input[(*before, i, ...)] for i in range(input.shape[dim])]


@unbind.vjp("input")
def _(ops, g, dim):
    return ops.stack(list(g), dim)


# reordering along axes ------------------------------------------------------------------------------------------------


@linear(moves=True, axes=("dims",), spread="dims")
def flip(xp, input: Array, dims):
    """A copy with the order along the given axes reversed."""
    return copy_in_order(xp, xp.flip(input, axis=dims if input.ndim else ()))


@flip.vjp("input")
def _(ops, g, dims):
    return ops.flip(g, dims)


@flip.batch_rule
def _(batch, input, dims):
    return batch.ops.clone(input) if dims == () else NotImplemented


@linear(moves=True, axes=("dims",), method=False, function=False)
def roll(xp, input: Array, shifts, dims):
    """A copy with the elements shifted cyclically along the axes dims, flattened if dims is None."""
    if dims is None:
        return xp.reshape(roll.kernel(xp)(xp.reshape(input, (-1,)), shifts, (0,)), input.shape)
    if len(dims) == 1 and input.shape[dims[0]]:
        # two parts, without NumPy's code for several axes
        (dim,), n = dims, input.shape[dims[0]]
        first, before = n - shifts[0] % n, (slice(None),) * dim
        parts = input[(*before, slice(first, n))], input[(*before, slice(first))]
        return row_major(xp.concat(parts, axis=dim))
    return row_major(xp.roll(input, shifts, axis=dims))


@roll.vjp("input")
def _(ops, g, shifts, dims):
    return ops.roll(g, tuple(-n for n in shifts), dims)


@roll.batch
def _(dims):
    return None if dims is None else {}


@roll.batch_rule
def _(batch, input, shifts, dims):
    if dims is not None:
        return NotImplemented
    flat = batch.ops.reshape(input, (-1,))
    return batch.ops.reshape(batch.ops.roll(flat, shifts, (0,)), input.shape)


# triangles and diagonals ----------------------------------------------------------------------------------------------


def _check_triangle(name):
    def check(input, diagonal):
        if input.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")

    return check


@linear(moves=True, core="(m,n)->(m,n)", inplace=True, check=_check_triangle("tril"))
def tril(xp, input: Array, diagonal=0):
    """The matrices' lower triangles, zeros above the given diagonal."""
    return xp.tril(input, k=index(diagonal))


@tril.vjp("input")
def _(ops, g, diagonal):
    return ops.tril(g, diagonal)


@linear(moves=True, core="(m,n)->(m,n)", inplace=True, check=_check_triangle("triu"))
def triu(xp, input: Array, diagonal=0):
    """The matrices' upper triangles, zeros below the given diagonal."""
    return xp.triu(input, k=index(diagonal))


@triu.vjp("input")
def _(ops, g, diagonal):
    return ops.triu(g, diagonal)


def check_diagonal(input, offset, dim1, dim2):
    """Raise RuntimeError unless the axes differ."""
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")


@linear(view=True, axes=("dim1", "dim2"), check=check_diagonal, native=DIAGONAL)
def diagonal(xp, input: Array, offset=0, dim1=0, dim2=1):
    """A view of a diagonal of the planes that two axes span, as the last axis; offset counts up and to the right."""
    return xp.diagonal(input, offset, dim1, dim2)


@diagonal.vjp("input")
def _(ops, g, input_shape, offset, dim1, dim2):
    return ops.embed_diagonal(g, offset, dim1, dim2, input_shape[dim1], input_shape[dim2])


@linear(new_axes=("dim1", "dim2"), method=False, function=False, node="DiagEmbedBackward0")
def embed_diagonal(xp, input: Array, offset, dim1, dim2, size1, size2):
    """Zeros, with two axes of the given sizes, and the last axis of the input along a diagonal of them."""
    shape = list(input.shape[:-1])
    for dim, n in sorted(((dim1, size1), (dim2, size2))):
        shape.insert(dim, n)
    result = xp.zeros(tuple(shape), dtype=input.dtype)
    return xp.with_diagonal(result, input, offset, dim1, dim2)


@embed_diagonal.vjp("input")
def _(ops, g, offset, dim1, dim2):
    return ops.diagonal(g, offset, dim1, dim2)


# views of memory ------------------------------------------------------------------------------------------------------


_OF_LAYOUT = {"shape": "size", "strides": "stride", "offset": "storage_offset", "steps": None, "input_shape": None}


@linear(view=True, shown=_OF_LAYOUT, native=AS_STRIDED, **_HIDDEN)
def as_strided(xp, input: Array, shape, strides, offset, steps):
    """A view of the input's memory with strides and an offset from its start.

    It is a copy of the elements of that view where the strides of the input are not `steps`.
    """
    if not hasattr(input, "strides") or not has_steps(input, steps):
        return restride_kernel(xp, input, (input.shape, steps, 0), (shape, strides, offset), 0)
    return xp.as_strided(input, shape, strides, offset)


@as_strided.vjp("input")
def _(ops, g, input_shape, shape, strides, offset, steps):
    return ops.restride(g, (shape, strides, offset), (input_shape, steps, 0), 1)


@as_strided.batch
def _(size, input, shape, strides, offset, steps):
    apart = cells((input.shape[1:], steps, 0), (shape, strides, offset)).stop
    return {"shape": (size, *shape), "strides": (apart, *strides), "steps": (apart, *steps)}


def has_steps(array, steps):
    """True if an array has these strides, in elements; strides of axes of length one are ignored."""
    size = array.itemsize
    array_steps = tuple([k // size for k in array.strides])
    return array_steps == steps or all(
        n == 1 or k == step for n, k, step in zip(array.shape, array_steps, steps, strict=True)
    )


def cells(*layouts):
    """The range of memory cells that layouts, as (shape, strides, offset), reach."""
    ends = [0]
    for shape, strides, offset in layouts:
        if 0 not in shape:
            ends += [offset, offset + sum([(n - 1) * k for n, k in zip(shape, strides, strict=True)])]
    return range(min(ends), max(ends) + 1)


def meets_nowhere(layout):
    """True if no two elements lie in one cell, as far as one axis at a time can show."""
    reach = 0
    for n, step in sorted(zip(layout[0], layout[1], strict=True), key=lambda axis: axis[1]):
        if n > 1 and step <= reach:
            return False
        reach += (n - 1) * step
    return True


def lies_in_rows(view, n):
    """True for a view of all of n elements in their order."""
    return view.size == n and view.flags.c_contiguous


def restride_kernel(xp, input, source, target, shared):
    """The kernel of `restride`."""
    span = cells(source, target)
    if hasattr(input, "strides") and input.size and meets_nowhere(source) and meets_nowhere(target):
        # no sums, then: written by a view and read by another
        n = len(span)
        memory = (xp.empty if input.size == n else xp.zeros)((n,), dtype=input.dtype)
        there, back = [
            xp.as_strided(memory, shape, strides, offset - span.start) for shape, strides, offset in (source, target)
        ]
        xp.setitem(there, ..., input)
        # elements that are read in order from end to end need no other memory
        return xp.reshape(memory, target[0]) if lies_in_rows(back, n) else xp.asarray(back, copy=True)
    offsets = [xp.places_in_memory(*layout) - span.start for layout in (source, target)]
    counts = xp.bincount(offsets[shared], minlength=len(span))
    total = xp.sum_at((len(span),), (offsets[0],), xp.reshape(input, (-1,)))
    parts = xp.where(counts == 0, 0, xp.astype(total / xp.astype(xp.maximum(counts, 1), xp.float64), input.dtype))
    return xp.reshape(xp.take(parts, offsets[1]), target[0])


@linear(method=False, function=False)
def restride(xp, input: Array, source, target, shared):
    """The input written to memory in the layout `source`, overlapping elements added, and read in the layout `target`.

    source, target: (shape, strides, offset). The value of a memory cell is divided by its number of elements under
    layout number `shared`. With shared=1 this is the transpose of reading a tensor of layout `target` as `source`;
    overlapping elements of a tensor share a cell in equal parts.
    """
    return restride_kernel(xp, input, source, target, shared)


@restride.vjp("input")
def _(ops, g, source, target, shared):
    return ops.restride(g, target, source, 1 - shared)


@restride.batch
def _(size, source, target):
    apart = len(cells(source, target))
    layouts = [((size, *shape), (apart, *strides), offset) for shape, strides, offset in (source, target)]
    return {"source": layouts[0], "target": layouts[1]}


def _check_unfold(input, dimension, size, step):
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    n = input.shape[dimension]
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {dimension} is {n} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")


@linear(view=True, axes=("dimension",), check=_check_unfold, native=WINDOWS, **_HIDDEN)
def unfold(xp, input: Array, dimension, size, step):
    """A view of all windows of a size, each `step` further along an axis; the places in a window are the last axis."""
    return xp.windows_along(input, size, dimension)[(*(slice(None),) * dimension, slice(None, None, step), ...)]


@unfold.vjp("input")
def _(ops, g, input_shape, dimension, size, step):
    return ops.fold_windows(g, input_shape, dimension, size, step)


_OF_WINDOWS = {"dimension": "dim", "length": "size", "shape": None}


@linear(axes=("dimension",), method=False, function=False, node="UnfoldBackwardBackward0", shown=_OF_WINDOWS)
def fold_windows(xp, input: Array, shape, dimension, length, step):
    """Zeros of the given shape with every window of `unfold` added where it came from."""
    input = xp.moveaxis(input, dimension, -2)
    *rest, number, _ = input.shape
    # windows are cut into few consecutive pieces of one step each. Only a single window can have a step beyond the
    # shape
    step = min(step, max(shape[dimension], 1))
    pieces = -(-length // step)
    rows = xp.zeros((*rest, number + pieces, step), dtype=input.dtype)
    for k in range(pieces):
        piece = xp.getitem(input, (..., slice(k * step, (k + 1) * step)))
        rows[..., k : k + number, : piece.shape[-1]] += piece
    whole = xp.reshape(rows, (*rest, (number + pieces) * step))
    result = xp.zeros((*rest, shape[dimension]), dtype=input.dtype)
    n = min(result.shape[-1], whole.shape[-1])
    result[..., :n] = whole[..., :n]
    return xp.moveaxis(result, -1, dimension)


@fold_windows.vjp("input")
def _(ops, g, dimension, length, step):
    return ops.unfold(g, dimension, length, step)


@fold_windows.batch
def _(size, shape):
    return {"shape": (size, *shape)}


# views of memory as another type --------------------------------------------------------------------------------------


def _check_view_as_real(input):
    if kind_of(input._array) != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")


@linear(view=True, method=False, check=_check_view_as_real)
def view_as_real(xp, input: Array):
    """A view of complex numbers as pairs of a real and an imaginary part, along a new last axis."""
    return xp.pairs(input)


@view_as_real.vjp("input")
def _(ops, g):
    return ops.joined_pairs(g)


def _check_view_as_complex(input):
    kind = from_numpy_dtype(input._array.dtype)
    if not kind.is_floating_point or kind.numpy.itemsize < 4:
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{kind.long_name}"
        )
    if not input.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if not hasattr(input._array, "strides"):
        return
    strides = input.stride()
    if strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(k % 2 for k in strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if underlying(input._array) is input._array and input.storage_offset() % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")


@linear(view=True, method=False, check=_check_view_as_complex)
def view_as_complex(xp, input: Array):
    """A view of pairs of a real and an imaginary part, along the last axis, as complex numbers."""
    return xp.from_pairs(input)


@view_as_complex.vjp("input")
def _(ops, g):
    return ops.pairs(g)


@linear(method=False, function=False)
def pairs(xp, input: Array):
    """Complex numbers as pairs along a new last axis, of any layout, without a copy where that can be."""
    return xp.pairs(input)


@pairs.vjp("input")
def _(ops, g):
    return ops.joined_pairs(g)


@linear(method=False, function=False)
def joined_pairs(xp, input: Array):
    """Pairs along the last axis as complex numbers, of any layout, without a copy where that can be."""
    return xp.from_pairs(input)


@joined_pairs.vjp("input")
def _(ops, g):
    return ops.pairs(g)


@constant(method=False, function=False, batching="align")
def view_bits(xp, input: Array, dtype):
    """The memory, shared, as elements of another type."""
    return xp.view_as(input, dtype.numpy)
