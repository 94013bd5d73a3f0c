"""NumPy's names for code that Tensors may come into: `from adjoint import numpy as np`.

Everything here is numpy's own: its functions hand Tensors on to adjoint's, and arrays stay arrays, computed by NumPy
at its speed. What differs are the functions that make arrays of data. If there are Tensors in the data, these make
Tensors, which keep the history:

>>> import adjoint
>>> from adjoint import numpy as np
>>> x = adjoint.tensor(2.0, dtype=adjoint.float64, requires_grad=True)
>>> np.array([[x, 1.0], [0.0, x * x]]).trace()
tensor(6., dtype=adjoint.float64, grad_fn=<TraceBackward0>)
>>> np.array([1.0, 2.0])
array([1., 2.])
"""

from __future__ import annotations

from typing import Any as _Any

import numpy as _numpy

from adjoint.core.operations.naming import known_by as _known_by
from adjoint.interop import protocols as _protocols
from adjoint.interop.namespaces import for_both as _for_both
from adjoint.interop.numpy_functions import FUNCTIONS as _FUNCTIONS

globals().update({name: getattr(_numpy, name) for name in _numpy.__all__})

#: Functions whose arguments are data in which there may be Tensors, which NumPy does not look for there.
_MAKERS = ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "require", "full")
globals().update(
    {name: _known_by(_for_both(getattr(_numpy, name), _FUNCTIONS[name]), __name__, name) for name in _MAKERS}
)

__all__ = list(_numpy.__all__)


def __getattr__(name: str) -> _Any:
    return getattr(_numpy, name)
