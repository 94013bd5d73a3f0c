"""SciPy's solvers and integrals of functions with parameters, over Tensors and Arrays.

SciPy finds the solution of the function of plain numbers; its derivatives by the parameters in `args` are those of an
implicit function (`adjoint.implicit`), of any order. An integral is recomputed over SciPy's final intervals, so that
its derivatives are exact for that rule.
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
from adjoint.interop.operands import class_of_results, is_tracked, map_instances, tensor_of, tensors_in
from adjoint.interop.scipy_functions.pieces import plain as values_of
from adjoint.interop.scipy_functions.pieces import value_with_formula
from adjoint.solvers import implicit, ode
from adjoint.tensor.table import ops
from adjoint.transforms.passing import calls_back

Function = Callable[..., Any]

#: The recommendation in the error for a function that uses more than its arguments.
GIVE_IN_ARGS = "Give it in args=(...)"

#: Gauss and Legendre's rule on (0, 1), for the intervals that SciPy ended with.
_NODES, _WEIGHTS = numpy.polynomial.legendre.leggauss(21)
_NODES, _WEIGHTS = 0.5 * (_NODES + 1), 0.5 * _WEIGHTS


def constant(value: Any) -> Any:
    """Nested containers with detached Tensors, and plain values instead of Arrays."""
    return map_instances(lambda tensor: tensor.detach(), TensorBase, values(value))


def plain_function(
    function: Function, args: tuple[Any, ...], kinds: list[type] | None = None, remedy: str = GIVE_IN_ARGS
) -> Function:
    """A function of plain numbers for SciPy, with constant parameters.

    kinds: a list for the classes of its results, which the function may bring itself. Without it, a function that has
    variables of its own raises TypeError, with this remedy: the solution would silently be constant in them.
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
            _refuse_tracked(function(*point, *constants), getattr(function, "__name__", "the function"), remedy)
        return map_instances(values_of, TensorBase, to_tensors(result))

    return call


def holds_tracked(value: Any) -> bool:
    """True if derivatives are being taken through a Tensor or an Array in nested containers."""
    return any(is_tracked(tensor) for tensor in tensors_in(to_tensors(value)))


def _refuse_tracked(result: Any, name: str, remedy: str) -> None:
    if holds_tracked(result):
        raise TypeError(
            f"{name} uses a Tensor or an Array that requires a derivative and is none of its arguments: the solution "
            f"would silently be a constant. {remedy}"
        )


def over_tensors(function: Function, kind: type | None) -> Function:
    """A function of Tensors for adjoint's solvers: the user's gets and gives objects of the class of results."""

    @functools.wraps(function)
    @calls_back
    def call(*point: Any) -> Any:
        return tensor_of(to_tensors(function(*as_class(kind, point))))

    return call


def as_tuple(args: Any) -> tuple[Any, ...]:
    """Parameters as in SciPy: an object that is no tuple is one parameter."""
    return args if isinstance(args, tuple) else (args,)


# calls of SciPy's solvers ---------------------------------------------------------------------------------------------

#: Arguments of solvers that are functions of something else than a point and the parameters.
_NOT_OF_POINTS = ("callback", "method")
#: Arguments of solvers that a solution may lie on.
_LIMITS = ("bounds", "x1", "x2")


class Call:
    """A call of one of SciPy's solvers: the user's function, its parameters, and all else as plain values.

    SciPy gets functions that bring the parameters themselves, as constants.
    """

    def __init__(self, of_scipy: Function, signature: inspect.Signature, places: Any, options: Any) -> None:
        self.of_scipy, self.bound = of_scipy, signature.bind(*places, **options)
        arguments = self.bound.arguments
        self.options = {name: parameter.default for name, parameter in signature.parameters.items()} | arguments
        self.args = as_tuple(self.options["args"])
        self.kind = class_of_results(self.args)
        function: Function = next(iter(arguments.values()))
        # with True it gives its derivative, too
        gives_more = any(self.options.get(name) is True for name in ("jac", "fprime"))
        self.function = _first_of(function) if gives_more else function
        for name, value in arguments.items():
            arguments[name] = self.plain(name, value)

    def plain(self, name: str, value: Any) -> Any:
        """An argument as SciPy gets it. Raises TypeError where a derivative would be lost."""
        if name == "args":
            return ()
        if callable(value) and name not in _NOT_OF_POINTS:
            return plain_function(value, self.args)
        if name in _LIMITS and holds_tracked(value):
            raise TypeError(f"{self.of_scipy.__name__}: {name} has no derivative here; detach() it")
        return constant(value)

    def solution(self) -> Any:
        """SciPy's result."""
        return self.of_scipy(*self.bound.args, **self.bound.kwargs)


def _first_of(function: Function) -> Function:
    return lambda *point: function(*point)[0]


def solver(refine: Callable[[Call, Any], Any]) -> Callable[[Function], Function]:
    """Calls SciPy's solvers with Tensors and Arrays as parameters.

    refine: from the call and SciPy's solution to a solution with derivatives.
    """

    def of_solver(of_scipy: Function) -> Function:
        signature = inspect.signature(of_scipy)

        @functools.wraps(of_scipy)
        def solve(*places: Any, **options: Any) -> Any:
            call = Call(of_scipy, signature, places, options)
            solution = call.solution()
            return solution if call.kind is None else refine(call, solution)

        return solve

    return of_solver


# roots ----------------------------------------------------------------------------------------------------------------


def _root_near(function: Function, start: Any, args: tuple[Any, ...], kind: type | None) -> Any:
    """The root near a solution, as a function of the parameters."""
    x = new_tensor(numpy.asarray(start, float))
    return as_class(kind, implicit.root(over_tensors(function, kind), x, *to_tensors(args)))


def _refine_point(call: Call, solution: Any, function: Function | None = None) -> Any:
    """A root, or with full_output a tuple that begins with it."""
    function = function or call.function
    if call.options.get("full_output"):
        return _root_near(function, solution[0], call.args, call.kind), *solution[1:]
    return _root_near(function, solution, call.args, call.kind)


def _refine_fixed_point(call: Call, solution: Any) -> Any:
    return _refine_point(call, solution, lambda x, *args: x - call.function(x, *args))


def _refine_root(call: Call, solution: Any) -> Any:
    key = "root" if "root" in solution else "x"
    solution[key] = _root_near(call.function, solution[key], call.args, call.kind)
    return solution


def root_without_parameters(of_scipy: Function) -> Function:
    """A solver for a vector that takes no parameters, as broyden1: the function may have no variables of its own."""
    remedy = f"Call root(F, x0, args=(...), method={_METHOD_OF_ROOT.get(of_scipy.__name__, of_scipy.__name__)!r})"

    @functools.wraps(of_scipy)
    def solve(F: Function, xin: Any, *places: Any, **options: Any) -> Any:
        return of_scipy(plain_function(F, (), remedy=remedy), constant(xin), *places, **options)

    return solve


# minima ---------------------------------------------------------------------------------------------------------------


def _minimum_near(fun: Function, start: Any, args: tuple[Any, ...], kind: type | None) -> tuple[Any, Any]:
    """The stationary point near a minimum and the function there, as functions of the parameters."""
    x = new_tensor(numpy.asarray(start, float))
    function = over_tensors(fun, kind)
    minimum = implicit.minimize_stationary(
        lambda x, *args: ops.sum(function(x, *args)), x, *to_tensors(args), method="newton"
    )
    return as_class(kind, minimum), as_class(kind, ops.reshape(function(minimum, *to_tensors(args)), ()))


def refuse_limits(call: Call, name: str, *limits: str) -> None:
    """Raise TypeError where the minimum may lie on a boundary."""
    for limit in limits:
        if call.options.get(limit) not in (None, ()):
            raise TypeError(
                f"{name}: {limit}= is not supported for Tensors, since the minimum must be a stationary point; leave "
                "it out"
            )


def _refine_minimum(call: Call, solution: Any) -> Any:
    """The stationary point near a minimum. Raises TypeError where the minimum may lie on a boundary."""
    refuse_limits(call, "minimize", "bounds", "constraints")
    solution.x, solution.fun = _minimum_near(call.function, solution.x, call.args, call.kind)
    return solution


def _refine_scalar_minimum(call: Call, solution: Any) -> Any:
    """A minimum of one variable: of brent, golden and fminbound.

    SciPy's compare values of the function, so that a derivative of their steps would be 0.
    """
    if "x1" in call.options:
        raise TypeError(
            f"{call.of_scipy.__name__}: bounds are not supported for Tensors; use minimize_scalar without bounds"
        )
    if not call.options["full_output"]:
        return _minimum_near(call.function, solution, call.args, call.kind)[0]
    return *_minimum_near(call.function, solution[0], call.args, call.kind), *solution[2:]


def _refine_vector_minimum(call: Call, solution: Any) -> Any:
    """A minimum of several variables: of fmin and its like, which give more where full_output and retall say so."""
    has_value, has_path = call.options["full_output"], call.options["retall"]
    start = solution[0] if has_value or has_path else solution
    x, value = _minimum_near(call.function, start, call.args, call.kind)
    if has_value:
        return x, value, *solution[2:]
    return (x, *solution[1:]) if has_path else x


def _refine_bounded_minimum(call: Call, solution: Any) -> Any:
    """A minimum of fmin_l_bfgs_b, whose function gives its gradient, too, where nothing else does."""
    refuse_limits(call, "fmin_l_bfgs_b", "bounds")
    has_gradient = call.options["fprime"] is None and not call.options["approx_grad"]
    function = _first_of(call.function) if has_gradient else call.function
    return *_minimum_near(function, solution[0], call.args, call.kind), *solution[2:]


_WITHOUT_PARAMETERS = (
    "broyden1", "broyden2", "anderson", "linearmixing", "diagbroyden", "excitingmixing", "newton_krylov",
)  # fmt: skip
#: Names of methods of root that differ from the functions' names.
_METHOD_OF_ROOT = {"newton_krylov": "krylov"}

#: How the solutions of solvers get their derivatives.
REFINEMENTS: dict[str, Callable[[Call, Any], Any]] = {
    **dict.fromkeys(("bisect", "brenth", "brentq", "ridder", "toms748", "newton", "fsolve"), _refine_point),
    "fixed_point": _refine_fixed_point,
    **dict.fromkeys(("root", "root_scalar"), _refine_root),
    **dict.fromkeys(("minimize", "minimize_scalar"), _refine_minimum),
    **dict.fromkeys(("brent", "golden", "fminbound"), _refine_scalar_minimum),
    **dict.fromkeys(("fmin", "fmin_powell", "fmin_cg", "fmin_bfgs", "fmin_ncg"), _refine_vector_minimum),
    "fmin_l_bfgs_b": _refine_bounded_minimum,
}


def optimizers(module: Any) -> dict[str, Function]:
    """The functions of scipy.optimize that also take Tensors and Arrays as parameters."""
    return {
        **{name: solver(refine)(getattr(module, name)) for name, refine in REFINEMENTS.items()},
        **{name: root_without_parameters(getattr(module, name)) for name in _WITHOUT_PARAMETERS},
    }


# integrals ------------------------------------------------------------------------------------------------------------


def quadrature(of_scipy: Function) -> Function:
    """scipy.integrate.quad, differentiated by its limits, by args, and by Tensors that the function itself brings."""

    @functools.wraps(of_scipy)
    def quad(func: Function, a: Any, b: Any, args: Any = (), full_output: int = 0, **options: Any) -> Any:
        args = as_tuple(args)
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
                raise TypeError(
                    "quad: weight= and points= are not supported for Tensors; write the weight into the function, and "
                    "add up the integrals between the points"
                )
            value = _integrate(over_tensors(func, kind), a, b, args, details, value, max(error, 1e-7 * abs(value)))
            value = as_class(kind, value)
        return (value, error, details, *message) if full_output else (value, error)

    return quad


def _limit(end: Any) -> Any:
    """A limit of integration as SciPy takes it. Raises TypeError for a container."""
    if isinstance(end, (list, tuple, dict)):
        raise TypeError(f"quad: a limit of integration must be one number, not {type(end).__name__}")
    return float(values_of(to_tensors(end))) if class_of_results(end) else end


def _integrate(function: Function, a: Any, b: Any, args: Any, details: Any, value: float, error: float) -> Any:
    """The integral over the intervals that SciPy ended with. Raises ArithmeticError unless it is SciPy's value."""
    n = details["last"]
    starts, ends = details["alist"][:n], details["blist"][:n]
    low, high, *args = to_tensors((a, b, *args))
    total: Any = 0.0
    for start, end in zip(starts, ends, strict=True):
        for node, weight in zip(start + (end - start) * _NODES, (end - start) * _WEIGHTS, strict=True):
            for point, factor in _map_node(float(node), low, high):
                total = total + weight * factor * function(point, *args)
    total = tensor_of(total)
    if not abs(float(values_of(total)) - value) <= 10 * error + 1e-12:
        raise ArithmeticError(
            f"quad: the rule that is differentiated gives {float(values_of(total)):.10g}, but SciPy's value is "
            f"{value:.10g}"
        )
    return value_with_formula(total, numpy.asarray(value))


def _map_node(node: float, a: Any, b: Any) -> list[tuple[Any, Any]]:
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
        parameters = () if args is None else as_tuple(args)
        kind = class_of_results((y0, parameters))
        if kind is None:
            return of_scipy(fun, t_span, y0, method, t_eval, args=args, **options)
        others = {name for name, value in options.items() if value} - {"rtol", "atol"}
        if method not in _METHODS or others:
            raise TypeError(
                f"solve_ivp: method={method!r} with {', '.join(sorted(others)) or 'no options'} is not supported for "
                f"Tensors; use {' or '.join(_METHODS)} with t_eval, args, rtol and atol, or adjoint.implicit.odeint"
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
