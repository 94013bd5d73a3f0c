"""Writes arrays/kernels/vector_ufuncs_tables.h: coefficients of the approximations in vector_ufuncs_loops.h.

    python scripts/fit_functions.py

Chebyshev interpolation with forty digits, cut where what is left out is below a rounding error of double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath as mp

HEADER = Path(__file__).parent.parent / "src/adjoint/arrays/kernels/vector_ufuncs_tables.h"
POINTS, LEFT_OUT = 60, 2e-17

#: The distribution function is fitted up to this argument, in (x - CENTRE) / (x + CENTRE).
LAST, CENTRE = 8, 5
#: The inverse of the error function is fitted up to this -log(1 - x * x).
LAST_LOG = 8


def chebyshev(function: Callable[[Any], Any]) -> list[Any]:
    """The coefficients of a function on [-1, 1]."""
    angles = [mp.pi * (k + mp.mpf(1) / 2) / POINTS for k in range(POINTS)]
    values = [function(mp.cos(angle)) for angle in angles]
    found = [
        2 * mp.fsum([value * mp.cos(j * angle) for value, angle in zip(values, angles, strict=True)]) / POINTS
        for j in range(POINTS)
    ]
    found[0] /= 2
    least = min(abs(value) for value in values)
    kept = max(j for j in range(POINTS) if abs(found[j]) > LEFT_OUT * least) + 1
    return found[:kept]


def powers(coefficients: list[Any]) -> list[Any]:
    """The same polynomial by powers."""
    total = [mp.mpf(0)] * len(coefficients)
    before, now = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
    for j, coefficient in enumerate(coefficients):
        if j > 1:
            after = [mp.mpf(0), *[2 * value for value in now]]
            for i, value in enumerate(before):
                after[i] -= value
            before, now = now, after
        for i, value in enumerate(before if j == 0 else now):
            total[i] += coefficient * value
    return total


def tail(s: Any) -> Any:
    """The normal distribution's tail over exp(-x * x / 2), s from -1 to 1 for x from 0 to LAST."""
    top = mp.mpf(LAST - CENTRE) / (LAST + CENTRE)
    u = -1 + (s + 1) * (top + 1) / 2
    x = CENTRE * (1 + u) / (1 - u)
    return mp.exp(x * x / 2) * mp.ncdf(-x)


def inverse(s: Any) -> Any:
    """erfinv(x) / x, s from -1 to 1 for -log(1 - x * x) from 0 to LAST_LOG."""
    w = (s + 1) / 2 * LAST_LOG
    if w < mp.mpf(10) ** -30:
        return mp.sqrt(mp.pi) / 2
    x = mp.sqrt(-mp.expm1(-w))
    return mp.erfinv(x) / x


def below_eight(order: int) -> Callable[[Any], Any]:
    """exp(-x) I(x) / x ** order, s from -1 to 1 for x from 0 to 8."""

    def function(s: Any) -> Any:
        x = 4 * (s + 1)
        return mp.exp(-x) * mp.besseli(order, x) / x**order

    return function


def above_eight(order: int) -> Callable[[Any], Any]:
    """exp(-x) sqrt(x) I(x), s from -1 to 1 for 1 / x from 0 to 1 / 8."""

    def function(s: Any) -> Any:
        x = 16 / (s + 1)
        # besseli loses its digits for very large arguments, where Hankel's expansion has them (DLMF 10.40.1)
        if x > 2000:
            term = total = mp.mpf(1)
            for k in range(1, 30):
                term *= -(4 * order**2 - (2 * k - 1) ** 2) / (8 * k * x)
                total += term
            return total / mp.sqrt(2 * mp.pi)
        return mp.exp(-x) * mp.sqrt(x) * mp.besseli(order, x)

    return function


def table(name: str, comment: str, coefficients: list[Any]) -> str:
    numbers = [mp.nstr(value, 20) for value in coefficients]
    rows = [", ".join(numbers[i : i + 4]) for i in range(0, len(numbers), 4)]
    return f"/* {comment} */\nstatic const double {name}[] = {{\n    " + ",\n    ".join(rows) + ",\n};\n"


def text() -> str:
    """What the header is to be."""
    with mp.workdps(40):
        return "\n".join(parts())


def parts() -> list[str]:
    parts = ["/* Written by scripts/fit_functions.py. */\n"]
    parts.append(table("adj_tail", f"powers; the tail for x from 0 to {LAST}", powers(chebyshev(tail))))
    parts.append(table("adj_inverse", f"powers; erfinv for -log(1 - x * x) to {LAST_LOG}", powers(chebyshev(inverse))))
    for order in (0, 1):
        small, large = [chebyshev(fit(order)) for fit in (below_eight, above_eight)]
        parts.append(table(f"adj_bessel_i{order}_small", "Chebyshev's polynomials, highest first", small[::-1]))
        parts.append(table(f"adj_bessel_i{order}_large", "the same", large[::-1]))
    return parts


def main() -> None:
    HEADER.write_text(text())


if __name__ == "__main__":
    main()
