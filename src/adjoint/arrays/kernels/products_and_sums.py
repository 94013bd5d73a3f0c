"""Products, sums and moves of plain arrays in C: NumPy's inner loops and C functions without its Python functions.

A `NativeKernel` belongs to a kernel or a formula. For plain arrays of single or double precision and of its ranks it
returns the same result to the last bit. Otherwise it returns None, and the kernel or formula is called. It calls
NumPy's inner loops; products call the loops of numpy.matmul, and so its BLAS. In plain Python every native kernel
returns None.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

import numpy

from adjoint.arrays.kernels import vector_ufuncs

_are_bound = False
if cython.compiled:
    adj_import_ufuncs()
    _are_bound = adj_find_product_loops(numpy.matmul) and adj_find_sum_loops(numpy.add)
    _KINDS = {
        "product": ADJ_PRODUCT, "matrices": ADJ_MATRICES, "matrix_vector": ADJ_MATRIX_VECTOR, "vectors": ADJ_VECTORS,
        "left cotangent": ADJ_LEFT, "right cotangent": ADJ_RIGHT,
        "linear": ADJ_LINEAR, "linear input": ADJ_LINEAR_INPUT, "linear weight": ADJ_LINEAR_WEIGHT,
        "total": ADJ_TOTAL, "average": ADJ_AVERAGE, "spread": ADJ_SPREAD, "spread mean": ADJ_SPREAD_MEAN,
        "read": ADJ_READ, "embed": ADJ_EMBED, "view": ADJ_VIEW, "reshape": ADJ_RESHAPE,
        "permute": ADJ_PERMUTE, "permute back": ADJ_PERMUTE_BACK, "swap": ADJ_SWAP,
        "expand": ADJ_EXPAND, "sum to": ADJ_SUM_TO, "sum axes": ADJ_SUM_AXES, "sum axes back": ADJ_SUM_AXES_BACK,
        "copy": ADJ_COPY, "unsqueeze": ADJ_UNSQUEEZE, "squeeze": ADJ_SQUEEZE, "diagonal": ADJ_DIAGONAL,
        "windows": ADJ_WINDOWS, "as strided": ADJ_AS_STRIDED, "join": ADJ_JOIN, "stack": ADJ_STACK,
    }  # fmt: skip


@cython.final
@cython.cclass
class NativeKernel:
    """A native kernel by its name.

    product: a @ b; matrices, matrix_vector, vectors: a @ b for these ranks only.
    left cotangent: the cotangent of a product's left factor, from g and the right factor. right cotangent: the
    cotangent of the right factor, from g and the left factor, and its shape if one has more than two axes.
    linear: rows times the transpose of a matrix, plus a vector or None. linear input: the cotangent of the rows, from g
    and the matrix. linear weight: the cotangent of the matrix, from g, the rows and its shape.
    total, average: the sum and the mean of all elements.
    spread: the cotangent of the input of `total`, from g and its shape. spread mean: the cotangent of the input of
    `average`.

    The others, moves, take an array and parameters, and leave errors to the kernel or formula:
    read: the part at a basic index; embed: zeros of a shape with an array at a basic index.
    view, reshape: another shape, for reshape perhaps of a copy.
    permute, permute back, swap: a permutation of the axes and its inverse, two axes exchanged.
    expand: broadcasts to a shape; sum to: its transpose, a sum to a shape.
    sum axes: sums over axes, kept or not; sum axes back: its cotangent, from g, the input's shape, the axes and
    keepdim.
    copy: a copy with the same order of axes in memory.
    unsqueeze, squeeze: views with a new axis, and without axes of length one among those named. diagonal, windows, as
    strided: views as those of `diagonal`, `unfold` and `as_strided`.
    join, stack: a list of arrays joined along an axis, or along a new one.
    """

    def __init__(self, name):
        self.name = name
        self.kind = _KINDS[name] if cython.compiled else 0
        self.is_move = cython.compiled and self.kind >= ADJ_READ

    def two(self, a, b):
        """The result for two arrays, or None."""
        if cython.compiled:
            if self.is_move:
                return adj_move(self.kind, [a, b])
            if self.kind < ADJ_TOTAL:
                return adj_product(self.kind, a, b) if _are_bound else None
            share = adj_share(a, b) if self.kind == ADJ_SPREAD_MEAN else a
            return adj_expand(share, b)
        return None

    def one(self, a):
        """The result for one array, or None."""
        if cython.compiled:
            if self.is_move:
                return adj_move(self.kind, [a])
            if self.kind == ADJ_TOTAL or self.kind == ADJ_AVERAGE:
                return adj_total(self.kind, a)
        return None

    def several(self, values: list):
        """The result for an array and parameters, or for three values of a product or a linear map, or None."""
        if cython.compiled:
            if self.is_move:
                return adj_move(self.kind, values)
            if self.kind < ADJ_TOTAL and _are_bound:
                return adj_product_of_several(self.kind, values)
        return None

    def run(self, a, b=None):
        """The result for one or two arrays, or None.

        >>> import numpy
        >>> from adjoint.arrays.kernels.products_and_sums import PRODUCT
        >>> result = PRODUCT.run(numpy.array([[1.0, 2.0]]), numpy.array([3.0, 4.0]))
        >>> result is None or result.tolist() == [11.0]
        True
        """
        return self.one(a) if b is None else self.two(a, b)


PRODUCT, MATRICES, MATRIX_VECTOR, VECTORS, LEFT_COTANGENT, RIGHT_COTANGENT = [
    NativeKernel(name)
    for name in ("product", "matrices", "matrix_vector", "vectors", "left cotangent", "right cotangent")
]
LINEAR, LINEAR_INPUT, LINEAR_WEIGHT = [NativeKernel(name) for name in ("linear", "linear input", "linear weight")]
TOTAL, AVERAGE, SPREAD, SPREAD_MEAN = [NativeKernel(name) for name in ("total", "average", "spread", "spread mean")]
READ, EMBED, VIEW, RESHAPE, PERMUTE, PERMUTE_BACK, SWAP = [
    NativeKernel(name) for name in ("read", "embed", "view", "reshape", "permute", "permute back", "swap")
]
EXPAND, SUM_TO, SUM_AXES, SUM_AXES_BACK = [
    NativeKernel(name) for name in ("expand", "sum to", "sum axes", "sum axes back")
]
COPY, UNSQUEEZE, SQUEEZE, DIAGONAL, WINDOWS, AS_STRIDED = [
    NativeKernel(name) for name in ("copy", "unsqueeze", "squeeze", "diagonal", "windows", "as strided")
]
JOIN, STACK = [NativeKernel(name) for name in ("join", "stack")]


if cython.compiled:

    @cython.final
    @cython.cclass
    class ReadyProduct:
        """The product of nonempty arrays of one or two axes, whose layouts are known before their memory.

        dtype: the common dtype, single or double precision. left, right, out: the shape and strides of each.
        """

        def __init__(self, dtype, left, right, out):
            product = adj_prepare_product(
                1 if dtype.itemsize == 4 else 0,
                _matrix(left, True),
                _matrix(right, False),
                _matrix(out, len(left[0]) == 1),
            )
            self.code = product

        def run(self, a, b, out):
            """Multiply what lies at two addresses; the result goes to a third one."""
            adj_run_product(cython.address(self.code), a, b, out)
            return 0

    @cython.locals(shape=cython.Py_ssize_t[2], strides=cython.Py_ssize_t[2])
    def _matrix(layout, is_row):
        ndim: cython.int = len(layout[0])
        for k in range(ndim):
            shape[k], strides[k] = layout[0][k], layout[1][k]
        return adj_matrix_at(cython.NULL, ndim, shape, strides, is_row)


def can_be_ready(*arrays):
    """True if a `ReadyProduct` can multiply these arrays: a left and a right factor, and the result.

    >>> import numpy
    >>> can_be_ready(numpy.ones((2, 3)), numpy.ones(3), numpy.ones(2)), can_be_ready(numpy.ones((2, 0)), numpy.ones(0))
    (True, False)
    """
    kinds = {array.dtype for array in arrays}
    return len(kinds) == 1 and kinds <= _PRECISIONS and all(array.size and array.ndim <= 2 for array in arrays)


_PRECISIONS = {numpy.dtype(numpy.float32), numpy.dtype(numpy.float64)}


def add_into(to, source):
    """Add an array to another one in place; False if NumPy must do it."""
    if cython.compiled:
        return adj_add_into(to, source)
    return False


def plus(a, b):
    """The sum of two arrays, ignoring floating point errors; None if NumPy must do it."""
    if cython.compiled:
        return adj_plus(a, b)
    return None


def summed_to(array, shape):
    """The sum over the axes along which broadcasting from a shape repeats elements; None if NumPy must do it.

    >>> import numpy
    >>> total = summed_to(numpy.ones((3, 2)), (1, 2))
    >>> total is None or total.tolist() == [[3.0, 3.0]]
    True
    """
    if cython.compiled:
        return adj_summed_to(array, shape)
    return None


#: The reductions that `reduce` has, in the order of reductions.h; the last one is of truth values.
SUM, PROD, MAX, MIN, COUNT = range(5)


def reduce(kind, array, axes, keepdims):
    """An array reduced over axes, an int or a tuple of ints, None for all; None if NumPy must do it.

    >>> import numpy
    >>> result = reduce(SUM, numpy.ones((3, 2)), 1, False)
    >>> result is None or result.tolist() == [2.0, 2.0, 2.0]
    True
    """
    if cython.compiled:
        return adj_reduce(kind, array, axes, keepdims)
    return None


_add_reduce = numpy.add.reduce


def fast_sum(array, axis=None, dtype=None, keepdims=False):
    """numpy.sum without its overhead, which is as large as the sum of a small array.

    >>> fast_sum(numpy.ones((3, 2)), 1).tolist()
    [2.0, 2.0, 2.0]
    """
    quick = None
    if dtype is None:
        quick = TOTAL.run(array) if axis is None and not keepdims else reduce(SUM, array, axis, keepdims)
    elif dtype is numpy.int64:
        quick = reduce(COUNT, array, axis, keepdims)
    return _add_reduce(array, axis, dtype, None, keepdims) if quick is None else quick


@cython.final
@cython.cclass
class ArrayMethod:
    """A method of arrays as a function: NumPy's function of this name has Python code around it.

    >>> ArrayMethod("reshape")(numpy.ones(4), (2, 2)).shape
    (2, 2)
    """

    def __init__(self, name):
        self.name = name
        if cython.compiled:
            let_method_be_called(self)

    def __call__(self, array, *args, **options):
        return getattr(array, self.name)(*args, **options)

    def __reduce__(self):
        return ArrayMethod, (self.name,)


def expand(array, shape):
    """A view of an array with axes of length one repeated to a shape, a tuple, and new axes in front.

    It is writable if the array is. None where numpy.broadcast_to has to do it.

    >>> import numpy
    >>> view = expand(numpy.ones(()), (2, 3))
    >>> view is None or (view.shape, view.strides) == ((2, 3), (0, 0))
    True
    """
    if cython.compiled:
        return adj_expand(array, shape)
    return None


def address_of(array):
    """The address of the first element of a NumPy array.

    >>> import numpy
    >>> x = numpy.zeros(3)
    >>> address_of(x[1:]) - address_of(x)
    8
    """
    if cython.compiled and isinstance(array, numpy.ndarray):
        return adj_address_of(array)
    return array.__array_interface__["data"][0]


def select(condition, first, second):
    """numpy.where of few elements of one type, arrays of one shape, arrays without axes and numbers; else None.

    >>> import numpy
    >>> result = select(numpy.array([True, False]), numpy.array([1.0, 2.0]), 0)
    >>> result is None or result.tolist() == [1.0, 0.0]
    True
    """
    if cython.compiled:
        return adj_select(condition, first, second)
    return None


def meet_in_short_rows(left, right):
    """True if a ufunc of two arrays would work on rows of few elements, as their axes alternate in being repeated."""
    if cython.compiled:
        return adj_meet_in_short_rows(left, right)
    return False


def contiguous_copy(array):
    """The array with all its elements row by row: itself, or a copy."""
    if cython.compiled and not array.flags.c_contiguous:
        return adj_contiguous_copy(array)
    return numpy.ascontiguousarray(array)


def triangle(array, k, upper):
    """The upper triangles of matrices from diagonal k on, or the lower ones up to it; None if NumPy must do it.

    >>> import numpy
    >>> result = triangle(numpy.ones((2, 2)), 0, True)
    >>> result is None or result.tolist() == [[1.0, 1.0], [0.0, 1.0]]
    True
    """
    if cython.compiled and -(1 << 62) < k < 1 << 62:
        return adj_triangle(array, k, upper)
    return None


def one_like(array):
    """1 in an array of the shape and type of another one, which has one element and is a plain real one; else None."""
    if cython.compiled:
        return adj_one_like(array)
    return None


# stacks of small matrices: the result, or None if NumPy's functions must do it, also for singular matrices


def stacked_products(a, b):
    """a @ b of arrays of matrices; at least one has further axes.

    >>> import numpy
    >>> result = stacked_products(numpy.ones((5, 2, 3)), numpy.ones((3, 1)))
    >>> result is None or result.shape == (5, 2, 1)
    True
    """
    if cython.compiled:
        return adj_multiply_stacks(a, b)
    return None


def small_determinants(matrices):
    """The determinants of square matrices."""
    if cython.compiled:
        return adj_solve_stacks(ADJ_DETERMINANT, matrices, matrices)
    return None


def small_inverses(matrices):
    """The inverses of square matrices."""
    if cython.compiled:
        return adj_solve_stacks(ADJ_INVERSE, matrices, matrices)
    return None


def small_solutions(matrices, sides):
    """x with matrices @ x = sides."""
    if cython.compiled:
        return adj_solve_stacks(ADJ_SOLUTION, matrices, sides)
    return None


#: The steps that `gated_step` has, in the order of gates.h.
REMEMBER, REMEMBER_BACK, UPDATE, UPDATE_BACK = range(4)
_have_gates = False


def gated_step(kind, arrays):
    """One step of a gated recurrent network, or back, of arrays as `rules/recurrent.py` has them; None for others."""
    global _have_gates
    if cython.compiled:
        if not _have_gates:
            _have_gates = adj_find_gate_loops(vector_ufuncs.of("expit"), numpy.tanh)
        return adj_gated_step(kind, arrays) if _have_gates else None
    return None
