"""Solutions of equations as differentiable functions of the equations' parameters.

If F(x, a) = 0 and dF/dx is regular, x is a function of a with dx/da = -(dF/dx)^-1 dF/da. So the derivative needs only
the solution, not the path to it: any solver may be used, and it is not recorded. The rules below consist of
differentiable operations, and their x is the solution itself, with its history. So derivatives of every order follow.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from adjoint.arrays.dtypes import finfo
from adjoint.arrays.kernels.linalg.errors import LinAlgError
from adjoint.arrays.namespace import underlying
from adjoint.functions.binding import functions
from adjoint.solvers.convergence import ConvergenceError
from adjoint.solvers.flattening import (
    Flat,
    check_function,
    differentiated_leaves,
    one_by_one,
    plain,
    pull_back,
    push_forward,
    to_numpy,
)
from adjoint.solvers.linear import METHODS, LinearSystem, solution
from adjoint.tensor.creation import from_numpy
from adjoint.tensor.protocol_hooks import values
from adjoint.tensor.table import ops
from adjoint.tensor.tensor import Tensor
from adjoint.transforms import func
from adjoint.transforms.custom_functions.custom import custom
from adjoint.transforms.jets import jet
from adjoint.transforms.passing import for_solvers

Tree = Any
#: From a vector and the arguments to a vector of the same length, which vanishes at the solution.
Residual: TypeAlias = Callable[[Tensor, Tree], Tensor]
#: From an equation, a start and the arguments to the solution.
Finder: TypeAlias = "Callable[[Equation, Tensor, Tree], Tensor]"

_HALVINGS = 40

_norm = functions["linalg"]["vector_norm"]


class Equation:
    """An equation over flat vectors: the residual, the solver for a root, and the solver of its linearisation."""

    def __init__(
        self,
        residual: Residual,
        find: Finder,
        linear: str | Callable[..., Any],
        tol: float | None,
        max_iter: int,
        symmetric: bool,
        name: str,
    ) -> None:
        if isinstance(linear, str) and linear not in ("dense", *METHODS):
            raise ValueError(f"{name}: unknown linear={linear!r}; known are dense, {', '.join(METHODS)}")
        self.residual, self.find, self.linear = residual, find, linear
        self.tol, self.max_iter, self.symmetric, self.name = tol, max_iter, symmetric, name

    def solve_linear(self, x: Tensor, args: Tree, b: Tensor, transposed: bool = False) -> Tensor:
        """Solve with the derivative of the residual in x, or with its transpose."""
        if self.linear == "dense":
            matrix = func.jacrev(self.residual)(x, args)
            try:
                return functions["linalg"]["solve"](matrix.mT if transposed else matrix, b)
            except LinAlgError:
                raise LinAlgError(f"{self.name}: the Jacobian in x is singular") from None
        system = LinearSystem(self.along, self.linear, symmetric=self.symmetric, name=self.name)
        return solution(system.transpose() if transposed else system, b, (x, args))

    def along(self, vector: Tensor, params: Tree) -> Tensor:
        """The derivative of the residual along a vector, as `linear_solve` calls it."""
        x, args = params
        return func.jvp(lambda x: self.residual(x, args), (x,), (vector,))[1]


@custom
def root_of(equation: Equation, start: Tensor, args: Tree) -> Tensor:
    """The root of an equation."""
    return equation.find(equation, start, args)


@root_of.vjp("args")
def _(g: Tensor, equation: Equation, args: Tree, y: Tensor) -> Tree:
    u = equation.solve_linear(y, args, g, transposed=True)
    return pull_back(lambda a: equation.residual(y, a), args, -u)


@root_of.jvp("args")
def _(t: Tree, equation: Equation, args: Tree, y: Tensor) -> Tensor | None:
    change = push_forward(lambda a: equation.residual(y, a), args, t)
    return None if change is None else equation.solve_linear(y, args, -change)


# ways to a root -------------------------------------------------------------------------------------------------------


def everywhere(condition: Tensor) -> bool:
    """True if a condition holds for all members of a batch."""
    return bool(np.all(underlying(condition._array)))


def newton_step(equation: Equation, x: Tensor, args: Tree, value: Tensor) -> Tensor:
    """The step that Newton's method subtracts from x."""
    return equation.solve_linear(x, args, value)


def halley_step(equation: Equation, x: Tensor, args: Tree, value: Tensor) -> Tensor:
    """The step that Halley's method subtracts from x: Newton's step n, corrected by the second derivative along it.

    With c = inv(J) F''[n, n] / 2 it is n * n / (n - c), element by element (Cuyt and Rall, 1985). If this is longer
    than twice Newton's step, Newton's step is used.
    """
    step = equation.solve_linear(x, args, value)
    along = jet(lambda x: equation.residual(x, args), (x,), ([step, ops.zeros_like(step)],))[1]
    change = equation.solve_linear(x, args, along[1] / 2)
    divisor = step - change
    safe = 2 * ops.abs(divisor) >= ops.abs(step)
    return ops.where(safe, step * step / ops.where(safe & (divisor != 0), divisor, 1), step)


def newton(equation: Equation, start: Tensor, args: Tree, step_at: Any = newton_step) -> Tensor:
    """Newton's method; steps are halved until the residual shrinks. Members of a batch take their steps together.

    step_at: the step that is subtracted from x, see `newton_step`.
    """
    tol = precision(start) ** 0.5 if equation.tol is None else equation.tol
    x, value = start, equation.residual(start, args)
    for done_steps in range(equation.max_iter):
        try:
            step = step_at(equation, x, args, value)
        except LinAlgError as error:
            if everywhere(_norm(value) == 0):
                return x
            raise ConvergenceError(
                f"{error} after {done_steps} steps of Newton's method, where the residual is {largest(value):.3e}; "
                "start elsewhere, or choose another method"
            ) from None
        length, size = _norm(step), _norm(x)
        # the next step would be as small as the square of this one
        converged = length <= tol * size
        scale, x_new, new = ops.ones_like(length), x - step, equation.residual(x - step, args)
        for _ in range(_HALVINGS):
            fine = converged | (_norm(new) < _norm(value))
            if everywhere(fine):
                break
            scale = ops.where(fine, scale, scale / 2)
            x_new = x - ops.unsqueeze(scale, 0) * step
            new = equation.residual(x_new, args)
        else:
            # the residual is as small as rounding allows, where steps are small in all other respects
            if not everywhere(fine | (length <= tol**0.5 * ops.clamp(size, 1.0))):
                raise ConvergenceError(
                    f"{equation.name}: no step along Newton's direction makes the residual smaller than "
                    f"{largest(value):.3e}, and the last step was {largest(step):.3e}; start closer to the solution"
                )
            return x
        x, value = x_new, new
        if everywhere(converged):
            return x
    raise ConvergenceError(
        f"{equation.name}: no convergence in {equation.max_iter} iterations of Newton's method; the residual is "
        f"{largest(value):.3e}, the last step was {largest(step):.3e}"
    )


def iteration(equation: Equation, start: Tensor, args: Tree) -> Tensor:
    """Repeat x - residual until x stays the same."""
    tol = precision(start) ** 0.85 if equation.tol is None else equation.tol
    x = start
    for _ in range(equation.max_iter):
        change = equation.residual(x, args)
        x = x - change
        if everywhere(_norm(change) <= tol * _norm(x)):
            return x
    raise ConvergenceError(
        f"{equation.name}: no convergence in {equation.max_iter} iterations; the last one changed x by "
        f"{largest(change):.3e}. Is the function a contraction here? method='newton' does not need one"
    )


def by_scipy(method: str) -> Finder:
    """One of the methods of scipy.optimize.root."""

    def find(equation: Equation, start: Tensor, args: Tree) -> Tensor:
        from adjoint.solvers.optimize import root

        def one(start: Tensor, args: Tree) -> Tensor:
            result = root(lambda x: equation.residual(x, args), start, method=method, tol=equation.tol)
            if not result.success:
                raise ConvergenceError(f"{equation.name}: {method} found no root: {' '.join(result.message.split())}")
            return from_numpy(np.asarray(result.x, dtype=to_numpy(start).dtype))

        return one_by_one(one, start, args)

    return find


def by_user(find: Callable[..., Any], function: Callable[..., Any], flat: Flat) -> Finder:
    """A solver of the user's: from the function of x alone, and the start, to the solution."""

    def solution(equation: Equation, start: Tensor, args: Tree) -> Tensor:
        def one(start: Tensor, args: Tree) -> Tensor:
            x = flat.ravel(find(lambda x: function(x, *args), flat.unravel(start)))
            rest = equation.residual(x, args)
            allowed = precision(start) ** 0.5 if equation.tol is None else equation.tol
            if not everywhere(_norm(rest) <= allowed * ops.clamp(_norm(equation.residual(start, args)), 1.0)):
                raise ConvergenceError(
                    f"{equation.name}: the given solver returned values that are not a solution: the residual is "
                    f"{largest(rest):.3e}, above the tolerance {allowed:.0e}"
                )
            return x

        return one_by_one(one, start, args)

    return solution


def precision(vector: Tensor) -> float:
    """The distance between 1 and the next number of a vector's dtype."""
    return finfo(vector.dtype).eps


def largest(vector: Tensor) -> float:
    """The greatest absolute value, of all members of a batch."""
    return float(np.max(np.abs(underlying(vector._array)), initial=0.0))


# the public functions -------------------------------------------------------------------------------------------------


def finish(
    name: str,
    flat: Flat,
    residual: Residual,
    find: Finder,
    options: dict[str, Any],
    args: tuple[Tree, ...],
    allow_constant: bool,
    compile: bool,
    function: Residual | None = None,
) -> Tree:
    """Check the function, solve, and give the solution in the user's structure.

    function: the user's, over vectors, if that is not the residual.
    """
    plain_residual = residual
    if compile:
        residual = values.compile(residual)
    equation = Equation(residual, find, name=name, **options)
    start = plain(flat.start())
    targets = []
    if not allow_constant:
        targets = [
            ("x", [start] if find is newton or differentiated_leaves(args) else []),
            ("its arguments", differentiated_leaves(args)),
        ]
    check_function(function or plain_residual, (start, args), name, "x0", targets)
    return flat.unravel(root_of(equation, start, args))


def options_of(linear: Any, tol: float | None, max_iter: int, symmetric: bool = False) -> dict[str, Any]:
    """The options of an equation."""
    return {"linear": linear, "tol": tol, "max_iter": max_iter, "symmetric": symmetric}


@for_solvers
def root(
    f: Callable[..., Tree],
    x0: Tree,
    *args: Tree,
    method: str | Callable[..., Any] = "newton",
    linear: str | Callable[..., Any] = "dense",
    tol: float | None = None,
    max_iter: int = 100,
    allow_constant: bool = False,
    compile: bool = False,
) -> Tree:
    """The x with f(x, *args) = 0, as a differentiable function of the args.

    Args:
        f: from x and args to a tree of x's structure and shapes. All tensors by which derivatives are requested must be
            among the args.
        x0: the starting point, a tensor or a tree of tensors. It has no derivative.
        args: tensors, trees of tensors, and other objects.
        method: "newton", which needs no SciPy and finds the roots of all members of a `vmap` at once; "halley", which
            adds one second derivative along Newton's step for steps of third order; a method of scipy.optimize.root
            ("hybr", "lm", "krylov", "anderson" ...); or a function of (function of x alone, x0) that returns the root.
        linear: the solver of the linearised equation, in Newton's steps and in derivatives: "dense", or a method of
            `linear_solve`, which never forms the Jacobian.
        tol: Newton's method stops after a step of this relative size; its error is then the square of it. The default
            is the square root of the precision. For other methods it is their tolerance.
        max_iter: iterations of Newton's method.
        allow_constant: the result of f need not depend on x, or on the args of requested derivatives.
        compile: f is recorded once, and replayed at other points (`adjoint.compile`).

    Derivatives of any order, in forward and reverse mode, come from the implicit function theorem; the solver's steps
    are not recorded. They do not exist if the Jacobian in x is singular. Complex x and non-holomorphic f are allowed.

    Raises:
        ConvergenceError: no root was found, or the Jacobian in x is singular on the way.
        LinAlgError: derivatives are requested, and the Jacobian in x is singular at the root.
        LostDerivativeError: f makes a plain number or array of x or of the args.
        RuntimeError: f uses a tensor that requires grad and is not among the args; the result of f does not depend on
            x, or on the args of requested derivatives, by any recorded operation.
        TypeError: x0 is not floating-point or complex.
        ValueError: an unknown method; f returns another structure or other shapes than x's.

    >>> import adjoint
    >>> a = adjoint.tensor(2.0, dtype=adjoint.float64, requires_grad=True)
    >>> x = adjoint.implicit.root(lambda x, a: x**3 - a, adjoint.ones_like(a), a)
    >>> x.backward()
    >>> a.grad, round(1 / (3 * x.item() ** 2), 4)
    (tensor(0.2100, dtype=adjoint.float64), 0.21)
    """
    flat = Flat(x0, "root()")

    def residual(x: Tensor, args: Tree) -> Tensor:
        return flat.ravel(f(flat.unravel(x), *args))

    find = finder(method, f, flat)
    return finish("root()", flat, residual, find, options_of(linear, tol, max_iter), args, allow_constant, compile)


def finder(method: str | Callable[..., Any], function: Callable[..., Any], flat: Flat) -> Finder:
    """The solver for a root that a user passed."""
    if callable(method):
        return by_user(method, function, flat)
    return _BY_STEPS[method] if method in _BY_STEPS else by_scipy(method)


_BY_STEPS: dict[str, Finder] = {"newton": newton, "halley": partial(newton, step_at=halley_step)}


@for_solvers
def fixed_point(
    f: Callable[..., Tree],
    x0: Tree,
    *args: Tree,
    method: str | Callable[..., Any] = "iteration",
    linear: str | Callable[..., Any] = "dense",
    tol: float | None = None,
    max_iter: int = 10_000,
    allow_constant: bool = False,
    compile: bool = False,
) -> Tree:
    """The x with x = f(x, *args), as a differentiable function of the args; see `root`.

    method: "iteration", which applies f until x changes by less than tol (relative; close to the precision by default);
    or as in `root`, where a function of the user's gets f (of x alone) and x0. compile: as in `root`.

    Raises the errors of `root`.

    >>> import adjoint
    >>> a = adjoint.tensor(1.0, dtype=adjoint.float64, requires_grad=True)
    >>> x = adjoint.implicit.fixed_point(lambda x, a: (a * x).cos(), a, a)
    >>> x.backward()
    >>> x, a.grad
    (tensor(0.7391, dtype=adjoint.float64, grad_fn=<ViewBackward0>), tensor(-0.2975, dtype=adjoint.float64))
    """
    flat = Flat(x0, "fixed_point()")

    def image(x: Tensor, args: Tree) -> Tensor:
        return flat.ravel(f(flat.unravel(x), *args))

    def residual(x: Tensor, args: Tree) -> Tensor:
        return x - image(x, args)

    find = iteration if method == "iteration" else finder(method, f, flat)
    options = options_of(linear, tol, max_iter)
    return finish("fixed_point()", flat, residual, find, options, args, allow_constant, compile, image)


@for_solvers
def minimize_stationary(
    f: Callable[..., Tensor],
    x0: Tree,
    *args: Tree,
    method: str | Callable[..., Any] = "trust-exact",
    linear: str | Callable[..., Any] = "dense",
    tol: float | None = None,
    max_iter: int = 100,
    allow_constant: bool = False,
    compile: bool = False,
) -> Tree:
    """The minimum x of f(x, *args), as a differentiable function of the args.

    Derivatives come from grad f = 0, which the minimum shares with all stationary points; see `root`.

    Args:
        f: from x and args to a real scalar.
        method: a method of `adjoint.optimize.minimize`, followed by Newton's method for grad f = 0, since a minimizer
            alone gives only half of the digits; "newton" alone, which may end at any stationary point; or a function of
            (function of x alone, x0) that returns the minimum.
        linear: "dense", or one of the methods of `linear_solve`; "cg" needs only products with the Hessian.
        x0, args, tol, max_iter, allow_constant, compile: as in `root`.

    Raises the errors of `root`.

    >>> import adjoint
    >>> a = adjoint.tensor([1.0, 3.0], dtype=adjoint.float64, requires_grad=True)
    >>> x = adjoint.implicit.minimize_stationary(lambda x, a: ((x - a) ** 4 + x**2).sum(), adjoint.zeros_like(a), a)
    >>> x.sum().backward()
    >>> a.grad
    tensor([0.6760, 0.8571], dtype=adjoint.float64)
    """
    name = "minimize_stationary()"
    flat = Flat(x0, name)

    def value(x: Tensor, args: Tree) -> Tensor:
        return f(flat.unravel(x), *args)

    def minimum(equation: Equation, start: Tensor, args: Tree) -> Tensor:
        from adjoint.solvers.optimize import minimize

        def one(start: Tensor, args: Tree) -> Tensor:
            result = minimize(lambda x: value(x, args), start, method=method)
            return from_numpy(np.asarray(result.x, dtype=to_numpy(start).dtype))

        return newton(equation, one_by_one(one, start, args), args)

    gradient = func.grad(value)
    if callable(method):
        find = by_user(method, f, flat)
    else:
        find = newton if method == "newton" else minimum
    options = options_of(linear, tol, max_iter, symmetric=True)
    return finish(name, flat, gradient, find, options, args, allow_constant, compile, value)
