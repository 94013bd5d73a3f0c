"""Training on several ranks, one of which is disturbed: mpiexec -n 3 python -m trust.scenarios.ranks

Arguments: the folder of the state, the number of steps, what happens, a seed.

Each step compares the averaged gradients with the gradients of all data. Every rank has all data, so it can compute
them. Rank 0 stores the state after each step. A run begins with the stored state. WHAT names the disturbance of a rank
at a random moment: it is killed, stopped, fails, is late, is slow, or nothing happens.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

import adjoint
from adjoint.distributed import GradientReducer, abort_on_error

#: `wait` raises an error after this number of seconds without another rank.
TIMEOUT = 1.0
ROWS = 12


def model() -> Any:
    adjoint.manual_seed(0)
    layers = [adjoint.nn.Linear(4, 6), adjoint.nn.Tanh(), adjoint.nn.Linear(6, 1)]
    return adjoint.nn.Sequential(*layers).double()


def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return adjoint.from_numpy(rng.standard_normal((ROWS, 4))), adjoint.from_numpy(rng.standard_normal((ROWS, 1)))


def loss(network: Any, x: Any, y: Any) -> Any:
    return ((network(x) - y) ** 2).mean()


class Disturbance:
    """The disturbance of one rank, at a random time or in a random step."""

    def __init__(self, what: str, seed: int, rank: int, ranks: int, steps: int) -> None:
        chance = random.Random(seed)
        self.what = what if rank == chance.randrange(ranks) else "nothing"
        self.step = chance.randrange(steps)
        if self.what in ("kill", "stop"):
            number = signal.SIGKILL if what == "kill" else signal.SIGSTOP
            signal.signal(signal.SIGALRM, lambda *arguments: self.note() or os.kill(os.getpid(), number))
            signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.0, 0.4))

    def note(self) -> None:
        """Print the time of the disturbance. The time until other ranks notice it is counted from here."""
        print(f"disturbed at {time.time()}", flush=True)

    def strike(self, step: int, network: Any) -> None:
        """The disturbance before the backward pass of a step."""
        if step != self.step:
            return
        if self.what == "slow":
            time.sleep(TIMEOUT / 2)
        if self.what == "late":
            self.note()
            time.sleep(TIMEOUT * 30)
        if self.what == "fail":
            self.note()
            next(network.parameters()).register_hook(fail)


def fail(g: Any) -> None:
    raise ValueError("this rank fails")


def restore(file: Path, network: Any, optimizer: Any) -> int:
    """The number of completed steps. Their state is loaded."""
    if not file.exists():
        return 0
    state = adjoint.load(file)
    network.load_state_dict(state["network"])
    optimizer.load_state_dict(state["optimizer"])
    return int(state["done"])


def store(file: Path, network: Any, optimizer: Any, steps: int) -> None:
    """Store the state. If the process is killed at this moment, the earlier file remains."""
    beside = file.with_suffix(".new")
    adjoint.save({"network": network.state_dict(), "optimizer": optimizer.state_dict(), "done": steps}, beside)
    os.replace(beside, file)


def check(network: Any, x: Any, y: Any) -> None:
    """Check that the averaged gradients are those of all data."""
    expected = adjoint.autograd.grad(loss(network, x, y), list(network.parameters()))
    for parameter, gradient in zip(network.parameters(), expected, strict=True):
        if not np.allclose(parameter.grad.numpy(), gradient.numpy(), rtol=1e-12, atol=1e-14):
            print("wrong gradient", flush=True)
            raise AssertionError("wrong gradient")


def train(folder: Path, steps: int, what: str, seed: int) -> None:
    world = MPI.COMM_WORLD
    rank, ranks = world.Get_rank(), world.Get_size()
    network = model()
    optimizer = adjoint.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    first = restore(folder / "state", network, optimizer)
    x, y = data()
    rows = slice(rank * ROWS // ranks, (rank + 1) * ROWS // ranks)
    with GradientReducer(network.parameters(), bucket_bytes=100, timeout=TIMEOUT) as reducer:
        disturbance = Disturbance(what, seed, rank, ranks, steps)
        for step in range(first, steps):
            disturbance.strike(step, network)
            optimizer.zero_grad()
            loss(network, x[rows], y[rows]).backward()
            reducer.wait()
            check(network, x, y)
            optimizer.step()
            if rank == 0:
                store(folder / "state", network, optimizer, step + 1)
            time.sleep(0.01)
    if rank == 0:
        values = np.concatenate([p.detach().numpy().ravel() for p in network.parameters()])
        print(f"trained from {first}: {values.tobytes().hex()}", flush=True)


if __name__ == "__main__":
    with abort_on_error():
        train(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
