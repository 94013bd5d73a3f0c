"""Functions of single elements: NumPy's ufuncs under the standard's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from adjoint.interop import ufuncs
from adjoint.interop.operands import cast, kind_of, tensor_of
from adjoint.interop.table import FUNCTIONS

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

_SAME = [
    "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_invert",
    "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "ceil", "conj", "copysign", "cos",
    "cosh", "divide", "equal", "exp", "expm1", "floor", "floor_divide", "greater", "greater_equal", "hypot",
    "isfinite", "isinf", "isnan", "less", "less_equal", "log", "log10", "log1p", "log2", "logaddexp",
    "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative",
    "nextafter", "not_equal", "positive", "pow", "reciprocal", "remainder", "sign", "signbit", "sin", "sinh",
    "sqrt", "square", "subtract", "tan", "tanh", "trunc", "abs",
]  # fmt: skip


def _function(name: str) -> Any:
    ufunc = getattr(numpy, name)

    def unary(x: Tensor, /) -> Tensor:
        return ufuncs.call(ufunc, tensor_of(x))

    def binary(x1: Any, x2: Any, /) -> Tensor:
        return ufuncs.call(ufunc, x1, x2)

    function = unary if ufunc.nin == 1 else binary
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"numpy.{ufunc.__name__}, elementwise."
    return function


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """Values below min raised to it and above max lowered to it, in the dtype of x."""
    x = tensor_of(x)
    return cast(FUNCTIONS["clip"](x, min, max), kind_of(x))


def imag(x: Tensor, /) -> Tensor:
    """The imaginary part of a complex Tensor."""
    return FUNCTIONS["imag"](x)


def real(x: Tensor, /) -> Tensor:
    """The real part of a complex Tensor."""
    return FUNCTIONS["real"](x)


def round(x: Tensor, /) -> Tensor:
    """The nearest whole number, an even one halfway between two."""
    return ufuncs.call(numpy.rint, x) if kind_of(x).kind in "fc" else x.clone()


globals().update({_name: _function(_name) for _name in _SAME})
ELEMENTWISE = (*sorted(_SAME), "clip", "imag", "real", "round")
__all__ = list(ELEMENTWISE)
