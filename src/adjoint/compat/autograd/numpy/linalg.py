"""numpy.linalg, whose functions also take boxes."""

from typing import Any as _Any

import numpy as _numpy
import numpy.linalg as _linalg

from adjoint.compat.autograd import _boxes
from adjoint.compat.autograd._nodes import trace_primitives_map as _primitives
from adjoint.compat.autograd._primitives import make_primitive as _make_primitive
from adjoint.compat.autograd.numpy._namespace import wrap_namespace as _wrap_namespace

_primitive_eigh, _primitive_eigvalsh = _make_primitive(_linalg.eigh), _make_primitive(_linalg.eigvalsh)

_wrap_namespace(_linalg, globals())


def T(x: _Any) -> _Any:
    """The transposes of the matrices in the last two axes.

    x: an array of shape (..., m, n). The result has shape (..., n, m).
    """
    return _primitives[_numpy.swapaxes](x, -1, -2)


def _dot(a: _Any, b: _Any) -> _Any:
    """The products of the matrices in the last two axes."""
    return _primitives[_numpy.einsum]("...ij,...jk->...ik", a, b)


def _triangle(a: _Any, UPLO: str) -> _Any:
    """The Hermitian matrices that NumPy sees, of which it reads one triangle."""
    if not _boxes.holds_box(a):
        return a
    a = _boxes.dispatch(_numpy.asarray, (a,), {})
    triangle, other = (_numpy.tril, -1) if UPLO.upper() == "L" else (_numpy.triu, 1)
    diagonal = _numpy.eye(a.shape[-1]) * _numpy.real(a)
    strict = triangle(a, other)
    return strict + _numpy.conj(_numpy.swapaxes(strict, -1, -2)) + diagonal


def eigh(a: _Any, UPLO: str = "L") -> _Any:
    """numpy.linalg.eigh, whose derivative is by the triangle that is read.

    a: Hermitian matrices (..., n, n). UPLO: "L" for the lower triangle, "U" for the upper one.
    """
    return _primitive_eigh(_triangle(a, UPLO), UPLO)


def eigvalsh(a: _Any, UPLO: str = "L") -> _Any:
    """numpy.linalg.eigvalsh, whose derivative is by the triangle that is read.

    a: Hermitian matrices (..., n, n). UPLO: "L" for the lower triangle, "U" for the upper one.
    """
    return _primitive_eigvalsh(_triangle(a, UPLO), UPLO)
