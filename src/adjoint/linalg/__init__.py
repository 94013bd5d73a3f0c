"""Linear algebra: solving, decomposing, norms, under torch.linalg's names."""

from adjoint.functions.binding import functions as _functions
from adjoint.runtime.lazy import LateAttributes as _LateAttributes

__all__ = ["LinAlgError", *sorted(_functions["linalg"].homes)]
__getattr__ = _LateAttributes(
    __name__, {"LinAlgError": "adjoint.arrays.kernels.linalg.errors"}, tables=(_functions["linalg"],)
)
__dir__ = __getattr__.list_names
