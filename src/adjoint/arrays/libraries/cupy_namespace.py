"""CuPy's arrays for kernels: NumPy's functions and views, on a GPU.

CuPy has most of NumPy's functions under their own names, and SciPy's special functions in cupyx. Further functions of
kernels are here if CuPy has its own form. Otherwise they are composed of functions of the array API standard
(`standard_namespace`). A missing function raises an error; no data are copied to the host for it.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy

from adjoint.arrays.libraries.numpy_namespace import out_of_bounds
from adjoint.arrays.libraries.standard_namespace import COMPOSED, Part
from adjoint.arrays.libraries.standard_namespace import MissingFunction as MissingInStandard
from adjoint.arrays.libraries.standard_namespace import Namespace as StandardNamespace
from adjoint.arrays.size import CPU, device

ON_SEVERAL_DEVICES = (
    "Expected all tensors to be on the same device, but found at least two devices, {target} and {own}! "
    "Move one of them, such as by tensor.to('{target}')"
)


class MissingFunction(MissingInStandard):
    """CuPy's arrays have no function of this name."""

    def __init__(self, name: str) -> None:
        NotImplementedError.__init__(
            self,
            f"arrays of cupy have no {name}, which this operation needs. Nothing was copied to the host: to go on "
            "there, say tensor.cpu()",
        )


class Namespace(StandardNamespace):
    """The functions that the core and the kernels need of an array library, for CuPy."""

    views = True

    def __init__(self) -> None:
        super().__init__(importlib.import_module("cupy"))
        self.special = Extension(self, "cupyx.scipy.special", "special")
        self.linalg = Linalg(self)

    def __getattr__(self, name: str) -> Any:
        if name in OWN:
            value: Any = functools.partial(OWN[name], self)
        elif name not in COMPOSED or name in LIKE_NUMPY:
            value = getattr(self.library, name, None)
            if value is None:
                raise MissingFunction(name)
        else:
            value = functools.partial(COMPOSED[name], self)
        setattr(self, name, value)
        return value

    def own_dtype(self, value: Any) -> Any:
        """NumPy's dtypes are CuPy's."""
        return value

    def device_of(self, array: Any) -> device:
        """The device that an array lies on."""
        return device("cuda", int(array.device.id))

    def address(self, array: Any) -> int:
        """The address of an array's first element."""
        return int(array.data.ptr)

    def beside(self, value: Any, model: Any, is_operand: bool) -> Any:
        """An argument of an operation that runs where the array `model` lies.

        Numbers, and indices, come from main memory. Raises RuntimeError for other arrays that lie elsewhere.
        """
        if not isinstance(value, (numpy.ndarray, self.library.ndarray)):
            return value
        is_here, target = isinstance(value, numpy.ndarray), self.device_of(model)
        source = CPU if is_here else self.device_of(value)
        if source == target:
            return value
        if is_here and not (is_operand and value.ndim):
            return on_gpu(value, target)
        raise RuntimeError(ON_SEVERAL_DEVICES.format(target=target, own=source))


class Extension(Part):
    """A module that is imported when it is first used."""

    def __init__(self, outer: Namespace, module: str, name: str) -> None:
        super().__init__(outer, None, name)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(importlib.import_module(self._module), name, None)
        if value is None:
            raise MissingFunction(f"{self._name}.{name}")
        setattr(self, name, value)
        return value


class Linalg(Extension):
    """CuPy's linear algebra; of diagonals, which it has for arrays, the standard's form."""

    def __init__(self, outer: Namespace) -> None:
        super().__init__(outer, "cupy.linalg", "linalg")

    def diagonal(self, array: Any, /, *, offset: int = 0) -> Any:
        """The diagonals of the matrices in the last two axes."""
        return self._outer.library.diagonal(array, offset, -2, -1)

    def pinv(self, array: Any, /, *, rtol: Any = None) -> Any:
        """The pseudo-inverses."""
        return self._outer.library.linalg.pinv(array, 1e-15 if rtol is None else rtol)

    def trace(self, array: Any, /, *, offset: int = 0) -> Any:
        """The sums of these."""
        return self.diagonal(array, offset=offset).sum(-1)


def on_gpu(array: Any, target: device) -> Any:
    """An array of NumPy's or CuPy's on a CUDA device; without an index, on the current one.

    bfloat16, which CuPy does not have, raises TypeError.
    """
    cupy = importlib.import_module("cupy")
    if array.dtype.kind == "V" or array.dtype.name == "bfloat16":
        raise TypeError("CuPy has no bfloat16: convert the tensor with .to(float16) or .float() before moving it")
    with nullcontext() if target.index is None else cupy.cuda.Device(target.index):
        return cupy.asarray(array) if type(array) is numpy.ndarray else cupy.array(array, copy=True)


def on_host(array: Any) -> Any:
    """An array of CuPy's as one of NumPy's; waits until it is computed."""
    return array.get()


#: Functions that the standard lacks or words otherwise, and that CuPy has as NumPy does.
LIKE_NUMPY = frozenset(
    ("copy", "may_share_memory", "result_type", "sum", "prod", "cumsum", "cumprod", "where", "round", "logical_not")
    + ("logical_and", "logical_or", "logical_xor", "sort", "argsort", "argmax", "argmin", "abs", "argpartition")
    + ("partition",)
    + ("angle", "exp2", "ldexp", "cbrt", "fmax", "fmin", "fmod", "sinc", "logaddexp2")
)

#: Functions written for CuPy, by the names under which kernels use them.
OWN: dict[str, Callable[..., Any]] = {}


def enter(function: Callable[..., Any]) -> Callable[..., Any]:
    """Enter a function into the table."""
    OWN[function.__name__.rstrip("_")] = function
    return function


@enter
def along_axis(xp: Namespace, index: Any, axis: int) -> tuple[Any, ...]:
    """The index tuple that picks, along one axis, the places that `index` names (see numpy.take_along_axis)."""
    if not index.ndim:
        return (index,)
    grid = [xp.arange(n).reshape([n if j == i else 1 for j in range(index.ndim)]) for i, n in enumerate(index.shape)]
    return (*grid[:axis], index, *grid[axis + 1 :])


@enter
def getitem(xp: Namespace, array: Any, where: Any) -> Any:
    """The elements of an index."""
    return array[on_device(xp, where)]


@enter
def setitem(xp: Namespace, array: Any, where: Any, values: Any) -> None:
    """Write at an index."""
    array[on_device(xp, where)] = xp.as_array(values) if isinstance(values, numpy.ndarray) else values


def on_device(xp: Namespace, where: Any) -> Any:
    """An index with its arrays on the device."""
    if isinstance(where, tuple):
        return tuple(on_device(xp, each) for each in where)
    return xp.as_array(where) if isinstance(where, numpy.ndarray) else where


@enter
def combine(xp: Namespace, name: str, target: Any, where: Any, values: Any) -> None:
    """Write the result of a ufunc, of the elements at a basic index and values, to that index."""
    part = target[where]
    getattr(xp, name)(part, values, out=part)


#: The ufuncs that cupyx can apply with repeated indices.
SCATTERED = {"add": "scatter_add", "maximum": "scatter_max", "minimum": "scatter_min"}


@enter
def reduce_at(xp: Namespace, name: str, target: Any, where: Any, values: Any) -> None:
    """Reduce values into positions, which may repeat. Raises MissingFunction for products."""
    if name not in SCATTERED:
        raise MissingFunction(f"{name}.at")
    getattr(importlib.import_module("cupyx"), SCATTERED[name])(target, on_device(xp, where), values)


@enter
def add_at(xp: Namespace, target: Any, where: Any, values: Any) -> None:
    """Add values at positions, which may repeat."""
    xp.reduce_at("add", target, where, values)


@enter
def index_add(xp: Namespace, array: Any, where: Any, source: Any) -> Any:
    """A copy of `array` with `source` added at the places that `array[where]` picks; repeated places add up."""
    result = array.copy()
    xp.reduce_at("add", result, where, source)
    return result


@enter
def sum_at(xp: Namespace, shape: tuple[int, ...], where: tuple[Any, ...], values: Any) -> Any:
    """Zeros of `shape` with `values` added at the places that zeros[where] picks; repeated places add up."""
    result = xp.zeros(shape, values.dtype)
    xp.reduce_at("add", result, where, values)
    return result


@enter
def view_with_strides(
    xp: Namespace, array: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0
) -> Any:
    """A view of the memory that an array lies in; strides, and the offset from the array's start, count bytes.

    Raises RuntimeError if it would leave that memory.
    """
    owner = array if array.base is None else array.base
    start = array.data.ptr - owner.data.ptr + offset
    size = start + array.itemsize + sum((n - 1) * k for n, k in zip(shape, strides, strict=True))
    if 0 in shape:
        return xp.empty(shape, array.dtype)
    if start < 0 or size > owner.nbytes:
        raise out_of_bounds(shape, strides, start, array.itemsize, size, owner.nbytes)
    return xp.library.ndarray(shape, array.dtype, memptr=owner.data + start, strides=strides)


@enter
def as_strided(xp: Namespace, array: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> Any:
    """A strided view, with strides and offset in elements."""
    step = array.itemsize
    return xp.view_with_strides(array, shape, tuple(k * step for k in strides), offset * step)


@enter
def view_as(xp: Namespace, array: Any, dtype: Any) -> Any:
    """The memory of an array as elements of another type: a view, unless the last axis does not lie in one piece."""
    if array.dtype.itemsize != numpy.dtype(dtype).itemsize and array.strides[-1] != array.itemsize:
        array = xp.library.ascontiguousarray(array)
    return array.view(dtype)


@enter
def pairs(xp: Namespace, array: Any) -> Any:
    """Complex numbers as pairs of their parts, along a new last axis: a view."""
    return array[..., None].view(array.real.dtype)


@enter
def from_pairs(xp: Namespace, array: Any) -> Any:
    """The way back: a view, unless a pair does not lie in one piece."""
    return xp.view_as(array, xp.result_type(array.dtype, numpy.complex64))[..., 0]


@enter
def diagonal(xp: Namespace, array: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """A diagonal as a view, its places along the last axis."""
    return xp.library.diagonal(array, offset, axis1, axis2)


@enter
def with_diagonal(xp: Namespace, array: Any, values: Any, offset: int, axis1: int, axis2: int) -> Any:
    """The array, with values written along a diagonal of it."""
    xp.library.diagonal(array, offset, axis1, axis2)[...] = values
    return array


@enter
def vecdot(xp: Namespace, first: Any, second: Any, axis: int = -1) -> Any:
    """The sums of products along an axis, with the first factor conjugated."""
    return (first.conj() * second).sum(axis)


@enter
def normal_cdf(xp: Namespace, array: Any) -> Any:
    """The distribution function of the normal distribution."""
    return xp.special.ndtr(array)


@enter
def expm(xp: Namespace, a: Any) -> Any:
    """The exponentials of matrices; CuPy takes one matrix at a time."""
    function = importlib.import_module("cupyx.scipy.linalg").expm
    matrices = [function(each) for each in a.reshape(-1, *a.shape[-2:])]
    return xp.stack(matrices).reshape(a.shape) if matrices else a.copy()


@enter
def argsort(xp: Namespace, array: Any, axis: int = -1, **options: Any) -> Any:
    """The order of sorting; CuPy's is stable always."""
    return xp.library.argsort(array, axis)


@enter
def sort(xp: Namespace, array: Any, axis: int = -1, **options: Any) -> Any:
    """Sorted elements."""
    return xp.library.sort(array, axis)
