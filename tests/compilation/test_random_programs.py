"""Random programs, compiled and eager: they have the same values, gradients, effects and errors, up to rounding.

A program is a list of steps. A step is a few numbers, which select the operation and its operands among the existing
tensors: two arguments, two parameters of the closure, and the results of earlier steps. So Hypothesis can shorten a
failing program by removing steps. If a step fails, its message is an observation, and the program continues.
ADJOINT_PROGRAMS sets the number of programs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import adjoint
from adjoint.compilation.recordings import outlines, recording
from support.compiled_comparison import Case, World, compare, observe_writes, tensor

PROGRAMS = int(os.environ.get("ADJOINT_PROGRAMS", "150"))
MOST_TENSORS = 14
Action = Callable[[Any, Any, int], Any]


def reads_a_value(x: Any, y: Any, k: int) -> Any:
    """A branch that depends on the value of a tensor."""
    return x * 2 if bool((x.sum() > 0).item()) else x - 1


def pulls_back(x: Any, y: Any, k: int) -> Any:
    """A gradient that later steps use as a value."""
    leaves = [t for t in (x, y) if t.requires_grad]
    gradients = adjoint.autograd.grad((x * x).sum() + (y.sin() * 0.5).sum(), leaves, create_graph=bool(k % 2))
    return gradients[k % len(gradients)]


def accumulates(x: Any, y: Any, k: int) -> Any:
    """A backward pass that accumulates into .grad."""
    (x.cos().sum() + (y * y).sum()).backward(retain_graph=True)


def in_mode(x: Any, y: Any, k: int) -> Any:
    """A result that is recorded or not, by the mode of a block."""
    with adjoint.set_grad_enabled(bool(k % 2)):
        return (x * y).tanh() if x.shape == y.shape else x.exp()


#: The steps by name. An action returns a new tensor, or None if it changes an existing tensor.
ACTIONS: dict[str, Action] = {
    "sin": lambda x, y, k: x.sin(),
    "exp": lambda x, y, k: (0.1 * x).exp(),
    "sigmoid": lambda x, y, k: x.sigmoid(),
    "softplus": lambda x, y, k: adjoint.nn.functional.softplus(x),
    "absolute": lambda x, y, k: x.abs(),
    "clamp": lambda x, y, k: x.clamp(-0.5, 0.25 * k),
    "add": lambda x, y, k: x + y,
    "subtract": lambda x, y, k: x.sub(y, alpha=k),
    "multiply": lambda x, y, k: x * y,
    "divide": lambda x, y, k: x / (1 + y * y),
    "maximum": lambda x, y, k: adjoint.maximum(x, y),
    "where": lambda x, y, k: adjoint.where(x > 0, y, -x),
    "number": lambda x, y, k: k - 0.5 * x,
    "sum": lambda x, y, k: x.sum(k % max(x.ndim, 1), keepdim=bool(k // 4 % 2)),
    "total": lambda x, y, k: x.mean(),
    "logsumexp": lambda x, y, k: x.logsumexp(-1, keepdim=True),
    "softmax": lambda x, y, k: x.softmax(-1),
    "norm": lambda x, y, k: x.norm(),
    "cumsum": lambda x, y, k: x.cumsum(-1),
    "amax": lambda x, y, k: x.amax(-1),
    "sort": lambda x, y, k: x.sort(-1).values,
    "product": lambda x, y, k: x @ y.mT if y.ndim > 1 else x @ y,
    "index": lambda x, y, k: x[adjoint.tensor([0, -1, 0])],
    "mask": lambda x, y, k: x[x > 0],
    "gather": lambda x, y, k: x.gather(-1, x.argsort(-1)),
    "concatenate": lambda x, y, k: adjoint.cat([x, y], k % max(x.ndim, 1)),
    "pad": lambda x, y, k: adjoint.nn.functional.pad(x, (1, 0)),
    "slice": lambda x, y, k: x[k % 2 :],
    "steps": lambda x, y, k: x[..., ::2],
    "flipped": lambda x, y, k: x.flip(0),
    "row": lambda x, y, k: x[k % 2],
    "transposed": lambda x, y, k: x.transpose(0, -1),
    "diagonal": lambda x, y, k: x.diagonal(),
    "flattened": lambda x, y, k: x.reshape(-1),
    "expanded": lambda x, y, k: x.expand(2, *x.shape),
    "detached": lambda x, y, k: x.detach(),
    "cloned": lambda x, y, k: x.clone(),
    "single": lambda x, y, k: x.float() * 3,
    "double": lambda x, y, k: x.double(),
    "add_": lambda x, y, k: x.add_(y) and None,
    "mul_": lambda x, y, k: x.mul_(0.5 + k) and None,
    "tanh_": lambda x, y, k: x.tanh_() and None,
    "copy_": lambda x, y, k: x.copy_(y) and None,
    "row assigned": lambda x, y, k: x.__setitem__(k % 2, 0.25 * k),
    "slice assigned": lambda x, y, k: x.__setitem__(slice(1, None), y[:-1]),
    "mask assigned": lambda x, y, k: x.__setitem__(x > 1, 1.0),
    "index_add_": lambda x, y, k: x.index_add_(0, adjoint.tensor([0, 1, 0]), y[[0, 1, 1]]) and None,
    "drawn": lambda x, y, k: x + adjoint.rand_like(x),
    "dropout": lambda x, y, k: adjoint.nn.functional.dropout(x, 0.5),
    "a branch": reads_a_value,
    "a value": lambda x, y, k: x * float(y.detach().reshape(-1)[0]),
    "a gradient": pulls_back,
    "backward": accumulates,
    "a mode": in_mode,
    "jvp": lambda x, y, k: adjoint.func.jvp(adjoint.sin, (x.detach(),), (y.detach(),))[1],
    "vmap": lambda x, y, k: adjoint.func.vmap(lambda row: row * row.sum())(x),
    "func.grad": lambda x, y, k: adjoint.func.grad(lambda v: (v.tanh() * y).sum())(x),
    "checkpoint": lambda x, y, k: adjoint.utils.checkpoint.checkpoint(
        lambda v: v.sin() * v, x, use_reentrant=False
    ),
}  # fmt: skip
NAMES = list(ACTIONS)
#: Steps with side effects. Gradients of such functions have no history, and their use raises an error.
EFFECTS = {name for name in NAMES if name.endswith(("_", "assigned"))} | {"drawn", "dropout", "backward", "checkpoint"}
Step = tuple[int, int, int, int]


def program(steps: list[Step]) -> Callable[[World], Callable[..., Any]]:
    """Make a function that runs the steps."""

    def make(world: World) -> Callable[..., Any]:
        closure = [world.parameter(3, 4), world.tensor(4)]

        def run(x: Any, y: Any) -> Any:
            tensors, errors = [x, y, *closure], []
            for kind, a, b, k in steps:
                first, second = tensors[a % len(tensors)], tensors[b % len(tensors)]
                try:
                    result = ACTIONS[NAMES[kind % len(NAMES)]](first, second, k)
                except (RuntimeError, IndexError, ValueError, TypeError) as error:
                    errors.append(f"{type(error).__name__}: {error}")
                    continue
                if result is not None and len(tensors) < MOST_TENSORS:
                    tensors.append(result)
            return tensors[4:], errors

        return run

    return make


def case(steps: list[Step]) -> Case:
    """A program and its arguments. The second argument does not require a gradient."""
    has_effects = any(NAMES[step[0]] in EFFECTS for step in steps)
    inputs = (tensor(3, 4), tensor(3, 4, grad=False))
    return Case(program(steps), inputs, second=not has_effects, rounded="cotangents of several results meet in sums")


programs = st.lists(
    st.tuples(st.integers(0, len(NAMES) - 1), st.integers(0, 13), st.integers(0, 13), st.integers(0, 7)),
    min_size=1, max_size=10,
)  # fmt: skip


@settings(
    max_examples=PROGRAMS, deadline=None, database=None, print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
@given(programs)
@pytest.mark.quick(0)
def test_random_programs(steps: list[Step]) -> None:
    compare(case(steps))


@settings(
    max_examples=PROGRAMS, deadline=None, database=None, print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
@given(programs)
def test_outlines_of_all_arrays(steps: list[Step]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module in (outlines, recording):
            patch.setattr(module, "LARGE", 1)
        compare(case(steps))


@settings(
    max_examples=max(PROGRAMS // 3, 1), deadline=None, database=None, print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
@given(programs)
def test_results_that_are_written_to(steps: list[Step]) -> None:
    compare(case(steps), observe_writes)


@pytest.mark.parametrize("name", NAMES)
def test_each_step(name: str) -> None:
    kind = NAMES.index(name)
    for operands in ((0, 1), (2, 0), (3, 3)):
        compare(case([(kind, *operands, 1), (0, 4, 0, 0), (0, 4, 0, 0)]))
    # on a result, which an in-place step gives another history
    compare(case([(NAMES.index("number"), 0, 1, 1), (kind, 4, 1, 1)]))


@settings(
    max_examples=max(PROGRAMS // 3, 1), deadline=None, database=None, print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
@given(programs, st.sampled_from([0.0, 0.5]))
def test_budgets(steps: list[Step], share: float) -> None:
    compare(case(steps), budget=share)
