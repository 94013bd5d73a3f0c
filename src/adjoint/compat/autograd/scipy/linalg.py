"""scipy.linalg, whose functions also take boxes."""

import scipy.linalg as _linalg

from adjoint.compat.autograd.scipy._namespace import wrap_namespace as _wrap_namespace

_wrap_namespace(_linalg, globals())
