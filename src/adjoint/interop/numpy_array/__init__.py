"""`adjoint.numpy.Array`: a differentiable array with NumPy's meaning of everything.

`base` holds what all such arrays have in common, `calls` runs NumPy's functions on them, `writes` and `indexing` assign
to elements, `array` has the class, `operators` gives it ndarray's operators and methods, and `passing` lets functions
that adjoint differentiates take arrays and numbers.
"""

from adjoint.interop.numpy_array import operators as _operators
