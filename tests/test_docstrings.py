"""The examples in the package's docstrings run, and print the shown output."""

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from typing import TypeVar

import pytest

import adjoint
from adjoint import Tensor, selftest
from adjoint.core.graph import TensorBase
from adjoint.core.operations.operation import Operation
from adjoint.functions.binding import functions
from adjoint.functions.composite import COMPOSITES
from adjoint.rules.declare import TABLE
from adjoint.tensor.older.absent import NoMethod
from adjoint.tensor.table import operations

SOURCE = Path(adjoint.__file__).parents[1]
OTHERS = selftest.operation_examples()
#: Every public function by name, and every public method and attribute of Tensor.
PUBLIC = {
    f"{space}.{name}".lstrip("."): entry for space, members in functions.items() for name, entry in members.items()
}
PUBLIC |= {f"Tensor.{name}": inspect.getattr_static(Tensor, name) for name in dir(Tensor) if not name.startswith("_")}
# Every public function and class in these modules has an example.
SHOWN = ["autograd.functional", "fft", "func", "integrate", "masked", "optimize", "signal.windows", "testing"]


@pytest.mark.quick(12)
@pytest.mark.parametrize("name", selftest.modules())
def test_examples_of_a_module(name):
    module = importlib.import_module(name)
    tests = selftest.module_examples(module)
    assert [report for test in tests if (report := selftest.report(test))] == []
    assert tests or any(other.startswith(name) for other in OTHERS)


@pytest.mark.parametrize("name", OTHERS)
def test_examples_of_a_function(name):
    test = doctest.DocTestParser().get_doctest(OTHERS[name], {"adjoint": adjoint}, name, None, None)
    assert selftest.report(test) == ""


@pytest.mark.parametrize("name", SHOWN)
def test_every_public_function_has_an_example(name):
    module = importlib.import_module(f"adjoint.{name}")
    functions = {public: getattr(module, public) for public in module.__all__}
    assert [public for public, item in functions.items() if callable(item) and ">>> " not in (item.__doc__ or "")] == []


def _text_of(item):
    """The docstring without the lines that the help adds: the derivative and the place of the declaration."""
    return re.split(r"^(?:Derivative[:,] |PyTorch: )", inspect.getdoc(item) or "", maxsplit=1, flags=re.M)[0].strip()


@pytest.mark.quick(0)
def test_no_public_docstring_is_a_single_line():
    short = [name for name, item in PUBLIC.items() if "\n" not in _text_of(item) and not isinstance(item, NoMethod)]
    assert short == []


#: Folders of the floors below the public modules, and of the demonstration.
_INNER = {
    "arrays", "compilation", "core", "demo", "functions", "interop", "program", "rules", "runtime", "solvers", "tensor",
    "tools", "transforms",
}  # fmt: skip


def _public_modules():
    for module in pkgutil.walk_packages(adjoint.__path__, "adjoint."):
        parts = module.name.split(".")[1:]
        if parts[0] not in _INNER and not any(part.startswith("_") for part in parts):
            yield importlib.import_module(module.name)


def _members(module):
    """The functions and classes in a module that are public in adjoint."""
    for name in getattr(module, "__all__", None) or dir(module):
        value = getattr(module, name)
        is_ours = str(getattr(value, "__module__", "")).startswith("adjoint") and not isinstance(value, TypeVar)
        if not name.startswith("_") and is_ours and (inspect.isclass(value) or callable(value)):
            yield name, value


@pytest.mark.parametrize("module", [adjoint, *_public_modules()], ids=lambda module: module.__name__)
def test_no_docstring_of_a_public_module_is_a_single_line(module):
    # classes of the core are public in the modules of their subclasses
    members = {name: value for name, value in _members(module) if value is not TensorBase}
    assert [name for name, value in members.items() if "\n" not in _text_of(value)] == []


def test_every_operation_has_an_example():
    assert [name for name, doc in OTHERS.items() if ">>> " not in doc] == []


def _declaration_of(text):
    """The source lines that begin at the declaration that a docstring names."""
    path, line = re.search(r"Declared at (\S+):(\d+)", text).groups()
    return (SOURCE / path).read_text().splitlines()[int(line) - 1 :]


@pytest.mark.quick(0)
@pytest.mark.parametrize("kind", ["Operation", "Method"])
def test_help_names_parameters_and_declaration(kind):
    for item in PUBLIC.values():
        if type(item).__name__ == kind:
            text = item.__doc__
            assert inspect.getdoc(item) == text
            assert [name for name in inspect.signature(item).parameters if not re.search(rf"\b{name}\b", text)] == []
            # for a call over several lines, the line is that of the first argument, which is the name
            assert re.search(r"^@|\bdef |\w\(|\bname=|^ +\"\w+\",$", _declaration_of(text)[0])


@pytest.mark.quick(0)
def test_help_has_every_formula():
    for rule in [item.rule for item in PUBLIC.values() if isinstance(item, Operation)]:
        text = operations[rule.name].__doc__
        if not rule.has_derivative:
            assert "Derivative: none." in text
        else:
            lines = [f"    by {' and '.join(formula.inputs)}" for formula in rule.vjps]
            assert [line for line in lines if line not in text] == []
            assert "see the declaration" not in text


def test_docstrings_of_composites_name_their_declaration():
    items = {inspect.unwrap(each.function) for each in COMPOSITES.values() if not isinstance(each.function, Operation)}
    public = [actual for actual in PUBLIC.values() if inspect.unwrap(actual) in items]
    # functions made of methods refer to the methods
    public = [actual for actual in public if "as a function" not in actual.__doc__]
    assert len(public) > 400
    for function in public:
        assert "def " in "".join(_declaration_of(function.__doc__)[:20])


@pytest.mark.quick(0)
def test_help_is_composed_when_it_is_asked_for():
    """`import adjoint` imports neither the module that composes help nor the examples."""
    program = "import sys, adjoint; print([name for name in sys.modules if name.startswith('adjoint.functions.help')])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def _stand_in(rule, parameter):
    """A valid argument for a parameter without a default."""
    if parameter.name in rule.axes:
        return 0
    if parameter.name in rule.constants:
        return adjoint.zeros(2, dtype=adjoint.int64)
    return adjoint.ones(2, 3) if parameter.name in rule.inputs else 1


def _required_arguments(rule):
    return [parameter for parameter in rule.parameters if parameter.default is parameter.empty]


def _claiming(claim):
    """The operations whose help makes a claim, with their rules and required arguments."""
    items = {id(item): item for item in PUBLIC.values() if isinstance(item, Operation)}.values()
    return [(item, item.rule, _required_arguments(item.rule)) for item in items if claim in item.__doc__]


@pytest.mark.quick(0)
def test_errors_that_help_tells_of_are_raised():
    for operation, _, required in _claiming("TypeError for what is no tensor"):
        with pytest.raises(TypeError):
            operation(*["x" for _ in required])
    for operation, rule, required in _claiming("RuntimeError for shapes that cannot be broadcast"):
        if [parameter.name for parameter in required] == list(rule.inputs)[: len(required)]:
            vectors = [adjoint.ones(2 + (k > 0), dtype=adjoint.int64) for k in range(max(2, len(required)))]
            floats = [vector.double() for vector in vectors]
            with pytest.raises(RuntimeError):
                operation(*(vectors if rule.name in _OF_INTEGERS else floats))
    axes = [claiming for claiming in _claiming("IndexError for an axis out of range") if claiming[1].sequence is None]
    assert len(axes) > 20
    for operation, rule, required in axes:
        arguments = {parameter.name: _stand_in(rule, parameter) for parameter in required}
        with pytest.raises(IndexError):
            operation(**{**arguments, **dict.fromkeys(rule.axes, 7)})


_OF_INTEGERS = {"gcd", "lcm", *[name for name in TABLE if name.startswith("bitwise_")]}


@pytest.mark.quick(0)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # 1 is a pole of some operations
def test_dtypes_that_help_tells_of():
    checked = 0
    for operation, rule, required in _claiming("become the default floating-point dtype"):
        if rule.kind == "elementwise" and rule.outputs is None:
            checked += 1
            result = operation(*[adjoint.tensor([1, 1]) if p.name in rule.inputs else 1 for p in required])
            assert result.dtype in (adjoint.float32, adjoint.complex64), rule.name
    assert checked > 30


@pytest.mark.quick(0)
def test_functions_have_an_example():
    """Aliases, in-place forms, copies and deprecated functions need no example."""
    told_elsewhere = ("Alias of", "In-place version of", "A copy of what", "Tensor.", "The older name of")
    silent = [
        name
        for name, item in PUBLIC.items()
        if not name.startswith("Tensor.") and ">>> " not in item.__doc__ and not item.__doc__.startswith(told_elsewhere)
    ]
    assert silent == []
