"""Functions over the elements that a mask picks, under torch.masked's names."""

from adjoint.functions.binding import functions as _functions
from adjoint.runtime.lazy import LateAttributes as _LateAttributes
from adjoint.tensor.older.absent import AttributeOf as _AttributeOf

__all__ = sorted(_functions["masked"].homes)
__getattr__ = _LateAttributes(__name__, tables=(_functions["masked"],), missing=_AttributeOf(__name__))
__dir__ = __getattr__.list_names
