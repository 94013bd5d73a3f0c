"""The class of boxes of arrays."""

from adjoint.compat.autograd._boxes import ArrayBox, Box

__all__ = ["ArrayBox", "Box"]
