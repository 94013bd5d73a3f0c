"""The table of NumPy's functions over Tensors, filled."""

from adjoint.interop.declare import FUNCTIONS as FUNCTIONS
from adjoint.interop.functions import load

load()
