"""The short form of `make threads`: each scenario some times; ADJOINT_REPEATS=200 for a long round."""

from __future__ import annotations

import os

import pytest
from trust.threads import GROUPS, Group, outcomes, run_scenario, unavailable

REPEATS = os.environ.get("ADJOINT_REPEATS")
PLACES = [(group, name) for group in GROUPS for name in group.names()]


@pytest.mark.quick(4)
@pytest.mark.parametrize(("group", "name"), PLACES, ids=[f"{group.module}-{name}" for group, name in PLACES])
def test_scenario(group: Group, name: str) -> None:
    reason = unavailable(group, name)
    if reason is not None:
        pytest.skip(reason)
    assert run_scenario(group, name, int(REPEATS) if REPEATS else group.short) is None


def test_there_are_scenarios() -> None:
    assert {group.module: len(group.names()) > 5 for group in GROUPS} == {group.module: True for group in GROUPS}


def test_outcomes_of_pytest() -> None:
    alone = "5 tests were not run in parallel because of use of thread-unsafe functionality"
    assert outcomes(f"{alone}\n40 passed, 2 skipped in 3s") == (40, 35)
    assert outcomes("2 failed in 3s") == (0, 0)
