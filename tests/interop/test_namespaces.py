"""adjoint.numpy and adjoint.scipy: the libraries' own functions on plain values, adjoint's on Tensors."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import numpy
import pytest
import scipy.signal
import scipy.special
import scipy.stats

import adjoint
from adjoint import numpy as np
from adjoint.core.operations.dependence import LostDerivativeError
from adjoint.scipy import fft, integrate, linalg, signal, special, stats
from adjoint.tensor.protocol_hooks import protocols

X = adjoint.tensor([0.5, 2.0], dtype=adjoint.float64, requires_grad=True)


def test_plain_values_run_the_librarys_own_functions() -> None:
    assert np.sin is numpy.sin and np.linalg.solve is numpy.linalg.solve and np.float64 is numpy.float64
    assert set(numpy.__all__) <= set(dir(np))
    assert special.expit is scipy.special.expit
    for value, expected in (
        (np.array([1, 2]), numpy.array([1, 2])),
        (special.logsumexp([1.0, 2.0]), scipy.special.logsumexp([1.0, 2.0])),
        (stats.norm.logpdf(0.3, 1.0), scipy.stats.norm.logpdf(0.3, 1.0)),
        (stats.norm(1.0, 2.0).cdf(0.3), scipy.stats.norm(1.0, 2.0).cdf(0.3)),
        (linalg.expm(numpy.eye(2)), numpy.e * numpy.eye(2)),
    ):
        assert type(value) is type(expected)
        numpy.testing.assert_allclose(value, expected)


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.array([X[0], 1.0]),
        lambda: np.array([[X[0], 1.0], [0, X[1]]]),
        lambda: np.asarray([X, (1.0, 2.0)]),
        lambda: np.full(3, X[0]),
        lambda: np.array(X),
        lambda: np.stack([X, X]),
        lambda: np.array({"a": 1}["a"] * X),
    ],
)
def test_tensors_in_data_stay_in_the_graph(make: object) -> None:
    assert make().requires_grad  # type: ignore[operator]


@pytest.mark.parametrize(
    "call",
    [
        lambda: special.logsumexp(X),
        lambda: special.gammaln(X),
        lambda: linalg.expm(np.array([[X[0], 0.0], [1.0, X[1]]])),
        lambda: signal.convolve(X, [1.0, 2.0]),
        lambda: fft.fft(X),
        lambda: fft.dct(X),
        lambda: integrate.trapezoid(X),
        lambda: stats.norm.logpdf(0.3, loc=X),
        lambda: stats.gamma(X).cdf(1.0),
        lambda: stats.multivariate_normal.logpdf(X, [0.0, 1.0]),
        lambda: np.linalg.norm(X),
        lambda: np.fft.fft(X),
    ],
)
def test_functions_of_tensors(call: object) -> None:
    assert call().requires_grad  # type: ignore[operator]


def test_frozen_distributions_of_tensors_have_what_has_derivatives() -> None:
    frozen = stats.norm(X, 2.0)
    numpy.testing.assert_allclose(frozen.logpdf(0.3).detach(), scipy.stats.norm([0.5, 2.0], 2.0).logpdf(0.3))
    with pytest.raises(AttributeError, match="there is no derivative of it"):
        frozen.rvs()
    assert "norm" in repr(stats.norm)


@pytest.mark.quick(0)
def test_scipys_ufuncs_know_tensors_without_adjoint_scipy() -> None:
    code = (
        "import adjoint, scipy.special as s, sys; x = adjoint.tensor([0.5], requires_grad=True); "
        "assert s.gammaln(x).requires_grad and 'adjoint.scipy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.quick(0)
def test_importing_adjoint_imports_neither_scipy_nor_the_namespaces() -> None:
    names = {"scipy", "adjoint.numpy", "adjoint.scipy", "adjoint.compat"}
    code = f"import adjoint, sys; assert not {names} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda x: scipy.stats.gamma.logpdf(x, 2.0).sum(), "adjoint.scipy.stats keep it"),
        (lambda x: scipy.signal.lfilter([1.0], [1.0, 0.5], x).sum(), "adjoint.scipy.signal keep it"),
    ],
)
def test_scipys_own_functions_of_arrays_name_those_that_keep_the_derivative(call: Any, names: str) -> None:
    with pytest.raises(LostDerivativeError, match=names):
        adjoint.func.grad(call)(numpy.array([0.5, 2.0]))


@pytest.mark.parametrize(
    ("space", "text"),
    [
        (X.__array_namespace__().special, "there is no special function 'nothing' over Tensors"),
        (adjoint.autograd, "module 'adjoint.autograd' has no attribute 'nothing'"),
        (protocols, "nothing"),
    ],
)
def test_what_there_is_not(space: object, text: str) -> None:
    with pytest.raises(AttributeError, match=f"^{re.escape(text)}$"):
        getattr(space, "nothing")  # noqa: B009
