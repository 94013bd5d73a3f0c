"""Figures of Taylor mode beside nested forward mode, and of memory by budget, as a section in Markdown.

    python -m benchmarks.taylor [--document docs/benchmarks.md]

Times are processor time, the least of several runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import adjoint
from adjoint.func import grad, hessian, jvp, laplacian, taylor
from adjoint.utils import checkpoint

from .programs.document import with_section
from .sparse import seconds

TITLE = "## Higher orders and memory by budget"
TEXT = """\
{title}

Written by `python -m benchmarks.taylor --document docs/benchmarks.md`. Times are those of the processor, the least of
several runs; ratios are medians over turns of the two. [taylor.md](taylor.md) says what is measured. The function is
sin(x) exp(-x²), elementwise.

| order | {sizes} |
|---:|{rules}|
{orders}

| | |
|---|---:|
{rows}
"""
SIZES = (100, 10_000)
ORDERS = (1, 2, 4, 6, 8, 16)
#: Nested forward mode is measured up to this order.
LAST_NESTED = 6


def example(x: Any) -> Any:
    return adjoint.sin(x) * adjoint.exp(-x * x)


def nested_derivative(order: int, x: Any) -> Any:
    """The derivative of an order by nested forward mode."""
    function = example
    for _ in range(order):
        function = (lambda f: lambda x: jvp(f, (x,), (adjoint.ones_like(x),))[1])(function)
    return function(x)


def per_call(call: Callable[[], Any], n: int) -> float:
    """The shortest processor time of one of n calls, whose results are dropped."""

    def calls() -> None:
        for _ in range(n):
            call()

    return seconds(calls) / n


def in_turns(call: Callable[[], Any], other: Callable[[], Any], rounds: int = 60, least: float = 1e-3) -> Any:
    """The shortest processor time of a call, and the median ratio to the time of another call.

    The calls take turns, so both times of a ratio have the same clock rate. least: the smallest number of seconds of a
    turn.
    """
    counts = [1 + int(least / per_call(each, 1)) for each in (call, other)]
    times = [[per_call(each, n) for each, n in zip((call, other), counts, strict=True)] for _ in range(rounds)]
    return min(time for time, _ in times), median([time / of_other for time, of_other in times])


def row(order: int) -> str:
    """The times for one order, divided by the time of the function."""
    cells = []
    for size in SIZES:
        x = adjoint.tensor(np.linspace(0.1, 1.0, size))
        series, ratio = in_turns(partial(taylor, example, x, order=order), partial(example, x))
        cells.append(f"{series * 1e6:.0f} µs ({ratio:.1f})")
        cells.append(
            f"{per_call(partial(nested_derivative, order, x), 1) * 1e6:.0f} µs" if order <= LAST_NESTED else ""
        )
    return f"| {order} | " + " | ".join(cells) + " |"


def budgets() -> list[tuple[str, str]]:
    """Time and memory of a network of equal layers by budget, divided by those without a budget."""
    rng = np.random.default_rng(0)
    layers = [adjoint.tensor(rng.standard_normal((400, 400)) / 20, requires_grad=True) for _ in range(24)]
    x = adjoint.tensor(rng.standard_normal((800, 400)))

    def network(x: Any) -> Any:
        for layer in layers:
            x = (x @ layer).tanh()
        return (x**2).sum()

    plain = seconds(lambda: adjoint.autograd.grad(network(x), layers))
    rows = []
    for budget in (0.75, 0.5, 0.4):
        function = checkpoint.auto(network, budget)
        adjoint.autograd.grad(function(x), layers)
        time = seconds(lambda function=function: adjoint.autograd.grad(function(x), layers))
        plan = function.plan
        assert plan is not None
        figure = f"{time / plain:.2f}, peak {plan.peak / plan.nbytes:.2f}"
        rows.append((f"24 equal layers, budget {budget}: time over that of all kept, and peak", figure))
    return rows


def laplacians() -> list[tuple[str, str]]:
    """The time of a Laplacian in 100 dimensions, divided by that of the trace of the Hessian."""
    rng = np.random.default_rng(0)
    weights = adjoint.tensor(rng.standard_normal((100, 100)) / 10)
    x = adjoint.tensor(rng.standard_normal(100))

    def function(x: Any) -> Any:
        return (weights @ (weights @ x).tanh()).tanh().sum()

    by_hessian = per_call(lambda: hessian(function)(x).trace(), 3)
    exact = per_call(lambda: laplacian(function)(x), 3)
    estimate = per_call(lambda: laplacian(function, samples=8)(x), 3)
    slope = per_call(lambda: grad(function)(x), 50)
    return [
        ("Laplacian in 100 dimensions over the trace of `hessian`", f"{exact / by_hessian:.2f}"),
        ("the same from 8 random directions, over one gradient", f"{estimate / slope:.1f}"),
    ]


def main() -> None:
    text = TEXT.format(
        title=TITLE,
        sizes=" | ".join([f"{n:,} numbers, series (over the function) | {n:,}, nested" for n in SIZES]),
        rules="|".join(["---:"] * 2 * len(SIZES)),
        orders="\n".join([row(order) for order in ORDERS]),
        rows="\n".join([f"| {name} | {figure} |" for name, figure in [*laplacians(), *budgets()]]),
    )
    print(text)
    if "--document" in sys.argv:
        path = Path(sys.argv[sys.argv.index("--document") + 1])
        path.write_text(with_section(path.read_text(encoding="utf-8"), text), encoding="utf-8")


if __name__ == "__main__":
    main()
