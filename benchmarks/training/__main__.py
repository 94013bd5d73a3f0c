"""Training programs beside PyTorch: the same losses, and the time of a step.

    python -m benchmarks.training [--document docs/benchmarks.md] [--losses tests/data/training.json]

Times are those of the processor on one thread, the least of alternating rounds.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

from ..document import TRAINING
from ..programs.document import with_section
from .programs import PROGRAMS, losses

TEXT = """\
{title}

Written by `python -m benchmarks.training --document docs/benchmarks.md`. A step computes the loss and its gradients and
changes the parameters, with `nn` and `optim`; both libraries begin with the same values. Times are those of the
processor on one thread, the least of alternating rounds; a ratio is how many times faster adjoint is. The loss is that
of step 50, and the difference the largest of all 50 in relation to PyTorch's.

| program | adjoint | PyTorch | ratio | loss | difference |
|---|---:|---:|---:|---:|---:|
{programs}

A step of the optimizer alone, over 50 parameters (25 matrices and 25 vectors):

| optimizer | parameters | adjoint | PyTorch | ratio |
|---|---|---:|---:|---:|
{optimizers}
"""
SIZES = (8, 64, 512)
ROUNDS = 7


def alternating(calls: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The shortest processor time of each call. The calls take turns."""
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = process_time()
            for _ in range(repeats):
                call()
            least[name] = min(least[name], (process_time() - start) / repeats)
    return least


def optimizer_step(torch: Any, name: str, size: int) -> Callable[[], Any]:
    """The step of an optimizer over 50 parameters."""
    parameters = [torch.nn.Parameter(torch.randn(shape)) for _ in range(25) for shape in ((size, size), (size,))]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    step: Callable[[], Any] = getattr(torch.optim, name)(parameters).step
    for _ in range(3):
        step()
    return step


def cells(times: dict[str, float]) -> str:
    """The times and their ratio as cells of a table."""
    ours, other = times["adjoint"], times["torch"]
    return f"{ours * 1e6:,.0f} µs | {other * 1e6:,.0f} µs | {other / ours:.2f}"


def main() -> None:
    import torch

    import adjoint

    parser = argparse.ArgumentParser()
    parser.add_argument("--document", type=Path)
    parser.add_argument("--losses", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    adjoint.set_num_threads(1)
    libraries = {"adjoint": adjoint, "torch": torch}
    rows, reference = [], {}
    for name, program in PROGRAMS.items():
        results, expected = (losses(library, name) for library in libraries.values())
        reference[name] = expected
        difference = max(abs(a - b) / abs(b) for a, b in zip(results, expected, strict=True))
        times = alternating({key: program(library) for key, library in libraries.items()}, 10)
        summary = (program.__doc__ or "").rstrip(".")
        rows.append(f"| **{name}**: {summary} | {cells(times)} | {expected[-1]:.4f} | {difference:.0e} |")
        print(rows[-1], flush=True)
    steps = []
    for name in ("SGD", "Adam", "AdamW", "RMSprop"):
        for size in SIZES:
            calls = {key: optimizer_step(library, name, size) for key, library in libraries.items()}
            times = alternating(calls, 5 if size > 100 else 30)
            steps.append(f"| {name} | {size} × {size} and {size} | {cells(times)} |")
            print(steps[-1], flush=True)
    if options.losses:
        options.losses.write_text(json.dumps(reference, indent=1) + "\n")
    if options.document:
        text = TEXT.format(title=TRAINING, programs="\n".join(rows), optimizers="\n".join(steps))
        page = options.document.read_text(encoding="utf-8")
        options.document.write_text(with_section(page, text), encoding="utf-8")


if __name__ == "__main__":
    main()
