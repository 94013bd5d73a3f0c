"""One registry has all caches, and a reset changes no result."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import adjoint
from adjoint.core.recorded import operations
from adjoint.nn import functional
from adjoint.program import machine
from adjoint.runtime.caches import memoize, reset_caches

SOURCES = Path(__file__).parents[2] / "src" / "adjoint"


@pytest.mark.parametrize("path", sorted(SOURCES.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCES)))
def test_functions_keep_results_by_the_registry(path: Path) -> None:
    match = re.search(r"functools import .*cache\b|functools\.(lru_)?cache\b", path.read_text())
    assert not match or path.name == "caches.py"


def test_a_cache_is_bounded_and_emptied() -> None:
    calls = []

    @memoize(2)
    def double(n: int) -> int:
        calls.append(n)
        return 2 * n

    assert [double(n) for n in (1, 1, 2, 3, 1)] == [2, 2, 4, 6, 2]
    assert calls == [1, 2, 3, 1]
    reset_caches()
    assert double(1) == 2 and calls == [1, 2, 3, 1, 1]


def results() -> list[np.ndarray]:
    """Results of functions that cache programs, tables of axes, contractions, windows, and lines of calls."""
    x = adjoint.arange(64.0).reshape(1, 1, 8, 8).requires_grad_()
    y = functional.max_pool2d(functional.interpolate(x, scale_factor=2.0, mode="bilinear"), 3)
    z = adjoint.einsum("abij,abkj->abik", y, y).tanh() * (y * y).sigmoid().sum()
    z.sum().backward()
    return [z.detach().numpy(), x.grad.numpy()]


def test_reset_changes_no_result() -> None:
    before = results()
    assert reset_caches() > 20
    for first, second in zip(before, results(), strict=True):
        assert np.array_equal(first, second)


@pytest.mark.skipif(not machine.compiled, reason="only the compiled form runs programs")
def test_programs_are_forgotten() -> None:
    adjoint.ones(3).tanh()
    fused = operations["tanh"].kernel.fused
    assert fused.programs
    reset_caches()
    assert not fused.programs
    adjoint.ones(3).tanh()
    assert fused.programs
