"""Fixed points with derivatives by the implicit function theorem, without a graph of the iteration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.compat.autograd._primitives import defvjp, primitive
from adjoint.compat.autograd._vspaces import vspace
from adjoint.compat.autograd.differential_operators import make_vjp

Function = Callable[..., Any]


@primitive
def fixed_point(f: Function, a: Any, x0: Any, distance: Function, tol: float) -> Any:
    """The x with f(a)(x) = x, by iteration from x0 until distance(x, next x) is below tol; differentiable by a.

    >>> from adjoint.compat.autograd import grad
    >>> root = lambda a: lambda x: 0.5 * (x + a / x)
    >>> slope = grad(lambda a: fixed_point(root, a, 1.0, lambda x, y: abs(x - y), 1e-12))
    >>> round(float(slope(4.0)), 6)
    0.25
    """
    step = f(a)
    previous, x = x0, step(x0)
    while distance(previous, x) > tol:
        previous, x = x, step(x)
    return x


def _fixed_point_vjp(ans: Any, f: Function, a: Any, x0: Any, distance: Function, tol: float) -> Function:
    def vjp(g: Any) -> Any:
        by_a, _ = make_vjp(lambda a, x: f(a)(x))(a, ans)
        by_x, _ = make_vjp(lambda x, a: f(a)(x))(ans, a)
        # the cotangent u of the fixed point itself: u = g + u df/dx
        of_x = fixed_point(lambda g: lambda u: g + by_x(u), g, vspace(x0).zeros(), distance, tol)
        return by_a(of_x)

    return vjp


defvjp(fixed_point, _fixed_point_vjp, argnums=(1,))
