"""The examples in the docstrings of the transformations run, and print what they say."""

import doctest
import importlib

import pytest

MODULES = ["forward", "forward_ad", "func", "functional"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    outcome = doctest.testmod(importlib.import_module(f"adjoint.transforms.{name}"))
    assert outcome.failed == 0


@pytest.mark.parametrize("name", ["adjoint.func", "adjoint.autograd.functional"])
def test_every_public_function_has_an_example(name):
    module = importlib.import_module(name)
    functions = [getattr(module, public) for public in module.__all__]
    assert [f.__name__ for f in functions if ">>>" not in (f.__doc__ or "")] == []
