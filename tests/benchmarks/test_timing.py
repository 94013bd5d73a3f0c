"""The benchmarks' arithmetic, with a clock that moves only when the program under test moves it."""

from __future__ import annotations

import gc
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2]))  # the benchmarks are not an installed package

from benchmarks.contenders import BY_HAND, SUBJECT, Contender, Library, as_it_comes, load_all
from benchmarks.gradients import GradientMismatch, check_agreement
from benchmarks.measure import Effort, Result, measure
from benchmarks.report import plain_table, quantity
from benchmarks.timing import (
    WARM_UP_ROUNDS,
    block_of,
    collector_paused,
    ratio,
    repeats_for,
    run_rounds,
    wait_for_idle_threads,
)
from benchmarks.workload import Steps
from benchmarks.workloads import ALL


class Clock:
    """A clock that moves only by the seconds that steps add to it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def step(self, seconds: float):
        def step() -> None:
            self.now += seconds

        return step


def numpy_contender(name: str) -> Contender:
    return Contender(name, "numpy", name, np, np.__version__)


def test_a_block_gives_the_seconds_of_one_step():
    clock = Clock()
    assert block_of(clock.step(0.25), seconds=2.0, clock=clock)() == 0.25


def test_a_block_waits_for_threads_that_still_spin():
    spin, has_begun = threading.Event(), threading.Event()

    def spinning() -> None:
        has_begun.set()
        while not spin.is_set():
            sum(range(1000))

    thread = threading.Thread(target=spinning)
    thread.start()
    try:
        assert has_begun.wait(5)
        # On a busy machine the thread may not run during one slice. It runs during one of the others.
        assert not all(wait_for_idle_threads(slice_seconds=0.05, most_slices=2) for _ in range(20))
    finally:
        spin.set()
        thread.join()
    assert wait_for_idle_threads()


@pytest.mark.parametrize(("step_seconds", "repeats"), [(0.25, 8), (0.001, 2000), (1.9, 1), (50.0, 1)])
def test_repeats_fill_the_block_and_are_at_least_one(step_seconds, repeats):
    clock = Clock()
    assert repeats_for(clock.step(step_seconds), seconds=2.0, clock=clock) == repeats


def test_contenders_take_turns_and_warm_up_rounds_are_thrown_away():
    calls: list[str] = []
    counter = iter(range(1000))

    def block(name):
        def run() -> float:
            calls.append(name)
            return float(next(counter))

        return run

    seconds = run_rounds({"A": block("A"), "B": block("B")}, rounds=4)
    assert calls == ["A", "B"] * (WARM_UP_ROUNDS + 4)
    first = 2 * WARM_UP_ROUNDS
    assert seconds == {
        "A": [first, first + 2, first + 4, first + 6],
        "B": [first + 1, first + 3, first + 5, first + 7],
    }


def test_the_budget_ends_a_workload_after_three_rounds_at_the_soonest():
    clock = Clock()

    def block() -> float:
        clock.now += 10.0
        return 10.0

    assert run_rounds({"A": block}, rounds=9, budget=5.0, clock=clock) == {"A": [10.0] * 3}
    assert run_rounds({"A": block}, rounds=9, budget=45.0, clock=clock) == {"A": [10.0] * 5}
    assert run_rounds({"A": block}, rounds=2, budget=5.0, clock=clock) == {"A": [10.0] * 2}


def test_the_collector_is_off_within_and_as_before_after():
    assert gc.isenabled()
    with collector_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), collector_paused():
        raise ZeroDivisionError
    assert gc.isenabled()
    gc.disable()
    try:
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_ratio_of_medians_and_paired_ratios_are_different_numbers():
    compared = ratio([2.0, 9.0, 40.0, 8.0, 10.0], [1.0, 3.0, 10.0, 8.0, 2.0])
    # The medians are 9 and 3. The paired ratios are 2, 3, 4, 1, 5.
    assert compared.of_medians == 3.0
    assert (compared.lower, compared.paired, compared.upper) == (2.0, 3.0, 4.0)


def test_a_machine_that_slows_down_in_a_round_leaves_the_paired_ratio_alone():
    slowness = np.array([1.0, 7.0, 1.0, 3.0])
    compared = ratio(list(3.0 * slowness), list(2.0 * slowness))
    assert (compared.lower, compared.paired, compared.upper) == (1.5, 1.5, 1.5)


def test_ratios_need_the_same_rounds_and_two_of_them():
    with pytest.raises(ValueError, match="shorter"):
        ratio([1.0, 2.0, 3.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="at least two rounds, got 1"):
        ratio([1.0], [1.0])


def test_peers_are_divided_by_adjoint_and_adjoint_by_numpy():
    result = Result("w", "title", "step", {SUBJECT: [2.0, 2.0], "torch": [6.0, 6.0], BY_HAND: [1.0, 1.0]})
    which, torch = result.comparison("torch")
    assert (which, torch.of_medians) == ("torch/adjoint", 3.0)
    which, by_hand = result.comparison(BY_HAND)
    assert (which, by_hand.of_medians) == ("adjoint/NumPy", 2.0)
    assert result.comparison(SUBJECT) is None
    table = plain_table(result).splitlines()
    assert table[2].split() == ["torch", "6", "s", "3.00", "3.00", "3.00", "to", "3.00", "torch/adjoint"]


def test_without_adjoint_there_are_times_and_no_ratios():
    assert Result("w", "title", "step", {"torch": [6.0, 6.0]}).comparison("torch") is None


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.5, "2.5 s"), (1.234e-3, "1.23 ms"), (1e-6, "1 µs"), (3e-11, "0.03 ns")]
)
def test_quantity(seconds, text):
    assert quantity(seconds) == text


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_may_differ_by_rounding_only(dtype):
    desired = np.array([1.0, 1000.0], dtype)
    tolerance = {"float32": 1e-4, "float64": 1e-10}[dtype] * 1000
    near, far = desired.copy(), desired.copy()
    near[0] += tolerance / 2
    far[0] += tolerance * 2
    check_agreement({"torch": [near], BY_HAND: [desired]})
    with pytest.raises(GradientMismatch, match="gradient 0 of torch is not NumPy's: largest difference"):
        check_agreement({"torch": [far], BY_HAND: [desired]})


@pytest.mark.parametrize(
    ("actual", "complaint"),
    [
        ([np.ones((2, 1))], r"shape \(2, 1\), expected \(2,\)"),
        ([np.ones(2, "float32")], "dtype float32, expected float64"),
        ([np.array([1.0, np.nan])], "largest difference nan"),
        ([np.ones(2), np.ones(2)], "torch returns 2 gradients, NumPy 1"),
    ],
)
def test_what_is_not_the_same_gradient(actual, complaint):
    with pytest.raises(GradientMismatch, match=complaint):
        check_agreement({"torch": actual, BY_HAND: [np.ones(2)]})


def program_returning(value):
    return lambda module, data: lambda: (value * data["x"],)


def raising(module, data):
    raise RuntimeError("out of order")


def two_contenders(first, second) -> Steps:
    return Steps("w", "title", lambda: {"x": np.ones(3)}, {SUBJECT: first, BY_HAND: second}, operations=4)


EFFORT = Effort(rounds=3, block_seconds=1e-4, budget=1.0)


def test_measure_gives_every_contender_a_time_per_round():
    contenders = [numpy_contender(SUBJECT), numpy_contender(BY_HAND), numpy_contender("torch")]
    result = measure(two_contenders(program_returning(2), program_returning(2)), contenders, EFFORT)
    assert {name: len(times) for name, times in result.seconds.items()} == {SUBJECT: 3, BY_HAND: 3}
    assert all(0 < time < 0.1 for times in result.seconds.values() for time in times)
    assert result.left_out == {"torch": "cannot express it"}
    assert result.errors == []
    assert result.as_json()["contenders"][BY_HAND]["ratio"]["of"] == "adjoint/NumPy"


def test_measure_times_nothing_where_gradients_disagree():
    contenders = [numpy_contender(SUBJECT), numpy_contender(BY_HAND)]
    result = measure(two_contenders(program_returning(2), program_returning(3)), contenders, EFFORT)
    assert result.seconds == {}
    assert "gradients disagree: gradient 0 of adjoint" in result.errors[0]


@pytest.mark.parametrize(
    ("programs", "failing", "errors"),
    [
        ((program_returning(2), raising), BY_HAND, []),
        ((raising, program_returning(2)), SUBJECT, ["adjoint failed: RuntimeError: out of order"]),
    ],
)
def test_a_peer_that_raises_is_left_out_and_adjoint_raising_is_an_error(programs, failing, errors):
    contenders = [numpy_contender(SUBJECT), numpy_contender(BY_HAND)]
    result = measure(two_contenders(*programs), contenders, EFFORT)
    assert result.left_out == {failing: "RuntimeError: out of order"}
    assert failing not in result.seconds
    assert len(result.seconds) == 1
    assert result.errors == errors


def test_libraries_that_are_not_there_or_broken_are_reported(tmp_path, monkeypatch):
    (tmp_path / "broken_peer.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    names = {"numpy": BY_HAND, "broken_peer": "broken", "no_such_peer": "missing", "math": "unwanted"}
    libraries = [Library(name, module, "numpy", as_it_comes) for module, name in names.items()]
    monkeypatch.setattr("benchmarks.contenders.LIBRARIES", libraries)
    present, absent = load_all({BY_HAND, "broken", "missing"})
    assert [(each.name, each.version) for each in present] == [(BY_HAND, np.__version__)]
    assert absent == {
        "broken": "does not import: ZeroDivisionError: division by zero",
        "missing": "not installed",
    }


def test_the_names_of_the_workloads_are_distinct():
    names = [workload.name for workload in ALL]
    assert len(set(names)) == len(names)


def test_the_chain_written_by_hand_has_the_slope_of_the_chain():
    (workload,) = (each for each in ALL if each.name == "chain-100-shared")
    data, eps = workload.data(), 1e-6
    direction = {name: np.cos(np.arange(array.size)) for name, array in data.items()}

    def loss(eps: float) -> float:
        x, b = (data[name] + eps * direction[name] for name in ("x", "b"))
        for _ in range(workload.operations // 2):
            x = np.tanh(x * b)
        return x.sum()

    gradients = workload.programs["numpy"](np, data)()
    slope = sum(gradient @ direction[name] for gradient, name in zip(gradients, "xb", strict=True))
    assert slope == pytest.approx((loss(eps) - loss(-eps)) / (2 * eps), rel=1e-7)


def test_the_hessian_vector_product_written_by_hand_has_the_curvature_of_the_function():
    (workload,) = (each for each in ALL if each.name == "hessian-vector")
    data, eps = workload.data(), 1e-4

    def f(eps: float) -> float:
        return (np.tanh(data["w"] @ (data["x"] + eps * data["v"])) ** 2).sum()

    (product,) = workload.programs["numpy"](np, data)()
    assert data["v"] @ product == pytest.approx((f(eps) - 2 * f(0.0) + f(-eps)) / eps**2, rel=1e-5)


def test_a_workload_without_a_peer_has_no_ratio_of_it():
    result = Result("import", "import", "import", {"adjoint": [1.0, 1.0], "NumPy": [2.0, 2.0]})
    assert result.comparison("autograd") is None and result.comparison("adjoint") is None
    assert result.comparison("NumPy")[1].paired == 0.5
