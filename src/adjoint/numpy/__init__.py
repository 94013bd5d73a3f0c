"""NumPy's names for code that is differentiated: `from adjoint import numpy as np`.

Everything here is numpy's own: its functions hand Arrays and Tensors on to adjoint's, and plain arrays stay plain,
computed by NumPy at its speed. What differs are the functions that make arrays of data. If there are Arrays or Tensors
in the data, these make Arrays or Tensors, which keep the history:

>>> import adjoint
>>> from adjoint import numpy as np
>>> def rotated(angle):
...     c, s = np.cos(angle), np.sin(angle)
...     return np.array([[c, -s], [s, c]]) @ np.array([1.0, 2.0])
>>> adjoint.jacobian(rotated)(0.0)
array([-2.,  1.])
>>> np.array([1.0, 2.0])
array([1., 2.])

`Array` is the class of what functions under differentiation get for arrays and numbers; `detach` takes its values out
as constants.
"""

import sys as _sys
from typing import Any as _Any

import numpy as _numpy

from adjoint.core.graph import TensorBase as _TensorBase
from adjoint.core.operations.naming import known_by as _known_by
from adjoint.interop import protocols as _protocols
from adjoint.interop.namespaces import for_both as _for_both
from adjoint.interop.numpy_array.array import NAMESPACES as _NAMESPACES
from adjoint.interop.numpy_array.array import Array
from adjoint.interop.numpy_array.base import values as _values
from adjoint.interop.numpy_array.calls import for_arrays as _for_arrays
from adjoint.interop.numpy_array.calls import for_objects as _for_objects
from adjoint.interop.numpy_functions import FUNCTIONS as _FUNCTIONS

globals().update({name: getattr(_numpy, name) for name in _numpy.__all__})

#: Functions whose arguments are data in which there may be Arrays or Tensors, which NumPy does not look for there.
_OF_DATA = ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "require")
_OF_A_VALUE = ("full", "full_like")


def _maker(name: str) -> _Any:
    function = getattr(_numpy, name)
    call = _for_arrays(Array, function, _for_both(function, _FUNCTIONS[name]))
    return _known_by(_for_objects(call) if name in _OF_DATA else call, __name__, name)


globals().update({name: _maker(name) for name in (*_OF_DATA, *_OF_A_VALUE)})


def detach(x: _Any) -> _Any:
    """The values of an Array as a plain array, through which no derivative is taken.

    Args:
        x: an Array or a Tensor, or nested lists, tuples and dictionaries of these. Anything else stays as it is.

    >>> import adjoint, numpy
    >>> adjoint.grad(lambda x: x * adjoint.numpy.detach(x))(3.0)
    np.float64(3.0)
    """
    return x.detach() if isinstance(x, _TensorBase) else _values(x)  # type: ignore[attr-defined]


__all__ = sorted({*_numpy.__all__, "Array", "detach"})
_NAMESPACES.append(_sys.modules[__name__])


def __getattr__(name: str) -> _Any:
    return getattr(_numpy, name)
