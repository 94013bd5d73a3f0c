"""Signals at any moment: python -m trust.scenarios.interrupts NAME [TIMES]

A program runs many times. SIGINT interrupts it after a random time. Every mode must then be as before, while
KeyboardInterrupt is still handled and all its frames are alive. After that, the program must give the right result.

Some modes are switched by a call, for instance `set_grad_enabled(False)`. Such a mode stays switched if the signal
comes before the call that switches it back, or before the first step of that call, as in torch. The same holds for a
call in the head of a block that has not begun. The next call switches the mode back. Other cases are not tested, since
Python itself does not handle them: the blocks of NumPy, of CUDA's tools and of contextlib.ExitStack, and in Python 3.14
the moment between the call of `__enter__` and the block.

In the plain form `__exit__` is a function of Python. A signal may end it before its first step, as in torch. So the
plain form only tests that graphs stay intact: results must be right with the modes of a new thread.
"""

from __future__ import annotations

import copy
import random
import signal
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint
from adjoint import func
from adjoint.autograd import forward_ad, gradcheck, graph
from adjoint.compat import autograd as hips
from adjoint.compat.autograd import numpy as boxed
from adjoint.compat.autograd._nodes import trace_stack
from adjoint.compat.autograd._tracing import _depth
from adjoint.core import engine
from adjoint.core.modes import state as modes
from adjoint.core.modes.random import default_generator
from adjoint.core.modes.state import MODES, current
from adjoint.runtime import threads
from adjoint.tensor import formatting
from adjoint.tensor.formatting import printoptions
from adjoint.tools.checkpoint import _Switches
from adjoint.utils.checkpoint import checkpoint, set_checkpoint_early_stop
from trust.scenarios.functions import Square

PROGRAMS: dict[str, Callable[[], Any]] = {}
VALUES = np.arange(1.0, 4.0)


def program(function: Callable[[], Any]) -> Callable[[], Any]:
    PROGRAMS[function.__name__] = function
    return function


class Storm:
    """Runs functions, and sends SIGINT at a random time."""

    armed = False

    def __init__(self) -> None:
        signal.signal(signal.SIGALRM, lambda *arguments: signal.raise_signal(signal.SIGINT))
        signal.signal(signal.SIGINT, self.strike)

    def strike(self, *arguments: Any) -> None:
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt

    def run(self, function: Callable[[], Any], within: float) -> bool:
        """Call a function.

        Returns True if it was interrupted, after a check of the modes while its frames are alive.
        """
        try:
            self.armed = True
            signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, within))
            function()
            self.armed = False
        except KeyboardInterrupt:
            REMEDIES.get(function.__name__, int)()
            check_modes()
            return True
        finally:
            self.armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
        return False


def leaf() -> Any:
    return adjoint.from_numpy(VALUES.copy()).requires_grad_()


class Model:
    """An object with a parameter."""

    def __init__(self) -> None:
        self.weight = adjoint.from_numpy(VALUES.copy())

    def named_parameters(self) -> Any:
        yield "weight", self.weight

    def named_buffers(self) -> Any:
        yield from ()

    def __call__(self, x: Any) -> Any:
        return (self.weight * x).sum()


MODEL = Model()
CHECKED = leaf()
#: The attributes that programs change and restore, besides the modes: (object, name).
ATTRIBUTES = [
    (_Switches, "early_stop"), (_Switches, "debug"), (_depth, "count"), (_depth, "in_graph"), (trace_stack, "top"),
    (engine, "_active_runs"), (formatting, "_options"), (MODEL, "weight"), (default_generator(), "_numpy"),
    *((adjoint.backends.cudnn, name) for name in ("enabled", "benchmark", "deterministic", "allow_tf32")),
]  # fmt: skip
BEFORE = [copy.copy(getattr(*each)) if each[0] is engine else getattr(*each) for each in ATTRIBUTES]


def check_modes() -> None:
    state = current()
    wrong = {name: getattr(state, name) for name, mode in MODES.items() if getattr(state, name) != mode.initial}
    others = [
        attribute for attribute, value in zip(ATTRIBUTES, BEFORE, strict=True)
        if getattr(*attribute) is not value and getattr(*attribute) != value
    ]  # fmt: skip
    if CHECKED.tolist() != VALUES.tolist():
        others.append((CHECKED, "tolist"))
    if not threads.compiled:
        start_anew()
    elif wrong or others:
        raise SystemExit(f"left behind: {wrong} {others}")


def start_anew() -> None:
    """Set the modes of a new thread, and restore the attributes of all threads."""
    modes._local.__dict__.clear()
    for attribute, value in zip(ATTRIBUTES, BEFORE, strict=True):
        setattr(*attribute, copy.copy(value) if attribute[0] is engine else value)
    CHECKED._array[...] = VALUES


def gradient(x: Any, y: Any) -> list[float]:
    return adjoint.autograd.grad(y.sum(), x)[0].tolist()


@program
def grad_modes() -> Any:
    x = leaf()
    for _ in range(5):
        with adjoint.no_grad():
            adjoint.enable_grad()(lambda: x * 2)()
            with adjoint.enable_grad(), adjoint.inference_mode(), adjoint.inference_mode(False):
                x * 2
        adjoint.no_grad()(lambda: x * 2)()
    return gradient(x, x * x)


@program
def saved_tensors() -> Any:
    x = leaf()
    for _ in range(3):
        with graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2), graph.save_on_cpu():
            x.exp()
        with graph.disable_saved_tensors_hooks("not here"):
            x * x
        with graph.allow_mutation_on_saved_tensors():
            y = x * 1
            z = y.exp().sin()
            y.mul_(2)
            grad = gradient(x, z)
    return grad


@program
def watching() -> Any:
    x = leaf()
    for _ in range(3):
        with graph.node_creation_hook(lambda node: None), graph.record_locations():
            y = x.exp()
        with graph.watch_forward():
            y = x.sin() * x
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with adjoint.autograd.detect_anomaly():
            return gradient(x, (y * x).sin())


@program
def forward_mode() -> Any:
    x, t = adjoint.from_numpy(VALUES), adjoint.from_numpy(VALUES)
    with forward_ad.dual_level():
        y = forward_ad.make_dual(x, t).sin() ** 2
        tangent = forward_ad.unpack_dual(y).tangent.tolist()
    return [tangent, func.jvp(lambda x: x.exp() * x, (x,), (t,))[1].tolist()]


@program
def transforms() -> Any:
    x = adjoint.from_numpy(VALUES)
    f = lambda x: (x.sin() * x).sum()
    rows = func.vmap(func.grad(f))(adjoint.from_numpy(np.stack([VALUES, VALUES])))
    return [func.hessian(f)(x).tolist(), rows.tolist(), func.jacrev(lambda x: x * x)(x).tolist()]


@program
def checkpoints() -> Any:
    x = leaf()
    inner = lambda x: checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False) * x
    with set_checkpoint_early_stop(True):
        return gradient(x, checkpoint(inner, x, use_reentrant=False))


@program
def custom_functions() -> Any:
    x = leaf()
    return gradient(x, Square.apply(Square.apply(x)))


@program
def views_in_place() -> Any:
    x = leaf()
    y = x * 1
    v = y[1:]
    v.mul_(3)
    y.unsqueeze_(0).transpose_(0, 1)
    return gradient(x, y * y)


@program
def passes_inside_passes() -> Any:
    """Nested passes that are deep enough for separate threads."""
    results = []

    def deeper(depth: int) -> None:
        x = leaf()
        y = x * 2

        def hook(g: Any) -> None:
            with adjoint.enable_grad():
                deeper(depth - 1) if depth else results.append(current().backward_depth)

        y.register_hook(hook)
        y.sum().backward()
        results.append(x.grad.tolist())

    deeper(32)
    return results


RETAINED = leaf()
CHAIN = RETAINED
for _ in range(30):
    CHAIN = CHAIN * 1.5 + CHAIN.sin()
CHAIN = CHAIN.sum()


@program
def a_graph_that_goes_on() -> Any:
    """Each pass marks the same nodes, also an interrupted pass."""
    first = adjoint.autograd.grad(CHAIN, RETAINED, retain_graph=True, create_graph=True)[0]
    return [adjoint.autograd.grad(CHAIN, RETAINED, retain_graph=True)[0].tolist(), first.tolist()]


@program
def the_hips_layer() -> Any:
    f = lambda x: boxed.sum(boxed.sin(x) * x)
    return [hips.grad(f)(VALUES).tolist(), hips.hessian(f)(VALUES).tolist()]


@program
def settings() -> Any:
    """Blocks that change settings of all threads."""
    x = adjoint.from_numpy(VALUES)
    with printoptions(precision=2), adjoint.backends.cudnn.flags(True, True):
        text = str(x / 3)
    with adjoint.random.fork_rng():
        adjoint.manual_seed(2)
        adjoint.rand(2)
    result = func.functional_call(MODEL, {"weight": x * 2}, (x,)).item()
    return [text, result, gradcheck(lambda x: x * x, (CHECKED,)), MODEL(x).item()]


@program
def hooks_everywhere() -> Any:
    x = leaf()
    grads: list[Any] = []
    y = x * 2
    y.register_hook(lambda g: g * 3)
    y.retain_grad()
    handle = x.register_hook(lambda g: g * 2)
    x.register_post_accumulate_grad_hook(lambda t: grads.append(t.grad.tolist()))
    y.grad_fn.register_prehook(lambda g: None)
    (y * y).sum().backward()
    handle.remove()
    return [x.grad.tolist(), y.grad.tolist(), grads]


REPLAYED = adjoint.compile(lambda x: (x.sin() * x).exp())


@program
def compiled_replays() -> Any:
    """A recorded function, and another recording for another shape."""
    x, y = leaf(), adjoint.ones(2, 3, requires_grad=True)
    grads = [gradient(x, REPLAYED(x)) for _ in range(3)]
    adjoint.compile(lambda x: x.sin() * 2)(y).sum().backward()
    return [grads, y.grad.tolist()]


@program
def training() -> Any:
    generator = adjoint.Generator().manual_seed(0)
    w = adjoint.rand(3, 2, generator=generator).requires_grad_()
    optimizer = adjoint.optim.Adam([w], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (adjoint.ones(4, 3) @ w).tanh().square().mean().backward()
        optimizer.step()
    return w.tolist()


@program
def draws() -> Any:
    generator = adjoint.Generator().manual_seed(0)
    with adjoint.random.fork_rng():
        adjoint.manual_seed(2)
        adjoint.rand(300)
    return [adjoint.rand(5, generator=generator).tolist(), adjoint.randperm(9, generator=generator).tolist()]


@program
def in_place_and_no_grad() -> Any:
    x = leaf()
    y = x * 1.5
    with adjoint.no_grad():
        z = y.clone()
        z.mul_(2).add_(1).sqrt_()
        z[1:] = z[:-1].clone()
    y.mul_(2)
    y[0].mul_(3)
    return [gradient(x, y * y), z.tolist()]


SWITCHES = (
    (adjoint.set_grad_enabled, True), (adjoint.autograd.set_multithreading_enabled, True),
    (adjoint.autograd.set_detect_anomaly, False),
)  # fmt: skip


def switch_back() -> None:
    for switch, usual in SWITCHES:
        switch(usual)


@program
def calls_that_switch() -> Any:
    """An interrupted call has switched the mode or not. The next call switches it back."""
    x = leaf()
    results = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for switch, usual in SWITCHES:
            switch(not usual)
            results.append((x * 2).requires_grad)
            switch(usual)
    return results, gradient(x, x * 3)


#: The steps that a user needs after an interrupt, by program.
REMEDIES = {"calls_that_switch": switch_back}


def duration(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main(name: str, times: int) -> None:
    function = PROGRAMS[name]
    # the first run makes tables, which takes longer
    expected = function()
    within = 1.2 * min(duration(function) for _ in range(5))
    storm = Storm()
    struck = 0
    for _ in range(50 * times):
        struck += storm.run(function, within)
        check_modes()
        assert function() == expected
        if struck == times:
            break
    else:
        raise SystemExit(f"only {struck} of {50 * times} runs were interrupted")
    print(f"{name}: {times} times", flush=True)


if __name__ == "__main__":
    for each in sys.argv[1].split(","):
        main(each, int(sys.argv[2]) if len(sys.argv) > 2 else 100)
