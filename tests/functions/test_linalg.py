"""Linear algebra: values of NumPy and SciPy, derivatives of both orders against differences, torch's errors."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import adjoint
from adjoint.arrays.kernels.linalg.errors import LinAlgError

RNG = np.random.default_rng(5)
KINDS = ["float64", "complex128"]
BATCHES: list[tuple[int, ...]] = [(), (2,), (2, 0), (2, 1, 2)]
everywhere = pytest.mark.parametrize("batch", BATCHES)
real_and_complex = pytest.mark.parametrize("dtype", KINDS)


def draw(*shape: int, dtype: str = "float64") -> np.ndarray:
    values = np.asarray(RNG.standard_normal(shape))
    if dtype.startswith("complex"):
        values = values + 1j * RNG.standard_normal(shape)
    return np.asarray(values, dtype)


def regular(*shape: int, dtype: str = "float64") -> np.ndarray:
    return draw(*shape, dtype=dtype) + 4 * np.eye(shape[-1])


def H(a: Any) -> Any:
    return np.conj(np.swapaxes(a, -1, -2)) if isinstance(a, np.ndarray) else adjoint.conj(a.transpose(-2, -1))


def value_of(result: Any) -> Any:
    """A real number that depends on every part of the result or results, with fixed weights."""
    rng = np.random.default_rng(3)
    total = None
    for part in result if isinstance(result, tuple) else (result,):
        weights = np.asarray(rng.standard_normal(tuple(part.shape)) + 0.5)
        term = (part * adjoint.from_numpy(weights).to(part.dtype)).sum()
        term = adjoint.real(term * (1 - 0.5j)) if term.is_complex() else term
        total = term if total is None else total + term
    return total


def check_gradients(f: Callable[..., Any], *values: np.ndarray, tolerance: float = 1e-5) -> None:
    """Compare first and second derivatives in a random direction with central differences."""
    directions = [draw(*v.shape, dtype=str(v.dtype)) for v in values]
    step = 1e-5

    def along(grads: Sequence[np.ndarray]) -> float:
        return float(sum(np.real(np.vdot(d, g)) for d, g in zip(directions, grads, strict=True)))

    def at(t: float) -> tuple[float, float]:
        inputs = [
            adjoint.from_numpy(np.asarray(v + t * d)).requires_grad_() for v, d in zip(values, directions, strict=True)
        ]
        value = value_of(f(*inputs))
        grads = adjoint.autograd.grad(value, inputs)
        return float(value.item()), along([g.numpy() for g in grads])

    (above, slope_above), (below, slope_below) = at(step), at(-step)
    inputs = [adjoint.from_numpy(v.copy()).requires_grad_() for v in values]
    grads = adjoint.autograd.grad(value_of(f(*inputs)), inputs, create_graph=True)
    first = along([g.numpy(force=True) for g in grads])
    assert first == pytest.approx((above - below) / (2 * step), rel=tolerance, abs=tolerance)
    total = sum(
        adjoint.real((adjoint.from_numpy(np.asarray(d.conj())) * g).sum())
        for d, g in zip(directions, grads, strict=True)
    )
    second = adjoint.autograd.grad(total, inputs, allow_unused=True) if total.requires_grad else [None] * len(inputs)
    filled = [np.zeros_like(v) if s is None else s.numpy() for s, v in zip(second, values, strict=True)]
    expected = (slope_above - slope_below) / (2 * step)
    assert along(filled) == pytest.approx(expected, rel=100 * tolerance, abs=100 * tolerance)


# solving --------------------------------------------------------------------------------------------------------------


@real_and_complex
@everywhere
def test_solve(batch: tuple[int, ...], dtype: str) -> None:
    a, b, v = regular(*batch, 3, 3, dtype=dtype), draw(*batch, 3, 2, dtype=dtype), draw(*batch, 3, dtype=dtype)
    solve = adjoint.linalg.solve
    A = adjoint.from_numpy(a)
    np.testing.assert_allclose(solve(A, adjoint.from_numpy(b)).numpy(), np.linalg.solve(a, b))
    np.testing.assert_allclose(solve(A, adjoint.from_numpy(v)).numpy(), np.linalg.solve(a, v[..., None])[..., 0])
    right = H(b).copy()
    np.testing.assert_allclose(
        solve(A, adjoint.from_numpy(right), left=False).numpy(), right @ np.linalg.inv(a), atol=1e-12
    )
    check_gradients(solve, a, b)
    check_gradients(solve, a, v)
    check_gradients(lambda x, y: solve(x, y, left=False), a, right)
    check_gradients(solve, a, draw(3, 2, dtype=dtype))
    check_gradients(solve, a, draw(3, dtype=dtype))


@real_and_complex
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("unitriangular", [False, True])
@everywhere
def test_solve_triangular(batch: tuple[int, ...], unitriangular: bool, left: bool, upper: bool, dtype: str) -> None:
    a = regular(*batch, 3, 3, dtype=dtype)
    b = draw(*batch, *((3, 2) if left else (2, 3)), dtype=dtype)
    f = lambda x, y: adjoint.linalg.solve_triangular(x, y, upper=upper, left=left, unitriangular=unitriangular)
    triangle = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        triangle = triangle - triangle * np.eye(3) + np.eye(3)
    expected = np.linalg.inv(triangle) @ b if left else b @ np.linalg.inv(triangle)
    np.testing.assert_allclose(f(adjoint.from_numpy(a), adjoint.from_numpy(b)).numpy(), expected, atol=1e-12)
    check_gradients(f, a, b)


@real_and_complex
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_solve_and_inverse(upper: bool, dtype: str) -> None:
    factor = regular(2, 3, 3, dtype=dtype)
    factor = np.triu(factor) if upper else np.tril(factor)
    matrix = H(factor) @ factor if upper else factor @ H(factor)
    b = draw(2, 3, 2, dtype=dtype)
    L = adjoint.from_numpy(factor)
    solution = adjoint.cholesky_solve(adjoint.from_numpy(b), L, upper=upper)
    np.testing.assert_allclose(solution.numpy(), np.linalg.solve(matrix, b), atol=1e-12)
    np.testing.assert_allclose(adjoint.cholesky_inverse(L, upper=upper).numpy(), np.linalg.inv(matrix), atol=1e-12)
    part_of = adjoint.triu if upper else adjoint.tril
    check_gradients(lambda y, x: adjoint.cholesky_solve(y, part_of(x), upper=upper), b, factor)
    check_gradients(lambda x: adjoint.cholesky_inverse(part_of(x), upper=upper), factor)


@real_and_complex
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_factors_have_a_derivative_where_they_are_not_read(upper: bool, dtype: str) -> None:
    """As in PyTorch, the derivative is that of (L H(L))^-1 B for any square L, to any order and for all values."""
    whole = regular(3, 3, dtype=dtype)
    triangle = np.triu(whole) if upper else np.tril(whole)
    b, v = (adjoint.from_numpy(draw(3, 2, dtype=dtype)) for _ in range(2))

    def dense(x: Any) -> Any:
        return adjoint.linalg.solve(x.mH @ x if upper else x @ x.mH, b)

    results = []
    for f, start in (
        (dense, triangle),
        *[(lambda x: adjoint.cholesky_solve(b, x, upper), a) for a in (triangle, whole)],
    ):
        x = adjoint.from_numpy(start.copy()).requires_grad_()
        (first,) = adjoint.autograd.grad(f(x), x, v, create_graph=True)
        (second,) = adjoint.autograd.grad(first, x, adjoint.from_numpy(whole))
        tangent = adjoint.func.jvp(f, (x.detach(),), (adjoint.from_numpy(whole),))[1]
        results.append([part.numpy(force=True) for part in (first, second, tangent)])
    for other in results[1:]:
        for part, expected in zip(other, results[0], strict=True):
            np.testing.assert_allclose(part, expected, rtol=1e-9, atol=1e-9)


@real_and_complex
def test_lstsq(dtype: str) -> None:
    a, b = draw(4, 2, dtype=dtype), draw(4, 3, dtype=dtype)
    expected, residuals, rank, values = np.linalg.lstsq(a, b)
    A, B = adjoint.from_numpy(a), adjoint.from_numpy(b)
    result = adjoint.linalg.lstsq(A, B, driver="gelsd")
    np.testing.assert_allclose(result.solution.numpy(), expected)
    np.testing.assert_allclose(result.residuals.numpy(), residuals)
    np.testing.assert_allclose(result.singular_values.numpy(), values)
    assert result.rank.item() == rank
    assert adjoint.linalg.lstsq(A, B).residuals.shape == (0,)
    solutions = {driver: adjoint.linalg.lstsq(A[None], B[None], driver=driver) for driver in ("gels", "gelsy", "gelss")}
    shapes = {driver: [tuple(part.shape) for part in result[1:]] for driver, result in solutions.items()}
    assert shapes == {"gels": [(1, 3), (0,), (0,)], "gelsy": [(0,), (1,), (0,)], "gelss": [(1, 3), (1,), (1, 2)]}
    mapped = adjoint.func.vmap(lambda x: adjoint.linalg.lstsq(x, B, driver="gelsd").residuals)(A[None])
    np.testing.assert_allclose(mapped.numpy(), residuals[None])
    check_gradients(lambda x, y: adjoint.linalg.lstsq(x, y).solution, a, b)


@pytest.mark.parametrize(
    ("shapes", "driver", "message"),
    [
        (((3,), (3,)), None, "input must have at least 2 dimensions"),
        (((5, 3), (2, 5, 2)), None, "must be greater or equal to other.dim"),
        (((5, 3), (4,)), None, r"input.size\(-2\) should match other.size\(-1\)"),
        (((5, 3), (5, 1)), "qr", r"should be one of \(gels, gelsy, gelsd, gelss\)"),
    ],
)
def test_errors_of_lstsq(shapes: tuple[tuple[int, ...], ...], driver: str | None, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        adjoint.linalg.lstsq(*map(adjoint.ones, shapes), driver=driver)
    with pytest.raises(RuntimeError, match="got input's dtype Float and other's dtype Double"):
        adjoint.linalg.lstsq(adjoint.ones(2, 1), adjoint.ones(2, 1).double())


# inverses and determinants --------------------------------------------------------------------------------------------


@real_and_complex
@everywhere
def test_inverses(batch: tuple[int, ...], dtype: str) -> None:
    a = regular(*batch, 3, 3, dtype=dtype)
    for inv in (adjoint.linalg.inv, adjoint.inverse, lambda x: x.inverse()):
        np.testing.assert_allclose(inv(adjoint.from_numpy(a)).numpy(), np.linalg.inv(a))
    check_gradients(adjoint.linalg.inv, a)
    for shape in [(4, 2), (2, 4), (1, 3)]:
        m = draw(*batch, *shape, dtype=dtype)
        np.testing.assert_allclose(adjoint.linalg.pinv(adjoint.from_numpy(m)).numpy(), np.linalg.pinv(m), atol=1e-12)
        check_gradients(adjoint.linalg.pinv, m)


@real_and_complex
@everywhere
def test_determinants(batch: tuple[int, ...], dtype: str) -> None:
    a = regular(*batch, 3, 3, dtype=dtype)
    A = adjoint.from_numpy(a)
    np.testing.assert_allclose(adjoint.linalg.det(A).numpy(), np.linalg.det(a))
    np.testing.assert_allclose(A.det().numpy(), np.linalg.det(a))
    for actual, expected in zip(adjoint.linalg.slogdet(A), np.linalg.slogdet(a), strict=True):
        np.testing.assert_allclose(actual.numpy(), expected)
        assert actual.numpy().dtype == expected.dtype
    check_gradients(adjoint.linalg.det, a)
    check_gradients(lambda x: tuple(adjoint.linalg.slogdet(x)), a)
    positive = a @ H(a) if dtype == "float64" else a
    check_gradients(adjoint.logdet, positive)
    reference = np.log(np.linalg.det(positive))
    np.testing.assert_allclose(adjoint.logdet(adjoint.from_numpy(positive)).numpy(), reference)


def cofactor_matrix(a: np.ndarray) -> np.ndarray:
    n = len(a)
    result = np.empty_like(a)
    for i, j in np.ndindex(n, n):
        minor = np.delete(np.delete(a, i, 0), j, 1)
        result[i, j] = (-1) ** (i + j) * np.linalg.det(minor)
    return result


@real_and_complex
@pytest.mark.parametrize("rank", [0, 1, 2, 3, 4])
def test_derivatives_of_the_determinant_are_exact_for_singular_matrices(rank: int, dtype: str) -> None:
    a = draw(4, rank, dtype=dtype) @ draw(rank, 4, dtype=dtype)
    x = adjoint.from_numpy(a).requires_grad_()
    (g,) = adjoint.autograd.grad(value_of(adjoint.linalg.det(x)), [x], create_graph=True)
    weight = np.conj(np.random.default_rng(3).standard_normal() + 0.5)
    if dtype == "complex128":
        weight = weight * (1 + 0.5j)
    np.testing.assert_allclose(g.numpy(force=True), weight * np.conj(cofactor_matrix(a)), atol=1e-10)
    check_gradients(adjoint.linalg.det, a)


def test_each_singular_matrix_of_a_batch_has_its_own_derivative() -> None:
    batch = np.stack([draw(4, rank) @ draw(rank, 4) for rank in (3, 2)] + [np.diag([1.0, 2.0, 3.0, 0.0])])
    x = adjoint.from_numpy(batch).requires_grad_()
    adjoint.linalg.det(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [cofactor_matrix(a) for a in batch], atol=1e-10)


def test_determinants_of_singular_and_empty_matrices() -> None:
    sign, size = adjoint.linalg.slogdet(adjoint.zeros(2, 2))
    assert (sign.item(), size.item()) == (0.0, -math.inf)
    assert adjoint.logdet(adjoint.zeros(2, 2)).item() == -math.inf
    assert math.isnan(adjoint.logdet(adjoint.tensor([[1.0, 0.0], [0.0, -1.0]])).item())
    assert adjoint.linalg.det(adjoint.zeros(0, 0)).item() == 1.0
    assert adjoint.linalg.slogdet(adjoint.zeros(2, 0, 0)).sign.tolist() == [1.0, 1.0]
    x = adjoint.zeros(0, 0, requires_grad=True)
    (g,) = adjoint.autograd.grad(adjoint.linalg.det(x), [x], create_graph=True)
    assert g.shape == (0, 0)
    x = adjoint.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    (g,) = adjoint.autograd.grad(adjoint.linalg.slogdet(x)[1], [x])
    assert g.abs().tolist() == [[math.inf, math.inf], [math.inf, math.inf]]
    with np.errstate(invalid="ignore"):
        (tangent,) = adjoint.func.jvp(lambda y: adjoint.linalg.slogdet(y).sign, (x.detach(),), (adjoint.eye(2),))[1:]
    assert tangent.item() == 0
    with np.errstate(divide="ignore"):
        undefined = adjoint.logdet(adjoint.zeros(2, 2, dtype=adjoint.complex128))
    assert undefined.real.item() == -math.inf
    assert math.isnan(undefined.imag.item())
    singular = adjoint.tensor([[1.0, 2, 3], [2, 4, 6], [1, 0, 1]], dtype=adjoint.complex128, requires_grad=True)
    (g,) = adjoint.autograd.grad(adjoint.linalg.slogdet(singular)[1], [singular])
    assert g.isnan().all()


@pytest.mark.parametrize("name", ["inv", "det", "cholesky", "eigvalsh", "svdvals", "pinv", "matrix_exp"])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_matrices_without_elements(name: str, batch: tuple[int, ...]) -> None:
    x = adjoint.zeros(*batch, 0, 0, dtype=adjoint.float64, requires_grad=True)
    result = getattr(adjoint.linalg, name)(x)
    assert result.shape[: len(batch)] == batch
    (g,) = adjoint.autograd.grad(result.sum(), [x])
    assert g.shape == x.shape


# factorizations -------------------------------------------------------------------------------------------------------


@real_and_complex
@everywhere
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky(upper: bool, batch: tuple[int, ...], dtype: str) -> None:
    a = regular(*batch, 3, 3, dtype=dtype)
    p = a @ H(a)
    factor = adjoint.linalg.cholesky(adjoint.from_numpy(p), upper=upper).numpy()
    np.testing.assert_allclose(factor, H(np.linalg.cholesky(p)) if upper else np.linalg.cholesky(p))
    check_gradients(lambda x: adjoint.linalg.cholesky(x @ H(x), upper=upper), a)


def test_cholesky_reads_one_triangle() -> None:
    lower = adjoint.tensor([[4.0, 99.0], [2.0, 2.0]])
    assert lower.cholesky().tolist() == [[2.0, 0.0], [1.0, 1.0]]
    assert lower.t().cholesky(upper=True).tolist() == [[2.0, 1.0], [0.0, 1.0]]


@real_and_complex
@everywhere
def test_eigh(batch: tuple[int, ...], dtype: str) -> None:
    a = draw(*batch, 3, 3, dtype=dtype) + np.diag([1.0, 5.0, 9.0])
    h = (a + H(a)) / 2
    values, vectors = adjoint.linalg.eigh(adjoint.from_numpy(h))
    np.testing.assert_allclose(values.numpy(), np.linalg.eigvalsh(h))
    np.testing.assert_allclose(h @ vectors.numpy(), vectors.numpy() * values.numpy()[..., None, :], atol=1e-12)

    def invariants(x: Any) -> Any:
        w, v = adjoint.linalg.eigh((x + H(x)) / 2)
        return w, v.abs(), v @ (H(v) * adjoint.exp(0.1 * w)[..., None])

    check_gradients(invariants, a)
    check_gradients(lambda x: adjoint.linalg.eigvalsh((x + H(x)) / 2), a)


def test_equal_eigenvalues_do_not_spoil_functions_that_do_not_tell_them_apart() -> None:
    x = (2 * np.eye(3)).copy()

    def exponential(a: Any) -> Any:
        return adjoint.exp(adjoint.linalg.eigh((a + H(a)) / 2).eigenvalues).sum()

    A = adjoint.from_numpy(x).requires_grad_()
    (g,) = adjoint.autograd.grad(exponential(A), [A])
    np.testing.assert_allclose(g.numpy(), math.exp(2.0) * np.eye(3), atol=1e-12)
    (g,) = adjoint.autograd.grad(adjoint.linalg.svdvals(A).sum(), [A])
    np.testing.assert_allclose(g.numpy(), np.eye(3), atol=1e-12)


@real_and_complex
def test_eig(dtype: str) -> None:
    a = draw(3, 3, dtype=dtype) + np.diag([1.0, 5.0, 9.0])
    values, vectors = adjoint.linalg.eig(adjoint.from_numpy(a))
    assert values.is_complex()
    np.testing.assert_allclose(a @ vectors.numpy(), vectors.numpy() * values.numpy(), atol=1e-12)

    def invariants(x: Any) -> Any:
        w, v = adjoint.linalg.eig(x)
        return (v * adjoint.exp(0.1 * w)) @ adjoint.linalg.inv(v)

    check_gradients(invariants, a)
    check_gradients(lambda x: (adjoint.linalg.eigvals(x) ** 2).sum(-1), a)


SHAPES = [(4, 3), (3, 4), (3, 3), (1, 3), (3, 1)]


@real_and_complex
@everywhere
@pytest.mark.parametrize("shape", SHAPES)
def test_svd(shape: tuple[int, int], batch: tuple[int, ...], dtype: str) -> None:
    a = draw(*batch, *shape, dtype=dtype) + 3 * np.eye(*shape) * np.arange(1, shape[1] + 1)
    u, s, vh = adjoint.linalg.svd(adjoint.from_numpy(a), full_matrices=False)
    np.testing.assert_allclose((u.numpy() * s.numpy()[..., None, :]) @ vh.numpy(), a, atol=1e-12)
    full = adjoint.linalg.svd(adjoint.from_numpy(a))
    assert full.U.shape == (*batch, shape[0], shape[0])
    assert full.Vh.shape == (*batch, shape[1], shape[1])

    def invariants(x: Any) -> Any:
        u, s, vh = adjoint.linalg.svd(x, full_matrices=False)
        return u.abs(), s, vh.abs(), u @ vh

    check_gradients(invariants, a)
    check_gradients(lambda x: adjoint.linalg.svd(x).S, a)
    check_gradients(adjoint.linalg.svdvals, a)


@real_and_complex
@everywhere
@pytest.mark.parametrize("shape", SHAPES)
def test_qr(shape: tuple[int, int], batch: tuple[int, ...], dtype: str) -> None:
    a = draw(*batch, *shape, dtype=dtype) + np.eye(*shape)
    q, r = adjoint.linalg.qr(adjoint.from_numpy(a))
    np.testing.assert_allclose(q.numpy() @ r.numpy(), a, atol=1e-12)
    np.testing.assert_allclose(r.numpy(), np.triu(r.numpy()))
    check_gradients(lambda x: tuple(adjoint.linalg.qr(x)), a)
    if shape[0] <= shape[1]:
        check_gradients(lambda x: tuple(adjoint.linalg.qr(x, mode="complete")), a)


def test_qr_modes_without_derivative() -> None:
    x = adjoint.ones(3, 2, requires_grad=True)
    q, r = adjoint.linalg.qr(x, mode="r")
    assert q.numel() == 0
    with pytest.raises(RuntimeError, match="depends on Q, which is not computed when mode='r'"):
        r.sum().backward()
    with pytest.raises(RuntimeError, match="not differentiable when mode='complete' and nrows > ncols"):
        adjoint.linalg.qr(x, mode="complete").R.sum().backward()
    with pytest.raises(RuntimeError, match="qr received unrecognized mode 'x'"):
        adjoint.linalg.qr(x, mode="x")


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: adjoint.linalg.svd(x).U, "svd_backward: The singular vectors in the complex case"),
        (lambda x: adjoint.linalg.eigh(x @ H(x)).eigenvectors, "linalg_eigh_backward: The eigenvectors in the complex"),
        (lambda x: adjoint.linalg.eig(x).eigenvectors, "linalg_eig_backward: The eigenvectors in the complex case"),
    ],
)
def test_functions_that_depend_on_phases_are_refused(f: Any, message: str) -> None:
    x = adjoint.from_numpy(draw(3, 3, dtype="complex128")).requires_grad_()
    with pytest.raises(RuntimeError, match=message):
        adjoint.real(f(x)).sum().backward()


def test_complex_singular_vectors_share_their_turn() -> None:
    """Only the sum of both angles is determined. As in PyTorch, each vector of a pair turns by half of the sum."""
    a, t = (adjoint.from_numpy(draw(4, 3, dtype="complex128")) for _ in range(2))
    (U, S, Vh), (dU, dS, dVh) = adjoint.func.jvp(lambda x: tuple(adjoint.linalg.svd(x, False)), (a,), (t,))
    left, right = (adjoint.linalg.diagonal(x) for x in (U.mH @ dU, Vh @ dVh.mH))
    np.testing.assert_allclose(left.imag.numpy(), -right.imag.numpy(), atol=1e-12)
    assert left.imag.abs().max() > 1e-2
    back = (dU * S) @ Vh + (U * dS) @ Vh + (U * S) @ dVh
    np.testing.assert_allclose((U @ U.mH @ back).numpy(), (U @ U.mH @ t).numpy(), atol=1e-12)


def test_singular_values_have_one_driver() -> None:
    x = adjoint.from_numpy(draw(3, 2))
    assert adjoint.linalg.svd(x, driver=None).S.shape == adjoint.linalg.svdvals(x, driver=None).shape
    for function in (adjoint.linalg.svd, adjoint.linalg.svdvals):
        with pytest.raises(RuntimeError, match="keyword argument `driver=` is only supported on CUDA inputs"):
            function(x, driver="gesvd")


@real_and_complex
@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (2, 5, 4)])
def test_low_rank(shape: tuple[int, ...], dtype: str) -> None:
    """A matrix of rank 2 has exact factors. Gradients of functions that ignore the phases are exact, too."""
    thin, wide = draw(*shape[:-1], 2, dtype=dtype), draw(*shape[:-2], 2, shape[-1], dtype=dtype)
    a = adjoint.from_numpy(thin @ wide)
    U, S, V = adjoint.svd_lowrank(a, q=2)
    np.testing.assert_allclose(S.numpy(), np.linalg.svd(a.numpy())[1][..., :2])
    np.testing.assert_allclose(((U * S[..., None, :]) @ V.mH).numpy(), a.numpy(), atol=1e-10)
    M = adjoint.from_numpy(draw(*shape, dtype=dtype))
    np.testing.assert_allclose(adjoint.svd_lowrank(a + M, 2, M=M)[1].numpy(), S.numpy())
    full = adjoint.from_numpy(draw(*shape, dtype=dtype))
    expected = adjoint.linalg.svdvals(full - full.mean(-2, True))
    U, S, V = adjoint.pca_lowrank(full, min(shape[-2:]))
    np.testing.assert_allclose(S.numpy(), expected.numpy(), atol=1e-10)
    check_gradients(lambda x, y: adjoint.svd_lowrank(x @ y, q=2)[1], thin, wide)


def test_errors_of_pca() -> None:
    with pytest.raises(ValueError, match=r"q\(=3\) must be non-negative integer and not greater than min\(m, n\)=2"):
        adjoint.pca_lowrank(adjoint.ones(2, 4), q=3)
    with pytest.raises(ValueError, match=r"niter\(=-1\) must be non-negative integer"):
        adjoint.pca_lowrank(adjoint.ones(2, 4), niter=-1)


def test_older_names() -> None:
    a = draw(3, 2)
    x = adjoint.from_numpy(a)
    u, s, v = x.svd()
    np.testing.assert_allclose((u.numpy() * s.numpy()) @ v.numpy().T, a)
    q, r = adjoint.qr(x)
    np.testing.assert_allclose(q.numpy() @ r.numpy(), a)
    np.testing.assert_allclose(x.pinverse().numpy(), np.linalg.pinv(a))
    square = regular(3, 3)
    y = adjoint.from_numpy(square)
    np.testing.assert_allclose(y.matrix_power(2).numpy(), square @ square)
    np.testing.assert_allclose(y.matrix_exp().numpy(), scipy.linalg.expm(square))
    np.testing.assert_allclose(y.slogdet()[1].numpy(), np.linalg.slogdet(square)[1])
    b = adjoint.from_numpy(draw(3, 1))
    solution = adjoint.triangular_solve(b, y, upper=False, transpose=True).solution
    coefficient = adjoint.triangular_solve(b.clone().requires_grad_(), y).cloned_coefficient
    assert coefficient.requires_grad
    assert adjoint.equal(coefficient.detach(), y)
    np.testing.assert_allclose(np.tril(square).T @ solution.numpy(), b.numpy())


# functions of matrices ------------------------------------------------------------------------------------------------


@real_and_complex
@everywhere
def test_matrix_functions(batch: tuple[int, ...], dtype: str) -> None:
    a = regular(*batch, 3, 3, dtype=dtype) / 3
    if a.size:
        np.testing.assert_allclose(adjoint.linalg.matrix_exp(adjoint.from_numpy(a)).numpy(), scipy.linalg.expm(a))
    check_gradients(adjoint.linalg.matrix_exp, a)
    for n in (0, 1, 2, 5, -1, -2):
        power = adjoint.linalg.matrix_power(adjoint.from_numpy(a), n)
        np.testing.assert_allclose(power.numpy(), np.linalg.matrix_power(a, n), atol=1e-12)
        if n:
            check_gradients(lambda x, n=n: adjoint.linalg.matrix_power(x, n), a)


@real_and_complex
def test_of_hermitian_matrices_the_lower_triangle_is_read(dtype: str) -> None:
    whole = draw(2, 3, 3, dtype=dtype)
    a = np.tril(whole) + H(np.tril(whole, -1))
    a[..., range(3), range(3)] = a[..., range(3), range(3)].real
    result = adjoint.linalg.pinv(adjoint.from_numpy(whole), hermitian=True)
    np.testing.assert_allclose(result.numpy(), np.linalg.pinv(a), atol=1e-10)
    check_gradients(lambda x: adjoint.linalg.pinv(x + x.mH, hermitian=True), whole)
    x = adjoint.ones(3, 3).tril()
    assert adjoint.linalg.matrix_rank(x) == 3
    assert adjoint.linalg.matrix_rank(x, hermitian=True) == 1


def test_rank_and_condition() -> None:
    a = draw(4, 2) @ draw(2, 4)
    assert adjoint.linalg.matrix_rank(adjoint.from_numpy(a)).item() == 2
    assert adjoint.linalg.matrix_rank(adjoint.eye(3), atol=2.0).item() == 0
    b = regular(3, 3)
    for p in (None, 2, -2, 1, -1, math.inf, "fro", "nuc"):
        condition = adjoint.linalg.cond(adjoint.from_numpy(b), p).item()
        assert condition == pytest.approx(np.linalg.cond(b, p))
        check_gradients(lambda x, p=p: adjoint.linalg.cond(x, p), b)


# norms ----------------------------------------------------------------------------------------------------------------

ORDERS = ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf]


@real_and_complex
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dim", [(-2, -1), (0, 2), (2, 0), (1, 0)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_matrix_norm(order: Any, dim: tuple[int, int], keepdim: bool, dtype: str) -> None:
    a = draw(2, 3, 4, dtype=dtype)
    f = lambda x: adjoint.linalg.matrix_norm(x, order, dim, keepdim)
    np.testing.assert_allclose(f(adjoint.from_numpy(a)).numpy(), np.linalg.norm(a, order, dim, keepdim))
    check_gradients(f, a)


@pytest.mark.parametrize(
    ("shape", "order", "dim"),
    [((3,), None, None), ((2, 3), None, None), ((2, 2, 3), None, None), ((3,), 1, None), ((3,), math.inf, None)]
    + [((2, 3), order, None) for order in ORDERS]
    + [((2, 3, 4), 3, 1), ((2, 3, 4), 2, (0, 2)), ((2, 3, 4), None, (0, 2)), ((2, 3, 4), "nuc", (-1, 0))],
)
def test_norm(shape: Any, order: Any, dim: Any) -> None:
    a = draw(*shape)
    f = lambda x: adjoint.linalg.norm(x, order, dim)
    expected = np.linalg.norm(a.ravel() if order is None and dim is None else a, order, dim)
    np.testing.assert_allclose(f(adjoint.from_numpy(a)).numpy(), expected)
    check_gradients(f, a)


def test_norms_of_empty_matrices_and_another_dtype() -> None:
    for order in ("fro", "nuc", 1, 2):
        assert adjoint.linalg.matrix_norm(adjoint.ones(0, 3), order).item() == 0.0
    # without singular values, the largest one is a constant
    x = adjoint.ones(0, 3, requires_grad=True)
    orders = ("fro", "nuc", 1, 2, math.inf)
    assert [adjoint.linalg.matrix_norm(x, order).requires_grad for order in orders] == [True, True, True, False, False]
    assert adjoint.linalg.matrix_norm(adjoint.ones(2, 2), dtype=adjoint.float64).dtype is adjoint.float64


def test_older_norms() -> None:
    x = adjoint.from_numpy(draw(2, 3, 4))
    for dim in ((0, 2), (1, 2)):
        expected = np.linalg.norm(x.numpy(), "nuc", dim)
        np.testing.assert_allclose(adjoint.nuclear_norm(x, dim).numpy(), expected)
        np.testing.assert_allclose(
            adjoint.frobenius_norm(x, dim, True).numpy().ravel(), np.linalg.norm(x.numpy(), axis=dim)
        )
    assert adjoint.frobenius_norm(x, 1).shape == (2, 4)
    np.testing.assert_allclose(adjoint.frobenius_norm(x, ()).numpy(), np.linalg.norm(x.numpy()))


def test_a_count_of_elements_has_no_gradient() -> None:
    x = adjoint.ones(3, requires_grad=True)
    norm = adjoint.linalg.vector_norm(x, 0)
    assert norm.requires_grad
    assert adjoint.autograd.grad(norm, x, allow_unused=True) == (None,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.matrix_norm(adjoint.ones(3)), "The input tensor A must have at least 2 dimensions"),
        (lambda m: m.matrix_norm(adjoint.ones(3, 3), 3), "linalg.matrix_norm: Order 3 not supported"),
        (lambda m: m.matrix_norm(adjoint.ones(3, 3), dim=(0, 0)), r"dims must be different. Got \(0, 0\)"),
        (lambda m: m.matrix_norm(adjoint.ones(3, 3), dim=(0,)), "dim must be a 2-tuple. Got 0"),
        (
            lambda m: m.matrix_norm(adjoint.ones(3, 3), 1, dtype=adjoint.float16),
            r"matrix_norm: the dtype of the input \(Float\) should be convertible without narrowing",
        ),
        (
            lambda m: adjoint.frobenius_norm(adjoint.ones(2, 2, 2), (0, 1, 2)),
            "Expected at most 2 dimensions, but got 3",
        ),
        (lambda m: m.norm(adjoint.ones(2, 2, 2), 2), "the input must be 1D or 2D. Got 3D"),
        (lambda m: m.norm(adjoint.ones(2, 2, 2), dim=(0, 1, 2)), r"must be of length 1 or 2. Got \[0, 1, 2\]"),
    ],
)
def test_norm_errors(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call(adjoint.linalg)


# errors ---------------------------------------------------------------------------------------------------------------

SINGULAR = [[1.0, 2.0], [2.0, 4.0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, s: m.inv(s), "linalg.inv: The diagonal element 2 is zero, the inversion could not be completed"),
        (lambda m, s: m.inv(adjoint.stack([adjoint.eye(2), s])), r"linalg.inv: \(Batch element 1\): The diagonal"),
        (lambda m, s: m.solve(s, adjoint.ones(2)), "linalg.solve: The solver failed because the input matrix is sing"),
        (
            lambda m, s: m.solve(adjoint.stack([adjoint.eye(2), s]), adjoint.ones(2, 2)),
            r"linalg.solve: \(Batch element 1\): The solver failed",
        ),
        (
            lambda m, s: m.cholesky(-s),
            r"linalg.cholesky: The factorization .* \(the leading minor of order 1 is not positive-definite\)",
        ),
        (lambda m, s: m.cholesky(adjoint.stack([adjoint.eye(2), -s])), r"cholesky: \(Batch element 1\): The fact"),
    ],
)
def test_matrices_that_do_not_allow_it(call: Any, message: str) -> None:
    with pytest.raises(LinAlgError, match=message):
        call(adjoint.linalg, adjoint.tensor(SINGULAR))
    assert issubclass(LinAlgError, RuntimeError)


@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "cholesky", "eigh", "eig", "matrix_exp", "matrix_power"])
def test_matrices_must_be_square(name: str) -> None:
    f = getattr(adjoint.linalg, name)
    extra = (2,) if name == "matrix_power" else ()
    with pytest.raises(RuntimeError, match="A must be batches of square matrices, but they are 2 by 3 matrices"):
        f(adjoint.ones(2, 3), *extra)
    with pytest.raises(RuntimeError, match="The input tensor A must have at least 2 dimensions"):
        f(adjoint.ones(3), *extra)


@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "cholesky", "eigh", "qr", "svd", "matrix_exp"])
def test_integers_are_not_converted(name: str) -> None:
    with pytest.raises(RuntimeError, match=r"Expected a floating point or complex tensor as input\. Got Long"):
        getattr(adjoint.linalg, name)(adjoint.ones(2, 2, dtype=adjoint.int64))


@pytest.mark.parametrize(
    ("a", "b", "left", "message"),
    [
        ((3, 3), (2, 2), True, r"equation AX = B \(3x3 and 2x2\)"),
        ((3, 3), (2,), True, r"equation AX = B \(3x3 and 2x1\)"),
        ((3, 3), (2, 2), False, r"equation XA = B \(3x3 and 2x2\)"),
        ((3, 3), (3,), False, r"equation XA = B \(3x3 and 3x1\)"),
        ((3, 3), (), True, "The input tensor B must have at least 2 dimensions"),
        ((3, 2), (3,), True, "they are 3 by 2 matrices"),
    ],
)
def test_sides_that_do_not_fit(a: Any, b: Any, left: bool, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        adjoint.linalg.solve(adjoint.ones(a), adjoint.ones(b), left=left)


def test_a_zero_on_the_diagonal_of_a_triangle_divides() -> None:
    with np.errstate(all="ignore"):
        x = adjoint.linalg.solve_triangular(adjoint.zeros(2, 2), adjoint.ones(2, 1), upper=True)
    assert not np.isfinite(x.numpy()).any()


def test_other_errors() -> None:
    eye = adjoint.eye(3)
    with pytest.raises(RuntimeError, match="found A of type Float and B of type Double instead"):
        adjoint.linalg.solve(eye, adjoint.ones(3, dtype=adjoint.float64))
    with pytest.raises(RuntimeError, match="Expected UPLO argument to be 'L' or 'U', but got X"):
        adjoint.linalg.eigh(eye, UPLO="X")
    with pytest.raises(RuntimeError, match="each A matrix is 3 by 3 but each b matrix"):
        adjoint.cholesky_solve(adjoint.ones(2, 2), eye)
    with pytest.raises(RuntimeError, match=r"linalg\.pinv\(Float\{\[3\]\}\): expected a tensor with 2 or more"):
        adjoint.linalg.pinv(adjoint.ones(3))
    with pytest.raises(TypeError, match=r"must be Tensor, not int"):
        adjoint.linalg.inv(3)


def test_names_that_parameters_have_besides_those_of_the_documentation() -> None:
    a, b = adjoint.tensor([[2.0], [0.0]]), adjoint.tensor([[4.0], [1.0]])
    assert adjoint.linalg.lstsq(input=a, b=b).solution.tolist() == adjoint.linalg.lstsq(a, b).solution.tolist()
    root = 2 * adjoint.eye(2)
    assert adjoint.cholesky_solve(b, input2=root).tolist() == [[1.0], [0.25]]
    reflected = adjoint.ormqr(root, input2=adjoint.ones(2), input3=b)
    assert reflected.tolist() == adjoint.ormqr(root, adjoint.ones(2), b).tolist()


def test_a_power_is_a_whole_number() -> None:
    with pytest.raises(TypeError, match=r"argument 'n' \(position 2\) must be int, not float"):
        adjoint.linalg.matrix_power(adjoint.eye(2), 2.0)
    assert adjoint.linalg.matrix_power(2 * adjoint.eye(2), np.int64(2)).tolist() == [[4.0, 0.0], [0.0, 4.0]]


def test_determinants_of_undefined_matrices_have_undefined_derivatives() -> None:
    a = np.array([[4.0, 1.0], [0.0, 5.0]])
    x = adjoint.tensor(np.stack([a, np.full((2, 2), np.nan)]), requires_grad=True)
    with np.errstate(invalid="ignore"):  # NumPy warns
        value = adjoint.linalg.det(x).sum()
    (gradient,) = adjoint.autograd.grad(value, x, create_graph=True)
    np.testing.assert_allclose(gradient[0].detach().numpy(), [[5.0, 0.0], [-1.0, 4.0]], atol=1e-12)
    assert adjoint.isnan(gradient[1]).all()
    (curvature,) = adjoint.autograd.grad(gradient, x, adjoint.ones(2, 2, 2).double())
    # the second derivative of a d - b c along a direction of four ones
    np.testing.assert_allclose(curvature[0].numpy(), [[1.0, -1.0], [-1.0, 1.0]], atol=1e-12)
    assert adjoint.isnan(curvature[1]).all()


def test_singular_values_of_an_infinite_matrix_have_undefined_derivatives() -> None:
    x = adjoint.tensor([[1 + 1j, np.inf], [2, 3j]], dtype=adjoint.complex128, requires_grad=True)
    adjoint.linalg.svdvals(x).sum().backward()
    assert adjoint.isnan(x.grad).all()


# infinities ----------------------------------------------------------------------------------------------------------

ITERATIVE: dict[str, Callable[[adjoint.Tensor], Any]] = {
    "svdvals": adjoint.linalg.svdvals,
    "svd": lambda a: adjoint.linalg.svd(a)[1],
    "thin svd": lambda a: adjoint.linalg.svd(a, full_matrices=False)[0],
    "pinv": adjoint.linalg.pinv,
    "cond": adjoint.linalg.cond,
    "norm 2": lambda a: adjoint.linalg.matrix_norm(a, 2),
    "norm -2": lambda a: adjoint.linalg.matrix_norm(a, -2),
    "nuclear norm": lambda a: adjoint.linalg.matrix_norm(a, "nuc"),
    "lstsq": lambda a: adjoint.linalg.lstsq(a, a[..., :1]).solution,
    "lstsq by gelsd": lambda a: adjoint.linalg.lstsq(a, a[..., :1], driver="gelsd").singular_values,
    "numpy.linalg.svd": lambda a: np.linalg.svd(a)[1],
    "numpy.linalg.cond": np.linalg.cond,
}


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("name", ITERATIVE)
def test_matrices_with_an_infinity_give_nan(name: str, dtype: str) -> None:
    """LAPACK's iterations do not end for some such matrices. One infinity in a stack is enough, at any position."""
    regular = np.random.default_rng(0).normal(size=(3, 3)) + 3 * np.eye(3)
    regular = regular + regular.T
    for position in ((0, 1), (1, 1), (slice(None), slice(None))):
        matrix = regular.copy()
        matrix[position] = matrix.T[position] = math.inf
        alone = ITERATIVE[name](adjoint.tensor(matrix).to(getattr(adjoint, dtype)))
        assert alone.isnan().all()
        stack = adjoint.tensor(np.stack([regular, matrix])).to(getattr(adjoint, dtype))
        first, second = ITERATIVE[name](stack)
        np.testing.assert_allclose(first.numpy(), ITERATIVE[name](stack[0]).numpy(), rtol=1e-4, atol=1e-6)
        assert second.isnan().all()
    assert int(adjoint.linalg.matrix_rank(adjoint.tensor(matrix))) == 0


def test_each_matrix_has_its_own_bound_in_pinv() -> None:
    A = adjoint.tensor([[[1.0, 0.0], [0.0, 0.3]], [[100.0, 0.0], [0.0, 0.3]]], dtype=adjoint.float64)
    result = adjoint.linalg.pinv(A, atol=0.5)
    assert result[:, 1, 1].tolist() == [0.0, 0.0]
    result = adjoint.linalg.pinv(A, atol=adjoint.tensor([0.5, 0.1], dtype=adjoint.float64))
    np.testing.assert_allclose(result[:, 1, 1].numpy(), [0.0, 1 / 0.3])
    result = adjoint.linalg.pinv(A, rtol=adjoint.tensor([0.1, 0.1], dtype=adjoint.float64))
    np.testing.assert_allclose(result[:, 1, 1].numpy(), [1 / 0.3, 0.0])


def test_rank_with_a_bound_for_each_matrix() -> None:
    pair = adjoint.tensor([[[2.0, 0.0], [0.0, 0.5]]]).expand(3, 2, 2)
    assert adjoint.linalg.matrix_rank(pair, atol=adjoint.tensor([0.1, 1.0, 3.0])).tolist() == [2, 1, 0]
    assert adjoint.linalg.matrix_rank(pair, rtol=adjoint.tensor([0.1, 0.3, 1.0])).tolist() == [2, 1, 0]
    assert adjoint.linalg.matrix_rank(pair[0], tol=1.0).item() == 1
    for function in (adjoint.linalg.matrix_rank, adjoint.linalg.pinv):
        with pytest.raises(RuntimeError, match="must be batches of square matrices"):
            function(adjoint.ones(2, 3), hermitian=True)


def test_first_and_zeroth_power_of_matrices() -> None:
    x = adjoint.tensor([[2.0, 1.0], [0.0, float("inf")]], requires_grad=True)
    one, same = adjoint.linalg.matrix_power(x, 0), adjoint.linalg.matrix_power(x, 1)
    assert one.tolist() == [[1.0, 0.0], [0.0, 1.0]] and same is not x and not same._is_view()
    one.sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_shapes_of_solve_ex():
    with pytest.raises(RuntimeError, match="Incompatible shapes of A and B for the equation XA = B"):
        adjoint.linalg.solve_ex(adjoint.eye(3), adjoint.ones(3), left=False)


def test_vander_of_a_number():
    assert adjoint.linalg.vander(adjoint.tensor(2.0), N=3).tolist() == [[1.0, 2.0, 4.0]]


@pytest.mark.parametrize("upper", [False, True])
def test_triangle_of_cholesky_inverse(upper: bool) -> None:
    """The result depends on the triangle that is read. Its tangent agrees with finite differences."""
    factor = np.tril(RNG.normal(size=(4, 4))) + 3 * np.eye(4)
    t, other = np.tril(RNG.normal(size=(4, 4))), np.triu(RNG.normal(size=(4, 4)), 1)
    if upper:
        factor, t, other = factor.T.copy(), t.T.copy(), other.T.copy()
    function = lambda v: adjoint.cholesky_inverse(v, upper=upper)
    result = adjoint.func.jvp(function, (adjoint.from_numpy(factor),), (adjoint.from_numpy(t),))[1].numpy()
    step = 1e-6
    sides = [function(adjoint.from_numpy(factor + sign * step * t + other)).numpy() for sign in (1, -1)]
    np.testing.assert_allclose(result, (sides[0] - sides[1]) / (2 * step), rtol=1e-6, atol=1e-8)
