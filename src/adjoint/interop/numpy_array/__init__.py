"""`adjoint.numpy.Array`: a differentiable array with NumPy's meaning of everything.

`base` has the common part of such arrays, and `array` the class. `operators` gives it ndarray's operators and methods.
`calls` runs NumPy's functions on arrays. `writes` and `indexing` assign to elements. `passing` lets functions that
adjoint differentiates take arrays and numbers.
"""

from adjoint.interop.numpy_array import operators as _operators
