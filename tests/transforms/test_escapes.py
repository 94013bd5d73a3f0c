"""Tensors that enter or leave differentiated functions, except as arguments and results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import func
from adjoint.runtime.pytree import flatten
from adjoint.transforms.batching.batched import BatchedArray


def close(actual: Any, expected: Any) -> None:
    np.testing.assert_allclose(actual.detach().numpy(), expected.detach().numpy(), rtol=1e-6)


#: Runs of a function of one tensor under transformations that differentiate it.
DIFFERENTIATED: dict[str, Callable[..., Any]] = {
    "grad": lambda f, x: func.grad(f)(x),
    "grad_and_value": lambda f, x: func.grad_and_value(f)(x),
    "vjp": lambda f, x: func.vjp(f, x),
    "jvp": lambda f, x: func.jvp(f, (x,), (adjoint.ones_like(x),)),
    "linearize": lambda f, x: func.linearize(f, x),
    "jacrev": lambda f, x: func.jacrev(f)(x),
    "jacfwd": lambda f, x: func.jacfwd(f)(x),
    "hessian": lambda f, x: func.hessian(f)(x),
    "vmap in grad": lambda f, x: func.grad(
        lambda y: func.vmap(lambda z: f(y * z), randomness="same")(adjoint.ones(2, 1)).sum()
    )(x),
    "grad in vmap": lambda f, x: func.vmap(func.grad(f), randomness="same")(x.expand(2, 3)),
    "grad in jvp": lambda f, x: func.jvp(func.grad(f), (x,), (adjoint.ones_like(x),)),
}

WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "add_": lambda s, x: s.add_(1),
    "add_ of the argument": lambda s, x: s.add_(x),
    "exp_": lambda s, x: s.exp_(),
    "fill_": lambda s, x: s.fill_(2.0),
    "zero_": lambda s, x: s.zero_(),
    "copy_": lambda s, x: s.copy_(adjoint.ones(3)),
    "normal_": lambda s, x: s.normal_(),
    "t_": lambda s, x: s.t_(),
    "unsqueeze_": lambda s, x: s.unsqueeze_(0),
    "index_add_": lambda s, x: s.index_add_(0, adjoint.tensor([0]), adjoint.ones(1)),
    "masked_fill_": lambda s, x: s.masked_fill_(s > 0, 1.0),
    "relu_": lambda s, x: adjoint.relu_(s),
    "item": lambda s, x: s.__setitem__(0, 5.0),
    "items by index": lambda s, x: s.__setitem__(adjoint.tensor([0]), 5.0),
    "a view": lambda s, x: s[1:].mul_(2),
    "detached": lambda s, x: s.detach().mul_(2),
    "data": lambda s, x: s.data.mul_(2),
    "detach_": lambda s, x: s.detach_(),
    "resize_": lambda s, x: s.resize_(2),
    "map_": lambda s, x: s.map_(s, lambda a, b: a + b),
    "set_": lambda s, x: s.set_(adjoint.zeros(3)),
}


@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("run", DIFFERENTIATED)
def test_tensors_from_outside_are_not_modified(run: str, write: str, recording: bool) -> None:
    s = adjoint.tensor([1.0, 2.0, 3.0])

    def modifying(x: Any) -> Any:
        with adjoint.set_grad_enabled(recording):
            WRITES[write](s, x)
        return (s * x).sum()

    with pytest.raises(RuntimeError, match="that would mutate a captured Tensor"):
        DIFFERENTIATED[run](modifying, adjoint.ones(3))
    assert s.tolist() == [1.0, 2.0, 3.0] and s._version == 0 and not s.requires_grad
    s.add_(1)


@pytest.mark.parametrize("run", DIFFERENTIATED)
def test_tensors_made_inside_may_be_modified(run: str) -> None:
    def modifying(x: Any) -> Any:
        s = adjoint.zeros(3)
        s[1:].add_(2)
        y = x * 1
        y.mul_(s + 1)
        s.detach().zero_()
        return (y * y * s.add_(1)).sum()

    def plain(x: Any) -> Any:
        return (x * adjoint.tensor([1.0, 3.0, 3.0])).square().sum()

    x = adjoint.tensor([1.0, 2.0, 3.0])
    result, expected = DIFFERENTIATED[run](modifying, x), DIFFERENTIATED[run](plain, x)
    for actual, target in zip(flatten(result)[0], flatten(expected)[0], strict=True):
        if isinstance(target, adjoint.Tensor):
            close(actual, target)


def test_tensor_of_an_outer_function_is_from_outside_of_the_inner() -> None:
    def outer(x: Any) -> Any:
        z = x * 2
        with pytest.raises(RuntimeError, match="captured"):
            func.grad(lambda y: z.add_(y).sum())(x)
        func.vmap(lambda y: z.add_(1) * y)(x)
        return z.sum()

    close(func.grad(outer)(adjoint.ones(3)), adjoint.full((3,), 2.0))


@pytest.mark.parametrize("run", DIFFERENTIATED)
def test_tensors_that_escape_need_no_gradient(run: str) -> None:
    escapes: list[Any] = []

    def keeping(x: Any) -> Any:
        y = x * 2
        escapes.extend([x, y, y.sum(), y[1:], adjoint.zeros(2)])
        return (y * x).sum()

    x = adjoint.ones(3)
    DIFFERENTIATED[run](keeping, x)
    w = adjoint.ones(1, requires_grad=True)
    for tensor in escapes:
        if "vmap" in run and isinstance(tensor._array, BatchedArray):
            with pytest.raises(RuntimeError, match="may have escaped from inside a function being vmapped"):
                tensor + 1
            continue
        result = tensor + 1
        assert not tensor.requires_grad and not result.requires_grad and result.grad_fn is None
        with pytest.raises(RuntimeError, match="does not require grad"):
            result.sum().backward()
        # gradients by other leaves still exist
        close(adjoint.autograd.grad((tensor * w).sum(), w)[0], tensor.sum().reshape(1))
        close(func.grad(lambda a, t=tensor: (t * a).sum())(adjoint.ones(())), tensor.sum())


def test_what_escapes_from_an_inner_function_follows_the_outer() -> None:
    def outer(x: Any, run: Any, of: Any) -> Any:
        escapes: list[Any] = []

        def inner(y: Any) -> Any:
            escapes.append(y * of(x))
            return escapes[0].sum()

        run(inner, of(x))
        return (escapes[0] * x).sum()

    x = adjoint.tensor([1.0, 2.0])
    for name in ("grad", "jvp", "vjp", "jacrev"):
        result = func.grad(lambda x, run=DIFFERENTIATED[name]: outer(x, run, lambda x: x))(x)
        close(result, 3 * x**2)
        alone = func.grad(lambda x, run=DIFFERENTIATED[name]: outer(x, run, lambda x: x.detach()))(x)
        close(alone, x**2)


@pytest.mark.parametrize("run", DIFFERENTIATED)
def test_no_leaves_and_no_passes_inside_a_differentiated_function(run: str) -> None:
    w = adjoint.ones(3, requires_grad=True)
    refused = {
        "requires_grad_": lambda x: x.requires_grad_(),
        "requires_grad_ of a new one": lambda x: adjoint.ones(2).requires_grad_(),
        "requires_grad_(False)": lambda x: x.requires_grad_(False),
        "backward": lambda x: (x * w).sum().backward(),
        "backward of others": lambda x: (w * 2).sum().backward(),
        "autograd.backward": lambda x: adjoint.autograd.backward((w * 2).sum()),
        "retain_grad": lambda x: (w * x).retain_grad(),
    }
    for name, action in refused.items():
        message = "backward\\(\\) called inside" if "backward" in name else f"Tensor.{name.split('_g')[0]}_grad"

        def acting(x: Any, action: Any = action) -> Any:
            action(x)
            return (x * x).sum()

        with pytest.raises(RuntimeError, match=message):
            DIFFERENTIATED[run](acting, adjoint.ones(3))
        assert w.grad is None
    # as in torch, an attribute or an argument of a creation function may set it
    DIFFERENTIATED[run](lambda x: (x * adjoint.ones(3, requires_grad=True)).sum(), adjoint.ones(3))


# requires_grad, and gradients inside ----------------------------------------------------------------------------------

UNDER_VMAP: dict[str, Callable[..., Any]] = {
    "vmap": lambda f, x: func.vmap(f)(x.expand(2, 3)),
    "vmap in vmap": lambda f, x: func.vmap(func.vmap(f))(x.expand(2, 2, 3)),
    "vmap in chunks": lambda f, x: func.vmap(f, chunk_size=1)(x.expand(2, 3)),
}


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("run", [*DIFFERENTIATED, *UNDER_VMAP])
@pytest.mark.parametrize(
    "of",
    {
        "the argument": lambda x, outer: x,
        "what is made of it": lambda x, outer: (x * 2).detach(),
        "what is made inside": lambda x, outer: adjoint.zeros(3),
        "what is outside": lambda x, outer: outer,
    }.values(),
)
def test_requires_grad_is_not_switched_inside(run: str, of: Callable[..., Any], flag: bool) -> None:
    outer = adjoint.ones(3)

    def switching(x: Any) -> Any:
        of(x, outer).requires_grad_(flag)
        return (x * x).sum()

    message = r"attempting to call Tensor\.requires_grad_\(\) .* inside of a function being transformed"
    with pytest.raises(RuntimeError, match=message):
        {**DIFFERENTIATED, **UNDER_VMAP}[run](switching, adjoint.ones(3))
    assert not outer.requires_grad and outer.requires_grad_().requires_grad


#: Without create_graph, the gradient is a constant for transformations that use a graph.
WAYS = [(run, True) for run in (*DIFFERENTIATED, *UNDER_VMAP)] + [(run, False) for run in UNDER_VMAP]


@pytest.mark.parametrize(("run", "create_graph"), WAYS)
def test_gradients_of_tensors_from_outside_are_those_of_the_same_code_outside(run: str, create_graph: bool) -> None:
    w = adjoint.tensor([1.0, 2.0, 3.0], requires_grad=True)

    def in_transform(x: Any) -> Any:
        (slope,) = adjoint.autograd.grad((w * w * x).sum(), w, create_graph=create_graph)
        assert (w * 2).requires_grad
        return (slope * x).sum()

    def by_hand(x: Any) -> Any:
        return (2 * w * x * x).sum()

    x = adjoint.tensor([0.5, 1.0, -1.0])
    transformed = {**DIFFERENTIATED, **UNDER_VMAP}[run]
    result, expected = transformed(in_transform, x), transformed(by_hand, x)
    for actual, target in zip(flatten(result)[0], flatten(expected)[0], strict=True):
        if isinstance(target, adjoint.Tensor):
            close(actual, target)
