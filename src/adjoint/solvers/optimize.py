"""scipy.optimize with derivatives supplied: minimisation, least squares, roots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from adjoint.arrays.size import type_name
from adjoint.core.operations.arguments import check_functions
from adjoint.solvers.functions import FlatFunction, ScalarFunction, VectorFunction
from adjoint.solvers.structure.derivatives import SparseHessian, SparseJacobian
from adjoint.solvers.structure.solving import (
    LARGE,
    paying_derivative,
    sparse_hessian,
    sparse_jacobian,
    sparse_weighted_hessian,
)
from adjoint.tensor.creation import as_tensor
from adjoint.transforms.passing import calls_back, has_tensor_leaf

Function = Callable[..., Any]

#: The arguments of scipy.optimize.minimize's methods; a user's own method may take others.
DERIVATIVES = {
    None: ("jac",),
    "nelder-mead": (),
    "powell": (),
    "cobyla": (),
    "cobyqa": (),
    "cg": ("jac",),
    "bfgs": ("jac",),
    "l-bfgs-b": ("jac",),
    "tnc": ("jac",),
    "slsqp": ("jac",),
    "newton-cg": ("jac", "hessp"),
    "trust-ncg": ("jac", "hessp"),
    "trust-krylov": ("jac", "hessp"),
    "dogleg": ("jac", "hess"),
    "trust-exact": ("jac", "hess"),
    "trust-constr": ("jac", "hess"),
}
_ALL = ("jac", "hess", "hessp")
#: The methods that take sparse Hessians.
_SPARSE = ("trust-constr", "newton-cg")
#: Longer vectors get Hessians as products where a method takes either.
_LARGE = 500


def minimize(
    fun: Function,
    x0: Any,
    args: Any = (),
    method: str | Function | None = None,
    *,
    bounds: Any = None,
    constraints: Any = (),
    hess: Any = "exact",
    allow_constant: bool = False,
    compile: bool = False,
    **options: Any,
) -> Any:
    """scipy.optimize.minimize with exact gradients and Hessians, in the form that the method takes.

    Args:
        fun: gets x, in the structure of x0, and args; returns one real number. If x0 or args hold tensors it gets
            tensors, else differentiable arrays that follow NumPy (`adjoint.numpy.Array`).
        x0: numbers, an array, or a tree of arrays (such as a dict of parameters).
        args, method: as in SciPy. "Newton-CG", "trust-ncg" and "trust-krylov" get products with the Hessian, which is
            never formed; "trust-exact", "dogleg" and "trust-constr" the Hessian (above 500 numbers the last one gets a
            sparse one where its pattern pays, otherwise products); the others gradients, or nothing.
        bounds: as in SciPy, for the numbers of x in order, or pairs in the structure of x0, if that is no list.
        constraints: SciPy's: NonlinearConstraint, LinearConstraint, or dicts; functions in them get x as fun does
            and are given a Jacobian and, for "trust-constr", a Hessian, unless they bring `jac` or `hess` themselves.
        hess: "exact"; "sparse" for "trust-constr" and "Newton-CG": Hessians, and the Jacobians and Hessians of
            constraints, are sparse matrices from few products (`adjoint.sparse.hessian`); or a value that SciPy
            accepts: BFGS(), SR1(), "2-point" ...
        allow_constant: derivatives are zeros if the result of fun, or of a constraint, does not depend on x.
        compile: the function is recorded once, and replayed at other points (`adjoint.compile`).
        options: passed to SciPy (tol, callback, options).

    Returns:
        SciPy's OptimizeResult, of plain floats and arrays; `x` has the structure of x0, all else is flat, in the order
        of the leaves.

    Raises:
        LostDerivativeError: fun makes a plain number or array of x.
        RuntimeError: the result of fun does not depend on x by any recorded operation, and the method takes gradients.
        ValueError: fun does not return one real number; hess="sparse" with another method; and SciPy's errors.

    >>> import adjoint
    >>> found = adjoint.optimize.minimize(lambda p: (p["a"] - 2) ** 2 + (p["b"] ** 2), {"a": 0.0, "b": 1.0})
    >>> float(found.x["a"].round(6))
    2.0
    """
    from scipy import optimize

    args = args if isinstance(args, tuple) else (args,)
    name = method.lower() if isinstance(method, str) else method
    supplied: Any = DERIVATIVES.get(name, ()) if name is None or isinstance(name, str) else _ALL
    function = ScalarFunction(fun, x0, args, "minimize()", allow_constant, bool(supplied), compile)
    derivatives: dict[str, Any] = {what: getattr(function, what) for what in supplied}
    if name == "trust-constr" and function.flat.size > _LARGE and hess == "exact":
        matrix = paying_derivative(SparseHessian, function, _LARGE)
        derivatives["hess"] = matrix or (lambda x: products(function, x))
    is_sparse = isinstance(hess, str) and hess == "sparse"
    if is_sparse:
        check_takes_sparse(name)
        derivatives["hess"] = sparse_hessian(function)
        derivatives.pop("hessp", None)
    elif not (isinstance(hess, str) and hess == "exact"):
        derivatives.pop("hessp", None)
        derivatives["hess"] = hess
    result = optimize.minimize(
        function.fun,
        function.x0,
        method=method,
        bounds=bounds_of(bounds, function),
        constraints=constraints_of(constraints, function, name == "trust-constr", is_sparse),
        **derivatives,
        **options,
    )
    return in_structure(result, function)


def check_takes_sparse(method: Any) -> None:
    """Raise ValueError for a method that takes no sparse Hessians."""
    if method not in _SPARSE:
        raise ValueError(f"minimize(): hess='sparse' goes with {' and '.join(_SPARSE)}, not with method={method!r}")


def products(function: ScalarFunction, x: Any) -> Any:
    """The Hessian as a LinearOperator."""
    from scipy.sparse.linalg import LinearOperator

    point, n = np.array(x), function.flat.size
    return LinearOperator((n, n), matvec=lambda p: function.hessp(point, p), dtype=np.float64)


def in_structure(result: Any, function: FlatFunction) -> Any:
    """A result whose x has the structure of x0. Raises TypeError for another result of the caller's own method."""
    if not hasattr(result, "x"):
        raise TypeError(f"minimize(): a callable method must return an OptimizeResult, got {type_name(result)}")
    result.x = function.tree(result.x)
    return result


def bounds_of(bounds: Any, function: FlatFunction) -> Any:
    """Bounds as SciPy takes them, from a tree of pairs in the structure of x0."""
    flat = function.flat
    if flat.structure.type in (None, list, tuple) or type(bounds) is not flat.structure.type:
        return bounds
    from scipy.optimize import Bounds

    pairs = [(None, None) if pair is None else pair for pair in flat.structure.flatten_up_to(bounds)]
    sides = []
    for side, nowhere in enumerate((-np.inf, np.inf)):
        parts = [nowhere if pair[side] is None else np.asarray(pair[side], dtype=float) for pair in pairs]
        spread = [np.broadcast_to(part, shape).reshape(-1) for part, shape in zip(parts, flat.shapes, strict=True)]
        sides.append(np.concatenate(spread))
    return Bounds(*sides)


def constraints_of(constraints: Any, function: FlatFunction, second: bool, is_sparse: bool) -> Any:
    """Constraints whose functions take flat vectors and have derivatives; `second`: Hessians, too."""
    if isinstance(constraints, (list, tuple)):
        return [constraint_of(constraint, function, second, is_sparse) for constraint in constraints]
    return constraint_of(constraints, function, second, is_sparse)


def constraint_of(constraint: Any, function: FlatFunction, second: bool, is_sparse: bool) -> Any:
    """One constraint."""
    from scipy.optimize import BFGS, NonlinearConstraint

    name = "minimize(): constraint"
    if isinstance(constraint, NonlinearConstraint):
        vector_function = VectorFunction(
            constraint.fun, function.flat, (), name, function.allow_constant, function.recorded, function.compile
        )
        jac: Any = vector_function.jac
        hess: Any = vector_function.hess
        if is_sparse and second:
            jac, hess = sparse_jacobian(vector_function), sparse_weighted_hessian(vector_function)
        return NonlinearConstraint(
            vector_function.fun,
            constraint.lb,
            constraint.ub,
            jac=constraint.jac if callable(constraint.jac) else jac,
            # SciPy's default is BFGS
            hess=hess if second and isinstance(constraint.hess, (str, BFGS)) else constraint.hess,
            keep_feasible=constraint.keep_feasible,
        )
    if isinstance(constraint, Mapping):
        more = tuple(constraint.get("args", ()))
        vector_function = VectorFunction(
            constraint["fun"], function.flat, more, name, function.allow_constant, function.recorded, function.compile
        )
        return {
            **constraint,
            "fun": vector_function.fun,
            "jac": constraint.get("jac") or vector_function.jac,
            "args": (),
        }
    return constraint


def least_squares(
    fun: Function,
    x0: Any,
    jac: str = "auto",
    bounds: Any = (-np.inf, np.inf),
    *,
    jac_sparsity: Any = None,
    args: tuple[Any, ...] = (),
    allow_constant: bool = False,
    compile: bool = False,
    **options: Any,
) -> Any:
    """scipy.optimize.least_squares with exact Jacobians.

    Args:
        fun: gets x as in `minimize`, and args; returns the residuals, an array or a tree of arrays.
        jac: "dense"; "sparse", from as few products as the colours of its columns or rows; "matrix-free", products
            alone, one pass each; "auto" is sparse from 100 numbers on where the pattern pays and the method takes it.
        bounds: as in SciPy, or as in `minimize`.
        jac_sparsity: for "sparse", a sparse or dense matrix which is not zero where the Jacobian may be. Each Jacobian
            is checked for entries that it lacks. By default it is traced in one run of fun
            (`adjoint.sparse.prepare_jacobian`).
        allow_constant: the Jacobian is zero where the residuals do not depend on x.
        compile: the function is recorded once, and replayed at other points (`adjoint.compile`).
        options: passed on (method, ftol, loss, x_scale, max_nfev ...).

    Returns:
        SciPy's OptimizeResult; `x` has the structure of x0.

    Raises:
        LostDerivativeError: fun makes a plain number or array of x.
        RuntimeError: the residuals do not depend on x by any recorded operation.
        ValueError: an unknown jac; the sparsity pattern lacks an entry; and SciPy's errors.

    >>> import adjoint, numpy
    >>> t = adjoint.linspace(0, 1, 5, dtype=adjoint.float64)
    >>> y = 3 * adjoint.exp(-2 * t)
    >>> adjoint.optimize.least_squares(lambda p: p[0] * adjoint.exp(-p[1] * t) - y, [1.0, 1.0]).x.round(6)
    array([3., 2.])
    """
    from scipy import optimize

    function = VectorFunction(fun, x0, args, "least_squares()", allow_constant, compile=compile)
    limits = bounds_of(bounds, function)
    result = optimize.least_squares(
        function.fun, function.x0, jac=jacobian_of(function, jac, jac_sparsity, options), bounds=limits, **options
    )
    return in_structure(result, function)


def jacobian_of(function: VectorFunction, form: str, sparsity: Any, options: dict[str, Any]) -> Function:
    """A Jacobian in the requested form."""
    if sparsity is not None or form == "sparse":
        return sparse_jacobian(function, sparsity)
    if form == "auto":
        takes_sparse = options.get("method") != "lm" and options.get("tr_solver") != "exact"
        return (paying_derivative(SparseJacobian, function, LARGE) if takes_sparse else None) or function.jac
    forms = {"dense": function.jac, "matrix-free": function.operator}
    if form not in forms:
        raise ValueError(f"{function.name}: unknown jac={form!r}; known are auto, dense, sparse and matrix-free")
    return forms[form]


def curve_fit(
    f: Function,
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    *,
    allow_constant: bool = False,
    compile: bool = False,
    **options: Any,
) -> tuple[np.ndarray, ...]:
    """scipy.optimize.curve_fit with exact Jacobians: (parameters, their covariance), and more with full_output.

    f: gets xdata and the parameters, and returns an array in the shape of ydata. If xdata or p0 are tensors, it gets
        tensors, else NumPy's array and differentiable numbers with NumPy's meaning.
    allow_constant: the Jacobian is zero where what f returns depends on no parameter.
    compile: the function is recorded once, and replayed at other points (`adjoint.compile`).

    Raises RuntimeError if the result of f depends on no parameter by any recorded operation; ValueError if p0 is
    missing and f does not name its parameters; and SciPy's errors.

    >>> import adjoint, numpy
    >>> x = numpy.linspace(0, 1, 20)
    >>> best, covariance = adjoint.optimize.curve_fit(lambda x, a, b: a * numpy.exp(-b * x), x, 3 * numpy.exp(-2 * x))
    >>> best.round(6)
    array([3., 2.])
    """
    import inspect

    from scipy import optimize

    if p0 is None:
        kinds = [parameter.kind for parameter in inspect.signature(f).parameters.values()]
        if inspect.Parameter.VAR_POSITIONAL in kinds:
            raise ValueError(
                "curve_fit(): f takes any number of parameters, and p0 is None: give p0 with one value for each "
                "parameter"
            )
        p0 = np.ones(len(kinds) - 1)
    of_tensors = has_tensor_leaf((xdata, p0))
    data = np.asarray(xdata, dtype=np.float64)
    model = VectorFunction(
        calls_back(lambda p: f(as_tensor(data) if of_tensors else data, *p)),
        np.atleast_1d(p0),
        (),
        "curve_fit()",
        allow_constant,
        compile=compile,
    )
    model.flat.of_arrays = not of_tensors
    return optimize.curve_fit(
        lambda x, *p: model.fun(p), xdata, ydata, p0, sigma, jac=lambda x, *p: model.jac(p), **options
    )


def root(
    fun: Function,
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    jac: str = "auto",
    *,
    allow_constant: bool = False,
    compile: bool = False,
    **options: Any,
) -> Any:
    """scipy.optimize.root with an exact Jacobian, for the methods that take one ("hybr" and "lm").

    fun: gets x as in `minimize`, and args; returns as many numbers as x has, as a tensor or a tree.
    jac: "dense"; "sparse", from as few products as the colours of its columns or rows (MINPACK gets it as a dense
        array); "auto" is sparse from 100 numbers on where the pattern pays.
    allow_constant: the Jacobian is zero where fun's result does not depend on x.
    compile: the function is recorded once, and replayed at other points (`adjoint.compile`).

    Raises RuntimeError where fun's result does not depend on x by any recorded operation and the method takes a
    Jacobian; and SciPy's errors.

    Returns SciPy's OptimizeResult; `x` has the structure of x0. `adjoint.implicit.root` gives roots with derivatives.

    >>> import adjoint
    >>> adjoint.optimize.root(lambda x: [x[0] + x[1] - 3, x[0] * x[1] - 2], [0.0, 1.0]).x.round(6)
    array([2., 1.])
    """
    from scipy import optimize

    args = args if isinstance(args, tuple) else (args,)
    takes_jacobian = method in ("hybr", "lm")
    function = VectorFunction(fun, x0, args, "root()", allow_constant, takes_jacobian, compile)
    if jac not in ("auto", "dense", "sparse"):
        raise ValueError(f"root(): unknown jac={jac!r}; known are auto, dense and sparse")
    derivative = {}
    if takes_jacobian:
        matrix = sparse_jacobian(function) if jac == "sparse" else None
        if jac == "auto":
            matrix = paying_derivative(SparseJacobian, function, LARGE)
        derivative = {"jac": function.jac if matrix is None else lambda x: matrix(x).toarray()}
    return in_structure(optimize.root(function.fun, function.x0, method=method, **derivative, **options), function)


def root_scalar(
    f: Function,
    args: Any = (),
    method: str | None = None,
    *,
    x0: float | None = None,
    allow_constant: bool = False,
    compile: bool = False,
    **options: Any,
) -> Any:
    """scipy.optimize.root_scalar with the first and second derivative of f, where the method takes them.

    f: gets a differentiable number and args; returns a number.
    method: by default "newton" if there is x0, else by bracket.
    allow_constant: derivatives are zero where f's result does not depend on x.
    compile: the function is recorded once, and replayed at other points (`adjoint.compile`).

    Raises RuntimeError where f's result does not depend on x by any recorded operation and the method takes a
    derivative; and SciPy's errors.

    >>> import adjoint
    >>> round(float(adjoint.optimize.root_scalar(lambda x: x**3 - 2, x0=1.0, method="halley").root), 12)
    1.259921049895
    """
    from scipy import optimize

    args = args if isinstance(args, tuple) else (args,)
    if method is None and x0 is not None and "bracket" not in options and "x1" not in options:
        method = "newton"
    derivative_names = {"newton": ("fprime",), "halley": ("fprime", "fprime2")}.get(str(method).lower(), ())
    function = ScalarFunction(
        calls_back(lambda x: f(x[0], *args)), 0.0, (), "root_scalar()", allow_constant, bool(derivative_names), compile
    )
    derivatives = {
        "fprime": lambda x: float(function.jac(x)[0]),
        "fprime2": lambda x: float(function.hess(x)[0, 0]),
    }
    return optimize.root_scalar(
        function.fun, method=method, x0=x0, **{what: derivatives[what] for what in derivative_names}, **options
    )


check_functions(globals(), ("minimize", "least_squares", "curve_fit", "root", "root_scalar"))
