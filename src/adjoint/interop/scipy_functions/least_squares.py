"""scipy.optimize's fits over Tensors and Arrays: leastsq and least_squares by their parameters, curve_fit by the data.

SciPy finds the fit of plain numbers; its derivatives are those of the stationary point of the sum of squares, of any
order.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy

from adjoint.core.graph import new_tensor
from adjoint.interop.namespaces import as_class, to_tensors
from adjoint.interop.operands import class_of_results, tensor_of
from adjoint.interop.scipy_functions.functions_of_functions import (
    Call,
    Function,
    as_tuple,
    constant,
    over_tensors,
    plain_function,
    solver,
)
from adjoint.solvers import implicit
from adjoint.tensor.table import ops
from adjoint.transforms import func


class SmallestSquares:
    """A fit near one that SciPy found, as a function of the parameters.

    residuals: of Tensors, a vector for a point and the parameters.
    """

    def __init__(self, residuals: Function, start: Any, parameters: tuple[Any, ...]) -> None:
        self.parameters = to_tensors(parameters)

        def vector(x: Any, *args: Any) -> Any:
            return ops.reshape(residuals(x, *args), (-1,))

        def half_square(x: Any, *args: Any) -> Any:
            rest = vector(x, *args)
            return ops.sum(rest * rest) * 0.5

        self.residuals = vector
        x = new_tensor(numpy.atleast_1d(numpy.asarray(start, float)))
        self.x = implicit.minimize_stationary(half_square, x, *self.parameters, method="newton")

    def rest(self) -> Any:
        """The residuals."""
        return self.residuals(self.x, *self.parameters)

    def jacobian(self) -> Any:
        """The derivatives of the residuals by the point."""
        return func.jacfwd(lambda x: self.residuals(x, *self.parameters))(self.x)

    def covariance(self, is_relative: bool = False) -> Any:
        """The inverse of the normal matrix; with is_relative times the mean square of the residuals."""
        jacobian = self.jacobian()
        inverse = ops.linalg_inv(ops.transpose(jacobian, 0, 1) @ jacobian)
        if not is_relative:
            return inverse
        rest = self.rest()
        return inverse * (ops.sum(rest * rest) / (rest.shape[0] - self.x.shape[0]))


def _refuse_limits(name: str, options: dict[str, Any], **usual: Any) -> None:
    """Raise TypeError for arguments other than the usual ones, with which a fit is no stationary point."""
    for key, value in usual.items():
        if not numpy.array_equal(constant(options.get(key, value)), value):
            raise TypeError(
                f"{name}: over Tensors {key} must be {value!r}; the solution must be a stationary point of the squares"
            )


#: The arguments of curve_fit that its derivatives are by.
_DATA = ("xdata", "ydata", "sigma")
_UNBOUNDED = (-numpy.inf, numpy.inf)


def _refine_leastsq(call: Call, solution: Any) -> Any:
    x, *others = solution
    near = SmallestSquares(over_tensors(call.function, call.kind), x, call.args)
    if call.options["full_output"] and others[0] is not None:
        others[0] = as_class(call.kind, near.covariance())
    return as_class(call.kind, near.x), *others


def _refine_least_squares(call: Call, solution: Any) -> Any:
    _refuse_limits("least_squares", call.options, bounds=_UNBOUNDED, loss="linear")
    near = SmallestSquares(over_tensors(call.function, call.kind), solution.x, call.args)
    rest = near.rest()
    for key, value in (("x", near.x), ("fun", rest), ("cost", ops.sum(rest * rest) * 0.5), ("jac", near.jacobian())):
        solution[key] = as_class(call.kind, value)
    return solution


def with_keywords(of_scipy: Function) -> Function:
    """least_squares, whose argument kwargs has parameters, too."""
    solve = solver(_refine_least_squares)(of_scipy)
    signature = inspect.signature(of_scipy)

    @functools.wraps(of_scipy)
    def least_squares(*places: Any, **options: Any) -> Any:
        bound = signature.bind(*places, **options)
        keywords = bound.arguments.pop("kwargs", None)
        if not keywords:
            return solve(*places, **options)
        args = as_tuple(bound.arguments.get("args", ()))
        n, names = len(args), list(keywords)
        for key in ("fun", "jac"):
            if callable(bound.arguments.get(key)):
                bound.arguments[key] = _by_place(bound.arguments[key], n, names)
        bound.arguments["args"] = (*args, *keywords.values())
        return solve(*bound.args, **bound.kwargs)

    return least_squares


def _by_place(function: Function, n: int, names: list[str]) -> Function:
    """A function of a point, n parameters and the values of these keywords."""
    return lambda x, *args: function(x, *args[:n], **dict(zip(names, args[n:], strict=True)))


def curve(of_scipy: Function) -> Function:
    """scipy.optimize.curve_fit, differentiated by xdata, ydata and sigma."""
    signature = inspect.signature(of_scipy)

    @functools.wraps(of_scipy)
    def curve_fit(*places: Any, **options: Any) -> Any:
        bound = signature.bind(*places, **options)
        arguments = bound.arguments
        f = arguments["f"]
        data = tuple(arguments.get(name) for name in _DATA)
        kind = class_of_results(data)
        # SciPy counts the parameters of f, whose signature stays
        arguments["f"] = plain_function(f, (), remedy="Give it in xdata, ydata or sigma")
        if kind is None:
            return of_scipy(*bound.args, **bound.kwargs)
        _refuse_limits("curve_fit", arguments, bounds=_UNBOUNDED, nan_policy=None)
        arguments.update({name: _plain(value) for name, value in arguments.items() if name in (*_DATA, "p0")})
        solution, covariance, *others = of_scipy(*bound.args, **bound.kwargs)
        near = SmallestSquares(_weighted_residuals(over_tensors(f, kind)), solution, data)
        if numpy.isfinite(covariance).all():
            covariance = as_class(kind, near.covariance(not arguments.get("absolute_sigma", False)))
        return as_class(kind, near.x), covariance, *others

    return curve_fit


def _plain(value: Any) -> Any:
    return value if class_of_results(value) is None else numpy.asarray(constant(value))


def _weighted_residuals(f: Function) -> Callable[..., Any]:
    """The residuals of a curve for its parameters and the data, in units of sigma."""

    def residuals(x: Any, xdata: Any, ydata: Any, sigma: Any) -> Any:
        rest = f(xdata, *[x[i] for i in range(x.shape[0])]) - tensor_of(ydata)
        if sigma is None:
            return rest
        sigma = tensor_of(sigma)
        if sigma.ndim < 2:
            return rest / sigma
        return ops.linalg_solve(ops.linalg_cholesky(sigma), ops.unsqueeze(rest, 1))

    return residuals


def fits(module: Any) -> dict[str, Function]:
    """The fits of scipy.optimize that also take Tensors and Arrays."""
    return {
        "leastsq": solver(_refine_leastsq)(module.leastsq),
        "least_squares": with_keywords(module.least_squares),
        "curve_fit": curve(module.curve_fit),
    }
