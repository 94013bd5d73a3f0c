"""The derivatives, declared once each, one file per family; `TABLE` holds them all by name."""

from . import activations, contract, convolution, counting, creation, distances, elementwise, embedding, factorizations, fft, fused, index, linalg, losses, normalization, pointwise, pooling, reduce, running, sampling, shape, sorting, special
from .declare import TABLE, Rule

__all__ = [
    "TABLE",
    "Rule",
    "activations",
    "contract",
    "convolution",
    "counting",
    "creation",
    "distances",
    "elementwise",
    "embedding",
    "factorizations",
    "fft",
    "fused",
    "index",
    "linalg",
    "losses",
    "normalization",
    "pointwise",
    "pooling",
    "reduce",
    "running",
    "sampling",
    "shape",
    "sorting",
    "special",
]
