"""Which array library an array belongs to: a look-up by type, cached, behind it array-api-compat."""

from types import ModuleType
from typing import Any

import numpy

from adjoint.arrays.numpy_namespace import xp

_namespaces: dict[type, Any] = {numpy.ndarray: xp}


def namespace(array: object) -> Any:
    """The namespace whose functions take this raw array; NumPy's for NumPy arrays and Python's and NumPy's scalars.

    >>> import numpy
    >>> namespace(numpy.zeros(3)).__name__
    'adjoint.arrays.numpy_namespace'
    """
    found = _namespaces.get(type(array))
    return found if found is not None else _find(array)


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
    if not hasattr(value, "dtype"):
        return False
    import array_api_compat

    return array_api_compat.is_array_api_obj(value) and not isinstance(value, numpy.generic)


def _find(array: object) -> ModuleType:
    if isinstance(array, (bool, int, float, complex, numpy.generic, numpy.ndarray)):
        found: Any = xp
    elif _is_other_array(array):
        import array_api_compat

        found = array_api_compat.array_namespace(array)
    else:
        raise TypeError(
            f"expected an array or a number, got {type(array).__name__}: {array!r:.80}; "
            "convert it with adjoint.tensor() or numpy.asarray() first"
        )
    _namespaces[type(array)] = found
    return found
