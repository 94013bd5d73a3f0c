"""The table of modes, the blocks that change them, and the modes after hooks of a backward pass."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy
import pytest

import adjoint
from adjoint.autograd import forward_ad, graph
from adjoint.core.modes import batches, grad_mode, profiling
from adjoint.core.modes import state as modes
from adjoint.core.modes.state import MODES, ModeBlock, ThreadState, current
from adjoint.core.operations import dependence
from adjoint.tools import checkpoint
from adjoint.transforms import forward

DECLARATIONS = Path(modes.__file__).with_name("state.pxd").read_text()


def same(tensor: Any) -> Any:
    return tensor


#: A block for each way to change modes, by its name.
BLOCKS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "no_grad": adjoint.no_grad,
    "enable_grad": adjoint.enable_grad,
    "set_grad_enabled": lambda: adjoint.set_grad_enabled(False),
    "inference_mode": adjoint.inference_mode,
    "set_multithreading_enabled": lambda: adjoint.autograd.set_multithreading_enabled(False),
    "enforce_grad_layout_policy": lambda: adjoint.autograd.enforce_grad_layout_policy(False),
    "set_fwd_grad_enabled": lambda: forward_ad.set_fwd_grad_enabled(False),
    "dual_level": forward_ad.dual_level,
    "level": forward.level,
    "outside": lambda: forward.outside(()),
    "saved_tensors_hooks": lambda: graph.saved_tensors_hooks(same, same),
    "save_on_cpu": graph.save_on_cpu,
    "disable_saved_tensors_hooks": lambda: graph.disable_saved_tensors_hooks("not here"),
    "allow_mutation_on_saved_tensors": graph.allow_mutation_on_saved_tensors,
    "node_creation_hook": lambda: graph.node_creation_hook(lambda node: None),
    "record_locations": graph.record_locations,
    "watch_forward": graph.watch_forward,
    "running": lambda: batches.running(3, "error"),
    "in_batches": lambda: batches.in_batches(((7, 3),)),
    "transforming": lambda: batches.transforming("grad"),
    "differentiating": lambda: dependence.differentiating([adjoint.ones(2, requires_grad=True)]),
    "selective": lambda: checkpoint._Selective(lambda operation, raw, run: run()),
    "recording": lambda: grad_mode.recording(False),
}
#: Modes of the whole process. If a hook changes them, they stay changed.
OF_THE_PROCESS = {"detect_anomaly": lambda: adjoint.autograd.set_detect_anomaly(True)}


def modes_now() -> dict[str, Any]:
    state = current()
    return {name: getattr(state, name) for name in MODES}


def some_modes_are_on(stack: contextlib.ExitStack) -> None:
    for name, block in BLOCKS.items():
        if name not in ("inference_mode", "disable_saved_tensors_hooks"):
            stack.enter_context(block())


#: The types of state.pxd, by the type of a mode's initial value.
DECLARED = {bool: {"bint"}, int: {"int", "long long"}, tuple: {"tuple"}, type(None): {"object", "Level"}}


def declared_modes() -> dict[str, str]:
    """The modes in state.pxd with their types, in order."""
    body = DECLARATIONS.split("cdef class ThreadState:")[1].split("\n\n")[0]
    return {name: kind for kind, name in re.findall(r"cdef public (\w+(?: long)?) (\w+)", body)}


def test_the_declarations_follow_the_table() -> None:
    declared = declared_modes()
    assert list(declared) == list(MODES)
    assert [name for name, mode in MODES.items() if declared[name] not in DECLARED[type(mode.initial)]] == []


def test_every_mode_is_documented() -> None:
    for name, mode in MODES.items():
        assert mode.meaning.endswith((".", "...")) and f"\n{name}: {mode.meaning}" in (modes.__doc__ or "")


def test_a_new_thread_has_the_initial_values() -> None:
    initial: list[dict[str, Any]] = []
    with adjoint.no_grad(), forward_ad.dual_level():
        thread = threading.Thread(target=lambda: initial.append(modes_now()))
        thread.start()
        thread.join()
    assert initial == [{name: mode.initial for name, mode in MODES.items()}]


def test_take_copies_every_mode() -> None:
    state, other = ThreadState(), ThreadState()
    for name, mode in MODES.items():
        changed = {bool: not mode.initial, int: 17, tuple: ("x",)}.get(type(mode.initial), "x")
        changed = modes.Level(17, 1) if name == "level" else changed
        setattr(other, name, changed)
    state.take(other)
    assert {name: getattr(state, name) for name in MODES} == {name: getattr(other, name) for name in MODES}


def test_take_lists_the_modes_in_the_order_of_the_table() -> None:
    source = (Path(modes.__file__).parent / "state.py").read_text()
    body = source.split("    def take(self, other):")[1].split("    def ")[0]
    assert re.findall(r"self\.(\w+) = other\.\1\n", body) == list(MODES)


@pytest.mark.parametrize("name", [*BLOCKS, *OF_THE_PROCESS])
def test_block_is_undone(name: str) -> None:
    block = (BLOCKS | OF_THE_PROCESS)[name]
    before = modes_now()
    changed = "enable_grad", "outside"
    with block():
        assert modes_now() != before or name in changed
    assert modes_now() == before
    with contextlib.suppress(ZeroDivisionError), adjoint.no_grad(), block():
        raise ZeroDivisionError
    assert modes_now() == before


@pytest.mark.parametrize("name", BLOCKS)
def test_block_that_a_hook_never_leaves_ends_with_the_pass(name: str) -> None:
    x = adjoint.ones(2, requires_grad=True)
    y = x * 2
    blocks = []

    def hook(gradient: Any) -> None:
        block = BLOCKS[name]()
        block.__enter__()
        blocks.append(block)

    y.register_hook(hook)
    before = modes_now()
    # the pass and watch_forward both silence NumPy's warnings, and they end in another order here
    with numpy.errstate():
        y.sum().backward()
        assert modes_now() == before
        # a later end of the block changes no counter
        block = blocks.pop()
        block.__exit__(None, None, None)
        assert {n: v for n, v in modes_now().items() if n in ("unusual", "locations")} == {"unusual": 0, "locations": 0}
    for changed, value in before.items():
        setattr(current(), changed, value)


def test_modes_are_handed_over_to_other_threads() -> None:
    with contextlib.ExitStack() as stack:
        some_modes_are_on(stack)
        waits, result = current(), []

        def work() -> None:
            modes.adopt(waits)
            result.append(modes_now())

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert result == [modes_now()]


def test_layout_policy_holds_in_a_pass_of_its_own_thread() -> None:
    """Each pass runs inside another one. The 31st of them runs in a new thread."""
    x = adjoint.ones(2, 3).t().requires_grad_()

    def deeper(depth: int) -> list[bool]:
        flags: list[bool] = []
        y = adjoint.ones(1, requires_grad=True) * 2

        def hook(gradient: Any) -> None:
            with adjoint.enable_grad():
                flags.extend(deeper(depth - 1) if depth else [current().enforce_layout])

        y.register_hook(hook)
        y.sum().backward()
        return flags

    with adjoint.autograd.enforce_grad_layout_policy(False):
        assert deeper(35) == [False]
    assert deeper(35) == [True]
    assert x.grad is None


def test_process_wide_modes_that_a_hook_switches_stay() -> None:
    x = adjoint.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda gradient: modes.set_anomaly(True, False) and None)
    try:
        y.sum().backward()
        assert adjoint.is_anomaly_enabled() and current().unusual == current().locations == 1
    finally:
        modes.set_anomaly(False, True)
    assert current().unusual == current().locations == 0


def test_one_block_may_serve_several_threads() -> None:
    hooks = graph.saved_tensors_hooks(same, same)
    in_block, over = threading.Event(), threading.Event()
    left: list[Any] = []

    def work() -> None:
        with hooks:
            in_block.set()
            over.wait()
        left.append(current().saved_hooks)

    thread = threading.Thread(target=work)
    with hooks:
        thread.start()
        in_block.wait()
    assert current().saved_hooks == ()
    over.set()
    thread.join()
    assert left == [()]


def test_blocks_that_end_in_another_order() -> None:
    first, second = graph.saved_tensors_hooks(same, same), graph.record_locations()
    third = graph.saved_tensors_hooks(same, same)
    for block in (first, second, third):
        block.__enter__()
    for block in (first, second, third):
        block.__exit__(None, None, None)
    assert current().saved_hooks == () and current().unusual == current().locations == 0


def test_changes_that_raise_change_nothing() -> None:
    class Refused(ModeBlock):
        def _changes(self) -> Any:
            raise ZeroDivisionError

    before = modes_now()
    with pytest.raises(ZeroDivisionError), Refused():
        pass
    assert modes_now() == before


def test_a_change_that_fails_undoes_those_before_it() -> None:
    class Refused(ModeBlock):
        def _changes(self) -> Any:
            # a plain object refuses new attributes
            return ((modes.SET, "grad_enabled", False), (modes.ATTRIBUTE, "name", (object(), 1)))

    before, block = modes_now(), Refused()
    for _ in range(2):
        with pytest.raises(AttributeError), block:
            pass
        assert modes_now() == before
        # the compiled form hides this attribute
        assert not getattr(block, "_undo_lists", None)


def test_an_attribute_that_was_absent_may_be_gone_before_the_end() -> None:
    class Owner:
        pass

    class Given(ModeBlock):
        def _changes(self) -> Any:
            return ((modes.ATTRIBUTE, "name", (owner, 1)),)

    owner = Owner()
    with Given():
        assert owner.name == 1  # type: ignore[attr-defined]
        del owner.name  # type: ignore[attr-defined]
    assert not hasattr(owner, "name")


def test_profilers_that_end_in_another_order() -> None:
    first, second, never = (profiling.ProfilerHook() for _ in range(3))
    first.start()
    second.start()
    never.stop()
    first.stop()
    assert profiling.current_profiler() is second
    second.stop()
    assert profiling.current_profiler() is None


def test_a_block_may_be_left_in_another_thread() -> None:
    block = adjoint.no_grad()
    thread = threading.Thread(target=block.__enter__)
    thread.start()
    thread.join()
    block.__exit__(None, None, None)
    assert adjoint.is_grad_enabled()
    with block:
        assert not adjoint.is_grad_enabled()
    assert adjoint.is_grad_enabled()


def test_anomaly_mode_holds_in_threads_that_run() -> None:
    in_block, over = threading.Event(), threading.Event()
    results = []

    def work() -> None:
        current()
        in_block.set()
        over.wait()
        results.append(bool(current().anomaly))

    thread = threading.Thread(target=work)
    thread.start()
    in_block.wait()
    with adjoint.autograd.set_detect_anomaly(True):
        over.set()
        thread.join()
    assert results == [True]


def test_set_grad_enabled_may_be_entered_again() -> None:
    block = adjoint.set_grad_enabled(False)
    assert repr(block) == "adjoint.autograd.grad_mode.set_grad_enabled(mode=False)"
    other = adjoint.autograd.set_multithreading_enabled(True)
    assert repr(other) == "adjoint.autograd.grad_mode.set_multithreading_enabled(mode=True)"
    assert (block.mode, block.clone().mode, other.mode) == (False, False, True)
    with adjoint.no_grad().clone(), block.clone():
        assert not adjoint.is_grad_enabled()
    for _ in range(2):
        with block:
            assert not adjoint.is_grad_enabled()
        assert adjoint.is_grad_enabled()


@pytest.mark.parametrize("name", ["inference_mode", "transforming"])
def test_new_tensors_are_marked_after_a_block_that_a_hook_never_left(name: str) -> None:
    """A counter over all threads says whether new tensors need a mark."""
    x = adjoint.ones(2, requires_grad=True)
    y = x * 2
    blocks = [BLOCKS[name]() for _ in range(3)]
    for block in blocks:
        y.register_hook(lambda gradient, block=block: block.__enter__() and None)
    y.sum().backward()
    for block in reversed(blocks):
        block.__exit__(None, None, None)
    current().grad_enabled = True
    assert not adjoint.ones(2).is_inference() and adjoint.ones(2)._level is None
    with adjoint.inference_mode():
        assert adjoint.ones(2).is_inference()
    with batches.transforming("grad") as run:
        assert adjoint.ones(2)._level is run.level
