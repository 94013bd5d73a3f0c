"""The derivatives, declared once each, one file per family; `TABLE` holds them all by name."""

from . import contract, convolution, creation, elementwise, index, linalg, pooling, reduce, sampling, shape, sorting
from .declare import TABLE, Rule

__all__ = [
    "TABLE",
    "Rule",
    "contract",
    "convolution",
    "creation",
    "elementwise",
    "index",
    "linalg",
    "pooling",
    "reduce",
    "sampling",
    "shape",
    "sorting",
]
