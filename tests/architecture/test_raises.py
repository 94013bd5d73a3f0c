"""Raise statements that no test exercises are listed, each with the reason (scripts/check_raises.py makes the list)."""

from __future__ import annotations

import ast
import json
import runpy
from pathlib import Path

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "check_raises.py"))
LISTED = json.loads(SCRIPT["LISTED"].read_text())
#: Change this number only downward.
MOST_WITHOUT_TEST = 0


def test_listed_statements_still_exist() -> None:
    assert sorted(LISTED.keys() - SCRIPT["all_statements"]().keys()) == []


def test_each_has_a_reason_and_few_have_no_test_yet() -> None:
    assert all(isinstance(reason, str) and reason for reason in LISTED.values())
    assert sum(reason == SCRIPT["NOT_YET"] for reason in LISTED.values()) <= MOST_WITHOUT_TEST


def test_keys_tell_statements_apart_and_do_not_depend_on_lines() -> None:
    source = "def f(x):\n    if x:\n        raise ValueError('a')\n    raise ValueError('a')\n"
    keys = [key for key, _ in SCRIPT["statements"](ast.parse(source), "m.py")]
    assert keys == ["m.py f: ValueError('a')", "m.py f: ValueError('a') #2"]
    assert keys == [key for key, _ in SCRIPT["statements"](ast.parse("\n\n" + source), "m.py")]
