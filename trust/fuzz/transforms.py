"""Transforms of functions of a tensor, in two tables.

`OWN` has adjoint's transforms. `PLAIN` has the same transforms by `autograd.grad` with `create_graph=True` and loops.
`L` is the library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Function = Callable[[Any], Any]
Transform = Callable[[Any, Function], Function]


# constants of the same kind in both tables ---------------------------------------------------------------------------


def wave(library: Any, like: Any, phase: float = 0.0) -> Any:
    """A tensor of the shape of another with fixed numbers: a tangent, a cotangent, weights."""
    shape = tuple(like.shape)
    n = int(np.prod(shape))
    return library.cos(library.arange(n, dtype=library.float64) + phase).reshape(shape).to(like.dtype)


def weighted_sum(library: Any, y: Any) -> Any:
    """A number that depends on every element."""
    return (y * wave(library, y)).sum() + 0.1 * (y * y).sum()


def variants(library: Any, x: Any, dim: int) -> Any:
    """Three points along a new axis."""
    return library.stack([x, 0.5 * x, x.sin()], dim)


def two(L: Any, x: Any) -> Any:
    """Two numbers."""
    return wave(L, L.zeros(2, dtype=x.dtype))


# by what adjoint offers ----------------------------------------------------------------------------------------------


def by_jet(L: Any, f: Function) -> Function:
    def second(x: Any) -> Any:
        t = wave(L, x)
        return L.func.jet(f, (x,), ([t, L.zeros_like(x)],))[1][1]

    return second


def by_third_jet(L: Any, f: Function) -> Function:
    def third(x: Any) -> Any:
        t, zero = wave(L, x), L.zeros_like(x)
        return L.func.jet(f, (x,), ([t, zero, zero],))[1][2]

    return third


def by_compile(L: Any, f: Function) -> Function:
    """A function that is recorded, and replayed at the given point."""
    compiled = L.compile(f)

    def replay(x: Any) -> Any:
        compiled(0.9 * x)
        compiled(1.1 * x)
        return compiled(x)

    return replay


def by_batched_pass(L: Any, f: Function) -> Function:
    """The sum of two rows of a backward pass with a batch of cotangents."""

    def rows(x: Any) -> Any:
        with L.enable_grad():
            z = connected_point(L, x)
            y = f(z)
            if not y.requires_grad:
                return L.zeros_like(x)
            cotangents = L.stack([wave(L, y), wave(L, y, 1.0)])
            (grad,) = L.autograd.grad(y, z, cotangents, create_graph=True, allow_unused=True, is_grads_batched=True)
            return L.zeros_like(x) if grad is None else grad.sum(0)

    return rows


def by_backward(L: Any, f: Function) -> Function:
    """What a backward pass leaves in .grad."""

    def gradient(x: Any) -> Any:
        with L.enable_grad():
            z = connected_point(L, x)
            z.retain_grad()
            total = weighted_sum(L, f(z))
            if not total.requires_grad:
                return L.zeros_like(x)
            total.backward(inputs=[z], create_graph=True)
            return zero_if_none(L, z.grad, z)

    return gradient


def by_functional_vjp(L: Any, f: Function) -> Function:
    return lambda x: L.autograd.functional.vjp(f, x, wave(L, f(x)), create_graph=True)[1]


def with_memory_elsewhere(L: Any, f: Function) -> Function:
    def with_saving(x: Any) -> Any:
        with L.autograd.graph.save_on_cpu():
            return f(x)

    return with_saving


def by_dual(L: Any, f: Function) -> Function:
    def tangent(x: Any) -> Any:
        forward_ad = L.autograd.forward_ad
        with forward_ad.dual_level():
            y = f(forward_ad.make_dual(x, wave(L, x)))
            tangent = forward_ad.unpack_dual(y).tangent
            return L.zeros_like(y) if tangent is None else tangent

    return tangent


def by_function(L: Any, f: Function) -> Function:
    """A custom function whose backward pass uses the function itself."""

    class Custom(L.autograd.Function):  # type: ignore[misc]
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return f(x)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[0])
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return L.func.vjp(f, x)[1](g)[0]

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            (x,) = ctx.saved_tensors
            return L.func.jvp(f, (x,), (t,))[1]

    return lambda x: Custom.apply(x)


def with_hooks(L: Any, f: Function) -> Function:
    def hook(x: Any) -> Any:
        y = f(x)
        if y.requires_grad:
            # a hook on one of several results gets None where only another has a cotangent
            y.register_hook(lambda g: None if g is None else g * 1.0)
            if y.grad_fn is not None:
                y.grad_fn.register_hook(lambda grads, _: grads)
        return y

    return hook


def with_saved_hooks(L: Any, f: Function) -> Function:
    def hook(x: Any) -> Any:
        with L.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
            return f(x)

    return hook


def assign(z: Any, x: Any) -> Any:
    """z, written over with x."""
    z[...] = x
    return z


def zero_if_none(L: Any, grad: Any, like: Any) -> Any:
    return L.zeros_like(like) if grad is None else grad


def inner_pass(L: Any, f: Function) -> Function:
    """A function that runs its own backward pass."""

    def gradient(x: Any) -> Any:
        with L.enable_grad():
            z = x.view_as(x) if x.requires_grad else x.detach().requires_grad_()
            total = weighted_sum(L, f(z))
            if not total.requires_grad:
                return L.zeros_like(x)
            return zero_if_none(L, L.autograd.grad(total, z, create_graph=True, allow_unused=True)[0], z)

    return gradient


OWN: dict[str, Transform] = {
    "grad": lambda L, f: L.func.grad(lambda x: weighted_sum(L, f(x))),
    "value": lambda L, f: lambda x: sum(L.func.grad_and_value(lambda x: weighted_sum(L, f(x)))(x)),
    "vjp": lambda L, f: lambda x: (lambda y, pull: pull(wave(L, y))[0])(*L.func.vjp(f, x)),
    "jvp": lambda L, f: lambda x: L.func.jvp(f, (x,), (wave(L, x),))[1],
    "jvp and value": lambda L, f: lambda x: (lambda y, t: y + t)(*L.func.jvp(f, (x,), (x,))),
    "linearize": lambda L, f: lambda x: L.func.linearize(f, x)[1](wave(L, x)),
    "dual": by_dual,
    "jet": by_jet,
    "jacrev": lambda L, f: lambda x: L.func.jacrev(f)(x).sum(-1) if x.ndim else L.func.jacrev(f)(x),
    "jacrev in chunks": lambda L, f: lambda x: L.func.jacrev(f, chunk_size=2)(x),
    "jacfwd": lambda L, f: lambda x: L.func.jacfwd(f)(x).sum(-1) if x.ndim else L.func.jacfwd(f)(x),
    "hessian": lambda L, f: L.func.hessian(lambda x: weighted_sum(L, f(x))),
    "functional": lambda L, f: lambda x: L.autograd.functional.jacobian(f, x, create_graph=True),
    "vmap": lambda L, f: lambda x: L.func.vmap(f)(variants(L, x, 0)),
    "vmap last": lambda L, f: lambda x: L.func.vmap(f, in_dims=-1, out_dims=-1)(variants(L, x, -1)),
    "vmap moved": lambda L, f: lambda x: L.func.vmap(f, in_dims=min(1, x.ndim))(variants(L, x, min(1, x.ndim))),
    "vmap in chunks": lambda L, f: lambda x: L.func.vmap(f, chunk_size=2)(variants(L, x, 0)),
    "vmap of a number": lambda L, f: lambda x: L.func.vmap(lambda a, x: f(a * x), (0, None))(two(L, x), x),
    "checkpoint": lambda L, f: lambda x: L.utils.checkpoint.checkpoint(f, x, use_reentrant=False),
    "Function": by_function,
    "hooks": with_hooks,
    "saved hooks": with_saved_hooks,
    "a pass": inner_pass,
    "mixed": lambda L, f: (
        lambda x: L.func.grad(lambda y: weighted_sum(L, f(y) * x.sum()) + (x * y.sin()).sum())(x.cos())
    ),
    "mixed jvp": lambda L, f: lambda x: L.func.jvp(lambda y: f(y) * x.sum(), (x.cos(),), (x * x,))[1],
    "detached": lambda L, f: lambda x: f(x) + f(x.detach()),
    "twice": lambda L, f: lambda x: f(0.5 * x) + f(x).sin(),
    "in place": lambda L, f: lambda x: f(x.clone().mul_(0.5)).mul(2.0).add_(1.0),
    "item": lambda L, f: lambda x: f(assign(L.zeros_like(x), x * x)),
    "third jet": by_third_jet,
    "compiled": by_compile,
    "batched pass": by_batched_pass,
    "backward": by_backward,
    "hvp": lambda L, f: lambda x: L.func.hvp(lambda x: weighted_sum(L, f(x)), (x,), (wave(L, x),))[0],
    "functional hvp": lambda L, f: lambda x: L.autograd.functional.hvp(
        lambda x: weighted_sum(L, f(x)), x, wave(L, x), create_graph=True
    )[1],
    "functional vhp": lambda L, f: lambda x: L.autograd.functional.vhp(
        lambda x: weighted_sum(L, f(x)), x, wave(L, x), create_graph=True
    )[1],
    "functional jvp": lambda L, f: lambda x: L.autograd.functional.jvp(f, x, wave(L, x), create_graph=True)[1],
    "functional vjp": by_functional_vjp,
    "functional hessian": lambda L, f: lambda x: L.autograd.functional.hessian(
        lambda x: weighted_sum(L, f(x)), x, create_graph=True
    ),
    "laplacian": lambda L, f: lambda x: L.func.laplacian(f)(x),
    "aux": lambda L, f: lambda x: L.func.grad(lambda x: (weighted_sum(L, f(x)), x), has_aux=True)(x)[0],
    "jacfwd in chunks": lambda L, f: lambda x: L.func.jacfwd(f, chunk_size=2)(x),
    "second argument": lambda L, f: (
        lambda x: L.func.grad(lambda a, b: weighted_sum(L, f(a * b)), argnums=1)(x.cos(), x)
    ),
    "both arguments": lambda L, f: lambda x: sum(
        L.func.jacrev(lambda a, b: f(a * b.sin()), argnums=(0, 1))(x.cos(), x)
    ),
    "vmap of two": lambda L, f: lambda x: L.func.vmap(lambda a, b: f(a) + f(b.sin()), (0, -1))(
        variants(L, x, 0), variants(L, x, -1)
    ),
    "saved elsewhere": with_memory_elsewhere,
}  # fmt: skip


# by backward passes and loops ----------------------------------------------------------------------------------------


def connected_point(L: Any, x: Any) -> Any:
    """A point for derivatives that stays connected with the history of x."""
    return x.view_as(x) if x.requires_grad else x.detach().requires_grad_()


def pull_cotangents(L: Any, f: Function, x: Any, cotangent: Callable[[Any], Any]) -> Any:
    with L.enable_grad():
        z = connected_point(L, x)
        y = f(z)
        if not y.requires_grad:
            return L.zeros_like(x)
        return zero_if_none(L, L.autograd.grad(y, z, cotangent(y), create_graph=True, allow_unused=True)[0], z)


def plain_gradient(L: Any, f: Function, x: Any) -> Any:
    return pull_cotangents(L, lambda x: weighted_sum(L, f(x)), x, L.ones_like)


def push(L: Any, f: Function, x: Any, tangent: Any) -> tuple[Any, Any]:
    with L.enable_grad():
        z = connected_point(L, x)
        y = f(z)
        if not y.requires_grad:
            return y, L.zeros_like(y)
        u = L.zeros_like(y).requires_grad_()
        g = zero_if_none(L, L.autograd.grad(y, z, u, create_graph=True, allow_unused=True)[0], z)
        if not g.requires_grad:
            return y, L.zeros_like(y)
        return y, zero_if_none(L, L.autograd.grad(g, u, tangent, create_graph=True, allow_unused=True)[0], y)


#: The largest number of rows of a Jacobian, each by its own pass. More nested passes would take minutes.
MOST_ROWS = 48
#: The transforms that compute Jacobians, with the number of Jacobians, and the largest sum in a nest.
JACOBIANS = {
    "jacrev": 1, "jacrev in chunks": 1, "jacfwd": 1, "jacfwd in chunks": 1, "functional": 1, "both arguments": 2,
    "hessian": 2, "functional hessian": 2, "laplacian": 2, "hvp": 1, "functional hvp": 1, "functional vhp": 1,
}  # fmt: skip
MOST_JACOBIANS = 2


def plain_jacobian(L: Any, f: Function, x: Any) -> Any:
    with L.enable_grad():
        z = connected_point(L, x)
        y = f(z)
        if y.numel() > MOST_ROWS:
            raise ValueError(f"{y.numel()} passes take too long")
        rows = []
        for k in range(y.numel()):
            one = L.zeros(y.numel(), dtype=y.dtype)
            one[k] = 1.0
            grad = (
                L.autograd.grad(y, z, one.reshape(y.shape), create_graph=True, allow_unused=True)[0]
                if y.requires_grad
                else None
            )
            rows.append(zero_if_none(L, grad, z))
        return L.stack(rows).reshape(*y.shape, *z.shape) if rows else L.zeros(*y.shape, *z.shape, dtype=y.dtype)


def plain_hvp(L: Any, f: Function, x: Any) -> Any:
    return push(L, lambda x: plain_gradient(L, f, x), x, wave(L, x))[1]


def plain_push(L: Any, f: Function, order: int) -> Function:
    """The derivative of this order along a line."""
    if not order:
        return f
    below = plain_push(L, f, order - 1)
    return lambda x: push(L, below, x, wave(L, x))[1]


def plain_laplacian(L: Any, f: Function, x: Any) -> Any:
    second = plain_jacobian(L, lambda x: plain_jacobian(L, f, x), x)
    n = x.numel()
    shape = second.shape[: second.ndim - 2 * x.ndim]
    return second.reshape(*shape, n, n).diagonal(0, -2, -1).sum(-1)


def loop(L: Any, f: Function, points: list[Any], out: int = 0) -> Any:
    return L.stack([f(point) for point in points], out)


def three(x: Any) -> list[Any]:
    return [x, 0.5 * x, x.sin()]


PLAIN: dict[str, Transform] = {
    "grad": lambda L, f: lambda x: plain_gradient(L, f, x),
    "value": lambda L, f: lambda x: weighted_sum(L, f(x)) + plain_gradient(L, f, x),
    "vjp": lambda L, f: lambda x: pull_cotangents(L, f, x, lambda y: wave(L, y)),
    "jvp": lambda L, f: lambda x: push(L, f, x, wave(L, x))[1],
    "jvp and value": lambda L, f: lambda x: sum(push(L, f, x, x)),
    "linearize": lambda L, f: lambda x: push(L, f, x, wave(L, x))[1],
    "dual": lambda L, f: lambda x: push(L, f, x, wave(L, x))[1],
    "jet": lambda L, f: plain_push(L, f, 2),
    "jacrev": lambda L, f: lambda x: plain_jacobian(L, f, x).sum(-1) if x.ndim else plain_jacobian(L, f, x),
    "jacrev in chunks": lambda L, f: lambda x: plain_jacobian(L, f, x),
    "jacfwd": lambda L, f: lambda x: plain_jacobian(L, f, x).sum(-1) if x.ndim else plain_jacobian(L, f, x),
    "hessian": lambda L, f: lambda x: plain_jacobian(L, lambda x: plain_gradient(L, f, x), x),
    "functional": lambda L, f: lambda x: plain_jacobian(L, f, x),
    "vmap": lambda L, f: lambda x: loop(L, f, three(x)),
    "vmap last": lambda L, f: lambda x: loop(L, f, three(x), -1),
    "vmap moved": lambda L, f: lambda x: loop(L, f, three(x)),
    "vmap in chunks": lambda L, f: lambda x: loop(L, f, three(x)),
    "vmap of a number": lambda L, f: lambda x: loop(L, f, [a * x for a in two(L, x)]),
    "checkpoint": lambda L, f: f,
    "Function": lambda L, f: f,
    "hooks": lambda L, f: f,
    "saved hooks": lambda L, f: f,
    "a pass": inner_pass,
    "mixed": lambda L, f: lambda x: pull_cotangents(
        L, lambda y: weighted_sum(L, f(y) * x.sum()) + (x * y.sin()).sum(), x.cos(), L.ones_like
    ),
    "mixed jvp": lambda L, f: lambda x: push(L, lambda y: f(y) * x.sum(), x.cos(), x * x)[1],
    "detached": OWN["detached"],
    "twice": OWN["twice"],
    "in place": lambda L, f: lambda x: 2.0 * f(0.5 * x) + 1.0,
    "item": lambda L, f: lambda x: f(x * x),
    "third jet": lambda L, f: plain_push(L, f, 3),
    "compiled": lambda L, f: f,
    "batched pass": lambda L, f: lambda x: pull_cotangents(L, f, x, lambda y: wave(L, y)) + pull_cotangents(
        L, f, x, lambda y: wave(L, y, 1.0)
    ),
    "backward": lambda L, f: lambda x: plain_gradient(L, f, x),
    "hvp": lambda L, f: lambda x: plain_hvp(L, f, x),
    "functional hvp": lambda L, f: lambda x: plain_hvp(L, f, x),
    "functional vhp": lambda L, f: lambda x: plain_hvp(L, f, x),
    "functional jvp": lambda L, f: plain_push(L, f, 1),
    "functional vjp": lambda L, f: lambda x: pull_cotangents(L, f, x, lambda y: wave(L, y)),
    "functional hessian": lambda L, f: lambda x: plain_jacobian(L, lambda x: plain_gradient(L, f, x), x),
    "laplacian": lambda L, f: lambda x: plain_laplacian(L, f, x),
    "aux": lambda L, f: lambda x: plain_gradient(L, f, x),
    "jacfwd in chunks": lambda L, f: lambda x: plain_jacobian(L, f, x),
    "second argument": lambda L, f: (
        lambda x: pull_cotangents(L, lambda b: weighted_sum(L, f(x.cos() * b)), x, L.ones_like)
    ),
    "both arguments": lambda L, f: lambda x: plain_jacobian(L, lambda a: f(a * x.sin()), x.cos())
    + plain_jacobian(L, lambda b: f(x.cos() * b.sin()), x),
    "vmap of two": lambda L, f: lambda x: L.stack([f(a) + f(b.sin()) for a, b in zip(three(x), three(x), strict=True)]),
    "saved elsewhere": lambda L, f: f,
}  # fmt: skip
#: Transforms whose custom functions hide the tensors of the closure from differentiation.
CLOSED = {"Function"}
