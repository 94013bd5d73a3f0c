"""Programs that test_mpi.py runs on several ranks: `mpiexec -n 2 python mpi_programs.py NAME`."""

from __future__ import annotations

import sys
import time

import numpy as np
from mpi4py import MPI

import adjoint
from adjoint.distributed import GradientReducer, abort_on_error, broadcast_parameters

COMM = MPI.COMM_WORLD
RANK, RANKS = COMM.Get_rank(), COMM.Get_size()
PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def leaf(*shape, dtype=adjoint.float64, scale=1.0):
    return adjoint.full(shape, scale, dtype=dtype, requires_grad=True)


def error_of(function):
    try:
        function()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing was raised"


@program
def average():
    """Gradients of every dtype are averaged in buckets of any size, also if one parameter needs several."""
    dtypes = [adjoint.float64, adjoint.float32, adjoint.float16, adjoint.bfloat16, adjoint.complex128]
    for bucket_bytes in (1, 40, 2**20):
        parameters = [leaf(3, 2, dtype=dtype) for dtype in dtypes] + [leaf(), leaf(0, 3), leaf(1000)]
        with GradientReducer(parameters, bucket_bytes=bucket_bytes) as reducer:
            for scale in (1, 10):
                for parameter in parameters:
                    parameter.grad = None
                sum((p * scale * (RANK + 1)).abs().sum().float() for p in parameters).backward()
                before = [p.grad for p in parameters]
                reducer.wait()
                for parameter, gradient in zip(parameters, before, strict=True):
                    assert parameter.grad is gradient and gradient.dtype == parameter.dtype
                    assert (gradient == scale * (RANKS + 1) / 2).all()
    with GradientReducer([parameters[0]], average=False) as reducer:
        parameters[0].grad = None
        (parameters[0] * (RANK + 1)).sum().backward()
        reducer.wait()
        assert (parameters[0].grad == RANKS * (RANKS + 1) / 2).all()


@program
def same_bits():
    """All ranks get equal bits, whichever rank is late. The sum is taken in the order of the ranks."""
    rng = np.random.default_rng(RANK)
    values = rng.standard_normal(10001).astype(np.float32) * 10.0 ** rng.integers(-6, 6, 10001)
    shares = COMM.allgather(values.astype(np.float32))
    expected = shares[0].copy()
    for share in shares[1:]:
        expected += share
    x = leaf(10001, dtype=adjoint.float32)
    with GradientReducer([x], average=False) as reducer:
        for late in range(RANKS):
            x.grad = None
            if late == RANK:
                time.sleep(0.05)
            (x * adjoint.from_numpy(shares[RANK])).sum().backward()
            reducer.wait()
            assert x.grad.numpy().tobytes() == expected.tobytes()


@program
def unused_parameter():
    """A parameter that one rank does not use counts as zero there. If no rank uses it, its gradient stays."""
    x, y, z, w = leaf(2), leaf(3), leaf(4), leaf(1)
    w.grad = adjoint.tensor([7.0], dtype=adjoint.float64)
    with GradientReducer([x, y, z, w], bucket_bytes=16) as reducer:
        ((x * 2).sum() + (y.sum() if RANK == 0 else 0)).backward()
        reducer.wait()
        assert (x.grad == 2).all() and (y.grad == 1 / RANKS).all() and z.grad is None and w.grad.tolist() == [7.0]
        reducer.wait()
        assert (x.grad == 2).all()


@program
def accumulation():
    """Passes under no_sync() accumulate locally; one exchange follows. A second pass without wait() is refused."""
    x = leaf(2)
    with GradientReducer([x]) as reducer:
        with reducer.no_sync():
            (x * (RANK + 1)).sum().backward()
        assert (x.grad == RANK + 1).all()
        x.sum().backward()
        again = error_of(lambda: x.sum().backward())
        expected = "RuntimeError: the gradient of parameter 0, of shape [2], was accumulated a second time"
        assert again.startswith(expected), again
        reducer.wait()
        # the refused pass accumulated before its hook ran; the first value was already sent
        assert (x.grad == (RANKS + 1) / 2 + 1).all()
    (x * 5).sum().backward()  # the reducer has removed its hooks
    assert (x.grad == (RANKS + 1) / 2 + 6).all()


@program
def disagreement():
    text = error_of(lambda: GradientReducer([leaf(2 + RANK)]))
    assert text.startswith("ValueError: parameter 0 is [3] of float64 on rank 1, but [2] of float64 on rank 0"), text
    text = error_of(lambda: GradientReducer([leaf(2)] * 1 + [leaf(1) for _ in range(RANK)]))
    assert text.startswith("ValueError: rank 1 has 2 parameters, but rank 0 has 1"), text


@program
def broadcast():
    """All ranks get the values of one rank, in place, for all dtypes and layouts."""
    tensors = [adjoint.full((2, 3), RANK, dtype=dtype) for dtype in (adjoint.bfloat16, adjoint.int64, adjoint.float64)]
    tensors += [adjoint.full((4, 5), RANK + 0.5).t()[1:], leaf(2, scale=float(RANK)), adjoint.tensor(float(RANK))]
    broadcast_parameters(tensors, root=RANKS - 1)
    assert [t.ravel()[0].item() for t in tensors] == [RANKS - 1] * 3 + [RANKS - 0.5, RANKS - 1, RANKS - 1]
    assert tensors[4].requires_grad and tensors[4].is_leaf


@program
def late():
    """A rank that never arrives is reported."""
    x = leaf(2)
    reducer = GradientReducer([x], timeout=0.5)
    if RANK == 0:
        x.sum().backward()
        text = error_of(reducer.wait)
        assert text.startswith(f"RuntimeError: rank 0 of {RANKS} has waited 0."), text
        reason = "another rank has failed, or has not called wait() after this backward pass"
        assert text.endswith(f"for bucket 1 of 1: {reason}"), text
    COMM.Barrier()
    print("noticed", flush=True)
    COMM.Abort(0)


@program
def failure():
    """An exception on one rank ends the other ranks, which would otherwise wait forever."""
    x = leaf(2)
    reducer = GradientReducer([x], timeout=None)
    if RANK == 1:
        raise ValueError("the data of this rank are broken")
    x.sum().backward()
    reducer.wait()


if __name__ == "__main__":
    with abort_on_error():
        PROGRAMS[sys.argv[1]]()
        print("done", flush=True)
        sys.exit(0)
