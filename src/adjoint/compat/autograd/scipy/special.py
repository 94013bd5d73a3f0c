"""scipy.special, whose functions also take boxes."""

import scipy.special as _special

from adjoint.compat.autograd.scipy._namespace import wrap_namespace as _wrap_namespace

_wrap_namespace(_special, globals())
