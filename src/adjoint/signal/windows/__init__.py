"""Window functions, symmetric unless asked, under torch.signal.windows's names."""

from adjoint.functions.binding import functions as _functions

globals().update(_functions["signal.windows"])
__all__ = sorted(_functions["signal.windows"])
