"""adjoint.func: transformations of functions, one by one and nested."""

import gc
import itertools
import math
import threading
import time
import weakref
from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest

import adjoint
import adjoint.autograd.forward_ad as fwAD
from adjoint.core.modes.state import current
from adjoint.func import (
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linear_transpose,
    linearize,
    vjp,
    vmap,
)

Pair = namedtuple("Pair", ["a", "b"])


@dataclass
class Model:
    weight: Any
    bias: Any
    name: str = field(default="", metadata={"static": True})


def t(*values):
    return adjoint.tensor(values[0] if len(values) == 1 else list(values), dtype=adjoint.float64)


def close(result, expected):
    """The same structure, shapes and values."""
    if isinstance(expected, (tuple, list)):
        assert type(result) is type(expected)
        assert len(result) == len(expected)
        for one, other in zip(result, expected, strict=True):
            close(one, other)
    elif isinstance(expected, dict):
        assert type(result) is type(expected)
        assert list(result) == list(expected)
        for key in expected:
            close(result[key], expected[key])
    else:
        actual = result.detach().numpy()
        expected = np.asarray(expected.detach().numpy() if isinstance(expected, adjoint.Tensor) else expected)
        assert actual.shape == expected.shape
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)


def finite_differences(function, array, step=1e-6):
    """The Jacobian of a real function of one array. Its shape is the result's shape and then the array's."""
    columns = []
    for index in np.ndindex(array.shape):
        values = []
        for sign in (1, -1):
            neighbour = array.copy()
            neighbour[index] += sign * step
            values.append(function(adjoint.tensor(neighbour)).detach().numpy())
        columns.append((values[0] - values[1]) / (2 * step))
    return np.stack(columns, -1).reshape(*columns[0].shape, *array.shape)


# Each transformation as an operator from an elementwise function to its derivative, for any shape of x.

OPERATORS = {
    "grad": lambda f: grad(lambda x: f(x).sum()),
    "jvp": lambda f: lambda x: jvp(f, (x,), (adjoint.ones_like(x),))[1],
    "vjp": lambda f: lambda x: vjp(f, x)[1](adjoint.ones_like(x))[0],
    "linearize": lambda f: lambda x: linearize(f, x)[1](adjoint.ones_like(x)),
    "jacrev": lambda f: lambda x: add_up(jacrev(f)(x), x),
    "jacfwd": lambda f: lambda x: add_up(jacfwd(f)(x), x),
}
REVERSE = ["grad", "vjp", "linearize", "jacrev"]


def add_up(jacobian, x):
    """The row sums of the Jacobian of an elementwise function."""
    return jacobian.sum(-1) if x.ndim else jacobian


def compose(names, f):
    for name in reversed(names):
        f = OPERATORS[name](f)
    return f


def compositions(*depths):
    return [names for depth in depths for names in itertools.product(OPERATORS, repeat=depth)]


def smooth(x):
    return x**5 + adjoint.exp(2 * x) * 0.5


def smooth_derivative(x, order):
    return math.perm(5, order) * x ** (5 - order) + 2**order * np.exp(2 * x) * 0.5


@pytest.mark.parametrize("names", compositions(1, 2, 3), ids="-".join)
def test_every_composition_gives_the_derivative_of_that_order(names):
    for value in (np.array(0.7), np.array([0.3, -1.1])):
        close(compose(names, smooth)(adjoint.tensor(value)), smooth_derivative(value, len(names)))


@pytest.mark.parametrize("names", compositions(1, 2), ids="-".join)
def test_compositions_stay_connected_to_inputs_that_require_grad(names):
    value = np.array([0.3, -1.1])
    x = adjoint.tensor(value, requires_grad=True)
    result = compose(names, smooth)(x)
    close(result, smooth_derivative(value, len(names)))
    result.sum().backward()
    close(x.grad, smooth_derivative(value, len(names) + 1))


@pytest.mark.parametrize("names", compositions(1, 2), ids="-".join)
def test_compositions_stay_connected_to_captured_tensors(names):
    w = t(3.0).requires_grad_()
    x = t(0.5, 2.0)
    result = compose(names, lambda x: w**2 * x**3)(x)
    close(result, 9 * math.perm(3, len(names)) * x ** (3 - len(names)))
    (slope,) = adjoint.autograd.grad(result.sum(), w)
    close(slope, (6 * math.perm(3, len(names)) * x ** (3 - len(names))).sum())


@pytest.mark.parametrize("names", compositions(1, 2), ids="-".join)
def test_compositions_carry_the_tangents_of_a_user_s_level(names):
    value = np.array([0.3, -1.1])
    with fwAD.dual_level():
        x = fwAD.make_dual(adjoint.tensor(value), t(1.0, 2.0))
        tangent = fwAD.unpack_dual(compose(names, smooth)(x)).tangent
    close(tangent, smooth_derivative(value, len(names) + 1) * [1.0, 2.0])


# perturbation confusion -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("outer", "inner"), list(itertools.product(OPERATORS, repeat=2)))
def test_perturbations_are_not_confused(outer, inner):
    d, e = OPERATORS[outer], OPERATORS[inner]
    one, two = t(1.0), t(2.0)
    close(d(lambda x: x * e(lambda y: x + y)(one))(one), 1.0)
    close(d(lambda x: x * e(lambda y: x * y)(one))(two), 4.0)
    close(d(lambda x: x * e(lambda y: x**2 * y**3)(x))(two), 3 * 5 * 2.0**4)
    close(d(lambda x: e(lambda y: x)(x) + x)(two), 1.0)  # the inner result does not depend on y
    close(d(lambda x: e(lambda y: y)(x) + x)(two), 1.0)


@pytest.mark.parametrize(("outer", "inner"), list(itertools.product(OPERATORS, repeat=2)))
def test_the_same_tensor_at_both_levels(outer, inner):
    d, e = OPERATORS[outer], OPERATORS[inner]
    x = t(3.0)
    close(d(lambda a: e(lambda b: a * b * x)(x))(x), 3.0)  # d/da (a x) at x


def test_a_tangent_reached_through_a_base_is_seen_by_reverse_mode_inside():
    def f(x):
        buffer = adjoint.zeros(3, dtype=adjoint.float64)
        part = buffer[:2]
        buffer.add_(x)  # the part gets its tangent only by its base
        return grad(lambda p: (p**3).sum())(part)

    close(jvp(f, (t(1.0, 2.0, 3.0),), (t(1.0, 1.0, 1.0),)), (t(3.0, 12.0), t(6.0, 12.0)))


# values ---------------------------------------------------------------------------------------------------------------

rng = np.random.default_rng(3)
A, B = rng.normal(size=(2, 3)), rng.normal(size=(3, 2))


def dense_function(x):
    """A function from (2, 3) to (2, 2). Each entry depends on all entries."""
    return adjoint.tanh(x @ adjoint.tensor(B)) * x.sum() + (x * adjoint.tensor(A)).exp().prod()


def test_jacobians_agree_with_each_other_and_with_finite_differences():
    x = rng.normal(size=(2, 3))
    expected = finite_differences(dense_function, x)
    reverse, forward = jacrev(dense_function)(adjoint.tensor(x)), jacfwd(dense_function)(adjoint.tensor(x))
    assert reverse.shape == forward.shape == (2, 2, 2, 3)
    np.testing.assert_allclose(reverse.numpy(), expected, rtol=1e-6, atol=1e-8)
    close(forward, reverse)


def test_products_agree_with_the_jacobian():
    x, direction, cotangent = adjoint.tensor(A), adjoint.tensor(rng.normal(size=(2, 3))), adjoint.tensor(B[:2])
    jacobian = jacrev(dense_function)(x).numpy()
    pushed = np.tensordot(jacobian, direction.numpy(), 2)
    close(jvp(dense_function, (x,), (direction,)), (dense_function(x), pushed))
    value, derivative = linearize(dense_function, x)
    close((value, derivative(direction)), (dense_function(x), pushed))
    value, pullback = vjp(dense_function, x)
    close((value, pullback(cotangent)), (dense_function(x), (np.tensordot(cotangent.numpy(), jacobian, 2),)))


@pytest.mark.parametrize(("outer", "inner"), list(itertools.product([jacfwd, jacrev], repeat=2)))
def test_hessians_by_all_modes(outer, inner):
    f = lambda x: dense_function(x).sum()
    x = rng.normal(size=(2, 3))
    expected = finite_differences(grad(f), x)
    np.testing.assert_allclose(outer(inner(f))(adjoint.tensor(x)).numpy(), expected, rtol=1e-6, atol=1e-7)
    close(hessian(f)(adjoint.tensor(x)), outer(inner(f))(adjoint.tensor(x)))


def test_transposes_of_linear_functions():
    matrix = adjoint.tensor(A)
    back = linear_transpose(lambda x, y: (matrix @ x, {"sum": x.sum() + 2 * y}), t(0.0, 0.0, 0.0), t(0.0))
    close(back((t(1.0, 2.0), {"sum": t(3.0)})), (A.T @ [1.0, 2.0] + 3.0, t(6.0)))


def test_a_pullback_and_a_linear_map_may_be_used_again():
    x = t(1.0, 2.0)
    _, pullback = vjp(lambda x: x**3, x)
    _, derivative = linearize(lambda x: x**3, x)
    for factor in (1.0, -2.0):
        close(pullback(t(factor, factor)), (3 * factor * x**2,))
        close(derivative(t(factor, factor)), 3 * factor * x**2)


def test_pullbacks_and_linear_maps_can_be_differentiated():
    x, direction = t(1.0, 2.0), t(0.5, -1.0)
    close(jacrev(lambda v: linearize(smooth, x)[1](v))(direction), np.diag(smooth_derivative(x.numpy(), 1)))
    close(jacfwd(lambda v: vjp(smooth, x)[1](v)[0])(direction), np.diag(smooth_derivative(x.numpy(), 1)))
    driver = direction.clone().requires_grad_()
    linearize(smooth, x)[1](driver).sum().backward()
    close(driver.grad, smooth_derivative(x.numpy(), 1))
    driver.grad = None
    vjp(smooth, x)[1](driver)[0].sum().backward()
    close(driver.grad, smooth_derivative(x.numpy(), 1))


# complex numbers ------------------------------------------------------------------------------------------------------

Z = np.array([1.0 + 2.0j, -0.5 + 0.25j])


def c(array=Z):
    return adjoint.tensor(array)


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda z: z**3, np.diag(3 * Z**2)),
        (lambda z: (z.exp() * 2j).sum(), 2j * np.exp(Z)),
        (lambda z: z.conj(), np.zeros((2, 2))),  # ∂/∂z of a function of z̄ alone
        (lambda z: (z * z.conj()).real, np.diag(2 * Z)),  # a real result: its gradient
        (lambda z: z.imag, np.diag([1j, 1j])),
    ],
    ids=["cube", "exp", "conj", "squared modulus", "imag"],
)
@pytest.mark.filterwarnings("ignore:.*not a holomorphic function:UserWarning")
def test_complex_jacobians(jacobian, f, expected):
    matrix = jacobian(f)(c())
    assert matrix.dtype == adjoint.complex128
    close(matrix, expected)


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_jacobians_of_complex_functions_of_real_arguments(jacobian):
    x = t(0.5, 1.5)
    matrix = jacobian(lambda x: adjoint.exp(1j * x))(x)
    assert matrix.dtype == adjoint.complex128
    close(matrix, np.diag(1j * np.exp(1j * x.numpy())))


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_half_a_derivative_is_announced(jacobian):
    with pytest.warns(UserWarning, match=rf"^{jacobian.__name__}: output 0 is not a holomorphic function of input 0"):
        matrix = jacobian(lambda z: z + 1j * z.conj() ** 2)(c())
    close(matrix, np.eye(2))


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_jacobians_of_complex_functions_are_those_of_autograd_functional(jacobian):
    for f in (lambda z: z**2, lambda z: (z.abs() ** 2).sum(), lambda z: z.real * z.imag):
        close(jacobian(f)(c()), adjoint.autograd.functional.jacobian(f, c()))


def test_complex_products():
    direction, cotangent = Z[::-1].copy(), np.array([1j, 2.0])
    close(jvp(lambda z: z**2, (c(),), (c(direction),))[1], 2 * Z * direction)
    close(linearize(lambda z: z**2, c())[1](c(direction)), 2 * Z * direction)
    close(vjp(lambda z: z**2, c())[1](c(cotangent))[0], np.conj(2 * Z) * cotangent)
    close(grad(lambda z: (z * z.conj()).real.sum())(c()), 2 * Z)


def test_holomorphic_second_derivatives():
    close(jacfwd(jacrev(lambda z: z**3))(c(Z[0])), 6 * Z[0])
    close(jacrev(jacfwd(lambda z: z**3))(c(Z[0])), 6 * Z[0])
    # the Hessian of a real function is the Jacobian of its gradient, here 4 |z|² z with ∂/∂z = 8 |z|²
    with pytest.warns(UserWarning, match="jacfwd: output 0 is not a holomorphic"):
        close(hessian(lambda z: (z * z.conj()).real ** 2)(c(Z[0])), 8 * abs(Z[0]) ** 2)


# structures -----------------------------------------------------------------------------------------------------------


def test_argnums():
    f = lambda x, y: (x * y + x).sum()
    x, y = t(1.0, 2.0), t(3.0, 4.0)
    close(grad(f)(x, y), y + 1)
    close(grad(f, 1)(x, y), x)
    close(grad(f, -1)(x, y), x)
    close(grad(f, (1, 0))(x, y), (x, y + 1))
    close(grad(f, (0,))(x, y), (y + 1,))
    close(grad_and_value(f, (0, 1))(x, y), ((y + 1, x), f(x, y)))
    close(grad(f)(x, 2.0), t(3.0, 3.0))
    close(grad(f)(x, y=2.0), t(3.0, 3.0))
    close(grad(partial(f, y=y))(x), y + 1)


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_structures_of_jacobians(jacobian):
    f = lambda x, y: (x * y, {"s": (x.sum(), [y])})
    x, y = t(1.0, 2.0), t(3.0)
    diagonal, zeros = np.eye(2) * 3, np.zeros(2)
    close(jacobian(f)(x, y), (diagonal, {"s": (np.ones(2), [zeros])}))
    close(jacobian(f, (0,))(x, y), ((diagonal,), {"s": ((np.ones(2),), [(zeros,)])}))
    expected = ((x, diagonal), {"s": ((t(0.0), np.ones(2)), [(t(1.0), zeros)])})
    close(jacobian(f, (1, 0))(x, y), expected)
    close(jacobian(lambda d: [d["a"] * d["b"][0]])({"a": x, "b": (y,)}), [{"a": diagonal, "b": (x,)}])


def test_structures_of_hessians():
    x, y = t(2.0), t(3.0)
    close(hessian(lambda x, y: x * x * y, (0, 1))(x, y), ((t(6.0), t(4.0)), (t(4.0), t(0.0))))
    tree = {"a": x, "b": y}
    expected = {"a": {"a": t(6.0), "b": t(4.0)}, "b": {"a": t(4.0), "b": t(0.0)}}
    close(hessian(lambda d: d["a"] ** 2 * d["b"])(tree), expected)
    assert hessian(lambda x: x**3)(t(1.0, 2.0)).shape == (2, 2, 2)


def test_trees_in_and_out():
    x = t(1.0, 2.0)
    gradient = grad(lambda p: (p.a * p.b[0]).sum())(Pair(x, [x * 2]))
    assert type(gradient) is Pair
    close(gradient, Pair(2 * x, [x]))
    close(grad(lambda d: (d["k"] ** 2).sum())(OrderedDict(k=x)), OrderedDict(k=2 * x))
    gradients = grad(lambda m: (m.weight * 3 + m.bias).sum())(Model(x, t(1.0), "layer"))
    assert gradients.name == "layer"
    close((gradients.weight, gradients.bias), (t(3.0, 3.0), t(2.0)))
    gradient, nothing = grad(lambda p: p[0].sum())((x, None))
    assert nothing is None
    close(gradient, t(1.0, 1.0))


def test_trees_of_directions():
    f = lambda d, y: {"q": d["a"] * y, "r": (y.sum(),)}
    d, y = {"a": t(1.0, 2.0)}, t(3.0, 4.0)
    tangents = ({"a": t(1.0, 0.0)}, t(0.0, 1.0))
    expected = {"q": t(3.0, 2.0), "r": (t(1.0),)}
    close(jvp(f, (d, y), tangents), (f(d, y), expected))
    value, derivative = linearize(f, d, y)
    close((value, derivative(*tangents)), (f(d, y), expected))
    cotangents = {"q": t(1.0, 1.0), "r": (t(10.0),)}
    close(vjp(f, d, y)[1](cotangents), ({"a": y}, d["a"] + 10))


def test_dataclasses_as_directions():
    model = Model(t(2.0), t(1.0), "m")
    result, tangent = jvp(lambda m: Model(m.weight * m.bias, m.bias, m.name), (model,), (Model(t(1.0), t(3.0), "m"),))
    close((result.weight, tangent.weight, tangent.bias), (t(2.0), t(7.0), t(3.0)))
    with pytest.raises(RuntimeError, match="same python structure"):
        jvp(lambda m: m.weight, (model,), (Model(t(1.0), t(3.0), "another"),))


def test_aux():
    x = t(1.0, 2.0)
    f = lambda x: ((x**2).sum(), {"twice": [2 * x], "name": "f", "nothing": None})
    gradient, aux = grad(f, has_aux=True)(x)
    close((gradient, aux["twice"]), (2 * x, [2 * x]))
    assert (aux["name"], aux["nothing"]) == ("f", None)
    gradient, (value, aux) = grad_and_value(f, has_aux=True)(x)
    close((gradient, value, aux["twice"]), (2 * x, t(5.0), [2 * x]))
    value, pullback, aux = vjp(f, x, has_aux=True)
    close((value, pullback(t(1.0)), aux["twice"]), (t(5.0), (2 * x,), [2 * x]))
    value, tangent, aux = jvp(f, (x,), (x,), has_aux=True)
    close((value, tangent, aux["twice"]), (t(5.0), t(10.0), [2 * x]))
    for jacobian in (jacrev, jacfwd):
        matrix, aux = jacobian(f, has_aux=True)(x)
        close((matrix, aux["twice"]), (2 * x, [2 * x]))
        assert not aux["twice"][0].requires_grad


def test_the_same_tensor_as_several_arguments_and_results():
    x = t(1.0, 2.0)
    close(vjp(lambda a, b: a * b**2, x, x)[1](t(1.0, 1.0)), (x**2, 2 * x * x))
    close(vjp(lambda v: (v, v), x)[1]((t(1.0, 2.0), t(3.0, 4.0))), (t(4.0, 6.0),))
    close(jvp(lambda v: (v, v), (x,), (t(3.0, 4.0),)), ((x, x), (t(3.0, 4.0), t(3.0, 4.0))))


def test_names_are_kept():
    def loss(x):
        """The loss."""
        return x.sum()

    for transformation in (grad, grad_and_value, jacrev, jacfwd, hessian):
        assert transformation(loss).__name__ == "loss"
        assert transformation(loss).__doc__ == "The loss."


# errors ---------------------------------------------------------------------------------------------------------------

X = t(1.0, 2.0, 3.0)
ONES = t(1.0, 1.0, 1.0)
SCALAR = "grad_and_value(f)(*args): Expected f(*args) to return a "
INSTEAD = " Maybe you wanted to use the vjp or jacrev APIs instead?"
NO_TENSOR = "Thing passed to transform API must be Tensor, got <class 'str'>"
NO_AUX = ": output of function f should be a tuple: (output, aux) if has_aux is True"
INTEGERS = (
    "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype adjoint.int64"
)
EMPTY = ": Expected f to be a function that has non-empty output (got output = "
STRUCTURES = (
    "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, if "
    "primals is a tuple of 3 tensors, tangents also must be. Got primals with structure "
)
ONE, TWO = "TreeSpec(tuple, None, [*])", "TreeSpec(tuple, None, [*,\n  *])"
INDEPENDENT = (
    "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with "
    "strict=True."
)
IN_PLACE = "a leaf Variable that requires grad is being used in an in-place operation."
total = lambda *args: sum(a.sum() for a in args)
square = lambda x: x**2
number = lambda x: 3.0
nothing = lambda x: None
constant = lambda x: adjoint.zeros(2)

# recorded from torch 2.13
ERRORS = [
    (lambda: grad(square)(X), RuntimeError, SCALAR + "scalar Tensor, got tensor with 1 dims." + INSTEAD),
    (lambda: grad(number)(X), RuntimeError, SCALAR + "Tensor, got <class 'float'>"),
    (lambda: grad(lambda x: (x.sum(), x))(X), RuntimeError, SCALAR + "Tensor, got <class 'tuple'>"),
    (lambda: grad(total, 2)(X), RuntimeError, "Got argnum=2, but only 1 positional inputs"),
    (lambda: grad(total, -2)(X), RuntimeError, "Got argnum=-2, but only 1 positional inputs"),
    (lambda: grad(total)(), RuntimeError, "Got argnum=0, but only 0 positional inputs"),
    (lambda: grad(total, "a")(X), RuntimeError, "argnums must be int or Tuple[int, ...], got: <class 'str'>"),
    (lambda: grad(total, [0])(X), RuntimeError, "argnums must be int or Tuple[int, ...], got: <class 'list'>"),
    (lambda: grad(total, ("a",))(X), RuntimeError, "argnum must be int, got: <class 'str'>"),
    (lambda: grad(total, ())(X), RuntimeError, "argnums must be non-empty"),
    (lambda: grad(total, (0, 0))(X, X), RuntimeError, "argnums elements must be unique, got (0, 0)"),
    (lambda: grad(total, (0, -2))(X, X), RuntimeError, "argnums elements must be unique, got (0, 0)"),
    (lambda: grad(total, has_aux=True)(X), RuntimeError, "grad_and_value(f)(*args)" + NO_AUX),
    (lambda: grad(lambda x: [x, x], has_aux=True)(X), RuntimeError, "grad_and_value(f)(*args)" + NO_AUX),
    (lambda: grad(lambda x: (x, x, x), has_aux=True)(X), RuntimeError, "grad_and_value(f)(*args)" + NO_AUX),
    (lambda: grad(total)("2"), ValueError, NO_TENSOR),
    (lambda: grad(lambda p: p[0].sum())((X, "2")), ValueError, NO_TENSOR),
    (
        lambda: grad(total)(adjoint.tensor([1, 2])),
        RuntimeError,
        "only Tensors of floating point dtype can require gradients",
    ),
    (
        lambda: grad(lambda z: z * z)(adjoint.tensor(1 + 2j)),
        RuntimeError,
        "grad can be implicitly created only for real scalar outputs but got adjoint.complex64",
    ),
    (lambda: grad(lambda x: x.mul_(2).sum())(X.clone()), RuntimeError, IN_PLACE),
    (lambda: vjp(number, X), RuntimeError, "vjp(f, *primals): expected f(*primals) to return only tensors, got "
        "unsupported type <class 'float'>"),
    (lambda: vjp(lambda x: (x, 3.0), X), RuntimeError, "vjp(f, *primals): expected f(*primals) to return only tensors, "
        "got unsupported type <class 'float'>"),
    (lambda: vjp(nothing, X), RuntimeError, "vjp(f, *primals)" + EMPTY + "[None])"),
    (lambda: vjp(lambda x: (), X), RuntimeError, "vjp(f, *primals)" + EMPTY + "[])"),
    (lambda: vjp(square, "2"), ValueError, NO_TENSOR),
    (lambda: vjp(square, X, has_aux=True), RuntimeError, "vjp(f, *primals)" + NO_AUX),
    (lambda: vjp(lambda x: x.argmax(), X), RuntimeError, INTEGERS),
    (lambda: vjp(lambda x: (x, x.argmax()), X), RuntimeError, INTEGERS),
    (lambda: vjp(square, X)[1](2.0), TypeError, "gradients can be either Tensors or None, but got float"),
    (
        lambda: vjp(square, X)[1](t(1.0, 2.0)),
        RuntimeError,
        "Mismatch in shape: grad_output[0] has a shape of adjoint.Size([2]) and output[0] has a shape of "
        "adjoint.Size([3]).",
    ),
    (
        lambda: vjp(lambda x: {"a": x, "b": x}, X)[1](X),
        RuntimeError,
        "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
        "cotangents: *, primal output: {'a': *, 'b': *}",
    ),
    (
        lambda: jvp(square, [X], [ONES]),
        RuntimeError,
        "jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals).",
    ),
    (lambda: jvp(square, (X,), (X, X)), RuntimeError, STRUCTURES + f"{ONE} and tangents with structure {TWO}"),
    (
        lambda: jvp(square, (X,), [X]),
        RuntimeError,
        STRUCTURES + f"{ONE} and tangents with structure TreeSpec(list, None, [*])",
    ),
    (
        lambda: jvp(lambda d: d["a"], ({"a": X, "b": X},), ({"b": X, "a": X},)),
        RuntimeError,
        STRUCTURES + "TreeSpec(tuple, None, [TreeSpec(dict, ['a', 'b'], [*,\n    *])]) and tangents with structure "
        "TreeSpec(tuple, None, [TreeSpec(dict, ['b', 'a'], [*,\n    *])])",
    ),
    (lambda: jvp(lambda: X, (), ()), RuntimeError, "jvp(f, primals, tangents): Expected primals to contain at "
        "least one Tensor."),
    (
        lambda: jvp(square, (2.0,), (X,)),
        RuntimeError,
        "jvp(f, primals, tangents): Expected primals to only contain Tensors, got <class 'float'>",
    ),
    (
        lambda: jvp(square, (X,), (2.0,)),
        RuntimeError,
        "jvp(f, primals, tangents): Expected tangents to only contain Tensors, got <class 'float'>",
    ),
    (
        lambda: jvp(square, (X,), (t(1.0, 2.0),)),
        RuntimeError,
        "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
        "supported. Tensor is of size [3] while the given forward gradient is of size [2].",
    ),
    (
        lambda: jvp(square, (adjoint.tensor([1]),), (adjoint.tensor([1]),)),
        ValueError,
        "Expected primal to be floating point or complex, but got: adjoint.int64",
    ),
    (lambda: jvp(number, (X,), (X,)), RuntimeError, "jvp(f, primals, tangents): expected f(*primals) to return only "
        "tensors, got unsupported type <class 'float'>"),
    (lambda: jvp(nothing, (X,), (X,)), RuntimeError, "jvp(f, primals, tangents)" + EMPTY + "[None])"),
    (lambda: jvp(square, (X,), (X,), has_aux=True), RuntimeError, "jvp(f, primals, tangents)" + NO_AUX),
    (lambda: jvp(constant, (X,), (X,), strict=True), RuntimeError, INDEPENDENT),
    (lambda: jvp(lambda x: (x, constant(x)), (X,), (X,), strict=True), RuntimeError, INDEPENDENT),
    (
        lambda: linearize(square, X)[1](X, X),
        RuntimeError,
        f"Expected the tangents {TWO} to have the same argspec as the primals {ONE}",
    ),
    (
        lambda: linearize(square, X)[1](t(1.0, 2.0)),
        RuntimeError,
        "tangent:0 with shape adjoint.Size([2]) in flattened pytree doesn't match the shape adjoint.Size([3]) of the "
        "corresponding primal.",
    ),
    (
        lambda: linearize(square, X)[1](X.float()),
        RuntimeError,
        "tangent:0 with dtype adjoint.float32 in flattened pytree doesn't match the dtype adjoint.float64 of the "
        "corresponding primal.",
    ),
    (
        lambda: linearize(square, X)[1](2.0),
        RuntimeError,
        "tangent:0 in flattened pytree must be a Tensor, got <class 'float'>",
    ),
    (lambda: linearize(square, "2"), ValueError, NO_TENSOR),
    (lambda: jacrev(square)("2"), ValueError, NO_TENSOR),
    (lambda: jacfwd(square)("2"), ValueError, NO_TENSOR),
    (lambda: jacrev(number)(X), RuntimeError, "vjp(f, *primals): expected f(*primals) to return only tensors, got "
        "unsupported type <class 'float'>"),
    (lambda: jacfwd(number)(X), RuntimeError, "jvp(f, primals, tangents): expected f(*primals) to return only tensors, "
        "got unsupported type <class 'float'>"),
    (lambda: jacrev(lambda x: x.argmax())(X), RuntimeError, INTEGERS),
    (lambda: jacrev(square, has_aux=True)(X), RuntimeError, "vjp(f, *primals)" + NO_AUX),
    (lambda: jacfwd(square, has_aux=True)(X), RuntimeError, "jvp(f, primals, tangents)" + NO_AUX),
    (lambda: jacrev(square, 3)(X), RuntimeError, "Got argnum=3, but only 1 positional inputs"),
    (lambda: jacfwd(square, "a")(X), RuntimeError, "argnums must be int or Tuple[int, ...], got: <class 'str'>"),
    (lambda: hessian(square, 1)(X), RuntimeError, "Got argnum=1, but only 1 positional inputs"),
    (
        lambda: jacfwd(square, randomness="foo")(X),
        RuntimeError,
        "Only allowed values for randomness are 'error', 'different', or 'same'. Got foo",
    ),
    (lambda: jacfwd(lambda x: x * adjoint.rand(3))(X), RuntimeError, "vmap: called random operation while in "
        "randomness error mode. Please either use the 'same' or 'different' randomness flags on vmap or perform the "
        "randomness operation out of vmap"),
    (lambda: jacrev(square, chunk_size=0), ValueError, "jacrev: `chunk_size` should be greater than 0."),
    (lambda: jacfwd(square, chunk_size=-1), ValueError, "jacfwd: `chunk_size` should be greater than 0."),
    (lambda: jacrev(lambda x: x.mul_(2))(X.clone()), RuntimeError, IN_PLACE),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "message"), ERRORS, ids=[str(i) for i in range(len(ERRORS))])
def test_errors(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message
    assert_nothing_open()


def assert_nothing_open():
    state = current()
    assert (state.dual_stack, state.unusual, state.grad_enabled, state.backward_depth) == ((), 0, True, 0)


TRANSFORMED = {
    "grad": lambda f: grad(f)(X),
    "grad_and_value": lambda f: grad_and_value(f)(X),
    "vjp": lambda f: vjp(f, X),
    "jvp": lambda f: jvp(f, (X,), (ONES,)),
    "linearize": lambda f: linearize(f, X),
    "linear_transpose": lambda f: linear_transpose(f, X),
    "jacrev": lambda f: jacrev(f)(X),
    "jacfwd": lambda f: jacfwd(f)(X),
    "hessian": lambda f: hessian(f)(X),
}


@pytest.mark.parametrize("name", TRANSFORMED)
@pytest.mark.parametrize("mode", [adjoint.enable_grad, adjoint.no_grad])
def test_exceptions_inside_leave_everything_as_it_was(name, mode):
    class Unexpected(Exception):
        pass

    def f(x):
        adjoint.func.jvp(lambda y: (x * y).sum(), (x,), (ONES,))
        raise Unexpected

    with mode():
        with pytest.raises(Unexpected):
            TRANSFORMED[name](f)
        assert adjoint.is_grad_enabled() == (mode is adjoint.enable_grad)
    assert_nothing_open()
    close(grad(lambda x: (x**2).sum())(X), 2 * X)


# history --------------------------------------------------------------------------------------------------------------


def flags_of(*tensors):
    return [tensor.requires_grad for tensor in tensors]


def value_of_vjp(x):
    return vjp(square, x)[0]


def pull_back(x):
    return vjp(square, x)[1](x)[0]


def auxiliary_of_grad(x):
    return grad(lambda y: ((y**3).sum(), y * 2), has_aux=True)(x)[1]


def value_and_gradient(x):
    return grad_and_value(lambda y: (y**3).sum())(x)


def value_of_jvp(x):
    return jvp(square, (x,), (x,))


def test_results_have_no_history_of_their_own():
    f = lambda x: (x**3).sum()
    value, pullback = vjp(square, X)
    constant, derivative = linearize(square, X)
    results = [*grad_and_value(f)(X), value, pullback(ONES)[0], constant, derivative(ONES)]
    results += [*jvp(square, (X,), (ONES,)), jacrev(square)(X), jacfwd(square)(X), hessian(f)(X)]
    assert flags_of(*results) == [False] * len(results)


@pytest.mark.parametrize("of_tensor", [value_of_vjp, pull_back, auxiliary_of_grad, value_and_gradient, value_of_jvp])
def test_tangents_of_results_have_no_history_of_their_own(of_tensor):
    for result in jvp(of_tensor, (X,), (ONES,)):
        for part in result if isinstance(result, tuple) else (result,):
            assert not part.requires_grad
            assert part.grad_fn is None


def test_only_what_depends_on_captured_tensors_is_connected():
    w = t(1.0, 2.0, 3.0).requires_grad_()
    assert flags_of(*grad(lambda x: (x.sum(), x * w), has_aux=True)(X)) == [False, True]
    assert flags_of(*grad(lambda x: ((x * w).sum(), x * 2), has_aux=True)(X)) == [True, False]
    assert flags_of(*grad_and_value(lambda x: (x**2).sum() + w.sum())(X)) == [False, True]
    value, pullback = vjp(lambda x: (x * w, x * 2), X)
    assert flags_of(*value, *pullback((ONES, ONES))) == [True, False, True]
    value, derivative = linearize(lambda x: (x * w, x * 2), X)
    assert flags_of(*value, *derivative(ONES)) == [True, False, True, False]
    assert flags_of(*jacrev(lambda x: (x * w, x * 2))(X)) == [True, False]
    assert flags_of(*jacfwd(lambda x: (x * w, x * 2))(X)) == [True, False]


def test_captured_tensors_come_back_as_they_are():
    w = t(1.0).requires_grad_()
    for mode in (adjoint.enable_grad, adjoint.no_grad):
        with mode():
            assert vjp(lambda x: (x, w), X)[0][1] is w


def test_no_grad_around_cuts_the_results_but_not_the_derivative():
    x = X.clone().requires_grad_()
    f = lambda x: (x**3).sum()
    with adjoint.no_grad():
        value, pullback = vjp(square, x)
        constant, derivative = linearize(square, x)
        results = [*grad_and_value(f)(x), value, pullback(ONES)[0], constant, derivative(ONES)]
        results += [*jvp(square, (x,), (ONES,)), jacrev(square)(x), jacfwd(square)(x), hessian(f)(x)]
        close(results[:2], [3 * X**2, (X**3).sum()])
        close(results[-1], np.diag(6 * X.numpy()))
        close(compose(["grad", "vjp", "jacrev"], smooth)(x), smooth_derivative(X.numpy(), 3))
    assert flags_of(*results) == [False] * len(results)


def test_no_grad_inside_makes_a_constant():
    def f(x):
        with adjoint.no_grad():
            factor = (x**2).sum()
        return x.sum() * factor

    close(grad(f)(X), 14 * ONES)

    def g(x):
        with adjoint.no_grad():
            slope = grad(lambda y: (y**3).sum())(x)
        return (x * slope).sum()

    close(grad(g)(X), 3 * X**2)


def test_detach_inside():
    close(grad(lambda x: (x.detach() * x).sum())(X), X)
    close(jvp(lambda x: (x.detach() * x).sum(), (X,), (ONES,)), (14.0, 6.0))


def test_gradients_do_not_arrive_in_the_caller_s_tensors():
    x = X.clone().requires_grad_()
    close(grad(lambda x: (x**2).sum())(x), 2 * X)
    assert x.grad is None
    assert x.grad_fn is None
    close(grad(lambda v: adjoint.autograd.grad((v**3).sum(), v, create_graph=True)[0].sum())(X), 6 * X)


def test_results_that_do_not_depend_on_the_arguments():
    zeros, pair = np.zeros(3), lambda x: (constant(x), x * 0 + 1)
    close(grad(lambda x: t(3.0))(X), zeros)
    close(grad(lambda x: adjoint.tensor(3))(X), zeros)
    close(grad(lambda x: x.argmax())(X), zeros)
    close(grad(lambda x, y: (x**2).sum(), 1)(X, X), zeros)
    close(vjp(constant, X)[1](adjoint.ones(2)), (zeros,))
    close(jvp(constant, (X,), (ONES,)), (np.zeros(2), np.zeros(2)))
    close(linearize(constant, X)[1](ONES), np.zeros(2))
    close(linearize(pair, X)[1](ONES), (np.zeros(2), zeros))
    for jacobian in (jacrev, jacfwd):
        close(jacobian(pair)(X), (np.zeros((2, 3)), np.zeros((3, 3))))
    close(hessian(lambda x: x.sum())(X), np.zeros((3, 3)))
    w = t(2.0).requires_grad_()
    close(grad(lambda x: w * 3)(X), zeros)


# in place -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", compositions(1, 2), ids="-".join)
def test_functions_that_work_in_place_inside(names):
    def cube(x):
        buffer = adjoint.zeros_like(x)
        buffer.add_(x)
        buffer.mul_(x)
        result = adjoint.zeros_like(x)
        result[...] = buffer * x
        return result

    x = np.array([0.5, 2.0])
    close(compose(names, cube)(adjoint.tensor(x)), math.perm(3, len(names)) * x ** (3 - len(names)))


def test_writing_to_places():
    def f(x):
        result = adjoint.zeros(3, dtype=adjoint.float64)
        result.copy_(x)
        result[0] = x[1] * x[2]
        return result.sum()

    close(grad(f)(X), t(0.0, 4.0, 3.0))
    close(jacfwd(f)(X), t(0.0, 4.0, 3.0))
    close(hessian(f)(X), np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0]]))


def test_an_argument_changed_in_place_by_forward_mode():
    x, tangent = X.clone(), ONES.clone()
    close(jvp(lambda v: v.mul_(2), (x,), (tangent,)), (2 * X, 2 * ONES))
    close(x, 2 * X)  # as in torch, the argument is modified


def test_jacfwd_gives_every_run_the_same_argument():
    x = X.clone()
    close(jacfwd(lambda v: v.mul_(v))(x), np.diag(2 * X.numpy()))
    close(x, X)


def test_a_followed_argument_may_not_be_changed_in_place():
    y = X.clone().requires_grad_() * 1
    with pytest.raises(RuntimeError, match=IN_PLACE):
        grad(lambda v: (v.mul_(3) ** 2).sum())(y)
    with pytest.raises(RuntimeError, match=IN_PLACE):
        grad(lambda x: grad(lambda v: (v.mul_(3) ** 2).sum())(x * 1).sum())(X)


STEPS = {
    "j": lambda f: lambda x: jvp(f, (x,), (x.detach().cos(),))[1],
    "r": lambda f: grad(lambda x: f(x).sum()),
    "v": lambda f: lambda x: vmap(f)(x[None])[0],
}
#: Functions that overwrite values that derivatives need, or that use them outside of the graph, and correct forms.
WRITES = {
    "mul_": (lambda y: y.mul_(y.clone()), lambda y: y * y),
    "square_": (lambda y: y.square_(), lambda y: y.square()),
    "sin_": (lambda y: y.sin_(), lambda y: y.sin()),
    "exp_": (lambda y: y.exp_(), lambda y: y.exp()),
    "div_": (lambda y: y.div_(y + 1), lambda y: y / (y + 1)),
    "addcmul_": (lambda y: y.addcmul_(y, y), lambda y: y + y * y),
    "of a view": (lambda y: (y[1:].square_(), y)[1], lambda y: adjoint.cat([y[:1], y[1:].square()])),
    "detach_": (lambda y: (y.prod(), y.detach_())[0], lambda y: y.prod()),
}


@pytest.mark.parametrize("steps", list(itertools.product(STEPS, repeat=3)), ids="".join)
def test_three_derivatives_at_a_leaf_while_nothing_is_recorded(steps):
    def f(x):
        return (x * x).sin() * x

    for step in steps:
        f = STEPS[step](f)
    x = t(0.3, -0.8, 1.1)
    expected = f(x)
    with adjoint.no_grad():
        close(f(x.requires_grad_()), expected)


@pytest.mark.parametrize("steps", list(itertools.product(STEPS, repeat=3)), ids="".join)
@pytest.mark.parametrize("name", WRITES)
def test_three_derivatives_of_a_function_that_writes(name, steps):
    def make(change):
        def f(x):
            return change(2 / (1.5 + x * x))

        for step in steps:
            f = STEPS[step](f)
        return f

    x = t(0.3, -0.8, 1.1)
    writing, plain = WRITES[name]
    close(make(writing)(x), make(plain)(x))


# shapes and dtypes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [adjoint.float32, adjoint.float64])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0)])
def test_dtypes_and_shapes_are_kept(dtype, shape):
    x = adjoint.ones(shape, dtype=dtype)
    gradient, value = grad_and_value(lambda x: (x**2).sum())(x)
    results = [(gradient, shape), (value, ()), (jvp(square, (x,), (x,))[1], shape), (vjp(square, x)[1](x)[0], shape)]
    results += [(linearize(square, x)[1](x), shape), (jacrev(square)(x), shape * 2), (jacfwd(square)(x), shape * 2)]
    results += [(hessian(square)(x), shape * 3), (jacrev(jacfwd(square))(x), shape * 3)]
    results += [(jacrev(lambda x: x.sum())(x), shape), (jacfwd(lambda x: x.sum())(x), shape)]
    for result, expected in results:
        assert (result.dtype, tuple(result.shape), result.ndim) == (dtype, expected, len(expected))


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 7])
@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_jacobians_in_chunks(jacobian, chunk_size):
    def f(x, y):
        return {"outer": x[:, None] * y, "sum": (x.sum() * y.sum()) ** 2}

    y = t(4.0, 5.0)
    close(jacobian(f, (0, 1), chunk_size=chunk_size)(X, y), jacobian(f, (0, 1))(X, y))


def test_jacfwd_is_one_mapped_run():
    runs = []

    def f(x):
        runs.append(x)
        return x**2

    close(jacfwd(f)(X), np.diag(2 * X.numpy()))
    assert len(runs) == 1
    jacfwd(lambda x: (f(x), x), has_aux=True)(X)
    assert len(runs) == 3  # aux is the value of a run without vmap


def test_random_numbers_in_jacfwd():
    same = jacfwd(lambda x: x.sum() * adjoint.rand(2), randomness="same")(X)
    assert bool((same == same[:, :1]).all())
    different = jacfwd(lambda x: x.sum() * adjoint.rand(2), randomness="different")(X)
    assert len(set(different.flatten().tolist())) == 6


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_jacobians_of_complex_functions_under_vmap(jacobian):
    z = adjoint.tensor(np.stack([Z, 2j * Z]))
    of = jacobian(lambda z: z**2 * z[0])
    close(vmap(of)(z), np.stack([of(row).numpy() for row in z]))
    with pytest.warns(UserWarning, match="is not a holomorphic"):
        vmap(jacobian(lambda z: z * z.conj()))(z)


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_empty_results_and_arguments(jacobian):
    assert tuple(jacobian(lambda x: x[:0])(X).shape) == (0, 3)
    assert tuple(jacobian(lambda x: x.sum() * ONES)(t([])).shape) == (3, 0)
    assert tuple(jacobian(lambda z: z[:0] * 1j)(X).shape) == (0, 3)
    assert jacobian(lambda z: z[:0] * 1j)(X).dtype == adjoint.complex128


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_blocks_have_the_dtype_of_their_argument(jacobian):
    x, y = adjoint.ones(2, dtype=adjoint.float32), adjoint.ones(2, dtype=adjoint.float64)
    blocks = jacobian(lambda x, y: x * y, (0, 1))(x, y)
    assert [block.dtype for block in blocks] == [adjoint.float32, adjoint.float64]


# resources ------------------------------------------------------------------------------------------------------------


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", TRANSFORMED)
@pytest.mark.parametrize("follow", [False, True], ids=["plain", "requires_grad"])
def test_nothing_outlives_the_results(name, follow):
    """Without the garbage collector: recorded values are freed with the results."""
    captured = t(1.0).requires_grad_(follow)
    notes = []

    def f(x):
        middle = x * captured
        value = (middle**2).sum()
        notes.extend([weakref.ref(x), weakref.ref(middle), weakref.ref(value)])
        return value

    gc.collect()
    gc.disable()
    try:
        results = TRANSFORMED[name](f)
        assert notes
        del results
        assert [reference() for reference in notes] == [None] * len(notes)
    finally:
        gc.enable()


def test_plain_results_do_not_keep_the_recording():
    notes = []

    def f(x):
        middle = x * 2
        notes.append(weakref.ref(middle))
        return (middle**2).sum()

    gc.collect()
    gc.disable()
    try:
        results = [grad_and_value(f)(X), jvp(f, (X,), (ONES,)), jacrev(f)(X), jacfwd(f)(X), hessian(f)(X)]
        assert [reference() for reference in notes] == [None] * len(notes)
        assert len(results) == 5
    finally:
        gc.enable()


def test_threads_do_not_disturb_each_other():
    results: dict[int, list[float]] = {}
    start = threading.Barrier(4)

    def work(number):
        start.wait()
        x = t(0.1 * (number + 1))
        names = [["grad", "jvp", "jacrev"], ["jvp", "jvp", "jvp"], ["jacfwd", "vjp", "grad"], ["linearize", "jvp"]]
        results[number] = [compose(names[number], smooth)(x).item() for _ in range(20)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, order in enumerate([3, 3, 3, 2]):
        np.testing.assert_allclose(results[number], smooth_derivative(0.1 * (number + 1), order), rtol=1e-9)


def test_a_pullback_may_be_called_in_another_thread():
    _, pullback = vjp(square, X)
    _, derivative = linearize(square, X)
    results = []
    thread = threading.Thread(target=lambda: results.extend([pullback(ONES)[0], derivative(ONES)]))
    thread.start()
    thread.join()
    close(results, [2 * X, 2 * X])


@pytest.mark.parametrize("chunk_size", [None, 1, 2, 100])
def test_jacrev_in_chunks(chunk_size):
    x = adjoint.tensor([0.5, 1.5, -1.0], dtype=adjoint.float64)
    unused = adjoint.ones(2, dtype=adjoint.float64)

    def function(x, unused):
        return x.sin().outer(x), x.sum()

    matrix = jacrev(function, argnums=(0, 1), chunk_size=chunk_size)(x, unused)
    expected = jacfwd(function, argnums=(0, 1))(x, unused)
    for row, other in zip(matrix, expected, strict=True):
        for block, target in zip(row, other, strict=True):
            adjoint.testing.assert_close(block, target)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.sin() * x.cos() * x.exp(),
        lambda x: adjoint.linalg.solve(adjoint.stack([x, x.flip(0) ** 2]), x),
        lambda x: (lambda m: m @ m @ m)(x.reshape(2, 1) * x.exp()),
    ],
)
def test_third_order_of_values_that_batches_share(f):
    """A batched pass saves values from outside of the batch. They stay outside of it in the next pass."""
    x = adjoint.tensor([2.0, 3.0], dtype=adjoint.float64)
    expected = adjoint.func.jacfwd(adjoint.func.jacfwd(adjoint.func.jacfwd(f)))(x)
    for inner in (adjoint.func.jacrev, adjoint.func.jacfwd):
        adjoint.testing.assert_close(adjoint.func.jacrev(adjoint.func.jacrev(inner(f)))(x), expected)


@pytest.mark.parametrize("p", [adjoint.tensor([1.5]), adjoint.tensor([1.5], requires_grad=True)], ids=["plain", "leaf"])
def test_batched_cotangents_of_batched_outputs_can_be_differentiated(p):
    """The derivative by a cotangent that is different for each member, and by one that all members share."""
    batch = adjoint.tensor([[0.5, 2.0], [1.0, 3.0]])

    def member(s, u=None):
        s = s.clone()
        s.requires_grad = True
        u = s[1:] if u is None else u
        (slope,) = adjoint.autograd.grad(p * s[:1] ** 2, s, u, create_graph=True)
        return adjoint.autograd.grad(slope.sum(), s if u.grad_fn is not None else u)[0]

    expected = adjoint.stack([member(s) for s in batch])
    adjoint.testing.assert_close(adjoint.vmap(member)(batch), expected)
    u = adjoint.tensor([1.0], requires_grad=True)
    expected = adjoint.stack([member(s, u) for s in batch])
    adjoint.testing.assert_close(adjoint.vmap(lambda s: member(s, u))(batch), expected)


def _time_of_steps(step: Any, n: int) -> Any:
    """The fastest time of the last steps of a loop that is recorded as a whole, in seconds."""
    scale = adjoint.ones(3, requires_grad=True)
    w = adjoint.ones(3) * scale
    times = []
    for _ in range(n):
        begin = time.perf_counter()
        w = w - 0.01 * step(w, scale)
        times.append(time.perf_counter() - begin)
    w.sum().backward()
    assert scale.grad.isfinite().all()
    return min(times[-50:])


def _energy(w: Any, scale: Any) -> Any:
    return (w.sin() * scale).sum()


UNROLLED = {
    "grad": lambda w, scale: grad(_energy)(w, scale),
    "vjp": lambda w, scale: adjoint.func.vjp(lambda w: _energy(w, scale), w)[1](adjoint.tensor(1.0))[0],
    "hvp": lambda w, scale: adjoint.func.jvp(lambda w: grad(_energy)(w, scale), (w,), (w,))[1],
    "jacfwd": lambda w, scale: adjoint.func.jacfwd(lambda w: w.sin() * scale)(w).sum(0),
    "autograd.grad": lambda w, scale: adjoint.autograd.grad(_energy(w, scale), w, create_graph=True)[0],
    "functional.jvp": lambda w, scale: adjoint.autograd.functional.jvp(
        lambda w: w.sin() * scale, w, w, create_graph=True
    )[1],
}


@pytest.mark.parametrize("name", UNROLLED)
def test_steps_take_no_longer_where_the_graph_is_long(name: str) -> None:
    """The search for inputs and for other leaves skips the older part of the graph."""
    short, long = _time_of_steps(UNROLLED[name], 60), _time_of_steps(UNROLLED[name], 2500)
    assert long < 4 * short


def test_gradients_where_users_number_nodes() -> None:
    x = adjoint.tensor(2.0, requires_grad=True)
    y = x.sin()
    z = y * x
    z.grad_fn._set_sequence_nr(1)
    y.grad_fn._set_sequence_nr(3)
    gy, gx = adjoint.autograd.grad(z, (y, x))
    assert gy == x and adjoint.allclose(gx, y + x * x.cos())


OVER_RUNS = {
    "grad": lambda f, x: grad(f)(x),
    "grad_and_value": lambda f, x: grad_and_value(f)(x)[0],
    "jacrev": lambda f, x: jacrev(f)(x),
    "jacobian": lambda f, x: adjoint.jacobian(f)(x),
    "grad_of_grad": lambda f, x: grad(lambda y: grad(f)(y).sum())(x),
    "vmap_of_grad": lambda f, x: vmap(grad(f))(x.expand(2, 3)).sum(0),
}


@pytest.mark.parametrize("name", OVER_RUNS)
def test_a_pass_does_not_enter_what_leads_to_the_argument_alone(name: str) -> None:
    x = adjoint.tensor([0.3, 0.5, 0.7], dtype=adjoint.float64)
    w = adjoint.tensor(2.0, dtype=adjoint.float64, requires_grad=True)
    result = OVER_RUNS[name](lambda x: (x.sin() * w.mean()).sum(), x)
    (expected,) = adjoint.autograd.grad(result.sum(), w, retain_graph=True)
    x.mul_(2)
    result.sum().backward()
    assert w.grad.tolist() == expected.tolist() != [0]


def test_edges_to_the_argument_alone_are_removed() -> None:
    x, w = adjoint.tensor([0.3, 0.5]), adjoint.tensor([2.0, 3.0], requires_grad=True)
    result = grad(lambda x: (x.sin() * w).sum())(x)
    nodes, waiting = set(), [result.grad_fn]
    while waiting:
        node = waiting.pop()
        nodes.add(node)
        waiting += [target for target, _ in node.next_functions if target is not None]
    assert [node.variable is w for node in nodes if hasattr(node, "variable")] == [True]
