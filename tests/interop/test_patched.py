"""adjoint.scipy.patched: code that imports NumPy, math and SciPy, on differentiable arrays. Modules are restored."""

from __future__ import annotations

import cmath
import importlib
import math
import sys
import threading
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.sparse
import scipy.sparse.linalg
import scipy.spatial
import scipy.special
import scipy.stats
from numpy import asarray
from scipy.stats import norm

import adjoint
from adjoint.core.operations.dependence import LostDerivativeError
from adjoint.scipy._blocks import FILLED
from adjoint.scipy._imports import PausingFinder
from adjoint.scipy._numbers import CLASSES, DOUBLE, ClassOfNumbers
from adjoint.scipy._patching import COMPILED
from adjoint.scipy._replacements import PlainNumpy, replacements

X = np.array([1.0, 2.0])
DOUBLE_OF_A_MODULE = np.float64
PYTHONS = float


def density(x: Any) -> Any:
    x = asarray(x, dtype=float)
    y = np.array([x[0], math.sin(x[1])])
    return norm.logpdf(y, loc=0.5).sum() + scipy.linalg.solve(np.array([[2.0, 0.0], [0.0, x[0]]]), y).sum()


#: Objects that a block cannot reach, since it replaces only the names in modules.
asarray_of_numpy = (np.asarray,)


class Filter:
    """An object that makes one buffer before it gets differentiable arrays, and another one later."""

    def __init__(self, n: int) -> None:
        self.states = np.zeros((n, 2))

    def run(self, x: Any) -> Any:
        for i in range(len(self.states)):
            self.states[i] = x * (i + 1.0)
        self.x = x
        return self.product()

    def product(self) -> Any:
        out = np.empty(2)
        out[:] = self.x * self.states[-1]
        return out.sum()


def fill_matrix(x: Any) -> Any:
    matrix, row = np.eye(2), np.ones_like(np.array([2.0, 3.0]))
    matrix[0, 1] = x[0] * x[1]
    row[1] = x[1] ** 2
    full = np.full((2, 2), 0.5)
    full[0] += x
    columns = [np.zeros(2) for _ in range(2)]
    columns[0][1] = x[0]
    return (matrix @ full @ row).sum() + np.stack(columns).sum()


def decay(t: float, y: Any, rates: Any) -> Any:
    out = np.zeros(2)
    out[0], out[1] = -rates[0] * y[0], -rates[1] * y[1]
    return out


def by_its_class(x: Any) -> Any:
    if not isinstance(x, np.ndarray) or not isinstance(x[0], float) or not np.isscalar(x[1]):
        return 0.0
    return x[0] ** 2 * x[1]


FUNCTIONS: dict[str, Any] = {
    "density": density,
    "math": lambda x: math.exp(x[0]) * math.atan2(x[1], 3.0) + math.pow(x[1], x[0]) + math.hypot(x[0], x[1]),
    "math of special functions": lambda x: math.erf(x[0]) + math.gamma(x[1]) * math.lgamma(x[0] + 2.0),
    "math of several": lambda x: math.fsum(x**2) * math.dist(x, [0.5, 0.0]) + math.log(x[1], 3.0) + math.prod(x),
    "math without derivative": lambda x: x[0] * math.floor(x[1] + 0.5) + x[1] * math.isclose(x[0], 1.0, rel_tol=0.1),
    "cmath": lambda x: abs(cmath.sqrt(-x[0]) + cmath.log(x[1], 2.0)) * cmath.phase(x[0] + 1j * x[1]),
    "nested lists": lambda x: np.linalg.det(np.array([[x[0], 1.0], [2.0, x[1]]])),
    "lists": lambda x: np.sum([x[0] ** 2, x[1]]) + np.mean([x, 2 * x]) + np.transpose([x, x**3])[1].prod(),
    "filled arrays": fill_matrix,
    "filled with a value": lambda x: (
        (np.full((3, 2), x) * np.full_like(np.ones(2), x[0] * x[1])).sum() + np.full(2, x[0])[1]
    ),
    "arrays of an object": lambda x: Filter(3).run(x),
    "classes": by_its_class,
    "float": lambda x: float(x[0]) ** 2 * float(x[1]) + abs(complex(x[1])) + DOUBLE_OF_A_MODULE(x).sum(),
    "arange": lambda x: (np.arange(x[0], 5.5, x[1]) ** 2).sum(),
    "joined": lambda x: (np.r_[x[0], 2 * x, 1.0] ** 2).sum() + (np.c_[x, x**2] ** 2).sum(),
    "vectorize": lambda x: np.vectorize(lambda t: t**2 if t > 1.5 else 3.0 * t * x[0])(x).sum(),
    "objects": lambda x: np.array(x, dtype=object).sum() * x[0],
    "vander": lambda x: np.polynomial.chebyshev.chebvander(x, 3).sum(),
    "polynomial": lambda x: (np.polynomial.Chebyshev(x) * np.polynomial.Chebyshev(x)).deriv()(0.3),
    "quad": lambda x: scipy.integrate.quad(lambda t, a, b: math.exp(-a * t) * b, 0, 1, args=(x[0], x[1]))[0],
    "dblquad": lambda x: scipy.integrate.dblquad(lambda s, t: float(x[0] * t * s), 0, 1, 0, 1)[0] * x[1],
    "solve_ivp": lambda x: (
        scipy.integrate.solve_ivp(decay, (0, 1), [1.0, 2.0], args=(x,), rtol=1e-9, atol=1e-9).y[:, -1].sum()
    ),
    "strides": lambda x: (np.lib.stride_tricks.as_strided(x * x, (3, 2), (0, 8)) * np.arange(6.0).reshape(3, 2)).sum(),
    "medfilt": lambda x: scipy.signal.medfilt(np.array([0.3, *x, 1.1]), 3)[1:3].prod(),
    "curve_fit": lambda x: scipy.optimize.curve_fit(lambda t, a: a * t, [1.0, 2.0], x)[0][0],
    "fsolve": lambda x: scipy.optimize.fsolve(lambda z, a: z**3 - a, np.ones(2), args=(x,), xtol=1e-13)[1],
    "brentq": lambda x: scipy.optimize.brentq(lambda z, a: z**3 - a, 0.0, 3.0, args=(x[0] + x[1],)),
    "special": lambda x: scipy.special.logsumexp(np.asarray(x, float)) + scipy.special.gammaln(x[1]),
    "checked": lambda x: np.asarray_chkfinite(x).sum(),
    "class of SciPy": lambda x: scipy.interpolate.PchipInterpolator(np.arange(4.0), np.array([0.0, *x, 1.0]))(0.7),
    "attribute of a function": lambda x: scipy.linalg.lstsq(np.array([[x[0], 1.0], [0.0, 2.0]]), x)[0].sum(),
    "namespace": lambda x: scipy.optimize.rosen_hess_prod(x, x[::-1]).sum(),
}


def names() -> list[str]:
    """The names in all modules that refer to a replaced function or distribution.

    Classes may stay in their own modules, and compiled modules keep the functions that make arrays.
    """
    originals = set(replacements())
    return sorted(
        f"{name}.{key}"
        for name, module in list(sys.modules.items())
        if isinstance(module, ModuleType) and not name.startswith("adjoint")
        for key, value in list(vars(module).items())
        if id(value) in originals and not isinstance(value, (type, ModuleType))
        if not (str(getattr(module, "__file__", "")).endswith(COMPILED) and key in FILLED)
    )


def modules() -> list[ModuleType]:
    return [module for module in list(sys.modules.values()) if isinstance(module, ModuleType)]


def shadows() -> list[str]:
    """The names in all modules that refer to a class of numbers that keeps derivatives."""
    kinds = {*CLASSES.values(), DOUBLE}
    return [
        f"{name}.{key}"
        for name, module in list(sys.modules.items())
        if isinstance(module, ModuleType) and not name.startswith("adjoint")
        for key, value in list(vars(module).items())
        if type(value) is ClassOfNumbers and value in kinds
    ]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_differentiate_in_the_block(name: str) -> None:
    function = FUNCTIONS[name]
    with adjoint.scipy.patched():
        gradient, value = adjoint.grad(function)(X), function(X)
    assert value == pytest.approx(function(X), rel=1e-12)
    step = 1e-6
    slopes = [(function(X + step * e) - function(X - step * e)) / (2 * step) for e in np.eye(2)]
    assert gradient == pytest.approx(slopes, rel=1e-5, abs=1e-8)


def fails_in_the_block() -> None:
    with adjoint.scipy.patched():
        with adjoint.scipy.patched():
            assert np.asarray is not asarray_of_numpy[0]
        assert names() == []
        late = ModuleType("late")
        sys.modules["late"] = late
        exec("from numpy import asarray\nfrom scipy.linalg import solve", vars(late))
        raise ZeroDivisionError


def test_nothing_stays_replaced() -> None:
    before, mro = names(), adjoint.numpy.Array.__mro__
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            fails_in_the_block()
        assert vars(sys.modules.pop("late"))["asarray"] is np.asarray is asarray
        assert names() == before
        assert shadows() == []
        assert not any(isinstance(value, PlainNumpy) for module in modules() for value in list(vars(module).values()))
        assert adjoint.numpy.Array.__mro__ == mro
        assert not any(isinstance(finder, PausingFinder) for finder in sys.meta_path)


def test_outside_of_the_block_the_loss_is_an_error() -> None:
    with pytest.raises(RuntimeError, match=r"derivative of the function"):
        adjoint.grad(density)(X)


def test_other_threads_get_the_librarys_own() -> None:
    errors: list[str] = []

    def other() -> None:
        try:
            adjoint.grad(lambda x: np.asarray(x, dtype=float).sum())(X)
        except RuntimeError as error:
            errors.append(type(error).__name__)

    with adjoint.scipy.patched():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert adjoint.grad(lambda x: np.asarray(x, dtype=float).sum())(X).tolist() == [1.0, 1.0]
    assert errors == ["LostDerivativeError"]


def test_plain_arrays_get_what_the_libraries_give() -> None:
    with adjoint.scipy.patched():
        results = np.array([1, 2]), np.asarray([1.5]), math.sin(1), scipy.linalg.solve(np.eye(2), X), np.full(2, 7)
    for ours, theirs in zip(results, (np.array([1, 2]), np.asarray([1.5]), math.sin(1), X, np.full(2, 7)), strict=True):
        assert type(ours) is type(theirs) and np.array_equal(ours, theirs)
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype


def test_functions_of_plain_arrays_get_plain_ones() -> None:
    """If a function's variables are plain arrays, it gets plain arrays, which C code accepts."""
    kinds = []

    def of_constants() -> Any:
        out = np.zeros(3)
        kinds.append(type(out))
        return out.sum()

    def function(x: Any) -> Any:
        kinds.append(type(np.zeros(2)))
        kinds.append(type(np.zeros(2, dtype=int)))
        return x.sum() + of_constants()

    with adjoint.scipy.patched():
        adjoint.grad(function)(X)
        function(X)
    assert kinds == [adjoint.numpy.Array, np.ndarray, np.ndarray] + [np.ndarray] * 3


@pytest.mark.parametrize("transform", [adjoint.grad, adjoint.jacobian, adjoint.hessian, adjoint.func.jacfwd])
def test_filled_arrays_under_transformations(transform: Any) -> None:
    with adjoint.scipy.patched():
        result = transform(fill_matrix)(X)
        inner = transform(lambda x: adjoint.grad(fill_matrix)(x).sum())(X)
    plain = transform(lambda x: (np.eye(2) @ x).sum())(X)
    assert result.shape == inner.shape == plain.shape
    assert np.isfinite(result).all() and np.count_nonzero(inner)


def test_a_module_that_is_imported_in_a_block_stores_the_librarys_own(tmp_path: Any, monkeypatch: Any) -> None:
    (tmp_path / "imported_late.py").write_text(
        "import math, numpy\n"
        "from numpy import zeros\n"
        "TABLE = {math.exp: 1, numpy.asarray: 2, float: 3, zeros: 4}\n"
        "def function(x):\n"
        "    out = zeros(2)\n"
        "    out[:] = math.exp(float(x[0])) * x\n"
        "    return out.sum()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with adjoint.scipy.patched():
        import imported_late  # type: ignore[import-not-found]

        gradient = adjoint.grad(imported_late.function)(X)
    assert gradient == pytest.approx([math.e * 4, math.e])
    assert list(imported_late.TABLE) == [math.exp, asarray_of_numpy[0], float, np.zeros]
    with adjoint.scipy.patched():
        # adjoint itself waits for these
        monkeypatch.delitem(sys.modules, "einops._backends", raising=False)
        importlib.import_module("einops._backends")
    assert "PausingLoader" not in type(imported_late.__loader__).__name__
    del sys.modules["imported_late"]


def test_numbers_of_a_block_are_pythons() -> None:
    with adjoint.scipy.patched():
        kind = float
        assert kind("2.5") == 2.5 and type(kind(2)) is PYTHONS
        assert isinstance(1.0, kind) and not isinstance(1, kind) and issubclass(np.float64, kind)
        assert {kind: 1}[PYTHONS] == 1
        for scalar in (np.float64, np.float32, np.complex64, np.int64):
            for name, other in (*CLASSES.items(), ("double", DOUBLE)):
                is_same = scalar is np.float64 and name != "complex"
                dtype = np.dtype(scalar)
                assert (dtype == other) is (other == dtype) is (dtype in [other]) is is_same
        assert np.dtype(kind) == np.zeros(2, kind).dtype == np.ones(2, int).astype(kind).dtype == np.float64
        with pytest.raises(TypeError, match="float"):
            adjoint.grad(lambda x: float((1j * x).sum()))(X)


def test_functions_of_adjoint_scipy_without_derivatives_have_some_in_a_block() -> None:
    series = np.cos(np.arange(9.0))
    weights = np.arange(5.0)
    for call in (
        lambda x: adjoint.scipy.signal.welch(x, nperseg=8)[1] @ weights,
        lambda x: adjoint.scipy.stats.zscore(x)[:5] @ weights,
        lambda x: adjoint.scipy.linalg.convolution_matrix(x, 2).sum(1)[:5] @ weights,
    ):
        with pytest.raises(TypeError, match=r"no derivative of it.*in a block of adjoint.scipy.patched\(\)"):
            adjoint.grad(call)(series)
        with adjoint.scipy.patched():
            gradients = adjoint.grad(call)(series)
        step = 1e-6 * np.sin(series)
        assert gradients @ (2 * step) == pytest.approx(call(series + step) - call(series - step), rel=1e-4)


@pytest.mark.parametrize("name", ["vectorize", "polynomial", "strides", "vander", "joined"])
def test_lost_derivatives_in_code_of_numpy_recommend_the_block(name: str) -> None:
    with pytest.raises(LostDerivativeError, match=r"a block of adjoint.scipy.patched\(\) around code"):
        adjoint.grad(FUNCTIONS[name])(X)
    with adjoint.scipy.patched(), pytest.raises(LostDerivativeError) as raised:
        adjoint.grad(lambda x: PYTHONS(x[0]))(X)
    assert "a block of" not in str(raised.value)


def line(t: Any, a: Any, b: Any) -> Any:
    out = np.zeros(2)
    out[0], out[1] = a, b
    return out[0] * t + out[1]


SOLVERS: dict[str, Any] = {
    "minimize": lambda: adjoint.optimize.minimize(lambda x: fill_matrix(x) ** 2 + ((x - 1) ** 2).sum(), X).success,
    "root": lambda: adjoint.optimize.root(lambda x: np.stack([decay(0.0, x, x)[0] + 1, x[1] - 1]), X).success,
    "least_squares": lambda: adjoint.optimize.least_squares(lambda x: decay(0.0, x, x) + 1, X).success,
    "solve_ivp": lambda: adjoint.integrate.solve_ivp(lambda t, y: decay(t, y, X), (0, 1), X, method="BDF").success,
    "curve_fit": lambda: adjoint.optimize.curve_fit(line, np.arange(4.0), np.cos(np.arange(4.0)), p0=[1.0, 2.0])[0][1],
}


@pytest.mark.parametrize("name", SOLVERS)
def test_functions_of_solvers_fill_arrays(name: str) -> None:
    with adjoint.scipy.patched():
        assert SOLVERS[name]()


COMPILED_CODE: dict[str, Any] = {
    "random numbers": lambda: np.random.default_rng(0).normal(size=3).sum(),
    "sparse products": lambda: (scipy.sparse.eye_array(3).tocsr() @ np.ones(3)).sum(),
    "conjugate gradients": lambda: scipy.sparse.linalg.cg(scipy.sparse.eye_array(3) * 2, np.ones(3))[0].sum(),
    "least squares": lambda: scipy.optimize.nnls(np.eye(2), np.ones(2))[0].sum(),
    "trees": lambda: scipy.spatial.KDTree(np.eye(3)).query(np.zeros(3))[0],
    "hulls": lambda: scipy.spatial.ConvexHull(np.eye(3)[:, :2]).volume,
    "labels": lambda: scipy.ndimage.label(np.ones(4))[1],
}


@pytest.mark.parametrize("name", COMPILED_CODE)
def test_compiled_code_runs_on_constants(name: str) -> None:
    """If a function has a differentiable array, its constants still have the memory of plain arrays."""
    results = []

    def function(x: Any) -> Any:
        results.append(COMPILED_CODE[name]())
        results.append((lambda y: COMPILED_CODE[name]() + 0 * y.sum())(x))
        return (x**2).sum()

    with adjoint.scipy.patched():
        assert adjoint.grad(function)(X).tolist() == [2.0, 4.0]
    plain = COMPILED_CODE[name]()
    assert adjoint.numpy.detach(results) == pytest.approx([plain, plain], rel=1e-12)
