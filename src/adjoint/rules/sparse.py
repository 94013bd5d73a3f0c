"""Sparse matrices and arrays: products, and conversion between arrays and their values.

A product is linear in the values of the layout and in the other factor; a sampled product is its transpose.
`elements_at` takes the elements of an array at the positions of a pattern, and `sparse_array` is its transpose. All
other operations on sparse arrays are composed of these two and of operations on values, so they have derivatives.
"""

from adjoint.arrays.libraries.sparse_arrays import SparseArray, dense_at

from .declare import Array, linear, multilinear

_HIDDEN = {"method": False, "function": False}


def _check_product(values, input, layout):
    shape = tuple(input._array.shape)
    if len(shape) not in (1, 2) or shape[0] != layout.shape[1]:
        m, n = layout.shape
        raise RuntimeError(
            f"sparse product: a matrix of {m} by {n} takes a vector of {n} elements or a matrix of {n} rows, "
            f"got shape {list(shape)}"
        )


@multilinear(batching="loop", check=_check_product, **_HIDDEN)
def sparse_product(xp, values: Array, input: Array, layout):
    """The sparse matrix times a vector, or a matrix."""
    return layout.product(xp, values, input)


@sparse_product.vjp("values")
def _(ops, g, input, layout):
    return ops.sampled_product(g, ops.conjugate(input), layout)


@sparse_product.vjp("input")
def _(ops, g, values, layout):
    return ops.sparse_product(ops.conjugate(values), g, layout.transpose())


@sparse_product.batch_rule
def _(batch, values, input, layout):
    if batch.has(values):
        return batch.join(_for_members(batch, "sparse_product", values, input, layout, layout.shape[0]))
    data, _ = batch.strip(input)
    ops = batch.ops_for([values, data])
    # one product with the columns of all members
    columns = ops.permute(data, (1, 0)) if data.ndim == 2 else ops.permute(data, (1, 0, 2))
    product = ops.sparse_product(values, ops.reshape(columns, (data.shape[1], -1)), layout)
    if data.ndim == 2:
        return batch.join(ops.permute(product, (1, 0)))
    shape = (layout.shape[0], data.shape[0], data.shape[2])
    return batch.join(ops.permute(ops.reshape(product, shape), (1, 0, 2)))


def _for_members(batch, name, first, second, layout, n):
    """The operation for all members at once, as one matrix with the members' matrices along its diagonal.

    n: the length of the result of a member.
    """
    stripped = [batch.strip(first), batch.strip(second)]
    ops = batch.ops_for([data for data, _ in stripped])
    (size,) = {data.shape[0] for data, dim in stripped if dim is not None}
    members = [data if dim == 0 else ops.expand(data, (size, *data.shape)) for data, dim in stripped]
    # the members stand below each other
    operands = [ops.reshape(data, (size * data.shape[1], *data.shape[2:])) for data in members]
    result = getattr(ops, name)(*operands, layout.block_diagonal(size))
    return ops.reshape(result, (size, n, *result.shape[1:]))


@sparse_product.pairs
def _(name, input, layout):
    return layout.pairs_of_product(name == "values", None if input.ndim == 1 else input.shape[1])


def _check_sampled(left, right, layout):
    m, n = layout.shape
    shapes = tuple(left._array.shape), tuple(right._array.shape)
    if [shape[:1] for shape in shapes] != [(m,), (n,)] or shapes[0][1:] != shapes[1][1:] or len(shapes[0]) > 2:
        raise RuntimeError(
            f"sampled product: a matrix of {m} by {n} takes factors of {m} and {n} rows and equal columns, got shapes "
            f"{list(shapes[0])} and {list(shapes[1])}"
        )


@multilinear(batching="loop", check=_check_sampled, **_HIDDEN)
def sampled_product(xp, left: Array, right: Array, layout):
    """The product of left and the transpose of right, at the positions of a sparse matrix."""
    return layout.sample_product(xp, left, right)


@sampled_product.vjp("left")
def _(ops, g, right, layout):
    return ops.sparse_product(g, ops.conjugate(right), layout)


@sampled_product.vjp("right")
def _(ops, g, left, layout):
    return ops.sparse_product(g, ops.conjugate(left), layout.transpose())


@sampled_product.batch_rule
def _(batch, left, right, layout):
    return batch.join(_for_members(batch, "sampled_product", left, right, layout, layout.nnz))


@sampled_product.pairs
def _(name, left, layout):
    return layout.pairs_of_sampled(name == "left", None if left.ndim == 1 else left.shape[1])


# sparse arrays --------------------------------------------------------------------------------------------------------


def _refuse_batch(batch, **arguments):
    raise NotImplementedError(
        "vmap: sparse tensors cannot be made for each member of a batch; map over dense operands of a sparse tensor, "
        "or make it before"
    )


@linear(batching="loop", node="ValuesBackward0", **_HIDDEN)
def elements_at(xp, input: Array, pattern):
    """The elements of a sparse array (a tangent may be dense) at the places of a pattern, in the shape of values."""
    return input.at(pattern) if isinstance(input, SparseArray) else dense_at(input, pattern)


@elements_at.vjp("input")
def _(ops, g, pattern):
    return ops.sparse_array(g, pattern)


def _node_of_array(values, pattern):
    stem = "CompressedTensor" if pattern.layout.is_compressed else "CooTensorWithDimsAndTensors"
    return f"Sparse{stem}Backward0"


@linear(batching="loop", node=_node_of_array, **_HIDDEN)
def sparse_array(xp, values: Array, pattern):
    """The sparse array with these values at the places of a pattern; values in the same place are added."""
    return SparseArray(pattern, values)


@sparse_array.vjp("values")
def _(ops, g, pattern):
    return _of_cotangent(ops, g, pattern)


def _of_cotangent(ops, g, pattern):
    # a dense cotangent is indexed, so that its own cotangents are dense
    if isinstance(getattr(g, "_array", g), SparseArray):
        return ops.elements_at(g, pattern)
    entries = ops.index(ops.reshape(g, (pattern.extent, *pattern.dense_shape)), (pattern.places,))
    return ops.reshape(entries, pattern.values_shape)


sparse_array.batch_rule(_refuse_batch)


@linear(batching="loop", node="ToSparseBackward0", **_HIDDEN)
def sparse_of(xp, input: Array, pattern):
    """A dense array as a sparse one, at the places where it is not zero. What asks for all elements reaches all."""
    return SparseArray(pattern, dense_at(input, pattern))


@sparse_of.vjp("input")
def _(ops, g):
    return ops.strided_of(g, None)


sparse_of.batch_rule(_refuse_batch)


@linear(batching="loop", node="ToDenseBackward0", **_HIDDEN)
def strided_of(xp, input: Array, pattern):
    """A sparse array as a dense one; its gradient has values at the places of the pattern, or is dense for None."""
    return input.to_dense() if isinstance(input, SparseArray) else input


@strided_of.vjp("input")
def _(ops, g, pattern):
    return g if pattern is None else ops.sparse_array(_of_cotangent(ops, g, pattern), pattern)
