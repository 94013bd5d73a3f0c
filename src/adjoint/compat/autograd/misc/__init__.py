"""Helpers around derivatives: flattening of containers, optimizers, fixed points."""

from adjoint.compat.autograd.misc.flatten import flatten

__all__ = ["flatten"]
