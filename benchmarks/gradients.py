"""Compare the results of all contenders before the first round, so that they all compute the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

# The tolerance relative to the largest element. Contenders may sum in different orders, but their formulas agree.
TOLERANCE = {"float64": 1e-10, "float32": 1e-4}


class GradientMismatch(Exception):
    """Two contenders disagree about a gradient."""


def as_numpy(value: Any) -> np.ndarray:
    """A contender's result as a NumPy array."""
    return value.detach().numpy() if hasattr(value, "detach") else np.asarray(value)


def check_agreement(results: Mapping[str, Sequence[np.ndarray]]) -> None:
    """Compare the gradients of all contenders with those of the last one (NumPy, if it takes part).

    Raises GradientMismatch, which names the contender and the gradient, if shape, dtype or value differs.
    """
    *others, reference = results
    for name in others:
        mine, expected = results[name], results[reference]
        if len(mine) != len(expected):
            raise GradientMismatch(f"{name} returns {len(mine)} gradients, {reference} {len(expected)}")
        for index, (actual, desired) in enumerate(zip(mine, expected, strict=True)):
            complaint = difference(actual, desired)
            if complaint:
                raise GradientMismatch(f"gradient {index} of {name} is not {reference}'s: {complaint}")


def difference(actual: np.ndarray, desired: np.ndarray) -> str:
    """The difference in words. An empty text if both agree within the tolerance of their dtype."""
    for quality in ("shape", "dtype"):
        if getattr(actual, quality) != getattr(desired, quality):
            return f"{quality} {getattr(actual, quality)}, expected {getattr(desired, quality)}"
    tolerance = TOLERANCE[desired.dtype.name] * np.abs(desired).max()
    error = np.abs(actual - desired).max()
    if error <= tolerance:
        return ""
    return f"largest difference {error:.3g}, tolerance {tolerance:.3g}"  # a NaN also leads here
