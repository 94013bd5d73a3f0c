"""Data larger than memory, with Dask
==================================

Logistic regression on data larger than the memory that the process may have: a lazy tape over dask arrays.

    python examples/programs/dask_logistic_regression.py [MILLIONS OF ROWS]

needs `pip install 'adjoint-autograd[dask]'`. The data lie in a file and are read in blocks. Forward and backward pass
make one graph of tasks; `compute` runs it block by block, so that no more than a few blocks are in memory at a time.
The process sets itself a limit (Linux: RLIMIT_DATA), under which the data as one array is a MemoryError.
"""

from __future__ import annotations

import re
import resource
import sys
import tempfile
import time
from pathlib import Path

import dask
import dask.array as da
import numpy as np

import adjoint
from adjoint import distributed
from adjoint.nn.functional import binary_cross_entropy_with_logits

FEATURES, BLOCK, STEPS, RATE = 63, 20_000, 12, 4.0
ROW = FEATURES + 1  # the features, then the label
WORKERS, ALLOWED = 2, 128 << 20
STATUS = Path("/proc/self/status")


def write(path: Path, blocks: int) -> float:
    """Write the data in blocks. Returns the accuracy of the weights that generated them."""
    weights = np.random.default_rng(0).standard_normal(FEATURES, dtype=np.float32) / np.sqrt(FEATURES) * 4
    right = 0
    with path.open("wb") as file:
        for number in range(blocks):
            rng = np.random.default_rng([1, number])
            rows = rng.standard_normal((BLOCK, ROW), dtype=np.float32)
            scores = rows[:, :-1] @ weights
            rows[:, -1] = rng.random(BLOCK) < 1 / (1 + np.exp(-scores))
            right += int(((scores > 0) == rows[:, -1]).sum())
            rows.tofile(file)
    return right / (blocks * BLOCK)


def read(path: Path, number: int) -> np.ndarray:
    return np.fromfile(path, np.float32, BLOCK * ROW, offset=4 * number * BLOCK * ROW).reshape(BLOCK, ROW)


def limit() -> bool:
    """Limit the process to ALLOWED more bytes of data. Returns False if the system cannot."""
    match = re.search(r"VmData:\s+(\d+) kB", STATUS.read_text()) if STATUS.exists() else None
    if match is None:
        return False
    resource.setrlimit(resource.RLIMIT_DATA, (int(match[1]) * 1024 + ALLOWED, resource.RLIM_INFINITY))
    return True


def peak() -> int:
    """The peak memory of the process, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def main(millions: float) -> None:
    blocks = round(millions * 1e6 / BLOCK)
    size = 4 * blocks * BLOCK * ROW
    with tempfile.TemporaryDirectory() as folder, dask.config.set(scheduler="threads", num_workers=WORKERS):
        path = Path(folder) / "rows"
        best = write(path, blocks)
        before, limited = peak(), limit()
        if limited:
            try:
                np.empty(size, np.uint8)
                raise AssertionError("the limit does not hold")
            except MemoryError:
                print(f"{size >> 20} MiB of data as one array: MemoryError, {ALLOWED >> 20} MiB are allowed")
        lazy = dask.delayed(read, pure=False)
        rows = da.concatenate(
            [da.from_delayed(lazy(path, number), (BLOCK, ROW), np.float32) for number in range(blocks)]
        )
        x, y = adjoint.as_tensor(rows[:, :-1]), adjoint.as_tensor(rows[:, -1])
        w = adjoint.zeros(FEATURES, requires_grad=True)
        begin = time.perf_counter()
        for _ in range(STEPS):
            score = x @ w
            loss = binary_cross_entropy_with_logits(score, y)
            hits = ((score > 0) == (y > 0)).float().mean()
            # the loss, the gradient and the accuracy in one pass over the file
            loss, gradient, hits = distributed.compute(loss, *adjoint.autograd.grad(loss, w), hits)
            with adjoint.no_grad():
                w -= RATE * gradient
        seconds = time.perf_counter() - begin
    print(f"{STEPS} steps of gradient descent: {seconds:.1f} s, {STEPS * size / seconds / 1e9:.2f} GB/s")
    print(f"memory: {before} MiB before, {peak()} MiB at most")
    print(f"loss {float(loss):.4f}, accuracy {float(hits):.4f}; with the weights that made the labels {best:.4f}")
    assert float(hits) > best - 0.005
    assert not limited or peak() - before <= ALLOWED >> 20 < size >> 20


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.6)
