"""Fourier transforms, under torch.fft's names."""

from adjoint.functions.binding import functions as _functions

globals().update(_functions["fft"])
__all__ = sorted(_functions["fft"])
