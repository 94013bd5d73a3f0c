"""Signals: the window functions, in `adjoint.signal.windows`."""

from . import windows

__all__ = ["windows"]
