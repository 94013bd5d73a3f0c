"""Functions over the elements that a mask picks, under torch.masked's names."""

import typing as _typing

from adjoint.functions.binding import functions as _functions
from adjoint.tensor.older.left_out import AttributeOf as _AttributeOf

globals().update(_functions["masked"])
__all__ = sorted(_functions["masked"])

if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)
