"""The table of NumPy's functions over Tensors, filled."""

from adjoint.interop.functions import load
from adjoint.interop.numpy_functions import FUNCTIONS as FUNCTIONS

load()
