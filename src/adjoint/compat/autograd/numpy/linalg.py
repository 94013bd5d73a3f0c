"""numpy.linalg, whose functions also take boxes."""

import numpy.linalg as _linalg

from adjoint.compat.autograd.numpy._namespace import wrap_namespace as _wrap_namespace

_wrap_namespace(_linalg, globals())
