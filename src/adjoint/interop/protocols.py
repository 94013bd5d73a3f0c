"""NumPy's protocols: NumPy's ufuncs and functions with Tensors among their arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy

from adjoint.arrays.dtypes import from_numpy_dtype
from adjoint.arrays.namespace import is_array
from adjoint.core.graph import TensorBase, new_tensor
from adjoint.interop.dlpack import dlpack, dlpack_device
from adjoint.interop.functions import load
from adjoint.interop.numpy_functions import FUNCTIONS, WHOLE
from adjoint.interop.operands import is_tensor, is_tracked, map_instances, tensors_in, values_of
from adjoint.interop.reasons import DISCRETE, NoDerivativeError
from adjoint.interop.ufuncs import METHODS, QUICK, UFUNCS

load()

_ndarray = numpy.ndarray
#: Versions of the array API standard that the namespace follows.
_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
_QUICK_KINDS = (numpy.dtype("float32"), numpy.dtype("float64"))


def numpy_name(function: Callable[..., Any]) -> str:
    """The qualified name of a NumPy function, without the leading `numpy.`

    >>> numpy_name(numpy.linalg.norm), numpy_name(numpy.sum)
    ('linalg.norm', 'sum')
    """
    module = function.__module__.removeprefix("numpy").removeprefix(".")
    return f"{module}.{function.__name__}" if module else function.__name__


#: NumPy's functions themselves, and the replacement of each.
_BY_FUNCTION: dict[Callable[..., Any], Callable[..., Any]] = {}


def _register() -> None:
    for name, implementation in FUNCTIONS.items():
        if name.startswith("polynomial."):
            continue  # NumPy imports it when it is first used
        function: Any = numpy
        for part in name.split("."):
            function = getattr(function, part, None)
        if function is not None:
            _BY_FUNCTION[function] = implementation


_register()


def array_ufunc(ufunc: numpy.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of Tensor.__array_ufunc__.

    Raises TypeError for a ufunc without a derivative if an operand is a Tensor that requires grad.
    """
    if not kwargs and method == "__call__" and ufunc in QUICK:
        values = _all_of_one_kind(inputs, QUICK[ufunc].rule.scalars)
        if values is not None:
            return QUICK[ufunc](*values)
    if not _all_known((*inputs, *_outs(kwargs)), "__array_ufunc__"):
        return NotImplemented
    if _is_known(ufunc):
        return METHODS[method](ufunc, *inputs, **kwargs)
    return _on_arrays(f"numpy.ufunc {ufunc.__name__}", getattr(ufunc, method), inputs, kwargs)


def _is_known(ufunc: numpy.ufunc) -> bool:
    """True for a ufunc in the table, which scipy.special's enter when the first of them is called."""
    special = sys.modules.get("scipy.special")
    if ufunc not in UFUNCS and special is not None and getattr(special, ufunc.__name__, None) is ufunc:
        from adjoint.interop import scipy_functions

        scipy_functions.load()
    return ufunc in UFUNCS


def _all_of_one_kind(inputs: tuple[Any, ...], scalars: bool) -> list[Any] | None:
    """The inputs as Tensors, if all arrays have the same floating point dtype; else None.

    scalars: Python numbers may be among them.
    """
    kind = None
    values: list[Any] = []
    for value in inputs:
        if is_tensor(value):
            array = value._array
        elif type(value) is _ndarray:
            array, value = value, new_tensor(value)
        elif scalars and (type(value) is float or type(value) is int):
            values.append(value)
            continue
        else:
            return None
        if type(array) is not _ndarray or array.dtype not in _QUICK_KINDS or (kind is not None and array.dtype != kind):
            return None
        kind = array.dtype
        values.append(value)
    return values if kind is not None else None


def _outs(kwargs: dict[str, Any]) -> tuple[Any, ...]:
    out = kwargs.get("out", ())
    return out if isinstance(out, tuple) else (out,)


def _all_known(values: Iterable[Any], protocol: str) -> bool:
    """False if a value of a library that we do not know follows the protocol itself."""
    for value in values:
        if is_tensor(value) or type(value) is _ndarray or not hasattr(value, protocol):
            continue
        if not is_array(value) and not isinstance(value, numpy.generic):
            return False
    return True


def array_function(function: Callable[..., Any], types: Iterable[type], args: Any, kwargs: dict[str, Any]) -> Any:
    """The result of Tensor.__array_function__.

    Raises TypeError for a function without a derivative that is given a Tensor that requires grad.
    """
    if any(not issubclass(t, (TensorBase, _ndarray)) and not _is_array_type(t) for t in types):
        return NotImplemented
    if not kwargs and len(args) == 1 and function in WHOLE and is_tensor(args[0]):
        array = args[0]._array
        if type(array) is _ndarray and array.size and array.dtype in _QUICK_KINDS:
            return WHOLE[function](args[0])
    implementation = _BY_FUNCTION.get(function) or FUNCTIONS.get(numpy_name(function))
    if implementation is not None:
        return implementation(*args, **kwargs)
    return _on_arrays(numpy_name(function), function, args, kwargs)


def _is_array_type(kind: type) -> bool:
    return hasattr(kind, "dtype") and hasattr(kind, "shape")


def _on_arrays(name: str, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Run a function on the raw arrays. Raises TypeError if derivatives are being taken and would be lost."""
    tensors = [*tensors_in(args), *tensors_in(kwargs)]
    tracked = any(is_tracked(tensor) for tensor in tensors)
    if tracked and name not in DISCRETE:
        raise NoDerivativeError(name)
    args, kwargs = (map_instances(values_of, TensorBase, value) for value in (args, kwargs))
    result = map_instances(_wrap, _ndarray, function(*args, **kwargs))
    if tracked and any(t._array.dtype.kind in "fcV" for t in tensors_in(result)):
        raise NoDerivativeError(name)
    return result


def _wrap(array: Any) -> Any:
    """An array that a function gave, as a Tensor if there are Tensors of its dtype."""
    try:
        from_numpy_dtype(array.dtype)
    except (TypeError, ValueError):
        return array
    return new_tensor(array)


def array_namespace(api_version: str | None = None) -> Any:
    """The result of Tensor.__array_namespace__. Raises ValueError for an unsupported version of the standard."""
    from adjoint.interop import array_api

    if api_version is not None and api_version not in _VERSIONS:
        raise ValueError(f"the array API standard {api_version!r} is not supported; {', '.join(_VERSIONS)} are")
    return array_api


def sparse_matmul(array: Any, matrix: Any, is_reflected: bool) -> Any:
    """The product of a Tensor or differentiable array and a sparse array of SciPy's; reflected: that stands first."""
    from adjoint.interop.sparse.matrix import operand_of

    operand = operand_of(matrix)
    return operand @ array if is_reflected else operand.__rmatmul__(array)


def answers() -> dict[str, Callable[..., Any]]:
    """The function that answers each protocol."""
    return {
        "array_ufunc": array_ufunc,
        "sparse_matmul": sparse_matmul,
        "array_function": array_function,
        "array_namespace": array_namespace,
        "dlpack": dlpack,
        "dlpack_device": dlpack_device,
    }
