"""numpy.fft itself, whose functions hand Tensors on to adjoint's."""

import numpy.fft as _fft

globals().update({name: getattr(_fft, name) for name in _fft.__all__})
__all__ = list(_fft.__all__)
