"""Whole steps of the programs of the benchmarks give the same results compiled and eagerly."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from benchmarks.programs.measurement import results_of

import adjoint
from benchmarks import programs

CALLS = 3


@pytest.mark.parametrize("program", programs.ALL, ids=lambda program: program.name)
def test_step(program: programs.Program) -> None:
    ours = program.step(adjoint)
    expected = [results_of(ours) for _ in range(CALLS)]
    compiled = adjoint.compile(program.step(adjoint))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        actual = [results_of(compiled) for _ in range(CALLS)]
    for number, (first, second) in enumerate(zip(expected, actual, strict=True)):
        for k, (a, b) in enumerate(zip(first, second, strict=True)):
            assert np.array_equal(a, b, equal_nan=True), f"call {number}, result {k}"
    reasons = [str(warning.message) for warning in caught if "adjoint.compile" in str(warning.message)]
    assert reasons == []
