"""Hooks on tensors and nodes, retain_grad and inputs=: all combinations give the same gradients in the same order."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import pytest

import adjoint
from adjoint.core import graph, hooks

HOOKS = ("hook", "other hook", "prehook", "other prehook", "posthook", "retain_grad")
ON_TENSORS = ("hook", "other hook")
FACTORS = {"hook": 10.0, "other hook": 100.0, "prehook": 1000.0, "other prehook": 7.0, "posthook": 3.0}
CHOSEN = [combination for n in range(4) for combination in itertools.permutations(HOOKS, n)]
MIDDLES: dict[str, Callable[[Any], Any]] = {
    "operation": lambda x: x * 2,
    "one of several results": lambda x: (x * 2).unbind(0)[0],
    "view": lambda x: (x * 2)[:1],
}


class Program:
    """z = 5 y w, where y depends on x, with hooks on y and its node. `log` has the calls, with their values."""

    def __init__(self, middle: str, names: tuple[str, ...]) -> None:
        self.log: list[tuple[str, float]] = []
        self.x = adjoint.tensor([1.0, 1.0], requires_grad=True)
        self.w = adjoint.tensor(3.0, requires_grad=True)
        self.y = MIDDLES[middle](self.x)
        for name in names:
            if name == "retain_grad":
                self.y.retain_grad()
            elif "post" in name:
                self.y.grad_fn.register_hook(self.on_node(name))
            elif "pre" in name:
                self.y.grad_fn.register_prehook(self.on_node(name))
            else:
                self.y.register_hook(self.on_tensor(name))
        self.z = (self.y * 5 * self.w).sum()

    def on_tensor(self, name: str) -> Callable[[Any], Any]:
        def hook(gradient: Any) -> Any:
            self.log.append((name, number(gradient)))
            return gradient * FACTORS[name]

        return hook

    def on_node(self, name: str) -> Callable[..., Any]:
        def hook(gradients: Any, *received: Any) -> Any:
            self.log.append((name, number(next(g for g in gradients if g is not None))))
            return tuple(None if g is None else g * FACTORS[name] for g in gradients)

        return hook

    def gradients(self, names: str, create_graph: bool = False) -> list[float]:
        """The results of grad() by some of x, y, w and Y, where Y is the gradient edge of y."""
        tensors = {"x": self.x, "y": self.y, "w": self.w, "Y": adjoint.autograd.graph.get_gradient_edge(self.y)}
        grads = adjoint.autograd.grad(self.z, [tensors[name] for name in names], create_graph=create_graph)
        return [number(g) for g in grads]


def number(tensor: Any) -> float:
    return float(tensor.detach().reshape(-1)[0])


def expected_gradients(names: tuple[str, ...]) -> tuple[float, float, list[str]]:
    """Gradients of y and x, and the order: a tensor's hooks, then its node's, each kind in order of registration."""
    on_y = [name for name in names if name in ON_TENSORS]
    before = [name for name in names if "prehook" in name]
    after = [name for name in names if name == "posthook"]
    y = 15.0
    for name in on_y:
        y *= FACTORS[name]
    x = 2 * y
    for name in before + after:
        x *= FACTORS[name]
    return y, x, on_y + before + after


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("middle", MIDDLES)
def test_gradients_do_not_depend_on_which_others_are_asked_for(middle, create_graph):
    for selection in CHOSEN:
        y, x, order = expected_gradients(selection)
        for names in ("x", "yx", "xy", "Yx", "xw", "yxyY", "wyx"):
            program = Program(middle, selection)
            factors = {"x": x, "y": y, "Y": y, "w": 10.0 * program.y.numel()}
            assert program.gradients(names, create_graph) == [factors[name] for name in names], (selection, names)
            assert [name for name, _ in program.log] == order
            assert program.x.grad is None and program.w.grad is None
            if "retain_grad" in selection:
                assert number(program.y.grad) == y


@pytest.mark.parametrize("middle", MIDDLES)
def test_at_the_end_of_a_pass_only_the_hooks_of_the_tensor_run(middle):
    for selection in CHOSEN:
        y, _, order = expected_gradients(selection)
        for names in ("y", "Y", "yw", "yY"):
            program = Program(middle, selection)
            assert program.gradients(names)[0] == y
            assert [name for name, _ in program.log] == [name for name in order if name in ON_TENSORS]


@pytest.mark.parametrize("middle", MIDDLES)
def test_backward_gives_what_grad_gives(middle):
    for selection in CHOSEN:
        y, x, order = expected_gradients(selection)
        for inputs in (None, "x", "xy", "yx"):
            program = Program(middle, selection)
            tensors = {"x": program.x, "y": program.y}
            program.z.backward(inputs=inputs and [tensors[name] for name in inputs])
            assert number(program.x.grad) == x and [name for name, _ in program.log] == order
            if "retain_grad" in selection or "y" in (inputs or ""):
                assert number(program.y.grad) == y


#: Registrations of a first hook, which two threads may make at once.
REGISTRATIONS: dict[str, Callable[[Any, Any, Callable[..., None]], Any]] = {
    "leaf": lambda x, y, hook: x.register_hook(hook),
    "leaf, after accumulation": lambda x, y, hook: x.register_post_accumulate_grad_hook(hook),
    "tensor": lambda x, y, hook: y.register_hook(hook),
    "node": lambda x, y, hook: y.grad_fn.register_hook(hook),
    "node, before": lambda x, y, hook: y.grad_fn.register_prehook(hook),
}


@pytest.mark.parametrize("kind", REGISTRATIONS)
def test_first_hooks_of_two_threads(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2)

    class SlowTable(hooks.HookTable):
        """A table whose constructor waits until another thread makes one, too."""

        def __init__(self) -> None:
            both.wait(10)

    for module in (graph, hooks):
        monkeypatch.setattr(module, "HookTable", SlowTable)
    x = adjoint.ones(2, requires_grad=True)
    y = x * 2
    calls: list[int] = []

    def register(number: int) -> None:
        REGISTRATIONS[kind](x, y, lambda *received: calls.append(number))

    threads = [threading.Thread(target=register, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    y.sum().backward()
    assert sorted(calls) == [0, 1]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("kind", ["tensor", "leaf", "before a node", "after a node"])
def test_hooks_at_one_place_see_one_tensor(kind, create_graph):
    """A hook finds the attributes that an earlier one has set, until a hook replaces the cotangent."""
    x = adjoint.ones(2, requires_grad=True)
    y = x * 2
    register = {
        "tensor": y.register_hook,
        "leaf": x.register_hook,
        "before a node": y.grad_fn.register_prehook,
        "after a node": y.grad_fn.register_hook,
    }[kind]

    def cotangent(values):
        return values[0] if isinstance(values, tuple) else values

    def note(values, *_):
        cotangent(values).note = "first"

    notes = []

    def read(values, *_):
        notes.append(getattr(cotangent(values), "note", None))

    def replace(values, *_):
        doubled = cotangent(values) * 2
        doubled.note = "second"
        return (doubled, *values[1:]) if isinstance(values, tuple) else doubled

    for hook in (note, read, replace, read):
        register(hook)
    (y * y).sum().backward(create_graph=create_graph)
    assert notes == ["first", "second"]
    assert x.grad.tolist() == [16.0, 16.0]
