"""Reused memory of adjoint's own arrays: no two live arrays share it, its size has a limit, and it is released."""

import threading
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.runtime import memory
from adjoint.runtime.memory import with_kept_memory

pytestmark = pytest.mark.skipif(not memory.compiled, reason="only the compiled form has the allocator")

N = 20_000


@pytest.fixture(autouse=True)
def _nothing_idle() -> Any:
    limit = memory.set_limit(1 << 28)
    memory.give_back()
    yield
    memory.set_limit(limit)


def make(n: int = N, value: float = 0.0) -> Any:
    return with_kept_memory(np.full, (n, value))


def test_memory_is_used_again() -> None:
    before = memory.statistics()
    address = make().ctypes.data
    assert memory.statistics()["idle"] >= N * 8
    again = make()
    assert again.ctypes.data == address
    assert address % 64 == 0
    after = memory.statistics()
    assert (after["hits"], after["misses"]) == (before["hits"] + 1, before["misses"] + 1)
    assert after["live"] >= N * 8


def test_arrays_in_use_are_never_handed_out() -> None:
    rng = np.random.default_rng(0)
    arrays: dict[int, Any] = {}
    for step in range(2000):
        n = int(rng.integers(1, 40_000))
        arrays[step] = make(n, step)
        for key in [k for k in arrays if rng.random() < 0.1]:
            assert (arrays.pop(key) == key).all()
    assert all((array == step).all() for step, array in arrays.items())


@pytest.mark.parametrize("power", range(12, 24))
def test_sizes_around_powers_of_two(power: int) -> None:
    for size in ((1 << power) - 1, 1 << power, (1 << power) + 1, 5 << power >> 2, 7 << power >> 2):
        for _ in range(2):
            array = with_kept_memory(np.ones, (size, np.uint8))
            assert array.sum() == size
            del array


def test_zeros_are_zeros() -> None:
    make(N, 7.0)
    assert not with_kept_memory(np.zeros, (N,)).any()


def test_resized_arrays_keep_their_values() -> None:
    for n, m in ((N, 3 * N), (3 * N, N), (10, N), (N, 10)):
        array = make(n, 3.0)
        array.resize(m, refcheck=False)
        assert (array[: min(n, m)] == 3).all()
        assert not array[n:].any()


def test_only_adjoints_arrays_are_concerned() -> None:
    live = memory.statistics()["live"]
    notes = []
    x = adjoint.ones(N, dtype=adjoint.float64).requires_grad_()
    y = x * 2

    def hook(g: Any) -> None:
        before = memory.statistics()["live"]
        notes.append(np.ones(N))
        assert memory.statistics()["live"] == before

    y.register_hook(hook)
    y.sum().backward()
    assert notes
    assert memory.statistics()["live"] > live
    plain = np.ones(N)
    now = memory.statistics()["live"]
    del plain, notes[:]
    assert memory.statistics()["live"] == now


def test_an_error_ends_it() -> None:
    def fails() -> None:
        raise KeyError("no")

    with pytest.raises(KeyError):
        with_kept_memory(fails, ())
    live = memory.statistics()["live"]
    array = np.ones(N)
    assert memory.statistics()["live"] == live
    del array


def test_no_more_is_held_than_was_once_in_use() -> None:
    rng = np.random.default_rng(0)
    arrays: list[Any] = []
    for _ in range(500):
        arrays.append(make(int(rng.integers(2_000, 60_000))))
        if rng.random() < 0.6:
            arrays.pop(int(rng.integers(len(arrays))))
        statistics = memory.statistics()
        assert statistics["live"] + statistics["idle"] <= statistics["peak"]


def test_limit() -> None:
    arrays = [make() for _ in range(10)]
    memory.set_limit(3 * N * 8)
    del arrays
    assert 0 < memory.statistics()["idle"] <= 3 * N * 8
    assert memory.give_back() > 0
    assert memory.statistics()["idle"] == 0
    assert memory.set_limit(0) == 3 * N * 8
    misses = memory.statistics()["misses"]
    make()
    assert memory.statistics()["misses"] == misses


def test_array_outlives_the_limit() -> None:
    array = make(N, 5.0)
    memory.set_limit(0)
    assert (array == 5).all()
    del array
    assert memory.statistics()["idle"] == 0


def test_threads() -> None:
    wrong: list[int] = []

    def work(number: int) -> None:
        rng = np.random.default_rng(number)
        for step in range(300):
            array = make(int(rng.integers(2_000, 30_000)), number * 1000.0 + step)
            total = np.add.reduce(array)
            if total != array.size * (number * 1000.0 + step):
                wrong.append(step)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_training_step_takes_memory_once() -> None:
    x = adjoint.ones(100, 1000).requires_grad_()
    for _ in range(3):
        (x * 2).tanh().sum().backward()
        x.grad = None
    misses = memory.statistics()["misses"]
    (x * 2).tanh().sum().backward()
    assert memory.statistics()["misses"] == misses


def test_public_names() -> None:
    make()
    stats = adjoint.memory.memory_stats()
    assert stats["idle"] >= N * 8
    assert adjoint.memory.empty_cache() == stats["idle"]
    assert adjoint.memory.memory_stats()["idle"] == 0
    assert adjoint.memory.set_cache_limit(1000) == adjoint.memory.get_cache_limit() + (1 << 28) - 1000
    with pytest.raises(ValueError, match=r"set_cache_limit\(\): expected a number of bytes of at least 0, got -1"):
        adjoint.memory.set_cache_limit(-1)
    threads = adjoint.memory.get_num_threads()
    adjoint.memory.set_num_threads(1)
    assert adjoint.memory.get_num_threads() == 1
    adjoint.memory.set_num_threads(threads)
