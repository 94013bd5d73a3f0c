"""Functions over the elements that a mask picks, under torch.masked's names."""

from adjoint.tensor.binding import functions as _functions

globals().update(_functions["masked"])
__all__ = sorted(_functions["masked"])
