"""`python -m benchmarks.profiler_overhead`: the time that the profiler adds to each operation, on and off.

Blocks with and without a profiler take turns in one process, so a slow moment of the machine affects both. The added
time is the difference of the fastest blocks, divided by the number of recorded calls. These are calls of operations,
and in backward passes of nodes and of operations in their formulas. The exit status is 1 if the added time exceeds the
limit.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable
from time import perf_counter_ns
from typing import NamedTuple

import adjoint
from adjoint.autograd.profiler import profile

LIMIT_US = 2.0
LINKS = 25
ENGINE = "autograd::engine::evaluate_function: "


class Result(NamedTuple):
    """Microseconds for one step without and with a profiler, and the number of recorded calls."""

    off: float
    on: float
    calls: int

    @property
    def cost_per_call(self) -> float:
        """Microseconds for each call."""
        return (self.on - self.off) / self.calls

    @property
    def ratio(self) -> float:
        """How many times longer the step takes."""
        return self.on / self.off


def chain(x: adjoint.Tensor, b: adjoint.Tensor) -> adjoint.Tensor:
    for _ in range(LINKS):
        x = (x * b).tanh()
    return x


def forward(size: int) -> Callable[[], object]:
    x, b = adjoint.ones(size, requires_grad=True), adjoint.ones(size) * 0.9
    return lambda: chain(x, b)


def both(size: int) -> Callable[[], object]:
    x, b = adjoint.ones(size, requires_grad=True), adjoint.ones(size) * 0.9
    return lambda: chain(x, b).sum().backward()


def microseconds(step: Callable[[], object], repeats: int) -> float:
    """Microseconds for one step."""
    start = perf_counter_ns()
    for _ in range(repeats):
        step()
    return (perf_counter_ns() - start) / 1000 / repeats


def measure(step: Callable[[], object], rounds: int, repeats: int, **options: bool) -> Result:
    """The fastest of alternating blocks. The start and the end of the profiler do not count."""
    on, off, calls = [], [], 0
    step()
    for _ in range(rounds):
        gc.collect()
        off.append(microseconds(step, repeats))
        with profile(**options) as prof:
            on.append(microseconds(step, repeats))
        calls = sum(not event.name.startswith((ENGINE, "[")) for event in prof.function_events) // repeats
    return Result(min(off), min(on), calls)


def idle(step: Callable[[], object], rounds: int, repeats: int) -> tuple[float, float]:
    """The fastest blocks before the first use of a profiler, and after it."""
    before = [microseconds(step, repeats) for _ in range(rounds)]
    with profile():
        step()
    return min(before), min(microseconds(step, repeats) for _ in range(rounds))


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each case. Returns 1 if a plain profiler adds more than the limit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profiler_overhead", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, help="blocks of each kind (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=4, help="steps in a block (default: %(default)s)")
    settings = parser.parse_args(arguments)
    before, after = idle(both(1), settings.rounds, settings.repeats)
    print(f"never on: {before:.2f} us a step; on once, and off again: {after:.2f} us (ratio {after / before:.3f})")
    cases = {
        "forward, 1 element": (forward(1), {}),
        "forward and backward, 1 element": (both(1), {}),
        "forward and backward, 10^4 elements": (both(10_000), {}),
        "... 1 element, record_shapes": (both(1), {"record_shapes": True}),
        "... 1 element, profile_memory": (both(1), {"profile_memory": True}),
        "... 1 element, with_stack": (both(1), {"with_stack": True}),
    }
    print(f"{'case':<40}{'off, us/step':>14}{'on':>10}{'ratio':>8}{'calls':>8}{'added, us/call':>16}")
    over = False
    for name, (step, options) in cases.items():
        result = measure(step, settings.rounds, settings.repeats, **options)
        # with more elements the work itself varies more than the profiler's time
        over |= not options and "1 element" in name and result.cost_per_call > LIMIT_US
        print(
            f"{name:<40}{result.off:>14.1f}{result.on:>10.1f}{result.ratio:>8.2f}{result.calls:>8}{result.cost_per_call:>16.2f}"
        )
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
