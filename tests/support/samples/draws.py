"""Random arrays, and the parts of samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Sample = dict[str, Any]


class Draw(NamedTuple):
    """An array of numbers drawn between two bounds (real and imaginary part alike), then perhaps transformed."""

    shape: tuple[int, ...] = ()
    low: float = -1.0
    high: float = 1.0
    then: Callable[[np.ndarray], np.ndarray] | None = None
    real: bool = False

    def __call__(self, rng: np.random.Generator, dtype: np.dtype[Any]) -> np.ndarray:
        values = rng.uniform(self.low, self.high, self.shape)
        if dtype.kind == "c" and not self.real:
            values = values + 1j * rng.uniform(self.low, self.high, self.shape)
        values = np.asarray(values)
        return values if self.then is None else self.then(values)


def draw(*shape: int, **options: Any) -> Draw:
    return Draw(shape, **options)


def index(*values: Any) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def mask(*values: Any) -> np.ndarray:
    return np.array(values, dtype=bool)


# transformations ----------------------------------------------------------------------------------------------------


def adjoint_of(a: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(a, -1, -2))


def positive_definite(a: np.ndarray) -> np.ndarray:
    return a @ adjoint_of(a) + np.eye(a.shape[-1])


def lower_factor(a: np.ndarray) -> np.ndarray:
    return np.tril(well_conditioned(a))


def well_conditioned(a: np.ndarray) -> np.ndarray:
    return a + 3 * np.eye(a.shape[-2], a.shape[-1])


def hermitian_part(a: Any) -> Any:
    """The Hermitian part of a Tensor, for operations that assume Hermitian inputs."""
    return (a + a.mH) / 2


def spread_apart(a: np.ndarray) -> np.ndarray:
    """Singular values and eigenvalues far from each other."""
    return a + np.diag(3.0 * np.arange(1, a.shape[-1] + 1))


def distinct_singular_values(a: np.ndarray) -> np.ndarray:
    return a + np.eye(a.shape[-2], a.shape[-1]) * 3.0 * np.arange(1, a.shape[-1] + 1)


def hermitian(a: np.ndarray) -> np.ndarray:
    return spread_apart(a + adjoint_of(a))


def log_probabilities(a: np.ndarray) -> np.ndarray:
    return np.asarray(a - np.log(np.exp(a).sum(-1, keepdims=True)))


def apart(a: np.ndarray) -> np.ndarray:
    """Numbers with gaps between them, so that a finite difference does not change their order."""
    rng = np.random.default_rng(a.size)
    return a * 1e-2 + rng.permutation(a.size).reshape(a.shape)


# arrays that many samples share -----------------------------------------------------------------------------------

WHOLE, EMPTY, SCALAR = draw(2, 3, 4), draw(0, 3), draw()
#: Three different values along an axis.
ORDERED = draw(2, 3, 4, then=apart)
SQUARE, VECTOR = draw(3, 3), draw(3)
REGULAR = draw(3, 3, then=well_conditioned)
