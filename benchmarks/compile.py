"""`adjoint.compile` beside eager adjoint and, where they are installed, JAX's jit and torch.compile.

    python -m benchmarks.compile [--only NAME] [--peers jax,torch] [--document FILE]

Each workload is a function of arrays with one number as its result. A time covers the function and its gradient with
respect to all arrays. All libraries share one definition, with their own names for the same functions. The results are
compared before the measurement. Times are elapsed times, the best of several blocks that take turns, so the machine
must be quiet. The first call of each function is timed in the same process.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .programs.document import with_section

#: The title of the section of the page, and the text above the table.
TITLE = "## Compiled functions"
INTRODUCTION = """\
`adjoint.compile` beside eager adjoint and JAX's jit: a function and its gradient by all arrays, float64 unless said,
elapsed time on two threads, the best of seven blocks taken in turn. A first call records or compiles; eager's first one
of all imports what it needs. Written by `python -m benchmarks.compile --document docs/benchmarks.md`."""
#: The seconds of one block of calls, and the number of blocks.
BLOCK, BLOCKS = 0.05, 7


@dataclass(frozen=True)
class Workload:
    """A function of a library's names and arrays, and the arrays."""

    name: str
    title: str
    function: Callable[..., Any]
    arrays: Callable[[], Sequence[np.ndarray]]


def normal(*shapes: tuple[int, ...], dtype: str = "float64", scale: float = 1.0) -> Callable[[], list[np.ndarray]]:
    """A function that gives the same random arrays each time."""

    def arrays() -> list[np.ndarray]:
        rng = np.random.default_rng(7)
        return [(scale * rng.standard_normal(shape)).astype(dtype) for shape in shapes]

    return arrays


def chain(length: int) -> Callable[..., Any]:
    def function(xp: Any, x: Any, b: Any) -> Any:
        for _ in range(length):
            x = xp.tanh(x * b)
        return xp.sum(x)

    return function


def black_scholes(xp: Any, spot: Any, strike: Any, sigma: Any) -> Any:
    spot, strike, sigma = xp.exp(0.1 * spot), xp.exp(0.1 * strike), xp.exp(0.1 * sigma)
    d1 = (xp.log(spot / strike) + 0.02 + 0.5 * sigma * sigma) / sigma
    d2 = d1 - sigma

    def cdf(z: Any) -> Any:
        return 0.5 * (1.0 + xp.erf(z * math.sqrt(0.5)))

    return xp.sum(spot * cdf(d1) - strike * math.exp(-0.02) * cdf(d2))


def softplus(xp: Any, x: Any) -> Any:
    return xp.sum(xp.log1p(xp.exp(-xp.abs(x))) + xp.maximum(x, 0.0 * x))


def gelu(xp: Any, x: Any) -> Any:
    return xp.sum(x * 0.5 * (1.0 + xp.erf(x * math.sqrt(0.5))))


def logsumexp(xp: Any, x: Any) -> Any:
    top = xp.amax(x, 1)
    return xp.sum(top + xp.log(xp.sum(xp.exp(x - top[:, None]), 1)))


def mlp(xp: Any, x: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    hidden = xp.tanh(x @ w1 + b1)
    out = hidden @ w2 + b2
    return xp.sum(out * out) / 64


def rosenbrock(xp: Any, x: Any) -> Any:
    a, b = x[1:], x[:-1]
    return xp.sum(100.0 * (a - b * b) ** 2 + (1.0 - b) ** 2)


def runge_kutta(xp: Any, y: Any, p: Any) -> Any:
    h = 0.01

    def slope(y: Any) -> Any:
        return p * y * (1.0 - y) - xp.sin(y)

    for _ in range(50):
        k1 = slope(y)
        k2 = slope(y + 0.5 * h * k1)
        k3 = slope(y + 0.5 * h * k2)
        k4 = slope(y + h * k3)
        y = y + (h / 6.0) * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return xp.sum(y * y)


def heat(xp: Any, u: Any, k: Any) -> Any:
    for _ in range(50):
        inner = u[1:-1] + 0.1 * k * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u = xp.concatenate((u[:1], inner, u[-1:]))
    return xp.sum(u * u)


def mixture(xp: Any, points: Any, means: Any, logits: Any) -> Any:
    difference = points[:, None, :] - means[None, :, :]
    exponents = logits - 0.5 * xp.sum(difference * difference, 2)
    top = xp.amax(exponents, 1)
    return xp.sum(top + xp.log(xp.sum(xp.exp(exponents - top[:, None]), 1)))


def lstm(xp: Any, x: Any, wx: Any, wh: Any, b: Any) -> Any:
    n = wh.shape[0]
    h = c = 0.0 * x[0] @ wx[:, :n]

    def sigmoid(z: Any) -> Any:
        return 1.0 / (1.0 + xp.exp(-z))

    for t in range(x.shape[0]):
        gates = x[t] @ wx + h @ wh + b
        i, f = sigmoid(gates[:, :n]), sigmoid(gates[:, n : 2 * n])
        g, o = xp.tanh(gates[:, 2 * n : 3 * n]), sigmoid(gates[:, 3 * n :])
        c = f * c + i * g
        h = o * xp.tanh(c)
    return xp.sum(h * h)


def pairs(xp: Any, x: Any) -> Any:
    d = x[:, None, :] - x[None, :, :]
    return xp.sum(1.0 / (1.0 + xp.sum(d * d, 2)))


WORKLOADS = [
    Workload("chain-1", "chain of 50 on 1 element", chain(50), normal((1,), (1,))),
    Workload("chain-100", "chain of 50 on 100 elements", chain(50), normal((100,), (100,))),
    Workload("chain-1e4", "chain of 20 on 10^4 elements", chain(20), normal((10**4,), (10**4,))),
    Workload("chain-1e5", "chain of 10 on 10^5 elements", chain(10), normal((10**5,), (10**5,))),
    Workload("chain-1e6", "chain of 5 on 10^6 elements", chain(5), normal((10**6,), (10**6,))),
    Workload("black-scholes", "Black-Scholes, 10^5 options", black_scholes, normal(*[(10**5,)] * 3)),
    Workload("softplus", "softplus, 10^6 float32", softplus, normal((10**6,), dtype="float32")),
    Workload("gelu", "gelu by erf, 10^6 float32", gelu, normal((10**6,), dtype="float32")),
    Workload("logsumexp", "logsumexp of rows, 1000 x 100", logsumexp, normal((1000, 100))),
    Workload("mlp", "MLP of 64 x 100 x 50 x 10", mlp, normal((64, 100), (100, 50), (50,), (50, 10), (10,), scale=0.1)),
    Workload("rosenbrock-10", "Rosenbrock by slices, 10", rosenbrock, normal((10,))),
    Workload("rosenbrock-1e4", "Rosenbrock by slices, 10^4", rosenbrock, normal((10**4,))),
    Workload("runge-kutta-4", "50 steps of Runge-Kutta, 4 dimensions", runge_kutta, normal((4,), (4,))),
    Workload("runge-kutta-1000", "the same, 1000 dimensions", runge_kutta, normal((1000,), (1000,), scale=0.1)),
    Workload("heat", "50 steps of heat by slices, 200 points", heat, normal((200,), (198,))),
    Workload("mixture", "Gaussian mixture, 1000 x 8 x 2", mixture, normal((1000, 2), (8, 2), (8,))),
    Workload(
        "lstm", "LSTM by a loop, 20 steps of 16 x 32", lstm, normal((20, 16, 8), (8, 128), (32, 128), (128,), scale=0.3)
    ),
    Workload("pairs", "pairs of 100 particles", pairs, normal((100, 3))),
]  # fmt: skip


# the libraries --------------------------------------------------------------------------------------------------------

Step = Callable[[], Any]


class _Adjoint:
    """A namespace with adjoint's names, and with NumPy's names of functions that torch names differently."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, "cat" if name == "concatenate" else name)


def with_torch_names(library: Any, function: Callable[..., Any], arrays: Sequence[np.ndarray], wrap: Any) -> Step:
    """The step in adjoint or torch: it computes the value and the gradients."""
    xp = _Adjoint(library)
    tensors = [library.from_numpy(array).requires_grad_() for array in arrays]

    def step(*tensors: Any) -> Any:
        value = function(xp, *tensors)
        return value.detach(), *library.autograd.grad(value, tensors)

    if library.__name__ == "torch":
        # torch.compile does not record autograd.grad, but it compiles the backward pass of its result
        forward = wrap(lambda *tensors: function(xp, *tensors))

        def outer() -> Any:
            value = forward(*tensors)
            return value.detach(), *library.autograd.grad(value, tensors)

        return outer
    run = wrap(step)
    return lambda: run(*tensors)


def of_adjoint(wrap: Callable[[Any], Any]) -> Callable[..., Step]:
    def make(function: Callable[..., Any], arrays: Sequence[np.ndarray]) -> Step:
        import adjoint

        return with_torch_names(adjoint, function, arrays, wrap(adjoint))

    return make


def of_torch(function: Callable[..., Any], arrays: Sequence[np.ndarray]) -> Step:
    import torch

    torch.set_num_threads(2)
    return with_torch_names(torch, function, arrays, torch.compile)


def of_jax(function: Callable[..., Any], arrays: Sequence[np.ndarray]) -> Step:
    import jax

    jax.config.update("jax_enable_x64", True)

    class Names:
        erf = staticmethod(jax.scipy.special.erf)

        def __getattr__(self, name: str) -> Any:
            return getattr(jax.numpy, name)

    names = Names()
    run = jax.jit(jax.value_and_grad(lambda *a: function(names, *a), argnums=tuple(range(len(arrays)))))
    device = [jax.numpy.asarray(array) for array in arrays]

    def step() -> Any:
        value, gradients = jax.block_until_ready(run(*device))
        return value, *gradients

    return step


CONTENDERS: dict[str, Callable[..., Step]] = {
    "eager": of_adjoint(lambda adjoint: lambda step: step),
    "compiled": of_adjoint(lambda adjoint: adjoint.compile),
    "jax": of_jax,
    "torch": of_torch,
}


# measuring ------------------------------------------------------------------------------------------------------------


def as_arrays(results: Any) -> list[np.ndarray]:
    return [np.asarray(part) for part in results]


def check(name: str, who: str, results: Any, expected: Sequence[np.ndarray]) -> None:
    """Raise AssertionError if the results differ."""
    for ours, other in zip(as_arrays(results), expected, strict=True):
        tolerance = 1e-3 if other.dtype == np.float32 else 1e-8
        largest = float(np.abs(other).max())
        np.testing.assert_allclose(ours, other, tolerance, tolerance * largest, err_msg=f"{name}: {who}")


def block(step: Step) -> float:
    """Seconds for one call."""
    repeats = 1
    while True:
        start = time.perf_counter()
        for _ in range(repeats):
            step()
        seconds = time.perf_counter() - start
        if seconds > BLOCK or repeats > 10**5:
            return seconds / repeats
        repeats = max(repeats * 2, int(repeats * BLOCK / (seconds + 1e-9)))


def measure(workload: Workload, names: Sequence[str]) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds per call for each contender, and seconds of its first call."""
    arrays = workload.arrays()
    steps, first = {}, {}
    expected: list[np.ndarray] = []
    for name in names:
        step = CONTENDERS[name](workload.function, [array.copy() for array in arrays])
        start = time.perf_counter()
        results = step()
        first[name] = time.perf_counter() - start
        if name == "eager":
            expected = [np.array(part) for part in as_arrays(results)]
        for _ in range(2):
            check(workload.name, name, step(), expected)
        steps[name] = step
    times = dict.fromkeys(names, math.inf)
    for _ in range(BLOCKS):
        for name, step in steps.items():
            times[name] = min(times[name], block(step))
    return times, first


def table(rows: list[tuple[Workload, dict[str, float], dict[str, float]]], names: Sequence[str]) -> str:
    """The table in Markdown."""
    head = ["workload", *[f"{name}, µs" for name in names], "eager / compiled"]
    head += ["compiled / JAX"] if "jax" in names else []
    head += [f"first call {name}, ms" for name in names]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for workload, times, first in rows:
        cells = [workload.title, *[f"{times[name] * 1e6:,.1f}" for name in names]]
        cells.append(f"{times['eager'] / times['compiled']:.2f}")
        if "jax" in names:
            cells.append(f"{times['compiled'] / times['jax']:.2f}")
        cells += [f"{first[name] * 1e3:,.1f}" for name in names]
        lines.append("| " + " | ".join(cells) + " |")
    for title, over, under in (("eager / compiled", "eager", "compiled"), ("compiled / JAX", "compiled", "jax")):
        if over in names and under in names:
            ratios = [times[over] / times[under] for _, times, _ in rows]
            lines.append(f"\nGeometric mean of {title}: {math.exp(np.mean(np.log(ratios))):.2f}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compile", description=__doc__)
    parser.add_argument("--only", action="append", choices=[workload.name for workload in WORKLOADS])
    parser.add_argument("--peers", default="jax,torch", help="whom to compare with, where they are installed")
    parser.add_argument("--document", type=Path, help="write the table into a page, too")
    options = parser.parse_args(arguments)
    peers = [name for name in options.peers.split(",") if name and importlib.util.find_spec(name)]
    names = ["eager", "compiled", *peers]
    rows = []
    for workload in WORKLOADS:
        if options.only is None or workload.name in options.only:
            rows.append((workload, *measure(workload, names)))
            times = rows[-1][1]
            print(f"{workload.name:18}", *[f"{name} {times[name] * 1e6:10.1f}" for name in names], flush=True)
    text = table(rows, names)
    print("\n" + text)
    if options.document:
        page = options.document.read_text(encoding="utf-8") if options.document.exists() else "# Benchmarks\n"
        options.document.write_text(with_section(page, f"{TITLE}\n\n{INTRODUCTION}\n\n{text}\n"), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
