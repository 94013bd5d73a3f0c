"""The chain of interceptors: its order, its positions, and the calls of each interceptor."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.autograd import forward_ad, graph
from adjoint.autograd.profiler import profile
from adjoint.core.modes import interceptors
from adjoint.core.modes.interceptors import Interceptor, with_interceptor
from adjoint.core.modes.state import INTERCEPT, ModeBlock, current
from adjoint.tensor.older.volatile import make_volatile
from adjoint.utils.checkpoint import create_selective_checkpoint_contexts

#: The position of forward mode's levels is left out, since the levels in effect determine it.
PLACES = [k for k in range(interceptors.ANOMALY) if k != interceptors.DUAL_LEVELS]
OTHERS = [k for k in PLACES if k != interceptors.PROFILER]
#: Blocks that switch on an interceptor, in the order of their positions.
BLOCKS: list[Callable[[], AbstractContextManager[Any]]] = [
    profile,
    forward_ad.dual_level,
    lambda: create_selective_checkpoint_contexts(["mul"])[0],
    graph.watch_forward,
]


class Asked(Interceptor):
    """An interceptor that notes the beginning and the end of each call."""

    def __init__(self, position: int, notes: list[tuple[Any, ...]]) -> None:
        super().__init__(position)
        self.notes = notes

    def operation(self, operation: Any, values: list[Any]) -> Any:
        return self.note("operation", operation.name, lambda: operation.proceed(values, self.position))

    def in_place(self, operation: Any, values: list[Any]) -> Any:
        return self.note("in_place", operation.name, lambda: operation.proceed_in_place(values, self.position))

    def kernel(self, operation: Any, raw: list[Any], half: Any) -> Any:
        return self.note("kernel", operation.name, lambda: operation.proceed_to_kernel(raw, half, self.position))

    def node(self, run: Any, node: Any) -> Any:
        return self.note("node", node.name(), lambda: run.proceed(node, self.position))

    def note(self, what: str, name: str, proceed: Callable[[], Any]) -> Any:
        self.notes.append((what, name, self.position))
        result = proceed()
        self.notes.append((what, name, "done", self.position))
        return result


class intercepting(ModeBlock):
    """A block with an interceptor at its position."""

    def __init__(self, interceptor: Interceptor) -> None:
        self.interceptor = interceptor

    def _changes(self) -> Any:
        return ((INTERCEPT, "interceptors", (self.interceptor.position, self.interceptor)),)


def volatile() -> adjoint.Tensor:
    tensor = adjoint.ones(2)
    make_volatile(tensor)
    return tensor


def around(*names: tuple[str, str]) -> list[tuple[Any, ...]]:
    """The notes of interceptors at positions 2 and 4 about nested calls: each call is inside the one before."""
    beginnings = [(*name, position) for name in names for position in (2, 4)]
    ended = [(*name, "done", position) for name in reversed(names) for position in (4, 2)]
    return beginnings + ended


def test_each_is_asked_around_the_next() -> None:
    notes: list[tuple[Any, ...]] = []
    x = adjoint.tensor([2.0, 3.0], requires_grad=True)
    with intercepting(Asked(4, notes)), intercepting(Asked(2, notes)):
        y = x.sin()
        assert notes == around(("operation", "sin"), ("kernel", "sin"))
        notes.clear()
        y.mul_(2.0)
        assert notes == around(("in_place", "mul"), ("kernel", "mul"))
        notes.clear()
        y.backward(adjoint.ones(2))
    nodes = ["MulBackward0", "SinBackward0", "torch::autograd::AccumulateGrad"]
    beginnings = [(note[1], note[2]) for note in notes if note[0] == "node" and len(note) == 3]
    assert beginnings == [(name, position) for name in nodes for position in (2, 4)]
    assert x.grad.tolist() == (2 * x.detach().cos()).tolist()
    assert current().unusual == 0 and current().interceptors == ()


@pytest.mark.parametrize("order", list(itertools.permutations(range(len(BLOCKS)), 2)), ids=str)
def test_the_order_of_places_is_not_that_of_blocks(order: tuple[int, ...]) -> None:
    with ExitStack() as stack:
        for number in order:
            stack.enter_context(BLOCKS[number]())
        places = [interceptor.position for interceptor in current().interceptors]
        assert len(places) == len(order) and places == sorted(places)
    assert current().interceptors == () and current().unusual == 0


@pytest.mark.parametrize("position", PLACES)
def test_a_later_one_takes_the_place_of_an_earlier_one_until_its_block_ends(position: int) -> None:
    first, second = Asked(position, []), Asked(position, [])
    with intercepting(first):
        with intercepting(second):
            assert current().interceptors == (second,)
        assert current().interceptors == (first,)
    assert current().interceptors == ()
    assert with_interceptor((first,), position, None) == ()


def test_one_that_defines_nothing_is_passed_over() -> None:
    def function(x: adjoint.Tensor) -> adjoint.Tensor:
        y = (x * 3.0).sin()
        y.mul_(x)
        return adjoint.stack([y, x]).sum()

    def gradient() -> list[float]:
        x = adjoint.tensor([0.5, 1.5], requires_grad=True)
        function(x).backward()
        return x.grad.tolist()

    expected = gradient()
    with ExitStack() as stack:
        for position in OTHERS:
            stack.enter_context(intercepting(Interceptor(position)))
        assert len(current().interceptors) == len(OTHERS)
        assert gradient() == expected


def test_volatile_tensors_are_looked_for_while_there_are_any() -> None:
    v = volatile()
    w = volatile()
    assert [interceptor.position for interceptor in current().interceptors] == [interceptors.RECORDING]
    del v
    assert [interceptor.position for interceptor in current().interceptors] == [interceptors.RECORDING]
    del w
    assert current().interceptors == ()


def test_all_together() -> None:
    """All kinds at once: selective checkpoint, forward mode, profiler, inspection and anomaly mode."""
    x = adjoint.tensor([0.5, 1.5], requires_grad=True)
    v = volatile()
    with profile() as prof, forward_ad.dual_level(), graph.watch_forward():
        dual = forward_ad.make_dual(x, adjoint.ones(2))
        with create_selective_checkpoint_contexts(["mul"])[0]:
            y = dual * dual
            y.mul_(2.0)
            assert not (y * v).requires_grad
        primal, tangent = forward_ad.unpack_dual(y)
        assert tangent.tolist() == [2.0, 6.0]
        with pytest.raises(FloatingPointError):
            (primal - 0.5).log()
        gradient = adjoint.autograd.grad(primal.sum(), x)[0]
    assert gradient.tolist() == [2.0, 6.0]
    names = [event.name for event in prof.function_events]
    assert "aten::mul" in names and "aten::mul_" in names and "MulBackward0" in names
    del v, y


class Ends(Interceptor):
    """An interceptor that ends passes at some nodes."""

    def __init__(self, *nodes: Any) -> None:
        super().__init__(interceptors.ENDS)
        self.nodes = nodes

    def node(self, run: Any, node: Any) -> Any:
        return run.end_at(node, run.cotangents_at(node)) if node in self.nodes else run.proceed(node, self.position)


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_pass_that_ends_at_nodes_gives_what_they_received(create_graph: bool) -> None:
    x = adjoint.tensor([2.0, 3.0], requires_grad=True)
    y = x * 2
    z = y * y
    (first, second), other = (2 * z).unbind(), x * 5
    outputs, inputs = (first + second, other.sum()), (y, first, z, x)
    expected: dict[bool, list[Any]] = {
        False: [[16.0, 24.0], 1.0, [2.0, 2.0], [37.0, 53.0]],
        True: [[16.0, 24.0], 1.0, [2.0, 2.0], [5.0, 5.0]],
    }
    for ended in (True, False, True, False):  # a pass leaves no state for the next one
        with intercepting(Ends(y.grad_fn, x.grad_fn) if ended else Ends()):
            gradients = adjoint.autograd.grad(outputs, inputs, retain_graph=True, create_graph=create_graph)
        assert [gradient.tolist() for gradient in gradients] == expected[ended]
    with intercepting(Ends(z.grad_fn)):  # the gradient of z is not requested
        gradients = adjoint.autograd.grad(outputs, (y, x), retain_graph=True, allow_unused=True)
    assert gradients[0] is None and gradients[1].tolist() == [5.0, 5.0]


def test_a_node_at_which_a_pass_ended_holds_no_cotangent() -> None:
    x = adjoint.tensor([2.0, 3.0], requires_grad=True)
    y = x * 2
    cotangent = np.ones(2, np.float32)
    alive = weakref.ref(cotangent)
    with intercepting(Ends(y.grad_fn)):
        (gradient,) = adjoint.autograd.grad(y, x, adjoint.from_numpy(cotangent), retain_graph=True, allow_unused=True)
    assert gradient is None
    del cotangent
    assert alive() is None
