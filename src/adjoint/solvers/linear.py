"""Linear systems given as functions, solved by SciPy's Krylov methods, with derivatives of any order.

From A x = b follows A dx = db - dA x: a tangent is one more solve with the same function, a cotangent one with its
transpose, and each of these solves can be differentiated in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.arrays.dtypes import float32, float64
from adjoint.core.graph import TensorBase
from adjoint.core.modes.grad_mode import no_grad
from adjoint.functions.binding import functions
from adjoint.solvers.convergence import ConvergenceError
from adjoint.solvers.flattening import (
    Flat,
    check_function,
    differentiated_leaves,
    one_by_one,
    pull_back,
    push_forward,
    to_numpy,
)
from adjoint.tensor.creation import as_tensor, from_numpy
from adjoint.tensor.table import ops
from adjoint.tensor.tensor import Tensor
from adjoint.transforms import func
from adjoint.transforms.custom_functions.custom import custom
from adjoint.transforms.passing import for_solvers

Tree = Any
#: From a vector and the parameters to the vector's image.
Map = Callable[..., Tree]

#: SciPy's methods by name: whether they need a symmetric (Hermitian) map.
METHODS = {
    "cg": True,
    "minres": True,
    "gmres": False,
    "bicgstab": False,
    "lgmres": False,
    "gcrotmk": False,
    "tfqmr": False,
}
_STARTS = 4
TOLERANCE = {float64: 1e-12, float32: 1e-5}


class LinearSystem:
    """A square system over flat vectors: apply(x, params) is linear in x.

    method: a name out of METHODS, or a function from a LinearOperator and an array to the solution.
    """

    def __init__(
        self,
        apply: Map,
        method: str | Callable[..., Any],
        precondition: Map | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        symmetric: bool = False,
        name: str = "linear_solve()",
    ) -> None:
        if isinstance(method, str) and method not in METHODS:
            raise ValueError(f"{name}: unknown method {method!r}; known are {', '.join(METHODS)}, or give a function")
        self.apply, self.method, self.precondition = apply, method, precondition
        self.tol, self.max_iter, self.name = tol, max_iter, name
        self.symmetric = symmetric or (isinstance(method, str) and METHODS[method])

    def transpose(self) -> LinearSystem:
        """The system of the transposed map; for a symmetric map this system itself."""
        if self.symmetric:
            return self
        precondition = None if self.precondition is None else transposed_map(self.precondition)
        again = (self.method, precondition, self.tol, self.max_iter, False, self.name)
        return LinearSystem(transposed_map(self.apply), *again)

    def solve(self, b: Tensor, params: Tree) -> Tensor:
        """The solution for one right-hand side, by SciPy."""
        if not b._array.any():
            return ops.zeros_like(b)
        right_side = to_numpy(b)
        map, inverse = self.operator(self.apply, b, params), None
        if self.precondition is not None:
            inverse = self.operator(self.precondition, b, params)
        if not isinstance(self.method, str):
            return from_numpy(np.array(self.method(map, right_side), dtype=right_side.dtype))
        from scipy.sparse import linalg

        tol = TOLERANCE.get(b.dtype, 1e-3) if self.tol is None else self.tol
        solve, solution = getattr(linalg, self.method), np.zeros_like(right_side)
        # short recurrences may break down, and go on when started afresh
        for _ in range(_STARTS if self.max_iter is None else 1):
            solution, info = solve(map, right_side, x0=solution, rtol=tol, maxiter=self.max_iter, M=inverse)
            residual = float(np.linalg.norm(right_side - map.matvec(solution)) / np.linalg.norm(right_side))
            if not info or residual <= tol:
                break
        # the rounding error is small enough, also for a smaller tolerance
        if info and not residual <= 10 * tol:
            raise ConvergenceError(
                f"{self.name}: {self.method} stopped with |b - A x| = {residual:.1e} |b|, asked for {tol:.0e}; "
                "raise max_iter or tol, give a preconditioner, or choose another method"
            )
        return from_numpy(np.asarray(solution, dtype=right_side.dtype))

    def operator(self, map: Map, b: Tensor, params: Tree) -> Any:
        """One of the maps as SciPy's LinearOperator."""
        from scipy.sparse.linalg import LinearOperator

        def times(vector: np.ndarray) -> np.ndarray:
            with no_grad():
                return to_numpy(map(from_numpy(np.array(vector.reshape(-1), dtype=kind)), params))

        kind = to_numpy(b).dtype
        n = len(b)
        return LinearOperator((n, n), matvec=times, dtype=kind)


def transposed_map(map: Map) -> Map:
    """The transpose of a map that is linear in its first argument."""

    def transpose(vector: Tensor, params: Tree) -> Tensor:
        return func.linear_transpose(lambda x: map(x, params), ops.zeros_like(vector))(vector)[0]

    return transpose


@custom
def solution(system: LinearSystem, b: Tensor, params: Tree) -> Tensor:
    """The solution of a system."""
    return one_by_one(system.solve, b, params)


@solution.vjp
def _(g: Tensor, system: LinearSystem, params: Tree, y: Tensor) -> dict[str, Tree]:
    u = solution(system.transpose(), g, params)
    return {"b": u, "params": pull_back(lambda p: system.apply(y, p), params, -u)}


@solution.jvp
def _(t: tuple[Any, ...], system: LinearSystem, params: Tree, y: Tensor) -> Tensor:
    _, right, directions = t
    change = push_forward(lambda p: system.apply(y, p), params, directions)
    return solution(system, right if change is None else right - change, params)


@for_solvers
def linear_solve(
    a: Tensor | Map,
    b: Tree,
    *params: Tree,
    method: str | Callable[..., Any] = "gmres",
    precondition: Map | None = None,
    tol: float | None = None,
    max_iter: int | None = None,
    allow_constant: bool = False,
) -> Tree:
    """Solve A x = b, with derivatives of any order in A and b.

    Args:
        a: a matrix of shape (..., n, n), solved as by `linalg.solve`; or a function of (x, *params), linear in x, which
            returns A x. It must not use tensors that require grad other than its parameters.
        b: the right-hand side. For a function it is a tensor of any shape or a tree of tensors, and x has its
            structure.
        params: the parameters of the function: tensors, or trees of them.
        method: "cg" or "minres", if A is symmetric (Hermitian), else "gmres", "bicgstab", "lgmres", "gcrotmk" or
            "tfqmr", all by SciPy; or a function of (scipy.sparse.linalg.LinearOperator, array) that returns x.
        precondition: a function of (x, *params), linear in x, close to the inverse of A (and symmetric if A must be).
        tol: the bound for |b - A x| / |b|; by default 1e-12 (1e-5 in single precision).
        max_iter: the number of iterations, in the count of SciPy's method.
        allow_constant: the function's result need not depend on x, or on params.

    Each derivative solves one more system, with A or its transpose, by the same method. Under `vmap`, members are
    solved in turn.

    Raises:
        ConvergenceError: tol was not reached.
        RuntimeError: the function uses a tensor that requires grad and is none of its parameters; its result does not
            depend on x, or on its parameters, by any recorded operation, and derivatives are requested.
        ValueError: an unknown method; A x has another shape than x.

    >>> import adjoint
    >>> d = adjoint.tensor([2.0, 4.0], dtype=adjoint.float64, requires_grad=True)
    >>> b = adjoint.ones(2, dtype=adjoint.float64)
    >>> x = adjoint.implicit.linear_solve(lambda x, d: d * x, b, d, method="cg")
    >>> x.sum().backward()
    >>> d.grad
    tensor([-0.2500, -0.0625], dtype=adjoint.float64)
    """
    if isinstance(a, TensorBase):
        return functions["linalg"]["solve"](a, as_tensor(b))
    name = "linear_solve()"
    flat = Flat(b, name)

    def over_vectors(map: Map) -> Map:
        return lambda x, params: flat.ravel(map(flat.unravel(x), *params))

    inverse = None if precondition is None else over_vectors(precondition)
    system = LinearSystem(over_vectors(a), method, inverse, tol, max_iter, name=name)
    right = flat.start()
    # the transposed map, which a derivative takes, is the derivative of the map unless that is symmetric
    targets = []
    if not allow_constant and differentiated_leaves((right, params)):
        targets = [("x", [] if system.symmetric else [right]), ("its parameters", differentiated_leaves(params))]
    check_function(system.apply, (right, params), name, "b", targets)
    return flat.unravel(solution(system, right, params))
