"""Checkpoints: the same gradients with less memory, and errors that name the difference."""

from __future__ import annotations

import functools
import gc
import math
import weakref
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.autograd import forward_ad, grad
from adjoint.core.modes.interceptors import RECORDING, Interceptor
from adjoint.core.modes.state import current
from adjoint.func import jacfwd, jacrev
from adjoint.utils.checkpoint import (
    CheckpointError,
    CheckpointPolicy,
    checkpoint,
    checkpoint_chain,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)

run_checkpoint = functools.partial(checkpoint, use_reentrant=False)


@pytest.fixture
def x() -> adjoint.Tensor:
    return adjoint.tensor([0.3, 0.5, 0.9], dtype=adjoint.float64, requires_grad=True)


def body(x: adjoint.Tensor) -> adjoint.Tensor:
    return (x * x).exp().sin() * x.tanh()


class Counted:
    """Make a function that counts its runs."""

    def __init__(self, function=body) -> None:
        self.function, self.runs = function, 0

    def __call__(self, *args, **kwargs):
        self.runs += 1
        return self.function(*args, **kwargs)


def test_gradients_of_first_and_second_order(x: adjoint.Tensor) -> None:
    (expected,) = grad(body(x).sum(), x, create_graph=True)
    (expected_second,) = grad(expected.sum(), x)
    (first,) = grad(run_checkpoint(body, x).sum(), x, create_graph=True)
    (second,) = grad(first.sum(), x)
    np.testing.assert_allclose(first.detach().numpy(), expected.detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(second.numpy(), expected_second.numpy(), rtol=1e-12)


def test_function_runs_once_more_for_each_pass(x: adjoint.Tensor) -> None:
    counted = Counted()
    y = run_checkpoint(counted, x).sum()
    assert counted.runs == 1
    y.backward(retain_graph=True)
    assert counted.runs == 2
    y.backward()
    assert counted.runs == 3
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


def test_saves_places_only(x: adjoint.Tensor) -> None:
    alive: list[weakref.ref] = []

    def watch(x: adjoint.Tensor) -> adjoint.Tensor:
        y = (x * x).exp()
        alive.append(weakref.ref(y._array.base if y._array.base is not None else y._array))
        return y.sin()

    gc.disable()
    try:
        z = run_checkpoint(watch, x)
        assert alive[0]() is None
        z.sum().backward()
        assert alive[1]() is None
    finally:
        gc.enable()


def test_any_structure_of_arguments_and_results(x: adjoint.Tensor) -> None:
    def f(values, *, scale, flag):
        return {"sum": values[0] + scale["by"] * values[1], "flag": flag}

    weight = adjoint.tensor(3.0, dtype=adjoint.float64, requires_grad=True)
    result = run_checkpoint(f, (x, x.exp()), scale={"by": weight}, flag=True)
    assert result["flag"] is True
    result["sum"].sum().backward()
    assert weight.grad == x.exp().sum()
    np.testing.assert_allclose(x.grad.numpy(), 1 + 3 * np.exp(x.detach().numpy()))


def test_random_numbers_are_the_same_both_times(x: adjoint.Tensor) -> None:
    def noisy(x: adjoint.Tensor) -> adjoint.Tensor:
        return (x * adjoint.rand(3, dtype=adjoint.float64)).exp()

    adjoint.manual_seed(1)
    y = run_checkpoint(noisy, x)
    after = adjoint.rand(1)
    adjoint.manual_seed(1)
    factors = adjoint.rand(3, dtype=adjoint.float64)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), (factors * y).detach().numpy())
    assert adjoint.rand(1) == after


def test_nested(x: adjoint.Tensor) -> None:
    inner, outer = Counted(), Counted(lambda x: run_checkpoint(inner, x.exp()).exp() * x)
    (expected,) = grad((body(x.exp()).exp() * x).sum(), x)
    (gradient,) = grad(run_checkpoint(outer, x).sum(), x)
    np.testing.assert_allclose(gradient.numpy(), expected.numpy(), rtol=1e-12)
    assert (outer.runs, inner.runs) == (2, 3)


def test_early_stop(x: adjoint.Tensor) -> None:
    reached: list[int] = []

    def f(x: adjoint.Tensor) -> adjoint.Tensor:
        y = x.exp()
        reached.append(1)
        return y + 1

    run_checkpoint(f, x).sum().backward()
    assert len(reached) == 1
    with set_checkpoint_early_stop(False):
        y = run_checkpoint(f, x)
    y.sum().backward()
    assert len(reached) == 3


def test_without_recording_nothing_is_kept(x: adjoint.Tensor) -> None:
    with adjoint.no_grad():
        assert not run_checkpoint(body, x).requires_grad
    assert not run_checkpoint(body, x.detach()).requires_grad


def test_modified_argument_is_found(x: adjoint.Tensor) -> None:
    y = x * 2
    z = run_checkpoint(body, y).sum()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


# reentrant ----------------------------------------------------------------------------------------------------------


def test_reentrant(x: adjoint.Tensor) -> None:
    weight = adjoint.tensor(2.0, dtype=adjoint.float64, requires_grad=True)
    modes: list[bool] = []

    def f(x: adjoint.Tensor, n: int, y: adjoint.Tensor) -> tuple[adjoint.Tensor, adjoint.Tensor]:
        modes.append(adjoint.is_grad_enabled())
        return (x * weight) ** n, adjoint.rand(3, dtype=adjoint.float64) * y.exp()

    y = x.detach().clone()
    first, second = checkpoint(f, x, 2, x, use_reentrant=True)
    assert first.grad_fn.name() == "CheckpointFunctionBackward" and modes == [False]
    third, _ = checkpoint(f, x, 2, y, use_reentrant=True)
    (first + second + third).sum().backward()
    assert modes == [False, False, True, True]
    expected = 2 * (2 * x * weight**2) + second
    np.testing.assert_allclose(x.grad.numpy(), expected.detach().numpy())
    np.testing.assert_allclose(weight.grad.item(), 2 * (2 * weight * x * x).sum().item())


def test_limits_of_reentrant(x: adjoint.Tensor) -> None:
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        checkpoint(body, x)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(body, x.detach(), use_reentrant=True)
    y = checkpoint(body, x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match=r"incompatible with .grad\(\) or passing an `inputs` parameter"):
        grad(y, x)
    y = checkpoint(lambda x: x.detach(), x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        y.sum().backward()
    for options in ({"other": 1}, {"debug": True}):
        with pytest.raises(ValueError, match=r"nexpected keyword|only supported when use_reentrant=False"):
            checkpoint(body, x, use_reentrant=True, **options)


# errors -------------------------------------------------------------------------------------------------------------


class Unsteady:
    """A function whose first run differs from later runs."""

    def __init__(self, *functions) -> None:
        self.functions = list(functions)

    def __call__(self, x: adjoint.Tensor) -> adjoint.Tensor:
        return (self.functions.pop(0) if len(self.functions) > 1 else self.functions[0])(x)


def test_other_shapes_are_found_and_named(x: adjoint.Tensor) -> None:
    y = run_checkpoint(Unsteady(lambda x: (x.sin() * x).exp(), lambda x: (x[:2].sin() * x[:2]).exp()), x)
    with pytest.raises(CheckpointError, match="Recomputed values for the following tensors have different") as error:
        y.sum().backward()
    text = str(error.value)
    assert "tensor at position 1:\nsaved metadata: {'shape': adjoint.Size([3]), 'dtype': adjoint.float64" in text
    assert "in the first run, adjoint.float64 of shape (3,), saved by SinBackward0" in text
    assert "in the recomputation, adjoint.float64 of shape (2,), saved by SinBackward0" in text


def test_other_numbers_of_tensors_are_found(x: adjoint.Tensor) -> None:
    fewer = run_checkpoint(Unsteady(lambda x: x.exp().sin(), lambda x: x.exp()), x)
    with pytest.raises(CheckpointError, match="A different number of tensors was saved") as error:
        fewer.sum().backward()
    assert "during forward: 2\nNumber of tensors saved during recomputation: 1" in str(error.value)
    with set_checkpoint_early_stop(False), set_checkpoint_debug_enabled(True):
        more = run_checkpoint(Unsteady(lambda x: x.exp(), lambda x: x.exp().sin()), x)
    with pytest.raises(CheckpointError, match="trying to save more tensors during recomputation") as error:
        more.sum().backward()
    text = str(error.value)
    assert "Saved during the recomputation:\n  0: adjoint.float64 of shape (3,), saved by ExpBackward0" in text


def test_check_can_be_switched_off(x: adjoint.Tensor) -> None:
    y = run_checkpoint(Unsteady(lambda x: x.exp(), lambda x: x.exp()[:1]), x, determinism_check="none")
    y.sum().backward()
    # another number of saved tensors is found in this case, too
    fewer = run_checkpoint(Unsteady(lambda x: x.exp().sin(), lambda x: x.exp()), x, determinism_check="none")
    with pytest.raises(CheckpointError, match="A different number of tensors was saved"):
        fewer.sum().backward()
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        run_checkpoint(body, x, determinism_check="some")


def test_errors_of_the_function_come_out_unchanged(x: adjoint.Tensor) -> None:
    def fail(x: adjoint.Tensor) -> adjoint.Tensor:
        raise KeyError("mine")

    y = run_checkpoint(Unsteady(body, fail), x)
    with pytest.raises(KeyError, match="mine"):
        y.sum().backward()


# sequences ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("segments", [1, 2, 3])
def test_sequential(x: adjoint.Tensor, segments: int) -> None:
    functions = [Counted(f) for f in (adjoint.exp, adjoint.sin, adjoint.tanh, adjoint.exp)]
    y = checkpoint_sequential(functions, segments, x, use_reentrant=False)
    (gradient,) = grad(y.sum(), x)
    (expected,) = grad(x.exp().sin().tanh().exp().sum(), x)
    np.testing.assert_allclose(gradient.numpy(), expected.numpy(), rtol=1e-12)
    assert functions[-1].runs == 1


@pytest.mark.parametrize(("n", "snapshots"), [(1, 1), (2, 1), (7, 1), (7, 2), (30, 3), (30, 40), (100, 4)])
def test_chain_keeps_to_the_binomial_bound(x: adjoint.Tensor, n: int, snapshots: int) -> None:
    steps = [Counted(lambda v: v.sin() * 1.01) for _ in range(n)]
    y = checkpoint_chain(steps, x, snapshots=snapshots)
    (gradient,) = grad(y.sum(), x)
    z = x
    for _ in range(n):
        z = z.sin() * 1.01
    (expected,) = grad(z.sum(), x)
    np.testing.assert_allclose(gradient.numpy(), expected.numpy(), rtol=1e-10)
    repeats = next(t for t in range(n + 1) if math.comb(snapshots + t, snapshots) >= n)
    assert max(step.runs for step in steps) <= repeats + 1


def test_chain_needs_a_snapshot(x: adjoint.Tensor) -> None:
    with pytest.raises(ValueError, match="snapshots must be at least 1"):
        checkpoint_chain([body], x, snapshots=0)
    with pytest.raises(TypeError, match="interpreted as an integer"):
        checkpoint_chain([body], x, snapshots=1.5)
    assert (
        checkpoint_chain([body] * 3, x, snapshots=adjoint.tensor(2)).shape
        == checkpoint_chain([body] * 3, x, snapshots=2).shape
    )


# selective ----------------------------------------------------------------------------------------------------------


def test_selective_checkpoint_does_not_run_kept_operations_again() -> None:
    x = adjoint.rand(3, 3, dtype=adjoint.float64, requires_grad=True)
    runs: list[tuple[str, bool]] = []

    def policy(context, operation, *arguments) -> CheckpointPolicy:
        runs.append((operation.name, context.is_recompute))
        return CheckpointPolicy.MUST_SAVE if operation.name == "matmul" else CheckpointPolicy.PREFER_RECOMPUTE

    def f(x: adjoint.Tensor) -> adjoint.Tensor:
        return (x @ x).exp().sin()

    (expected,) = grad(f(x).sum(), x)
    for contents in (policy, ["matmul"], [adjoint.matmul]):
        contexts = functools.partial(create_selective_checkpoint_contexts, contents)
        (gradient,) = grad(run_checkpoint(f, x, context_fn=contexts).sum(), x)
        np.testing.assert_allclose(gradient.numpy(), expected.numpy(), rtol=1e-12)
    assert ("matmul", False) in runs and ("exp", False) in runs


def test_kept_results_stand_for_recomputed_ones() -> None:
    calls: list[str] = []
    x = adjoint.ones(2, 2, requires_grad=True)

    def f(x: adjoint.Tensor) -> adjoint.Tensor:
        return (x @ x).exp()

    forward, again = create_selective_checkpoint_contexts(["matmul"])
    with forward:
        f(x)

    class Spy(Interceptor):
        def kernel(self, operation, raw, half):
            calls.append(operation.name)
            return operation.proceed_to_kernel(raw, half, self.position)

    with again:
        # ^this operation is outside of the checkpoint
        current().interceptors = (Spy(RECORDING), *current().interceptors)
        y = f(x)
        current().interceptors = current().interceptors[1:]
    assert calls == ["matmul", "exp"] and y.tolist() == f(x).tolist()


def test_formulas_of_one_operation_may_ask_for_the_same_value():
    def function(a, b):
        return a.sin() / b.cos() / (a * b)

    a, b = (adjoint.tensor(value, dtype=adjoint.float64, requires_grad=True) for value in (0.5, 0.7))
    expected = adjoint.autograd.grad(function(a, b), (a, b))
    y = checkpoint(lambda a, b: checkpoint(function, a, b, use_reentrant=False), a, b, use_reentrant=False)
    for _ in range(2):
        assert adjoint.autograd.grad(y, (a, b), retain_graph=True) == expected


# forward mode ---------------------------------------------------------------------------------------------------------

MODES = {"f": jacfwd, "r": jacrev}


@pytest.mark.parametrize("order", ["fr", "rf", "ffr", "frf", "rff", "frr", "rfr", "rrf"])
@pytest.mark.parametrize("chain", [False, True])
def test_forward_and_reverse_mode_through_checkpoints(order: str, chain: bool) -> None:
    def step(x: Any) -> Any:
        return (x * x).sin() * x

    def plain(x: Any) -> Any:
        return (step(step(step(x))) ** 2).sum()

    def with_checkpoints(x: Any) -> Any:
        if chain:
            return (checkpoint_chain([step] * 3, x, snapshots=1) ** 2).sum()
        return (checkpoint(lambda x: step(step(step(x))), x, use_reentrant=False) ** 2).sum()

    x = adjoint.tensor([0.3, 0.7], dtype=adjoint.float64)
    for mode in reversed(order):
        plain, with_checkpoints = MODES[mode](plain), MODES[mode](with_checkpoints)
    adjoint.testing.assert_close(with_checkpoints(x), plain(x))


def test_a_level_that_ended_is_opened_again_for_a_recomputation() -> None:
    x = adjoint.tensor([0.3, 0.7], dtype=adjoint.float64, requires_grad=True)
    v = adjoint.tensor([1.0, 2.0], dtype=adjoint.float64, requires_grad=True)
    with forward_ad.dual_level():
        y = checkpoint(lambda x: x.sin() * x, forward_ad.make_dual(x, v), use_reentrant=False)
        tangent = forward_ad.unpack_dual(y).tangent
    tangent.sum().backward()
    assert x.grad is not None and v.grad is not None
    adjoint.testing.assert_close(x.grad, (v * (2 * x.cos() - x * x.sin())).detach())
    adjoint.testing.assert_close(v.grad, (x.cos() * x + x.sin()).detach())


def test_detach_variable_takes_a_tuple() -> None:
    with pytest.raises(RuntimeError, match=r"Only tuple of tensors is supported\. Got Unsupported input type: list"):
        adjoint.utils.checkpoint.detach_variable([adjoint.ones(1)])


def of_leaf(x: Any) -> Any:
    return (x.sin() * x).exp()


NESTED: dict[str, Any] = {
    "alone": lambda run, x: run(of_leaf, x),
    "at the end": lambda run, x: run(of_leaf, x.sin() * x),
    "in the middle": lambda run, x: run(of_leaf, x * x).tanh() * x,
    "two": lambda run, x: run(of_leaf, x * x) * run(of_leaf, x),
    "three deep": lambda run, x: run(lambda y: run(of_leaf, y * y) * y, x) * x,
}


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("variant", NESTED)
def test_checkpoints_inside_checkpoints_with_and_without_early_stop(variant: str, early_stop: bool) -> None:
    x = adjoint.tensor([0.3, 0.7], dtype=adjoint.float64, requires_grad=True)

    def nest(run: Any) -> Any:
        return NESTED[variant](run, x)

    def run(function: Any, value: Any) -> Any:
        return adjoint.utils.checkpoint.checkpoint(function, value, use_reentrant=False)

    def derivatives(y: Any) -> list[Any]:
        (first,) = adjoint.autograd.grad(y, x, create_graph=True)
        (second,) = adjoint.autograd.grad(first.sum(), x, retain_graph=True)
        return [first.tolist(), second.tolist(), adjoint.autograd.grad(y, x)[0].tolist()]

    with adjoint.utils.checkpoint.set_checkpoint_early_stop(early_stop):
        actual = derivatives(run(lambda value: NESTED[variant](run, value), x).sum())
    expected = derivatives(nest(lambda function, value: function(value)).sum())
    for result, target in zip(actual, expected, strict=True):
        assert result == pytest.approx(target, rel=1e-12)


def test_what_is_run_again_has_its_batches_at_the_levels_of_the_first_run() -> None:
    def member(x):
        return (x * 2).exp().sin()

    mapped = adjoint.vmap(member)
    plain = adjoint.tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], requires_grad=True)
    programs = {
        "once": lambda f, x: f(x),
        "twice": lambda f, x: f(f(x)),
        "in a batch": lambda f, x: adjoint.vmap(f)(adjoint.stack([x, 2 * x])),
        "nested batches": lambda f, x: adjoint.vmap(lambda row: f(row[None]))(x),
    }
    for name, program in programs.items():
        (expected,) = adjoint.autograd.grad(program(mapped, plain).sum(), plain)
        for early_stop in (True, False):
            run_mapped = functools.partial(checkpoint, mapped, use_reentrant=False, early_stop=early_stop)
            for outer in (run_mapped, lambda x, run_mapped=run_mapped: checkpoint(run_mapped, x, use_reentrant=False)):
                result = program(outer, plain).sum()
                for _ in range(2):
                    (gradient,) = adjoint.autograd.grad(result, plain, retain_graph=True)
                    assert gradient.shape == plain.shape and adjoint.allclose(gradient, expected), name
                (batch,) = adjoint.autograd.grad(result, plain, adjoint.ones(2), is_grads_batched=True)
                assert adjoint.allclose(batch, expected.expand(2, 2, 3)), name
