"""Names whose declarations are imported at their first use. Each test uses them in a fresh interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import adjoint
from adjoint import Tensor
from adjoint.functions import binding
from adjoint.functions.binding import LateMethod
from adjoint.functions.names import FUNCTIONS, METHODS
from adjoint.rules.names import RULES
from adjoint.runtime.lazy import LateAttributes, LateModule, LazyTable

ROOT = Path(__file__).parents[2]
START = "import adjoint, numpy as np\nx = adjoint.tensor([1.0, -2.0], requires_grad=True)\n"


def run(program: str) -> str:
    """The output of a program in a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-c", START + program], capture_output=True, text=True, check=True
    ).stdout.strip()


# tables ---------------------------------------------------------------------------------------------------------------


@pytest.mark.quick(1)
@pytest.mark.parametrize("path", ["rules/names.py", "functions/names.py"])
def test_the_names_are_those_of_the_declarations(path: str, tmp_path: Path) -> None:
    program = (
        "import runpy, sys; pages = runpy.run_path(sys.argv[1])['pages']()\n"
        "print(next(text for path, text in pages.items() if str(path).endswith(sys.argv[2])), end='')"
    )
    script = str(ROOT / "scripts" / "generate_names.py")
    result = subprocess.run([sys.executable, "-c", program, script, path], capture_output=True, text=True, check=True)
    assert (ROOT / "src" / "adjoint" / path).read_text() == result.stdout, f"run {script}"


def test_a_table_loads_the_home_of_a_name_once() -> None:
    loaded = []

    def load(home: str) -> None:
        loaded.append(home)
        for name, home_of_name in table.homes.items():
            if home_of_name == home:
                table.enter(name, name.upper())

    table: LazyTable[str, str] = LazyTable({"a": "first", "b": "second", "c": "first"}, load)
    assert "c" in table and "d" not in table and loaded == []
    assert table["c"] == "C" and table["a"] == "A" and loaded == ["first"]
    with pytest.raises(KeyError, match="d"):
        table["d"]
    assert list(table.items()) == [("a", "A"), ("b", "B"), ("c", "C")] and "second" in loaded


def test_a_home_that_does_not_declare_its_name_is_an_error() -> None:
    table: LazyTable[str, int] = LazyTable({"a": "first"}, lambda home: None)
    with pytest.raises(KeyError, match="a"):
        table["a"]


def test_a_name_is_declared_once() -> None:
    table: LazyTable[str, int] = LazyTable()
    assert table.declare("a", 1)
    assert not table.declare("a", 2) and table["a"] == 1


def test_attributes_that_a_module_does_not_have() -> None:
    attributes = LateAttributes(__name__, {})
    with pytest.raises(AttributeError, match=f"module '{__name__}' has no attribute 'nothing'"):
        attributes("nothing")


def test_a_module_is_imported_when_one_of_its_attributes_is_used() -> None:
    late = "import sys; from adjoint.runtime.lazy import LateModule; late = LateModule('wave')\n"
    assert run(late + "print('wave' in sys.modules, late.Error.__name__, 'wave' in sys.modules)") == "False Error True"
    with pytest.raises(AttributeError, match="'math' has no attribute 'cosine'"):
        LateModule("math").cosine  # noqa: B018


def test_a_method_whose_home_lost_it_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tensor, "lost", LateMethod("lost", "adjoint.functions.reduce"), raising=False)
    with pytest.raises(AttributeError, match=r"does not declare the method 'lost': run scripts/generate_names\.py"):
        adjoint.ones(2).lost()


def test_all_methods_take_the_places_of_late_ones() -> None:
    binding.load_all()
    assert [name for name, value in vars(Tensor).items() if isinstance(value, LateMethod)] == []


# first uses -----------------------------------------------------------------------------------------------------------


FIRST_USES = {
    "(x + 1).tolist()": "[2.0, -1.0]",
    "(2 * x).tolist()": "[2.0, -4.0]",
    "(1 - x).tolist()": "[0.0, 3.0]",
    "(1 / x).tolist()": "[1.0, -0.5]",
    "(2**x).tolist()": "[2.0, 0.25]",
    "(x @ x).item()": "5.0",
    "(-x).tolist()": "[-1.0, 2.0]",
    "abs(x).tolist()": "[1.0, 2.0]",
    "(x % 3).tolist()": "[1.0, 1.0]",
    "(x == 1).tolist()": "[True, False]",
    "x[1].item()": "-2.0",
    "(np.ones(2) + x).tolist()": "[2.0, -1.0]",
    "(np.float64(2) * x).tolist()": "[2.0, -4.0]",
    "x.__radd__(1).tolist()": "[2.0, -1.0]",
    "adjoint.Tensor.__mul__(x, x).tolist()": "[1.0, 4.0]",
    "x.sum().item()": "-1.0",
    "adjoint.Tensor.sum(x).item()": "-1.0",
    "x.detach().zero_().tolist()": "[0.0, 0.0]",
    "adjoint.abs_(x.detach()).tolist()": "[1.0, 2.0]",
    "adjoint.linalg.norm(x[:1]).item()": "1.0",
    "adjoint.nn.functional.relu(x).tolist()": "[1.0, 0.0]",
    "adjoint.func.grad(lambda x: (x * x).sum())(x).tolist()": "[2.0, -4.0]",
    "adjoint.autograd.grad((x * x).sum(), x)[0].tolist()": "[2.0, -4.0]",
    "adjoint.vmap(lambda x: x * x)(x).tolist()": "[1.0, 4.0]",
    "adjoint.autograd.grad(x * x, x, adjoint.eye(2), is_grads_batched=True)[0].tolist()": "[[2.0, -0.0], [0.0, -4.0]]",
    "adjoint.autograd.functional.jacobian(lambda x: x * x, x).tolist()": "[[2.0, -0.0], [0.0, -4.0]]",
    "adjoint.autograd.functional.jacobian(lambda x: x * x, x, vectorize=True).tolist()": "[[2.0, -0.0], [0.0, -4.0]]",
    "adjoint.autograd.functional.jvp(lambda x: x * x, x, x)[1].tolist()": "[2.0, 8.0]",
    "adjoint.autograd.functional.hvp(lambda x: (x * x).sum(), x, x)[1].tolist()": "[2.0, -4.0]",
    "adjoint.func.jvp(lambda x: x * x, (x,), (x,))[1].tolist()": "[2.0, 8.0]",
    "adjoint.func.jacfwd(lambda x: x * x)(x).tolist()": "[[2.0, 0.0], [-0.0, -4.0]]",
    "adjoint.func.hessian(lambda x: (x**3).sum())(x).tolist()": "[[6.0, 0.0], [-0.0, -12.0]]",
    "adjoint.autograd.gradcheck(lambda x: x * x, (x.double(),), check_batched_grad=True)": "True",
    "adjoint.utils.checkpoint.checkpoint(lambda x: x * x, x, use_reentrant=False).tolist()": "[1.0, 4.0]",
}
#: A child process evaluates each expression as its first use of adjoint.
IN_CHILDREN = """
import json, os, sys
values = {}
for expression in json.loads(sys.argv[1]):
    read, write = os.pipe()
    if not os.fork():
        os.write(write, str(eval(expression)).encode())
        os._exit(0)
    os.close(write)
    values[expression] = os.read(read, 1000).decode()
    os.wait()
print(json.dumps(values))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork processes")
def test_the_first_use_of_all() -> None:
    command = [sys.executable, "-W", "ignore", "-c", START + IN_CHILDREN, json.dumps(list(FIRST_USES))]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(result.stdout) == FIRST_USES


def test_the_operators_of_a_subclass_that_calls_the_class_above() -> None:
    program = (
        "class Own(adjoint.Tensor):\n"
        "    def __add__(self, other): return super().__add__(other) * 10\n"
        "print((x.detach().as_subclass(Own) + 1).tolist(), (x + 1).tolist())"
    )
    assert run(program) == "[20.0, -10.0] [2.0, -1.0]"


@pytest.mark.parametrize("name", ["__add__", "sum"])
def test_a_method_that_a_program_replaces_before_its_first_use_stays(name: str) -> None:
    program = f"adjoint.Tensor.{name} = lambda self, *others: 'own'\nx * 2; x.mean()\n"
    assert run(program + f"print(x.{name}(1), (x + 1) if '{name}' == '__add__' else 'own')") == "own own"


def test_names_are_listed_before_they_are_used() -> None:
    program = (
        "import sys\nnames = {*dir(adjoint), *dir(adjoint.Tensor), *dir(adjoint.linalg)}, {*dir(x)}\n"
        "print({'tanh', 'sum', 'linalg', 'vmap', 'norm', 'FloatTensor'} <= names[0], {'tanh', 'sum'} <= names[1])\n"
        "print('adjoint.rules.linalg' in sys.modules)"
    )
    assert run(program) == "True True\nFalse"


def test_names_are_imported_from_their_modules() -> None:
    program = (
        "from adjoint import tanh, linalg, FloatTensor, vmap\nfrom adjoint.linalg import *\n"
        "from adjoint.nn import functional\n"
        "print(tanh is adjoint.tanh, norm is linalg.norm is adjoint.linalg.norm, functional.relu.__module__)"
    )
    assert run(program) == "True True adjoint.nn.functional"


def test_a_function_is_unpickled_by_its_name() -> None:
    import pickle

    for function in (adjoint.tanh, adjoint.where, adjoint.linalg.norm, Tensor.sum):
        text = pickle.dumps(function).hex()
        program = f"import pickle; print(pickle.loads(bytes.fromhex('{text}')).__name__)"
        result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert result.stdout.strip() == function.__name__


def test_help_and_signature_are_those_of_the_method() -> None:
    program = (
        "import inspect, pydoc\n"
        "print('LateMethod' in pydoc.render_doc(adjoint.Tensor), inspect.signature(adjoint.Tensor.tanh))\n"
        "print(adjoint.Tensor.sum.__doc__[:17])"
    )
    assert run(program) == "False (self) -> 'Tensor'\nThe sum over axes"


def test_several_threads_that_use_a_name_first_get_the_same() -> None:
    program = (
        "import sys, threading\nsys.setswitchinterval(1e-6)\nbarrier = threading.Barrier(8)\nfound = []\n"
        "def work():\n"
        "    barrier.wait()\n"
        "    found.append((adjoint.gather, adjoint.linalg.svd, adjoint.Tensor.cumsum, (x * x + x[0]).sum().item()))\n"
        "threads = [threading.Thread(target=work) for _ in range(8)]\n"
        "[thread.start() for thread in threads]; [thread.join() for thread in threads]\n"
        "print(len(found), len(set(found)))"
    )
    assert run(program) == "8 1"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork processes")
def test_a_child_process_uses_names_first() -> None:
    program = (
        "import os, warnings; warnings.simplefilter('ignore')\nimport threading\n"
        "def work():\n"
        "    if not os.fork():\n"
        "        os._exit(0 if (x * x).sum().item() == 5 and adjoint.linalg.norm(x[:1]).item() == 1 else 1)\n"
        "    print(os.wait()[1])\n"
        "thread = threading.Thread(target=work); thread.start(); thread.join()"
    )
    assert run(program) == "0"


# contents of the tables -----------------------------------------------------------------------------------------------


def test_every_home_is_a_module() -> None:
    homes = {*RULES, *METHODS, *(home for names in FUNCTIONS.values() for home in names)}
    assert [home for home in homes if not (ROOT / "src" / f"{home.replace('.', '/')}.py").is_file()] == []
