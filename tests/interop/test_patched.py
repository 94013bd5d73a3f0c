"""adjoint.scipy.patched: code that imports NumPy, math and SciPy itself, on differentiable arrays; nothing stays."""

from __future__ import annotations

import math
import sys
import threading
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.special
import scipy.stats
from numpy import asarray
from scipy.stats import norm

import adjoint
from adjoint.scipy._patching import replacements

X = np.array([1.0, 2.0])


def density(x: Any) -> Any:
    x = asarray(x, dtype=float)
    y = np.array([x[0], math.sin(x[1])])
    return norm.logpdf(y, loc=0.5).sum() + scipy.linalg.solve(np.array([[2.0, 0.0], [0.0, x[0]]]), y).sum()


#: Out of the reach of a block, which replaces what modules have under a name.
asarray_of_numpy = (np.asarray,)
FUNCTIONS: dict[str, Any] = {
    "density": density,
    "math": lambda x: math.exp(x[0]) * math.atan2(x[1], 3.0) + math.pow(x[1], x[0]) + math.hypot(x[0], x[1]),
    "nested lists": lambda x: np.linalg.det(np.array([[x[0], 1.0], [2.0, x[1]]])),
    "quad": lambda x: scipy.integrate.quad(lambda t, a, b: math.exp(-a * t) * b, 0, 1, args=(x[0], x[1]))[0],
    "brentq": lambda x: scipy.optimize.brentq(lambda z, a: z**3 - a, 0.0, 3.0, args=(x[0] + x[1],)),
    "special": lambda x: scipy.special.logsumexp(np.asarray(x, float)) + scipy.special.gammaln(x[1]),
    "checked": lambda x: np.asarray_chkfinite(x).sum(),
}


def names() -> list[int]:
    """The places at which a replaced function or distribution stands, in all modules."""
    originals = set(replacements())
    return sorted(
        id(value)
        for module in list(sys.modules.values())
        if isinstance(module, ModuleType) and not module.__name__.startswith("adjoint")
        for value in list(vars(module).values())
        if id(value) in originals
    )


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
    before = names()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            fails_in_the_block()
        assert vars(sys.modules.pop("late"))["asarray"] is np.asarray is asarray
        assert names() == before


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
        made = np.array([1, 2]), np.asarray([1.5]), math.sin(1), scipy.linalg.solve(np.eye(2), X), np.full(2, 7)
    for ours, theirs in zip(made, (np.array([1, 2]), np.asarray([1.5]), math.sin(1), X, np.full(2, 7)), strict=True):
        assert type(ours) is type(theirs) and np.array_equal(ours, theirs)
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype
