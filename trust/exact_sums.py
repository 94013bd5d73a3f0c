"""Exact sums, means, products, norms and other reductions. `python -m trust.accuracy` compares adjoint's with them.

Floating-point numbers are fractions whose denominators are powers of two. With enough bits, mpmath adds them without an
error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy.special
from mpmath import mp

import adjoint

from .accuracy_page import Sum

#: Bits in which sums of these numbers, and of their squares, are exact.
BITS = 4500


class Case(NamedTuple):
    """A reduction: adjoint's, NumPy's or SciPy's, its name in torch, and the exact one."""

    name: str
    ours: Callable[[Any], Any]
    numpy: Callable[[Any], Any]
    exact: Callable[[tuple[Any, ...]], Any]


def total(values: tuple[Any, ...]) -> Any:
    return mp.fsum(values)


def mean(values: tuple[Any, ...]) -> Any:
    return total(values) / len(values)


@lru_cache(1)
def variance(values: tuple[Any, ...]) -> Any:
    # the standard deviation of the same numbers uses it next
    middle = mean(values)
    differences = [value - middle for value in values]
    return mp.fsum([difference * difference for difference in differences]) / (len(values) - 1)


def product(values: tuple[Any, ...]) -> Any:
    result = mp.mpf(1)
    with mp.workprec(200):
        for value in values:
            result *= value
    return result


def norm(values: tuple[Any, ...]) -> Any:
    return mp.sqrt(mp.fsum([value * value for value in values]))


def logsumexp(values: tuple[Any, ...]) -> Any:
    with mp.workprec(150):
        top = max(values)
        return top + mp.log(mp.fsum([mp.exp(value - top) for value in values]))


CASES = [
    Case("sum", lambda x: x.sum(), np.sum, total),
    Case("cumsum, the last", lambda x: x.cumsum(0)[-1], lambda x: np.cumsum(x)[-1], total),
    Case("mean", lambda x: x.mean(), np.mean, mean),
    Case("var", lambda x: x.var(), lambda x: np.var(x, ddof=1), variance),
    Case("std", lambda x: x.std(), lambda x: np.std(x, ddof=1), lambda values: mp.sqrt(variance(values))),
    Case("prod", lambda x: x.prod(), np.prod, product),
    Case("norm", lambda x: x.norm(), np.linalg.norm, norm),
    Case("logsumexp", lambda x: x.logsumexp(0), scipy.special.logsumexp, logsumexp),
]


def data(dtype: str) -> dict[str, Any]:
    """Numbers to be reduced: of one sign, of both, far from zero, large and small ones."""
    rng = np.random.default_rng(0)
    large = 1e30 if dtype == "float32" else 1e200
    return {
        "10^4 in (0, 1)": rng.uniform(0, 1, 10_000).astype(dtype),
        "10^4, normal": rng.normal(size=10_000).astype(dtype),
        "10^4 in (1000, 1001)": rng.uniform(1000, 1001, 10_000).astype(dtype),
        "10^3 around 1": (1 + 0.01 * rng.normal(size=1000)).astype(dtype),
        f"100 of size {large:g}": (large * rng.uniform(0.5, 1, 100)).astype(dtype),
        f"100 of size {1 / large:g}": (rng.uniform(0.5, 1, 100) / large).astype(dtype),
    }


def error(result: Any, exact: Any, dtype: str) -> float:
    """The error of a result in units in the last place."""
    near, value = float(exact), float(result)
    limit = float(np.finfo(dtype).max)
    if abs(near) > limit:
        return 0.0 if value in (np.inf, -np.inf) else np.inf
    if not np.isfinite(value):
        return np.inf
    unit = float(np.spacing(np.abs(np.array(near, dtype))))
    return float(abs(mp.mpf(value) - exact) / mp.mpf(unit))


def all_data() -> list[tuple[str, str]]:
    """The types and titles of all data."""
    return [(dtype, title) for dtype in ("float64", "float32") for title in data(dtype)]


def results(dtype: str, title: str, torch: Any = None) -> list[Sum]:
    """The errors of all reductions of some data."""
    rows = []
    values = data(dtype)[title]
    numbers = tuple([mp.mpf(float(value)) for value in values])
    for case in CASES:
        with mp.workprec(BITS if case.exact not in (product, logsumexp) else 200), np.errstate(all="ignore"):
            exact = case.exact(numbers)
            ours = error(case.ours(adjoint.tensor(values)).item(), exact, dtype)
            peer = error(case.numpy(values), exact, dtype)
            other = None if torch is None else error(case.ours(torch.tensor(values)).item(), exact, dtype)
        rows.append(Sum(case.name, dtype, title, ours, peer, other))
    return rows


def all_results(torch: Any = None) -> list[Sum]:
    """The errors of all reductions of all data."""
    return [row for dtype, title in all_data() for row in results(dtype, title, torch)]
