"""Vector spaces of arrays."""

from adjoint.compat.autograd._vspaces import ArrayVSpace, ComplexArrayVSpace, VSpace

__all__ = ["ArrayVSpace", "ComplexArrayVSpace", "VSpace"]
