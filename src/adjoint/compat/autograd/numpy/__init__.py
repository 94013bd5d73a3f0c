"""NumPy for functions that are to be differentiated: every name of numpy, whose functions also take boxes."""

import sys as _sys
from importlib import import_module as _import_module
from typing import Any as _Any

import numpy as _numpy

from adjoint.compat.autograd._boxes import NAMESPACES as _NAMESPACES
from adjoint.compat.autograd.numpy._namespace import wrap_namespace as _wrap_namespace

_wrap_namespace(_numpy, globals())

#: Names that older versions of NumPy had, which dependents still use.
_OLDER = {
    "alltrue": "all", "asfarray": "asarray", "bool8": "bool_", "cfloat": "complex128", "complex_": "complex128",
    "cumproduct": "cumprod", "float_": "float64", "in1d": "isin", "Inf": "inf", "Infinity": "inf", "infty": "inf",
    "longfloat": "longdouble", "NaN": "nan", "NINF": "-inf", "product": "prod", "PINF": "inf", "round_": "round",
    "row_stack": "vstack", "singlecomplex": "complex64", "sometrue": "any", "trapz": "trapezoid", "unicode_": "str_",
}  # fmt: skip
for _old, _name in _OLDER.items():
    globals()[_old] = -_numpy.inf if _name == "-inf" else globals()[_name]

from adjoint.compat.autograd.numpy import linalg, numpy_boxes, numpy_vspaces, random  # noqa: E402
from adjoint.compat.autograd.numpy._own import c_, int8, int16, int32, int64, r_, where  # noqa: E402
from adjoint.compat.autograd.numpy.numpy_boxes import ArrayBox, Box  # noqa: E402

_NAMESPACES.append(_sys.modules[__name__])


def metadata(A: _Any) -> tuple[tuple[int, ...], int, _numpy.dtype[_Any], bool]:
    """Shape, number of axes and dtype of a value, and whether the dtype is complex.

    A: a number, an array or a box.
    """
    value = A if isinstance(A, ArrayBox) else _numpy.asarray(A)
    return value.shape, value.ndim, value.dtype, value.dtype.kind == "c"


def make_diagonal(D: _Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> _Any:
    """Matrices with the rows of D as diagonals.

    D: an array (..., n). The result has shape (..., n, n). axis1 and axis2 name its last two axes, as (0, 1) or
    (-1, -2). Raises NotImplementedError for others and for an offset.
    """
    if (axis1, axis2) not in ((0, 1), (-1, -2)) or offset:
        raise NotImplementedError("Currently make_diagonal only supports offset=0, axis1=-1 or 0 and axis2=-2 or 1")
    n = D.shape[-1]
    return D[..., None] * _numpy.eye(n)


def __getattr__(name: str) -> _Any:
    # submodules of NumPy, and attributes that it creates on demand
    return _import_module(f"{__name__}.{name}") if name == "fft" else getattr(_numpy, name)
