"""adjoint on a CUDA device by CuPy, compared with PyTorch (eager and compiled) and JAX (jit): `make bench-gpu`.

A time is that of one step, forward and backward, until the device has finished. It is the median of several rounds. A
round lasts about a tenth of a second. The command writes benchmarks/gpu.md. A second call continues with the missing
pieces. Without a device it prints a message and writes nothing. With --stand-in it is a dry run.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from benchmarks import pieces

PAGE = Path(__file__).parent / "gpu.md"
NAME = "bench-gpu"
NO_DEVICE = "no CUDA device, or no CuPy, is here: nothing was run, and benchmarks/gpu.md is as it was"
RIGHT, FAILED, ABSENT, REFUSED = "measured", "failed", "not installed", "refused"
#: The number of rounds, the seconds of a round, and the size of the dry run.
ROUNDS, ROUND, SMALL = 7, 0.1, 16
#: The device under torch's name.
DEVICE = "cuda"
Step = Callable[[], Any]
Arrays = list[Any]


# workloads ------------------------------------------------------------------------------------------------------------


class Workload(NamedTuple):
    """A loss of some arrays. The first `n_leaves` have a gradient. `f` has functions under torch's names.

    arrays: a function of a generator and the size. sizes: the sizes. traffic: the bytes of memory that a step has to
    read and write at least, by the size; None where memory is no limit. second: a Hessian-vector product.
    """

    text: str
    sizes: tuple[int, ...]
    arrays: Callable[[Any, int], Arrays]
    loss: Callable[..., Any]
    n_leaves: int = 1
    traffic: Callable[[int], int] | None = None
    second: bool = False


def normal(rng: Any, *shape: int) -> Any:
    """Random float32 numbers that are small enough for all losses."""
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(0.1)


def chain(f: Any, x: Any, b: Any) -> Any:
    y = x
    for _ in range(10):
        y = f.tanh(y * b)
    return y.sum()


def layers(f: Any, *arrays: Any) -> Any:
    *weights, x = arrays
    y = x
    for w in weights:
        y = f.tanh(y @ w)
    return (y * y).mean()


def attention(f: Any, q: Any, k: Any, v: Any) -> Any:
    scores = f.softmax(q @ f.swapaxes(k, -1, -2) * 0.125, -1)
    return (scores @ v).sum()


def convolution(f: Any, weight: Any, x: Any) -> Any:
    y = f.conv2d(x, weight)
    return (y * y).mean()


def reductions(f: Any, x: Any) -> Any:
    return f.logsumexp(x, 1).sum() + (x.mean(0) ** 2).sum()


def gathers(f: Any, rows: Any, index: Any) -> Any:
    picked = rows[index]
    return (picked * picked).sum()


def ode(f: Any, w: Any, y: Any) -> Any:
    """Fifty Runge-Kutta steps of y' = tanh(y w)."""
    h = 0.01
    for _ in range(50):
        first = f.tanh(y @ w)
        second = f.tanh((y + first * (h / 2)) @ w)
        third = f.tanh((y + second * (h / 2)) @ w)
        fourth = f.tanh((y + third * h) @ w)
        y = y + (first + second * 2 + third * 2 + fourth) * (h / 6)
    return (y * y).sum()


def gelu(f: Any, x: Any) -> Any:
    return f.gelu(x).sum()


def curve(f: Any, x: Any) -> Any:
    return (f.tanh(x) ** 2).sum()


POWERS = tuple(10**k for k in range(3, 9))
WORKLOADS: dict[str, Workload] = {
    "chain": Workload("ten times tanh(x * b)", POWERS, lambda g, n: [normal(g, n), normal(g, n)], chain),
    # both passes read x, the step writes and reads y, and writes the gradient
    "gelu": Workload("gelu(x), then its sum", POWERS[4:], lambda g, n: [normal(g, n)], gelu, traffic=lambda n: 20 * n),
    "mlp": Workload(
        "three layers of n units, 1024 samples", (512, 2048, 8192),
        lambda g, n: [*[normal(g, n, n) for _ in range(3)], normal(g, 1024, n)], layers, 3,
    ),
    "attention": Workload(
        "attention, 8 x 8 heads, n places, width 64", (128, 512, 2048),
        lambda g, n: [normal(g, 8, 8, n, 64) for _ in range(3)], attention, 3,
    ),
    "convolution": Workload(
        "3 x 3, 32 to 64 channels, 32 images of n x n", (16, 64),
        lambda g, n: [normal(g, 64, 32, 3, 3), normal(g, 32, 32, n, n)], convolution,
    ),
    "reductions": Workload(
        "logsumexp of rows and mean of columns, n x n", (256, 4096), lambda g, n: [normal(g, n, n)], reductions
    ),
    "gathers": Workload(
        "n rows of 100,000 x 64 by index, with repeats", (1000, 1_000_000),
        lambda g, n: [normal(g, 100_000, 64), g.integers(0, 100_000, n)], gathers,
    ),
    "ode": Workload(
        "50 steps of Runge-Kutta, n x n matrix, 64 states", (64, 1024),
        lambda g, n: [normal(g, n, n), normal(g, 64, n)], ode,
    ),
    "hessian-vector": Workload(
        "Hessian-vector product of sum(tanh(x)^2)", (1000, 10_000_000), lambda g, n: [normal(g, n)], curve, second=True
    ),
}  # fmt: skip


# contenders -----------------------------------------------------------------------------------------------------------


def functions_of(torch: Any) -> Any:
    """The functions of torch or adjoint."""
    functional = torch.nn.functional
    return SimpleNamespace(
        tanh=torch.tanh, softmax=torch.softmax, swapaxes=torch.swapaxes, conv2d=functional.conv2d,
        logsumexp=torch.logsumexp, gelu=functional.gelu,
    )  # fmt: skip


def step_under_torch(torch: Any, work: Workload, arrays: Arrays, compiled: bool = False) -> Step:
    """A step in torch or adjoint."""
    values = [torch.tensor(array, device=DEVICE) for array in arrays]
    leaves = [value.requires_grad_() for value in values[: work.n_leaves]]
    loss = partial(work.loss, functions_of(torch))
    if compiled:
        loss = torch.compile(loss)

    def gradients() -> Any:
        for leaf in leaves:
            leaf.grad = None
        loss(*values).backward()
        return leaves[0].grad

    def product() -> Any:
        (g,) = torch.autograd.grad(loss(*values), leaves[0], create_graph=True)
        return torch.autograd.grad(g.sum(), leaves[0])[0]

    return product if work.second else gradients


def of_adjoint(work: Workload, arrays: Arrays) -> tuple[Step, Step, Any]:
    """adjoint in eager form: the step, the wait for the device, and the copy of a result to the host."""
    import adjoint

    return step_under_torch(adjoint, work, arrays), adjoint.cuda.synchronize, lambda t: t.cpu().numpy()


def of_graph(work: Workload, arrays: Arrays) -> tuple[Step, Step, Any]:
    """adjoint's step as a CUDA graph. CuPy cannot capture matrix products."""
    import adjoint

    step = step_under_torch(adjoint, work, arrays)
    with adjoint.cuda.stream(adjoint.cuda.Stream()):
        step()
    captured = adjoint.cuda.CUDAGraph()
    with adjoint.cuda.graph(captured):
        result = step()

    def replay() -> Any:
        captured.replay()
        return result

    return replay, adjoint.cuda.synchronize, lambda t: t.cpu().numpy()


def of_compiled(work: Workload, arrays: Arrays) -> tuple[Step, Step, Any]:
    """adjoint with a compiled loss.

    A Hessian-vector product needs gradients with a history, so the whole step is compiled.
    """
    import adjoint

    if work.second:
        step = adjoint.compile(step_under_torch(adjoint, work, arrays))
    else:
        step = step_under_torch(adjoint, work, arrays, True)
    return step, adjoint.cuda.synchronize, lambda t: t.cpu().numpy()


def of_torch(work: Workload, arrays: Arrays, compiled: bool = False) -> tuple[Step, Step, Any]:
    """PyTorch, eager or compiled."""
    import torch

    return step_under_torch(torch, work, arrays, compiled), torch.cuda.synchronize, lambda t: t.cpu().numpy()


def of_jax(work: Workload, arrays: Arrays) -> tuple[Step, Step, Any]:
    """JAX, with jit."""
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    import jax
    import jax.numpy as jnp

    def conv2d(x: Any, weight: Any) -> Any:
        return jax.lax.conv_general_dilated(x, weight, (1, 1), "VALID")

    functions = SimpleNamespace(
        tanh=jnp.tanh, softmax=jax.nn.softmax, swapaxes=jnp.swapaxes, conv2d=conv2d, logsumexp=jax.nn.logsumexp,
        gelu=partial(jax.nn.gelu, approximate=False),
    )  # fmt: skip
    values = [jax.device_put(array) for array in arrays]
    places = tuple(range(work.n_leaves))
    gradient = jax.grad(partial(work.loss, functions), places)
    function = gradient
    if work.second:
        function = jax.grad(lambda x: gradient(x)[0].sum(), places)
    compiled = jax.jit(function)
    last: list[Any] = [None]

    def step() -> Any:
        last[0] = compiled(*values)
        return last[0][0]

    return step, lambda: jax.block_until_ready(last[0]), np.asarray


class Contender(NamedTuple):
    """A library: a function that makes its step, and the required package."""

    make: Callable[[Workload, Arrays], tuple[Step, Step, Any]]
    package: str


CONTENDERS: dict[str, Contender] = {
    "adjoint": Contender(of_adjoint, "cupy"),
    "adjoint.graph": Contender(of_graph, "cupy"),
    "adjoint.compile": Contender(of_compiled, "cupy"),
    "torch": Contender(of_torch, "torch"),
    "torch.compile": Contender(partial(of_torch, compiled=True), "torch"),
    "jax.jit": Contender(of_jax, "jax"),
}


#: The libraries of a dry run.
DRY = ("adjoint", "adjoint.compile")


# times ----------------------------------------------------------------------------------------------------------------


def seconds(step: Step, wait: Step, n: int) -> float:
    """The seconds of one of several consecutive steps, until the device has finished."""
    start = time.perf_counter()
    for _ in range(n):
        step()
    wait()
    return (time.perf_counter() - start) / n


def measure(name: str, is_dry: bool = False) -> dict[str, Any]:
    """One piece: a workload of one size by one library."""
    who, what, size = name.split("/")
    contender, work, n = CONTENDERS[who], WORKLOADS[what], SMALL if is_dry else int(size)
    if not is_dry and importlib.util.find_spec(contender.package) is None:
        return {"outcome": ABSENT, "why": f"{contender.package} is not installed"}
    try:
        step, wait, to_host = contender.make(work, work.arrays(np.random.default_rng(0), n))
        result = float(np.abs(to_host(step())).astype(np.float64).sum())
        for _ in range(2):  # the first steps compile kernels and allocate memory
            first = seconds(step, wait, 1)
        repeats = 1 if is_dry else max(1, min(1000, int(ROUND / first)))
        times = [seconds(step, wait, repeats) for _ in range(1 if is_dry else ROUNDS)]
    except NotImplementedError as error:
        return {"outcome": REFUSED, "why": str(error).strip()}
    except Exception as error:
        return {"outcome": FAILED, "why": f"{type(error).__name__}: {str(error).strip().splitlines()[:1]}"}
    return {"outcome": RIGHT, "seconds": statistics.median(times), "sum": result}


def names_of(who: str, only: str) -> list[str]:
    """The pieces of a library, the small ones first."""
    pairs = [(size, what) for what, work in WORKLOADS.items() for size in work.sizes]
    return [name for size, what in sorted(pairs) if only in (name := f"{who}/{what}/{size}")]


# the page -------------------------------------------------------------------------------------------------------------


def cell(result: dict[str, Any] | None) -> str:
    """A time, or the reason why there is none."""
    if result is None:
        return "not run yet"
    return f"{result['seconds'] * 1e3:.4g}" if result["outcome"] == RIGHT else result["outcome"]


def page(results: pieces.Results, machine: str) -> str:
    """The table of times, with an explanation."""
    rows, ratios, differs, failures = [], [], [], []
    for what, work in WORKLOADS.items():
        for size in work.sizes:
            entries = {who: results.get(f"{who}/{what}/{size}") for who in CONTENDERS}
            times = {who: r["seconds"] for who, r in entries.items() if r is not None and r["outcome"] == RIGHT}
            rest = ["", ""]
            if {"adjoint", "torch"} <= set(times):
                ratios.append(times["adjoint"] / times["torch"])
                rest[0] = f"{ratios[-1]:.2f}"
            if "adjoint" in times and work.traffic is not None:
                rest[1] = f"{work.traffic(size) / times['adjoint'] / 1e9:.0f}"
            rows.append([f"**{what}**: {work.text}", f"{size:,}", *map(cell, entries.values()), *rest])
            sums = {who: r["sum"] for who, r in entries.items() if r is not None and r["outcome"] == RIGHT}
            if sums and max(sums.values()) - min(sums.values()) > 1e-2 * max(sums.values()):
                differs.append(f"{what}, n = {size:,}: {sums}")
            failures += [
                f"{who}, {what}, n = {size:,}: {r['why']}"
                for who, r in entries.items()
                if r is not None and r["outcome"] not in (RIGHT, ABSENT)
            ]
    head = ["workload", "n", *[f"{who}, ms" for who in CONTENDERS], "adjoint/torch", "GB/s"]
    lines = ["# adjoint on a GPU", "", f"{machine}.", "", "Written by `make bench-gpu`; times of one step, forward and"]
    lines += ["backward, float32. GB/s: the bytes that adjoint's step has to move, by its time.", ""]
    lines += pieces.table(rows, head, len(head) - 1)
    if ratios:
        mean = statistics.geometric_mean(ratios)
        lines += ["", f"adjoint's time is {mean:.2f} times PyTorch's eager one (geometric mean)."]
    ratios = [
        first["seconds"] / second["seconds"]
        for what, work in WORKLOADS.items()
        for size in work.sizes
        if (first := results.get(f"adjoint.compile/{what}/{size}")) and first["outcome"] == RIGHT
        if (second := results.get(f"torch.compile/{what}/{size}")) and second["outcome"] == RIGHT
    ]
    if ratios:
        mean = statistics.geometric_mean(ratios)
        lines += ["", f"adjoint.compile's time is {mean:.2f} times torch.compile's (geometric mean)."]
    lines += ["", "What ran: `docs/gpu.md`."]
    for title, listed in (("Results that differ by more than a hundredth", differs), ("What failed", failures)):
        lines += ["", f"## {title}", "", *[f"* {text}" for text in listed]] if listed else []
    return "\n".join(lines) + "\n"


def work_on(file: Path, is_dry: bool) -> None:
    """Measure the pieces whose names come from the standard input."""
    if is_dry:
        from support import stand_in_cupy
    with stand_in_cupy.install() if is_dry else nullcontext():
        pieces.do_pieces(file, pieces.names_from_input(), partial(measure, is_dry=is_dry))


def main(arguments: list[str] | None = None) -> int:
    """Measure the missing pieces, one library after the other, and write the page. Returns the exit status."""
    from adjoint.arrays.size import cuda_is_available

    options = pieces.parser_of("make bench-gpu", __doc__).parse_args(arguments)
    if options.pieces:
        work_on(options.pieces, options.stand_in)
        return 0
    if not options.stand_in and not cuda_is_available():
        print(NO_DEVICE)
        return 1
    name = f"dry-{NAME}" if options.stand_in else NAME
    if options.fresh:
        pieces.forget(name)
    deadline = time.monotonic() + options.seconds
    dry = ("--stand-in",) if options.stand_in else ()
    results: pieces.Results = {}
    missing: list[str] = []
    for who in DRY if options.stand_in else CONTENDERS:
        groups = [names_of(who, options.only)]
        left = deadline - time.monotonic()
        results = pieces.run_missing(pieces.Work("benchmarks.gpu", name, groups, 1, dry), left)
        missing += [piece for piece in groups[0] if piece not in results]
    machine = "A dry run on the stand-in for CuPy: **no device was there**" if options.stand_in else pieces.machine()
    text = page(results, machine)
    (pieces.output_folder() / f"{name}.md").write_text(text)
    if not options.stand_in:
        PAGE.write_text(text)
    print(text)
    print(f"{len(missing)} still to run" + (": call again" if missing else ""))
    return int(bool(missing) or any(result["outcome"] == FAILED for result in results.values()))


if __name__ == "__main__":
    sys.exit(main())
