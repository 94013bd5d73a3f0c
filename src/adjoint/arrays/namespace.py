"""Which array library an array belongs to: a look-up by type, cached, behind it array-api-compat."""

from types import ModuleType
from typing import Any

import numpy

from adjoint.arrays.numpy_namespace import xp

_namespaces: dict[type, Any] = {numpy.ndarray: xp}

#: Types that follow the array API standard and are no raw arrays: Tensors.
_NO_ARRAYS: list[type] = []


def no_array(kind: type) -> None:
    """Name a type that is none of raw arrays, although it looks like one."""
    _NO_ARRAYS.append(kind)


def namespace(array: object) -> Any:
    """The namespace whose functions take this raw array; NumPy's for NumPy arrays and Python's and NumPy's scalars.

    >>> import numpy
    >>> namespace(numpy.zeros(3)).__name__
    'adjoint.arrays.numpy_namespace'
    """
    found = _namespaces.get(type(array))
    return found if found is not None else _find(array)


def register(kind: type, found: Any) -> None:
    """Name the namespace for arrays of a type of adjoint's own."""
    _namespaces[kind] = found


def underlying(array: Any) -> Any:
    """The values of all members of a batch together, where the array is batched; else the array itself."""
    return array if type(array) is numpy.ndarray else getattr(array, "underlying", array)


def in_batch_of(array: Any, model: Any) -> Any:
    """The array as one that is batched as `model` is, which may be another member of a batch each time."""
    if type(model) is numpy.ndarray:
        return array
    found = getattr(namespace(model), "in_batch_of", None)
    return array if found is None else found(array, model)


def is_lazy(array: Any) -> bool:
    """True for an array whose values are computed when they are asked for: dask's."""
    return type(array) is not numpy.ndarray and hasattr(array, "__dask_graph__")


def computed(array: Any) -> Any:
    """The array, computed if it is lazy; for what needs the values themselves."""
    return numpy.asarray(array.compute()) if is_lazy(array) else array


def is_array(value: object) -> bool:
    """True if the value is an array of a library that adjoint can work on (a NumPy scalar is not).

    >>> import numpy
    >>> is_array(numpy.zeros(3)), is_array([0.0])
    (True, False)
    """
    if type(value) in _namespaces:
        return not isinstance(value, (bool, int, float, complex, numpy.generic))
    return isinstance(value, numpy.ndarray) or _is_other_array(value)


def _is_other_array(value: object) -> bool:
    if not hasattr(value, "dtype") or isinstance(value, tuple(_NO_ARRAYS)):
        return False
    import array_api_compat

    return array_api_compat.is_array_api_obj(value) and not isinstance(value, numpy.generic)


def _find(array: object) -> ModuleType:
    if isinstance(array, (bool, int, float, complex, numpy.generic, numpy.ndarray)):
        found: Any = xp
    elif _is_other_array(array):
        import array_api_compat

        if array_api_compat.is_dask_array(array):
            from adjoint.arrays.dask_namespace import xp as found
        else:
            found = array_api_compat.array_namespace(array)
    else:
        raise TypeError(
            f"expected an array or a number, got {type(array).__name__}: {array!r:.80}; "
            "convert it with adjoint.tensor() or numpy.asarray() first"
        )
    _namespaces[type(array)] = found
    return found
