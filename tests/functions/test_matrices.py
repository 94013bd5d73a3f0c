"""Products of groups of matrices, and eigenpairs."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import adjoint
from adjoint.autograd import gradcheck

grouped_mm = adjoint.nn.functional.grouped_mm


def ends(*values: int) -> Any:
    return adjoint.tensor(values, dtype=adjoint.int32)


def rand(*shape: int) -> Any:
    return adjoint.tensor(numpy.random.default_rng(3).normal(size=shape), requires_grad=True)


@pytest.mark.parametrize("offsets", [(2, 5), (0, 5), (5, 5), (1, 3), (0, 0)])
@pytest.mark.parametrize(("first", "second"), [((5, 3), (2, 3, 4)), ((2, 4, 3), (3, 5)), ((3, 5), (5, 4))])
def test_grouped_mm(first: tuple[int, ...], second: tuple[int, ...], offsets: tuple[int, int]) -> None:
    a, b, offs = rand(*first), rand(*second), ends(*offsets)
    result = grouped_mm(a, b, offs=offs).detach().numpy()
    x, y = a.detach().numpy(), b.detach().numpy()
    for n, (i, j) in enumerate(zip((0, offsets[0]), offsets, strict=True)):
        if len(first) == len(second):
            numpy.testing.assert_allclose(result[n], x[:, i:j] @ y[i:j])
        elif len(first) == 2:
            numpy.testing.assert_allclose(result[i:j], x[i:j] @ y[n])
        else:
            numpy.testing.assert_allclose(result[:, i:j], x[n] @ y[:, i:j])
    if len(first) != len(second):
        rest = result[offsets[1] :] if len(first) == 2 else result[:, offsets[1] :]
        assert not rest.any()
    assert gradcheck(lambda a, b: grouped_mm(a, b, offs=offs), (a, b))


@pytest.mark.parametrize(
    ("args", "options", "error", "message"),
    [
        ((rand(5, 3), rand(2, 3, 4)), {}, RuntimeError, "Have to provide offsets"),
        ((rand(2, 5, 3), rand(2, 3, 4)), {"offs": ends(1, 2)}, RuntimeError, "Have to provide offsets"),
        ((rand(5, 3), rand(2, 3, 4)), {"offs": adjoint.tensor([2, 5])}, RuntimeError, "Offsets have to be int32"),
        ((rand(5, 3), rand(2, 3, 4)), {"offs": ends(2, 5).view(1, 2)}, RuntimeError, "offs has to be 1D"),
        ((rand(5, 3), rand(2, 3, 4)), {"offs": [2, 5]}, TypeError, "must be Tensor, not list"),
        ((rand(5, 3), rand(2, 3, 4)), {"offs": ends(5)}, RuntimeError, "matrix batch sizes have to match"),
        ((rand(5, 3), rand(2, 3, 4)), {"offs": ends(3, 2)}, RuntimeError, "must ascend"),
        ((rand(5, 3), rand(2, 3, 4)), {"offs": ends(2, 6)}, RuntimeError, "ends at 6"),
        ((rand(2, 5, 3), rand(3, 3, 4)), {}, RuntimeError, "batched dimension has to match"),
        ((rand(2, 5, 3), rand(2, 5, 3)), {}, RuntimeError, "contraction dimension"),
        ((rand(3), rand(2, 3, 4)), {}, RuntimeError, "mat_a has to be 2 or 3d"),
        ((rand(2, 5, 3), rand(2, 3, 4)), {"bias": rand(4)}, RuntimeError, "Bias not supported yet"),
        ((rand(2, 5, 3), rand(2, 3, 4)), {"out_dtype": adjoint.float32}, RuntimeError, "output dtype must match"),
        ((rand(2, 5, 3), rand(2, 3, 4).float()), {}, RuntimeError, "to have the same dtype"),
        ((3, rand(2, 3, 4)), {}, TypeError, "must be Tensor, not int"),
    ],
)
def test_bad_groups(args: Any, options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        grouped_mm(*args, **options)


@pytest.mark.parametrize("largest", [None, True, False])
@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize("k", [1, 2])
def test_lobpcg(largest: bool | None, general: bool, k: int) -> None:
    a, b = rand(2, 7, 7), rand(2, 7, 7)
    A = (a + a.mT).detach()
    B = (b @ b.mT).detach() + adjoint.eye(7, dtype=adjoint.float64) if general else None
    values, vectors = adjoint.lobpcg(A, k=k, B=B, largest=largest)
    metric = adjoint.eye(7, dtype=adjoint.float64) if B is None else B
    assert adjoint.allclose(A @ vectors, metric @ vectors * values[:, None])
    assert adjoint.allclose(vectors.mT @ metric @ vectors, adjoint.eye(k, dtype=adjoint.float64))
    every = adjoint.linalg.eigvals(adjoint.linalg.solve(metric.expand(2, 7, 7), A)).real.sort().values
    assert adjoint.allclose(values, every[:, :k] if largest is False else every[:, -k:].flip(-1))


@pytest.mark.parametrize("general", [False, True])
def test_lobpcg_has_derivatives(general: bool) -> None:
    def function(a: Any, b: Any) -> Any:
        eye = adjoint.eye(6, dtype=adjoint.float64)
        values, vectors = adjoint.lobpcg(a + a.mT, k=2, B=b @ b.mT + eye if general else None)
        return values, (vectors * vectors)

    b = rand(6, 6)
    assert gradcheck(function, (rand(6, 6), b if general else b.detach()), check_forward_ad=True)


def test_lobpcg_takes_the_number_from_its_start() -> None:
    A = adjoint.diag(adjoint.arange(9.0))
    assert adjoint.lobpcg(A)[0].tolist() == [8]
    assert adjoint.lobpcg(A, X=adjoint.ones(9, 2))[0].tolist() == [8, 7]
    assert adjoint.lobpcg(A, n=3)[0].tolist() == [8, 7, 6]
    with pytest.raises(ValueError, match=r"rows \(=9\) is smaller than 3 x .* \(=4\)"):
        adjoint.lobpcg(A, k=4)
    with pytest.raises(AssertionError, match="A must be square"):
        adjoint.lobpcg(adjoint.ones(2, 3))
    with pytest.raises(ValueError, match="must be positive, got 0"):
        adjoint.lobpcg(A, k=0)
    with pytest.raises(NotImplementedError, match="tracker"):
        adjoint.lobpcg(A, tracker=print)  # type: ignore[arg-type]
