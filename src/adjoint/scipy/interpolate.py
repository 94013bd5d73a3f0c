"""scipy.interpolate, whose interpolants also take Tensors: data, nodes and evaluation points have derivatives."""

from typing import Any as _Any

import scipy.interpolate as _interpolate

from adjoint.core.operations.naming import known_by as _known_by
from adjoint.interop.namespaces import public_names as _public_names
from adjoint.interop.scipy_functions.interpolation.face import functions as _functions

globals().update(_public_names("scipy.interpolate.", _interpolate))
globals().update({name: _known_by(function, __name__, name) for name, function in _functions(_interpolate).items()})

__all__ = list(_interpolate.__all__)


def __getattr__(name: str) -> _Any:
    return getattr(_interpolate, name)
