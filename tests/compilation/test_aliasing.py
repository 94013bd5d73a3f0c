"""Compiled functions find the arguments that share memory by the ends of their memory."""

from __future__ import annotations

from itertools import combinations

import numpy
import pytest

from adjoint.compilation.aliasing import Aliasing, overlaps
from adjoint.compilation.programs.views import EXTERNAL, Memory, byte_bounds


def views_of(memory: numpy.ndarray, seed: int, n: int = 12) -> list[numpy.ndarray]:
    """Random slices of an array, some of them empty or with negative strides, and one separate array."""
    rng = numpy.random.default_rng(seed)
    views = [numpy.zeros(5)]
    for _ in range(n):
        start, length = rng.integers(0, memory.size), rng.integers(0, 6)
        views.append(memory[start : start + length][:: rng.choice([-2, -1, 1, 2])])
    return views


@pytest.mark.parametrize("seed", range(20))
def test_overlaps_are_the_pairs_of_enclosing_bytes(seed: int) -> None:
    arrays = views_of(numpy.arange(40.0), seed)
    bounds = [byte_bounds(array) for array in arrays]
    expected = {
        (i, j)
        for i, j in combinations(range(len(arrays)), 2)
        if arrays[i].size and arrays[j].size and bounds[i][0] < bounds[j][1] and bounds[j][0] < bounds[i][1]
    }
    assert set(overlaps(arrays)) == expected


@pytest.mark.parametrize("argument", [0, 1, 2])
def test_written_arrays_must_stay_apart(argument: int) -> None:
    block, other = numpy.arange(6.0), numpy.arange(3.0)
    arrays = [block[:3], block[3:], other]
    memory = Memory()
    views = [memory.view(array, EXTERNAL) for array in arrays]
    aliasing = Aliasing(views, arrays, {views[2].buffer.number}, {argument})
    assert aliasing.holds(arrays)
    fresh = numpy.arange(6.0)
    assert aliasing.holds([fresh[:3], fresh[3:], other])
    assert not aliasing.holds([fresh[:3], fresh[2:5], other])  # the distance is different
    assert not aliasing.holds([block[:3], block[3:], block[2:5]])  # the written array shares memory with the others
    assert aliasing.holds(arrays)
