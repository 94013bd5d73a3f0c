"""Dask arrays as the kernels see them: lazy and in chunks. Only the user starts a computation.

An elementwise kernel runs as it is, NumPy's, on every chunk: one task each, with every function that NumPy's kernels
have. A kernel that treats lines along some axes by themselves runs so too, once each of those axes lies in one chunk.
All others run on this namespace: dask's own functions through array-api-compat, and the few that it lacks, written
here. A missing function is an error that says so, since the alternative would be to compute in the middle of a program.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy

from adjoint.arrays.libraries.numpy_namespace import xp as numpy_xp
from adjoint.arrays.shapes import broadcast_shapes, normalize_dim

#: Rules whose kernels treat lines along their axes by themselves, where dask has no algorithm that joins chunks.
BY_LINES = frozenset(
    ("sort", "argsort", "max", "min", "kthvalue", "mode", "cummax", "cummin", "logcumsumexp", "topk", "median")
    + ("nanmedian", "cumprod", "fft_c2c", "log_softmax", "softmax", "place", "recurrence")
)


#: Rules whose kernels need all elements at once, or write through views, which dask arrays do not have: they run as one
#: task on arrays in one piece, which must not be larger than this many bytes.
IN_ONE_PIECE = frozenset(
    ("along_axes", "maxima", "places_of_maxima", "cdist", "cofactors", "convolution", "convolution_weight")
    + ("transposed_convolution", "diagonal", "embed_diagonal", "embedding", "embedding_counts", "embedding_sum")
    + ("fft_c2r", "fft_r2c", "fold_windows", "geqrf", "embed_view", "identity", "index_add", "index_put")
    + ("inverse_or_inf", "linalg_cholesky", "linalg_cholesky_ex", "linalg_cross", "linalg_det", "linalg_eig")
    + ("linalg_eigh", "linalg_inv", "linalg_ldl_factor_ex", "linalg_ldl_solve", "linalg_lu_factor_ex", "linalg_qr")
    + ("linalg_matrix_exp", "linalg_pinv", "linalg_slogdet", "linalg_solve", "linalg_solve_ex", "linalg_svd")
    + ("linalg_solve_triangular", "lu_order", "lu_permutation", "median_all", "nanmedian_all", "nll_loss")
    + ("nll_spread", "nonzero_places", "put", "index_reduce")
    + ("on_places", "from_places", "polar", "renorm", "reshape", "resize_axes", "sample", "sample_input", "sum_at")
    + ("sample_weight", "scatter", "scatter_add", "scatter_reduce", "sorted_places", "take", "trace", "unfold", "view")
    + ("gather", "trigonometric", "sylvester", "stein", "riccati", "matrix_function", "as_strided", "restride")
    + ("banded_solution", "cholesky_solution", "masked_scatter", "masked_gather", "ctc_loss", "view_bits")
    + ("places_in_drawn_windows",)
)
LARGEST_PIECE = 1 << 28


def kernel_of(rule: Any) -> Callable[..., Any]:
    """The kernel of a rule for dask arrays."""
    if rule.kind == "elementwise":
        return functools.partial(by_elements, rule.kernel(numpy_xp), rule.name)
    if rule.name in BY_LINES:
        return functools.partial(by_lines, rule)
    if rule.name in IN_ONE_PIECE:
        return functools.partial(in_one_piece, rule)
    return rule.kernel_on(xp)  # type: ignore[no-any-return]


class LeafNumber(int):
    """The position of an argument among the arrays of a call."""


class Task:
    """A call of a kernel on pieces of arrays, as dask's graphs keep it.

    args, kwargs: the arguments, with a `LeafNumber` for each array. member: the number of one of several
    results, or None.
    dask recognises equal tasks by the name and the arguments, and need not pickle the kernel for it.
    """

    def __init__(
        self, name: str, kernel: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], member: Any = None
    ) -> None:
        self.__name__ = name
        self.kernel, self.args, self.kwargs, self.member = kernel, args, kwargs, member

    def __call__(self, *pieces: Any) -> Any:
        kwargs = {name: replace_numbers(value, pieces) for name, value in self.kwargs.items()}
        result = self.kernel(*replace_numbers(self.args, pieces), **kwargs)
        return result if self.member is None else result[self.member]

    def result(self, i: int) -> Task:
        """The task that gives one of several results."""
        return Task(self.__name__, self.kernel, self.args, self.kwargs, i)

    def __dask_tokenize__(self) -> Any:
        from dask.base import normalize_token

        return "adjoint", self.__name__, self.member, normalize_token(self.args), normalize_token(self.kwargs)


def by_elements(kernel: Callable[..., Any], name: str, *values: Any, **options: Any) -> Any:
    """Run an elementwise kernel of this name on every chunk of arrays that are broadcast against each other."""
    import dask.array as da

    leaves: list[Any] = []
    args = tuple([number_leaves(value, (da.Array, numpy.ndarray), leaves) for value in values])
    return da.core.elemwise(Task(name, kernel, args, options), *leaves)


def by_lines(rule: Any, *values: Any, **options: Any) -> Any:
    """Run a kernel on chunks that do not split the axes named by its parameters.

    All arrays have the number of axes of the first, which also gives the chunks of the other axes.
    """
    import dask.array as da

    arguments = dict(zip(rule.names, values, strict=False)) | options
    leaves: list[Any] = []
    task = Task(rule.name, rule.kernel(numpy_xp), (), number_leaves(arguments, da.Array, leaves))
    first = leaves[0]
    axis_values = [arguments[name] for name in rule.axes]
    dims = [axis for dim in axis_values for axis in (dim if isinstance(dim, tuple) else (dim,))]
    axes = {normalize_dim(axis, first.ndim) for axis in dims} if first.ndim else set()
    chunks = [(-1,) if i in axes else axis_chunks for i, axis_chunks in enumerate(first.chunks)]
    arrays = [align_chunks(leaf, axes, chunks) for leaf in leaves]
    # a single line of zeros shows the axes of the result
    sample = task(*[numpy.zeros([n if i in axes else 1 for i, n in enumerate(a.shape)], a.dtype) for a in arrays])
    if not isinstance(sample, tuple):
        return map_blocks(task, arrays, axes, sample)
    # blocks hold one array each: each result runs the kernel for itself
    return tuple(map_blocks(task.result(i), arrays, axes, part) for i, part in enumerate(sample))


def in_one_piece(rule: Any, *values: Any, **options: Any) -> Any:
    """Run a kernel as one task on whole arrays; other arrays of the same shapes show the shape of the result.

    Raises NotImplementedError if an array is larger than `LARGEST_PIECE`.
    """
    import dask.array as da

    leaves: list[Any] = []
    arguments = number_leaves(dict(zip(rule.names, values, strict=False)) | options, da.Array, leaves)
    for leaf in leaves:
        if leaf.nbytes > LARGEST_PIECE:
            raise NotImplementedError(
                f"{rule.name} on dask arrays needs an array of {int(leaf.nbytes) >> 20} MiB in one piece, more than "
                f"the {LARGEST_PIECE >> 20} MiB that are allowed: divide it along an axis that the operation "
                "does not need"
            )
    task = Task(rule.name, rule.kernel(numpy_xp), (), arguments)
    samples = [harmless(leaf.shape, leaf.dtype) for leaf in leaves]
    with numpy.errstate(all="ignore"):
        try:
            sample = task(*samples)
        except numpy.linalg.LinAlgError:
            # Riccati's equation asks for a first matrix that can be stabilized; minus half the identity is stable
            sample = task(-samples[0], *samples[1:])
    pieces = [dask_delayed(leaf) for leaf in leaves]
    if not isinstance(sample, tuple):
        return lazily(task, pieces, sample)
    return tuple(lazily(task.result(i), pieces, part) for i, part in enumerate(sample))


def harmless(shape: tuple[int, ...], dtype: Any) -> Any:
    """Values that every kernel accepts: half the identity for square matrices, the identity for integer ones, zeros for
    indices, else different fractions.

    It is half the identity, since matrix equations such as A X A' - X + Q = 0 have no solution if A has the eigenvalue
    1.
    """
    if len(shape) > 1 and shape[-1] == shape[-2]:
        return numpy.zeros(shape, dtype) + (numpy.eye(shape[-1]) / (2 if dtype.kind in "fc" else 1)).astype(dtype)
    size = math.prod(shape)
    return (1 / (1 + numpy.arange(size)) if dtype.kind in "fc" else numpy.zeros(size)).reshape(shape).astype(dtype)


def number_leaves(value: Any, kinds: Any, leaves: list[Any]) -> Any:
    """Arguments with a number for each array of some kinds; the arrays are added to the leaves."""
    if isinstance(value, dict):
        return {name: number_leaves(item, kinds, leaves) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([number_leaves(item, kinds, leaves) for item in value])
    if not isinstance(value, kinds):
        return value
    leaves.append(value)
    return LeafNumber(len(leaves) - 1)


def replace_numbers(value: Any, pieces: tuple[Any, ...]) -> Any:
    """An argument with arrays instead of their numbers."""
    if isinstance(value, (list, tuple)):
        return type(value)([replace_numbers(item, pieces) for item in value])
    return pieces[value] if isinstance(value, LeafNumber) else value


def dask_delayed(array: Any) -> Any:
    """An array as one lazy value, to be handed to a task."""
    from dask.delayed import delayed

    return delayed(numpy.asarray)(array)


def lazily(call: Callable[..., Any], pieces: list[Any], sample: Any) -> Any:
    """The array that a call gives, as one task."""
    import dask.array as da
    from dask.delayed import delayed

    return da.from_delayed(delayed(call)(*pieces), sample.shape, sample.dtype)


def align_chunks(array: Any, axes: set[int], chunks: list[tuple[int, ...]]) -> Any:
    """An array with some axes unsplit and the others in given chunks, cropped to the array's length."""
    new_chunks: dict[int, Any] = {}
    for i, n in enumerate(array.shape):
        if i in axes:
            new_chunks[i] = -1
        elif sum(chunks[i]) == n:
            new_chunks[i] = chunks[i]
        else:
            raise NotImplementedError(
                f"dask arrays whose lengths differ in another axis than that of the operation ({n} and "
                f"{sum(chunks[i])} in axis {i}) cannot have equal chunks: cut the longer one first"
            )
    return array.rechunk(new_chunks) if new_chunks else array


def map_blocks(call: Callable[..., Any], arrays: list[Any], axes: set[int], sample: Any) -> Any:
    """The result of a kernel on every block; `sample` is its result for one line."""
    import dask.array as da

    first = arrays[0]
    dropped = sorted(axes) if sample.ndim < first.ndim else []
    chunks = [
        (sample.shape[i],) if i in axes else axis_chunks
        for i, axis_chunks in enumerate(first.chunks)
        if i not in dropped
    ]
    meta = numpy.empty((0,) * sample.ndim, sample.dtype)
    return da.map_blocks(call, *arrays, chunks=tuple(chunks), drop_axis=dropped or None, dtype=sample.dtype, meta=meta)


def read(array: Any, index: Any) -> Any:
    """array[index], for a basic index, and for arrays of places beside full slices.

    Raises NotImplementedError for a mask that is not computed, since the shape of the result depends on its values.
    """
    items: list[Any] = []
    for item in index if isinstance(index, tuple) else (index,):
        if not hasattr(item, "shape") or item.dtype.kind != "b":
            items.append(item)
        elif isinstance(item, numpy.ndarray):
            items += item.nonzero()
        else:
            raise NotImplementedError(UNKNOWN_SHAPE.format(what="elements where the mask is true"))
    axes = [axis for axis, item in enumerate(items) if hasattr(item, "shape")]
    if not axes or (len(axes) == 1 and items[axes[0]].ndim == 1):
        return array[tuple(items)]
    import dask.array as da

    if any(isinstance(items[axis], da.Array) for axis in axes):
        raise NotImplementedError(LAZY_PLACES)
    # vindex moves the axes of index arrays to the front; NumPy does so only where slices separate the arrays
    elements, first = array.vindex[tuple(items)], axes[0]
    if not first or axes[-1] - first + 1 > len(axes):
        return elements
    ndim = numpy.broadcast(*[items[axis] for axis in axes]).ndim
    return da.moveaxis(elements, tuple(range(ndim)), tuple(range(first, first + ndim)))


LAZY_PLACES = (
    "an index of dask arrays is one lazy vector, or several arrays that are computed: call compute() on the index "
    "tensors first"
)
UNKNOWN_SHAPE = (
    "the number of {what} depends on the values, so on dask arrays the result has no shape before it is computed: call "
    "tensor.compute() first, or keep the shape, as where(mask, x, 0) does"
)


def write(array: Any, index: Any, values: Any) -> None:
    """array[index] = values, for a basic index; dask knows no new axes there."""
    items = index if isinstance(index, tuple) else (index,)
    index_items = tuple([item for item in items if item is not None])
    if len(index_items) < len(items) and hasattr(values, "ndim"):
        import dask.array as da

        values = da.broadcast_to(values, array[index].shape).reshape(array[index_items].shape)
    array[index_items] = values


class MissingFunction(NotImplementedError, AttributeError):
    """dask arrays have no function of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"dask arrays have no {name}, which this operation needs. Nothing was computed: to go on with NumPy, say "
            "tensor.compute() (all of it has to fit into memory)"
        )


class Elementwise:
    """Functions of a module, such as scipy.special, applied to every chunk."""

    def __init__(self, functions: Callable[[], Any]) -> None:
        self._functions = functions

    def __getattr__(self, name: str) -> Any:
        function = functools.partial(by_elements, getattr(self._functions(), name), name)
        setattr(self, name, function)
        return function


class Linalg:
    """dask's linear algebra; a missing function is an error."""

    def __getattr__(self, name: str) -> Any:
        function = getattr(importlib.import_module("array_api_compat.dask.array").linalg, name, None)
        if function is None:
            raise MissingFunction(f"linalg.{name}")
        return function


class Namespace:
    """The functions that the core needs of an array library, for dask."""

    __name__ = __name__

    #: A slice is an array of its own.
    views = False
    kernel_of = staticmethod(kernel_of)
    broadcast_shapes = staticmethod(broadcast_shapes)
    special = Elementwise(lambda: numpy_xp.special)
    linalg = Linalg()
    getitem, setitem = staticmethod(read), staticmethod(write)

    def __getattr__(self, name: str) -> Any:
        function = getattr(importlib.import_module("array_api_compat.dask.array"), name, None)
        if function is None and name in ELEMENTWISE:
            function = functools.partial(by_elements, getattr(numpy_xp, name), name)
        if function is None:
            raise MissingFunction(name)
        setattr(self, name, function)
        return function

    @staticmethod
    def total(array: Any) -> Any:
        """The sum of all elements."""
        return array.sum()

    @staticmethod
    def average(array: Any) -> Any:
        """The mean of all elements."""
        return array.mean()

    @staticmethod
    def may_share_memory(first: Any, second: Any) -> bool:
        """True: a write into a dask array makes a new one, so none is a view and none can differ."""
        return True

    @staticmethod
    def nonzero(array: Any) -> Any:
        """Raises NotImplementedError: how many there are is not known."""
        raise NotImplementedError(UNKNOWN_SHAPE.format(what="nonzero elements"))

    @staticmethod
    def pairs(array: Any) -> Any:
        """Complex numbers as pairs of their parts, along a new last axis."""
        import dask.array as da

        return da.stack((array.real, array.imag), axis=-1)

    @staticmethod
    def from_pairs(array: Any) -> Any:
        """The way back."""
        return by_elements(numpy_xp.complex_of, "complex_of", array[..., 0], array[..., 1])

    @staticmethod
    def matrix_transpose(array: Any) -> Any:
        """The matrices in the last two axes, transposed."""
        return array.swapaxes(-1, -2)


#: Functions of NumPy's namespace that rules use inside other kernels.
ELEMENTWISE = frozenset(
    ("expit", "softplus", "normal_cdf", "erf", "erfc", "erfinv", "gammaln", "digamma", "xlogy", "ndtr", "ndtri")
    + ("gcd", "lcm", "copysign", "nextafter", "fmax", "fmin", "fmod", "cbrt", "hypot", "heaviside", "frexp", "ldexp")
)

xp = Namespace()
