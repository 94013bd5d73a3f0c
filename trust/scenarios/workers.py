"""Gradients on a cluster of dask whose workers are killed and stopped: python -m trust.scenarios.workers TIMES SEED

Each call must give the bits of an undisturbed call within its time limit, or an error about the limit. The next call
must give these bits again.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sys
import threading
import time
from typing import Any

import numpy as np

import adjoint
from adjoint import distributed

TIMEOUT = 60.0


def fn(parameters: Any, shard: Any) -> Any:
    time.sleep(0.02)
    x, y = (adjoint.from_numpy(array) for array in shard)
    return ((x @ parameters["w"] - y) ** 2).sum()


def bits(result: tuple[Any, Any]) -> list[str]:
    return [result[0].numpy().tobytes().hex(), result[1]["w"].numpy().tobytes().hex()]


def main(times: int, seed: int) -> None:
    from distributed import LocalCluster

    chance = random.Random(seed)
    rng = np.random.default_rng(0)
    parts = [(rng.standard_normal((5, 3)), rng.standard_normal(5)) for _ in range(8)]
    parameters = {"w": np.ones(3)}
    counts = {"killed": 0, "stopped": 0, "right": 0, "errors": 0, "wrong": 0, "longest": 0.0}
    workers = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50)
    with workers as cluster, cluster.get_client() as client:
        at = distributed.value_and_grad(fn, parts, client, timeout=TIMEOUT)
        expected = bits(at(parameters))
        for _ in range(times):
            # a worker that starts again has none
            pids = [nanny.pid for nanny in cluster.workers.values() if nanny.pid]
            stop = chance.random() < 0.2
            counts["stopped" if stop else "killed"] += 1
            disturb = stop_for_a_second if stop else kill
            timer = threading.Timer(chance.uniform(0, 0.3), disturb, [chance.choice(pids)] if pids else [None])
            timer.start()
            begin = time.monotonic()
            try:
                counts["right" if bits(at(parameters)) == expected else "wrong"] += 1
            except RuntimeError:
                counts["errors"] += 1
            counts["longest"] = max(counts["longest"], time.monotonic() - begin)
            timer.join()
        counts["right at last"] = bits(at(parameters)) == expected
    print(json.dumps(counts))


def kill(pid: int | None) -> None:
    if pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def stop_for_a_second(pid: int | None) -> None:
    if pid is not None:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(1)
        os.kill(pid, signal.SIGCONT)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
