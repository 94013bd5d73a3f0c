"""The derivatives, declared once each, one file per family; `TABLE` holds them all by name."""

from . import creation, elementwise, reduce, sorting
from .declare import TABLE, Rule

__all__ = ["TABLE", "Rule", "creation", "elementwise", "reduce", "sorting"]
