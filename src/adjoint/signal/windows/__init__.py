"""Window functions, symmetric unless asked, under torch.signal.windows's names."""

from adjoint.functions.binding import functions as _functions
from adjoint.runtime.lazy import LateAttributes as _LateAttributes

__all__ = sorted(_functions["signal.windows"].homes)
__getattr__ = _LateAttributes(__name__, tables=(_functions["signal.windows"],))
__dir__ = __getattr__.list_names
