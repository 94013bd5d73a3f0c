"""`utils.checkpoint.auto`: checkpoints by a memory budget."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.arrays.files import DiskTime
from adjoint.tools import budget as budgets
from adjoint.utils.checkpoint import auto

LAYERS, WIDTH = 24, 16


def weights(seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal((WIDTH, WIDTH)) / 4 for _ in range(LAYERS)]
    return [adjoint.tensor(array, requires_grad=True) for array in arrays]


def network(x: Any, *layers: Any) -> Any:
    for layer in layers:
        x = (x @ layer).tanh()
    return (x**2).sum()


def gradients(function: Callable[..., Any], *inputs: Any, **options: Any) -> list[Any]:
    leaves = [leaf for leaf in inputs if leaf.requires_grad]
    return [g.numpy() for g in adjoint.autograd.grad(function(*inputs), leaves, **options)]


def same(first: list[Any], second: list[Any]) -> None:
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


X = adjoint.tensor(np.random.default_rng(1).standard_normal((32, WIDTH)))


@pytest.mark.parametrize("budget", [1.0, 0.75, 0.5, 0.4, 40_000])
def test_gradients_are_the_same_to_the_last_bit(budget: float) -> None:
    layers = weights()
    function = auto(network, budget)
    expected = gradients(network, X, *layers)
    for _ in range(3):
        same(gradients(function, X, *layers), expected)


class Meter:
    """The size of all arrays in cells, in bytes."""

    def __init__(self) -> None:
        self.largest = 0

    def read(self, gradient: Any) -> None:
        cells = [o for o in gc.get_objects() if isinstance(o, budgets.Cell)]
        arrays = [a for c in cells for a in (c.array, c.again) if a is not None]
        owners = {id(owner): owner.nbytes for owner in (a if a.base is None else a.base for a in arrays)}
        self.largest = max(self.largest, sum(owners.values()))


@pytest.mark.parametrize("budget", [0.75, 0.5, 0.4])
def test_peak_is_that_of_the_plan_and_near_the_budget(budget: float) -> None:
    layers = weights()
    function = auto(network, budget)
    gradients(function, X, *layers)
    meter = Meter()
    for layer in layers:
        layer.register_hook(meter.read)
    result = function(X, *layers)
    meter.read(None)
    result.backward()
    plan = function.plan
    assert plan is not None
    assert meter.largest <= plan.peak <= budget * plan.nbytes
    assert plan.peak >= (budget - 0.05) * plan.nbytes
    assert plan.nbytes == LAYERS * X.numel() * 8


def test_memory_is_free_after_the_pass() -> None:
    layers = weights()
    function = auto(network, 0.5)
    gradients(function, X, *layers)
    gc.disable()
    try:
        function(X, *layers).backward()
        assert [o for o in gc.get_objects() if isinstance(o, budgets.Cell)] == []
    finally:
        gc.enable()


def test_calls_made_again_are_few() -> None:
    """With half of the memory, at most half of the function's calls run again."""
    layers = weights()
    function = auto(network, 0.5)
    gradients(function, X, *layers)
    result = function(X, *layers)
    names: list[str] = []
    run = budgets.compute

    def count(call: Any, number: int) -> Any:
        before = call.call.number
        names.append(before)
        return run(call, number)

    budgets.compute = count
    try:
        result.backward()
    finally:
        budgets.compute = run
    assert 0 < len(names) <= LAYERS // 2 + 1


def test_random_numbers_are_those_of_the_plain_function() -> None:
    def noisy(x: Any, *layers: Any) -> Any:
        for layer in layers:
            x = adjoint.nn.functional.dropout((x @ layer).tanh(), 0.3)
        return x.sum()

    layers = weights()
    function = auto(noisy, 0.8)
    results = []
    for call in (noisy, function, function):
        adjoint.manual_seed(3)
        results.append([*gradients(call, X, *layers), adjoint.rand(1).numpy()])
    same(results[1], results[0])
    same(results[2], results[0])


def test_operations_in_place() -> None:
    def write(x: Any, *layers: Any) -> Any:
        for layer in layers:
            x = x @ layer
            x += 1
            x.tanh_()
        return (x * x).sum()

    layers = weights()
    function = auto(write, 0.9)
    expected = gradients(write, X, *layers)
    for _ in range(2):
        same(gradients(function, X, *layers), expected)


def test_another_course_of_the_function() -> None:
    """A run that differs from the measured one keeps everything, and a new plan is made."""
    course = ["tanh"]

    def changing(x: Any, *layers: Any) -> Any:
        for layer in layers:
            x = getattr(x @ layer, course[0])()
        return x.sum()

    layers = weights()
    function = auto(changing, 0.5)
    gradients(function, X, *layers)
    course[0] = "sigmoid"
    for _ in range(2):
        same(gradients(function, X, *layers), gradients(changing, X, *layers))


def test_second_order_and_second_pass() -> None:
    layers = weights()
    function = auto(network, 0.5)
    gradients(function, X, *layers)
    result = function(X, *layers)
    first = adjoint.autograd.grad(result, layers, retain_graph=True)
    second = adjoint.autograd.grad(result, layers)
    same([g.numpy() for g in first], [g.numpy() for g in second])

    def slope(call: Any) -> list[Any]:
        start = X.clone().requires_grad_()
        (g,) = adjoint.autograd.grad(call(start, *layers), start, create_graph=True)
        return [h.numpy() for h in adjoint.autograd.grad((g * g).sum(), layers)]

    expected, actual = slope(network), [slope(function), slope(function)]
    for row in actual:
        for a, b in zip(row, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_hooks_see_what_they_saw() -> None:
    layers = weights()
    function = auto(network, 0.5)
    gradients(function, X, *layers)
    grads: list[Any] = []
    handle = layers[3].register_hook(lambda g: grads.append(g.numpy().copy()))
    gradients(network, X, *layers)
    gradients(function, X, *layers)
    handle.remove()
    np.testing.assert_array_equal(grads[0], grads[1])


def test_argument_that_changed_is_an_error() -> None:
    layers = weights()
    function = auto(network, 0.5)
    gradients(function, X, *layers)
    result = function(X, *layers)
    with adjoint.no_grad():
        for layer in layers:
            layer.mul_(2.0)
    with pytest.raises(RuntimeError, match="modified"):
        result.backward()


def test_no_grad_keeps_nothing() -> None:
    function = auto(network, 0.5)
    with adjoint.no_grad():
        function(X, *weights())
    assert function.plan is None


def test_plan_is_shown_as_table_and_picture() -> None:
    pytest.importorskip("matplotlib")
    function = auto(network, 0.5)
    gradients(function, X, *weights())
    text = str(function.plan)
    assert "12 of 24 saved arrays are kept" in text or "11 of 24 saved arrays are kept" in text
    assert "recompute  tanh" in text
    assert len(function.plan.plot().lines) == 3  # type: ignore[union-attr]


def test_function_dies_with_its_last_reference() -> None:
    function = auto(network, 0.5)
    gradients(function, X, *weights())
    reference = weakref.ref(function)
    del function
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize(
    ("budget", "error", "message"),
    [
        (0, ValueError, "above 0"),
        (1.5, ValueError, "up to 1.0, or a number of bytes, got 1.5"),
        (-3, ValueError, "got -3"),
        ("half", TypeError, "got 'half'"),
        (True, TypeError, "got True"),
    ],
)
def test_bad_budgets(budget: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        auto(network, budget)


def test_least_possible_budget_is_named() -> None:
    with pytest.raises(ValueError, match=r"a budget of 100 B cannot be met; the least possible is .* of the 98.30 kB"):
        gradients(auto(network, 100), X, *weights())


# disk ---------------------------------------------------------------------------------------------------------------


def drawing(x: Any, *layers: Any) -> Any:
    """In each layer, draw a random array of the result's size, which is saved."""
    for layer in layers:
        x = (x @ layer).tanh() * adjoint.rand(*x.shape, dtype=x.dtype)
    return (x**2).sum()


def slopes_of_drawing(function: Callable[..., Any], layers: list[Any]) -> list[Any]:
    adjoint.manual_seed(3)
    return gradients(function, X, *layers)


@pytest.mark.parametrize("budget", [0.3, 0.05])
def test_gradients_by_disk_are_the_same_to_the_last_bit(budget: float, tmp_path: Path) -> None:
    layers = weights()
    function = auto(drawing, budget, disk=tmp_path)
    expected = slopes_of_drawing(drawing, layers)
    for _ in range(3):
        same(slopes_of_drawing(function, layers), expected)
    plan = function.plan
    assert plan is not None and plan.stored
    assert {fate for operation, _, fate in plan.rows() if operation == "uniform"} <= {"keep", "disk"}
    assert len([row for row in plan.rows() if row[0] == "uniform"]) == LAYERS
    assert plan.peak <= budget * plan.nbytes
    assert f"{len(plan.stored)} are on disk" in str(plan) and "  disk       " in str(plan)


def test_budget_that_only_a_disk_can_meet(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be met; the least possible is"):
        slopes_of_drawing(auto(drawing, 0.2), weights())
    slopes_of_drawing(auto(drawing, 0.2, disk=tmp_path), weights())


def test_peak_with_disk_is_that_of_the_plan(tmp_path: Path) -> None:
    layers = weights()
    function = auto(drawing, 0.3, disk=tmp_path)
    slopes_of_drawing(function, layers)
    meter = Meter()
    for layer in layers:
        layer.register_hook(meter.read)
    result = function(X, *layers)
    meter.read(None)
    result.backward()
    assert function.plan is not None
    assert 0 < meter.largest <= function.plan.peak


def test_second_pass_and_second_order_by_disk() -> None:
    layers = weights()
    function = auto(network, 0.1, disk=True)

    def slope(call: Any) -> list[Any]:
        g, *_ = adjoint.autograd.grad(call(X, *layers), layers, create_graph=True)
        loss = (g * g).sum()
        first = adjoint.autograd.grad(loss, layers, retain_graph=True)
        second = adjoint.autograd.grad(loss, layers)
        same([h.numpy() for h in first], [h.numpy() for h in second])
        return [h.numpy() for h in second]

    expected = slope(network)
    for _ in range(2):
        for a, b in zip(slope(function), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs a list of open file descriptors, as on Linux")
def test_files_have_no_name_and_are_closed_with_the_graph(tmp_path: Path) -> None:
    layers = weights()
    fails = False

    def failing(x: Any, *layers: Any) -> Any:
        result = drawing(x, *layers)
        if fails:
            raise KeyError("late")
        return result

    function = auto(failing, 0.1, disk=tmp_path)
    slopes_of_drawing(function, layers)
    before = descriptors()
    result = function(X, *layers)
    assert descriptors() == before + 1
    assert list(tmp_path.iterdir()) == []
    del result
    assert descriptors() == before
    fails = True
    with pytest.raises(KeyError):
        function(X, *layers)
    gc.collect()
    assert descriptors() == before
    assert list(tmp_path.iterdir()) == []


def test_disk_takes_what_is_slow_to_compute() -> None:
    """One call is slow and nine are fast, with results of equal size. The slow call's result goes to disk."""
    seconds = [1e-6] * 4 + [1.0] + [1e-6] * 5
    notes = [
        budgets.Note((i, 0), f"f{i}", 1000, time, (i - 1,) if i else (), 1, False) for i, time in enumerate(seconds)
    ]
    plan = budgets.Plan(notes, 0.0, 0.7, DiskTime(1e-3, 0.0))
    assert plan.rows()[4][2] in ("keep", "disk")
    assert plan.stored <= {(4, 0)}
    # if the disk takes no time, it gets all results that are not kept
    everything = budgets.Plan(notes, 0.0, 0.3, DiskTime(0.0, 0.0))
    assert not [fate for _, _, fate in everything.rows() if fate == "recompute"]


@pytest.mark.parametrize(
    ("disk", "error", "message"),
    [
        (3, TypeError, "disk must be True, False or the path of a directory, got 3"),
        ("/nowhere/at/all", NotADirectoryError, "'/nowhere/at/all' is not a directory: make it first"),
    ],
)
def test_bad_disks(disk: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        auto(network, 0.5, disk=disk)


@pytest.mark.parametrize("budget", [1.0, 0.5])
def test_saved_array_that_was_modified_is_an_error(budget: float) -> None:
    def modifies(x: Any) -> Any:
        y = x.exp()
        z = (y * 1.0).tanh().sum()
        y.mul_(2)
        return z

    x = adjoint.ones(3, requires_grad=True)
    for function in (modifies, auto(modifies, budget)):
        with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
            function(x).backward()


# views and in-place writes --------------------------------------------------------------------------------------------


def attention(x: Any, *layers: Any) -> Any:
    """Attention heads, whose saved arrays are views."""
    for layer in layers:
        q, k, v = (x @ adjoint.cat([layer, layer.mT, -layer], 1)).reshape(32, 4, 12).transpose(0, 1).split(4, 2)
        heads = adjoint.nn.functional.softmax(q @ k.mT, -1) @ v
        x = x + heads.transpose(0, 1).reshape(32, WIDTH)
    return (x**2).sum()


def add_bias(x: Any, *layers: Any) -> Any:
    """Modify each result in place before its use."""
    for layer in layers:
        x = x @ layer
        x += 0.1
        x = x.tanh()
    return (x**2).sum()


@pytest.mark.parametrize("function", [attention, add_bias])
@pytest.mark.parametrize("budget", [1.0, 0.6])
def test_views_and_written_arrays_count(function: Any, budget: float, monkeypatch: pytest.MonkeyPatch) -> None:
    layers = weights()
    planned = auto(function, budget)
    expected = gradients(function, X, *layers)
    same(gradients(planned, X, *layers), expected)
    same(gradients(planned, X, *layers), expected)
    meter = Meter()
    for layer in layers:
        layer.register_hook(meter.read)
    if budget == 1.0:
        monkeypatch.setattr(budgets, "compute", None)
    result = planned(X, *layers)
    meter.read(None)
    result.backward()
    plan = planned.plan
    assert plan is not None
    assert 0 < meter.largest <= plan.peak <= budget * plan.nbytes


def test_views_on_disk(tmp_path: Path) -> None:
    layers = weights()
    planned = auto(attention, 0.1, disk=tmp_path)
    expected = gradients(attention, X, *layers)
    for _ in range(3):
        same(gradients(planned, X, *layers), expected)
