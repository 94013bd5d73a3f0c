"""Every public name of PyTorch exists in adjoint, or is in the table of names that are left out by design."""

from __future__ import annotations

import importlib
import json
import runpy
from pathlib import Path
from typing import Any

import pytest

import adjoint
from adjoint.tensor.older.left_out import GROUPS, LEFT_OUT, explanation

ROOT = Path(__file__).parents[1]
NAMES = json.loads((ROOT / "tests" / "data" / "torch_names.json").read_text())["names"]
PAGE = runpy.run_path(str(ROOT / "scripts" / "generate_left_out.py"))


def space(name: str) -> Any:
    return adjoint.Tensor if name == "Tensor" else importlib.import_module(f"adjoint.{name}".rstrip("."))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there_or_left_out(name: str) -> None:
    result = space(name)
    there = {each for each in NAMES[name] if hasattr(result, each)}
    listed = {each for where, each in LEFT_OUT if where == name}
    assert set(NAMES[name]) - there - listed == set(), "make it, or say in tensor/older/left_out.py why not"
    assert there & listed == set(), "what is there is not left out"
    assert listed - set(NAMES[name]) == set(), "only names of PyTorch are left out"


def test_names_stand_in_the_table_once() -> None:
    every = [(where, name) for group in GROUPS for where, names in group.names.items() for name in names.split()]
    assert len(every) == len(set(every))
    assert {where for where, _ in every} <= NAMES.keys()


@pytest.mark.parametrize("name", NAMES)
def test_the_error_says_so(name: str) -> None:
    owners = [space(name)] if name != "Tensor" else [adjoint.Tensor, adjoint.ones(2), adjoint.nn.Parameter()]
    for where, each in LEFT_OUT:
        if where != name:
            continue
        for owner in owners:
            with pytest.raises(AttributeError) as raised:
                getattr(owner, each)
            text = str(raised.value)
            assert f"no attribute {each!r}" in text
            assert f"{each} is left out of adjoint on purpose: " in text
            assert "; instead, use " in text
            assert raised.value.name == each
            assert not hasattr(owner, each)


@pytest.mark.parametrize("name", NAMES)
def test_other_names_have_the_plain_error(name: str) -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'fermata'$"):
        getattr(space(name), "fermata")  # noqa: B009


def test_other_names_are_not_explained() -> None:
    assert explanation("", "ones") is None


def test_subclasses_and_instances_may_use_the_names() -> None:
    class Sparse(adjoint.Tensor):
        def smm(self) -> str:
            return "own"

    assert adjoint.ones(2).as_subclass(Sparse).smm() == "own"
    x = adjoint.ones(2)
    x.qscheme = 3
    assert x.qscheme == 3
    assert "to_mkldnn" not in dir(x)


def test_page_is_written_from_the_table() -> None:
    assert PAGE["PAGE"].read_text() == PAGE["page"](), "run: python scripts/generate_left_out.py"
