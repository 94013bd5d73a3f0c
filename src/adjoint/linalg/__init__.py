"""Linear algebra: solving, decomposing, norms, under torch.linalg's names."""

from adjoint.arrays.kernels.linalg_errors import LinAlgError
from adjoint.functions.binding import functions as _functions

globals().update(_functions["linalg"])
__all__ = ["LinAlgError", *sorted(_functions["linalg"])]
