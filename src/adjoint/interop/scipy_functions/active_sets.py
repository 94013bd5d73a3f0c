"""scipy.optimize's linear problems with bounds over Tensors and Arrays: nnls, lsq_linear and linprog.

SciPy's solution shows the active constraints. They stay active for small changes of the data. So the solution solves a
linear system, which has derivatives of any order.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy

from adjoint.core.graph import TensorBase, new_tensor
from adjoint.interop.namespaces import as_class, for_both, to_tensors
from adjoint.interop.numpy_functions import FUNCTIONS
from adjoint.interop.operands import class_of_results, map_instances, tensor_of, values_of
from adjoint.interop.scipy_functions.axes import tensors
from adjoint.interop.scipy_functions.functions_of_functions import Function, constant, holds_tracked
from adjoint.interop.scipy_functions.pieces import constants
from adjoint.tensor.table import ops

Vector = numpy.ndarray


def _squares(A: Any, b: Any, solution: Vector, is_free: Vector) -> tuple[Any, Any]:
    """The least squares solution in which some numbers are fixed, and its residuals A x - b."""
    free = new_tensor(numpy.flatnonzero(is_free))
    fixed = constants(numpy.where(is_free, 0.0, solution), b)
    rest = b - A @ fixed
    columns = ops.index_select(A, 1, free)
    x = ops.index_add(fixed, 0, free, FUNCTIONS["linalg.lstsq"](columns, rest)[0])
    return x, A @ x - b


def _of_vectors(of_scipy: Function, finish: Callable[..., Any]) -> Function:
    """A solver of A x = b, differentiated by both. finish: from Tensors and SciPy's solution to the result."""

    @functools.wraps(of_scipy)
    def solve(A: Any, b: Any, *places: Any, **options: Any) -> Any:
        kind = class_of_results((A, b))
        if kind is None:
            return of_scipy(A, b, *places, **options)
        matrix, vector = tensors(*to_tensors((A, b)))
        return finish(kind, matrix, vector, of_scipy(values_of(matrix), values_of(vector), *places, **options))

    return solve


def _finish_nnls(kind: type, A: Any, b: Any, solution: Any) -> Any:
    x, rest = _squares(A, b, solution[0], solution[0] > 0)
    return as_class(kind, x), as_class(kind, FUNCTIONS["linalg.norm"](rest))


def _finish_lsq_linear(kind: type, A: Any, b: Any, solution: Any) -> Any:
    x, rest = _squares(A, b, solution.x, solution.active_mask == 0)
    for key, value in (("x", x), ("fun", rest), ("cost", ops.sum(rest * rest) * 0.5)):
        solution[key] = as_class(kind, value)
    return solution


# linear programs ------------------------------------------------------------------------------------------------------

#: The arguments of linprog that have derivatives.
_DATA = ("c", "A_ub", "b_ub", "A_eq", "b_eq")
#: How far from a constraint a solution may be that it holds, beside its size.
_TOUCHES = 1e-9

NO_VERTEX = (
    "linprog: the derivative of the solution is not defined: {n} numbers are held by {rows} constraints, of which "
    "{rank} are independent; the solution must be a vertex with as many constraints as numbers"
)
NOT_UNIQUE = (
    "linprog: the derivative of the solution is not defined: a constraint that holds it has the multiplier 0, so that "
    "other points cost as little"
)


def _program(of_scipy: Function) -> Function:
    """scipy.optimize.linprog, differentiated by the cost, the matrices and the right-hand sides."""
    signature = inspect.signature(of_scipy)

    @functools.wraps(of_scipy)
    def linprog(*places: Any, **options: Any) -> Any:
        bound = signature.bind(*places, **options)
        arguments = bound.arguments
        data = [arguments.get(name) for name in _DATA]
        kind = class_of_results(data)
        if holds_tracked(arguments.get("bounds")):
            raise TypeError("linprog: bounds has no derivative here; write it as rows of A_ub and b_ub")
        for name, value in arguments.items():
            if class_of_results(value) is not None:
                arguments[name] = numpy.asarray(constant(value))
        solution = of_scipy(*bound.args, **bound.kwargs)
        if kind is None or solution.x is None:
            return solution
        cost, *constraints = [None if value is None else tensor_of(to_tensors(value)) for value in data]
        for name, value in _at_vertex(cost, constraints, solution).items():
            solution[name] = as_class(kind, value)
        return solution

    return linprog


def _at_vertex(cost: Any, constraints: list[Any], solution: Any) -> dict[str, Any]:
    """The vertex of a solution, its cost, and the slacks of its constraints."""
    n = len(solution.x)
    cost = tensors(cost, 0.0)[0]
    A_ub, b_ub, A_eq, b_eq = [None if part is None else tensors(part, cost)[0] for part in constraints]
    low, high = (_active_inequalities(solution[side], solution.x) for side in ("lower", "upper"))
    rows: list[tuple[Any, Any]] = [
        (constants(numpy.eye(n)[side], cost), constants(solution.x[side], cost)) for side in (low, high & ~low)
    ]
    if A_ub is not None and b_ub is not None:
        tight = new_tensor(numpy.flatnonzero(_active_inequalities(solution.ineqlin, values_of(b_ub))))
        rows.append((ops.index_select(A_ub, 0, tight), ops.index_select(b_ub, 0, tight)))
    if A_eq is not None:
        rows.append((A_eq, b_eq))
    matrix, right = (ops.cat([pair[i] for pair in rows], 0) for i in range(2))
    rank = int(numpy.linalg.matrix_rank(values_of(matrix))) if matrix.shape[0] else 0
    if not rank == n == matrix.shape[0]:
        raise ValueError(NO_VERTEX.format(n=n, rows=matrix.shape[0], rank=rank))
    # the vertex does not move with the cost: its derivative is zero
    x = ops.linalg_solve(matrix, ops.unsqueeze(right, 1))[:, 0] + 0.0 * ops.sum(cost)
    result = {"x": x, "fun": ops.sum(cost * x)}
    if A_ub is not None:
        result["slack"] = b_ub - A_ub @ x
    if A_eq is not None:
        result["con"] = b_eq - A_eq @ x
    return result


def _active_inequalities(constraints: Any, size: Any) -> Vector:
    """The active inequalities of a solution. Raises ValueError if one has a zero multiplier."""
    touched = numpy.asarray(constraints.residual) <= _TOUCHES * numpy.maximum(1.0, numpy.abs(size))
    if numpy.any(numpy.abs(constraints.marginals[touched]) <= _TOUCHES):
        raise ValueError(NOT_UNIQUE)
    return touched


# assignments ----------------------------------------------------------------------------------------------------------


def _of_values(of_scipy: Function) -> Function:
    """A function whose results are whole numbers: of the values."""

    def on_values(*args: Any, **options: Any) -> Any:
        args, options = map_instances(values_of, TensorBase, (args, options))
        return of_scipy(*args, **options)

    return for_both(of_scipy, on_values)


def linear_problems(module: Any) -> dict[str, Function]:
    """The linear problems of scipy.optimize that also take Tensors and Arrays."""
    return {
        "nnls": _of_vectors(module.nnls, _finish_nnls),
        "lsq_linear": _of_vectors(module.lsq_linear, _finish_lsq_linear),
        "linprog": _program(module.linprog),
    }


def discrete_problems(module: Any) -> dict[str, Function]:
    """The functions of scipy.optimize that give whole numbers."""
    return {"linear_sum_assignment": _of_values(module.linear_sum_assignment)}
