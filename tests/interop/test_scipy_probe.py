"""SciPy drops no graph silently: a Tensor that requires grad has a derivative, an error, or a warning.

Every public function is called in many ways, and most calls raise errors. `ADJOINT_PROBE=all` calls all methods of all
distributions.
"""

from __future__ import annotations

import importlib
import inspect
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint

Call = Callable[..., Any]

VECTOR = np.array([0.3, 0.5, 0.7])
MATRIX = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.7]])
SERIES = np.linspace(0.1, 0.9, 8)
#: Calls of a function with a vector, a matrix and a longer vector.
WAYS: list[Call] = [
    lambda f, t, m, s: f(t),
    lambda f, t, m, s: f(t, t),
    lambda f, t, m, s: f(t, t, t),
    lambda f, t, m, s: f(t, t, t, t),
    lambda f, t, m, s: f(m),
    lambda f, t, m, s: f(m, t),
    lambda f, t, m, s: f(m, m),
    lambda f, t, m, s: f(s),
    lambda f, t, m, s: f(s, s),
    lambda f, t, m, s: f(np.arange(8.0), s),
    lambda f, t, m, s: f(s, 3),
    lambda f, t, m, s: f(3, s),
    lambda f, t, m, s: f(2, t),
    lambda f, t, m, s: f(2, 2, t),
    lambda f, t, m, s: f(t, np.ones(3)),
    lambda f, t, m, s: f(np.ones(3), t),
    lambda f, t, m, s: f(m, np.ones(3)),
    lambda f, t, m, s: f((1, 1), m, t),
    lambda f, t, m, s: f([t, t]),
    lambda f, t, m, s: f(t[0]),
    lambda f, t, m, s: f(t[0], t[1]),
    lambda f, t, m, s: f(2, t[0]),
    lambda f, t, m, s: f(lambda x: (x**2).sum(), t),
    lambda f, t, m, s: f(lambda x: x**2 - t[0], 0.3),
    lambda f, t, m, s: f(lambda x: x**2 - t[0], 0.0, 1.0),
    lambda f, t, m, s: f(lambda x, y: y * t[0], (0.0, 1.0), np.ones(2)),
    lambda f, t, m, s: f(lambda x, y: y * x, (0.0, 1.0), t),
]
MODULES = ("scipy.special", "scipy.linalg", "scipy.stats", "scipy.signal", "scipy.interpolate", "scipy.integrate",
           "scipy.optimize", "scipy.fft", "scipy.fftpack", "scipy.ndimage", "scipy.cluster.vq",
           "scipy.cluster.hierarchy", "scipy.spatial.distance", "scipy.sparse.linalg")  # fmt: skip
EVERY = os.environ.get("ADJOINT_PROBE") == "all"
METHODS = ("pdf", "pmf", "cdf", "logpdf", "ppf", "stats", "fit")
MORE_METHODS = ("logpmf", "logcdf", "sf", "logsf", "isf", "entropy", "mean", "var", "std", "median", "moment", "nnlf",
                "interval", "rvs", "expect")  # fmt: skip
#: Distributions that represent the others, since all share their code.
STAND_FOR = ("norm", "poisson", "multivariate_normal")
LOST = "Converting a tensor with requires_grad=True to a scalar"


def functions_of(module: str) -> Iterator[tuple[str, Call]]:
    """The public functions and classes of a module, and the methods of distributions."""
    of = importlib.import_module(module)
    for name in getattr(of, "__all__", None) or dir(of):
        value = getattr(of, name, None)
        if name.startswith("_") or name == "test" or inspect.ismodule(value) or not callable(value):
            continue
        if hasattr(value, "rvs"):
            methods = (*METHODS, *MORE_METHODS) if EVERY else METHODS if name in STAND_FOR else ()
            yield from ((f"{name}.{method}", getattr(value, method)) for method in methods if hasattr(value, method))
        else:
            yield name, value


def leaves(result: Any, depth: int = 0) -> list[Any]:
    """All values in a result, in containers and in attributes of objects."""
    if isinstance(result, (list, tuple)):
        members: Any = result
    elif isinstance(result, dict):
        members = result.values()
    elif isinstance(result, np.ndarray) and result.dtype == object:
        members = result.ravel()
    elif hasattr(result, "toarray"):
        members = [result.toarray()]
    elif depth < 3 and not isinstance(result, (adjoint.Tensor, type)) and not inspect.isroutine(result):
        members = vars(result).values() if hasattr(result, "__dict__") else None
    else:
        members = None
    return [result] if members is None else [leaf for member in members for leaf in leaves(member, depth + 1)]


def is_constant(leaf: Any) -> bool:
    """True for floating point values without a history."""
    if isinstance(leaf, adjoint.Tensor):
        return (leaf.is_floating_point() or leaf.is_complex()) and not leaf.requires_grad
    return isinstance(leaf, (float, complex, np.inexact)) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fc")


def same(x: Any, y: Any) -> bool:
    return np.shape(x) == np.shape(y) and bool(np.array_equal(np.asarray(x), np.asarray(y), equal_nan=True))


def is_silent(result: Any, way: Call, function: Call) -> bool:
    """True if a result has constants, and the same call on arrays has results that depend on the arrays."""
    outputs = leaves(result)
    constants = [i for i, leaf in enumerate(outputs) if is_constant(leaf)]
    if not constants:
        return False
    once, again, elsewhere = (leaves(way(function, VECTOR * k, MATRIX * k, SERIES * k)) for k in (1.0, 1.0, 1.01))
    if not len(once) == len(elsewhere) == len(outputs):
        return True
    # the results of random functions differ in any case
    return any(same(once[i], again[i]) and not same(once[i], elsewhere[i]) for i in constants)


def probe(function: Call) -> Iterator[int]:
    """The calls by which a function loses the graph without a word."""
    for number, way in enumerate(WAYS):
        samples = [
            adjoint.tensor(array, dtype=adjoint.float64, requires_grad=True) * 1.0 for array in (VECTOR, MATRIX, SERIES)
        ]
        signal.setitimer(signal.ITIMER_REAL, 2.0)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                warnings.filterwarnings("error", LOST)
                if is_silent(way(function, *samples), way, function):
                    yield number
        except Exception:  # every error informs the user
            continue
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)


@pytest.fixture
def _alarm() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    yield
    signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs SIGALRM, to stop slow calls")
@pytest.mark.usefixtures("_alarm")
@pytest.mark.parametrize("module", MODULES)
def test_scipy_drops_no_graph_silently(module: str) -> None:
    silent = {name: actual for name, function in functions_of(module) if (actual := [*probe(function)])}
    assert silent == {}


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs SIGALRM, to stop slow calls")
@pytest.mark.usefixtures("_alarm")
def test_the_probe_finds_what_is_lost() -> None:
    def plain(x: Any) -> Any:
        return np.asarray(x.detach() if isinstance(x, adjoint.Tensor) else x) * 2

    class Holder:
        def __init__(self, x: Any) -> None:
            self.content = {"x": [plain(x)]}

    assert {0, 4, 7, 19} <= {*probe(plain)} and {0, 4, 7, 19} <= {*probe(Holder)}
    assert [*probe(np.sin)] == [] and [*probe(lambda x: float(x[0]))] == [] and [*probe(np.shape)] == []


@pytest.mark.parametrize("convert", [float, complex, np.float64])
def test_plain_numbers_of_tensors_that_require_grad_warn(convert: Call) -> None:
    t = adjoint.tensor(0.5, requires_grad=True)
    for value in (t, t * 2):
        with pytest.warns(UserWarning, match=LOST):
            assert convert(value) == value.detach()
    with adjoint.no_grad():
        convert(t)
    assert t.item() == 0.5 and int(t) == 0 and f"{t:.1f}" == "0.5" and convert(t.detach()) == 0.5
