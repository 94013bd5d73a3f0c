"""Functions of trees in SciPy's form: of flat float64 arrays, with derivatives, each computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adjoint.arrays.dtypes import float64
from adjoint.core.graph import TensorBase
from adjoint.core.modes.grad_mode import enable_grad, no_grad
from adjoint.core.operations.dependence import check_kept, differentiating, is_differentiating
from adjoint.runtime.pytree import flatten
from adjoint.solvers.flattening import Flat, constant_error, to_numpy
from adjoint.tensor.creation import as_tensor, from_numpy, zeros
from adjoint.tensor.differentiate import grad, needing_grad
from adjoint.tensor.protocol_hooks import values
from adjoint.transforms.passing import calls_back, has_tensor_leaf, to_results

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Tree = Any
Array = NDArray[np.float64]

#: The recommendation in errors, and the way to take a value as a constant.
INSTEAD = "those of adjoint.implicit, with the value among their arguments"
AS_CONSTANT = "x.detach(), or adjoint.numpy.detach(x) of an array"


def start_of(x0: Any) -> Tree:
    """A starting point as a tree of tensors: numbers and sequences of numbers are vectors, as in SciPy."""
    leaves, structure = flatten(x0)
    if structure.type in (None, list, tuple) and not any(hasattr(leaf, "shape") for leaf in leaves):
        return from_numpy(np.atleast_1d(np.array(x0, dtype=np.float64)))
    return structure.unflatten(inexact(leaf) for leaf in leaves)


def inexact(leaf: Any) -> Tensor:
    """A leaf of a starting point as a tensor without history; integers become floating-point numbers."""
    if isinstance(leaf, TensorBase):
        return leaf.detach()
    array = np.array(leaf)
    return from_numpy(array if array.dtype.kind in "fc" else array.astype(np.float64))


def vector_of(x: Any) -> Array:
    """The vector that SciPy passes, copied."""
    return np.array(x, dtype=np.float64).reshape(-1)


class FlatFunction:
    """A function of a tree, run on vectors and recorded; the record of the last vector is kept.

    The function gets Tensors if there are some in x0 or args, else differentiable arrays with NumPy's meaning.

    Subclasses define the values and derivatives. `flat` is the layout of the argument. allow_constant: derivatives are
    zeros if the result does not depend on x, instead of an error. recorded: False if no derivatives are expected; a
    second run computes them if needed. compile: evaluations are replayed (`adjoint.compile`).

    variables: Tensors that the function gets after x and that change between points, such as the time.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        x0: Any,
        args: tuple[Any, ...],
        name: str,
        allow_constant: bool = False,
        recorded: bool = True,
        compile: bool = False,
    ) -> None:
        self.function, self.args, self.name = function, args, name
        self.compile = compile
        self.variables: tuple[Tensor, ...] = ()
        self.compiled: dict[Flat, Callable[..., Any]] = {}
        self.allow_constant, self.recorded = allow_constant, recorded
        if isinstance(x0, Flat):
            self.flat = x0
        else:
            self.flat = Flat(start_of(x0), name, float64)
            self.flat.of_arrays = not has_tensor_leaf((x0, args))
        self.recording: dict[str, Any] = {}
        self.x: Array | None = None
        self.is_checked = False

    @property
    def x0(self) -> Array:
        """The starting point as a vector."""
        return to_numpy(self.flat.start())

    def at(self, x: Any) -> dict[str, Any]:
        """The evaluation at x: the leaf, the result, and the derivatives computed so far."""
        vector = vector_of(x)
        if self.x is None or not np.array_equal(vector, self.x):
            self.check_closure(lambda: self.value(from_numpy(vector)))
            leaf = from_numpy(vector)
            if self.recorded:
                needing_grad(leaf)
            with enable_grad() if self.recorded else no_grad(), differentiating([leaf]):
                result = self.value(leaf)
            # assigned only now, so that an error in the function leaves no partial state
            self.recording = {"leaf": leaf, "result": result}
            self.x = vector.copy()
        return self.recording

    @calls_back
    def value(self, vector: Tensor) -> Tensor:
        """The function's result for a vector."""
        evaluate = self.compiled_evaluation() if self.compile else evaluation(self.function, self.flat, self.args)
        return self.check_result(evaluate(vector, *self.variables))

    def compiled_evaluation(self) -> Callable[..., Any]:
        """The compiled function of a vector and variables, one for each layout of the argument."""
        if self.flat not in self.compiled:
            self.compiled[self.flat] = values.compile(evaluation(self.function, self.flat, self.args))
        return self.compiled[self.flat]

    def check_closure(self, value: Callable[[], Tensor]) -> None:
        """Raise LostDerivativeError if a differentiated function would treat the solution as a constant.

        The solution has derivatives by the values that the function uses besides x. One evaluation shows them.
        """
        if not self.is_checked and is_differentiating():
            check_kept(value(), f"the result of {self.name}", INSTEAD, AS_CONSTANT)
        self.is_checked = True

    def recorded_at(self, x: Any) -> dict[str, Any]:
        """The evaluation at x with a recorded graph, which derivatives need."""
        if not self.recorded:
            self.recorded, self.x = True, None
        return self.at(x)

    def slope(self, recording: dict[str, Any], driver: Tensor | None = None, **options: Any) -> Tensor:
        """The cotangent of x for one of the result.

        Raises RuntimeError if the result does not depend on x, unless constants are allowed.
        """
        gradient = None
        if recording["result"].requires_grad:
            gradient = grad(
                recording["result"], recording["leaf"], driver, retain_graph=True, allow_unused=True, **options
            )[0]
        if gradient is not None:
            return gradient
        if not self.allow_constant:
            raise constant_error(self.name, "x")
        return zeros_of(recording["leaf"], driver, options)

    def check_result(self, result: Any) -> Tensor:
        """The result as a tensor of the right shape."""
        raise NotImplementedError

    def once(self, what: str, x: Any, compute: Callable[[dict[str, Any]], Any]) -> Any:
        """A value at x, computed at first use."""
        recording = self.recorded_at(x)
        if what not in recording:
            recording[what] = compute(recording)
        return recording[what]

    def tree(self, x: Array) -> Tree:
        """A vector in the structure of x0, as arrays."""
        leaves, structure = flatten(self.flat.unravel(from_numpy(vector_of(x))))
        return structure.unflatten(to_numpy(leaf) for leaf in leaves)


def evaluation(function: Callable[..., Any], flat: Flat, args: tuple[Any, ...]) -> Callable[..., Any]:
    """A function of a tree as one of a vector and of variables, whose results are Tensors."""

    @calls_back
    def evaluate(vector: Tensor, *variables: Tensor) -> Any:
        others = map(values.give, variables) if flat.of_arrays else variables
        return to_results(function(flat.argument(vector), *others, *args))

    return evaluate


def slope(end: Tensor, by: Tensor, driver: Tensor | None = None, **options: Any) -> Tensor:
    """A gradient, zero where there is no dependence; the graph is kept."""
    if not end.requires_grad:
        return zeros_of(by, driver, options)
    return grad(end, by, driver, retain_graph=True, allow_unused=True, materialize_grads=True, **options)[0]


def zeros_of(by: Tensor, driver: Tensor | None, options: dict[str, Any]) -> Tensor:
    """A gradient of zeros, one for each driver where they are batched."""
    batch = (len(driver),) if options.get("is_grads_batched") and driver is not None else ()
    return zeros((*batch, *by.shape), dtype=by.dtype)


def identity(n: int) -> Tensor:
    """The unit vectors."""
    return from_numpy(np.eye(n))


def rows_of(end: Tensor, by: Tensor) -> Array:
    """The Jacobian of a recorded vector, all its rows in one batched pass."""
    return to_numpy(slope(end, by, identity(len(end)), is_grads_batched=True))


class ScalarFunction(FlatFunction):
    """A real function of a flat vector with its gradient, Hessian, and Hessian-vector products."""

    def check_result(self, result: Any) -> Tensor:
        tensor = as_tensor(result)
        if tensor.numel() != 1 or tensor.is_complex():
            raise ValueError(
                f"{self.name}: expected the function to return one real number, got a tensor of shape "
                f"{tuple(tensor.shape)} and {tensor.dtype}"
            )
        return tensor.reshape(())

    def fun(self, x: Any) -> float:
        """The value."""
        return float(self.at(x)["result"].item())

    def jac(self, x: Any) -> Array:
        """The gradient, of shape (n,)."""
        return self.once("jac", x, lambda recording: to_numpy(self.slope(recording))).copy()

    def gradient(self, recording: dict[str, Any]) -> Tensor:
        """The gradient with its history."""
        return self.slope(recording, create_graph=True)

    def hess(self, x: Any) -> Array:
        """The Hessian, of shape (n, n)."""
        gradient = self.once("gradient", x, self.gradient)
        return self.once("hess", x, lambda recording: rows_of(gradient, recording["leaf"])).copy()

    def hessp(self, x: Any, p: Any) -> Array:
        """The Hessian times p, without the Hessian."""
        gradient = self.once("gradient", x, self.gradient)
        return to_numpy(slope(gradient, self.recording["leaf"], from_numpy(vector_of(p))))


class VectorFunction(FlatFunction):
    """A function from a flat vector of n numbers to m, with its Jacobian in several forms."""

    def check_result(self, result: Any) -> Tensor:
        return Flat(result, self.name, float64).start()

    def fun(self, x: Any) -> Array:
        """The values, of shape (m,)."""
        return to_numpy(self.at(x)["result"]).copy()

    def transposed_product(self, recording: dict[str, Any]) -> tuple[Tensor, Tensor]:
        """A blank u and J^T u with its history, whose own derivative is J."""
        blank = needing_grad(zeros(recording["result"].shape, dtype=float64))
        return blank, self.slope(recording, blank, create_graph=True)

    def jac(self, x: Any) -> Array:
        """The Jacobian, of shape (m, n), by rows or by columns, whichever are fewer."""
        return self.once("jac", x, self.dense).copy()

    def dense(self, recording: dict[str, Any]) -> Array:
        """The Jacobian at the known point."""
        if len(recording["result"]) <= len(recording["leaf"]):
            return to_numpy(self.slope(recording, identity(len(recording["result"])), is_grads_batched=True))
        blank, gradient = self.transposed_product(recording)
        return np.ascontiguousarray(rows_of(gradient, blank).T)

    def hess(self, x: Any, v: Any) -> Array:
        """The Hessian of v @ fun, of shape (n, n)."""
        recording = self.recorded_at(x)
        weighted = self.slope(recording, from_numpy(vector_of(v)), create_graph=True)
        return rows_of(weighted, recording["leaf"])

    def operator(self, x: Any) -> Any:
        """The Jacobian as a LinearOperator: one pass for each product."""
        from scipy.sparse.linalg import LinearOperator

        recording = self.recorded_at(x)
        blank, gradient = self.once("transposed product", x, self.transposed_product)
        result, leaf = recording["result"], recording["leaf"]

        def products(end: Tensor, by: Tensor) -> Callable[[Array], Array]:
            return lambda v: to_numpy(slope(end, by, from_numpy(vector_of(v))))

        shape = (len(result), len(leaf))
        return LinearOperator(shape, matvec=products(gradient, blank), rmatvec=products(result, leaf), dtype=np.float64)


def scipy_function(
    fun: Callable[..., Any],
    x0: Any = None,
    *,
    args: tuple[Any, ...] = (),
    allow_constant: bool = False,
    compile: bool = False,
) -> ScalarFunction:
    """A real function as SciPy and others want it: `.fun`, `.jac`, `.hess`, `.hessp` of flat float64 arrays.

    Args:
        fun: gets x in the structure of x0, then args; returns one real number. From tensors in x0 or args it gets
            tensors, else differentiable arrays with NumPy's meaning.
        x0: a number, a sequence of numbers, an array, or a tree of arrays or tensors (a dict, say), which is laid out
            leaf after leaf; None if x is a vector of any length. The result's `.x0` is its vector, `.tree(x)` takes a
            vector apart.
        args: further arguments of fun.
        allow_constant: derivatives are zeros where fun's result does not depend on x.
        compile: fun is recorded once, and replayed at other points (`adjoint.compile`).

    Raises RuntimeError when a derivative is requested and fun's result does not depend on x by any recorded operation,
    unless constants are allowed; ValueError if fun does not return one real number.

    A point is evaluated once: `.fun`, `.jac`, `.hess` and `.hessp` at the same x share one recorded run.

    >>> import adjoint, numpy
    >>> f = adjoint.optimize.scipy_function(lambda p: (p["a"] ** 2).sum() * p["b"], {"a": numpy.ones(2), "b": 3.0})
    >>> f.fun(f.x0), f.jac(f.x0)
    (6.0, array([6., 6., 2.]))
    >>> f.hessp(f.x0, [1.0, 0.0, 0.0])
    array([6., 0., 2.])
    """
    kind = ScalarFunction if x0 is not None else AnyLength
    return kind(fun, 0.0 if x0 is None else x0, args, "scipy_function()", allow_constant, compile=compile)


class AnyLength(ScalarFunction):
    """A function of vectors of whatever length."""

    def at(self, x: Any) -> dict[str, Any]:
        vector = vector_of(x)
        if self.flat.size != len(vector):
            of_arrays = self.flat.of_arrays
            self.flat, self.x = Flat(from_numpy(vector), self.name, float64), None
            self.flat.of_arrays = of_arrays
        return super().at(x)
