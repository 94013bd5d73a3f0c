"""Differential operators: gradients, Jacobians, Hessians, and their products with vectors.

An argument may be a number, an array, or nested lists, tuples and dictionaries of these. A derivative with respect to
it has the same containers. `argnum` is the position of the argument, or a tuple of positions.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from adjoint.compat.autograd import numpy as np
from adjoint.compat.autograd._boxes import ArrayBox, operands, unwrap, wrap
from adjoint.compat.autograd._tracing import make_jvp as _make_jvp
from adjoint.compat.autograd._tracing import make_vjp as _make_vjp
from adjoint.compat.autograd._tracing import tracing
from adjoint.compat.autograd._vspaces import vspace
from adjoint.compat.autograd.wrap_util import unary_to_nary
from adjoint.core.graph import TensorBase
from adjoint.core.operations.naming import known_by
from adjoint.runtime.pytree import flatten

Function = Callable[..., Any]

make_vjp = known_by(unary_to_nary(_make_vjp), __name__, "make_vjp")
make_jvp = known_by(unary_to_nary(_make_jvp), __name__, "make_jvp")

_NOT_SCALAR = "Grad only applies to real scalar-output functions. Try jacobian, elementwise_grad or holomorphic_grad."


@unary_to_nary
def grad(fun: Function, x: Any) -> Any:
    """
    Returns a function which computes the gradient of `fun` with respect to one argument, or several.

    It takes the same arguments as `fun`, whose result must be one real number.

    >>> grad(lambda x, y: x**2 * y)(3.0, 2.0)
    np.float64(12.0)
    """
    vjp, ans = _make_vjp(fun, x)
    return vjp(_one(ans))


def _one(ans: Any) -> Any:
    if type(ans) is np.float64:
        return 1.0
    space = vspace(ans)
    if space.size != 1:
        raise TypeError(_NOT_SCALAR)
    return space.ones()


@unary_to_nary
def elementwise_grad(fun: Function, x: Any) -> Any:
    """The sums of the columns of the Jacobian, in one backward pass: the diagonal of a diagonal Jacobian.

    elementwise_grad(fun, argnum=0) is a function of fun's arguments. Raises TypeError for a complex result.

    >>> import adjoint.compat.autograd.numpy as np
    >>> from adjoint.compat.autograd import elementwise_grad
    >>> elementwise_grad(lambda x: x * x)(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    vjp, ans = _make_vjp(fun, x)
    space = vspace(ans)
    if space.iscomplex:
        raise TypeError("Elementwise_grad only applies to real-output functions.")
    return vjp(space.ones())


egrad = elementwise_grad


@unary_to_nary
def deriv(fun: Function, x: Any) -> Any:
    """The derivative of a function of one real number, in forward mode.

    The result of the function may have any shape. deriv(fun, argnum=0) is a function of fun's arguments.

    >>> from adjoint.compat.autograd import deriv
    >>> print(deriv(lambda x: x * x)(3.0))
    6.0
    """
    return _make_jvp(fun, x)(vspace(x).ones())[1]


@unary_to_nary
def jacobian(fun: Function, x: Any) -> Any:
    """The Jacobian by reverse mode, one backward pass for each element of the result.

    jacobian(fun, argnum=0) is a function of fun's arguments. Its result has the shape of fun's result followed by the
    shape of the argument.

    >>> import adjoint.compat.autograd.numpy as np
    >>> from adjoint.compat.autograd import jacobian
    >>> jacobian(lambda x: np.array([x[0] * x[1], x[1]]))(np.array([2.0, 3.0]))
    array([[3., 2.],
           [0., 1.]])
    """
    vjp, ans = _make_vjp(fun, x)
    shape = vspace(ans).shape
    rows = [vjp(g) for g in _unit_vectors(ans)]

    def join(*parts: Any) -> Any:
        return np.reshape(np.stack(parts), (*shape, *np.shape(parts[0]))) if parts else np.zeros(shape)

    if not rows:
        leaves, structure = flatten(x)
        return structure.unflatten([np.zeros((*shape, *np.shape(leaf))) for leaf in leaves])
    columns = zip(*[flatten(row)[0] for row in rows], strict=True)
    return flatten(x)[1].unflatten([join(*parts) for parts in columns])


def _unit_vectors(ans: Any) -> Any:
    space = vspace(ans)
    if not space.iscomplex:
        return space.standard_basis()
    # the rows of a complex Jacobian; the function is assumed to be holomorphic
    return [vector for i, vector in enumerate(space.standard_basis()) if i % 2 == 0]


@unary_to_nary
def holomorphic_grad(fun: Function, x: Any) -> Any:
    """The complex derivative of a holomorphic function.

    holomorphic_grad(fun, argnum=0) is a function of fun's arguments. Warns if the argument is real.

    >>> from adjoint.compat.autograd import holomorphic_grad
    >>> complex(holomorphic_grad(lambda z: z * z)(1j))
    2j
    """
    if not vspace(x).iscomplex:
        warnings.warn("Input to holomorphic_grad is not complex", stacklevel=3)
    return elementwise_grad(lambda z: np.real(fun(z)))(x)


def grad_named(fun: Function, argname: str) -> Function:
    """The gradient with respect to the argument with a name.

    fun: a function. argname: the name of one of its parameters. Raises ValueError for another name.

    >>> from adjoint.compat.autograd import grad_named
    >>> print(grad_named(lambda x, y: x * y, "y")(2.0, 3.0))
    2.0
    """
    return grad(fun, list(inspect.signature(fun).parameters).index(argname))


@unary_to_nary
def hessian(fun: Function, x: Any) -> Any:
    """The exact Hessian of a function with a number as result.

    hessian(fun, argnum=0) is a function of fun's arguments. The shape of its result is the argument's shape, twice.

    >>> import adjoint.compat.autograd.numpy as np
    >>> from adjoint.compat.autograd import hessian
    >>> hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    return jacobian(jacobian(fun))(x)


@unary_to_nary
def make_hvp(fun: Function, x: Any) -> Any:
    """A function that multiplies the Hessian at x by vectors, and the gradient at x.

    make_hvp(fun, argnum=0) is a function of fun's arguments that returns the pair.

    >>> from adjoint.compat.autograd import make_hvp
    >>> hvp, gradient = make_hvp(lambda x: x**3)(2.0)
    >>> print(hvp(1.0), gradient)
    12.0 12.0
    """
    return _make_vjp(grad(fun), x)


def hessian_tensor_product(fun: Function, argnum: Any = 0) -> Function:
    """The product of the Hessian with an array, as a function of (*args, tensor, **kwargs).

    tensor: an array of the shape of argument argnum.

    >>> import adjoint.compat.autograd.numpy as np
    >>> from adjoint.compat.autograd import hessian_tensor_product
    >>> hessian_tensor_product(lambda x: np.sum(x**3))(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    """
    fun_grad = grad(fun, argnum)

    def vector_dot_grad(*args: Any, **kwargs: Any) -> Any:
        *args_of_fun, vector = args
        return np.tensordot(fun_grad(*args_of_fun, **kwargs), vector, np.ndim(vector))

    return grad(vector_dot_grad, argnum)


hessian_vector_product = hessian_tensor_product


def tensor_jacobian_product(fun: Function, argnum: Any = 0) -> Function:
    """The product of an array with the Jacobian, as a function of (*args, tensor, **kwargs).

    tensor: an array of the shape of fun's result. It multiplies the Jacobian from the left.

    >>> import adjoint.compat.autograd.numpy as np
    >>> from adjoint.compat.autograd import tensor_jacobian_product
    >>> tensor_jacobian_product(lambda x: x * x)(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([2., 0.])
    """

    def vector_dot_fun(*args: Any, **kwargs: Any) -> Any:
        *args_of_fun, vector = args
        return np.tensordot(vector, fun(*args_of_fun, **kwargs), axes=np.ndim(vector))

    return jacobian(vector_dot_fun, argnum)


vector_jacobian_product = tensor_jacobian_product


@unary_to_nary
def make_jvp_reversemode(fun: Function, x: Any) -> Function:
    """A function that multiplies the Jacobian at x by tangents, by two applications of reverse mode.

    make_jvp_reversemode(fun, argnum=0) is a function of fun's arguments.

    >>> from adjoint.compat.autograd import make_jvp_reversemode
    >>> print(make_jvp_reversemode(lambda x: x * x)(3.0)(1.0))
    6.0
    """
    vjp, y = _make_vjp(fun, x)
    vjp_of_vjp, _ = _make_vjp(vjp, vspace(y).zeros())
    return vjp_of_vjp


def make_ggnvp(f: Function, g: Function = lambda x: 0.5 * np.sum(x**2, axis=-1), f_argnum: Any = 0) -> Function:
    """A function that multiplies the generalized Gauss-Newton matrix of g(f(x)), at a point, by vectors.

    The default of g is half the sum of squares.
    """

    @unary_to_nary
    def at(f: Function, x: Any) -> Function:
        f_vjp, f_x = _make_vjp(f, x)
        g_hvp, _ = _make_vjp(grad(g), f_x)
        f_jvp, _ = _make_vjp(f_vjp, vspace(f_x).zeros())
        return lambda v: f_vjp(g_hvp(f_jvp(v)))

    return at(f, f_argnum)


@unary_to_nary
def value_and_grad(fun: Function, x: Any) -> tuple[Any, Any]:
    """The pair of value and gradient of a function, which scipy.optimize takes with jac=True.

    value_and_grad(fun, argnum=0) is a function of fun's arguments. Raises TypeError unless the result is one real
    number.

    >>> from adjoint.compat.autograd import value_and_grad
    >>> print(*value_and_grad(lambda x: x * x)(3.0))
    9.0 6.0
    """
    vjp, ans = _make_vjp(fun, x)
    if vspace(ans).size != 1:
        raise TypeError(
            "value_and_grad only applies to real scalar-output functions. Try jacobian, elementwise_grad or "
            "holomorphic_grad."
        )
    return ans, vjp(_one(ans))


@unary_to_nary
def grad_and_aux(fun: Function, x: Any) -> tuple[Any, Any]:
    """The gradient of the first of two results, and the second result unchanged.

    grad_and_aux(fun, argnum=0) is a function of fun's arguments that returns the pair.

    >>> from adjoint.compat.autograd import grad_and_aux
    >>> print(*grad_and_aux(lambda x: (x * x, "note"))(3.0))
    6.0 note
    """
    vjp, (ans, aux) = _make_vjp(fun, x)
    leaves, structure = flatten(aux)
    zeros = structure.unflatten([vspace(leaf).zeros() if _has_space(leaf) else None for leaf in leaves])
    return vjp((_one(ans), zeros)), aux


def _has_space(leaf: Any) -> bool:
    try:
        vspace(leaf)
    except TypeError:
        return False
    return True


def multigrad_dict(fun: Function) -> Function:
    """The gradients with respect to all arguments, as a dictionary with the names of the parameters.

    fun: a function with a real number as result.

    >>> from adjoint.compat.autograd import multigrad_dict
    >>> gradients = multigrad_dict(lambda x, y: x * y)(2.0, 3.0)
    >>> print(gradients["x"], gradients["y"])
    3.0 2.0
    """
    signature = inspect.signature(fun)

    def grad_of_all(*args: Any, **kwargs: Any) -> dict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()

        def of_dict(values: dict[str, Any]) -> Any:
            call = inspect.BoundArguments(signature, OrderedDict(values))
            return fun(*call.args, **call.kwargs)

        return grad(of_dict)(dict(bound.arguments))

    return grad_of_all


def checkpoint(fun: Function) -> Function:
    """A function with a checkpoint: it saves no intermediate values, and its backward pass recomputes them.

    fun: a function of arrays. The result has the same arguments and values.

    >>> from adjoint.compat.autograd import checkpoint, grad
    >>> print(grad(checkpoint(lambda x: x * x * x))(2.0))
    12.0
    """

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        def on_tensors(*args: Any, **kwargs: Any) -> Any:
            with tracing():
                return unwrap(fun(*_box(args), **_box(kwargs)))

        # a late import, since few programs need it
        from adjoint.tools import checkpoint as checkpoints

        return wrap(checkpoints.checkpoint(on_tensors, *operands(args), use_reentrant=False, **operands(kwargs)))

    return call


def _box(tree: Any) -> Any:
    leaves, structure = flatten(tree)
    return structure.unflatten([ArrayBox(x) if isinstance(x, TensorBase) else x for x in leaves])  # type: ignore[arg-type]
