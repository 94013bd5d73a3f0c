"""Activations and losses as functions, under torch.nn.functional's names."""

import typing as _typing

from adjoint.functions.binding import functions as _functions
from adjoint.tensor.older.left_out import AttributeOf as _AttributeOf

globals().update(_functions["nn.functional"])
__all__ = sorted(_functions["nn.functional"])

if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)
