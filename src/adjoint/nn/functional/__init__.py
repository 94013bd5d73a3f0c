"""Activations and losses as functions, under torch.nn.functional's names."""

from adjoint.tensor.binding import functions as _functions

globals().update(_functions["nn.functional"])
__all__ = sorted(_functions["nn.functional"])
