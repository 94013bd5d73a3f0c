"""Activations, layers and losses as functions, under the names of torch.nn.functional."""

from adjoint.functions.binding import functions as _functions
from adjoint.runtime.lazy import LateAttributes as _LateAttributes
from adjoint.tensor.older.absent import AttributeOf as _AttributeOf

__all__ = sorted(_functions["nn.functional"].homes)
__getattr__ = _LateAttributes(__name__, tables=(_functions["nn.functional"],), missing=_AttributeOf(__name__))
__dir__ = __getattr__.list_names
