"""Operators and methods of differentiable arrays, each by NumPy's function of the same meaning."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy

from adjoint.core.graph import TensorBase, new_tensor
from adjoint.interop.numpy_array.array import NumpyArray
from adjoint.interop.numpy_array.base import ArrayHolder
from adjoint.interop.numpy_array.calls import dispatch, run_ufunc
from adjoint.interop.numpy_array.writes import Memory, to_read
from adjoint.tensor.protocol_hooks import protocols

Function = Callable[..., Any]
_ndarray = numpy.ndarray

#: Methods that are functions of NumPy with the array in front.
METHODS = (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "choose", "clip", "cumprod", "cumsum", "diagonal",
    "dot", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat", "round", "searchsorted", "std", "sum",
    "swapaxes", "take", "trace", "var",
)  # fmt: skip

#: Operators by the ufunc that they are.
BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "power", "mod": "remainder",
    "matmul": "matmul", "floordiv": "floor_divide", "divmod": "divmod",
}  # fmt: skip
UNARY = {"neg": "negative", "pos": "positive", "abs": "absolute"}
COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}

#: Operators that Tensors of one dtype compute directly; operators that save no operand, or none beside a number.
DIRECT = ("add", "sub", "mul", "truediv")
SAVE_NOTHING, SAVE_NO_NUMBER = ("add", "sub"), ("add", "sub", "mul", "truediv")


def is_foreign(value: Any) -> bool:
    """True for an operand, such as a Tensor, whose own operator must run."""
    foreign = value is None or isinstance(value, (str, bytes, dict, set, TensorBase))
    return foreign or getattr(value, "__array_ufunc__", 0) is None


def _direct(name: str, ufunc: numpy.ufunc) -> Function:
    """The operator of Tensors of one dtype; NumPy's remainder, power and product keep rules of their own."""
    if name in DIRECT:
        return getattr(operator, name)
    return lambda a, b: protocols.array_ufunc(ufunc, "__call__", (a, b), {})


def _binary(name: str, ufunc: numpy.ufunc) -> None:
    """Give arrays an operator, its reflection and its form in place."""
    direct, fast = _direct(name, ufunc), name not in ("floordiv", "divmod")
    saves, saves_by_number = name not in SAVE_NOTHING, name not in SAVE_NO_NUMBER

    def forward(self: NumpyArray, other: Any) -> Any:
        kind = type(other)
        if not fast:
            pass
        elif kind is type(self):
            if self._tensor._array.dtype == other._tensor._array.dtype:
                if saves and Memory.exists:
                    return self._wrap(direct(to_read(self), to_read(other)))
                return self._wrap(direct(self._tensor, other._tensor))
        elif kind is float:
            return self._wrap(direct(to_read(self) if saves_by_number and Memory.exists else self._tensor, other))
        elif kind is _ndarray and other.dtype == self._tensor._array.dtype and other.dtype.kind in "fc":
            return self._wrap(direct(to_read(self) if saves and Memory.exists else self._tensor, new_tensor(other)))
        if is_foreign(other):
            return NotImplemented
        return run_ufunc(type(self), ufunc, "__call__", (self, other), {})

    def reflect(self: NumpyArray, other: Any) -> Any:
        if fast and type(other) is float:
            return self._wrap(direct(other, to_read(self) if saves and Memory.exists else self._tensor))
        if is_foreign(other):
            return NotImplemented
        return run_ufunc(type(self), ufunc, "__call__", (other, self), {})

    def in_place(self: NumpyArray, other: Any) -> Any:
        if self._is_replaced():
            return NotImplemented
        self._prepare_write()
        result = run_ufunc(type(self), ufunc, "__call__", (self, other), {})
        if not numpy.can_cast(result.dtype, self.dtype, "same_kind"):
            raise TypeError(
                f"Cannot cast ufunc '{ufunc.__name__}' output from {result.dtype!r} to {self.dtype!r} with casting "
                "rule 'same_kind'"
            )
        if result.shape != self.shape:
            raise ValueError(
                f"non-broadcastable output operand with shape {self.shape} doesn't match the broadcast shape "
                f"{result.shape}"
            )
        self[...] = result
        return self

    forms = {f"__{name}__": forward, f"__r{name}__": reflect}
    if name != "divmod":
        forms[f"__i{name}__"] = in_place
    for known_as, form in forms.items():
        form.__name__ = form.__qualname__ = known_as
        setattr(NumpyArray, known_as, form)


def _comparison(plain: Function, ufunc: numpy.ufunc) -> Function:
    def compare(self: NumpyArray, other: Any) -> Any:
        array = self._tensor._array
        if type(array) is _ndarray:
            if other is None or isinstance(other, (str, bytes)):
                return plain(array[()], other)
            if type(other) in (float, int, _ndarray, numpy.float64):
                return ufunc(array[()], other)
            if isinstance(other, ArrayHolder):
                return ufunc(array[()], other._tensor._array[()])
        if is_foreign(other):
            return NotImplemented
        return run_ufunc(type(self), ufunc, "__call__", (self, other), {})

    return compare


def _with_sparse(product: Function, is_reflected: bool) -> Function:
    """A matrix product that takes sparse arrays of SciPy's, too."""

    def multiply(self: NumpyArray, other: Any) -> Any:
        if hasattr(other, "tocoo"):
            return protocols.sparse_matmul(self, other, is_reflected)
        return product(self, other)

    return multiply


def _unary(ufunc: numpy.ufunc) -> Function:
    return lambda self: run_ufunc(type(self), ufunc, "__call__", (self,), {})


def _method(function: Function) -> Function:
    def method(self: NumpyArray, *args: Any, **kwargs: Any) -> Any:
        return dispatch(type(self), function, (self, *args), kwargs)

    method.__name__ = function.__name__
    method.__qualname__ = f"Array.{function.__name__}"
    method.__doc__ = f"numpy.{function.__name__} of this array."
    return method


def _define() -> None:
    for name, ufunc in BINARY.items():
        _binary(name, getattr(numpy, ufunc))
    for name, ufunc in COMPARISONS.items():
        setattr(NumpyArray, f"__{name}__", _comparison(getattr(operator, name), getattr(numpy, ufunc)))
    for name, ufunc in UNARY.items():
        setattr(NumpyArray, f"__{name}__", _unary(getattr(numpy, ufunc)))
    for name, is_reflected in (("__matmul__", False), ("__rmatmul__", True)):
        setattr(NumpyArray, name, _with_sparse(getattr(NumpyArray, name), is_reflected))
    for name in METHODS:
        setattr(NumpyArray, name, _method(getattr(numpy, name)))


_define()
