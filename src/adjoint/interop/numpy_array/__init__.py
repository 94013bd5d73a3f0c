"""`adjoint.numpy.Array`: a differentiable array with NumPy's meaning of everything.

`base` is what all such arrays have; `calls` runs NumPy's functions on them; `writes` and `indexing` are what writing to
elements needs; `array` is the class; `operators` gives it ndarray's operators and methods; `passing` lets functions that
adjoint differentiates take arrays and numbers.
"""

from adjoint.interop.numpy_array import operators as _operators
