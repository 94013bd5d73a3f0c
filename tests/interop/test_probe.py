"""Functions without a derivative raise an error if they get a Tensor that requires grad."""

from __future__ import annotations

import importlib
import inspect
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.fft
import numpy.polynomial.polynomial
import pytest
from numpy.testing import overrides

import adjoint
from adjoint.interop.numpy_functions import FUNCTIONS
from adjoint.interop.protocols import numpy_name
from adjoint.interop.reasons import DISCRETE, MODULES, REASONS, reason_for
from adjoint.interop.ufuncs import UFUNCS
from support.numpy_checks import NOT_OVERRIDABLE

#: Calls with a Tensor for functions of arrays about which nothing else is known.
WAYS = [
    lambda f, t: f(t),
    lambda f, t: f(t, t),
    lambda f, t: f(t, t, t),
    lambda f, t: f([t, t]),
    lambda f, t: f(t[0], t[0]),
    lambda f, t: f(2, t),
    lambda f, t: f(t, 2),
    lambda f, t: f([1.0, 2.0, 3.0], t),
    lambda f, t: f(t[:, None] * t),
    lambda f, t: f(t, [0.0, 1.0, 2.0], t),
    lambda f, t: f(t, 1, 1.5),
    lambda f, t: f(t, t, 2, 2),
]
#: Functions that print, load, or have a function as first argument, and functions that do not compute on arrays.
LEFT_OUT = {
    "numpy": {"show_config", "info", "source", "lookfor", "get_include", "memmap", "fromfile", "save", "savetxt",
              "savez", "savez_compressed", "load", "loadtxt", "genfromtxt", "fromregex", "setbufsize", "seterr",
              "seterrcall", "set_printoptions", "printoptions", "errstate", "show_runtime", "DataSource", "testing"},
    "numpy.random": {"set_state", "seed", "set_bit_generator"},
}  # fmt: skip


def functions_of(module: str) -> Iterator[tuple[str, Any]]:
    """The public functions of a module, except for those that keep history."""
    for name, value in vars(importlib.import_module(module)).items():
        if name.startswith("_") or name in {"test", *LEFT_OUT.get(module, ())} or not callable(value):
            continue
        if inspect.isclass(value) and module != "numpy.polynomial":
            continue
        if isinstance(value, np.ufunc) and value in UFUNCS:
            continue
        if not hasattr(value, "__name__") or not value.__module__ or numpy_name(value) not in FUNCTIONS:
            yield name, value


PROBED = ("numpy", "numpy.linalg", "numpy.fft", "numpy.random", "numpy.ma", "numpy.lib.recfunctions",
           "numpy.lib.scimath", "numpy.lib.stride_tricks", "numpy.strings", "numpy.polynomial",
           "numpy.polynomial.polynomial", "numpy.polynomial.chebyshev", "numpy.polynomial.hermite",
           "numpy.polynomial.hermite_e", "numpy.polynomial.laguerre", "numpy.polynomial.legendre",
           "numpy.polynomial.polyutils")  # fmt: skip


def floats_in(result: Any) -> list[Any]:
    """Floating point arrays and numbers without a history in a result."""
    if isinstance(result, adjoint.Tensor):
        plain = result.is_floating_point() or result.is_complex()
        return [result] if plain and not result.requires_grad else []
    if isinstance(result, (list, tuple)):
        return [leaf for member in result for leaf in floats_in(member)]
    if isinstance(result, (float, complex, np.inexact)):
        return [result]
    if isinstance(result, np.ndarray):
        if result.dtype == object:
            return [leaf for member in result.ravel() for leaf in floats_in(member)]
        return [result] if result.dtype.kind in "fc" else []
    return []


def depends(way: Any, function: Any) -> bool:
    """True if the result of a call on plain arrays depends on their values."""

    def results_at(factor: float) -> list[Any]:
        array = np.array([0.3, 0.5, 0.7]) * factor
        with np.errstate(all="ignore"):
            return [np.asarray(each) for each in floats_in(way(function, array))]

    # the results of random functions differ, too
    pairs = zip(results_at(1.0), results_at(1.01), strict=True)
    return any(a.shape != b.shape or not np.array_equal(a, b, equal_nan=True) for a, b in pairs)


@pytest.mark.parametrize("module", PROBED)
@pytest.mark.filterwarnings("ignore")
def test_what_is_not_covered_raises(module: str) -> None:
    silent, count = [], 0
    for name, function in functions_of(module):
        for i, way in enumerate(WAYS):
            t = adjoint.tensor([0.3, 0.5, 0.7], dtype=adjoint.float64, requires_grad=True) * 1.0
            try:
                result = way(function, t)
            except Exception:  # every error informs the user
                count += 1
                continue
            if floats_in(result) and depends(way, function):
                silent.append((name, i, result))
    assert silent == []
    assert count or not list(functions_of(module))


@pytest.mark.parametrize("name", sorted(REASONS))
def test_reasons_are_told(name: str) -> None:
    t = adjoint.ones(3, requires_grad=True)
    function: Any = np
    for part in name.split("."):
        function = getattr(function, part)
    with pytest.raises(TypeError, match="was given a Tensor that requires grad, but it"):
        adjoint.Tensor.__array_function__(t, function, (adjoint.Tensor,), (t,), {})
    assert REASONS[name] in reason_for(name)


def test_every_overridable_function_is_known_or_discrete_or_has_a_reason() -> None:
    names = {numpy_name(function) for function in overrides.get_overridable_numpy_array_functions()}
    left = names - FUNCTIONS.keys() - DISCRETE - REASONS.keys() - {"in1d"}  # NumPy 2.4 has removed it
    assert {name for name in left if name.rpartition(".")[0] not in MODULES} == set()
    differentiated = {name for name in FUNCTIONS if not name.startswith("scipy.")}
    assert (differentiated | DISCRETE | REASONS.keys()) - names == NOT_OVERRIDABLE


def test_discrete_results_are_constants() -> None:
    t = adjoint.tensor([[0.3, -0.5], [0.7, 0.1]], requires_grad=True)
    assert np.argsort(t, axis=1).tolist() == [[1, 0], [1, 0]]
    assert np.shape(t) == (2, 2) and np.ndim(t) == 2 and np.size(t) == 4 and not np.iscomplexobj(t)
    assert np.isclose(t, t).tolist() == [[True, True], [True, True]] and np.allclose(t, t) and np.array_equal(t, t)
    assert np.argmax(t) == 2 and np.count_nonzero(t) == 4 and np.result_type(t, np.float64) == np.float64
    assert [each.tolist() for each in np.nonzero(t > 0)] == [[0, 1, 1], [0, 0, 1]]
    assert isinstance(np.digitize(t, [0.0, 0.5]), adjoint.Tensor)


def test_conversion_is_refused() -> None:
    t = adjoint.ones(2, dtype=adjoint.float64, requires_grad=True)
    message = r"Can't call numpy\(\) on Tensor that requires grad. Use tensor.detach\(\).numpy\(\) instead."
    for convert in (
        np.asarray, np.array, np.atleast_1d.__wrapped__, lambda x: np.array([x, x]), lambda x: np.array([x[0], x[1]]),
        lambda x: np.asarray(x, dtype="float32"), lambda x: np.array(x, copy=True),
        np.random.default_rng(0).permutation,
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=message):
            convert(t)
    assert np.asarray(t.detach()).tolist() == [1.0, 1.0]
    with adjoint.no_grad():
        assert np.asarray(t).tolist() == [1.0, 1.0]


def test_a_tangent_is_not_lost_either() -> None:
    from adjoint.autograd import forward_ad

    with forward_ad.dual_level():
        dual = forward_ad.make_dual(adjoint.tensor([1.0, 4.0]), adjoint.tensor([1.0, 1.0]))
        assert forward_ad.unpack_dual(np.sqrt(dual)).tangent.tolist() == [0.5, 0.25]
        assert forward_ad.unpack_dual(np.linalg.norm(dual)).tangent is not None
        with pytest.raises(TypeError, match="packbits"):
            np.packbits(dual)


def test_functions_of_numpy_under_vmap() -> None:
    x = adjoint.arange(6, dtype=adjoint.float64).reshape(2, 3) + 1
    rows = adjoint.vmap(lambda v: np.sum(v * np.sqrt(v)))(x)
    assert np.allclose(rows, np.sum(x.numpy() ** 1.5, axis=1))
    with pytest.raises(RuntimeError, match="vmap: this function of NumPy needs the values of a batched Tensor"):
        adjoint.vmap(lambda v: np.argsort(v))(x)


def test_the_coverage_table_is_current() -> None:
    script = runpy.run_path(str(Path(__file__).parents[2] / "scripts/generate_numpy_coverage.py"))
    page = script["TARGET"].read_text()
    if f"NumPy {script['version']()} has " not in page:
        pytest.skip("the page is about another version of NumPy, which has other functions")
    assert page == script["text"](), "run scripts/generate_numpy_coverage.py"
