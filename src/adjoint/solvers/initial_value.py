"""scipy.integrate.solve_ivp with the Jacobian supplied."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.arrays.dtypes import float64
from adjoint.core.graph import TensorBase
from adjoint.core.modes.grad_mode import no_grad
from adjoint.core.operations.dependence import check_kept
from adjoint.runtime.pytree import flatten
from adjoint.solvers.flattening import to_numpy
from adjoint.solvers.functions import AS_CONSTANT, INSTEAD, VectorFunction, vector_of
from adjoint.solvers.structure.derivatives import SparseJacobian
from adjoint.solvers.structure.solving import LARGE, paying_derivative, sparse_jacobian
from adjoint.tensor.creation import from_numpy, tensor
from adjoint.transforms.passing import calls_back

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

_IMPLICIT = ("Radau", "BDF", "LSODA")
_TAKES_SPARSE = ("Radau", "BDF")


def solve_ivp(
    fun: Callable[..., Any],
    t_span: tuple[float, float],
    y0: Any,
    method: str = "RK45",
    t_eval: Any = None,
    *,
    args: tuple[Any, ...] = (),
    events: Any = None,
    jac: str = "auto",
    allow_constant: bool = False,
    compile: bool = False,
    **options: Any,
) -> Any:
    """scipy.integrate.solve_ivp with the exact Jacobian of the function, where the method is implicit.

    Args:
        fun: gets t, y in the structure of y0, and args; returns dy/dt in the same structure. From tensors in y0 it
            gets tensors, else a number and differentiable arrays with NumPy's meaning.
        compile: fun is recorded once, and replayed at other times and values (`adjoint.compile`). It gets the time as
            an array without axes, since a number would be a constant.
        y0: numbers, an array, or a tree of arrays.
        method: "Radau", "BDF" and "LSODA" get the Jacobian.
        jac: "dense"; "sparse" for "Radau" and "BDF", from as few products as the colours of its columns or rows; "auto"
            is sparse for these methods from 100 numbers on where the pattern pays.
        events: functions of the same arguments, or several, that return a number.
        allow_constant: the Jacobian is zero where what fun returns does not depend on y.
        t_span, t_eval, options: as in SciPy.

    Returns:
        SciPy's result, of plain arrays; `y` has the structure of y0, each leaf with an axis for time at the end.
        For derivatives of the solution, see `adjoint.implicit.odeint`.

    Raises RuntimeError if the result of fun does not depend on y by any recorded operation and the method takes the
    Jacobian; ValueError for an unknown jac, or a sparse one with another method; and SciPy's errors.

    >>> import adjoint, numpy
    >>> found = adjoint.integrate.solve_ivp(lambda t, y: -9 * (y - numpy.cos(t)), (0, 1), [0.0], method="BDF")
    >>> found.success, found.y.shape[0]
    (True, 1)
    """
    from scipy import integrate

    if jac not in ("auto", "dense", "sparse") or (jac == "sparse" and method not in _TAKES_SPARSE):
        raise ValueError(
            f"solve_ivp(): jac is 'auto', 'dense', or 'sparse' with {' and '.join(_TAKES_SPARSE)}; got {jac!r}"
        )
    for leaf in flatten(y0)[0]:
        if isinstance(leaf, TensorBase):
            check_kept(leaf, "the result of solve_ivp()", INSTEAD, AS_CONSTANT)
    model = RateFunction(
        calls_back(lambda y, t: fun(t, y, *args)), y0, (), "solve_ivp()", allow_constant, compile=compile
    )
    flat = model.flat

    def at(t: float) -> None:
        """Move on to another time; this drops the recording of the last one."""
        moment = time(t)
        if is_variable:
            is_other = not model.variables or model.variables[0].item() != t
            model.variables = (moment,)
        else:
            is_other = model.args != (moment,)
            model.args = (moment,)
        if is_other:
            model.x = None

    #: Whether the function gets the time as a Tensor, or as an array of one.
    is_variable = compile or not flat.of_arrays

    def time(t: float) -> Any:
        return tensor(float(t), dtype=float64) if is_variable else float(t)

    def values(t: float, y: Any) -> np.ndarray:
        at(t)
        vector = from_numpy(vector_of(y))
        model.check_closure(lambda: model.value(vector))
        with no_grad():
            return to_numpy(model.value(vector))

    at(t_span[0])
    matrix: Callable[..., Any] = model.jac
    if jac == "sparse":
        matrix = sparse_jacobian(model)
    elif jac == "auto" and method in _TAKES_SPARSE:
        matrix = paying_derivative(SparseJacobian, model, LARGE) or model.jac

    def jacobian(t: float, y: Any) -> Any:
        at(t)
        return matrix(y)

    def watch(event: Callable[..., Any]) -> Callable[[float, Any], float]:
        def function(t: float, y: Any) -> float:
            with no_grad():
                moment = float(t) if flat.of_arrays else time(t)
                return float(event(moment, flat.argument(from_numpy(vector_of(y))), *args))

        for name in ("terminal", "direction"):
            if hasattr(event, name):
                setattr(function, name, getattr(event, name))
        return function

    if events is not None:
        events = watch(events) if callable(events) else [watch(event) for event in events]
    derivative = {"jac": jacobian} if method in _IMPLICIT else {}
    result = integrate.solve_ivp(values, t_span, model.x0, method, t_eval, events=events, **derivative, **options)
    result.y = over_time(model, result.y)
    return result


class RateFunction(VectorFunction):
    """A function whose results have the structure and the shapes of its argument."""

    def check_result(self, result: Any) -> Tensor:
        return self.flat.ravel(result)


def over_time(model: VectorFunction, columns: np.ndarray) -> Any:
    """A tree of arrays whose last axis is time, from the vectors of all times."""
    trees = [flatten(model.tree(column)) for column in columns.T]
    leaves = [np.stack(moments, axis=-1) for moments in zip(*[leaves for leaves, _ in trees], strict=True)]
    return model.flat.structure.unflatten(leaves)
