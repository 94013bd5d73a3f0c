"""How namespaces are filled, and NumPy's names once more."""

from adjoint.compat.autograd import numpy as _numpy

globals().update({name: value for name, value in vars(_numpy).items() if not name.startswith("_")})
