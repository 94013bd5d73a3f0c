"""numpy.linalg itself, whose functions hand Tensors on to adjoint's."""

import numpy.linalg as _linalg

globals().update({name: getattr(_linalg, name) for name in _linalg.__all__})
__all__ = list(_linalg.__all__)
