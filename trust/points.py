"""The points of measurement: numbers of all sizes, some close to poles, zeros and cuts; each run has the same ones."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np

Array = Any


class Range(NamedTuple):
    """A range of arguments: between two bounds, with more of them close to some points."""

    low: float
    high: float
    near: tuple[float, ...] = ()


def order_numbers(values: Array) -> Array:
    """Numbers as integers in the same order. Neighbours differ by one.

    >>> order_numbers(np.array([-5e-324, 0.0, 5e-324])).tolist()
    [-1, 0, 1]
    """
    bits = values.view(np.int64 if values.dtype == np.float64 else np.int32).astype(np.int64)
    return np.where(bits < 0, lowest(values.dtype) - bits, bits)


def from_ordered(numbers: Array, dtype: str) -> Array:
    """The numbers for such integers.

    >>> from_ordered(np.array([-1, 0, 1]), "float64").tolist()
    [-5e-324, 0.0, 5e-324]
    """
    bits = np.where(numbers < 0, lowest(dtype) - numbers, numbers)
    return np.ascontiguousarray(bits.astype(np.int64 if dtype == "float64" else np.int32)).view(dtype)


def lowest(dtype: Any) -> int:
    return -(1 << (8 * int(np.dtype(dtype).itemsize) - 1))


def draw(domain: Range, dtype: str, n: int, rng: np.random.Generator) -> Array:
    """Points of a range: the ends, and one part of each kind.

    The parts are numbers of all sizes, those of ordinary size, those close to the points named by the range, and
    those at the ends of the exponents: too small to be normal, and almost infinite.
    """
    limit = float(np.finfo(dtype).max)
    ends = np.array([max(domain.low, -limit), min(domain.high, limit)], dtype)
    extreme, near = n // 20, n // 3
    part = (n - extreme - near) // 2
    low, high = order_numbers(ends)
    everywhere = from_ordered(rng.integers(low, high, part, endpoint=True), dtype)
    ordinary = rng.uniform(max(domain.low, -20.0), min(domain.high, 20.0), part).astype(dtype)
    centers = np.array(domain.near or (0.0,))[rng.integers(0, len(domain.near) or 1, near)]
    offsets = rng.choice([-1.0, 1.0], near) * 2.0 ** rng.uniform(-60, -1, near)
    close = (centers + offsets * np.maximum(np.abs(centers), 2.0**-10)).astype(dtype)
    points = np.concatenate([ends, everywhere, ordinary, close, extremes(dtype, extreme, rng)])[:n]
    return np.clip(points, ends[0], ends[1])


def extremes(dtype: str, n: int, rng: np.random.Generator) -> Array:
    """Numbers too small to be normal, and the largest ones."""
    info = np.finfo(dtype)
    small = rng.uniform(0, 1, n) * float(info.tiny)
    large = rng.uniform(0.5, 1, n) * float(info.max)
    return (np.where(rng.uniform(size=n) < 0.5, small, large) * rng.choice([-1.0, 1.0], n)).astype(dtype)


def arguments_of(name: str, ranges: tuple[Range, ...], dtype: str, n: int) -> list[Array]:
    """The arguments at which a function is measured, one array for each."""
    seed = int.from_bytes(hashlib.sha256(f"{name} {dtype}".encode()).digest()[:4], "little")
    rng = np.random.default_rng(seed)
    # in pairs, and whatever part of them is measured, points lie everywhere
    return [rng.permutation(draw(domain, dtype, n, rng)) for domain in ranges]
