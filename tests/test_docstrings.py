"""The examples in the docstrings of the package run, and print what they say."""

import doctest
import importlib
import inspect
import sys
import warnings
from pathlib import Path

import pytest

import adjoint
from adjoint.functions.composite import COMPOSITES
from adjoint.rules.declare import TABLE

SOURCE = Path(adjoint.__file__).parents[1]
MODULES = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((SOURCE / "adjoint").rglob("*.py"))
    if ">>> " in path.read_text()
]
# what doctest does not find in a module: docstrings of operations, and of functions that other functions made
OTHERS = {f"adjoint.{name}": rule.doc for name, rule in TABLE.items() if ">>> " in rule.doc} | {
    f"{made.__module__}.{made.__name__}": made.__doc__
    for made in [composite.function for composite in COMPOSITES.values()]
    if ">>> " in (made.__doc__ or "") and not hasattr(sys.modules[made.__module__], made.__name__)
}
# of these, every public function and class has an example
SHOWN = ["autograd.functional", "fft", "func", "integrate", "masked", "optimize", "signal.windows", "testing"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name):
    module = importlib.import_module(name)
    with warnings.catch_warnings():
        # names of adjoint such as `float` are not Python's; its functions' examples import what they need
        tests = doctest.DocTestFinder().find(module, globs={} if module is adjoint else None)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        for test in tests:
            if _is_ours(module, test.name):
                runner.run(test)
    assert runner.failures == 0
    assert runner.tries or any(other.startswith(name) for other in OTHERS)


def _is_ours(module, name):
    """False for a function of a library that also takes Tensors: its docstring is the library's."""
    value = getattr(module, name.removeprefix(f"{module.__name__}."), None)
    return getattr(inspect.unwrap(value) if callable(value) else None, "__module__", "adjoint").startswith("adjoint")


@pytest.mark.parametrize("name", OTHERS)
def test_examples_of_a_function(name):
    test = doctest.DocTestParser().get_doctest(OTHERS[name], {}, name, None, None)
    assert doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.parametrize("name", SHOWN)
def test_every_public_function_has_an_example(name):
    module = importlib.import_module(f"adjoint.{name}")
    functions = {public: getattr(module, public) for public in module.__all__}
    assert [public for public, made in functions.items() if callable(made) and ">>> " not in (made.__doc__ or "")] == []
