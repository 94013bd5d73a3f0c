"""Ufuncs with our own loops, compared with the ufuncs that they replace."""

from __future__ import annotations

import copy
import os
import pickle
import re
import runpy
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adjoint.arrays.kernels import vector_ufuncs

NAMES = sorted(vector_ufuncs.NUMPY_NAMES | vector_ufuncs.SPECIAL_NAMES)
#: The largest differences in units in the last place. They include the errors of the originals.
ULPS = {"sin": 1, "cos": 1, "hypot": 1, "ndtr": 120, "i0": 8, "i0e": 8, "i1": 20, "i1e": 16, "erfinv": 6, "expit": 3}
ULPS |= {"normal_cdf": ULPS["ndtr"], "log1p": 2, "expm1": 3, "erf": 4, "erfc": 60, "gammaln": 4, "logaddexp": 1}
ULPS |= {"erfcx": 60}
#: The originals lose digits near the zeros of these functions. The units are those of 1, or of the larger operand.
CANCELLING = ("gammaln", "logaddexp")
#: Ranges in which the originals return 0 or infinity, although the value is a number.
LOST = {"expit": (-1e4, -87), "gammaln": (-1e-306, 1e-306)}
#: The largest differences in single precision, which has other formulas.
SINGLE_ULPS = {"expit": 4, "normal_cdf": 8, "log1p": 2, "expm1": 2, "erf": 1.5, "erfc": 1}
SINGLE_ULPS |= {"gammaln": 2, "psi": 1}
#: Ranges, and the largest errors in double precision, in units in the last place.
EXACT = {"log1p": (-1, 30, 1), "expm1": (-40, 40, 2), "erf": (-6, 6, 1.2), "erfc": (-6, 6, 3.5)}
EXACT |= {"erfcx": (-6, 6, 3.5)}

UP_TO_ONE = ("erfinv", "asin", "acos", "atanh", "arcsin", "arccos", "arctanh")
FROM_ONE = ("acosh", "arccosh")

#: Linux lists the memory pages of a process here.
STATM = Path("/proc/self/statm")

RNG = np.random.default_rng(0)
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e-310, -1e-300, 1e300, 1.7e308, 1.0, -1.0, 8.0, 0.5])
ORDINARY = np.concatenate([RNG.uniform(-1, 1, 3000), 8 * RNG.normal(size=2000), RNG.uniform(-600, 600, 1000),
                           np.pi * np.arange(-20, 20) / 2, np.arange(-50, 50) / 4])  # fmt: skip


@pytest.fixture(params=vector_ufuncs.kinds() or [None])
def kind(request: Any) -> Iterator[Any]:
    """Each kind of processor that this one can run."""
    if request.param is None:
        yield None
        return
    before = vector_ufuncs.use_kind(request.param)
    yield request.param
    vector_ufuncs.use_kind(before)


def arguments(name: str, values: Any) -> tuple[Any, ...]:
    other = RNG.permutation(values)
    return (values, np.where(other == 0, 1, other).astype(other.dtype))[: vector_ufuncs.of(name).nin]


def both(name: str, *values: Any, **options: Any) -> tuple[Any, Any]:
    return vector_ufuncs.of(name)(*values, **options), vector_ufuncs.original(name)(*values, **options)


@pytest.mark.parametrize("name", NAMES)
def test_values(kind: Any, name: str) -> None:
    values = arguments(name, ORDINARY / 601 if name == "erfinv" else ORDINARY)
    with np.errstate(all="ignore"):
        actual, expected = both(name, *values)
    defined = ~np.isnan(expected)
    least = np.max(np.abs([*values, np.ones_like(values[0])]), axis=0)[defined] if name in CANCELLING else 1e-300
    actual, expected = actual[defined], expected[defined]
    with np.errstate(invalid="ignore"):
        unit = np.spacing(np.maximum(np.abs(expected), least))
    near = np.isfinite(expected)
    np.testing.assert_array_equal(actual[~near], expected[~near])
    np.testing.assert_array_less(np.abs(actual[near] - expected[near]), (ULPS.get(name, 0) + 0.5) * unit[near])
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(actual[zero]), np.signbit(expected[zero]))


@pytest.mark.parametrize("name", SINGLE_ULPS)
def test_values_in_single_precision(kind: Any, name: str) -> None:
    values = ORDINARY[np.abs(ORDINARY) < (80 if name == "expit" else 12)].astype(np.float32)
    values = values[values > -1] if name == "log1p" else values
    actual, expected = vector_ufuncs.of(name)(values), vector_ufuncs.original(name)(values.astype(np.float64))
    assert actual.dtype == np.float32
    actual, expected = actual[np.isfinite(expected)], expected[np.isfinite(expected)]
    unit = np.spacing(np.abs(expected).astype(np.float32))
    np.testing.assert_array_less(np.abs(actual - expected), SINGLE_ULPS[name] * unit)


@pytest.mark.parametrize("name", EXACT)
def test_exact_values(kind: Any, name: str) -> None:
    mp = pytest.importorskip("mpmath")
    low, high, ulps = EXACT[name]
    values = np.concatenate([RNG.uniform(low, high, 200), RNG.uniform(-1, 1, 400), 10 ** RNG.uniform(-30, -1, 50)])
    result = vector_ufuncs.of(name)(values)
    with mp.workdps(40):
        function = getattr(mp, name, lambda x: mp.exp(mp.mpf(x) ** 2) * mp.erfc(x))
        exact = [function(float(value)) for value in values]
        errors = [float(abs(a - b)) for a, b in zip(map(float, result), exact, strict=True)]
    # without vector instructions the originals' loops run, with the originals' errors
    ulps = max(ulps, {"erf": 3, "erfc": 30, "erfcx": 30}.get(name, 0)) if not kind else ulps
    np.testing.assert_array_less(errors, ulps * np.spacing(np.abs(np.array(exact, float))))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_special_values_are_those_of_the_original(kind: Any, name: str, dtype: Any) -> None:
    with np.errstate(all="ignore"):
        values = np.concatenate([SPECIAL, [1e-40, -1e-45, -0.9999999, 6, -6, 30, -30, 89, -89]]).astype(dtype)
        first, second = (each.ravel() for each in np.meshgrid(values, values))
        actual, expected = both(name, *(first, second)[: vector_ufuncs.of(name).nin])
    if name in LOST and kind is not None:
        low, high = LOST[name]
        lost = (first > low) & (first < high) & (first != 0)
        assert (actual[lost] > 0).all()
        first, actual, expected = first[~lost], actual[~lost], expected[~lost]
    rtol, atol = (1e-6, 1e-45) if dtype == np.float32 else (3e-14, 5e-324)
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)
    # SciPy returns 0.0 for -0.0 here
    signed = first != 0 if name in ("erfinv", "i1", "i1e") else np.full(first.shape, True)
    np.testing.assert_array_equal(np.signbit(actual[signed]), np.signbit(expected[signed]))


def assert_same(kind: Any, actual: Any, expected: Any) -> None:
    """The bits are the same with our loops. NumPy's loops depend on strides: their results agree within 4 units."""
    if kind is None:
        np.testing.assert_array_max_ulp(actual, expected, 4)
    else:
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("name", NAMES)
def test_any_size_and_layout(kind: Any, name: str) -> None:
    ufunc = vector_ufuncs.of(name)
    for n in (0, 1, 7, 8, 127, 128, 129, 300):
        values = arguments(name, RNG.uniform(0.1, 0.95, 2 * n) * (1 if name in UP_TO_ONE else 5) + (name in FROM_ONE))
        whole = ufunc(*values)
        assert_same(kind, ufunc(*[v[::2] for v in values]), whole[::2])
        assert_same(kind, ufunc(*[v[::-1] for v in values]), whole[::-1])
        spread = np.zeros((2 * n, 3))
        ufunc(*values, out=spread[:, 1])
        assert_same(kind, spread, whole[:, None] * [0, 1, 0])
        interior = values[0].copy()
        ufunc(interior, *values[1:], out=interior)
        assert_same(kind, interior, whole)
    if ufunc.nin == 2:
        with np.errstate(all="ignore"):
            one, many = ufunc(ORDINARY, 1.5), ufunc(ORDINARY, np.full(ORDINARY.shape, 1.5))
        defined = ~np.isnan(many)
        np.testing.assert_array_equal(np.isnan(one), ~defined)
        assert_same(kind, one[defined], many[defined])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float16", "float32", "int64", "int8", "complex64", "bool"])
def test_other_types(name: str, dtype: str) -> None:
    values = arguments(name, np.arange(1, 8).astype(dtype))
    try:
        with np.errstate(all="ignore"):
            expected = vector_ufuncs.original(name)(*values)
    except TypeError:
        with pytest.raises(TypeError, match="not supported for the input types"):
            vector_ufuncs.of(name)(*values)
        return
    with np.errstate(all="ignore"):
        result = vector_ufuncs.of(name)(*values)
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=1e-6 if result.dtype.itemsize == 4 else 1e-14)


@pytest.mark.parametrize("name", ["hypot", "fmod", "remainder", "floor_divide", "nextafter"])
def test_numbers_do_not_change_the_type(name: str) -> None:
    actual, expected = both(name, np.ones(3, np.float32), 0.3)
    assert actual.dtype == expected.dtype == np.float32
    np.testing.assert_array_equal(actual, expected)


def test_warnings_are_those_of_the_original(kind: Any) -> None:
    cases = [("sin", [np.inf]), ("cos", [1.0, np.inf]), ("fmod", [1.0]), ("i0", [800.0]), ("ndtr", [3.0])]
    cases += [(name, [np.nan, 0.5]) for name in NAMES]
    for name, values in cases:
        messages = []
        for ufunc in (vector_ufuncs.of(name), vector_ufuncs.original(name)):
            with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
                warnings.simplefilter("always")
                ufunc(np.array(values), *[0.0] * (ufunc.nin - 1))
            messages.append([str(one.message) for one in caught])
        assert messages[0] == messages[1]


def test_remainders_are_exact(kind: Any) -> None:
    first = RNG.integers(-(2**40), 2**40, 5000) * 2.0 ** RNG.integers(-60, 20, 5000)
    second = RNG.integers(1, 2**30, 5000) * 2.0 ** RNG.integers(-50, 20, 5000) * RNG.choice([-1, 1], 5000)
    for name in ("fmod", "remainder", "floor_divide"):
        np.testing.assert_array_equal(*both(name, first, second))


def test_they_are_pickled_and_copied_by_name() -> None:
    for name in NAMES:
        ufunc = vector_ufuncs.of(name)
        assert pickle.loads(pickle.dumps(ufunc)) is ufunc
        assert copy.deepcopy(ufunc) is ufunc
    with pytest.raises(AttributeError, match="has no attribute 'tangent'"):
        vector_ufuncs.tangent  # noqa: B018


@pytest.mark.skipif(not vector_ufuncs.compiled, reason="needs the compiled form")
def test_unknown_kinds_of_processor() -> None:
    with pytest.raises(ValueError, match=r"this processor has the kinds \[0.*\], got 9"):
        vector_ufuncs.use_kind(9)


def test_the_tables_are_those_of_the_script() -> None:
    pytest.importorskip("mpmath")
    script = runpy.run_path(str(Path(__file__).parents[3] / "scripts/fit_functions.py"))
    numbers = re.findall(r"-?\d\S*[\d.](?=,)", script["HEADER"].read_text())
    matches = re.findall(r"-?\d\S*[\d.](?=,)", script["text"]())
    assert len(numbers) > 100
    np.testing.assert_allclose([float(x) for x in numbers], [float(x) for x in matches], rtol=1e-15)


@pytest.mark.quick(0)
def test_what_is_no_ufunc_is_left_as_it_is() -> None:
    """With SCIPY_ARRAY_API=1 some functions of scipy.special are plain functions, more of them in later versions."""
    script = (
        "import numpy, adjoint; from adjoint.arrays.kernels import vector_ufuncs\n"
        "of, original = vector_ufuncs.of, vector_ufuncs.original\n"
        "plain = [name for name in vector_ufuncs.SPECIAL_NAMES if type(original(name)) is not numpy.ufunc]\n"
        "assert plain and all(of(name) is original(name) for name in plain), plain\n"
        "print(adjoint.special.i0e(adjoint.zeros(2)).tolist())"
    )
    process = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "SCIPY_ARRAY_API": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (process.returncode, process.stdout) == (0, "[1.0, 1.0]\n"), process.stderr


@pytest.mark.skipif(
    not vector_ufuncs.kinds() or not STATM.exists(), reason="needs the compiled form, and Linux for the number of pages"
)
@pytest.mark.skipif(
    "asan" in os.environ.get("LD_PRELOAD", ""), reason="AddressSanitizer keeps for a while what is freed"
)
def test_a_copy_that_dies_leaves_nothing() -> None:
    """Two threads may make the same copy at once. The second copy is kept, and the first one is freed completely."""
    replaced: Any = vector_ufuncs._replace  # type: ignore[attr-defined]

    def pages_after(n: int) -> int:
        for _ in range(n):
            assert replaced("exp").nin == 1
        return int(STATM.read_text().split()[1])

    before = pages_after(100)
    assert pages_after(10_000) - before < 1000


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["logaddexp", "hypot", "maximum", "minimum", "remainder"])
def test_reductions_read_their_results(kind: Any, name: str, dtype: Any) -> None:
    values = np.tile(RNG.uniform(0.5, 2, (3, 700)), 2).astype(dtype)
    ufunc, original = vector_ufuncs.of(name), vector_ufuncs.original(name)
    rtol = 1e-4 if dtype == np.float32 else 1e-12
    for axis in (0, 1):
        np.testing.assert_allclose(ufunc.accumulate(values, axis), original.accumulate(values, axis), rtol=rtol)
        np.testing.assert_allclose(ufunc.accumulate(values, axis).take(-1, axis), ufunc.reduce(values, axis), rtol=rtol)
    places, counted = np.array([0, 0, 1, 1, 1]), np.ones(2, dtype)
    ufunc.at(counted, places, values[0, :5])
    expected = np.ones(2, dtype)
    original.at(expected, places, values[0, :5])
    np.testing.assert_allclose(counted, expected, rtol=rtol)


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_one_of_equal_numbers(name: str) -> None:
    zeros, other = np.array([0.0, -0.0] * 9), np.array([-0.0, 0.0] * 9)
    for values in ((zeros, other), (zeros, 0.0), (zeros, -0.0), (0.0, zeros), (zeros[::3], 0.0)):
        actual, expected = both(name, *values)
        np.testing.assert_array_equal(np.signbit(actual), np.signbit(expected))
