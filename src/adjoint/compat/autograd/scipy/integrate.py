"""scipy.integrate, with a differentiable odeint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import scipy.integrate as _integrate

from adjoint.compat.autograd import numpy as np
from adjoint.compat.autograd._primitives import defvjp_argnums as _defvjp_argnums
from adjoint.compat.autograd._primitives import primitive as _primitive
from adjoint.compat.autograd._tracing import make_vjp as _make_vjp
from adjoint.compat.autograd.misc.flatten import flatten as _flatten
from adjoint.compat.autograd.scipy._namespace import wrap_namespace as _wrap_namespace

Function = Callable[..., Any]


@_primitive
def odeint(func: Function, y0: Any, t: Any, args: tuple[Any, ...] = (), **kwargs: Any) -> Any:
    """scipy.integrate.odeint, differentiable by y0, t and args.

    The cotangents are integrated backward in time (Pontryagin et al., 1962; Chen et al., 2018).
    """
    return _integrate.odeint(func, y0, t, tuple(args), **kwargs)


def _backward(argnums: Sequence[int], ans: Any, arguments: tuple[Any, ...], kwargs: dict[str, Any]) -> Function:
    func, _, t, args = (*arguments, ())[:4]
    n = np.shape(ans)[1]
    flat_args, unflatten = _flatten(tuple(args))

    def backward(state: Any, t: Any, flat_args: Any) -> Any:
        y, cotangent = state[:n], state[n : 2 * n]
        vjp, slope = _make_vjp(
            lambda arguments: func(arguments[0], arguments[1], *unflatten(arguments[2])), (y, 1.0 * t, flat_args)
        )
        by_y, by_t, by_args = vjp(-cotangent)
        return np.concatenate([slope, by_y, np.reshape(by_t, (1,)), by_args])

    def vjp(g: Any) -> Any:
        last = np.shape(t)[0] - 1
        of_y, of_start, of_args = g[last], 0.0, np.zeros(np.shape(flat_args))
        of_t = []
        for i in range(last, 0, -1):
            of_time = np.dot(func(ans[i], t[i], *args), g[i])
            of_t.append(of_time)
            of_start = of_start - of_time
            state = np.concatenate([ans[i], of_y, np.reshape(of_start, (1,)), of_args])
            back = odeint(backward, state, np.array([t[i], t[i - 1]]), (flat_args,), **kwargs)[1]
            of_y, of_start, of_args = back[n : 2 * n] + g[i - 1], back[2 * n], back[2 * n + 1 :]
        of_t.append(of_start)
        cotangents = {1: of_y, 2: np.array(of_t[::-1]), 3: unflatten(of_args)}
        return [cotangents[argnum] for argnum in argnums]

    return vjp


_defvjp_argnums(odeint, _backward)

_wrap_namespace(_integrate, globals())
