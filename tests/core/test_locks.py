"""Threads hold a lock while they read or write shared state.

Threads rarely meet at the wrong moment. So these tests check that the lock is held during each access.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.autograd.graph import register_multi_grad_hook
from adjoint.core import edges, graph
from adjoint.core.modes import random
from adjoint.functions import binding


class WatchedLock:
    """A lock that counts its acquisitions and knows whether it is held."""

    def __init__(self) -> None:
        self.count = self.depth = 0

    def __enter__(self) -> None:
        self.count += 1
        self.depth += 1

    def __exit__(self, *_: Any) -> None:
        self.depth -= 1


class Guarded:
    """An object whose attributes may only be used while a lock is held."""

    def __init__(self, guarded: Any, lock: WatchedLock) -> None:
        self._guarded, self._lock = guarded, lock

    def __getattr__(self, name: str) -> Any:
        assert self._lock.depth, f"{name} is used without the lock"
        return getattr(self._guarded, name)


P = np.array([0.2, 0.8])
DRAWS: dict[str, Callable[[Any], Any]] = {
    "uniform": lambda g: random.uniform(g, (3,)),
    "uniform, double": lambda g: random.uniform(g, (3,), np.dtype("float64"), 1.0, 2.0),
    "uniform, half": lambda g: random.uniform(g, (3,), np.dtype("float16")),
    "normal": lambda g: random.normal(g, (3,)),
    "normal, double": lambda g: random.normal(g, (3,), np.dtype("float64")),
    "integers": lambda g: random.integers(g, (3,), int, 0, 5),
    "permutation": lambda g: random.permutation(g, 5),
    "bernoulli": lambda g: random.bernoulli(g, 0.5, (3,), np.dtype("float32")),
    "bernoulli of chances": lambda g: random.bernoulli(g, P),
    "exponential": lambda g: random.exponential(g, (3,)),
    "cauchy": lambda g: random.cauchy(g, (3,)),
    "log_normal": lambda g: random.log_normal(g, (3,)),
    "geometric": lambda g: random.geometric(g, (3,)),
    "whole_numbers": lambda g: random.whole_numbers(g, (3,)),
    "poisson": lambda g: random.poisson(g, P),
    "binomial": lambda g: random.binomial(g, np.array([3.0, 4.0]), P),
    "multinomial": lambda g: random.multinomial(g, P, 1),
    "multinomial, replaced": lambda g: random.multinomial(g, P, 4, True),
    "get_state": lambda g: g.get_state(),
    "manual_seed": lambda g: g.manual_seed(3),
    "position": lambda g: g._return_to(g._position()),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_generator_is_used_under_its_lock(name: str) -> None:
    generator = adjoint.Generator().manual_seed(0)
    lock = generator._lock = WatchedLock()
    generator._numpy = Guarded(generator._numpy, lock)
    DRAWS[name](generator)
    assert lock.count and not lock.depth


def test_a_state_is_set_under_the_lock() -> None:
    generator = adjoint.Generator().manual_seed(0)
    state = generator.get_state()
    lock = generator._lock = WatchedLock()
    generator.set_state(state)
    assert lock.count == 1


def test_the_default_generator_is_made_under_a_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    lock = WatchedLock()
    monkeypatch.setattr(random, "_default", None)
    monkeypatch.setattr(random, "_default_lock", lock)
    assert random.default_generator() is random.default_generator()
    assert lock.count == 1


@pytest.mark.skipif(not graph.__file__.endswith(".py"), reason="the compiled form keeps its lock in a variable of C")
def test_a_leaf_accumulates_under_a_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    lock = WatchedLock()
    monkeypatch.setattr(graph, "_begin_accumulation", lock.__enter__)
    monkeypatch.setattr(graph, "_end_accumulation", lambda: lock.__exit__(None, None, None))
    x, y = (adjoint.ones(2, requires_grad=True) for _ in range(2))
    (x * y).sum().backward()
    assert lock.count == 2


@pytest.mark.parametrize(("mode", "calls"), [("all", 1), ("any", 1)])
def test_a_hook_of_several_tensors_counts_under_a_lock(mode: str, calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = WatchedLock()
    monkeypatch.setattr(edges, "new_lock", lambda: lock)
    x, y = (adjoint.ones(2, requires_grad=True) for _ in range(2))
    notes: list[int] = []
    register_multi_grad_hook((x, y), lambda _: notes.append(lock.depth), mode=mode)
    (x * y).sum().backward()
    assert lock.count == 2
    assert notes == [0] * calls  # a hook may call a function that takes the lock again


def test_names_are_attached_under_a_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    lock = WatchedLock()
    home = "adjoint.rules.fft"
    binding.load(home)
    monkeypatch.setattr(binding, "_lock", lock)
    monkeypatch.setattr(binding, "_loaded", binding._loaded - {home})
    binding.load(home)
    binding.load(home)
    assert lock.count == 1
