"""Exact values and slopes of functions at the points of measurement, by mpmath, cached below build/.

A result of mpmath has fewer correct digits than the precision of its computation. So results that differ from the
measured ones are computed again with more bits. The other results are exact enough.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from mpmath import mp

from .folders import ROOT

CACHE = ROOT / "build" / "accuracy"
#: Bits of the first calculation, and of those that follow.
BITS, MORE_BITS = 130, 450
#: The relative step by which the condition of a function is measured.
STEP = 2.0**-40

Array = Any
Function = Callable[..., Any]
#: What mpmath raises at a pole, and where a series does not converge.
NO_VALUE = (ValueError, ZeroDivisionError, OverflowError, NotImplementedError, mp.NoConvergence)


class Exact(NamedTuple):
    """Exact numbers: the nearest double, and the rest in units in the last place.

    Both are NaN if there is no number.
    """

    near: Array
    rest: Array


def exact_at(function: Function, arguments: Sequence[float], bits: int = BITS) -> tuple[float, float]:
    """An exact result as the nearest double and the rest. Both are NaN if there is no real result."""
    try:
        with mp.workprec(bits):
            result = real(function(*[mp.mpf(float(value)) for value in arguments]))
            near = float(result)
            if not math.isfinite(near):
                return near, 0.0
            return near, float((result - near) / math.ulp(near))
    except NO_VALUE:
        return math.nan, math.nan


def real(result: Any) -> Any:
    """A result as a real number; raises ValueError for one that is not."""
    if isinstance(result, mp.mpc):
        if result.imag:
            raise ValueError(f"no real number: {result}")
        return result.real
    return mp.mpf(result)


def condition_at(function: Function, arguments: Sequence[float]) -> float:
    """The relative error of the result divided by the relative errors of the arguments.

    It is infinite at zeros and poles.
    """
    try:
        with mp.workprec(MORE_BITS):
            point = [mp.mpf(float(value)) for value in arguments]
            result = real(function(*point))
            if not result:
                return math.inf
            total = mp.mpf(0)
            for k, value in enumerate(point):
                neighbour = [*point[:k], value * (1 + STEP), *point[k + 1 :]]
                total += abs((real(function(*neighbour)) - result) / result) / STEP
            return float(total)
    except NO_VALUE:
        return math.inf


def identity_of(entry: Any, outer: frozenset[str] = frozenset()) -> str:
    """A text for a version of a function: its code, and the code of this package's functions that it calls."""
    code = getattr(entry, "__code__", None)
    if code is None or not entry.__module__.startswith(__package__) or entry.__qualname__ in outer:
        text = getattr(entry, "__name__", type(entry).__name__)
        return repr(entry) if isinstance(entry, (int, float, str, bytes, tuple, type(None))) else str(text)
    outer |= {entry.__qualname__}
    inner = [cell.cell_contents for cell in entry.__closure__ or ()]
    callees = [entry.__globals__[name] for name in code.co_names if name in entry.__globals__]
    constants = [part.co_code.hex() if hasattr(part, "co_code") else repr(part) for part in code.co_consts]
    nested = [identity_of(part, outer) for part in [*inner, *callees]]
    return " ".join([code.co_code.hex(), *code.co_names, *constants, *nested])


class ExactValues:
    """The exact results of some functions of the same arguments.

    seconds: the limit of the time; the points after it are left out. keep: whether a file stores the results.
    """

    def __init__(
        self, name: str, functions: Sequence[Function | None], arguments: list[Array], *, seconds: float, keep: bool
    ) -> None:
        self.functions, self.arguments = functions, arguments
        identity = " ".join([name, *[identity_of(function) if function else "-" for function in functions]])
        key = hashlib.sha256(identity.encode() + b"".join(values.tobytes() for values in arguments)).hexdigest()[:24]
        self.file: Path | None = CACHE / f"{key}.npz" if keep else None
        self.results = self._read_file() or self._compute(seconds)
        self._store()

    def __len__(self) -> int:
        return next(int(exact.near.size) for exact in self.results if exact is not None)

    def point(self, k: int) -> tuple[float, ...]:
        return tuple(float(values[k]) for values in self.arguments)

    def _read_file(self) -> list[Exact | None]:
        if self.file is None or not self.file.exists():
            return []
        with np.load(self.file) as stored:
            return [Exact(*stored[f"r{k}"]) if f else None for k, f in enumerate(self.functions)]

    def _compute(self, seconds: float) -> list[Exact | None]:
        rows: list[list[tuple[float, float]]] = [[] for _ in self.functions]
        start = time.perf_counter()
        for k in range(len(self.arguments[0])):
            for row, function in zip(rows, self.functions, strict=True):
                if function is not None:
                    row.append(exact_at(function, self.point(k)))
            if time.perf_counter() - start > seconds:
                break
        return [Exact(*np.array(row).T) if row else None for row in rows]

    def _store(self) -> None:
        if self.file is not None:
            CACHE.mkdir(parents=True, exist_ok=True)
            arrays: dict[str, Any] = {
                f"r{k}": np.array(exact) for k, exact in enumerate(self.results) if exact is not None
            }
            np.savez(self.file, **arrays)

    def compute_again(self, number: int, points: Iterable[int]) -> bool:
        """Compute a function at some points with more bits. Returns whether a result has changed."""
        function, exact = self.functions[number], self.results[number]
        assert function is not None and exact is not None
        changed = False
        for k in points:
            near, rest = exact_at(function, self.point(int(k)), MORE_BITS)
            same = near == exact.near[k] and abs(rest - exact.rest[k]) < 1e-3
            if not same and not (math.isnan(near) and math.isnan(exact.near[k])):
                exact.near[k], exact.rest[k] = near, rest
                changed = True
        if changed:
            self._store()
        return changed
