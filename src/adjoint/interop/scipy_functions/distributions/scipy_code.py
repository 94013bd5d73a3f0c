"""Runs SciPy's own code of standard forms on Arrays, and says where that is impossible.

SciPy defines `_logpdf`, `_cdf` and so on for a place and shape parameters of one size, without location and scale. Most
of this code uses NumPy and scipy.special, which support Arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from adjoint.interop.operands import is_tensor
from adjoint.interop.scipy_functions.distributions.arrays import to_array, to_tensor
from adjoint.interop.scipy_functions.pieces import plain, shape_of
from adjoint.tensor.table import ops

Formula = Callable[..., Any]


def defines(of_scipy: Any, method: str) -> bool:
    """True if SciPy has special code for a method of this distribution, beside the generic code."""
    for kind in type(of_scipy).__mro__:
        if method in vars(kind):
            return not kind.__module__.endswith("_distn_infrastructure")
    return False


def over_tensors(of_scipy: Any, method: str) -> Formula:
    """SciPy's code for a method, over Tensors."""
    function = getattr(of_scipy, method)

    def formula(*tensors: Any) -> Any:
        shape = shape_of(tensors)
        with numpy.errstate(all="ignore"):
            return to_tensor(function(*[to_array(ops.expand(tensor, shape)) for tensor in tensors]))

    return formula


def values(of_scipy: Any, method: str, *tensors: Any) -> Any:
    """The results of SciPy's code for the values of Tensors."""
    arrays = [numpy.asarray(plain(t) if is_tensor(t) else t, float) for t in tensors]
    flat = numpy.broadcast_arrays(*arrays)
    with numpy.errstate(all="ignore"):
        result = getattr(of_scipy, method)(*[array.ravel() for array in flat])
    return numpy.broadcast_to(result, flat[0].size).reshape(flat[0].shape)
