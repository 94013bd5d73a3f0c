"""scipy.interpolate, whose interpolants also take Tensors: data, nodes and places have derivatives."""

from typing import Any as _Any

import scipy.interpolate as _interpolate

from adjoint.core.operations.naming import known_by as _known_by
from adjoint.interop.scipy_functions.interpolation.face import functions as _functions

globals().update({name: getattr(_interpolate, name) for name in _interpolate.__all__})
globals().update({name: _known_by(function, __name__, name) for name, function in _functions(_interpolate).items()})

__all__ = list(_interpolate.__all__)


def __getattr__(name: str) -> _Any:
    return getattr(_interpolate, name)
