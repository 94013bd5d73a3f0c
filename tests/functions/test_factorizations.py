"""LU, LDL, Householder reflectors, and factorizations that may fail: products, derivatives, torch's errors."""

from typing import Any

import numpy as np
import pytest

import adjoint

RNG = np.random.default_rng(21)
linalg = adjoint.linalg
real_and_complex = pytest.mark.parametrize("dtype", ["float64", "complex128"])
SHAPES = [(3, 3), (2, 3, 3), (4, 2), (2, 2, 4), (0, 0), (0, 3, 2)]


def draw(*shape: int, dtype: str = "float64") -> np.ndarray:
    values = np.asarray(RNG.standard_normal(shape))
    return values + 1j * RNG.standard_normal(shape) if dtype.startswith("complex") else values


def H(a: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(a, -1, -2))


def check_derivatives(f: Any, *values: np.ndarray) -> None:
    """The jvp agrees with differences, and the vjp is its transpose. The same holds for the derivative of the vjp."""
    step = 1e-6
    primals = tuple([adjoint.from_numpy(v) for v in values])
    directions = [draw(*v.shape, dtype=str(v.dtype)) for v in values]
    tangents = tuple([adjoint.from_numpy(d) for d in directions])
    y, t = adjoint.func.jvp(f, primals, tangents)
    after, before = [f(*[p + s * d for p, d in zip(primals, tangents, strict=True)]) for s in (step, -step)]
    np.testing.assert_allclose(t.numpy(), ((after - before) / (2 * step)).numpy(), rtol=1e-5, atol=1e-5)
    g = adjoint.from_numpy(draw(*y.shape, dtype=str(y.numpy().dtype)))

    def pull_cotangents(*arguments: Any) -> Any:
        _, pull = adjoint.func.vjp(f, *arguments)
        return pull(g)

    first = pull_cotangents(*primals)
    assert sum(np.vdot(a.numpy(), d).real for a, d in zip(first, directions, strict=True)) == pytest.approx(
        np.vdot(g.numpy(), t.numpy()).real
    )
    _, seconds = adjoint.func.jvp(pull_cotangents, primals, tangents)
    points = [pull_cotangents(*[p + s * d for p, d in zip(primals, tangents, strict=True)]) for s in (step, -step)]
    for second, above, below in zip(seconds, *points, strict=True):
        np.testing.assert_allclose(second.numpy(), ((above - below) / (2 * step)).numpy(), rtol=1e-4, atol=1e-4)


# LU -----------------------------------------------------------------------------------------------------------------


@real_and_complex
@pytest.mark.parametrize("shape", SHAPES)
def test_lu(shape: tuple[int, ...], dtype: str) -> None:
    a = draw(*shape, dtype=dtype)
    A, k = adjoint.from_numpy(a), min(shape[-2:])
    P, L, U = linalg.lu(A)
    np.testing.assert_allclose((P @ L @ U).numpy(), a, atol=1e-12)
    assert L.shape[-1] == U.shape[-2] == k
    assert P.dtype is A.dtype
    np.testing.assert_array_equal(np.triu(L.numpy()[..., :k, :], 1), 0)
    np.testing.assert_array_equal(np.diagonal(L.numpy(), 0, -2, -1), 1)
    np.testing.assert_array_equal(np.tril(U.numpy(), -1), 0)
    LU, pivots = linalg.lu_factor(A)
    assert pivots.dtype is adjoint.int32
    for once, again in zip(adjoint.lu_unpack(LU, pivots), (P, L, U), strict=True):
        np.testing.assert_array_equal(once.numpy(), again.numpy())
    old = A.lu(get_infos=True)
    np.testing.assert_array_equal(old[0].numpy(), LU.numpy())
    assert not old[2].numpy().any()


def test_pivots_mean_what_they_mean_in_lapack() -> None:
    import scipy.linalg

    a = draw(5, 4)
    expected, places = scipy.linalg.lu_factor(a)
    LU, pivots = linalg.lu_factor(adjoint.from_numpy(a))
    np.testing.assert_allclose(LU.numpy(), expected)
    np.testing.assert_array_equal(pivots.numpy(), places + 1)


@real_and_complex
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("turned", [True, False])
@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3), (0, 0)])
def test_lu_solve(shape: tuple[int, ...], turned: bool, left: bool, dtype: str) -> None:
    a = draw(*shape, dtype=dtype) + 3 * np.eye(shape[-1])
    b = draw(*shape[:-1], 2, dtype=dtype) if left else draw(*shape[:-2], 2, shape[-1], dtype=dtype)
    f = lambda A, B: linalg.lu_solve(*linalg.lu_factor(A), B, left=left, adjoint=turned)
    matrix = H(a) if turned else a
    x = f(adjoint.from_numpy(a), adjoint.from_numpy(b)).numpy()
    np.testing.assert_allclose(matrix @ x if left else x @ matrix, b, atol=1e-12)
    if a.size:
        check_derivatives(f, a, b)


def test_lu_solve_broadcasts_and_has_an_older_form() -> None:
    a, b = draw(3, 3), draw(2, 3, 1)
    LU, pivots = linalg.lu_factor(adjoint.from_numpy(a))
    expected = np.linalg.solve(a, b)
    np.testing.assert_allclose(linalg.lu_solve(LU, pivots, adjoint.from_numpy(b)).numpy(), expected)
    np.testing.assert_allclose(adjoint.from_numpy(b).lu_solve(LU, pivots).numpy(), expected)


def test_lu_unpack_of_parts() -> None:
    LU, pivots = linalg.lu_factor(adjoint.from_numpy(draw(3, 3)))
    assert [part.numel() for part in adjoint.lu_unpack(LU, pivots, unpack_data=False)] == [9, 0, 0]
    assert [part.numel() for part in adjoint.lu_unpack(LU, pivots, unpack_pivots=False)] == [0, 9, 9]
    parts = adjoint.lu_unpack(LU.requires_grad_(), pivots, unpack_data=False)
    assert [part.requires_grad for part in parts] == [False, True, True]
    unpivoted = linalg.lu(adjoint.ones(0, 3), pivot=False)
    assert (unpivoted.P.shape, unpivoted.U.shape) == ((0,), (0, 3))


def test_nothing_to_multiply_with_has_undefined_gradients() -> None:
    A, tau = adjoint.ones(3, 2, requires_grad=True), adjoint.ones(0, requires_grad=True)
    Q = linalg.householder_product(A, tau)
    np.testing.assert_array_equal(Q.numpy(force=True), np.eye(3, 2))
    empty = adjoint.ones(0, 3, 2, requires_grad=True), adjoint.ones(0, 2, requires_grad=True)
    product = adjoint.ormqr(*empty, adjoint.ones(0, 3, 1))
    assert product.shape == (0, 3, 1)
    for result, inputs in ((Q, (A, tau)), (product, empty)):
        assert result.requires_grad
        assert adjoint.autograd.grad(result.sum(), inputs, allow_unused=True) == (None, None)
    other = adjoint.ones(0, 3, 1, requires_grad=True)
    assert adjoint.autograd.grad(adjoint.ormqr(*empty, other).sum(), other)[0].shape == (0, 3, 1)
    tangent = adjoint.func.jvp(lambda x: linalg.householder_product(x, tau), (A,), (A,))[1]
    assert not tangent.any()
    solution = linalg.lstsq(A, adjoint.ones(3, 1))
    assert solution.residuals.requires_grad
    assert adjoint.autograd.grad(solution.residuals.sum(), A, allow_unused=True) == (None,)
    assert linalg.lstsq(A, adjoint.ones(3, 0)).rank == 0


def test_zero_pivots() -> None:
    zeros = adjoint.zeros(2, 3, 3)
    zeros[0] = adjoint.eye(3)
    assert linalg.lu_factor_ex(zeros).info.tolist() == [0, 1]
    P, L, U = linalg.lu(zeros)
    np.testing.assert_array_equal((P @ L @ U).numpy(), zeros.numpy())
    for call in (lambda: linalg.lu_factor(zeros), lambda: linalg.lu_factor_ex(zeros, check_errors=True)):
        with pytest.raises(RuntimeError, match=r"\(Batch element 1\): U\[1,1\] is zero and using it on lu_solve"):
            call()


# factorizations that may fail -----------------------------------------------------------------------------------------


def test_inverses_that_may_fail() -> None:
    a = np.stack([np.eye(3) * 2, np.diag([1.0, 0.0, 1.0])])
    with np.errstate(all="ignore"):
        inverse, info = linalg.inv_ex(adjoint.from_numpy(a))
    assert info.tolist() == [0, 2]
    np.testing.assert_allclose(inverse.numpy()[0], np.eye(3) / 2)
    assert not np.isfinite(inverse.numpy()[1]).all()
    message = r"linalg.inv_ex: \(Batch element 1\): The diagonal element 2 is zero"
    with pytest.raises(linalg.LinAlgError, match=message):
        linalg.inv_ex(adjoint.from_numpy(a), check_errors=True)
    check_derivatives(lambda A: linalg.inv_ex(A).inverse, draw(3, 3) + 3 * np.eye(3))


def test_solutions_that_may_fail() -> None:
    a, b = draw(3, 3) + 3 * np.eye(3), draw(3, 2)
    for left, sides in ((True, b), (False, H(b).copy()), (True, b[:, 0].copy())):
        f = lambda A, B, left=left: linalg.solve_ex(A, B, left=left).result
        expected = linalg.solve(adjoint.from_numpy(a), adjoint.from_numpy(sides), left=left)
        np.testing.assert_allclose(f(adjoint.from_numpy(a), adjoint.from_numpy(sides)).numpy(), expected.numpy())
        check_derivatives(f, a, sides)
    zeros = adjoint.zeros(3, 3)
    with np.errstate(all="ignore"):
        assert linalg.solve_ex(zeros, adjoint.ones(3)).info == 1
        x = zeros.clone().requires_grad_()
        (g,) = adjoint.autograd.grad(linalg.solve_ex(x, adjoint.ones(3)).result.sum(), x)
        assert not g.isfinite().any()
        (t,) = adjoint.func.jvp(lambda A: linalg.solve_ex(A, adjoint.ones(3)).result, (zeros,), (adjoint.eye(3),))[1:]
        assert not t.isfinite().any()
    with pytest.raises(linalg.LinAlgError, match=r"torch.linalg.solve_ex: The solver failed because the input matrix"):
        linalg.solve_ex(zeros, adjoint.ones(3), check_errors=True)


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_that_may_fail(upper: bool) -> None:
    a = draw(2, 3, 3, dtype="complex128")
    a = a @ H(a) + np.eye(3)
    L, info = linalg.cholesky_ex(adjoint.from_numpy(a), upper=upper)
    np.testing.assert_allclose(L.numpy(), linalg.cholesky(adjoint.from_numpy(a), upper=upper).numpy())
    assert info.tolist() == [0, 0]
    a[1] = np.diag([1.0, -1.0, 1.0])
    assert linalg.cholesky_ex(adjoint.from_numpy(a), upper=upper).info.tolist() == [0, 2]
    with pytest.raises(linalg.LinAlgError, match=r"linalg.cholesky_ex: \(Batch element 1\): .* minor of order 2"):
        linalg.cholesky_ex(adjoint.from_numpy(a), upper=upper, check_errors=True)


# LDL ----------------------------------------------------------------------------------------------------------------


@real_and_complex
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("n", [0, 1, 5, 8])
def test_ldl(n: int, hermitian: bool, dtype: str) -> None:
    """An indefinite matrix with a zero diagonal needs blocks of two rows."""
    a = draw(2, n, n, dtype=dtype)
    a = a + (H(a) if hermitian else np.swapaxes(a, -1, -2))
    a[0] -= np.diag(np.diagonal(a[0]))
    b = draw(2, n, 3, dtype=dtype)
    factors = linalg.ldl_factor_ex(adjoint.from_numpy(a), hermitian=hermitian)
    if n != 1:
        assert not factors.info.numpy().any()
        x = linalg.ldl_solve(factors.LD, factors.pivots, adjoint.from_numpy(b), hermitian=hermitian)
        np.testing.assert_allclose(a @ x.numpy(), b, atol=1e-10)
    if n > 1:
        assert (factors.pivots.numpy() < 0).any()


def test_ldl_of_a_singular_matrix() -> None:
    with pytest.raises(linalg.LinAlgError, match=r"zero on the diagonal of D \(element 1\)"):
        linalg.ldl_factor(adjoint.zeros(2, 2))
    assert linalg.ldl_factor_ex(adjoint.zeros(2, 2)).info == 1


def test_what_has_no_derivative_says_so() -> None:
    A = adjoint.eye(2).requires_grad_()
    LD, pivots = linalg.ldl_factor(A)
    with pytest.raises(RuntimeError, match="derivative for aten::linalg_ldl_factor_ex is not implemented"):
        LD.sum().backward()
    with pytest.raises(RuntimeError, match="derivative for aten::linalg_ldl_solve is not implemented"):
        linalg.ldl_solve(LD.detach(), pivots, A).sum().backward()
    with pytest.raises(NotImplementedError, match="the derivative for 'geqrf' is not implemented"):
        adjoint.geqrf(A).tau.sum().backward()


# reflectors -----------------------------------------------------------------------------------------------------------


@real_and_complex
@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 3), (2, 4, 2)])
def test_reflectors_of_qr(shape: tuple[int, ...], dtype: str) -> None:
    a = draw(*shape, dtype=dtype)
    factors, tau = adjoint.geqrf(adjoint.from_numpy(a))
    k = shape[-1]
    R = np.triu(factors.numpy())[..., :k, :]
    Q = linalg.householder_product(factors, tau)
    np.testing.assert_allclose(Q.numpy() @ R, a, atol=1e-12)
    np.testing.assert_allclose(H(Q.numpy()) @ Q.numpy(), np.broadcast_to(np.eye(k), (*shape[:-2], k, k)), atol=1e-12)
    np.testing.assert_array_equal(factors.orgqr(tau).numpy(), Q.numpy())
    other = draw(*shape[:-1], 2, dtype=dtype)
    one = np.broadcast_to(np.eye(shape[-2], dtype=dtype), (*shape[:-1], shape[-2])).copy()
    whole = adjoint.ormqr(factors, tau, adjoint.from_numpy(one))
    np.testing.assert_allclose(whole.numpy()[..., :k], Q.numpy(), atol=1e-12)
    for transpose in (False, True):
        matrix = H(whole.numpy()) if transpose else whole.numpy()
        result = adjoint.ormqr(factors, tau, adjoint.from_numpy(other), transpose=transpose)
        np.testing.assert_allclose(result.numpy(), matrix @ other, atol=1e-12)
        result = adjoint.ormqr(factors, tau, adjoint.from_numpy(H(other).copy()), left=False, transpose=transpose)
        np.testing.assert_allclose(result.numpy(), H(other) @ matrix, atol=1e-12)


@real_and_complex
def test_householder_product_is_the_product(dtype: str) -> None:
    """Factors of reflectors that are not orthogonal, and a factor of 0, are included."""
    a, tau = draw(4, 3, dtype=dtype), draw(2, dtype=dtype)
    tau[1] = 0
    product = np.eye(4, dtype=dtype)
    for i in range(2):
        v = np.where(np.arange(4) > i, a[:, i], np.arange(4) == i)
        product = product @ (np.eye(4) - tau[i] * np.outer(v, v.conj()))
    result = linalg.householder_product(adjoint.from_numpy(a), adjoint.from_numpy(tau))
    np.testing.assert_allclose(result.numpy(), product[:, :3], atol=1e-12)
    check_derivatives(linalg.householder_product, a, tau)
    check_derivatives(adjoint.ormqr, a[:, :2].copy(), tau, draw(4, 2, dtype=dtype))


# equations between tensors, powers ------------------------------------------------------------------------------------


def test_tensorinv_and_tensorsolve() -> None:
    a, b = draw(6, 6) + 3 * np.eye(6), draw(2, 3)
    A = adjoint.from_numpy(a)
    inverse = linalg.tensorinv(A.reshape(2, 3, 3, 2))
    np.testing.assert_allclose(inverse.numpy(), np.linalg.tensorinv(a.reshape(2, 3, 3, 2)))
    inverse = linalg.tensorinv(A.reshape(6, 3, 2), 1)
    np.testing.assert_allclose(inverse.numpy(), np.linalg.tensorinv(a.reshape(6, 3, 2), 1))
    result = linalg.tensorsolve(A.reshape(2, 3, 6), adjoint.from_numpy(b))
    np.testing.assert_allclose(result.numpy(), np.linalg.tensorsolve(a.reshape(2, 3, 6), b))
    transposed = np.moveaxis(a.reshape(2, 3, 6), 2, 0).copy()
    result = linalg.tensorsolve(adjoint.from_numpy(transposed), adjoint.from_numpy(b), dims=(0,))
    np.testing.assert_allclose(result.numpy(), np.linalg.tensorsolve(transposed, b, axes=(0,)))
    check_derivatives(lambda x: linalg.tensorinv(x.reshape(6, 6), 1), a)
    check_derivatives(lambda x, y: linalg.tensorsolve(x.reshape(2, 3, 6), y), a, b)


def test_vander() -> None:
    x = draw(2, 3)
    expected = x[..., None] ** np.arange(4)
    np.testing.assert_allclose(linalg.vander(adjoint.from_numpy(x), N=4).numpy(), expected)
    assert linalg.vander(adjoint.arange(3)).dtype is adjoint.int64
    for n in (None, 0, 1, 5):
        for increasing in (False, True):
            result = adjoint.vander(adjoint.from_numpy(x[0]), n, increasing).numpy()
            np.testing.assert_allclose(result, np.vander(x[0], n, increasing))
    check_derivatives(lambda v: linalg.vander(v, N=4), np.array([0.0, 1.5, -2.0]))


def test_diagonal_is_a_view() -> None:
    x = adjoint.zeros(2, 3, 3)
    linalg.diagonal(x).fill_(1.0)
    np.testing.assert_array_equal(x.numpy(), np.stack([np.eye(3)] * 2))


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"])
def test_cond(p: Any) -> None:
    a = draw(2, 3, 3)
    np.testing.assert_allclose(linalg.cond(adjoint.from_numpy(a), p).numpy(), np.linalg.cond(a, p))
    assert linalg.cond(adjoint.zeros(0, 3, 3), p).shape == (0,)
    if p in (1, -1, np.inf, -np.inf, "fro"):
        with np.errstate(all="ignore"):
            assert linalg.cond(adjoint.zeros(3, 3), p) == np.inf


def test_svd_of_undefined_elements() -> None:
    x = adjoint.zeros(2, 3, 3)
    x[1, 0, 0] = np.nan
    text = r"linalg.svd: \(Batch element 1\): The algorithm failed to converge because the input matrix contained non-f"
    with pytest.raises(linalg.LinAlgError, match=text):
        linalg.svd(x)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: linalg.lu(x[0]), RuntimeError, r"linalg.lu: Expected tensor with 2 or more dim.* Got size: \[3\]"),
        (lambda x: linalg.lu_factor(x[0]), RuntimeError, "torch.lu_factor: Expected tensor with 2 or more dimensions"),
        (lambda x: linalg.lu_factor(x.long()), NotImplementedError, "\"lu_cpu\" not implemented for 'Long'"),
        (lambda x: linalg.lu(x, pivot=False), RuntimeError, "LU without pivoting is not implemented on the CPU"),
        (lambda x: adjoint.lu_unpack(x, adjoint.tensor([1, 2, 3])), RuntimeError, "contiguous tensor of torch.int32"),
        (
            lambda x: adjoint.lu_unpack(x, adjoint.tensor([0, 2, 3]).int()),
            RuntimeError,
            "pivots passed to lu_unpack must be between 1",
        ),
        (
            lambda x: linalg.lu_solve(*linalg.lu_factor(x), x[0]),
            RuntimeError,
            "linalg.lu_solve: The input tensor B must have at least 2 dimensions",
        ),
        (
            lambda x: linalg.lu_solve(*linalg.lu_factor(x), x.double()),
            RuntimeError,
            "Expected LU and B to have the same dtype, but found LU of type Float and B of type Double",
        ),
        (
            lambda x: linalg.lu_solve(x, adjoint.ones(2).int(), x),
            RuntimeError,
            "Number of pivots per batch should be same as the dimension of the matrix",
        ),
        (lambda x: linalg.inv_ex(x[:2]), RuntimeError, "A must be batches of square matrices, but they are 2 by 3"),
        (lambda x: linalg.inv_ex(x.half()), RuntimeError, "Low precision dtypes not supported. Got Half"),
        (lambda x: adjoint.geqrf(x[0]), RuntimeError, "torch.geqrf: input must have at least 2 dimensions"),
        (
            lambda x: linalg.householder_product(x[:2], x[0]),
            RuntimeError,
            r"input.shape\[-2\] must be greater than or equal to input.shape\[-1\]",
        ),
        (
            lambda x: linalg.householder_product(x, adjoint.ones(4)),
            RuntimeError,
            r"input.shape\[-1\] must be greater than or equal to tau.shape\[-1\]",
        ),
        (
            lambda x: adjoint.ormqr(x, x[0], adjoint.ones(4, 2)),
            RuntimeError,
            r"torch.ormqr: other.shape\[-2\] must be equal to input.shape\[-2\]",
        ),
        (lambda x: linalg.tensorinv(x, 0), RuntimeError, "Expected a strictly positive integer for 'ind', but got 0"),
        (lambda x: linalg.tensorinv(x[:2], 1), RuntimeError, "but got 3 != 2"),
        (lambda x: linalg.tensorsolve(x, x[:, :2]), RuntimeError, r"to satisfy the requirement prod\("),
        (lambda x: linalg.vander(x, N=1), RuntimeError, "N must be greater than 1"),
        (lambda x: linalg.vander(x > 0), RuntimeError, "but got Bool"),
        (lambda x: adjoint.vander(x), RuntimeError, "x must be a one-dimensional tensor"),
        (lambda x: linalg.cond(x, 3), RuntimeError, "linalg.cond got an invalid norm type: 3"),
        (lambda x: linalg.cond(x[:2], 1), RuntimeError, r"linalg.cond\(ord=1\): A must be batches of square matrices"),
        (lambda x: adjoint.triangular_solve(x[0], x), RuntimeError, "Expected b to have at least 2 dimensions"),
        (lambda x: adjoint.triangular_solve(x[:2], x), RuntimeError, "each A matrix is 3 by 3 but each b matrix"),
    ],
)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(adjoint.eye(3) + 1)


def test_factorizations_under_vmap_find_zero_pivots() -> None:
    a = draw(3, 4, 4)
    result = adjoint.vmap(linalg.lu_factor)(adjoint.from_numpy(a)).LU
    np.testing.assert_array_equal(result.numpy(), linalg.lu_factor(adjoint.from_numpy(a)).LU.numpy())
    a[1] = 0
    with pytest.raises(RuntimeError, match=r"\(Batch element 1\): U\[1,1\] is zero"):
        adjoint.vmap(linalg.lu_factor)(adjoint.from_numpy(a))


def test_geqrf_of_a_batch():
    assert adjoint.func.vmap(lambda a: adjoint.geqrf(a).tau)(adjoint.ones(2, 3, 3)).shape == (2, 3)
