"""Memory budgets of compiled functions: gradients stay, saved bytes meet the budget, misuse raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.autograd.graph import region_activation_memory_budget as budget_of
from support.compiled_comparison import compare
from support.compiled_programs import PROGRAMS

N_LAYERS = 8


def layers() -> list[Any]:
    rng = np.random.default_rng(0)
    return [adjoint.tensor(rng.standard_normal((16, 16)) / 4, requires_grad=True) for _ in range(N_LAYERS)]


def network(x: Any, weights: list[Any]) -> Any:
    for weight in weights:
        x = (x @ weight).tanh()
    return (x * x).sum()


def saved_bytes(compiled: Any, *args: Any) -> tuple[int, int]:
    """The number of bytes that a compiled function saves, and the number without a budget."""
    n_saved, every = compiled.entry_for(list(args), compiled.entries[0].structure_in).saved_bytes
    return n_saved, every


def gradients(function: Callable[..., Any], weights: list[Any], *args: Any) -> list[Any]:
    return [g.numpy() for g in adjoint.autograd.grad(function(*args), weights)]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.4, 0.5, 0.75, 1.0])
def test_gradients_stay_and_saved_bytes_keep_to_the_budget(share: float) -> None:
    weights, x = layers(), adjoint.ones(8, 16, dtype=adjoint.float64)
    compiled = adjoint.compile(budget_of(share)(lambda x: network(x, weights)))
    expected = gradients(lambda x: network(x, weights), weights, x)
    for _ in range(3):
        for actual, other in zip(gradients(compiled, weights, x), expected, strict=True):
            np.testing.assert_array_equal(actual, other)
    n_saved, every = saved_bytes(compiled, x)
    # outputs of layers have equal sizes, so the share decides how many are saved
    assert every == N_LAYERS * x.nbytes
    assert n_saved == int(share * N_LAYERS) * x.nbytes


def test_what_is_computed_again_is_there_for_a_short_time() -> None:
    weights, x = layers(), adjoint.ones(512, 16, dtype=adjoint.float64)
    arenas = []
    for share in (0.5, 0.0):
        compiled = adjoint.compile(budget_of(share)(lambda x: network(x, weights)))
        gradients(compiled, weights, x)
        (entry,) = compiled.entries
        arenas.append(entry.pulls.whole.program.arena_bytes)
    # with the share 0.5 every second output is recomputed right before its use; with 0 all of them at once
    assert arenas[0] < arenas[1] - 2 * x.nbytes


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_without_any_saved_memory(name: str) -> None:
    compare(PROGRAMS[name], budget=0.0)


def test_regions_have_budgets_of_their_own() -> None:
    def function(x: Any) -> Any:
        with budget_of(0.0):
            y = x.sin().exp()
            with budget_of(1.0):
                z = y.sin().exp()
            y = z.tanh().cos()
        return y.sin().exp().sum()

    x = adjoint.linspace(0, 1, 50, dtype=adjoint.float64, requires_grad=True)
    compiled = adjoint.compile(function)
    expected = gradients(compiled, [x], x)
    gradients(compiled, [x], x)
    np.testing.assert_array_equal(gradients(compiled, [x], x), expected)
    n_saved, every = saved_bytes(compiled, x)
    # saved: the values after exp, tanh and cos; the inner region and the last line save theirs in any case
    assert (n_saved, every) == (2 * x.nbytes, 5 * x.nbytes)


def test_draws_stay_saved() -> None:
    x = adjoint.ones(1000, requires_grad=True)
    compiled = adjoint.compile(budget_of(0.0)(lambda x: adjoint.nn.functional.dropout(x.exp(), 0.5).sin().sum()))
    compiled(x)
    for _ in range(3):
        (y,) = adjoint.autograd.grad(compiled(x), x)
        # the saved draw decides the slopes: about half of them are 0, and the others one other number
        numbers, counts = np.unique(y.numpy(), return_counts=True)
        assert len(numbers) == 2 and numbers.min() == 0 and counts.min() > 400


def test_arguments_that_are_modified_before_the_backward_pass() -> None:
    x = adjoint.ones(3, requires_grad=True)
    z = adjoint.ones(3)
    compiled = adjoint.compile(budget_of(0.0)(lambda x, z: (x * z.exp()).sin().sum()))
    for _ in range(2):
        y = compiled(x, z)
    z.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_gradients_of_gradients() -> None:
    x = adjoint.tensor([0.5, 1.0], dtype=adjoint.float64, requires_grad=True)
    compiled = adjoint.compile(budget_of(0.0)(lambda x: (x.exp() * x.sin()).sum()))
    for _ in range(2):
        (g,) = adjoint.autograd.grad(compiled(x), x, create_graph=True)
        (second,) = adjoint.autograd.grad(g.sum(), x)
        np.testing.assert_allclose(second.numpy(), (2 * x.exp() * x.cos()).detach().numpy(), rtol=1e-14)


def test_a_function_that_cannot_be_recorded_runs_as_it_is() -> None:
    @adjoint.compile
    @budget_of(0.5)
    def function(x: Any) -> Any:
        with open("/dev/null") as file:
            file.read()
        x.register_hook(lambda g: g)
        return x.exp().sum()

    x = adjoint.ones(3, requires_grad=True)
    with pytest.warns(UserWarning, match="runs as it is"):
        function(x)
    assert function(x).item() == pytest.approx(3 * np.e)
    assert adjoint.func.grad(function)(adjoint.ones(3)).tolist() == pytest.approx([np.e] * 3)


def test_outside_of_a_compiled_function() -> None:
    with pytest.raises(RuntimeError, match=r"adjoint\.compile alone"), budget_of(0.5):
        pass
    with pytest.raises(RuntimeError, match=r"adjoint\.compile alone"):
        budget_of(0.5)(lambda x: x)(adjoint.ones(3))


@pytest.mark.parametrize("budget", [-0.1, 1.5, float("nan"), float("inf")])
def test_budgets_that_are_no_share(budget: float) -> None:
    with pytest.raises(ValueError, match=r"between 0.0 and 1.0, got"):
        budget_of(budget)


@pytest.mark.parametrize("budget", ["0.5", None, True, 1j])
def test_budgets_that_are_no_number(budget: Any) -> None:
    with pytest.raises(TypeError, match="budget must be a number"):
        budget_of(budget)
