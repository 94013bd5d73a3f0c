"""Allocations that fail, each in turn: python -m trust.no_memory SCENARIO KIND [STEP]

A scenario runs many times. In the first run its first allocation fails, in the second run the second one, and so on to
the last one. Each failure must raise a MemoryError, or have no effect. Modes, locks and running passes must be as
before. A gradient must be complete or absent. The values and the version of a tensor must change together. Memory must
be released, and the next call must give the right result.

Two kinds of allocations fail: those of Python's objects, and those of the system's allocator, which NumPy and adjoint
use for arrays. `trust.soak` runs all of this in child processes.
"""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import adjoint
from adjoint.core import engine
from adjoint.core.modes.state import MODES, adopt, current
from adjoint.runtime import forks, memory
from adjoint.utils.checkpoint import checkpoint
from trust.scenarios.functions import Square

SOURCE = Path(__file__).with_name("failing_allocators.c")
#: The kinds of allocations, by their numbers in the C source.
KINDS = {"python": 1, "system": 2}
#: An action, and the parts to compare after it. Each part must be as before, or as after an action without a failure.
Scenario = tuple[Callable[[], Any], dict[str, Callable[[], Any]]]
SCENARIOS: dict[str, Callable[[], Scenario]] = {}

#: In the place of a scenario: only new functions of Python have no memory.
NEW_FUNCTION = "new-function"
#: Printed first if it is true. Then the released memory cannot be compared.
LOSES_LISTS = "this Python loses a list that it has no memory to copy"
SMALL, LARGE = 3, 20_000
ERRORS = np.geterr()


def scenario(function: Callable[[], Scenario]) -> Callable[[], Scenario]:
    SCENARIOS[function.__name__] = function
    return function


def leaf(n: int = SMALL) -> Any:
    return adjoint.from_numpy(np.linspace(1.0, 2.0, n)).requires_grad_()


def values(tensor: Any) -> bytes | None:
    return None if tensor is None else tensor.detach().numpy().tobytes()


def gradient(tensor: Any) -> Callable[[], Any]:
    return lambda: values(tensor.grad)


def contents(tensor: Any) -> Callable[[], Any]:
    """Values and version, which change together."""
    return lambda: (values(tensor), tensor._version)


def nothing() -> dict[str, Callable[[], Any]]:
    return {}


def build(folder: Path) -> Path:
    """Compile the library of allocators that fail, to be preloaded."""
    library = folder / "failing_allocators.so"
    command = [os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", f"-I{sysconfig.get_path('include')}"]
    subprocess.run([*command, SOURCE, "-o", library], check=True)
    return library


# what is tried --------------------------------------------------------------------------------------------------------


def model(x: Any) -> Any:
    return ((x * 2).sin() + x.exp() * x).sum()


@scenario
def forward() -> Scenario:
    x = leaf()
    return lambda: model(x), {"x": contents(x)}


@scenario
def forward_large() -> Scenario:
    x = leaf(LARGE)
    return lambda: model(x), {"x": contents(x)}


@scenario
def backward() -> Scenario:
    x, y = leaf(), leaf()
    z = model(x * y)
    # at the end of blocks of numpy.errstate, such as those of optimizers, NumPy itself may not restore its setting
    return z.backward, {"x": gradient(x), "y": gradient(y), "NumPy's handling of errors": np.geterr}


@scenario
def backward_large() -> Scenario:
    x, y = leaf(LARGE), leaf(LARGE)
    z = model(x * y)
    # at the end of blocks of numpy.errstate, such as those of optimizers, NumPy itself may not restore its setting
    return z.backward, {"x": gradient(x), "y": gradient(y), "NumPy's handling of errors": np.geterr}


@scenario
def accumulation() -> Scenario:
    x, y = leaf(LARGE), leaf()
    model(x).backward()
    model(y).backward()
    z = model(x) + model(y)
    return z.backward, {"x": gradient(x), "y": gradient(y)}


@scenario
def second_order() -> Scenario:
    x = leaf()

    def act() -> Any:
        (g,) = adjoint.autograd.grad(model(x), x, create_graph=True)
        return adjoint.autograd.grad((g * g).sum(), x)[0].tolist()

    return act, {"x": gradient(x)}


@scenario
def in_place() -> Scenario:
    x = leaf()
    y, z = x * 1, x * 3

    def act() -> Any:
        y.mul_(2)
        z[1:] = y[1:]
        return adjoint.autograd.grad((y * z).sum(), x)[0].tolist()

    return act, {"y": contents(y), "z": contents(z)}


@scenario
def in_place_without_graph() -> Scenario:
    y, z = leaf(LARGE).detach(), leaf(LARGE).detach()

    def act() -> None:
        y.mul_(2)
        z.add_(y[0])

    return act, {"y": contents(y), "z": contents(z)}


@scenario
def views() -> Scenario:
    x = leaf()
    y = x * 1
    v = y[1:]

    def act() -> Any:
        v.mul_(3)
        return adjoint.autograd.grad((y * y).sum(), x)[0].tolist()

    return act, {"y": contents(y)}


@scenario
def modes() -> Scenario:
    x = leaf()

    def act() -> Any:
        with adjoint.no_grad(), adjoint.enable_grad(), adjoint.autograd.graph.save_on_cpu():
            y = x.exp()
        with adjoint.inference_mode():
            x * 2
        with adjoint.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2):
            z = x.exp()
        return adjoint.autograd.grad((y * z).sum(), x)[0].tolist()

    return act, {}


@scenario
def forward_mode() -> Scenario:
    x = leaf().detach()
    return lambda: adjoint.func.jvp(lambda x: x.exp() * x, (x,), (x,))[1].tolist(), {}


@scenario
def transforms() -> Scenario:
    x = leaf().detach()
    rows = adjoint.stack([x, x])

    def act() -> Any:
        f = lambda x: (x.sin() * x).sum()
        return [adjoint.func.hessian(f)(x).tolist(), adjoint.func.vmap(adjoint.func.grad(f))(rows).tolist()]

    return act, {}


@scenario
def hooks() -> Scenario:
    x = leaf()
    y = x * 2
    calls: list[Any] = []
    y.register_hook(lambda g: g * 2)
    x.register_post_accumulate_grad_hook(lambda t: calls.append(1))
    z = (y * y).sum()
    return z.backward, {"x": gradient(x)}


@scenario
def registration() -> Scenario:
    x = leaf()
    y = x * 2

    def act() -> Any:
        handles = [x.register_hook(lambda g: None), y.register_hook(lambda g: None)]
        y.retain_grad()
        for handle in handles:
            handle.remove()
        return adjoint.autograd.grad(y.sum(), x)[0].tolist()

    return act, {}


@scenario
def checkpoints() -> Scenario:
    x = leaf()
    return lambda: checkpoint(model, x, use_reentrant=False).backward(), {"x": gradient(x)}


@scenario
def custom_functions() -> Scenario:
    x = leaf()
    return lambda: Square.apply(x).sum().backward(), {"x": gradient(x)}


@scenario
def anomaly() -> Scenario:
    x = leaf()

    def act() -> None:
        with adjoint.autograd.detect_anomaly():
            model(x).backward()

    return act, {"x": gradient(x)}


@scenario
def random_numbers() -> Scenario:
    generator = adjoint.Generator().manual_seed(3)
    x = adjoint.zeros(SMALL, dtype=adjoint.float64)

    def act() -> Any:
        x.normal_(generator=generator)
        return adjoint.rand(LARGE, generator=generator).sum().item()

    return act, {"x": contents(x)}


@scenario
def training() -> Scenario:
    adjoint.manual_seed(0)
    network = adjoint.nn.Sequential(adjoint.nn.Linear(3, 4), adjoint.nn.Tanh(), adjoint.nn.Linear(4, 1))
    optimizer = adjoint.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    x = adjoint.ones(5, 3)

    def act() -> None:
        optimizer.zero_grad()
        network(x).square().mean().backward()
        optimizer.step()

    return act, {f"parameter {i}": contents(p) for i, p in enumerate(network.parameters())}


_compiled = adjoint.compile(lambda x: (x.sin() * x).sum())


@scenario
def replays() -> Scenario:
    x = leaf()
    _compiled(x).backward()
    x.grad = None
    return lambda: _compiled(x).backward(), {"x": gradient(x)}


@scenario
def recordings() -> Scenario:
    x = leaf()
    compiled = adjoint.compile(lambda x: (x.sin() * x).sum())
    return lambda: compiled(x).backward(), {"x": gradient(x)}


@scenario
def helpers() -> Scenario:
    """Loops that threads share."""
    adjoint.set_num_threads(2)
    x = adjoint.from_numpy(np.ones((2000, 60))).requires_grad_()
    return lambda: adjoint.softmax(x, 1).sum().backward(), {"x": gradient(x)}


# what must hold afterwards --------------------------------------------------------------------------------------------


def left_behind() -> Iterator[str]:
    """The modes, locks and passes that differ from before."""
    state = current()
    for name, mode in MODES.items():
        if getattr(state, name) != mode.initial:
            yield f"the mode {name} is {getattr(state, name)!r}"
    if engine._active_runs:
        yield "a pass counts as running"
    for lock in forks.locks():
        is_locked = lock._is_owned() if hasattr(lock, "_is_owned") else lock.locked()
        if is_locked:
            yield f"a lock is held: {lock!r}"


def start_anew() -> None:
    """Set the modes of a new thread."""
    fresh: list[Any] = []
    thread = threading.Thread(target=lambda: fresh.append(current()))
    thread.start()
    thread.join()
    adopt(fresh[0])
    engine._active_runs.clear()
    for lock in forks.locks():
        while hasattr(lock, "_is_owned") and lock._is_owned():
            lock.release()


def looks(parts: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    return {name: look() for name, look in parts.items()}


def may_be(value: Any, before: Any) -> bool:
    """Whether a part may have this value after a failure: the value from before, or a partial write with a new
    version."""
    return value == before or (isinstance(value, tuple) and value[1] > before[1])


class Sweep:
    """One scenario and one kind of allocation."""

    def __init__(self, name: str, kind: str) -> None:
        self.make, self.kind = SCENARIOS[name], kind
        self.library = ctypes.PyDLL(os.environ["LD_PRELOAD"])
        self.library.arm.argtypes = [ctypes.c_int, ctypes.c_long]
        self.library.watch_python()
        for _ in range(3):
            act, parts = self.make()
            self.before = looks(parts)
            self.result = plain(act())
            self.after = looks(parts)

    def attempt(self, n: int) -> tuple[bool, str | None, list[str]]:
        """Let the n-th allocation fail. Returns whether it failed, the error, and the faults."""
        act, parts = self.make()
        error: BaseException | None = None
        result = None
        try:
            self.library.arm(KINDS[self.kind], n)
            result = act()
        except BaseException as caught:
            error = caught
        failed = bool(self.library.disarm())
        return failed, type(error).__name__ if error else None, list(self.faults(parts, result, error))

    def faults(self, parts: dict[str, Callable[[], Any]], result: Any, error: BaseException | None) -> Iterator[str]:
        if error is None and plain(result) != self.result:
            yield f"the result is {plain(result)!r:.200}"
        if error is not None and not isinstance(error, MemoryError):
            yield f"{type(error).__name__}: {error}"
        yield from left_behind()
        for name, value in looks(parts).items():
            if value == self.after[name] or (error is not None and may_be(value, self.before[name])):
                continue
            yield f"{name} is neither as before nor as after"

    def next_call(self) -> Iterator[str]:
        act, parts = self.make()
        if plain(act()) != self.result or looks(parts) != self.after:
            yield "the next call is wrong"


def plain(result: Any) -> Any:
    """A result that can be compared."""
    return result.tolist() if isinstance(result, adjoint.Tensor) else result


def watch_unraisable(errors: list[str]) -> None:
    """Collect the errors in finalizers, which Python only prints. A MemoryError is allowed there."""

    def note(unraisable: Any) -> None:
        if not isinstance(unraisable.exc_value, MemoryError | type(None)):
            errors.append(f"in a finalizer: {unraisable.exc_value!r}")

    sys.unraisablehook = note
    threading.excepthook = lambda arguments: errors.append(f"in a thread: {arguments.exc_value!r}")


def keeps_lists(sweep: Sweep) -> bool:
    """Whether Python releases a list that it could not copy for lack of memory. Python 3.11 does not."""
    members = [object()]
    for n in range(4):
        before = sys.getrefcount(members)
        try:
            sweep.library.arm(KINDS["python"], n)
            list(members)
        except MemoryError:
            pass
        sweep.library.disarm()
        if sys.getrefcount(members) > before:
            return False
    return True


def make_functions_without_memory() -> None:
    """Let each allocation of a new function fail, some times.

    Python 3.13.0 then releases a reference too many. It ends by an error here, or by a signal.
    """
    library = ctypes.PyDLL(os.environ["LD_PRELOAD"])
    library.arm.argtypes = [ctypes.c_int, ctypes.c_long]
    library.watch_python()

    def make() -> Any:
        return lambda: None

    code = make().__code__
    for n in range(4):
        before = sys.getrefcount(code)
        for _ in range(5):
            try:
                library.arm(KINDS["python"], n)
                make()
            except MemoryError:
                pass
            library.disarm()
        assert sys.getrefcount(code) >= before


def main(name: str, kind: str, step: int = 1, start: int = 0) -> None:
    """Print a line for each allocation: its number, the error, and the faults."""
    sweep = Sweep(name, kind)
    is_sound = keeps_lists(sweep)
    if not is_sound:
        print(LOSES_LISTS, flush=True)
    lost: list[str] = []
    watch_unraisable(lost)
    gc.collect()
    gc.freeze()
    n, live = start, memory.statistics()["live"]
    while True:
        os.write(1, f"{n} ".encode())
        failed, error, faults = sweep.attempt(n)
        gc.collect()
        if faults:
            start_anew()
        faults += [*sweep.next_call(), *lost]
        lost.clear()
        if is_sound and memory.statistics()["live"] > live:
            faults.append("memory is not given back")
            live = memory.statistics()["live"]
        os.write(1, f"{error or ('no error' if failed else 'end')} {'; '.join(faults)}\n".encode())
        if not failed:
            return
        n += step


if __name__ == "__main__":
    if sys.argv[1] == NEW_FUNCTION:
        make_functions_without_memory()
    else:
        main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
