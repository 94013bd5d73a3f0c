"""The short form of `make soak`: some steps of each loop, and some allocations that fail."""

from __future__ import annotations

from typing import Any

import pytest
from trust.figures import Recorder

from adjoint.runtime import threads as helpers
from trust import no_memory, soak

compiled_on_linux = pytest.mark.skipif(
    not (soak.can_preload() and helpers.compiled), reason="needs Linux and a C compiler, to preload an allocator"
)


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", soak.loops())
def test_loop(name: str) -> None:
    measured = soak.run_loop(name, soak.loops()[name][0])
    assert not isinstance(measured, str), measured
    if "left_out" in measured:
        pytest.skip(str(measured["left_out"]))
    # few steps measure memory, but not time
    assert measured.get("grown", 0) <= soak.MORE_MEMORY


@pytest.fixture(scope="module")
def library(tmp_path_factory: Any) -> str:
    return str(no_memory.build(tmp_path_factory.mktemp("library")))


@pytest.fixture(scope="module")
def kinds(library: str) -> list[str]:
    return soak.failing_kinds(library)


@compiled_on_linux
@pytest.mark.quick(2)
@pytest.mark.parametrize("kind", no_memory.KINDS)
@pytest.mark.parametrize("name", soak.scenarios())
def test_memory_that_cannot_be_had(name: str, kind: str, library: str, kinds: list[str]) -> None:
    if kind not in kinds:
        pytest.skip(soak.NO_FUNCTIONS)
    counts, faults = soak.sweep(library, name, kind, 29)
    assert faults == []
    # NumPy 2.5 keeps the memory of more arrays, so that some programs take none from the system
    assert counts.total() > 0 or kind == "system"


def test_what_is_judged_a_fault() -> None:
    flat = {"grown": 0.0, "first": 1e-6, "last": 1e-6}
    assert list(soak.judge(flat)) == []
    assert list(soak.judge(flat | {"grown": 2.0**25})) == ["memory has grown by 32.0 MiB"]
    assert list(soak.judge(flat | {"last": 2e-6})) == ["a step takes 2 µs at last, and 1 µs at first"]


def test_a_scenario_that_leaves_something_behind_is_a_fault() -> None:
    recorder = Recorder("make soak", long=False)
    recorder.figures.findings.append("a lock is held")
    assert recorder.report() == 1
