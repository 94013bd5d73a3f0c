"""Programs that are difficult to record have the same observations when compiled and when eager."""

from __future__ import annotations

import numpy as np
import pytest

from adjoint.program import plain_region
from support.compiled_comparison import compare, observe_writes
from support.compiled_programs import PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    case = PROGRAMS[name]
    compiled, warnings = compare(case)
    if case.recorded:
        assert not compiled.refused and warnings == [], list(compiled.refused.values())
        assert compiled.n_recordings <= case.recordings
    else:
        assert len(warnings) == 1, "it is recorded"
        assert compiled.refused


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_that_are_written_to(name: str) -> None:
    compare(PROGRAMS[name], observe_writes)


def test_number_of_programs() -> None:
    assert len(PROGRAMS) >= 100


@pytest.mark.parametrize("seed", range(20))
def test_bounds_of_memory_are_those_of_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    array = np.zeros([int(n) for n in rng.integers(0 if seed % 4 == 0 else 1, 6, rng.integers(0, 4))])
    array = array[tuple([slice(None, None, int(step)) for step in rng.choice([-3, -2, -1, 1, 2, 3], array.ndim)])]
    start = array.__array_interface__["data"][0]
    expected = np.lib.array_utils.byte_bounds(array) if array.size else (start, start)
    assert plain_region.byte_bounds(array) == expected


def test_results_of_another_layout_are_kept_in_that_of_the_block() -> None:
    view = plain_region.BlockView(0, 0, np.dtype(float), (2, 3), (24, 8))
    keeper, frame, values = plain_region.Keeper(view, 48), plain_region.Frame(1), np.arange(6.0).reshape(2, 3)
    for result in (values, np.asfortranarray(values), values[::-1]):
        keeper.keep(frame, result)
        part = view.of(frame)
        np.testing.assert_array_equal(part, result)
        assert part.strides == (24, 8)
    with pytest.raises(plain_region.CheckFailed):
        keeper.keep(frame, values.T)
