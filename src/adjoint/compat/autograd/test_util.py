"""Checks of derivatives against central differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from adjoint.compat.autograd._tracing import make_jvp, make_vjp
from adjoint.compat.autograd._vspaces import vspace
from adjoint.compat.autograd.wrap_util import get_name, unary_to_nary

Function = Callable[..., Any]

TOL = 1e-6
RTOL = 1e-6
EPS = 1e-6


def scalar_close(a: float, b: float) -> bool:
    """True if two numbers are equal up to rounding and truncation.

    The absolute tolerance is TOL; the tolerance relative to the sum is RTOL.
    """
    return abs(a - b) < TOL or abs(a - b) / abs(a + b) < RTOL


def make_numerical_jvp(f: Function, x: Any) -> Function:
    """A function that multiplies the Jacobian at x by tangents, by central differences.

    f: a function of one argument.
    """
    y = f(x)
    x_space, y_space = vspace(x), vspace(y)

    def jvp(v: Any) -> Any:
        if not y_space.size:
            return y_space.zeros()
        after = f(x_space.add(x, x_space.scalar_mul(v, EPS / 2)))
        before = f(x_space.add(x, x_space.scalar_mul(v, -EPS / 2)))
        return y_space.scalar_mul(y_space.add(after, y_space.scalar_mul(before, -1.0)), 1.0 / EPS)

    return jvp


def check_vjp(f: Function, x: Any) -> None:
    """Raise AssertionError unless the vjp of f at x agrees with central differences.

    The direction is random.
    """
    vjp, y = make_vjp(f, x)
    x_space, y_space = vspace(x), vspace(y)
    x_v, y_v = x_space.randn(), y_space.randn()
    numeric = y_space.inner_prod(y_v, make_numerical_jvp(f, x)(x_v))
    cotangent = x_space.covector(vjp(y_space.covector(y_v)))
    assert vspace(cotangent).size == x_space.size
    analytic = x_space.inner_prod(x_v, cotangent)
    assert scalar_close(numeric, analytic), (
        f"Derivative (VJP) check of {get_name(f)} failed with arg {x}:\nanalytic: {analytic}\nnumeric:  {numeric}"
    )


def check_jvp(f: Function, x: Any) -> None:
    """Raise AssertionError unless the jvp of f at x agrees with central differences.

    The direction is random.
    """
    x_v = vspace(x).randn()
    check_equivalent(make_jvp(f, x)(x_v)[1], make_numerical_jvp(f, x)(x_v))


def check_equivalent(x: Any, y: Any) -> None:
    """Raise AssertionError unless two values have the same vector space and are close to each other.

    x, y: numbers, arrays or containers of these.
    """
    x_space, y_space = vspace(x), vspace(y)
    assert x_space == y_space, f"VSpace mismatch:\nx: {x_space}\ny: {y_space}"
    v = x_space.randn()
    a, b = x_space.inner_prod(x, v), x_space.inner_prod(y, v)
    assert scalar_close(a, b), f"Value mismatch:\nx: {x}\ny: {y}"


@unary_to_nary
def check_grads(f: Function, x: Any, modes: Sequence[str] = ("fwd", "rev"), order: int = 2) -> None:
    """Raise AssertionError unless the derivatives of f agree with central differences.

    modes: "fwd" for forward mode, "rev" for reverse mode. order: the highest order of derivatives.

    >>> from adjoint.compat.autograd.test_util import check_grads
    >>> check_grads(lambda x: x**3)(2.0)
    """
    assert all(mode in ("fwd", "rev") for mode in modes)
    if "fwd" in modes:
        check_jvp(f, x)
        if order > 1:

            def tangent_of(x: Any, v: Any) -> Any:
                return make_jvp(f, x)(v)[1]

            tangent_of.__name__ = f"jvp_{get_name(f)}"
            check_grads(tangent_of, (0, 1), modes, order=order - 1)(x, vspace(x).randn())
    if "rev" in modes:
        check_vjp(f, x)
        if order > 1:

            def cotangent_of(x: Any, v: Any) -> Any:
                return make_vjp(f, x)[0](v)

            cotangent_of.__name__ = f"vjp_{get_name(f)}"
            check_grads(cotangent_of, (0, 1), modes, order=order - 1)(x, vspace(f(x)).randn())


def combo_check(fun: Function, *args: Any, **kwargs: Any) -> Function:
    """A function that runs check_grads for all combinations of arguments.

    Its arguments are sequences of the values of fun's arguments, by position or by name.
    """

    def check(*lists: Sequence[Any], **lists_by_name: Sequence[Any]) -> None:
        for values in product(*lists):
            for keywords in product(*[[(name, value) for value in v] for name, v in lists_by_name.items()]):
                check_grads(fun, *args, **kwargs)(*values, **dict(keywords))

    return check
