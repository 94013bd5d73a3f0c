"""Fourier transforms, under torch.fft's names."""

from adjoint.functions.binding import functions as _functions
from adjoint.runtime.lazy import LateAttributes as _LateAttributes

__all__ = sorted(_functions["fft"].homes)
__getattr__ = _LateAttributes(__name__, tables=(_functions["fft"],))
__dir__ = __getattr__.list_names
