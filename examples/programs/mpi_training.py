"""Training in several processes, with MPI
=======================================

Data-parallel training over MPI: each rank differentiates its share of the data, and all ranks make the same steps.

    mpiexec -n 2 python examples/programs/mpi_training.py

needs `pip install 'adjoint-autograd[mpi]'`. A network of two layers learns which of ten random directions a vector is
closest to. Every rank makes the same data and keeps its share; the printed check compares the averaged gradient with
that of the whole data, computed by rank 0 alone.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from mpi4py import MPI

import adjoint
from adjoint.distributed import GradientReducer, abort_on_error, broadcast_parameters
from adjoint.nn.functional import cross_entropy

ROWS, WIDTH, HIDDEN, CLASSES, STEPS = 20_000, 64, 256, 10, 30


def data() -> tuple[np.ndarray, np.ndarray]:
    """Vectors, and the number of the closest direction for each."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((ROWS, WIDTH), dtype=np.float32)
    return vectors, (vectors @ rng.standard_normal((WIDTH, CLASSES), dtype=np.float32)).argmax(1)


def loss_of(parameters: list[adjoint.Tensor], vectors: np.ndarray, labels: np.ndarray) -> adjoint.Tensor:
    first, shift, second = parameters
    hidden = (adjoint.from_numpy(vectors) @ first + shift).relu()
    return cross_entropy(hidden @ second, adjoint.from_numpy(labels))


def main() -> None:
    comm = MPI.COMM_WORLD
    rank, ranks = comm.Get_rank(), comm.Get_size()
    adjoint.manual_seed(rank)  # each rank draws different values; rank 0 broadcasts its own
    shapes = [(WIDTH, HIDDEN), (HIDDEN,), (HIDDEN, CLASSES)]
    parameters = [(0.1 * adjoint.randn(*shape)).requires_grad_() for shape in shapes]
    broadcast_parameters(parameters, comm)

    vectors, labels = data()
    share = slice(rank * ROWS // ranks, (rank + 1) * ROWS // ranks)
    whole = (vectors, labels)
    vectors, labels = vectors[share], labels[share]

    waited, begin = 0.0, time.perf_counter()
    with GradientReducer(parameters, comm) as reducer:
        for step in range(STEPS):
            loss = loss_of(parameters, vectors, labels)
            loss.backward()
            before = time.perf_counter()
            reducer.wait()
            waited += time.perf_counter() - before
            if step == 0 and rank == 0:
                check(parameters, *whole)
            with adjoint.no_grad():
                for parameter in parameters:
                    parameter -= 0.5 * parameter.grad
                    parameter.grad = None
    seconds = (time.perf_counter() - begin) / STEPS
    loss_now = comm.allreduce(loss.item()) / ranks
    if rank == 0:
        print(f"{ranks} ranks: loss {loss_now:.4f} after {STEPS} steps of {seconds * 1e3:.1f} ms, ", end="")
        print(f"{waited / STEPS / seconds:.0%} of which waiting for the other ranks")
    same = comm.allgather([parameter.detach().numpy().tobytes() for parameter in parameters])
    if rank == 0:
        print(f"parameters are the same bits on all ranks: {all(other == same[0] for other in same)}")


def check(parameters: list[adjoint.Tensor], vectors: np.ndarray, labels: np.ndarray) -> None:
    """Compare the averaged gradients with the gradients for the whole data."""
    expected = adjoint.autograd.grad(loss_of(parameters, vectors, labels), parameters)
    worst = max(
        (p.grad - g).abs().max().item() / g.abs().max().item() for p, g in zip(parameters, expected, strict=True)
    )
    print(f"averaged gradient beside that of all {len(labels)} rows on one rank: relative difference {worst:.1e}")
    if worst > 1e-4:
        raise AssertionError("the averaged gradient is not that of the whole data")


if __name__ == "__main__":
    with abort_on_error():
        main()
    sys.exit(0)
