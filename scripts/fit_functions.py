"""Writes arrays/kernels/vector_ufuncs_tables.h: coefficients of the approximations in vector_ufuncs_*.h.

    python scripts/fit_functions.py

The script interpolates at Chebyshev points with forty digits. It cuts the series where the omitted part is smaller than
a rounding error of the table's precision.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath as mp

HEADER = Path(__file__).parent.parent / "src/adjoint/arrays/kernels/vector_ufuncs_tables.h"
POINTS, LEFT_OUT = 60, 2e-17
#: The size of the omitted part in single precision.
SINGLE = 3e-9

#: The distribution function is fitted up to this argument, in (x - CENTRE) / (x + CENTRE).
LAST, CENTRE = 8, 5
#: The inverse of the error function is fitted up to this -log(1 - x * x).
LAST_LOG = 8
#: The error function is fitted in x * x up to this x, and its complement in (x - CENTRE_ERFC) / (x + CENTRE_ERFC) up to
#: LAST_ERFC; the logarithm of its complement in single precision from SMALL_ERF to LAST_SINGLE.
SMALL_ERF, LAST_ERFC, CENTRE_ERFC, LAST_SINGLE = 1, 6, 3, 4
#: (m - 1) / (m + 1) for a number m whose logarithm is taken, from sqrt(1 / 2) to sqrt(2).
LARGEST_RATIO = 3 - 2 * 2**0.5


def chebyshev(function: Callable[[Any], Any], left_out: float = LEFT_OUT) -> list[Any]:
    """The coefficients of a function on [-1, 1]."""
    angles = [mp.pi * (k + mp.mpf(1) / 2) / POINTS for k in range(POINTS)]
    values = [function(mp.cos(angle)) for angle in angles]
    coefficients = [
        2 * mp.fsum([value * mp.cos(j * angle) for value, angle in zip(values, angles, strict=True)]) / POINTS
        for j in range(POINTS)
    ]
    coefficients[0] /= 2
    least = min(abs(value) for value in values)
    count = max(j for j in range(POINTS) if abs(coefficients[j]) > left_out * least) + 1
    return coefficients[:count]


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


def plain_powers(function: Callable[[Any], Any], low: float, high: float, left_out: float = LEFT_OUT) -> list[Any]:
    """A polynomial for a function on [low, high], by powers of the argument."""
    half, middle = (mp.mpf(high) - low) / 2, (mp.mpf(high) + low) / 2
    total: list[Any] = []
    for coefficient in reversed(powers(chebyshev(lambda s: function(middle + half * s), left_out))):
        # multiplies by (x - middle) / half and adds the next coefficient
        shifted = [mp.mpf(0), *[value / half for value in total]]
        for i, value in enumerate(total):
            shifted[i] -= value * middle / half
        shifted[0] += coefficient
        total = shifted
    return total


def erf_small(z: Any) -> Any:
    """erf(x) / x for z = x * x."""
    x = mp.sqrt(z)
    return mp.erf(x) / x


def erfc_scaled(s: Any) -> Any:
    """(1 + x) exp(x * x) erfc(x), s from -1 to 1 for x from 0 to LAST_ERFC."""
    top = mp.mpf(LAST_ERFC - CENTRE_ERFC) / (LAST_ERFC + CENTRE_ERFC)
    u = -1 + (s + 1) * (top + 1) / 2
    x = CENTRE_ERFC * (1 + u) / (1 - u)
    return (1 + x) * mp.exp(x * x) * mp.erfc(x)


def log_rest(z: Any) -> Any:
    """(log((1 + s) / (1 - s)) / s - 2) / z for z = s * s."""
    s = mp.sqrt(z)
    return 2 * (mp.atanh(s) / s - 1) / z


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
        # besseli loses digits for very large arguments; Hankel's expansion is exact there (DLMF 10.40.1)
        if x > 2000:
            term = total = mp.mpf(1)
            for k in range(1, 30):
                term *= -(4 * order**2 - (2 * k - 1) ** 2) / (8 * k * x)
                total += term
            return total / mp.sqrt(2 * mp.pi)
        return mp.exp(-x) * mp.sqrt(x) * mp.besseli(order, x)

    return function


def table(name: str, comment: str, coefficients: list[Any], single: bool = False) -> str:
    numbers = [mp.nstr(value, 10) + "f" if single else mp.nstr(value, 20) for value in coefficients]
    rows = [", ".join(numbers[i : i + 4]) for i in range(0, len(numbers), 4)]
    return (
        f"/* {comment} */\nstatic const {'float' if single else 'double'} {name}[] = {{\n    "
        + ",\n    ".join(rows)
        + ",\n};\n"
    )


#: Functions with polynomials for both precisions: the end of the range from 0, the part that is subtracted from the
#: polynomial, and the text in the header.
PLAIN = [
    ("erf_small", erf_small, SMALL_ERF**2, 1, "powers of x * x; erf(x) / x - 1"),
    ("log_rest", log_rest, LARGEST_RATIO**2, 0, "powers of s * s; (log((1 + s) / (1 - s)) / s - 2) / (s * s)"),
]


def text() -> str:
    """The text of the header."""
    with mp.workdps(40):
        return "\n".join(parts())


def parts() -> list[str]:
    parts = ["/* Written by scripts/fit_functions.py. */\n"]
    parts.append(table("adj_tail", f"powers; the tail for x from 0 to {LAST}", powers(chebyshev(tail))))
    parts.append(table("adj_inverse", f"powers; erfinv for -log(1 - x * x) to {LAST_LOG}", powers(chebyshev(inverse))))
    parts.append(
        table(
            "adj_erfc_scaled",
            f"powers; (1 + x) exp(x * x) erfc(x) for x from 0 to {LAST_ERFC}",
            powers(chebyshev(erfc_scaled)),
        )
    )
    for name, function, high, less, comment in PLAIN:
        twice, single = [plain_powers(function, 0, high, left_out) for left_out in (LEFT_OUT, SINGLE)]
        twice[0] -= less
        single[0] -= less
        parts.append(table(f"adj_{name}", comment, twice))
        parts.append(table(f"adj_{name}_single", "the same", single, single=True))
    logarithm = plain_powers(lambda x: mp.log(mp.erfc(x)), SMALL_ERF, LAST_SINGLE, SINGLE)
    parts.append(table("adj_erfc_log_single", "powers of x; log(erfc(x))", logarithm, single=True))
    for order in (0, 1):
        small, large = [chebyshev(of_order(order)) for of_order in (below_eight, above_eight)]
        parts.append(table(f"adj_bessel_i{order}_small", "Chebyshev's polynomials, highest first", small[::-1]))
        parts.append(table(f"adj_bessel_i{order}_large", "the same", large[::-1]))
    return parts


def main() -> None:
    HEADER.write_text(text())


if __name__ == "__main__":
    main()
