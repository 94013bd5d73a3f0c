"""Sparse Jacobians and Hessians against dense ones: patterns, numbers of products, messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse as reference

import adjoint
from adjoint import sparse
from adjoint.solvers.functions import ScalarFunction, VectorFunction
from adjoint.solvers.structure.colouring import Pattern, compression, count_of, symmetric_compression
from adjoint.solvers.structure.tracing import pattern

Array = np.ndarray


def dense_jacobian(f: Callable[..., Any], x: Any) -> Array:
    function = VectorFunction(f, x, (), "f")
    return function.jac(function.x0)


def dense_hessian(f: Callable[..., Any], x: Any) -> Array:
    function = ScalarFunction(f, x, (), "f")
    return function.hess(function.x0)


# patterns -------------------------------------------------------------------------------------------------------------


def write(x: Any) -> Any:
    y = np.zeros_like(x)
    y[1:] = x[:-1] ** 2
    y[0] = x[-1] * x[1]
    middle = y[2:4]
    middle += x[0]
    return y * 2


def advection_steps(x: Any) -> Any:
    for _ in range(30):
        x = x + 0.01 * np.concatenate([x[1:], x[:1]]) * np.sin(x)
    return x


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "band": (lambda x: x[2:] - 2 * x[1:-1] ** 3 + x[:-2], 8),
    "grid": (lambda x: x.reshape(3, 4)[1:] * np.sin(x.reshape(3, 4)[:-1]), 12),
    "rows": (lambda x: np.array([[1.0, 2.0], [3.0, 4.0]]) @ x.reshape(2, 4), 8),
    "sums": (lambda x: x.reshape(3, 4).sum(1) + x.reshape(3, 4).mean(0)[:3] + x.reshape(3, 4).prod(1), 12),
    "einsum": (lambda x: np.einsum("ij,kj->ik", x[:6].reshape(2, 3), x[6:].reshape(2, 3)), 12),
    "picked": (lambda x: x[np.array([3, 1, 1])] * x[np.array([0, 0, 2])], 5),
    "written": (write, 6),
    "stepped": (advection_steps, 40),
    "softmax": (lambda x: np.exp(x.reshape(2, 3)) / np.exp(x.reshape(2, 3)).sum(1, keepdims=True), 6),
    "accumulated": (lambda x: np.cumsum(x.reshape(2, 3), axis=1), 6),
    "turned": (lambda x: np.roll(np.flip(x), 2) * np.tile(x[:1], 5), 5),
    "solved": (lambda x: np.linalg.solve(np.eye(2) * 3, x.reshape(2, 3)), 6),
    "spectrum": (lambda x: np.fft.fft(x.reshape(2, 4), axis=1).imag, 8),
    "convolved": (lambda x: np.convolve(x, np.array([1.0, -2.0, 1.0])), 7),
    "sorted": (lambda x: np.sort(x.reshape(2, 3), axis=1), 6),
    "constant rows": (lambda x: np.concatenate([x[:2], np.ones(3), x[2:] * 2]), 4),
}


@pytest.mark.parametrize("form", ["global", "local"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_jacobians(name: str, form: str) -> None:
    f, n = FUNCTIONS[name]
    x = np.random.default_rng(1).uniform(0.5, 1.5, n)
    matrix, info = sparse.jacobian(f, x, form=form, full_output=True)
    assert isinstance(matrix, reference.csr_array) and info["passes"] == info["colors"] <= min(matrix.shape)
    assert info["nnz"] == matrix.nnz
    np.testing.assert_allclose(matrix.toarray(), dense_jacobian(f, x), atol=1e-12)


#: The number of entries in the patterns of these functions, whose Jacobians have some zeros at every point.
EXACT = {
    "convolved": 21,
    "band": 18,
    "grid": 16,
    "picked": 6,
    "written": 9,
    "turned": 9,
    "constant rows": 4,
    "sums": 18,
}


@pytest.mark.parametrize("name", EXACT)
def test_patterns_have_no_entry_too_many(name: str) -> None:
    f, n = FUNCTIONS[name]
    x = np.random.default_rng(1).uniform(0.5, 1.5, n)
    matrix = sparse.prepare_jacobian(f, x)
    assert matrix.nnz == EXACT[name] == np.count_nonzero(dense_jacobian(f, x))
    assert matrix.pattern.dtype == bool and matrix.shape == matrix.pattern.shape


def test_convolutions_with_constant_weights() -> None:
    weight = adjoint.tensor([[[[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]]]], dtype=adjoint.float64)

    def stencil(x: Any) -> Any:
        return adjoint.nn.functional.conv2d(x.reshape(1, 1, 8, 8), weight, padding=1) * x.reshape(8, 8)

    x = adjoint.rand(64, dtype=adjoint.float64)
    matrix = sparse.prepare_jacobian(stencil, x)
    assert matrix.nnz == 5 * 64 - 4 * 8
    np.testing.assert_allclose(matrix(x).toarray(), dense_jacobian(stencil, x), atol=1e-12)
    assert sparse.hessian(lambda x: (stencil(x) ** 2).sum(), x).nnz < 64 * 30


def test_forms_of_functions_that_pick() -> None:
    """The global form includes the other branches. The local form is that of the point."""
    x = np.array([3.0, 1.0, 2.0])

    def picks(x: Any) -> Any:
        return np.concatenate([np.sort(x), np.where(x > 1.5, x, x[::-1] ** 2), np.maximum(x, 2.5)])

    matrix = sparse.prepare_jacobian(picks, x)
    for other in (x, x[::-1].copy(), np.array([1.0, 2.0, 3.0])):
        np.testing.assert_allclose(matrix(other).toarray(), dense_jacobian(picks, other))
    assert sparse.prepare_jacobian(picks, x, form="local").nnz == 3 + 3 + 1


@pytest.mark.parametrize(
    "picks",
    [
        lambda x: x[np.argsort(x)] ** 2,
        lambda x: np.take_along_axis(x, np.argsort(x), 0),
        lambda x: x[np.argmax(x) :][:1],
    ],
    ids=["argsort", "take_along_axis", "argmax"],
)
def test_indices_that_are_computed_from_x(picks: Callable[[Any], Any]) -> None:
    x = np.array([1.0, 3.0, 2.0])
    matrix = sparse.prepare_jacobian(picks, x)
    assert matrix.nnz >= sparse.prepare_jacobian(picks, x, form="local").nnz
    if matrix.shape[0] == 3:
        for other in (x, np.array([3.0, 1.0, 2.0])):
            np.testing.assert_allclose(matrix(other).toarray(), dense_jacobian(picks, other))


def test_trees_and_precision() -> None:
    x = {"a": np.ones((2, 2)), "b": np.float64(3.0)}
    matrix = sparse.jacobian(lambda p, c: {"u": p["a"] * p["b"], "v": p["b"] ** c}, x, args=2)
    np.testing.assert_allclose(matrix.toarray(), [[3, 0, 0, 0, 1], [0, 3, 0, 0, 1], [0, 0, 3, 0, 1], [0, 0, 0, 3, 1],
                                                 [0, 0, 0, 0, 6]])  # fmt: skip
    assert sparse.jacobian(lambda x: x * 2, np.ones(3, np.float32)).dtype == np.float32
    tensors = sparse.jacobian(lambda x: x.sin(), adjoint.zeros(3, dtype=adjoint.float64))
    np.testing.assert_allclose(tensors.toarray(), np.eye(3))
    complex_numbers = sparse.jacobian(lambda z: z * z, np.array([1 + 2j]))
    np.testing.assert_allclose(complex_numbers.toarray(), [[2, -4], [4, 2]])


class Hidden(adjoint.autograd.Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return adjoint.tensor(np.cumsum(x.detach().numpy()))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return adjoint.flip(adjoint.cumsum(adjoint.flip(g, (0,)), 0), (0,))

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return adjoint.cumsum(t, 0)

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any) -> Any:
        return adjoint.cumsum(x, 1), 0


def test_what_cannot_be_seen_counts_as_dense() -> None:
    x = adjoint.ones(4, dtype=adjoint.float64)
    with pytest.warns(UserWarning, match="the structure of HiddenBackward cannot be seen"):
        matrix = sparse.prepare_jacobian(lambda x: adjoint.cat([Hidden.apply(x) * 2, x]), x)
    assert matrix.unseen == ["HiddenBackward"] and matrix.nnz == 20


# compression ----------------------------------------------------------------------------------------------------------


def arrow(n: int, *, rows: bool = True, columns: bool = True) -> Array:
    matrix = np.eye(n)
    matrix[0, :] = 1 if rows else matrix[0, :]
    matrix[:, 0] = 1 if columns else matrix[:, 0]
    return matrix


@pytest.mark.parametrize(
    ("matrix", "products"),
    [
        (np.eye(7), 1),
        (np.eye(7) + np.eye(7, k=1) + np.eye(7, k=-1), 3),
        (arrow(40, rows=False), 2),
        (arrow(40, columns=False), 2),
        (arrow(40), 3),
        (np.ones((3, 50)), 3),
        (np.ones((50, 3)), 3),
        (np.zeros((3, 4)), 0),
    ],
    ids=["diagonal", "tridiagonal", "full column", "full row", "both", "wide", "tall", "empty"],
)
def test_numbers_of_products(matrix: Array, products: int) -> None:
    parts = compression(Pattern.of(matrix))
    assert count_of(parts) == products
    check_parts(matrix, parts)


def check_parts(matrix: Array, parts: list[Any]) -> None:
    """The products with the seeds give each entry."""
    rows = reference.csr_array(matrix)
    rows.sort_indices()
    data = np.zeros(rows.nnz)
    for part in parts:
        factor = rows.T if part.by_rows else rows
        products = (factor @ part.seeds(0, part.n_colours, factor.shape[1], float).T).T
        data[part.entries] = products[part.colours, part.places]
    np.testing.assert_allclose(data, rows.data)


@given(st.integers(1, 12), st.integers(1, 12), st.floats(0, 1), st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_random_patterns(m: int, n: int, density: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = np.where(rng.random((m, n)) < density, rng.uniform(1, 2, (m, n)), 0)
    check_parts(matrix, compression(Pattern.of(matrix)))
    square = np.where(rng.random((n, n)) < density, rng.uniform(1, 2, (n, n)), 0)
    square = square + square.T
    check_parts(square, symmetric_compression(Pattern.of(square)))


def test_products_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    from adjoint.solvers.structure import derivatives

    x = np.linspace(1, 2, 9)
    expected = sparse.jacobian(lambda x: x[:, None] * x, x).toarray()
    monkeypatch.setattr(derivatives, "_BATCH", 200)
    np.testing.assert_array_equal(sparse.jacobian(lambda x: x[:, None] * x, x).toarray(), expected)


# Hessians: problems of the CUTEst collection --------------------------------------------------------------------------

#: Each problem with its number of variables, as in I. Bongartz, A. Conn, N. Gould, P. Toint, "CUTE: constrained and
#: unconstrained testing environment", ACM Trans. Math. Softw. 21 (1995) 123-160, and in its collection.
PROBLEMS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "ARWHEAD": (lambda x: ((x[:-1] ** 2 + x[-1] ** 2) ** 2 - 4 * x[:-1] + 3).sum(), 10),
    "BDQRTIC": (
        lambda x: (
            (3 - 4 * x[:-4]) ** 2
            + (x[:-4] ** 2 + 2 * x[1:-3] ** 2 + 3 * x[2:-2] ** 2 + 4 * x[3:-1] ** 2 + 5 * x[-1] ** 2) ** 2
        ).sum(),
        10,
    ),
    "BROYDN3D": (lambda x: (((3 - 2 * x[1:-1]) * x[1:-1] - x[:-2] - 2 * x[2:] + 1) ** 2).sum(), 10),
    "COSINE": (lambda x: np.cos(x[:-1] ** 2 - 0.5 * x[1:]).sum(), 10),
    "CRAGGLVY": (
        lambda x: (
            (np.exp(x[0:-3:2]) - x[1:-2:2]) ** 4
            + 100 * (x[1:-2:2] - x[2:-1:2]) ** 6
            + np.tan(x[2:-1:2] - x[3::2]) ** 4
            + x[0:-3:2] ** 8
            + (x[3::2] - 1) ** 2
        ).sum(),
        10,
    ),
    "DIXMAANB": (
        lambda x: (
            1
            + (x**2).sum()
            + 0.0625 * (x[:-1] ** 2 * (x[1:] + x[1:] ** 2) ** 2).sum()
            + 0.0625 * (x[:8] ** 2 * x[4:] ** 4).sum()
            + 0.0625 * (x[:4] * x[8:]).sum()
        ),
        12,
    ),
    "DIXON3DQ": (lambda x: (x[0] - 1) ** 2 + (x[-1] - 1) ** 2 + ((x[1:-1] - x[2:]) ** 2).sum(), 10),
    "DQDRTIC": (lambda x: (x[:-2] ** 2 + 100 * x[1:-1] ** 2 + 100 * x[2:] ** 2).sum(), 10),
    "EDENSCH": (
        lambda x: ((x[:-1] - 2) ** 4 + (x[:-1] * x[1:] - 2 * x[1:]) ** 2 + (x[1:] + 1) ** 2).sum() + 16, 10),
    "ENGVAL1": (lambda x: ((x[:-1] ** 2 + x[1:] ** 2) ** 2 - 4 * x[:-1] + 3).sum(), 10),
    "FLETCHCR": (lambda x: (100 * (x[1:] - x[:-1] + 1 - x[:-1] ** 2) ** 2).sum(), 10),
    "FREUROTH": (
        lambda x: (
            (x[:-1] - 13 + ((5 - x[1:]) * x[1:] - 2) * x[1:]) ** 2
            + (x[:-1] - 29 + ((x[1:] + 1) * x[1:] - 14) * x[1:]) ** 2
        ).sum(),
        10,
    ),
    "LIARWHD": (lambda x: (4 * (x**2 - x[0]) ** 2 + (x - 1) ** 2).sum(), 10),
    "NONDIA": (lambda x: (x[0] - 1) ** 2 + (100 * (x[0] - x[:-1] ** 2) ** 2).sum(), 10),
    "PENALTY1": (lambda x: 1e-5 * ((x - 1) ** 2).sum() + ((x**2).sum() - 0.25) ** 2, 10),
    "POWELLSG": (
        lambda x: (
            (x[0::4] + 10 * x[1::4]) ** 2
            + 5 * (x[2::4] - x[3::4]) ** 2
            + (x[1::4] - 2 * x[2::4]) ** 4
            + 10 * (x[0::4] - x[3::4]) ** 4
        ).sum(),
        12,
    ),
    "ROSENBR": (lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum(), 10),
    "TOINTGSS": (
        lambda x: ((10 / 12 + x[2:] ** 2) * (2 - np.exp(-((x[:-2] - x[1:-1]) ** 2) / (0.1 + x[2:] ** 2)))).sum(), 10),
    "TRIDIA": (lambda x: (x[0] - 1) ** 2 + (np.arange(2, 11) * (2 * x[1:] - x[:-1]) ** 2).sum(), 10),
    "VAREIGVL": (lambda x: ((np.arange(1, 11) - x[-1]) ** 2 * x[:-1] ** 2).sum() + (x[:-1] ** 2).sum() ** 2, 11),
    "WOODS": (
        lambda x: (
            100 * (x[1::4] - x[0::4] ** 2) ** 2
            + (1 - x[0::4]) ** 2
            + 90 * (x[3::4] - x[2::4] ** 2) ** 2
            + (1 - x[2::4]) ** 2
            + 10 * (x[1::4] + x[3::4] - 2) ** 2
            + 0.1 * (x[1::4] - x[3::4]) ** 2
        ).sum(),
        12,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROBLEMS)
def test_hessians(name: str) -> None:
    f, n = PROBLEMS[name]
    result = sparse.prepare_hessian(f, np.random.default_rng(0).uniform(0.5, 1.5, n))
    exact = 0
    for seed in range(3):
        x = np.random.default_rng(seed).uniform(-1, 1, n)
        expected = dense_hessian(f, x)
        np.testing.assert_allclose(result(x).toarray(), expected, atol=1e-9, rtol=1e-9)
        exact = max(exact, np.count_nonzero(expected))
    # one tenth of the entries of EDENSCH's pattern are zero by chance
    assert result.nnz <= 1.4 * exact + 10


def test_tridiagonal_and_arrow_shaped_hessians() -> None:
    x = np.linspace(0.5, 1, 50)
    assert sparse.hessian(PROBLEMS["ROSENBR"][0], x, full_output=True)[1]["passes"] == 3
    assert sparse.hessian(PROBLEMS["ARWHEAD"][0], x, full_output=True)[1] == {"passes": 2, "colors": 2, "nnz": 148}


def test_f_runs_a_few_times_whatever_its_size() -> None:
    runs = []

    def f(x: Any) -> Any:
        runs.append(len(x))
        return x[1:] * x[:-1]

    for n in (10, 1000):
        runs.clear()
        sparse.jacobian(f, np.ones(n))
        assert len(runs) <= 3


# bad input ------------------------------------------------------------------------------------------------------------


def test_pattern_that_lacks_an_entry() -> None:
    def f(x: Any) -> Any:
        return x[1:] * x[:-1] ** 2

    complete = sparse.prepare_jacobian(f, np.ones(6)).pattern
    matrix, info = sparse.jacobian(f, np.ones(6), pattern=complete, full_output=True)
    assert info["passes"] == info["colors"] + 1
    np.testing.assert_allclose(matrix.toarray(), dense_jacobian(f, np.ones(6)))
    lacking = complete.toarray()
    lacking[2, 3] = False
    with pytest.raises(ValueError, match=r"the pattern lacks the entry \(2, 3\), where the Jacobian is 1"):
        sparse.jacobian(f, np.ones(6), pattern=lacking)
    with pytest.raises(ValueError, match=r"lacks the entry \(0, 1\), where the Hessian is 3"):
        sparse.hessian(lambda x: 3 * x[0] * x[1], np.ones(2), pattern=np.eye(2))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: sparse.jacobian(lambda x: x, np.ones(3), pattern=np.eye(2)),
            ValueError,
            r"shape \(3, 3\), got \(2, 2\)",
        ),
        (lambda: sparse.jacobian(lambda x: x, np.ones(3), form="exact"), ValueError, "unknown form='exact'"),
        (lambda: sparse.hessian(lambda x: x, np.ones(3)), ValueError, "one real number, got shape"),
        (lambda: sparse.jacobian(lambda x: np.ones(2), np.ones(3)), RuntimeError, "does not depend on x"),
        (lambda: sparse.jacobian(lambda x: x, "abc"), (TypeError, ValueError), "."),
        (
            lambda: sparse.jacobian(lambda x: x / (x * x).sum(), np.ones(50000)),
            ValueError,
            "has at least 2500000000 entries",
        ),
    ],
)
def test_messages(call: Callable[[], Any], error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_allowed_constants() -> None:
    assert sparse.jacobian(lambda x: np.ones(2), np.ones(3), allow_constant=True).nnz == 0
    assert sparse.hessian(lambda x: x.sum(), np.ones(3)).nnz == 0


def test_terms_are_forgotten_with_their_arrays() -> None:
    """A trace uses memory only for arrays that are alive."""
    from adjoint.solvers.structure.tracing import Tracer, tracing

    leaf = adjoint.ones(4, dtype=adjoint.float64, requires_grad=True)
    tracer = Tracer(leaf, False)
    with tracing(tracer):
        y = leaf.detach()
        with adjoint.no_grad():
            for _ in range(100):
                y = y * 2
        z = leaf * y
    assert len(tracer.records) <= 2 + len(tracer.memories) and tracer.terms(z)


def test_repr() -> None:
    assert repr(sparse.prepare_jacobian(lambda x: x[1:] * x[:-1], np.ones(4))) == (
        "<Jacobian of 3×4, 6 entries, 2 colours of columns>"
    )


def test_pattern_in_memory_proportional_to_entries() -> None:
    matrix, _ = pattern(lambda x: x[1:] * x[:-1], adjoint.ones(10**5, dtype=adjoint.float64, requires_grad=True), False)
    assert matrix.nnz == 2 * (10**5 - 1)


def test_spy_draws_entries_of_one_product_in_one_colour() -> None:
    pytest.importorskip("matplotlib")
    matrix = sparse.prepare_jacobian(lambda x: np.concatenate([x[1:] * x[:-1], x.sum()[None]]), np.ones(30))
    dots = sparse.spy(matrix).collections[0]
    assert len(dots.get_offsets()) == matrix.nnz and len(np.unique(dots.get_facecolors(), axis=0)) == matrix.colors
    assert sparse.spy(np.eye(3)).get_title() == "3×3, 3 entries"


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich")
    sparse.jacobian(lambda x: x * 2, np.ones(3), progress=True)
    assert "jacobian()" in capsys.readouterr().out
