"""SciPy's sparse arrays as operands: values and derivatives against dense matrices, formats, messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse as scipy_sparse
from scipy.sparse import linalg as scipy_linalg

import adjoint
from adjoint import sparse
from adjoint.arrays.kernels.linalg.errors import LinAlgError
from adjoint.autograd import gradcheck, gradgradcheck

FORMATS = ("csr", "csc", "coo", "bsr", "dia")
RANDOM = np.random.default_rng(0)


def dense(m: int, n: int, kind: str = "float64", seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    matrix = np.where(rng.random((m, n)) < 0.5, rng.uniform(0.5, 1.5, (m, n)), 0).astype(kind)
    return matrix * (1 + 0.5j) if kind == "complex128" else matrix


def in_format(matrix: Any, name: str) -> Any:
    return (
        scipy_sparse.bsr_array(matrix, blocksize=(2, 3))
        if name == "bsr"
        else getattr(scipy_sparse, f"{name}_array")(matrix)
    )


@pytest.mark.parametrize("kind", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("name", FORMATS)
def test_products_and_gradients(name: str, kind: str) -> None:
    plain = dense(4, 6, kind)
    matrix = in_format(plain, name)
    tensor = sparse.from_scipy(matrix, requires_grad=True)
    tolerance = 1e-5 if kind == "float32" else 1e-12
    for shape in ((6,), (6, 3)):
        x = adjoint.tensor(RANDOM.random(shape).astype(kind), requires_grad=True)
        w = adjoint.tensor(RANDOM.random((4, *shape[1:])).astype(kind))
        tensor.values.grad = None
        y = tensor @ x
        np.testing.assert_allclose(y.detach().numpy(), plain @ x.detach().numpy(), rtol=tolerance)
        y.backward(w)
        np.testing.assert_allclose(x.grad.numpy(), plain.conj().T @ w.numpy(), rtol=tolerance)
        gradient = tensor.grad
        assert gradient.format == name and gradient.data.shape == matrix.data.shape
        places = np.zeros((4, 6), bool)
        stored = in_format(np.ones((4, 6)), name) if name == "bsr" else in_format((plain != 0).astype(float), name)
        places[stored.tocoo().row, stored.tocoo().col] = True
        full = (
            np.outer(w.numpy(), x.detach().numpy().conj())
            if len(shape) == 1
            else w.numpy() @ x.detach().numpy().conj().T
        )
        result = gradient.toarray()
        np.testing.assert_allclose(result[plain != 0], full[plain != 0], rtol=tolerance)
        left = w if w.ndim == 1 else w.mT
        np.testing.assert_allclose((left @ tensor).numpy(force=True), w.numpy().T @ plain, rtol=tolerance)
        np.testing.assert_allclose((tensor.T @ w).numpy(force=True), plain.T @ w.numpy(), rtol=tolerance)
        np.testing.assert_array_equal(tensor.dot(x).detach().numpy(), y.detach().numpy())


@pytest.mark.parametrize("name", FORMATS)
def test_derivatives_of_any_order(name: str) -> None:
    tensor = sparse.from_scipy(in_format(dense(4, 6), name))
    data, x = tensor.values.clone().requires_grad_(), adjoint.tensor(RANDOM.random((6, 2)), requires_grad=True)

    def product(data: Any, x: Any) -> Any:
        return tensor.with_values(data) @ x

    assert gradcheck(product, (data, x), check_forward_ad=True) and gradgradcheck(product, (data, x))


PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "A @ x": lambda a, x: a @ x,
    "x @ A.T": lambda a, x: x @ a.T,
    "A.dot(x)": lambda a, x: a.dot(x),
    "A @ X": lambda a, x: a @ x.reshape(-1, 1) * 1.0,
}


@pytest.mark.parametrize("container", ["array", "matrix"])
@pytest.mark.parametrize("name", PLAIN)
def test_plain_products_of_constant_matrices(name: str, container: str) -> None:
    plain = dense(4, 6)
    matrix = getattr(scipy_sparse, f"csr_{container}")(plain)
    function = PLAIN[name]
    x = RANDOM.random(6)
    expected = 2 * plain.T @ plain @ x
    np.testing.assert_allclose(adjoint.grad(lambda x: (function(matrix, x) ** 2).sum())(x), expected)
    leaf = adjoint.tensor(x, requires_grad=True)
    (function(matrix, leaf) ** 2).sum().backward()
    np.testing.assert_allclose(leaf.grad.numpy(), expected)
    tangent = adjoint.func.jvp(lambda x: function(matrix, x), (leaf.detach(),), (leaf.detach(),))[1]
    np.testing.assert_allclose(tangent.reshape(-1).numpy(), plain @ x)
    batch = adjoint.tensor(RANDOM.random((3, 6)))
    result = adjoint.vmap(lambda x: function(matrix, x))(batch)
    np.testing.assert_allclose(result.reshape(3, 4).numpy(), batch.numpy() @ plain.T)


def test_plain_products_forget_a_matrix_and_see_new_values() -> None:
    from adjoint.interop.sparse.matrix import _operands

    matrix = scipy_sparse.csr_array(dense(3, 3))
    x = adjoint.ones(3, dtype=adjoint.float64)
    first = matrix @ x
    matrix.data *= 2
    np.testing.assert_allclose((matrix @ x).numpy(), 2 * first.numpy())
    matrix.data = np.zeros_like(matrix.data)
    assert not (matrix @ x).any()
    key = id(matrix)
    assert key in _operands
    del matrix
    assert key not in _operands


@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 30), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_random_places_with_repetitions(m: int, n: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, columns, data = rng.integers(0, m, count), rng.integers(0, n, count), rng.random(count)
    matrix = scipy_sparse.coo_array((data, (rows, columns)), shape=(m, n))
    tensor = sparse.from_scipy(matrix, requires_grad=True)
    x = adjoint.tensor(rng.random(n))
    y = tensor @ x
    np.testing.assert_allclose(y.detach().numpy(), matrix.toarray() @ x.numpy(), atol=1e-12)
    y.sum().backward()
    np.testing.assert_allclose(tensor.values.grad.numpy(), x.numpy()[columns])


def test_arithmetic() -> None:
    plain, other = dense(3, 4), dense(3, 4, seed=5)
    ours, constant = sparse.from_scipy(scipy_sparse.csr_array(plain), requires_grad=True), scipy_sparse.csc_array(other)
    s = adjoint.tensor(3.0, dtype=adjoint.float64, requires_grad=True)
    result = (ours * s - constant + ours / 2 + 2 * -ours).to_dense()
    np.testing.assert_allclose(result.detach().numpy(), plain * 3 - other + plain / 2 - 2 * plain)
    result.sum().backward()
    assert s.grad.item() == pytest.approx(plain.sum())
    np.testing.assert_allclose(ours.values.grad.numpy(), 1.5)
    for axis in (None, 0, 1, -1):
        np.testing.assert_allclose(ours.sum(axis).detach().numpy(), plain.sum(axis))
    np.testing.assert_array_equal(ours.to_scipy().toarray(), plain)
    assert (
        repr(ours)
        == f"<SparseMatrix of 3×4, {np.count_nonzero(plain)} stored values, adjoint.float64, requires_grad=True>"
    )
    assert sparse.from_scipy(scipy_sparse.csr_array(np.eye(2, dtype=int))).dtype == adjoint.float64


def test_functions_of_arrays() -> None:
    tensor = sparse.from_scipy(scipy_sparse.csr_array(dense(3, 4)))
    assert isinstance(tensor @ np.ones(4), np.ndarray) and not isinstance(tensor @ np.ones(4), adjoint.numpy.Array)
    slope = adjoint.grad(lambda data: (tensor.with_values(data) @ np.ones(4)).sum())(tensor.values.numpy())
    np.testing.assert_allclose(slope, 1.0)


def test_structure_of_products() -> None:
    n = 30
    matrix = scipy_sparse.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(n, n)).tocsr()
    rows, info = sparse.jacobian(lambda u: matrix @ u + u**3, np.ones(n), full_output=True)
    assert info == {"passes": 3, "colors": 3, "nnz": 3 * n - 2}
    np.testing.assert_allclose(rows.toarray(), matrix.toarray() + 3 * np.eye(n))
    assert sparse.hessian(lambda u: u @ (matrix @ u), np.ones(n)).nnz == 3 * n - 2


# linear algebra -------------------------------------------------------------------------------------------------------

N = 7
SQUARE = dense(N, N) + 4 * np.eye(N)
SYMMETRIC = SQUARE + SQUARE.T
VECTOR = RANDOM.random(N)

SOLVERS: dict[str, tuple[Any, Callable[[Any, Any], Any], Any]] = {
    "spsolve": (SQUARE, sparse.linalg.spsolve, lambda a, b: np.linalg.solve(a, b)),
    "factorized": (SQUARE, lambda a, b: sparse.linalg.factorized(a)(b), lambda a, b: np.linalg.solve(a, b)),
    **{
        f"splu, {trans}": (
            SQUARE,
            lambda a, b, trans=trans: sparse.linalg.splu(a).solve(b, trans),
            lambda a, b, trans=trans: np.linalg.solve(a if trans == "N" else a.T, b),
        )
        for trans in "NTH"
    },
    "gmres": (SQUARE, sparse.linalg.gmres, lambda a, b: np.linalg.solve(a, b)),
    "cg": (SYMMETRIC, sparse.linalg.cg, lambda a, b: np.linalg.solve(a, b)),
    "expm_multiply": (SQUARE / 4, sparse.linalg.expm_multiply, lambda a, b: scipy_linalg.expm_multiply(a, b)),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_linear_algebra(name: str) -> None:
    plain, solve, reference = SOLVERS[name]
    matrix = scipy_sparse.csr_array(plain)
    np.testing.assert_allclose(solve(matrix, VECTOR), reference(plain, VECTOR), rtol=1e-8)
    tensor = sparse.from_scipy(matrix)
    data, b = tensor.values.clone().requires_grad_(), adjoint.tensor(VECTOR, requires_grad=True)

    def solve_system(data: Any, b: Any) -> Any:
        if name != "cg":
            return solve(tensor.with_values(data), b)
        # the matrix stays symmetric
        flipped = sparse.from_scipy(matrix).with_values(data).T
        return solve((tensor.with_values(data) + flipped) * 0.5, b)

    assert gradcheck(solve_system, (data, b), check_forward_ad=True)
    if name != "cg":
        assert gradgradcheck(solve_system, (data, b))
    batch = adjoint.tensor(RANDOM.random((3, N)))
    result = adjoint.vmap(lambda b: solve(tensor, b))(batch).numpy()
    np.testing.assert_allclose(result, reference(plain, batch.numpy().T).T, rtol=1e-8)
    slope = adjoint.grad(lambda b: (solve(matrix, b) ** 2).sum())(VECTOR)
    step = 1e-6 * VECTOR
    change = (reference(plain, VECTOR + step) ** 2).sum() - (reference(plain, VECTOR - step) ** 2).sum()
    assert slope @ (2 * step) == pytest.approx(change, rel=1e-5)


def test_several_right_sides_and_one_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    factored = []
    own_splu = scipy_linalg.splu
    monkeypatch.setattr(scipy_linalg, "splu", lambda a: (factored.append(a), own_splu(a))[1])
    tensor = sparse.from_scipy(scipy_sparse.csr_array(SQUARE), requires_grad=True)
    b = adjoint.tensor(RANDOM.random((N, 3)), requires_grad=True)
    x = sparse.linalg.spsolve(tensor, b)
    np.testing.assert_allclose(x.detach().numpy(), np.linalg.solve(SQUARE, b.detach().numpy()))
    x.sum().backward()
    sparse.linalg.spsolve(tensor, b)
    assert len(factored) == 1


@pytest.mark.parametrize("which", ["LM", "SA"])
def test_eigenvalues(which: str) -> None:
    upper = scipy_sparse.coo_array(np.triu(SYMMETRIC))
    rows, columns = np.concatenate([upper.row, upper.col]), np.concatenate([upper.col, upper.row])
    tensor = sparse.from_scipy(scipy_sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(N, N)))
    data = adjoint.tensor(upper.data, requires_grad=True)

    def symmetric(data: Any) -> Any:
        return tensor.with_values(adjoint.cat([data, data]) * 0.5)

    values, vectors = sparse.linalg.eigsh(symmetric(data), 3, which=which)
    plain = symmetric(data).to_dense().detach().numpy()
    np.testing.assert_allclose(
        plain @ vectors.detach().numpy(), vectors.detach().numpy() * values.detach().numpy(), atol=1e-9
    )
    assert gradcheck(lambda data: sparse.linalg.eigsh(symmetric(data), 3, which=which), (data,), check_forward_ad=True)
    assert gradgradcheck(lambda data: sparse.linalg.eigsh(symmetric(data), 1, which=which)[0], (data,))


# bad input ------------------------------------------------------------------------------------------------------------

EYE = scipy_sparse.csr_array(np.eye(3))
BAD: dict[str, tuple[Callable[[], Any], Any, str]] = {
    "dense": (lambda: sparse.from_scipy(np.eye(2)), TypeError, "expected a sparse array of SciPy's, got ndarray"),
    "format": (
        lambda: sparse.from_scipy(scipy_sparse.lil_array((2, 2))),
        ValueError,
        "csr, csc, coo, bsr, dia, got lil",
    ),
    "vector": (lambda: sparse.from_scipy(scipy_sparse.coo_array(np.ones(3))), ValueError, r"shape \(3,\)"),
    "length": (lambda: sparse.from_scipy(EYE) @ np.ones(4), RuntimeError, r"a vector of 3 elements.*got shape \[4\]"),
    "values": (
        lambda: sparse.from_scipy(EYE).with_values(np.ones(2)),
        ValueError,
        r"expected shape \(3,\), got \(2,\)",
    ),
    "sparse product": (lambda: sparse.from_scipy(EYE) @ EYE, TypeError, "one after the other"),
    "elements": (lambda: sparse.from_scipy(EYE) * np.ones(3), TypeError, "expected a number, got ndarray"),
    "sum": (lambda: sparse.from_scipy(EYE) + scipy_sparse.eye_array(2), ValueError, "expected equal shapes"),
    "not square": (
        lambda: sparse.linalg.spsolve(EYE[:2], np.ones(2)),
        ValueError,
        r"square matrix, got shape \(2, 3\)",
    ),
    "side": (lambda: sparse.linalg.cg(EYE, np.ones((3, 2))), ValueError, r"3 rows, but .* shape \(3, 2\)"),
    "splu, side": (lambda: sparse.linalg.splu(EYE).solve(np.ones(2)), ValueError, r"3 rows, but .* shape \(2,\)"),
    "splu, singular": (lambda: sparse.linalg.splu(EYE * 0.0), LinAlgError, "singular"),
    "splu, trans": (lambda: sparse.linalg.splu(EYE).solve(np.ones(3), "C"), ValueError, "trans must be N, T, or H"),
    "splu of SciPy's": (
        lambda: adjoint.grad(lambda b: scipy_linalg.splu(EYE.tocsc()).solve(b).sum())(np.ones(3)),
        TypeError,
        r"an extension.* at File .*test_operands.py.*not Array.*splu and spsolve of adjoint.sparse.linalg",
    ),
    "singular": (lambda: sparse.linalg.spsolve(EYE * 0.0, np.ones(3)), LinAlgError, "singular"),
    "complex": (lambda: sparse.linalg.eigsh(EYE * 1j, 1), ValueError, "real symmetric"),
}


@pytest.mark.parametrize("trans", "NTH")
def test_factors_of_complex_matrices(trans: str) -> None:
    matrix = scipy_sparse.csc_array(SQUARE + 1j * SYMMETRIC)
    sides = RANDOM.random((N, 2)) + 1j
    result = sparse.linalg.splu(matrix).solve(sides, trans)
    np.testing.assert_allclose(result, scipy_linalg.splu(matrix).solve(sides, trans), rtol=1e-10)


@pytest.mark.filterwarnings("ignore::scipy.sparse.linalg.MatrixRankWarning")
@pytest.mark.parametrize("name", BAD)
def test_messages(name: str) -> None:
    call, error, message = BAD[name]
    with pytest.raises(error, match=message):
        call()
