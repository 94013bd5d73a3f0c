"""The comparison of arrays of numbers: whether they agree, and their distance."""

from __future__ import annotations

import numpy as np

from .inputs import Array

LARGE = 1e13  # rounding leaves numbers of this size at poles: 1 / sin(pi * n) ** 2
SMALLEST_SCALE = 0.1  # inputs are of the order of 1


def close(left: Array, right: Array, tolerance: float, poles: bool) -> bool:
    """Equal, or equally NaN or infinite, or as near as the tolerance says on the scale of the largest number.

    A complex number is infinite if one part of it is, else NaN if one part is. At poles NaN agrees with an infinity,
    as does what rounding leaves of it, and infinities of complex numbers have no sign.
    """
    if left.dtype.kind in "biu" or right.dtype.kind in "biu":
        return bool(np.array_equal(left, right))
    if poles:
        left, right = with_infinities(left, right), with_infinities(right, left)
    finite = np.isfinite(left)
    if not np.array_equal(finite, np.isfinite(right)):
        return False
    same = kinds(left) == kinds(right)
    if not np.all(same | (np.isnan(left) | np.isnan(right)) if poles else same):
        return False
    left, right = left[finite], right[finite]
    scale = max(np.abs(left).max(initial=0.0), SMALLEST_SCALE)
    return bool(np.all(np.abs(left - right) <= tolerance * (0.5 * scale + np.abs(left))))


def with_infinities(values: Array, other: Array) -> Array:
    """Very large numbers, replaced by the infinities of the other array at the same index."""
    return np.where((np.abs(values) > LARGE) & np.isinf(other) & (np.sign(values) == np.sign(other)), other, values)


def kinds(values: Array) -> Array:
    """NaN for what is NaN, the infinity for what is infinite (one infinity for complex numbers), else 0."""
    if values.dtype.kind != "c":
        return np.where(np.isnan(values), 2.0, np.where(np.isinf(values), np.sign(values), 0.0))
    return np.where(np.isinf(values.real) | np.isinf(values.imag), 1.0, np.where(np.isnan(values), 2.0, 0.0))


def where_they_differ(left: Array, right: Array) -> tuple[str, str]:
    """The numbers of the worst place."""
    apart = distance(left, right).ravel()
    position = int(np.argmax(apart))
    at = f" at {tuple(int(i) for i in np.unravel_index(position, left.shape))}" if left.shape else ""
    return f"{left.ravel()[position]:.8g}{at}", f"{right.ravel()[position]:.8g}{at}"


def distance(left: Array, right: Array) -> Array:
    """The distance of numbers: 0 for two NaN or equal infinities, infinity if only one is NaN or infinite."""
    wide = np.result_type(left, right, float)
    left, right = left.astype(wide), right.astype(wide)
    finite = np.isfinite(left) & np.isfinite(right)
    apart = np.where(kinds(left) == kinds(right), 0.0, np.inf)
    np.copyto(apart, np.abs(np.where(finite, left, 0) - np.where(finite, right, 0)), where=finite)
    return apart
