"""The short form of `make threads`: each scenario a few times. ADJOINT_REPEATS=200 makes a long round."""

from __future__ import annotations

import os

import pytest
from trust.threads import GROUPS, Group, outcomes, run_scenarios, unavailable

REPEATS = os.environ.get("ADJOINT_REPEATS")
#: The number of scenarios in one process, if it is not seven. The start of a process takes longer than most scenarios.
TOGETHER = {"pools": 1}
BATCHES = [
    (group, names[first : first + n])
    for group in GROUPS
    for names, n in [(group.names(), TOGETHER.get(group.module, 7))]
    for first in range(0, len(names), n)
]


@pytest.mark.quick(2)
@pytest.mark.parametrize(("group", "names"), BATCHES, ids=[f"{group.module}-{names[0]}" for group, names in BATCHES])
def test_scenarios(group: Group, names: list[str]) -> None:
    reasons = {name: unavailable(group, name) for name in names}
    available = [name for name, reason in reasons.items() if reason is None]
    if not available:
        pytest.skip(str(reasons[names[0]]))
    assert run_scenarios(group, available, int(REPEATS) if REPEATS else group.short) is None


def test_a_scenario_that_fails_is_named() -> None:
    # the name between two others does not exist
    group = next(group for group in GROUPS if group.module == "sharing")
    first, last = group.names()[:2]
    wrong = run_scenarios(group, [first, "no_such_scenario", last], 1)
    assert wrong is not None and wrong.startswith("sharing.no_such_scenario: status 1: ")


def test_there_are_scenarios() -> None:
    assert {group.module: len(group.names()) > 5 for group in GROUPS} == {group.module: True for group in GROUPS}


def test_outcomes_of_pytest() -> None:
    alone = "5 tests were not run in parallel because of use of thread-unsafe functionality"
    assert outcomes(f"{alone}\n40 passed, 2 skipped in 3s") == (40, 35)
    assert outcomes("2 failed in 3s") == (0, 0)
