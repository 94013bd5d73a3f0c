"""The public names are those of tests/data/public_names.json. A change of this list is always intended."""

import json
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LISTED = json.loads((ROOT / "tests" / "data" / "public_names.json").read_text())
FOUND = runpy.run_path(str(ROOT / "scripts" / "list_public_names.py"))["names"]()


def test_the_same_modules():
    assert list(FOUND) == list(LISTED)


@pytest.mark.parametrize("space", LISTED)
def test_public_names(space):
    remedy = "if that is intended, run: python scripts/list_public_names.py"
    assert sorted(set(FOUND[space]) - set(LISTED[space])) == [], f"new names; {remedy}"
    assert sorted(set(LISTED[space]) - set(FOUND[space])) == [], f"lost names; {remedy}"
    assert LISTED[space] == sorted(set(LISTED[space]))
