"""scipy.integrate.solve_ivp with the Jacobian supplied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.arrays.dtypes import float64
from adjoint.core.modes.grad_mode import no_grad
from adjoint.runtime.pytree import flatten
from adjoint.solvers.flattening import to_numpy
from adjoint.solvers.functions import VectorFunction, vector_of
from adjoint.tensor.creation import from_numpy, tensor

_IMPLICIT = ("Radau", "BDF", "LSODA")


def solve_ivp(
    fun: Callable[..., Any],
    t_span: tuple[float, float],
    y0: Any,
    method: str = "RK45",
    t_eval: Any = None,
    *,
    args: tuple[Any, ...] = (),
    events: Any = None,
    allow_constant: bool = False,
    **options: Any,
) -> Any:
    """scipy.integrate.solve_ivp for a function of tensors, with its exact Jacobian where the method is implicit.

    Args:
        fun: gets t and y as tensors, y in the structure of y0, and args; returns dy/dt in the same structure.
        y0: numbers, an array, or a tree of arrays.
        method: "Radau", "BDF" and "LSODA" get the Jacobian.
        events: functions of the same arguments, or several, that return a scalar tensor.
        allow_constant: the Jacobian is zero where the result of fun does not depend on y.
        t_span, t_eval, options: as in SciPy.

    Returns:
        SciPy's result, of plain arrays; `y` has the structure of y0, each leaf with an axis for time at the end.
        For derivatives of the solution, see `adjoint.implicit.odeint`.

    Raises RuntimeError if the result of fun does not depend on y by any recorded operation and the method takes the
    Jacobian; and SciPy's errors.

    >>> import adjoint
    >>> found = adjoint.integrate.solve_ivp(lambda t, y: -9 * (y - t.cos()), (0, 1), [0.0], method="BDF")
    >>> found.success, found.y.shape[0]
    (True, 1)
    """
    from scipy import integrate

    model = VectorFunction(lambda y, t: fun(t, y, *args), y0, (), "solve_ivp()", allow_constant)
    flat = model.flat

    def at(t: float) -> None:
        """Move on to another time; the recording of the last one is dropped."""
        if not model.args or model.args[0].item() != t:
            model.args, model.x = (tensor(float(t), dtype=float64),), None

    def values(t: float, y: Any) -> np.ndarray:
        with no_grad():
            now = tensor(float(t), dtype=float64)
            return to_numpy(flat.ravel(fun(now, flat.unravel(from_numpy(vector_of(y))), *args)))

    def jac(t: float, y: Any) -> np.ndarray:
        at(t)
        return model.jac(y)

    def watched(event: Callable[..., Any]) -> Callable[[float, Any], float]:
        def function(t: float, y: Any) -> float:
            with no_grad():
                now = tensor(float(t), dtype=float64)
                return float(event(now, flat.unravel(from_numpy(vector_of(y))), *args))

        for name in ("terminal", "direction"):
            if hasattr(event, name):
                setattr(function, name, getattr(event, name))
        return function

    if events is not None:
        events = watched(events) if callable(events) else [watched(event) for event in events]
    derivative = {"jac": jac} if method in _IMPLICIT else {}
    result = integrate.solve_ivp(values, t_span, model.x0, method, t_eval, events=events, **derivative, **options)
    result.y = over_time(model, result.y)
    return result


def over_time(model: VectorFunction, columns: np.ndarray) -> Any:
    """A tree of arrays whose last axis is time, from the vectors of all times."""
    trees = [flatten(model.tree(column)) for column in columns.T]
    leaves = [np.stack(moments, axis=-1) for moments in zip(*[leaves for leaves, _ in trees], strict=True)]
    return model.flat.structure.unflatten(leaves)
