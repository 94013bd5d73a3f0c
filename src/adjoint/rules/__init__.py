"""The derivatives, declared once each, one file per family; `TABLE` holds them all by name."""

from . import contract, creation, elementwise, index, linalg, reduce, shape, sorting
from .declare import TABLE, Rule

__all__ = [
    "TABLE",
    "Rule",
    "contract",
    "creation",
    "elementwise",
    "index",
    "linalg",
    "reduce",
    "shape",
    "sorting",
]
