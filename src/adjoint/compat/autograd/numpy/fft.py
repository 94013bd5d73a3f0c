"""numpy.fft, whose functions also take boxes."""

import numpy.fft as _fft

from adjoint.compat.autograd.numpy._namespace import wrap_namespace as _wrap_namespace

_wrap_namespace(_fft, globals())
