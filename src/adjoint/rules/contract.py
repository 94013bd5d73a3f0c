"""Contractions: products of matrices and vectors, einsum, and their compositions.

All are linear in each input alone; the transpose of a product with B is the product with its conjugate transpose.
"""

from math import prod

from adjoint.arrays.dtypes import from_numpy_dtype, kind_of
from adjoint.arrays.kernels import contraction
from adjoint.arrays.kernels.contraction import LETTERS, small_cross_product
from adjoint.arrays.kernels.products_and_sums import (
    LEFT_COTANGENT,
    LINEAR,
    LINEAR_INPUT,
    LINEAR_WEIGHT,
    MATRICES,
    MATRIX_VECTOR,
    PRODUCT,
    RIGHT_COTANGENT,
    VECTORS,
)
from adjoint.arrays.namespace import native, underlying
from adjoint.arrays.promotion import number_as
from adjoint.arrays.shapes import broadcast_shapes, require_dim

from .declare import TABLE, Array, Arrays, Constant, Multilinear, Number, constant, general, linear, multilinear
from .refusals import check_fits

# helpers of formulas ------------------------------------------------------------------------------------------------


@linear(method=False, function=False)
def conj_transpose(xp, input: Array):
    """Conjugate transpose of the last two axes; a real array is only transposed, without a copy."""
    input_t = xp.matrix_transpose(input)
    return xp.conj(input_t) if kind_of(input_t) == "c" else input_t


@conj_transpose.vjp("input")
def _(ops, g):
    return ops.conj_transpose(g)


@linear(method=False, function=False)
def conjugate(xp, input: Array):
    """Complex conjugate; a real array itself, without a copy."""
    return xp.conj(input) if kind_of(input) == "c" else input


@conjugate.vjp("input")
def _(ops, g):
    return ops.conjugate(g)


@constant(method=False, function=False)
def identity(xp, like: Constant, rows, columns):
    """Ones on the diagonal, in the type of another array."""
    return xp.eye(rows, columns, dtype=like.dtype)


@identity.batch_rule
def _(batch, like, rows, columns):
    like = underlying(like)
    return batch.ops_for([like]).identity(like, rows, columns)


def stack_rows(ops, x):
    """All rows of a stack of matrices under each other, so that one product takes the place of many."""
    return ops.reshape(x, (prod(x.shape[:-1]), x.shape[-1]))


# errors -------------------------------------------------------------------------------------------------------------


def long_name(array):
    """The name of an array's data type in torch's messages."""
    return from_numpy_dtype(array.dtype).long_name


def shape_text(shape):
    """A shape as torch prints it: [2, 3]."""
    return str(list(shape))


def _different(a, b):
    return a.dtype is not b.dtype and a.dtype != b.dtype


def check_matrices_dtype(a, b):
    """Two matrices to be multiplied must have the same type, which is not bool."""
    if _different(a, b):
        left, right = from_numpy_dtype(a.dtype).c_name, from_numpy_dtype(b.dtype).c_name
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {left} != {right}")
    if kind_of(a) == "b":
        raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")


def check_batches_dtype(a, b):
    """Two batches of matrices to be multiplied must have the same type, which is not bool."""
    if _different(a, b):
        raise RuntimeError(f"expected scalar type {long_name(a)} but found {long_name(b)}")
    if kind_of(a) == "b":
        raise NotImplementedError("\"bmm\" not implemented for 'Bool'")


def check_matrix_vector_dtype(a, b):
    """A matrix and a vector to be multiplied must have the same type, which is not bool."""
    if _different(a, b):
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {long_name(b)}, {long_name(a)}, and {long_name(b)}"
        )
    if kind_of(a) == "b":
        raise NotImplementedError("\"addmv_impl_cpu\" not implemented for 'Bool'")


def check_vectors_dtype(a, b):
    """Two vectors to be multiplied must have the same type, which is not bool."""
    if _different(a, b):
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {long_name(a)} and {long_name(b)}"
        )
    if kind_of(a) == "b":
        raise NotImplementedError("\"dot\" not implemented for 'Bool'")


def matrices_do_not_fit(a, b):
    """The error for two matrices of incompatible sizes."""
    return RuntimeError(
        f"mat1 and mat2 shapes cannot be multiplied ({'x'.join(map(str, a))} and {'x'.join(map(str, b))})"
    )


def batches_do_not_fit(a, b):
    """The error for two batches of matrices of incompatible sizes."""
    return RuntimeError(
        f"Expected size for first two dimensions of batch2 tensor to be: {shape_text((a[0], a[2]))} "
        f"but got: {shape_text(b[:2])}."
    )


def vector_does_not_fit(a, b):
    """The error for a matrix and a vector of incompatible sizes."""
    return RuntimeError(f"size mismatch, got input ({a[0]}), mat ({a[0]}x{a[1]}), vec ({b[0]})")


def vectors_do_not_fit(a, b):
    """The error for two vectors of different sizes."""
    return RuntimeError(
        f"inconsistent tensor size, expected tensor {shape_text(a)} and src {shape_text(b)} to have the same number of "
        f"elements, but got {a[0]} and {b[0]} elements respectively"
    )


# matmul -------------------------------------------------------------------------------------------------------------


def _misfit(a, b):
    """The error for shapes that matmul cannot multiply, None if it can."""
    if not (a and b):
        return RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {len(a)}D and {len(b)}D")
    rows = (prod(a[:-1]), a[-1])
    fits = a[-1] == b[-2:][0]
    if len(b) == 1:
        return None if fits else vectors_do_not_fit(a, b) if len(a) == 1 else vector_does_not_fit(rows, b)
    if len(b) == 2:
        return None if fits else matrices_do_not_fit(rows, b)
    a = (1, *a) if len(a) == 1 else a
    try:
        batch = prod(broadcast_shapes(a[:-2], b[:-2]))
    except RuntimeError as mismatch:
        return mismatch
    return None if fits else batches_do_not_fit((batch, *a[-2:]), (batch, *b[-2:]))


def _check_matmul(input, other):
    a, b = input._array, other._array
    if a.dtype == b.dtype and kind_of(a) != "b":
        return  # whether the shapes fit is for the product to find out
    misfit = _misfit(a.shape, b.shape)
    if misfit is not None:
        raise misfit
    if b.ndim == 1:
        (check_vectors_dtype if a.ndim == 1 else check_matrix_vector_dtype)(a, b)
    elif b.ndim == 2:
        check_matrices_dtype(a, b)
    else:
        check_batches_dtype(a, b)


def _explain_matmul(error, input, other):
    return _misfit(tuple(input.shape), tuple(other.shape))


def _matmul_node(input, other):
    a, b = input.ndim, other.ndim
    if a <= 2 and b <= 2:
        return "MmBackward0" if b == 2 else "MvBackward0" if a == 2 else "DotBackward0"
    return "BmmBackward0"


matmul = TABLE.add(
    Multilinear(
        "matmul",
        "matmul",
        arrays=("input", "other"),
        core="(m,k),(k,n)->(m,n)",
        native=PRODUCT,
        node=_matmul_node,
        shown={"other": "mat2"},
        check=_check_matmul,
        explain=_explain_matmul,
        doc="The matrix product; vectors stand for a row on the left, a column on the right; leading axes broadcast.",
    )
)


@matmul.signature
def _(input, other):
    # a vector on the left has the last of the two axes
    right = "(k)" if other.ndim == 1 else "(k,n)"
    return f"(m,k),{right}->({','.join(['m'] * (input.ndim > 1) + ['n'] * (other.ndim > 1))})"


def _left_of_batch(ops, g, other, input_shape):
    """The cotangent of a left factor, summed over a batch of right factors along a first axis."""
    if len(input_shape) != 2 or other.ndim > 3:
        return None
    if other.ndim == 2:
        return ops.transpose(g, 0, 1) @ ops.conjugate(other)
    # (m, batch n) times (batch n, k)
    rows = ops.reshape(ops.transpose(g, 0, 1), (g.shape[1], g.shape[0] * g.shape[2]))
    return rows @ stack_rows(ops, ops.conj_transpose(other))


@matmul.vjp("input", native=LEFT_COTANGENT, summed=_left_of_batch)
def _(ops, g, other, input_shape):
    if other.ndim == 1:
        return g[..., None] * ops.conjugate(other)
    if len(input_shape) > 1:
        return g @ ops.conj_transpose(other)
    if other.ndim == 2:
        return ops.conjugate(other) @ g
    return (ops.conjugate(other) @ g[..., None])[..., 0]


def _right_cotangent(ops, g, input, other_shape):
    if input.ndim == 1:
        input_conj = ops.conjugate(input)
        return input_conj * g if len(other_shape) == 1 else input_conj[:, None] * g[..., None, :]
    if input.ndim > 2 and len(other_shape) == 1:
        return ops.conj_transpose(stack_rows(ops, input)) @ ops.reshape(g, (prod(g.shape),))
    if input.ndim > 2 and len(other_shape) == 2:
        return ops.conj_transpose(stack_rows(ops, input)) @ stack_rows(ops, g)
    return ops.conj_transpose(input) @ g


def _right_of_batch(ops, g, input, other_shape):
    """The cotangent of a right factor, summed over a batch of left factors along a first axis."""
    return None if len(other_shape) > 2 else _right_cotangent(ops, g, input, other_shape)


matmul.vjp("other", native=RIGHT_COTANGENT, summed=_right_of_batch)(_right_cotangent)


def _check_mm(input, mat2):
    a, b = input._array, mat2._array
    for name, array in (("self", a), ("mat2", b)):
        if array.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix")
    if a.shape[1] != b.shape[0]:
        raise matrices_do_not_fit(a.shape, b.shape)
    check_matrices_dtype(a, b)


@multilinear(core="(m,k),(k,n)->(m,n)", check=_check_mm, native=MATRICES)
def mm(xp, input: Array, mat2: Array):
    """The product of two matrices, without broadcasting."""
    return xp.matmul(input, mat2)


@mm.vjp("input", native=LEFT_COTANGENT, summed=lambda ops, g, mat2: _left_of_batch(ops, g, mat2, (0, 0)))
def _(ops, g, mat2):
    return g @ ops.conj_transpose(mat2)


@mm.vjp("mat2", native=RIGHT_COTANGENT, summed=lambda ops, g, input: _right_cotangent(ops, g, input, (0, 0)))
def _(ops, g, input):
    return ops.conj_transpose(input) @ g


def check_batches(a, b):
    """Raise RuntimeError unless two arrays are batches of matrices to be multiplied in pairs."""
    for name, array in (("batch1", a), ("batch2", b)):
        if array.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise batches_do_not_fit(a.shape, b.shape)


def _check_bmm(input, mat2):
    check_batches(input._array, mat2._array)
    check_batches_dtype(input._array, mat2._array)


@multilinear(core="(b,m,k),(b,k,n)->(b,m,n)", check=_check_bmm)
def bmm(xp, input: Array, mat2: Array):
    """The products of matrices in pairs: (b, m, k) by (b, k, n)."""
    return xp.matmul(input, mat2)


@bmm.vjp("input")
def _(ops, g, mat2):
    return ops.matmul(g, ops.conj_transpose(mat2))


@bmm.vjp("mat2")
def _(ops, g, input):
    return ops.matmul(ops.conj_transpose(input), g)


def _check_mv(input, vec):
    a, b = input._array, vec._array
    require_dim(0, a.ndim)
    if a.ndim != 2 or b.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {a.ndim}, {b.ndim}")
    if a.shape[1] != b.shape[0]:
        raise vector_does_not_fit(a.shape, b.shape)
    check_matrix_vector_dtype(a, b)


def _matrix_vector(xp, matrix, vector):
    return xp.matmul(matrix, vector) if vector.ndim == 1 else xp.matmul(matrix, vector[..., None])[..., 0]


@multilinear(core="(m,k),(k)->(m)", check=_check_mv, native=MATRIX_VECTOR)
def mv(xp, input: Array, vec: Array):
    """The product of a matrix with a vector."""
    return _matrix_vector(xp, input, vec)


@mv.vjp("input", native=LEFT_COTANGENT, summed=lambda ops, g, vec: _left_of_batch(ops, g, vec, (0, 0)))
def _(ops, g, vec):
    return g[:, None] * ops.conjugate(vec)


@mv.vjp("vec", native=RIGHT_COTANGENT, summed=lambda ops, g, input: _right_cotangent(ops, g, input, (0,)))
def _(ops, g, input):
    return ops.conj_transpose(input) @ g


def _check_dot(a, b):
    a, b = a._array, b._array
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.shape != b.shape:
        raise vectors_do_not_fit(a.shape, b.shape)
    check_vectors_dtype(a, b)


def _inner_product(xp, a, b):
    if a.ndim == 1 and b.ndim == 1:
        return xp.matmul(a, b)
    return xp.matmul(a[..., None, :], b[..., None])[..., 0, 0]


@multilinear(core="(n),(n)->()", check=_check_dot, native=VECTORS)
def dot(xp, input: Array, tensor: Array):
    """The sum of products of two vectors' elements, without conjugation."""
    return _inner_product(xp, input, tensor)


@dot.vjp("input", native=LEFT_COTANGENT)
def _(ops, g, tensor):
    return g * ops.conjugate(tensor)


@dot.vjp("tensor", native=RIGHT_COTANGENT)
def _(ops, g, input):
    return g * ops.conjugate(input)


@multilinear(core="(n),(n)->()", check=_check_dot)
def vdot(xp, input: Array, other: Array):
    """The inner product of two vectors, the first conjugated."""
    return _inner_product(xp, xp.conj(input) if kind_of(input) == "c" else input, other)


@vdot.vjp("input")
def _(ops, g, other):
    return ops.conjugate(g) * other


@vdot.vjp("other")
def _(ops, g, input):
    return g * input


# contractions over any axes -----------------------------------------------------------------------------------------


def _check_einsum(operands, equation):
    shapes = tuple([tuple(t._array.shape) for t in operands])
    contraction.check_sizes(equation, shapes)
    kinds = [t._array.dtype for t in operands]
    other = next((i for i, kind in enumerate(kinds) if kind != kinds[0]), None)
    if other is not None and contraction.has_contraction(equation, shapes):
        first, second = long_name(operands[0]._array), long_name(operands[other]._array)
        raise RuntimeError(f"expected scalar type {first} but found {second}")


# batch forms of products ----------------------------------------------------------------------------------------------


def _batched_product(batch, **factors):
    """Uses as few and as large matrix products as the operands allow."""
    left, right = factors.values()
    (a, axis_a), (b, axis_b) = batch.strip(left), batch.strip(right)
    ops = batch.ops_for([a, b])
    if axis_a is None and right.ndim == 1 and left.ndim <= 2:
        # W @ x for many x
        return batch.join(ops.matmul(b, ops.transpose(a, 0, 1) if left.ndim == 2 else a))
    if axis_b is None and right.ndim <= 2 and left.ndim >= 1:
        rows = ops.reshape(a, (-1, a.shape[-1])) if a.size else a
        return batch.join(ops.reshape(ops.matmul(rows, b), (*a.shape[:-1], *b.shape[1:])))
    a, b = _as_matrices(a, left.ndim, column=False), _as_matrices(b, right.ndim, column=True)
    rank = max(a.ndim - (axis_a == 0), b.ndim - (axis_b == 0))
    result = ops.matmul(_of_rank(a, axis_a, rank), _of_rank(b, axis_b, rank))
    if left.ndim == 1:
        result = result[..., 0, :]
    if right.ndim == 1:
        result = result[..., 0]
    return batch.join(result)


def _as_matrices(array, ndim, column):
    if ndim != 1:
        return array
    return array[..., None] if column else array[..., None, :]


def _of_rank(array, axis, rank):
    """A batch with axes of size 1 behind the batch axis until its members have `rank` axes."""
    return array if axis is None else array[(slice(None), *(None,) * (rank + 1 - array.ndim))]


for _rule in (matmul, mm, bmm, mv, dot):
    _rule.batch_rule(_batched_product)


@multilinear(method=False, function=False, check=_check_einsum, node="EinsumBackward0")
def einsum(xp, operands: Arrays, equation):
    """The sum of products that an explicit equation of letters names, as "ij,jk->ik"."""
    return contraction.einsum(xp, operands, equation)


@einsum.vjp("operands")
def _(ops, g, operands, operands_shapes, equation, needs):
    """Einsum of g and the other operands; along subscripts that only this operand has, its cotangent is constant."""
    inputs, output = contraction.split_equation(equation)
    factors = [ops.conjugate(x) for x in operands]
    cotangents = []
    for k, (labels, shape) in enumerate(zip(inputs, operands_shapes, strict=True)):
        others = [g, *factors[:k], *factors[k + 1 :]]
        subscripts = [output, *inputs[:k], *inputs[k + 1 :]]
        cotangents.append(_einsum_cotangent(ops, others, subscripts, labels, shape) if needs[k] else None)
    return cotangents


def _einsum_cotangent(ops, factors, subscripts, labels, shape):
    letters = set("".join(subscripts))
    fresh = (c for c in LETTERS if c not in letters and c not in labels)
    result_labels = ""
    index: list[slice | None] = []
    for axis, (letter, n) in enumerate(zip(labels, shape, strict=True)):
        if n == 1 or not (letter in letters or labels.count(letter) > 1):
            # the axis was broadcast, or summed by itself
            index.append(None)
            continue
        if letter in labels[:axis]:
            # a diagonal was taken: the cotangent vanishes off it
            twin = next(fresh)
            factors = [*factors, ops.identity(factors[0], n, n)]
            subscripts = [*subscripts, letter + twin]
            letter = twin
        result_labels += letter
        index.append(slice(None))
    kind = factors[0].dtype  # the dtype of the result, to which the operands were promoted
    factors = [x if x.dtype == kind else ops.cast(x, from_numpy_dtype(kind)) for x in factors]
    return ops.einsum(factors, f"{','.join(subscripts)}->{result_labels}")[tuple(index)]


@einsum.signature
def _(equation):
    inputs, output = contraction.split_equation(equation)
    return ",".join([f"({','.join(labels)})" for labels in inputs]) + f"->({','.join(output)})"


@einsum.batch
def _(size, equation):
    inputs, output = contraction.split_equation(equation)
    axis = next(c for c in LETTERS if c not in equation)
    return {"equation": ",".join([axis + labels for labels in inputs]) + "->" + axis + output}


@einsum.batch_rule
def _(batch, operands, equation):
    arrays, axes = batch.strip(list(operands))
    inputs, output = contraction.split_equation(equation)
    letter = next(c for c in LETTERS if c not in equation)
    labels = [letters if axis is None else letter + letters for letters, axis in zip(inputs, axes, strict=True)]
    return batch.join(batch.ops_for(arrays).einsum(arrays, f"{','.join(labels)}->{letter}{output}"))


@multilinear(name="tensordot", method=False, function=False, node="TensordotBackward0")
def tensordot(xp, input: Array, other: Array, dims_self, dims_other):
    """The sum of products over pairs of axes, one of each array; the free axes of input come first."""
    return xp.tensordot(input, other, axes=(dims_self, dims_other))


@tensordot.signature
def _(input, other, dims_self, dims_other):
    left, right = list(LETTERS[: input.ndim]), list(LETTERS[input.ndim : input.ndim + other.ndim])
    for dim, twin in zip(dims_self, dims_other, strict=True):
        right[twin] = left[dim]
    free = [left[i] for i in _free(input.ndim, dims_self)] + [right[i] for i in _free(other.ndim, dims_other)]
    return f"({','.join(left)}),({','.join(right)})->({','.join(free)})"


def _free(ndim, dims):
    return [i for i in range(ndim) if i not in dims]


def _inverse(order):
    return tuple([order.index(i) for i in range(len(order))])


@tensordot.vjp("input")
def _(ops, g, other, input_shape, dims_self, dims_other):
    free = _free(len(input_shape), dims_self)
    free_other = _free(other.ndim, dims_other)
    behind = tuple(range(len(free), len(free) + len(free_other)))
    # the axes now: the free axes of input, then the contracted axes in their order in other
    product = ops.tensordot(g, ops.conjugate(other), behind, tuple(free_other))
    order = free + [dims_self[dims_other.index(d)] for d in sorted(dims_other)]
    return ops.permute(product, _inverse(order))


@tensordot.vjp("other")
def _(ops, g, input, other_shape, dims_self, dims_other):
    free = _free(len(other_shape), dims_other)
    free_self = _free(input.ndim, dims_self)
    front = tuple(range(len(free_self)))
    product = ops.tensordot(ops.conjugate(input), g, tuple(free_self), front)
    order = [dims_other[dims_self.index(d)] for d in sorted(dims_self)] + free
    return ops.permute(product, _inverse(order))


@tensordot.batch_rule
def _(batch, input, other, dims_self, dims_other):
    first = list(LETTERS[: input.ndim])
    second = list(LETTERS[input.ndim : input.ndim + other.ndim])
    for i, j in zip(dims_self, dims_other, strict=True):
        second[j % other.ndim] = first[i % input.ndim]
    contracted = set(first) & set(second)
    free = [c for c in first + second if c not in contracted]
    return batch.ops.einsum([input, other], f"{''.join(first)},{''.join(second)}->{''.join(free)}")


# products with something added --------------------------------------------------------------------------------------


def check_same_dtype(message, *tensors):
    """Raise RuntimeError unless all have one dtype; `message` begins the error text."""
    first = tensors[0]._array.dtype
    for tensor in tensors:
        kind = tensor._array.dtype
        if kind is not first and kind != first:
            raise RuntimeError(message(*[t._array for t in tensors]))


def addmm_dtypes(input, a, b):
    """PyTorch's message for matrices of different dtypes."""
    name, other = ("mat1", a) if input.dtype == b.dtype else ("self", input)
    return f"{name} and mat2 must have the same dtype, but got {long_name(other)} and {long_name(b)}"


def _addmv_dtypes(input, a, b):
    names = long_name(input), long_name(a), long_name(b)
    return "addmv input tensors must have the same dtype, but got {}, {}, and {}".format(*names)


def _baddbmm_dtypes(input, a, b):
    if input.dtype == a.dtype:
        return f"expected scalar type {long_name(a)} but found {long_name(b)}"
    names = [from_numpy_dtype(x.dtype).c_name for x in (input, a, b)]
    return "Input dtypes must be the same, got: input {}, batch1: {}, batch2: {}".format(*names)


def check_expands(array, target):
    """The added tensor must broadcast to the shape of the product."""
    source = array.shape
    if source == target:
        return
    for i, n in enumerate(reversed(source), 1):
        if i > len(target):
            raise RuntimeError(
                f"expand(adjoint.{long_name(array)}Tensor{{{shape_text(source)}}}, size={shape_text(target)}): the "
                f"number of sizes provided ({len(target)}) must be greater or equal to the number of dimensions in the "
                f"tensor ({len(source)})"
            )
        if n not in (1, target[-i]):
            raise RuntimeError(
                f"The expanded size of the tensor ({target[-i]}) must match the existing size ({n}) at non-singleton "
                f"dimension {len(target) - i}.  Target sizes: {shape_text(target)}.  Tensor sizes: {shape_text(source)}"
            )


def _check_factors(input, beta, alpha):
    for factor in (beta, alpha):
        if factor != 1:
            check_fits(input, factor)


def _plus(product, input, beta, alpha):
    """beta * input + alpha * product; with beta 0 not even NaN in input counts."""
    if alpha != 1:
        product *= number_as(alpha, product.dtype)
    if beta != 1:
        beta = number_as(beta, product.dtype)
    if beta == 0:
        return product
    return _plus_in_place(product, input if beta == 1 else input * beta)


def _plus_in_place(product, addend):
    # a new array would have to be brought into the cache
    shape, addend_shape = product.shape, addend.shape
    fits = shape[len(shape) - len(addend_shape) :] == addend_shape
    if not fits and broadcast_shapes(shape, addend_shape) != shape:
        return product + addend
    product += addend
    return product


def _scale(x, factor):
    return x if factor == 1 else x * factor


def _scale_cotangent(x, factor):
    """A cotangent multiplied by a number."""
    return x if factor == 1 else x * factor.conjugate()


def _check_addmm(input, mat1, mat2, beta, alpha):
    check_same_dtype(addmm_dtypes, input, mat1, mat2)
    check_matrices_dtype(mat1._array, mat2._array)
    _check_factors(input, beta, alpha)
    for name, matrix in (("mat1", mat1), ("mat2", mat2)):
        if matrix._array.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {matrix._array.ndim}-D tensor")
    a, b = mat1._array.shape, mat2._array.shape
    if a[1] != b[0]:
        raise matrices_do_not_fit(a, b)
    check_expands(input._array, (a[0], b[1]))


@general(core="(m,n),(m,k),(k,n)->(m,n)", separable=True, inplace=True, check=_check_addmm)
def addmm(xp, input: Array, mat1: Array, mat2: Array, *, beta: Number = 1, alpha: Number = 1):
    """beta * input + alpha * (mat1 @ mat2), input broadcast."""
    return _plus(xp.matmul(mat1, mat2), input, beta, alpha)


def _check_baddbmm(input, batch1, batch2, beta, alpha):
    check_same_dtype(_baddbmm_dtypes, input, batch1, batch2)
    _check_factors(input, beta, alpha)
    _check_bmm(batch1, batch2)
    a, b = batch1._array.shape, batch2._array.shape
    check_expands(input._array, (a[0], a[1], b[2]))


@general(core="(b,m,n),(b,m,k),(b,k,n)->(b,m,n)", separable=True, inplace=True, check=_check_baddbmm)
def baddbmm(xp, input: Array, batch1: Array, batch2: Array, *, beta: Number = 1, alpha: Number = 1):
    """beta * input + alpha * bmm(batch1, batch2), input broadcast."""
    return _plus(xp.matmul(batch1, batch2), input, beta, alpha)


def _check_addmv(input, mat, vec, beta, alpha):
    check_same_dtype(_addmv_dtypes, input, mat, vec)
    _check_factors(input, beta, alpha)
    _check_mv(mat, vec)
    rows = mat._array.shape[0]
    if input._array.shape not in ((), (1,), (rows,)):
        a = mat._array.shape
        raise RuntimeError(
            f"size mismatch, got input ({input._array.shape[0]}), mat ({a[0]}x{a[1]}), vec ({vec._array.shape[0]})"
        )


@general(core="(m),(m,k),(k)->(m)", separable=True, inplace=True, check=_check_addmv)
def addmv(xp, input: Array, mat: Array, vec: Array, *, beta: Number = 1, alpha: Number = 1):
    """beta * input + alpha * (mat @ vec), input broadcast."""
    return _plus(_matrix_vector(xp, mat, vec), input, beta, alpha)


def _added_vjp(g, beta):
    return _scale_cotangent(g, beta)


def _added_jvp(ops, t, beta, y):
    return ops.zeros_like(y) + _scale(t, beta)


def _left_vjp(ops, g, right, alpha):
    right_h = ops.conjugate(right) if right.ndim == 1 else ops.conj_transpose(right)
    return _scale_cotangent(g[..., None] * right_h if right.ndim == 1 else g @ right_h, alpha)


def _right_vjp(ops, g, left, alpha):
    return _scale_cotangent(ops.conj_transpose(left) @ g, alpha)


def _left_jvp(t, right, alpha):
    return _scale(t @ right, alpha)


def _right_jvp(t, left, alpha):
    return _scale(left @ t, alpha)


def _batched_sum(batch, input, *, beta, alpha, **factors):
    product = batch.ops.matmul(*factors.values())
    if alpha != 1:
        product = product * alpha
    # with beta 0 the values of input are ignored, even NaN, but its batch axis counts: the cotangent of input has one
    addend = batch.ops.zeros_like(input) if beta == 0 else input if beta == 1 else input * beta
    return product + addend


for _rule in (addmm, baddbmm, addmv):
    _input, _left, _right = _rule.inputs
    _rule.vjp(_input)(_added_vjp)
    _rule.vjp(_left, right=_right)(_left_vjp)
    _rule.vjp(_right, left=_left)(_right_vjp)
    _rule.jvp(_input)(_added_jvp)
    _rule.jvp(_left, right=_right)(_left_jvp)
    _rule.jvp(_right, left=_left)(_right_jvp)
    _rule.batch_rule(_batched_sum)


def _check_linear(input, weight, bias):
    x, w = input._array, weight._array
    b = None if bias is None else bias._array
    if (
        w.ndim == 2
        and x.dtype == w.dtype
        and kind_of(x) != "b"
        and x.shape[-1:] == w.shape[1:]
        and (b is None or (b.dtype == x.dtype and b.shape == w.shape[:1]))
    ):
        return
    if w.ndim not in (1, 2):
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {w.ndim}D")
    if x.ndim == 0:
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are {x.ndim}D and {w.ndim}D")
    if x.shape[-1] != w.shape[-1]:
        raise _linear_does_not_fit(x.shape, w.shape)
    if bias is not None:
        check_expands(bias._array, (*x.shape[:-1], *w.shape[:-1]))
        check_same_dtype(addmm_dtypes, bias, input, weight)
    elif w.ndim == 1:
        (check_vectors_dtype if x.ndim == 1 else check_matrix_vector_dtype)(x, w)
    else:
        check_matrices_dtype(x, w)


def _linear_does_not_fit(x, w):
    rows = (prod(x[:-1]), x[-1])
    if len(w) == 2:
        return matrices_do_not_fit(rows, w[::-1])
    return vectors_do_not_fit(x, w) if len(x) == 1 else vector_does_not_fit(rows, w)


@general(
    name="linear",
    method=False,
    function=False,
    core="(k),(n,k),(n)->(n)",
    separable=True,
    node="AddmmBackward0",
    check=_check_linear,
    native=LINEAR,
)
def linear_map(xp, input: Array, weight: Array, bias: Array = None):
    """input @ weight^T + bias, in one step."""
    if weight.ndim > 2:
        # a batch of weights, one for each vector of input
        product = xp.matmul(input[..., None, :], xp.matrix_transpose(weight))[..., 0, :]
    elif input.ndim > 2 and weight.ndim == 2 and lies_in_rows(input):
        # numpy.matmul would multiply the matrices of a stack one by one
        rows = xp.matmul(xp.reshape(input, (prod(input.shape[:-1]), input.shape[-1])), weight.T)
        product = xp.reshape(rows, (*input.shape[:-1], weight.shape[0]))
    else:
        product = xp.matmul(input, weight.T)
    return product if bias is None else _plus_in_place(product, bias)


def lies_in_rows(array):
    """True for an array that lies in memory row by row, which can be seen in another shape without a copy."""
    flags = getattr(array, "flags", None)
    return flags is not None and flags.c_contiguous


@linear_map.vjp("input", native=LINEAR_INPUT)
def _(ops, g, weight):
    weight_conj = ops.conjugate(weight)
    return ops.linear(g, ops.transpose(weight_conj, 0, 1)) if weight.ndim == 2 else g[..., None] * weight_conj


@linear_map.vjp("weight", native=LINEAR_WEIGHT, summed=True)
def _(ops, g, input, weight_shape):
    rows = stack_rows(ops, input)
    if len(weight_shape) == 1:
        return ops.reshape(g, (1, prod(g.shape))) @ ops.conjugate(rows)
    return ops.transpose(ops.reshape(g, (rows.shape[0], weight_shape[0])), 0, 1) @ ops.conjugate(rows)


@linear_map.vjp("bias")
def _(g):
    return g


@linear_map.jvp("input")
def _(ops, t, weight):
    return ops.linear(t, weight)


@linear_map.jvp("weight")
def _(ops, t, input):
    return ops.linear(input, t)


@linear_map.jvp("bias")
def _(ops, t, y):
    return ops.zeros_like(y) + t


@multilinear(name="linalg_cross", axes=("dim",), method=False, function=False)
def linalg_cross(xp, input: Array, other: Array, *, dim=-1):
    """The vector product along an axis of length 3, broadcast."""
    result = native(small_cross_product, input, other, dim)
    if result is not None:
        return result
    # three products of slices are several times faster than numpy.linalg.cross
    a, b = (input, other) if input.shape == other.shape else xp.broadcast_arrays(input, other)
    result = xp.empty(a.shape, dtype=xp.result_type(input, other))
    components = [(*(slice(None),) * dim, k, ...) for k in range(3)]
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        result[components[i]] = a[components[j]] * b[components[k]] - a[components[k]] * b[components[j]]
    return result


@linalg_cross.vjp("input")
def _(ops, g, other, dim):
    return ops.linalg_cross(ops.conjugate(other), g, dim=dim)


@linalg_cross.vjp("other")
def _(ops, g, input, dim):
    return ops.linalg_cross(g, ops.conjugate(input), dim=dim)


def _check_trace(input):
    if input._array.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input._array.ndim}")
    if kind_of(input._array) == "b":
        raise NotImplementedError("\"trace\" not implemented for 'Bool'")


@linear(core="(m,n)->()", check=_check_trace)
def trace(xp, input: Array):
    """The sum of a matrix' diagonal."""
    return xp.linalg.trace(xp.astype(input, xp.int64) if kind_of(input) in "iu" else input)


@trace.vjp("input")
def _(ops, g, input_shape):
    rows, columns = input_shape[-2:]
    along = ops.expand(g[..., None], (*g.shape, min(rows, columns)))
    return ops.embed_diagonal(along, 0, g.ndim, g.ndim + 1, rows, columns)
