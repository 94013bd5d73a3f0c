"""The short form of `make accuracy`: 40 points of each function, and the definition of a fault."""

from __future__ import annotations

import doctest
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from mpmath import mp
from trust.exact_values import Exact, ExactValues, condition_at, exact_at, identity_of
from trust.references import REFERENCES, Reference, missing

from trust import accuracy, accuracy_page, complex_accuracy, exact_sums, kinds, points, references

DTYPES = ("float64", "float32")


def test_examples() -> None:
    assert doctest.testmod(points).failed == 0
    assert doctest.testmod(accuracy_page).failed == 0
    assert doctest.testmod(kinds).failed == 0


def test_each_elementwise_rule_is_measured_or_listed() -> None:
    assert missing() == []


@pytest.mark.quick(4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reference", REFERENCES, ids=lambda reference: reference.label)
def test_errors(reference: Reference, dtype: str) -> None:
    row = accuracy.measure(reference, dtype, accuracy.SHORT, seconds=0.2)
    assert accuracy.unlisted_faults(row) == []


@pytest.mark.quick(4)
@pytest.mark.parametrize("dtype", complex_accuracy.DTYPES)
@pytest.mark.parametrize("reference", complex_accuracy.REFERENCES, ids=lambda reference: reference.label)
def test_errors_of_complex_numbers(reference: complex_accuracy.ComplexReference, dtype: str) -> None:
    row = complex_accuracy.measure(reference, dtype, accuracy.SHORT, seconds=0.2, keep=False)
    assert accuracy.unlisted_faults(row) == []


def test_the_sides_of_a_cut_are_told_apart() -> None:
    root = next(reference for reference in complex_accuracy.REFERENCES if reference.rule == "sqrt")
    points = complex_accuracy.points_of(root, "complex64", 1000)
    below = (points.imag == 0) & np.signbit(points.imag) & (points.real < 0)
    assert np.count_nonzero(below) > 10
    parts = complex_accuracy.beside_cuts(points)
    functions = [complex_accuracy.part(root.value, name) for name in ("real", "imag")]
    exact = ExactValues("sqrt", functions, parts, seconds=math.inf, keep=False)
    errors = complex_accuracy.errors_of(np.sqrt(points), exact, 0, root.value, "complex64")
    assert errors is not None and errors.worst < 2
    other_side = np.where(below, np.conj(np.sqrt(points)), np.sqrt(points))
    wrong = complex_accuracy.errors_of(other_side, exact, 0, root.value, "complex64")
    assert wrong is not None and wrong.beyond > 1e6


@pytest.mark.parametrize("dtype", DTYPES)
def test_points_are_of_all_sizes(dtype: str) -> None:
    (sample,) = points.arguments_of("f", (points.Range(-math.inf, math.inf, (1.0,)),), dtype, 10_000)
    sizes = np.abs(sample)
    info = np.finfo(dtype)
    assert sample.dtype == dtype and sample.size == 10_000
    assert {info.max, info.min} <= set(sample.tolist())
    assert np.count_nonzero((sizes > 0) & (sizes < info.tiny)) > 100
    assert np.count_nonzero(np.abs(sizes - 1) < 1e-6) > 100


def test_each_listed_error_is_one() -> None:
    faults = {name for row in accuracy_page.read_tables().rows for name in accuracy.faults(row)}
    assert set(accuracy_page.known_errors()) - faults == set()


def exact_square(arguments: Sequence[float]) -> ExactValues:
    values = [np.array(arguments)]
    return ExactValues("square", [lambda x: x * x, lambda x: 2 * x], values, seconds=math.inf, keep=False)


def test_errors_are_units_in_the_last_place() -> None:
    exact = exact_square([3.0, 1e-200, 1e200, 5.0])
    wrong = np.array([9 + 4 * math.ulp(9.0), 0.0, math.inf, math.nan])
    errors = accuracy.errors_of(wrong, exact, 0, "float64")
    assert errors is not None and (errors.worst, errors.lost, errors.point) == (4.0, 1, (5.0,))
    in_single = accuracy.errors_of(np.float32([0.1]) ** 2, exact_square([float(np.float32(0.1))]), 0, "float32")
    assert in_single is not None and 0 < in_single.worst <= 0.5


def test_an_error_that_the_condition_explains_is_none() -> None:
    near_pi = float(np.pi) + 1e-9
    exact = ExactValues("sin", [mp.sin], [np.array([near_pi])], seconds=math.inf, keep=False)
    neighbour = np.array([math.sin(near_pi + 4 * math.ulp(near_pi))])
    errors = accuracy.errors_of(neighbour, exact, 0, "float64")
    assert errors is not None and errors.worst > 1e6 and errors.beyond < 8
    assert condition_at(mp.sin, [near_pi]) == pytest.approx(np.pi / 1e-9, rel=1e-3)


def test_exact_values_get_the_bits_they_need() -> None:
    def cancels(x: Any) -> Any:
        return (x + mp.mpf(2) ** 120) - mp.mpf(2) ** 120

    exact = ExactValues("cancels", [cancels], [np.array([1 / 3])], seconds=math.inf, keep=False)
    assert exact.results[0] is not None and exact.results[0].near[0] != 1 / 3
    errors = accuracy.errors_of(np.array([1 / 3]), exact, 0, "float64")
    assert errors is not None and errors.worst == 0


def test_the_name_of_kept_values_is_that_of_other_processes() -> None:
    names = [identity_of(function) for reference in REFERENCES for function in (reference.value, *reference.slopes)]
    assert not any(" at 0x" in name for name in names)
    assert identity_of(references.sigmoid) != identity_of(references.softplus)
    assert "mpf" in identity_of(references.one)


def test_poles_and_complex_results_have_no_exact_value() -> None:
    assert math.isnan(exact_at(lambda x: 1 / x, [0.0])[0])
    assert math.isnan(exact_at(mp.sqrt, [-1.0])[0])


def test_a_wrong_slope_is_a_fault() -> None:
    square = next(reference for reference in REFERENCES if reference.rule == "square")
    wrong = square._replace(slopes=(lambda x: 3 * x,))
    assert accuracy.faults(accuracy.measure(square, "float64", 20)) == {}
    assert len(accuracy.faults(accuracy.measure(wrong, "float64", 20))) == 1


def test_exact_values_are_kept(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trust.exact_values.CACHE", tmp_path)
    values = [np.array([0.1, 0.2])]
    first = ExactValues("exp", [mp.exp, None], values, seconds=math.inf, keep=True)
    first.results[0] = Exact(np.array([1.0, 2.0]), np.zeros(2))
    first._store()
    again = ExactValues("exp", [mp.exp, None], values, seconds=math.inf, keep=True)
    assert again.results[0] is not None and again.results[0].near.tolist() == [1.0, 2.0] and again.results[1] is None
    other = ExactValues("exp", [mp.expm1, None], values, seconds=math.inf, keep=True)
    assert other.results[0] is not None and other.results[0].near[0] == pytest.approx(math.expm1(0.1))


@pytest.mark.quick(4)
@pytest.mark.parametrize(("dtype", "title"), exact_sums.all_data())
def test_reductions(dtype: str, title: str) -> None:
    entries = exact_sums.results(dtype, title)
    assert len(entries) == len(exact_sums.CASES)
    assert [entry for entry in entries if not entry.adjoint <= max(64.0, 2 * entry.numpy)] == []


def test_the_page_shows_the_stored_tables() -> None:
    page = accuracy_page.PAGE.read_text(encoding="utf-8")
    tables = accuracy_page.read_tables()
    first = page.partition("<!-- run -->\n")[2].partition("\n<!-- /run -->")[0]
    assert accuracy_page.with_tables(page, tables, first) == page
