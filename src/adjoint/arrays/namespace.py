"""The library of an array: array-api-compat finds it at first, then it is cached by type."""

import sys
from types import ModuleType
from typing import Any

import numpy

from adjoint.arrays.dtypes import from_numpy_dtype
from adjoint.arrays.kernels import scatter
from adjoint.arrays.kernels.products_and_sums import address_of
from adjoint.arrays.libraries.numpy_namespace import xp
from adjoint.arrays.size import CPU, device
from adjoint.runtime.caches import memoize

_namespaces: dict[type, Any] = {numpy.ndarray: xp}

#: Types that follow the array API standard and are no raw arrays: Tensors.
_NO_ARRAYS: list[type] = []


def no_array(kind: type) -> None:
    """Register a type that looks like a raw array and is none."""
    _NO_ARRAYS.append(kind)


def namespace(array: object) -> Any:
    """The namespace whose functions take this raw array; NumPy's for NumPy arrays and Python's and NumPy's scalars.

    >>> import numpy
    >>> namespace(numpy.zeros(3)).__name__
    'adjoint.arrays.libraries.numpy_namespace'
    """
    xp = _namespaces.get(type(array))
    return xp if xp is not None else _find(array)


def is_on_device(value: Any) -> bool:
    """True for one of CuPy's arrays."""
    cupy = sys.modules.get("cupy")
    return cupy is not None and type(value) is cupy.ndarray


def register(kind: type, xp: Any, holds_arrays: bool = False) -> None:
    """Register the namespace for arrays of one of adjoint's own types.

    holds_arrays: they hold arrays of other libraries. Beside such arrays, theirs is the namespace of an operation.
    """
    _namespaces[kind] = xp
    if holds_arrays:
        _HOLDERS.add(kind)


def native(function: Any, *args: Any) -> Any:
    """A function of NumPy's arrays, in C; None where it has no loop for them.

    Arrays that record operations on NumPy's arrays are called through their namespace; arrays of other libraries give
    None.
    """
    for value in args:
        value_namespace = _namespaces.get(type(value))
        if value_namespace is not None and value_namespace is not xp:
            call = getattr(value_namespace, "call_native", None)
            return None if call is None else call(function, *args)
    return function(*args)


_HOLDERS: set[type] = set()


def holds_arrays(array: Any) -> bool:
    """True for an array that holds arrays of other libraries, such as a batched one."""
    return type(array) in _HOLDERS


def underlying(array: Any) -> Any:
    """The values of all members of a batched array; other arrays are returned as they are."""
    return array if type(array) is numpy.ndarray else getattr(array, "underlying", array)


def in_memory(array: Any) -> Any:
    """The NumPy array over the memory of a recorded array; other arrays are returned unchanged."""
    return array if type(array) is numpy.ndarray else getattr(array, "in_memory", array)


def address(array: Any) -> int:
    """The address of an array's first element. Raises TypeError for an array without one, such as Dask's."""
    if isinstance(array, numpy.ndarray):
        return int(address_of(array))
    if has_address(array):
        return int(namespace(array).address(array))
    if not hasattr(array, "__array_interface__"):
        raise TypeError(
            f"arrays of {library_of(array)} have no address: call compute() or convert them to NumPy arrays first"
        )
    return int(array.__array_interface__["data"][0])


def has_address(array: Any) -> bool:
    """True for arrays with an address: NumPy's and CuPy's."""
    return isinstance(array, numpy.ndarray) or hasattr(namespace(array), "device_of")


def in_batch_of(array: Any, model: Any) -> Any:
    """The array, batched like `model`, so that each member of the batch may differ."""
    if type(model) is numpy.ndarray:
        return array
    batched_as = getattr(namespace(model), "in_batch_of", None)
    return array if batched_as is None else batched_as(array, model)


def astype(array: Any, dtype: Any) -> Any:
    """The array's values in another dtype, which is named as NumPy does; a new array."""
    method = getattr(array, "astype", None)
    return namespace(array).astype(array, dtype) if method is None else method(dtype)


def copy(array: Any) -> Any:
    """A copy of an array."""
    method = getattr(array, "copy", None)
    return namespace(array).copy(array) if method is None else method()


def row_major(array: Any) -> Any:
    """The array, row by row in memory, where its library lets one choose.

    >>> row_major(numpy.zeros((2, 3), order="F")).strides
    (24, 8)
    """
    flags = getattr(array, "flags", None)
    return array if flags is None or flags.c_contiguous else copy(array)


def laid_out_as(array: Any, model: Any) -> Any:
    """The array, with its axes in memory in the order of a dense model's, where its library lets one choose.

    >>> laid_out_as(numpy.zeros((2, 3)), numpy.zeros((2, 3), order="F")).strides
    (8, 16)
    """
    flags, strides = getattr(model, "flags", None), getattr(model, "strides", ())
    if flags is None or flags.c_contiguous or 0 in strides:
        return array
    xp, order = namespace(array), sorted(range(model.ndim), key=lambda axis: -abs(strides[axis]))
    memory = xp.empty(tuple([array.shape[axis] for axis in order]), dtype=array.dtype)
    result = xp.permute_dims(memory, tuple([order.index(axis) for axis in range(model.ndim)]))
    result[...] = array
    return result


def with_channels_as(array: Any, model: Any) -> Any:
    """The array, with its channels (axis 1) last in memory if they are in the model, images of two axes.

    >>> with_channels_as(numpy.zeros((1, 2, 3, 3)), numpy.zeros((1, 5, 5, 2)).transpose(0, 3, 1, 2)).strides
    (144, 8, 48, 16)
    """
    flags = getattr(model, "flags", None)
    if flags is None or flags.c_contiguous or model.ndim != 4:
        return array
    channels_last = namespace(model).moveaxis(model, 1, -1)
    return laid_out_as(array, model) if channels_last.flags.c_contiguous else array


def count_true(mask: Any) -> int:
    """The number of true elements of a mask."""
    if type(mask) is numpy.ndarray:
        return int(numpy.count_nonzero(mask))
    return int(mask.sum() if hasattr(mask, "sum") else namespace(mask).count_nonzero(mask))


def first_outside(indices: Any, least: int, n: int) -> int | None:
    """The first integer that is less than `least` or not less than n; None if there is none.

    None also for lazy arrays, which are not computed for this check; their use will raise the error.

    >>> import numpy
    >>> first_outside(numpy.array([0, 3, 1]), 0, 3), first_outside(numpy.array([0, 2]), 0, 3)
    (3, None)
    """
    if scatter.compiled and scatter.are_within(indices, least, n):
        return None
    if 0 in indices.shape or is_lazy(indices):
        return None
    xp = namespace(indices)
    are_within = getattr(xp, "are_within", None)
    if are_within(indices, least, n) if are_within else xp.min(indices) >= least and xp.max(indices) < n:
        return None
    return int(indices[(indices < least) | (indices >= n)][0] if indices.ndim else indices)


def has_views(array: Any) -> bool:
    """True for arrays whose slices are views: a write into a slice changes the array."""
    array = underlying(array)
    return type(array) is numpy.ndarray or getattr(namespace(array), "views", True)


def share_memory(first: Any, second: Any) -> bool:
    """True if values of one array's dtype may be written into the other array."""
    return first is second or (has_views(first) and bool(namespace(first).may_share_memory(first, second)))


def library_of(array: Any) -> str:
    """The name of an array's library, for messages."""
    return type(underlying(array)).__module__.split(".")[0]


def device_of(array: Any) -> device:
    """The device of an array: main memory, or a CUDA device.

    >>> import numpy
    >>> device_of(numpy.zeros(3))
    device(type='cpu')
    """
    array = underlying(array)
    method = None if type(array) is numpy.ndarray else getattr(namespace(array), "device_of", None)
    return CPU if method is None else method(array)


def on_device(array: Any, target: device) -> Any:
    """The array in main memory or on a CUDA device: itself where it lies there already."""
    moved_to = getattr(array, "moved_to", None)
    if moved_to is not None:
        return moved_to(target)
    if device_of(array) == target:
        return array
    from adjoint.arrays.libraries import cupy_namespace

    return cupy_namespace.on_host(array) if target.type == "cpu" else cupy_namespace.on_gpu(array, target)


def is_lazy(array: Any) -> bool:
    """True for an array whose values are computed on demand: dask's."""
    return type(array) is not numpy.ndarray and hasattr(array, "__dask_graph__")


def compute(array: Any) -> Any:
    """The array, computed if it is lazy; for code that needs its values."""
    return numpy.asarray(array.compute()) if is_lazy(array) else array


_NUMBERS = (bool, int, float, complex, numpy.generic)


def is_array(value: object) -> bool:
    """True if the value is an array of a library that adjoint can work on (a NumPy scalar is not).

    >>> import numpy
    >>> is_array(numpy.zeros(3)), is_array([0.0])
    (True, False)
    """
    kind = type(value)
    if kind is numpy.ndarray:
        return True
    if kind in _NO_ARRAYS or isinstance(value, _NUMBERS):
        # tensors and results without axes are frequent
        return False
    return kind in _namespaces or isinstance(value, numpy.ndarray) or _is_other_array(value)


def held_array(array: Any) -> Any:
    """An array as a tensor may hold it: a subclass of NumPy's arrays as the plain array that it is.

    PyTorch's tensors become NumPy's arrays over the same memory.

    Raises TypeError for types that tensors do not have, for masked arrays and for quantities with a unit, ValueError
    for another byte order.

    >>> import numpy
    >>> type(held_array(numpy.ones(2).view(numpy.recarray))).__name__
    'ndarray'
    """
    if isinstance(array, numpy.ndarray):
        from_numpy_dtype(array.dtype)
        if type(array) is numpy.ndarray:
            return array
        if isinstance(array, numpy.ma.MaskedArray):
            raise TypeError(
                "a tensor has no place for the mask of a numpy.ma.MaskedArray: give array.filled(value), or "
                "array.data and ~array.mask to a function of adjoint.masked"
            )
        if (unit := getattr(array, "unit", None) or getattr(array, "units", None)) is not None and str(unit):
            raise TypeError(
                f"a tensor has no place for the unit of a {type(array).__name__} in {unit}: give its plain value, "
                "array.value"
            )
        return numpy.asarray(array)
    return numpy.asarray(array) if is_of_torch(array) else array


def is_of_torch(array: Any) -> bool:
    """True for a PyTorch tensor, whose methods differ from an array's."""
    return any((cls.__module__, cls.__name__) == ("torch", "Tensor") for cls in type(array).__mro__)


#: The types that tracers of other libraries use for arrays, by module and class: it looks like one, and holds none.
_TRACED = (("autograd.tracer", "Box"), ("jax.core", "Tracer"))


def is_traced(value: object) -> bool:
    """True for an object that replaces an array while another library takes a derivative."""
    classes = [getattr(sys.modules.get(module), name, None) for module, name in _TRACED]
    return isinstance(value, tuple([cls for cls in classes if isinstance(cls, type)]))


def _is_other_array(value: object) -> bool:
    if not hasattr(value, "dtype") or isinstance(value, (type, *_NO_ARRAYS)) or is_traced(value):
        return False
    import array_api_compat

    return array_api_compat.is_array_api_obj(value) and not isinstance(value, numpy.generic)


@memoize()
def standard_namespace(library: Any) -> Any:
    """The namespace for a library that follows the standard."""
    from adjoint.arrays.libraries.standard_namespace import Namespace

    return Namespace(library)


def _find(array: object) -> ModuleType:
    if isinstance(array, (*_NUMBERS, numpy.ndarray)):
        result: Any = xp
    elif _is_other_array(array):
        import array_api_compat

        if array_api_compat.is_dask_array(array):
            from adjoint.arrays.libraries.dask_namespace import xp as result
        elif array_api_compat.is_cupy_array(array):
            from adjoint.arrays.libraries.cupy_namespace import Namespace

            result = Namespace()
        else:
            result = standard_namespace(array_api_compat.array_namespace(array))
    else:
        raise TypeError(
            f"expected an array or a number, got {type(array).__name__}: {array!r:.80}; "
            "convert it with adjoint.tensor() or numpy.asarray() first"
        )
    _namespaces[type(array)] = result
    return result  # type: ignore[no-any-return]
