"""adjoint on a GPU, through CuPy, beside PyTorch on the same device: `python -m benchmarks.gpu`.

Writes benchmarks/gpu.md: device, versions, what the tests marked `gpu` gave, and times. Each time is the median over
rounds of one forward and backward pass, both libraries in turn, until the device has finished. Without a CUDA device
it says so and writes nothing.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "gpu.md"
Step = Callable[[], None]


def chain(torch: Any, device: str, n: int) -> Step:
    """Ten links of (x * b).tanh() over n elements, float32."""
    x = torch.ones(n, dtype=torch.float32, device=device, requires_grad=True)
    b = torch.full((n,), 0.5, dtype=torch.float32, device=device)

    def step() -> None:
        y = x
        for _ in range(10):
            y = (y * b).tanh()
        y.sum().backward()
        x.grad = None

    return step


def classifier(torch: Any, device: str, n: int) -> Step:
    """Two hidden layers of n units, 1024 samples, float32."""
    torch.manual_seed(0)
    sizes = ((n, n), (n, n), (n, 10))
    weights = [(torch.randn(*size) / size[0] ** 0.5).to(device).requires_grad_() for size in sizes]
    x = torch.randn(1024, n).to(device)

    def step() -> None:
        y = x
        for w in weights:
            y = (y @ w).tanh()
        y.square().mean().backward()
        for w in weights:
            w.grad = None

    return step


def curvature(torch: Any, device: str, n: int) -> Step:
    """A Hessian-vector product of sum(tanh(x) ** 2), n elements, float32."""
    x = torch.ones(n, dtype=torch.float32, device=device, requires_grad=True)

    def step() -> None:
        (g,) = torch.autograd.grad((x.tanh() ** 2).sum(), x, create_graph=True)
        torch.autograd.grad(g.sum(), x)

    return step


WORKLOADS = [(chain, 10_000), (chain, 1_000_000), (chain, 30_000_000), (classifier, 512), (classifier, 2048)]
WORKLOADS += [(curvature, 10_000), (curvature, 10_000_000)]


def waits() -> dict[str, tuple[Any, Step]]:
    """The libraries that are here, each with a function that waits for the device."""
    import cupy

    import adjoint

    found: dict[str, tuple[Any, Step]] = {"adjoint": (adjoint, cupy.cuda.get_current_stream().synchronize)}
    try:
        import torch
    except ImportError:
        return found
    if torch.cuda.is_available():
        found["torch"] = (torch, torch.cuda.synchronize)
    return found


def seconds(step: Step, wait: Step) -> float:
    """One step, until the device has finished it."""
    start = time.perf_counter()
    step()
    wait()
    return time.perf_counter() - start


def medians(make: Callable[..., Step], n: int, rounds: int) -> dict[str, float]:
    """The median time of a step of each library, which take turns."""
    steps = {name: (make(module, "cuda", n), wait) for name, (module, wait) in waits().items()}
    times: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(rounds + 3):
        for name, (step, wait) in steps.items():
            taken = seconds(step, wait)
            if turn >= 3:  # kernels are compiled and memory is found in the first ones
                times[name].append(taken)
    return {name: statistics.median(values) for name, values in times.items()}


def rows(rounds: int) -> list[str]:
    """The table of times."""
    lines = ["| workload | adjoint, ms | torch, ms | torch/adjoint |", "|---|---:|---:|---:|"]
    for make, n in WORKLOADS:
        found = medians(make, n, rounds)
        own, other = found["adjoint"] * 1e3, found.get("torch", float("nan")) * 1e3
        name = f"{(make.__doc__ or '').rstrip('.')} (n = {n:,})"
        lines.append(f"| {name} | {own:.3f} | {other:.3f} | {other / own:.2f} |")
    return lines


def tests() -> str:
    """The last line of the tests on the device."""
    call = [sys.executable, "-m", "pytest", "-q", "tests/arrays/libraries/test_cupy.py"]
    return subprocess.run(call, capture_output=True, text=True, check=False).stdout.strip().splitlines()[-1]


def versions() -> str:
    """The device and the versions of what ran on it."""
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    installed = {d.metadata["Name"].lower(): d.version for d in importlib.metadata.distributions()}
    named = [name for name in installed if name.startswith("cupy") or name in ("torch", "numpy")]
    return ", ".join([properties["name"].decode(), *(f"{name} {installed[name]}" for name in sorted(named))])


def main() -> int:
    """Run and write the page; returns the exit status."""
    from adjoint.arrays.size import cuda_is_available

    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--rounds", type=int, default=25, help="rounds for each workload (default 25)")
    rounds = parser.parse_args().rounds
    if not cuda_is_available():
        print("no CUDA device, or no CuPy, is here: nothing was run, and benchmarks/gpu.md is as it was")
        return 1
    page = ["# adjoint on a GPU", "", versions() + ".", "", f"Tests: {tests()}", "", *rows(rounds), ""]
    PAGE.write_text("\n".join(page))
    print(PAGE.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
