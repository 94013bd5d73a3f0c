"""SciPy's solvers and integrals of functions with parameters, over Tensors and Arrays.

SciPy finds the solution of the function of plain numbers; its derivatives by the parameters in `args` are those of an
implicit function (`adjoint.implicit`), of any order. An integral is computed again over the intervals that SciPy ended
with, so that its derivatives are exact for that rule.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy

from adjoint.core.graph import TensorBase, new_tensor
from adjoint.core.modes.grad_mode import no_grad
from adjoint.core.operations.dependence import is_differentiating
from adjoint.interop.namespaces import as_class, to_tensors
from adjoint.interop.numpy_array.base import values
from adjoint.interop.operands import class_of_results, is_tracked, mapped, tensor_of, tensors_in
from adjoint.interop.scipy_functions.pieces import plain as values_of
from adjoint.interop.scipy_functions.pieces import valued
from adjoint.solvers import implicit, ode
from adjoint.tensor.table import ops
from adjoint.transforms.passing import calls_back

Function = Callable[..., Any]

#: Gauss and Legendre's rule on (0, 1), for the intervals that SciPy ended with.
_NODES, _WEIGHTS = numpy.polynomial.legendre.leggauss(21)
_NODES, _WEIGHTS = 0.5 * (_NODES + 1), 0.5 * _WEIGHTS


def constant(value: Any) -> Any:
    """Nested containers with detached Tensors, and plain values instead of Arrays."""
    return mapped(lambda tensor: tensor.detach(), TensorBase, values(value))


def plain_function(function: Function, args: tuple[Any, ...], kinds: list[type] | None = None) -> Function:
    """A function of plain numbers for SciPy, with constant parameters.

    kinds: a list for the classes of its results, which the function may bring itself. Without it, a function that has
    variables of its own raises TypeError: the solution would silently be constant in them.
    """
    constants = constant(args)

    @functools.wraps(function)
    def call(*point: Any) -> Any:
        # recorded in a differentiated function: what makes a plain number of an Array is an error there
        with nullcontext() if is_differentiating() else no_grad():
            result = function(*point, *constants)
        kind = class_of_results(result)
        if kind is None:
            return result
        if kinds is not None:
            kinds.append(kind)
        elif class_of_results(args) is None:
            _refuse_tracked(function(*point, *constants), getattr(function, "__name__", "the function"))
        return values_of(to_tensors(result))

    return call


def _refuse_tracked(result: Any, name: str) -> None:
    if any(is_tracked(tensor) for tensor in tensors_in(to_tensors(result))):
        raise TypeError(
            f"{name} uses a Tensor or an Array that requires a derivative and is none of its arguments: the solution "
            "would silently be a constant. Give it in args=(...)"
        )


def over_tensors(function: Function, kind: type | None) -> Function:
    """A function of Tensors for adjoint's solvers: the user's gets and gives objects of the class of results."""

    @functools.wraps(function)
    @calls_back
    def call(*point: Any) -> Any:
        return tensor_of(to_tensors(function(*as_class(kind, point))))

    return call


def tupled(args: Any) -> tuple[Any, ...]:
    """Parameters as SciPy takes them: one that is no tuple counts as one."""
    return args if isinstance(args, tuple) else (args,)


# roots ----------------------------------------------------------------------------------------------------------------


def _root_near(function: Function, start: Any, args: tuple[Any, ...], kind: type | None) -> Any:
    """The root near a solution, as a function of the parameters."""
    x = new_tensor(numpy.asarray(start, float))
    return as_class(kind, implicit.root(over_tensors(function, kind), x, *to_tensors(args)))


def scalar_root(of_scipy: Function) -> Function:
    """A solver for a root of one variable: bisect, brenth, brentq, ridder, toms748 and newton."""

    @functools.wraps(of_scipy)
    def solve(f: Function, *places: Any, args: Any = (), **options: Any) -> Any:
        args = tupled(args)
        kind = class_of_results(args)
        solution = of_scipy(plain_function(f, args), *constant(places), **options)
        if kind is None:
            return solution
        if options.get("full_output"):
            return _root_near(f, solution[0], args, kind), *solution[1:]
        return _root_near(f, solution, args, kind)

    return solve


def with_result(of_scipy: Function, refine: Function) -> Function:
    """A solver whose result has an entry x: root, root_scalar (root), minimize and minimize_scalar."""

    @functools.wraps(of_scipy)
    def solve(fun: Function, *places: Any, args: Any = (), **options: Any) -> Any:
        args = tupled(args)
        kind = class_of_results(args)
        solution = of_scipy(plain_function(fun, args), *constant(places), **_constant_options(options, args))
        if kind is not None:
            refine(solution, fun, args, kind, options)
        return solution

    return solve


def _constant_options(options: dict[str, Any], args: tuple[Any, ...]) -> dict[str, Any]:
    """Options whose functions get the parameters, too."""
    return {
        name: plain_function(value, args) if callable(value) and name in ("jac", "hess", "hessp", "fprime") else value
        for name, value in options.items()
    }


def _refine_root(solution: Any, fun: Function, args: Any, kind: Any, options: Any) -> None:
    key = "root" if "root" in solution else "x"
    solution[key] = _root_near(fun, solution[key], args, kind)


def _refine_minimum(solution: Any, fun: Function, args: Any, kind: Any, options: Any) -> None:
    """The stationary point near a minimum. Raises TypeError where the minimum may lie on a boundary."""
    unsupported = [name for name in ("bounds", "constraints") if options.get(name) is not None]
    if unsupported:
        raise TypeError(f"minimize: over Tensors there are no {unsupported[0]}; the minimum must be a stationary point")
    solution.x, solution.fun = _minimum_near(fun, solution.x, args, kind)


def _minimum_near(fun: Function, start: Any, args: tuple[Any, ...], kind: type) -> tuple[Any, Any]:
    """The stationary point near a minimum and the function there, as functions of the parameters."""
    x = new_tensor(numpy.asarray(start, float))
    function = over_tensors(fun, kind)
    minimum = implicit.minimize_stationary(
        lambda x, *args: ops.sum(function(x, *args)), x, *to_tensors(args), method="newton"
    )
    return as_class(kind, minimum), as_class(kind, ops.reshape(function(minimum, *to_tensors(args)), ()))


def scalar_minimum(of_scipy: Function) -> Function:
    """A solver for a minimum of one variable: brent, golden and fminbound.

    SciPy's compare values of the function, so that a derivative of their steps would be 0.
    """
    signature = inspect.signature(of_scipy)

    @functools.wraps(of_scipy)
    def solve(*places: Any, **options: Any) -> Any:
        bound = signature.bind(*places, **options)
        bound.apply_defaults()
        arguments = bound.arguments
        func, args = arguments["func"], tupled(arguments["args"])
        kind = class_of_results(args)
        arguments.update(func=plain_function(func, args), args=())
        solution = of_scipy(*constant(bound.args), **constant(bound.kwargs))
        if kind is None:
            return solution
        if "x1" in arguments:
            raise TypeError(f"{of_scipy.__name__}: over Tensors there are no bounds; use minimize_scalar without them")
        if not arguments["full_output"]:
            return _minimum_near(func, solution, args, kind)[0]
        return *_minimum_near(func, solution[0], args, kind), *solution[2:]

    return solve


def optimizers(module: Any) -> dict[str, Function]:
    """The functions of scipy.optimize that also take Tensors and Arrays as parameters."""
    scalar = {name: scalar_root(getattr(module, name)) for name in ("bisect", "brenth", "brentq", "ridder", "toms748")}
    return scalar | {
        **{name: scalar_minimum(getattr(module, name)) for name in ("brent", "golden", "fminbound")},
        "newton": scalar_root(module.newton),
        "root": with_result(module.root, _refine_root),
        "root_scalar": with_result(module.root_scalar, _refine_root),
        "minimize": with_result(module.minimize, _refine_minimum),
        "minimize_scalar": with_result(module.minimize_scalar, _refine_minimum),
    }


# integrals ------------------------------------------------------------------------------------------------------------


def quadrature(of_scipy: Function) -> Function:
    """scipy.integrate.quad, differentiated by its limits, by args, and by Tensors that the function itself brings."""

    @functools.wraps(of_scipy)
    def quad(func: Function, a: Any, b: Any, args: Any = (), full_output: int = 0, **options: Any) -> Any:
        args = tupled(args)
        kinds: list[type] = []
        kind = class_of_results((a, b, args))
        ends = [_limit(end) for end in (a, b)]
        solution = of_scipy(plain_function(func, args, kinds), *ends, full_output=1, **options)
        kind = kind or (kinds[0] if kinds else None)
        value, error, details, *message = solution
        if message and not full_output:
            from scipy.integrate import IntegrationWarning

            warnings.warn(message[0], IntegrationWarning, stacklevel=2)
        if kind is not None:
            if options.get("weight") is not None or options.get("points") is not None:
                raise TypeError("quad: over Tensors there are neither weight= nor points=")
            value = _integrated(over_tensors(func, kind), a, b, args, details, value, max(error, 1e-7 * abs(value)))
            value = as_class(kind, value)
        return (value, error, details, *message) if full_output else (value, error)

    return quad


def _limit(end: Any) -> Any:
    """A limit of integration as SciPy takes it. Raises TypeError for a container."""
    if isinstance(end, (list, tuple, dict)):
        raise TypeError(f"quad: a limit of integration must be one number, not {type(end).__name__}")
    return float(values_of(to_tensors(end))) if class_of_results(end) else end


def _integrated(function: Function, a: Any, b: Any, args: Any, details: Any, value: float, error: float) -> Any:
    """The integral over the intervals that SciPy ended with. Raises ArithmeticError unless it is SciPy's value."""
    n = details["last"]
    starts, ends = details["alist"][:n], details["blist"][:n]
    low, high, *args = to_tensors((a, b, *args))
    total: Any = 0.0
    for start, end in zip(starts, ends, strict=True):
        for node, weight in zip(start + (end - start) * _NODES, (end - start) * _WEIGHTS, strict=True):
            for point, factor in _mapped(float(node), low, high):
                total = total + weight * factor * function(point, *args)
    total = tensor_of(total)
    if not abs(float(values_of(total)) - value) <= 10 * error + 1e-12:
        raise ArithmeticError(
            f"quad: the rule that is differentiated gives {float(values_of(total)):.10g}, but SciPy's value is "
            f"{value:.10g}"
        )
    return valued(total, numpy.asarray(value))


def _mapped(node: float, a: Any, b: Any) -> list[tuple[Any, Any]]:
    """A node of QUADPACK's as places of the function and factors: infinite ranges are mapped to (0, 1]."""
    infinite = [not isinstance(end, TensorBase) and bool(numpy.isinf(end)) for end in (a, b)]
    away = (1 - node) / node
    if not any(infinite):
        # the intervals are parts of the range; places move with its ends
        low, high = (float(values_of(tensor_of(end))) for end in (a, b))
        share = (node - low) / (high - low) if high != low else 0.0
        moving = (b - a) / (high - low) if high != low else 1.0
        return [(a + (b - a) * share, moving)]
    if all(infinite):
        sign = 1.0 if b > a else -1.0
        return [(away, sign / node**2), (-away, sign / node**2)]
    if infinite[1]:
        sign = 1.0 if b > 0 else -1.0
        return [(a + sign * away, sign / node**2)]
    sign = 1.0 if a < 0 else -1.0
    return [(b - sign * away, sign / node**2)]


#: Methods of SciPy's that adjoint's solver has.
_METHODS = {"RK45": "dopri5", "RK23": "bosh3"}


def initial_value(of_scipy: Function) -> Function:
    """scipy.integrate.solve_ivp, differentiated by y0 and args: the steps themselves are."""

    @functools.wraps(of_scipy)
    def solve_ivp(
        fun: Function, t_span: Any, y0: Any, method: Any = "RK45", t_eval: Any = None, args: Any = None, **options: Any
    ) -> Any:
        parameters = () if args is None else tupled(args)
        kind = class_of_results((y0, parameters))
        if kind is None:
            return of_scipy(fun, t_span, y0, method, t_eval, args=args, **options)
        others = {name for name, value in options.items() if value} - {"rtol", "atol"}
        if method not in _METHODS or others:
            raise TypeError(
                f"solve_ivp: over Tensors there are the methods {', '.join(_METHODS)}, t_eval, args, rtol and atol; "
                "adjoint.implicit.odeint has more"
            )
        solution = of_scipy(
            plain_function(fun, parameters), t_span, values_of(tensor_of(to_tensors(y0))), method, t_eval, **options
        )
        flat = tensor_of(to_tensors(y0))

        @calls_back
        def field(t: Any, y: Any, *args: Any) -> Any:
            result = fun(*as_class(kind, (t, y, *args)))
            members = to_tensors(result)
            return tensor_of(members) if not isinstance(members, (list, tuple)) else ops.stack(_rows(members), 0)

        tolerances = {name: options.get(name, default) for name, default in (("rtol", 1e-3), ("atol", 1e-6))}
        times = numpy.concatenate([[t_span[0]], solution.t])
        states = ode.odeint(field, flat, times, *to_tensors(parameters), method=_METHODS[method], **tolerances)
        solution.y = as_class(kind, ops.permute(states[1:], (*range(1, states.ndim), 0)))
        return solution

    return solve_ivp


def _rows(members: Any) -> list[Any]:
    rows = [tensor_of(member) for member in members]
    like = next(row for row in rows if is_tracked(row) or row.ndim) if any(map(is_tracked, rows)) else rows[0]
    return [ops.expand(row, tuple(like.shape)) for row in rows]


def integrals(module: Any) -> dict[str, Function]:
    """The functions of scipy.integrate that also take functions of Tensors and Arrays."""
    return {"quad": quadrature(module.quad), "solve_ivp": initial_value(module.solve_ivp)}
