"""NumPy as the kernels see it: numpy itself, and the few functions that it lacks.

The namespace `xp` has everything of numpy under its own name (the very same objects: a kernel named "tanh" is the
ufunc), and before that the functions of this file and the ufuncs with loops of our own (see `vector_ufuncs.py`). SciPy
is imported at the first use of one of its functions, so that importing adjoint does not import it.
"""

import functools
import importlib
import math
from typing import Any

import numpy

from adjoint.arrays.kernels import products_and_sums, scatter, vector_ufuncs
from adjoint.arrays.kernels.products_and_sums import (
    COUNT,
    MAX,
    MIN,
    PROD,
    SUM,
    ArrayMethod,
    address_of,
    expand,
    fast_sum,
    reduce,
)
from adjoint.arrays.shapes import check_size, normalize_dim
from adjoint.runtime import crossovers
from adjoint.runtime.caches import memoize
from adjoint.runtime.lazy import by_name
from adjoint.runtime.threads import get_num_threads

_SPECIAL = {
    "expit": "expit",
    "normal_cdf": "normal_cdf",
    "erf": "erf",
    "erfc": "erfc",
    "erfinv": "erfinv",
    "gammaln": "gammaln",
    "digamma": "digamma",
    "polygamma": "polygamma",
    "logsumexp": "logsumexp",
    "xlogy": "xlogy",
    "ndtr": "ndtr",
    "ndtri": "ndtri",
}


_ALL = slice(None)


# shape and index -----------------------------------------------------------------------------------------------------


def expand_dims(array: Any, axis: int) -> Any:
    """numpy.expand_dims for one axis, without its overhead.

    >>> expand_dims(numpy.zeros(3), 1).shape
    (3, 1)
    """
    if type(axis) is not int or axis < -1:
        return numpy.expand_dims(array, axis)
    return array[..., None] if axis < 0 else array[(_ALL,) * axis + (None,)]


def are_within(integers: Any, least: int, limit: int) -> bool:
    """True if all integers (at least one) are at least `least` and below `limit`.

    >>> are_within(numpy.array([0, 2]), 0, 3), are_within(numpy.array([0, 3]), 0, 3)
    (True, False)
    """
    if 0 in integers.strides:
        # an expanded array has each of its elements many times
        integers = integers[tuple([slice(1) if step == 0 else slice(None) for step in integers.strides])]
    within = scatter.are_within(integers, least, limit) if scatter.compiled else None
    return bool(integers.min() >= least and integers.max() < limit) if within is None else bool(within)


def take_along_axis(array: Any, indices: Any, axis: int = -1) -> Any:
    """numpy.take_along_axis, by a loop in C where there is one."""
    axis += array.ndim if axis < 0 else 0
    values = scatter.take_along(array, indices, axis) if scatter.compiled and 0 <= axis < array.ndim else None
    return numpy.take_along_axis(array, indices, axis) if values is None else values


def stack(arrays: Any, axis: int = 0) -> Any:
    """numpy.stack for arrays of one shape, without its overhead.

    >>> stack([numpy.zeros(3), numpy.ones(3)], 1).shape
    (3, 2)
    """
    if axis < 0:
        return numpy.concatenate([expand_dims(numpy.asarray(array), axis) for array in arrays], axis)
    index = (_ALL,) * axis + (None,)
    return numpy.concatenate([numpy.asarray(array)[index] for array in arrays], axis)


def broadcast_to(array: Any, shape: tuple[int, ...]) -> Any:
    """numpy.broadcast_to, but a view that can be written to where the array can: a view of a view may be proper memory.

    >>> broadcast_to(numpy.zeros(3), (2, 3)).flags.writeable
    True
    """
    quick = expand(array, shape)
    if quick is not None:
        return quick
    view = numpy.broadcast_to(array, shape)
    if isinstance(array, numpy.ndarray) and array.flags.writeable:
        view.flags.writeable = True
    return view


def repeat(array: Any, repeats: Any, axis: int | None = None) -> Any:
    """numpy.repeat, after a look at how large the result is: NumPy's own count overflows.

    >>> repeat(numpy.arange(2), 2)
    array([0, 0, 1, 1])
    """
    counts = numpy.asarray(repeats)
    n = array.size if axis is None else array.shape[axis]
    along = float(counts.sum(dtype=numpy.float64)) if counts.size > 1 else float(counts.sum()) * n
    if along > 2**62:
        raise RuntimeError(f"repeat(): a result with {along:.3g} elements along an axis is too large")
    check_size(array.shape if axis is None else (*array.shape[:axis], int(along), *array.shape[axis:][1:]))
    return numpy.repeat(array, repeats, axis)


def tile(array: Any, repeats: tuple[int, ...]) -> Any:
    """numpy.tile, after the same look.

    >>> tile(numpy.arange(2), (2,))
    array([0, 1, 0, 1])
    """
    shape = (1,) * (len(repeats) - array.ndim) + tuple(array.shape)
    lead = (1,) * (len(shape) - len(repeats))
    check_size(tuple([n * m for n, m in zip(shape, (*lead, *repeats), strict=True)]))
    return numpy.tile(array, repeats)


def diagonal(array: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """numpy.diagonal, but a view that can be written to where the array can.

    >>> diagonal(numpy.zeros((2, 3))).flags.writeable
    True
    """
    view = array.diagonal(offset, axis1, axis2)
    if array.flags.writeable:
        view.flags.writeable = True
    return view


def memory_of(array: Any) -> tuple[Any, int]:
    """All memory that an array belongs to, as a flat array of bytes, and the array's first byte in it.

    Raises RuntimeError if NumPy does not know the memory as one piece, as for an array made from a strided buffer.
    """
    owner = array
    while isinstance(owner.base, numpy.ndarray):
        owner = owner.base
    if owner.flags.c_contiguous:
        flat = owner.reshape(-1)
        if owner is array:
            return flat.view(numpy.uint8), 0
    else:
        flat = numpy.ravel(owner, order="K")
    if owner.size and not numpy.may_share_memory(flat, owner):
        raise RuntimeError(
            f"as_strided(): the memory that an array with strides {owner.strides} was made from is not one piece; "
            "clone() the tensor first"
        )
    return flat.view(numpy.uint8), address_of(array) - address_of(flat)


def view_with_strides(array: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> Any:
    """A view of the memory that an array lies in; strides, and the offset from the array's start, count bytes.

    Raises RuntimeError if it would leave that memory.
    """
    memory, start = memory_of(array)
    if 0 in shape:
        # a view too, without elements, wherever it would start
        return numpy.ndarray(shape, array.dtype, memory, min(start, memory.size), strides)
    start += offset
    size = start + array.itemsize + sum([(n - 1) * k for n, k in zip(shape, strides, strict=True)])
    if start < 0 or size > memory.size:
        raise out_of_bounds(shape, strides, start, array.itemsize, size, memory.size)
    return numpy.ndarray(shape, array.dtype, memory, start, strides)


def out_of_bounds(
    shape: tuple[int, ...], strides: tuple[int, ...], start: int, step: int, size: int, available: int
) -> RuntimeError:
    """The error for a view that would leave an array's memory; all but the shape count bytes."""
    return RuntimeError(
        f"setStorage: sizes {list(shape)}, strides {[k // step for k in strides]}, storage offset {start // step}, "
        f"and itemsize {step} requiring a storage size of {size} are out of bounds for storage of size {available}"
    )


def as_strided(array: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> Any:
    """A strided view, with strides and offset in elements.

    >>> as_strided(numpy.arange(6), (2, 2), (1, 1), 3)
    array([[3, 4],
           [4, 5]])
    """
    step = array.itemsize
    return view_with_strides(array, shape, tuple([k * step for k in strides]), offset * step)


def matrix_transpose(array: Any) -> Any:
    """The matrices in the last two axes, transposed."""
    return array.mT


def windows_along(array: Any, size: int, axis: int) -> Any:
    """A view of all windows of a size along an axis; the places in a window are the last axis.

    >>> windows_along(numpy.arange(4), 2, 0)
    array([[0, 1],
           [1, 2],
           [2, 3]])
    """
    shape = (*array.shape[:axis], array.shape[axis] - size + 1, *array.shape[axis + 1 :], size)
    return view_with_strides(array, shape, (*array.strides, array.strides[axis]))


def places_in_memory(shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Any:
    """For each element of a strided array the number of the memory cell that it lies in, as a flat array."""
    offsets = numpy.full(shape, offset)
    for axis, (n, k) in enumerate(zip(shape, strides, strict=True)):
        offsets += (numpy.arange(n) * k).reshape((n,) + (1,) * (len(shape) - axis - 1))
    return offsets.reshape(-1)


def elements_meet(array: Any) -> bool:
    """True if two elements of an array share memory, as in expanded arrays.

    >>> elements_meet(numpy.broadcast_to(1.0, 2)), elements_meet(numpy.zeros((2, 3)).T)
    (True, False)
    """
    axes = sorted([(abs(k), n) for n, k in zip(array.shape, array.strides, strict=True) if n > 1])
    reach = array.itemsize
    for k, n in axes:
        if k < reach:
            break
        reach += (n - 1) * k
    else:
        return False
    if not array.size:
        return False
    offsets = places_in_memory(array.shape, array.strides, 0)
    return bool(k == 0 or numpy.diff(numpy.sort(offsets)).min() < array.itemsize)


def view_as(array: Any, dtype: Any) -> Any:
    """The memory of an array as elements of another type, along the last axis if their sizes differ.

    A view, unless the last axis does not lie in one piece.
    """
    if array.dtype.itemsize != numpy.dtype(dtype).itemsize and array.shape[-1] != 1:
        array = array if array.strides[-1] == array.itemsize else numpy.ascontiguousarray(array)
    return array.view(dtype)


def pairs(array: Any) -> Any:
    """Complex numbers as pairs of their parts, along a new last axis: a view.

    >>> pairs(numpy.array([1 + 2j]))
    array([[1., 2.]])
    """
    return view_as(array[..., None], array.real.dtype)


def from_pairs(array: Any) -> Any:
    """The way back: a view."""
    return view_as(array, numpy.result_type(array.dtype, numpy.complex64))[..., 0]


#: NumPy's own: types that others register, as bfloat16, have their loops there and not in our copy of the ufunc.
nextafter_of_halves = numpy.nextafter


def partition(array: Any, kth: int, axis: int = -1) -> Any:
    """numpy.partition, without its Python code."""
    result = array.copy()
    result.partition(kth, axis)
    return result


def with_diagonal(array: Any, values: Any, offset: int, axis1: int, axis2: int) -> Any:
    """The array, with values written along a diagonal of it."""
    diagonal(array, offset, axis1, axis2)[...] = values
    return array


def _are_pairs(real: Any, imag: Any) -> bool:
    """True if each real part lies in front of its imaginary part in memory."""
    return (
        real.base is not None
        and real.base is imag.base
        and real.dtype == imag.dtype
        and real.dtype.kind == "f"
        and real.shape == imag.shape
        and real.strides == imag.strides
        and address_of(imag) == address_of(real) + real.itemsize
    )


def complex_of(real: Any, imag: Any) -> Any:
    """The complex numbers of these parts, which are broadcast."""
    if type(real) is type(imag) is numpy.ndarray and _are_pairs(real, imag):
        return from_pairs(as_strided(real, (*real.shape, 2), (*[k // real.itemsize for k in real.strides], 1))).copy()
    if real.shape != imag.shape:
        real, imag = numpy.broadcast_arrays(real, imag)
    result = numpy.empty(real.shape, numpy.result_type(real, imag, numpy.complex64))
    result.real, result.imag = real, imag
    return result


# reductions


def accumulate(name: str, array: Any, axis: int) -> Any:
    """The results of a ufunc of all elements along an axis up to each.

    >>> accumulate("maximum", numpy.array([1, 3, 2]), 0)
    array([1, 3, 3])
    """
    return getattr(numpy, name).accumulate(array, axis=axis)


#: The sum of all elements of a floating point array, without the overhead of numpy.sum.
total = functools.partial(numpy.add.reduce, axis=None)


def average(array: Any) -> Any:
    """The mean of all elements of a floating point array, without the overhead of numpy.mean."""
    return total(array) / array.size


# for the linear algebra family


def expm(a: Any) -> Any:
    """The matrix exponential of square matrices, batched over leading axes."""
    from scipy.linalg import expm as exponential

    return exponential(a).astype(a.dtype, copy=False) if a.size else a.copy()


def _reduction(kind: int, numpys: Any, of_ufunc: Any) -> Any:
    """One of NumPy's reductions, by the loops for short axes where these apply, else by its ufunc's method `reduce`.

    Python code around the ufunc takes longer than a small array.
    """

    @functools.wraps(numpys)
    def run(array: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None, **options: Any) -> Any:
        if dtype is not None:
            options["dtype"] = dtype
        quick = None if options else reduce(kind, array, axis, keepdims)
        if quick is not None:
            return quick
        if options or type(array) is not numpy.ndarray:
            return numpys(array, axis=axis, keepdims=keepdims, **options)
        return of_ufunc(array, axis, None, None, keepdims)

    return run


def _truth_reduction(numpys: Any, of_ufunc: Any, of_all: bool) -> Any:
    """numpy.any, or numpy.all (`of_all`): by the number of truth values over short axes, else by the ufunc."""

    @functools.wraps(numpys)
    def run(array: Any, axis: Any = None, keepdims: bool = False) -> Any:
        counts = reduce(COUNT, array, axis, keepdims)
        if counts is None:
            if type(array) is not numpy.ndarray:
                return numpys(array, axis=axis, keepdims=keepdims)
            return of_ufunc(array, axis, bool, None, keepdims)
        return counts == array.size // counts.size if of_all else counts > 0

    return run


#: From the first number of elements on, a product of all uses the second number of columns, since each factor waits for
#: the previous product.
_LONG_PRODUCT, _COLUMNS = 1 << 12, 256
_multiply_reduce: Any = numpy.multiply.reduce


def _product(array: Any, axis: Any, dtype: Any, out: Any, keepdims: bool) -> Any:
    """numpy.multiply.reduce; the product of all of many elements by columns."""
    of_all = axis is None or (isinstance(axis, tuple) and len(axis) == array.ndim) or array.ndim == 1
    if of_all and array.size >= _LONG_PRODUCT and array.dtype.kind in "fc" and array.flags.c_contiguous:
        row = array.reshape(-1)
        whole = row.size // _COLUMNS * _COLUMNS
        factors = _multiply_reduce(row[:whole].reshape(-1, _COLUMNS), 0)
        if whole < row.size:
            factors = numpy.concatenate((factors, row[whole:]))
        array = factors.reshape((1,) * (array.ndim - 1) + factors.shape)
    return _multiply_reduce(array, axis, dtype, out, keepdims)


#: About so many elements are written out at a time.
_WRITTEN_OUT = 1 << 15


def by_long_rows(ufunc: Any, left: Any, right: Any) -> Any:
    """ufunc(left, right) of arrays that broadcast: repeated elements are written out in blocks.

    NumPy would call an inner loop for each row, up to the point where one array begins to repeat. For short rows the
    calls cost more than the work.

    >>> import numpy
    >>> by_long_rows(numpy.subtract, numpy.ones((3, 1, 2)), numpy.ones((1, 4, 2))).shape
    (3, 4, 2)
    """
    shape = numpy.broadcast_shapes(left.shape, right.shape)
    axis = 0
    while shape[axis] == 1:
        axis += 1
    step = max(1, _WRITTEN_OUT // math.prod(shape[axis + 1 :]))
    operands = [numpy.broadcast_to(array, shape) for array in (left, right)]
    out = None
    for first in range(0, shape[axis], step):
        piece = (*(slice(None),) * axis, slice(first, first + step))
        parts = [products_and_sums.contiguous_copy(array[piece]) for array in operands]
        if step >= shape[axis]:
            return ufunc(*parts)
        if out is None:
            kind = ufunc(*[part[(slice(1),) * part.ndim] for part in parts]).dtype
            out = numpy.empty(shape, kind)
        ufunc(*parts, out=out[piece])
    return out


# selections and activations


def select(condition: Any, first: Any, second: Any) -> Any:
    """numpy.where with a condition; on large arrays without a branch for each element, which is ten times as fast.

    The processor cannot predict the branch of a random condition. So bits are multiplied by the condition as 0 or 1,
    and elements that are not selected, also infinite ones, have no effect.

    >>> select(numpy.array([True, False]), numpy.array([1.0, 2.0]), 0)
    array([1., 0.])
    """
    quick = products_and_sums.select(condition, first, second)
    if quick is not None:
        return quick
    if type(condition) is not numpy.ndarray or condition.size < crossovers.BRANCHLESS or condition.dtype != bool:
        return numpy.where(condition, first, second)
    kind = numpy.result_type(first, second)
    bits = _BITS.get(kind)
    if bits is None:
        return numpy.where(condition, first, second)
    if type(second) is int and second == 0:
        return numpy.multiply(condition, numpy.asarray(first, kind).view(bits)).view(kind)
    if type(first) is int and first == 0:
        return numpy.multiply(~condition, numpy.asarray(second, kind).view(bits)).view(kind)
    a, b = numpy.asarray(first, kind).view(bits), numpy.asarray(second, kind).view(bits)
    selection = numpy.multiply(condition, a ^ b)
    selection ^= b
    return selection.view(kind)


#: Integer dtypes of the same size, in which the bits of a number can be multiplied by 0 or 1.
_BITS = {numpy.dtype(kind): numpy.dtype(f"i{numpy.dtype(kind).itemsize}") for kind in ("f4", "f8", "c8", "i4", "i8")}


def flip(array: Any, axis: int | tuple[int, ...] | None = None) -> Any:
    """numpy.flip, without its Python code.

    >>> flip(numpy.array([1, 2, 3]))
    array([3, 2, 1])
    """
    return array[_flip_index(axis, array.ndim)]


@memoize(256)
def _flip_index(axis: int | tuple[int, ...] | None, ndim: int) -> tuple[slice, ...]:
    axes = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    flips = {normalize_dim(k, ndim) for k in axes}
    return tuple([slice(None, None, -1) if k in flips else slice(None) for k in range(ndim)])


def real(array: Any) -> Any:
    """numpy.real, without its Python code; real arrays are their own real part.

    >>> real(numpy.array([1 + 2j]))
    array([1.])
    """
    return array.real if array.dtype.kind == "c" else array


def softplus(array: Any) -> Any:
    """log(1 + exp(array)) without overflow; numpy.logaddexp takes ten times as long.

    >>> softplus(numpy.array([0.0, 1000.0]))
    array([6.93147181e-01, 1.00000000e+03])
    """
    return numpy.maximum(array, 0) + xp.log1p(xp.exp(-numpy.abs(array)))


# linear algebra ------------------------------------------------------------------------------------------------------


def _trace(matrix: Any) -> Any:
    """The sum of the diagonal of one matrix of floating point numbers, or None."""
    if type(matrix) is numpy.ndarray and matrix.ndim == 2:
        return reduce(SUM, matrix.diagonal(), 0, False)
    return None


class _LinearAlgebra:
    """numpy.linalg. LAPACK's singular values never converge for a matrix with an infinity; here they are NaN.

    LAPACK itself checks for NaN. The other factorizations check for both.
    """

    def __getattr__(self, name: str) -> Any:
        function = getattr(numpy.linalg, name)
        if name in _OF_PLAIN_MATRICES:
            function = _or_by_numpy(_OF_PLAIN_MATRICES[name], function)
        if name in _BY_LOOPS:
            loops = importlib.import_module("adjoint.arrays.kernels.linalg.loops")
            function = _or_by_numpy(getattr(loops, name), function)
        if name in _BY_SINGULAR_VALUES:
            function = _of_finite_matrices(function)
        setattr(self, name, function)
        return function


_BY_LOOPS = ("cholesky", "eigh", "qr", "svd")
_BY_SINGULAR_VALUES = ("svd", "svdvals", "pinv")


#: Functions of stacks of small matrices, or of plain ones, by NumPy's names, that give None for others.
_OF_PLAIN_MATRICES = {
    "det": products_and_sums.small_determinants,
    "inv": products_and_sums.small_inverses,
    "solve": products_and_sums.small_solutions,
    "trace": _trace,
}


def _or_by_numpy(quick: Any, numpys: Any) -> Any:
    """A function that NumPy's replaces where it gives None."""

    @functools.wraps(numpys)
    def run(*arrays: Any, **options: Any) -> Any:
        result = quick(*arrays, **options)
        return numpys(*arrays, **options) if result is None else result

    return run


def _products(a: Any, b: Any) -> Any:
    """a @ b by numpy.matmul's loops, or by faster loops for small matrices and for columns times rows; else None."""
    if type(a) is type(b) is numpy.ndarray:
        if a.ndim > 1 < b.ndim and a.shape[-1] == 1 == b.shape[-2]:
            return a * b
        if a.ndim <= 2 >= b.ndim:
            return products_and_sums.PRODUCT.run(a, b)
    return products_and_sums.stacked_products(a, b)


_all_of = _truth_reduction(numpy.all, numpy.logical_and.reduce, True)


def _of_finite_matrices(function: Any) -> Any:
    @functools.wraps(function)
    def run(matrices: Any, *args: Any, **options: Any) -> Any:
        finite = numpy.isfinite(matrices)
        if _all_of(finite):
            return function(matrices, *args, **options)
        infinite = numpy.isinf(matrices).any((-2, -1)) & ~numpy.isnan(matrices).any((-2, -1))
        results = function(numpy.where(infinite[..., None, None], 0, matrices), *args, **options)
        for result in results if isinstance(results, tuple) else (results,):
            result[infinite] = numpy.nan
        return results

    return run


linalg = _LinearAlgebra()

# Fourier transforms ---------------------------------------------------------------------------------------------------


class _Fourier:
    """numpy.fft's functions from SciPy: single precision stays single, and large arrays use threads."""

    def __getattr__(self, name: str) -> Any:
        import scipy.fft

        transform, (types, loop) = getattr(scipy.fft, name), _pocket_loop(name)

        def run(array: Any, **options: Any) -> Any:
            workers = get_num_threads() if array.size >= crossovers.THREADED_TRANSFORM else 1
            if type(array) is not numpy.ndarray or array.dtype.char not in types or not array.flags.aligned:
                result = transform(array, workers=workers, **options)
            else:
                result = loop(array, workers, **options)
            whole = name == "fftn" or (name == "ifftn" and len(options["axes"]) > 1)
            if whole and array.dtype.kind != "c":
                # SciPy mirrors half a spectrum, and gives frequencies without an imaginary part -0. NumPy gives them 0,
                # and torch does except for the inverse over one axis. The sign decides whether a phase is pi or -pi.
                imaginary = result.imag
                numpy.add(imaginary, 0, out=imaginary)
            return result

        setattr(self, name, run)
        return run


def _pocket_loop(name: str) -> tuple[str, Any]:
    """The loop behind one of SciPy's transforms as a function of (array, workers, axes=, norm=, s=).

    Also returns its dtypes as NumPy's letters, none if there is no such loop.

    SciPy's Python code around it, which looks for other backends, takes longer than a small transform. The rules pass
    sizes equal to the arrays' sizes, except the last size of a half spectrum.
    """
    try:
        from scipy.fft._pocketfft import pypocketfft as loops
    except ImportError:  # SciPy does not promise its name
        return "", None
    forward = not name.startswith("i")
    factors = _FACTORS if forward else dict(zip(_FACTORS, reversed(_FACTORS.values()), strict=True))
    if name in ("fftn", "ifftn"):
        return "fdFD", lambda array, n, axes, norm: loops.c2c(array, axes, forward, factors[norm], None, n)
    if name == "rfftn":
        return "fd", lambda array, n, axes, norm: loops.r2c(array, axes, forward, factors[norm], None, n)
    if name == "irfftn":
        return "FD", lambda array, n, axes, norm, s: loops.c2r(array, axes, s[-1], forward, factors[norm], None, n)
    return "", None


#: pocketfft's number for the factor of a forward transform: none, the root of 1 / n, 1 / n.
_FACTORS = {"backward": 0, "ortho": 1, "forward": 2}


fft = _Fourier()


class _Special:
    """scipy.special, imported at first use, with our own loops where they exist."""

    def __getattr__(self, name: str) -> Any:
        has_loop = name in vector_ufuncs.SPECIAL_NAMES
        value = vector_ufuncs.of(name) if has_loop else getattr(importlib.import_module("scipy.special"), name)
        setattr(self, name, value)
        return value

    @staticmethod
    def polygamma(n: int, array: Any) -> Any:
        """scipy.special.polygamma of one order from 1 on, without its Python code, in double precision."""
        return _factor_of_polygamma(n) * special.zeta(numpy.float64(n + 1), array)


special = _Special()


@memoize(64)
def _factor_of_polygamma(n: int) -> Any:
    return (-1.0) ** (n + 1) * importlib.import_module("scipy.special").gamma(n + 1.0)


# distances ------------------------------------------------------------------------------------------------------------

#: SciPy's names of the distances by their order.
_METRICS = {1: "cityblock", 2: "euclidean", numpy.inf: "chebyshev"}


def pairwise_distances(a: Any, b: Any, p: float) -> Any:
    """The p-norm of the difference of each row of a and each row of b, batched; for p 0 the number of other elements.

    >>> pairwise_distances(numpy.array([[0.0, 0.0]]), numpy.array([[3.0, 4.0], [0.0, 1.0]]), 2)
    array([[5., 1.]])
    """
    batch = a.shape[:-2]
    if batch != b.shape[:-2]:
        batch = numpy.broadcast_shapes(batch, b.shape[:-2])
        a, b = [numpy.broadcast_to(x, batch + x.shape[-2:]) for x in (a, b)]
    result = numpy.zeros((*batch, a.shape[-2], b.shape[-2]), a.dtype)
    if not result.size or not a.shape[-1]:
        return result
    if p == 0:
        return numpy.sum(a[..., :, None, :] != b[..., None, :, :], axis=-1, dtype=a.dtype)
    from scipy.spatial.distance import cdist

    metric, order = (_METRICS[p], {}) if p in _METRICS else ("minkowski", {"p": p})
    for index in numpy.ndindex(*batch) if batch else ((),):
        result[index] = cdist(a[index], b[index], metric, **order)
    return result


#: The names that modules of kernels have, which are imported when first used.
_ELSEWHERE = by_name(
    {
        "filling": "eye full_like ones_like zeros_like",
        "linalg.lapack": "lu_factor order_of_pivots partial_cholesky ldl_factor ldl_solution geqrf triangular_solution",
        "linalg.matrix_functions": "solve_sylvester solve_stein solve_riccati solve_banded matrix_function",
        "places": "add_at along_axis combine getitem index_add nonzero reduce_at setitem sum_at",
        "triangles": "tril triu",
    }
)


_METHODS = (
    "argmax", "argmin", "argpartition", "argsort", "astype", "cumprod", "cumsum", "reshape", "searchsorted", "squeeze",
    "take",
)  # fmt: skip
# the names in the namespace of functions of this file that replace NumPy's
_INSTEAD = {
    **{name: ArrayMethod(name) for name in _METHODS},
    "permute_dims": ArrayMethod("transpose"),
    "sum": fast_sum,
    "prod": _reduction(PROD, numpy.prod, _product),
    "max": _reduction(MAX, numpy.max, numpy.maximum.reduce),
    "min": _reduction(MIN, numpy.min, numpy.minimum.reduce),
    "any": _truth_reduction(numpy.any, numpy.logical_or.reduce, False),
    "all": _all_of,
    "matmul": _or_by_numpy(_products, numpy.matmul),
    "where": select,
}


class Namespace:
    """numpy and the functions of this file as attributes, each looked up once."""

    __name__ = __name__
    #: Rules bind their kernels to this namespace themselves.
    kernel_of = None

    def __reduce__(self) -> str:
        # by name: the functions that it has found so far belong to this process
        return "xp"

    def __getattr__(self, name: str) -> Any:
        value: Any
        if name in _INSTEAD:
            value = _INSTEAD[name]
        elif name in vector_ufuncs.NUMPY_NAMES:
            value = vector_ufuncs.of(name)
        elif name in _SPECIAL:
            value = getattr(special, _SPECIAL[name])
        elif name in _ELSEWHERE:
            value = getattr(importlib.import_module(f"adjoint.arrays.kernels.{_ELSEWHERE[name]}"), name)
        else:
            function = globals().get(name)
            value = function if function is not None and not name.startswith("_") else getattr(numpy, name)
        setattr(self, name, value)
        return value


xp = Namespace()
