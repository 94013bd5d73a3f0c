"""The vectors along which Jacobians are compared: all unit vectors in slow mode, one random vector in fast mode.

Both are written alike, so that slow and fast mode are the same program. A basis of the space of a tensor gives its
vectors, arrays of the tensor's shape, and the products of other vectors with them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy

Array = Any


class Units:
    """The unit vectors, which keep all information."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.size = math.prod(shape)
        #: by how much the absolute tolerance of an entry grows
        self.weight = 1.0

    def vectors(self) -> Iterator[Array]:
        """The vectors, one by one."""
        for k in range(self.size):
            yield self.vector(k)

    def vector(self, k: int) -> Array:
        """One of the vectors."""
        step = numpy.zeros(self.size)
        step[k] = 1.0
        return step.reshape(self.shape)

    def products(self, flat: Array) -> Array:
        """The products of a flat vector (or of each row of a matrix) with all vectors of the basis."""
        return flat

    def label(self, k: int) -> str:
        """The name in messages of a perturbation along a vector."""
        at = numpy.unravel_index(k, self.shape)
        return f"on index {tuple(int(i) for i in at)} "


class Ray(Units):
    """One random vector of length 1; an error is unlikely to be orthogonal to it.

    Its elements are positive, so errors of one sign add up and do not cancel. They are equal in every run.
    """

    def __init__(self, shape: tuple[int, ...], seed: tuple[int, int]) -> None:
        self.shape = shape
        self.size = 1
        direction = numpy.random.default_rng(seed).random(shape)
        self.direction = numpy.asarray(direction / (numpy.linalg.norm(direction) or 1.0))
        # errors of `atol` in every entry add up to this
        self.weight = float(self.direction.sum())

    def vector(self, k: int) -> Array:
        """The one vector."""
        return self.direction

    def products(self, flat: Array) -> Array:
        """The product with the one vector, in an axis of length 1."""
        return (flat @ self.direction.reshape(-1))[..., None]

    def label(self, k: int) -> str:
        """The name in messages of a perturbation along the vector."""
        return ""
