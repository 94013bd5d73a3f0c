"""Sums, products, extrema, means and their kin."""

from __future__ import annotations

from typing import Any

import numpy

from adjoint.interop import ufuncs
from adjoint.interop.declare import Array, function

_NONE: Any = numpy._NoValue


@function("sum")
def sum(a: Array, axis=None, dtype=None, out=None, keepdims=False, initial=_NONE, where=True):
    return ufuncs.reduce(numpy.add, a, axis, dtype, None, keepdims, initial, where)
