"""Products with sparse matrices, which are given by their stored values and the layout of these.

Both are linear in each input, and each is the transpose of the other: so gradients have the layout of the matrix.
"""

from .declare import Array, multilinear

_OWN = {"method": False, "function": False}


def _check_product(values, input, layout):
    shape, own = tuple(input._array.shape), tuple(values._array.shape)
    if own != (layout.nnz,):
        raise RuntimeError(f"sparse product: expected {layout.nnz} stored values, got shape {list(own)}")
    if len(shape) not in (1, 2) or shape[0] != layout.shape[1]:
        m, n = layout.shape
        raise RuntimeError(
            f"sparse product: a matrix of {m} by {n} takes a vector of {n} elements or a matrix of {n} rows, "
            f"got shape {list(shape)}"
        )


@multilinear(batching="loop", check=_check_product, **_OWN)
def sparse_product(xp, values: Array, input: Array, layout):
    """The sparse matrix times a vector, or a matrix."""
    return layout.product(xp, values, input)


@sparse_product.vjp("values")
def _(ops, g, input, layout):
    return ops.sampled_product(g, ops.conjugated(input), layout)


@sparse_product.vjp("input")
def _(ops, g, values, layout):
    return ops.sparse_product(ops.conjugated(values), g, layout.transposed())


@sparse_product.batched
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
    """The operation for all members at once: that of a matrix with the matrices of the members along its diagonal.

    n: the length of the result of a member.
    """
    stripped = [batch.strip(first), batch.strip(second)]
    ops = batch.ops_for([data for data, _ in stripped])
    (size,) = {data.shape[0] for data, dim in stripped if dim is not None}
    members = [data if dim == 0 else ops.expand(data, (size, *data.shape)) for data, dim in stripped]
    # the members stand below each other
    operands = [ops.reshape(data, (size * data.shape[1], *data.shape[2:])) for data in members]
    result = getattr(ops, name)(*operands, layout.repeated(size))
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


@multilinear(batching="loop", check=_check_sampled, **_OWN)
def sampled_product(xp, left: Array, right: Array, layout):
    """The product of left and the transpose of right, at the places of a sparse matrix."""
    return layout.sampled(xp, left, right)


@sampled_product.vjp("left")
def _(ops, g, right, layout):
    return ops.sparse_product(g, ops.conjugated(right), layout)


@sampled_product.vjp("right")
def _(ops, g, left, layout):
    return ops.sparse_product(g, ops.conjugated(left), layout.transposed())


@sampled_product.batched
def _(batch, left, right, layout):
    return batch.join(_for_members(batch, "sampled_product", left, right, layout, layout.nnz))


@sampled_product.pairs
def _(name, left, layout):
    return layout.pairs_of_sampled(name == "left", None if left.ndim == 1 else left.shape[1])
