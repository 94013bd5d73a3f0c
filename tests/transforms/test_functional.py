"""adjoint.autograd.functional: torch's structures and messages, and values of closed forms and differences."""

import inspect
import itertools
import re
import sys
import warnings
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import pytest

import adjoint
from adjoint.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp
from adjoint.testing import assert_close
from adjoint.transforms import progress

f64, c128 = adjoint.float64, adjoint.complex128
FUNCTIONS = {function.__name__: function for function in (vjp, jvp, vhp, hvp, jacobian, hessian)}
REVERSE, FORWARD, AUTO = "reverse-mode", "forward-mode", "auto"
WAYS = ({}, {"vectorize": True}, {"vectorize": True, "chunk_size": 2})
MODES = [{"strategy": strategy, **way} for strategy in (REVERSE, FORWARD, AUTO) for way in WAYS]
Pair = namedtuple("Pair", ["a", "b"])


@dataclass
class Layer:
    weight: Any
    bias: Any = None


def T(*values, dtype=f64, **options):
    return adjoint.tensor(values[0] if len(values) == 1 else list(values), dtype=dtype, **options)


def random(*shape, dtype=f64, seed=0):
    return adjoint.randn(*shape, dtype=dtype, generator=adjoint.Generator().manual_seed(seed))


def shapes(tree):
    """A tree of shapes for a tree of tensors."""
    return [shapes(part) for part in tree] if isinstance(tree, (tuple, list)) else tuple(tree.shape)


def says(error, text):
    return pytest.raises(error, match=f"^{re.escape(text)}$")


def as_hessian(mode):
    return {"outer_jacobian_strategy" if key == "strategy" else key: value for key, value in mode.items()}


def differences(function, x, step=1e-6):
    """Central differences by every element of x, along the real axis and, for complex x, the imaginary axis."""
    units = (1, 1j) if x.is_complex() else (1,)
    columns = []
    for unit in units:
        results = []
        for j in range(x.numel()):
            move = adjoint.zeros_like(x).reshape(-1)
            move[j] = unit * step
            move = move.reshape(x.shape)
            results.append((function(x + move) - function(x - move)) / (2 * step))
        columns.append(adjoint.stack(results, -1).reshape((*results[0].shape, *x.shape)))
    return columns


def expected_jacobian(function, x):
    """The documented convention of Jacobians, by differences."""
    columns = differences(function, x)
    if not x.is_complex():
        return columns[0]
    along_x, along_y = columns
    return (along_x - 1j * along_y) / 2 if along_x.is_complex() else along_x + 1j * along_y


# --- values

REAL = {
    "elementwise": (lambda x: x.exp() * x, random(3)),
    "scalar to scalar": (lambda x: x**3, T(2.0)),
    "sum": (lambda x: (x**2).sum(), random(2, 3)),
    "tall": (lambda x: adjoint.outer(x, x.sin()), random(3)),
    "wide": (lambda x: x.prod(1), random(2, 4)),
    "matrix": (lambda x: x @ x.T, random(2, 3)),
    "part": (lambda x: adjoint.stack([x[0] * x[1], x[2] * 0]), random(3)),
    "in place": (lambda x: x.clone().mul_(x), random(3)),
    "empty input": (lambda x: x * 2, adjoint.zeros(0, dtype=f64)),
    "empty output": (lambda x: x[:0], random(3)),
    "constant": (lambda x: adjoint.ones(2, dtype=f64), random(3)),
    "real to complex": (lambda x: (1j * x).exp() * x, random(3)),
}
Z = random(3, dtype=c128)
COMPLEX = {
    "holomorphic": (lambda z: z * z.exp(), Z),
    "matrix": (lambda z: z @ z, random(2, 2, dtype=c128)),
    "to real": (lambda z: (z * z * z.conj()).real, Z),
    "absolute": (lambda z: z.abs(), Z),
    "loss": (lambda z: (z * z.conj()).real.sum(), Z),
}
MIXED = {
    "conjugate": (lambda z: z.conj() * (2 + 1j), Z),
    "not holomorphic": (lambda z: z * z * z.conj(), Z),
}


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("case", [*REAL, *COMPLEX])
def test_jacobian_equals_differences(case, mode):
    function, x = (REAL | COMPLEX)[case]
    matrix = jacobian(function, x, **mode)
    assert matrix.shape == (*function(x).shape, *x.shape)
    assert matrix.dtype == (c128 if x.is_complex() or function(x).is_complex() else f64)
    if matrix.numel():
        assert_close(matrix, expected_jacobian(function, x), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("case", MIXED)
def test_jacobian_of_a_function_that_is_not_holomorphic_is_half_of_it(case, mode):
    function, z = MIXED[case]
    with pytest.warns(UserWarning, match="^jacobian: output 0 is not a holomorphic function of input 0") as caught:
        holomorphic = jacobian(function, z, **mode)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rest = jacobian(lambda z: function(z).conj(), z, **mode).conj()
    assert_close(holomorphic, expected_jacobian(function, z), rtol=1e-7, atol=1e-7)
    v = random(3, dtype=c128, seed=1)
    assert_close(holomorphic @ v + rest @ v.conj(), jvp(function, z, v)[1])


def test_complex_closed_forms():
    z = T(1 + 2j, 3 - 1j, dtype=c128)
    x = T(1.0, 2.0)
    for mode in MODES:
        assert_close(jacobian(lambda z: z**3, z, **mode), adjoint.diag(3 * z**2))
        assert_close(jacobian(lambda z: (z * z.conj()).real.sum(), z, **mode), 2 * z)
        assert_close(jacobian(lambda x: (1 + 2j) * x**2, x, **mode), adjoint.diag((1 + 2j) * 2 * x))
        by_z, by_x = jacobian(lambda z, x: z * x, (z, x), **mode)
        assert_close(by_z, adjoint.diag(x.to(c128)))
        assert_close(by_x, adjoint.diag(z))
        assert_close(
            hessian(lambda z: (z * z.conj()).real.sum(), z, **as_hessian(mode)), 2 * adjoint.eye(2, dtype=c128)
        )


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_block_of_a_jacobian_has_the_dtype_of_the_input(mode):
    single, double = adjoint.ones(2), adjoint.ones(2, dtype=f64)
    first, second = jacobian(lambda a, b: a * b, (single, double), **mode)
    assert (first.dtype, second.dtype) == (adjoint.float32, f64)
    assert jacobian(lambda a: a.to(c128) * 1j, single, **mode).dtype == adjoint.complex64
    assert jacobian(lambda a: T(1.0, 2.0), single, **mode).dtype == adjoint.float32


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_hessian_closed_form_and_differences(mode):
    mode = as_hessian(mode)
    x = random(4)
    a = random(4, 4, seed=1)
    assert_close(hessian(lambda x: x @ a @ x, x, **mode), a + a.T)
    assert_close(hessian(lambda x: (x**3).sum(), x, **mode), adjoint.diag(6 * x))

    def function(x, y):
        return (x.sin() * y.exp()).sum() + x.prod()

    y = random(4, seed=2)
    blocks = hessian(function, (x, y), **mode)
    for i, j in itertools.product(range(2), repeat=2):

        def slope(shift, i=i, j=j):
            point = (shift, y) if j == 0 else (x, shift)
            return jacobian(function, point)[i]

        assert_close(blocks[i][j], differences(slope, (x, y)[j])[0], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("dtype", [f64, c128], ids=str)
def test_products_agree_with_the_jacobian(dtype):
    a, b = random(2, 3, dtype=dtype), random(3, 2, dtype=dtype, seed=1)

    def function(a, b):
        return a @ b, (a * a).sum()

    v = random(2, 3, dtype=dtype, seed=2), random(3, 2, dtype=dtype, seed=3)
    u = random(2, 2, dtype=dtype, seed=4), random(1, dtype=dtype, seed=5)[0]
    matrix = jacobian(function, (a, b))
    flat = adjoint.cat(
        [
            adjoint.cat([block.reshape(out.numel(), -1) for block in row], 1)
            for row, out in zip(matrix, function(a, b), strict=True)
        ]
    )
    along = flat @ adjoint.cat([t.reshape(-1) for t in v])
    against = flat.conj().T @ adjoint.cat([t.reshape(-1) for t in u])
    for strategy in (REVERSE, FORWARD):
        outputs, pushed = jvp(function, (a, b), v, strategy=strategy)
        assert_close(outputs, function(a, b))
        assert_close(adjoint.cat([t.reshape(-1) for t in pushed]), along)
    outputs, pulled = vjp(function, (a, b), u)
    assert_close(outputs, function(a, b))
    assert_close(adjoint.cat([t.reshape(-1) for t in pulled]), against)


def test_jvp_equals_differences_for_any_complex_function():
    z, v = Z, random(3, dtype=c128, seed=1)
    for function in [case[0] for case in (COMPLEX | MIXED).values() if case[1] is Z]:
        expected = (function(z + 1e-6 * v) - function(z - 1e-6 * v)) / 2e-6
        for strategy in (REVERSE, FORWARD):
            assert_close(jvp(function, z, v, strategy=strategy)[1], expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", [f64, c128], ids=str)
def test_products_with_the_hessian(dtype):
    x, v = random(3, dtype=dtype), random(3, dtype=dtype, seed=1)

    def function(x):
        y = x * x * x.conj()
        return (y.real if y.is_complex() else y).sum() + x.abs().sum()

    def gradient(x):
        return vjp(function, x)[1]

    expected = (gradient(x + 1e-6 * v) - gradient(x - 1e-6 * v)) / 2e-6
    for value, product in [
        vhp(function, x, v),
        hvp(function, x, v),
        hvp(function, x, v, strategy=FORWARD),
    ]:
        assert_close(value, function(x))
        assert_close(product, expected, rtol=1e-6, atol=1e-7)
    if dtype == f64:
        assert_close(hessian(function, x) @ v, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("strategy", [REVERSE, FORWARD])
def test_hvp_multiplies_from_the_right_and_vhp_from_the_left(strategy):
    """A hook changes the gradient to (y, 1), whose Jacobian is not symmetric."""

    def function(x, y):
        z = x * 1.0
        z.register_hook(lambda slope: slope * y)
        return z + y

    for v, product in [((1.0, 0.0), [0.0, 0.0]), ((0.0, 1.0), [1.0, 0.0])]:
        result = hvp(function, (T(2.0), T(3.0)), (T(v[0]), T(v[1])), strategy=strategy)[1]
        assert [t.item() for t in result] == product
    result = vhp(function, (T(2.0), T(3.0)), (T(1.0), T(0.0)))[1]
    assert [t.item() for t in result] == [0.0, 1.0]


# --- create_graph


@pytest.mark.parametrize("strategy", [REVERSE, FORWARD])
def test_third_order(strategy):
    x = T(1.0, 2.0, requires_grad=True)
    second = hessian(lambda x: (x**4).sum(), x, create_graph=True, outer_jacobian_strategy=strategy)
    (third,) = adjoint.autograd.grad(second.sum(), x)
    assert_close(third, 24 * x.detach())
    assert second.requires_grad


def test_jacobians_nest():
    x = T(1.0, 2.0)

    def first(x):
        return jacobian(lambda x: x**4, x, create_graph=True)

    second = jacobian(lambda x: jacobian(first, x, create_graph=True), x)
    expected = adjoint.zeros(2, 2, 2, 2, dtype=f64)
    expected[0, 0, 0, 0], expected[1, 1, 1, 1] = 24.0, 48.0
    assert_close(second, expected)


@pytest.mark.parametrize("name", ["vjp", "jvp", "vhp", "hvp"])
@pytest.mark.parametrize("options", [{}, {"strategy": FORWARD}], ids=["reverse", "forward"])
def test_history_of_results(name, options):
    if options and name in ("vjp", "vhp"):
        options = {}
    x = T(1.0, 2.0, requires_grad=True)
    v = T(1.0, 3.0, requires_grad=True)
    tensors = []

    def function(x):
        tensors.append(x)
        return (x**3).sum()

    vector = v.sum() if name == "vjp" else v
    call = FUNCTIONS[name]
    for result in call(function, x, vector, **options):
        assert not result.requires_grad and result.grad_fn is None
    value, product = call(function, x, vector, create_graph=True, **options)
    assert value.requires_grad and product.requires_grad
    by_x, by_v = adjoint.autograd.grad(product.sum(), (x, v))
    base, direction = x.detach(), v.detach()
    exact = {
        "vjp": (6 * base * direction.sum(), (3 * base**2).sum() * adjoint.ones(2, dtype=f64)),
        "jvp": (6 * base * direction, 3 * base**2),
        "vhp": (6 * direction, 6 * base),
    }
    assert_close((by_x, by_v), exact.get(name, exact["vhp"]))
    assert tensors[0] is not x and x.grad is None


@pytest.mark.parametrize("name", FUNCTIONS)
def test_recording_is_on_inside_whatever_the_caller_has_switched(name):
    x = T(1.0, 2.0)
    modes = []

    def function(x):
        modes.append(adjoint.is_grad_enabled())
        return (x**2).sum()

    arguments = {"vjp": (T(1.0),), "jacobian": (), "hessian": ()}.get(name, (x,))
    expected = FUNCTIONS[name](function, x, *arguments)
    with adjoint.no_grad():
        result = FUNCTIONS[name](function, x, *arguments)
        assert not adjoint.is_grad_enabled()
    assert_close(result, expected)
    assert modes and all(modes)


def test_the_users_tensors_are_not_changed():
    x = T(1.0, 2.0)
    hessian(lambda x: (x**2).sum(), x, create_graph=True)
    jvp(lambda x: x**2, x, x, create_graph=True)
    assert not x.requires_grad and x.grad is None and x._version == 0


# --- structures (recorded from torch)

M, N = random(2, 3), random(3, 4)
STRUCTURES = [
    (lambda a, b: a @ b, (M, N), [(2, 4, 2, 3), (2, 4, 3, 4)]),
    (lambda a, b: (a @ b,), (M, N), [[(2, 4, 2, 3), (2, 4, 3, 4)]]),
    (
        lambda a, b: (a @ b, a.sum(), b * 2),
        (M, N),
        [[(2, 4, 2, 3), (2, 4, 3, 4)], [(2, 3), (3, 4)], [(3, 4, 2, 3), (3, 4, 3, 4)]],
    ),
    (lambda a: a @ a.T, M, (2, 2, 2, 3)),
    (lambda a: (a @ a.T,), M, [(2, 2, 2, 3)]),
    (lambda a: a @ a.T, (M,), [(2, 2, 2, 3)]),
    (lambda a: (a @ a.T,), (M,), [[(2, 2, 2, 3)]]),
    (lambda a: (a.sum(), a), M, [(2, 3), (2, 3, 2, 3)]),
    (lambda a: (a.sum(), a), (M,), [[(2, 3)], [(2, 3, 2, 3)]]),
]


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize(("function", "inputs", "structure"), STRUCTURES)
def test_structure_of_a_jacobian(function, inputs, structure, mode):
    matrix = jacobian(function, inputs, **mode)
    assert shapes(matrix) == structure
    assert not isinstance(matrix, list)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_structure_of_a_hessian(mode):
    mode = as_hessian(mode)
    assert shapes(hessian(lambda a: a.sum() ** 2, M, **mode)) == (2, 3, 2, 3)
    assert shapes(hessian(lambda a: a.sum() ** 2, (M,), **mode)) == [[(2, 3, 2, 3)]]
    pair = hessian(lambda a, b: (a @ b).sum() ** 2, (M, N), **mode)
    assert shapes(pair) == [[(2, 3, 2, 3), (2, 3, 3, 4)], [(3, 4, 2, 3), (3, 4, 3, 4)]]
    assert type(pair) is tuple and type(pair[0]) is tuple


def test_structure_of_products():
    x = T(1.0, 2.0)
    one = T(1.0)

    def single(a):
        return (a * a).sum()

    assert shapes(vjp(single, x)) == [(), (2,)]
    assert shapes(vjp(single, (x,), (one,))) == [(), [(2,)]]
    assert shapes(vjp(lambda a: (single(a),), (x,), one)) == [[()], [(2,)]]
    assert shapes(vjp(lambda a: (a, single(a)), x, (x, one))) == [[(2,), ()], (2,)]
    assert shapes(jvp(single, (x,), (x,))) == [(), ()]
    assert shapes(jvp(lambda a: (single(a),), x, x)) == [[()], [()]]
    for product in (vhp, hvp):
        assert shapes(product(single, x, x)) == [(), (2,)]
        assert shapes(product(single, (x,), x)) == [(), [(2,)]]
        assert shapes(product(lambda a, b: (a * b).sum(), (x, x), (x, x))) == [(), [(2,), (2,)]]


def test_vector_may_be_left_out_for_one_element():
    three = T(3.0)
    assert [float(t) for t in vjp(lambda a: a * a, three)] == [9.0, 6.0]
    assert [float(t) for t in jvp(lambda a: a * a, three)] == [9.0, 6.0]
    assert [float(t) for t in vhp(lambda a: a * a, three)] == [9.0, 2.0]
    assert [float(t) for t in hvp(lambda a: a * a, three)] == [9.0, 2.0]
    assert shapes(hvp(lambda a: (a * a).sum(), T([3.0]))) == [(), (1,)]


# --- trees


def test_inputs_as_a_dictionary():
    x = {"b": T(1.0, 2.0), "a": T(3.0)}

    def function(x):
        return {"y": x["a"] * x["b"] ** 2}

    for mode in MODES:
        blocks = jacobian(function, x, **mode)
        assert list(blocks) == ["y"] and list(blocks["y"]) == ["b", "a"]
        assert_close(blocks["y"]["b"], adjoint.diag(T(6.0, 12.0)))
        assert_close(blocks["y"]["a"], T(1.0, 4.0))
    backwards = {"a": T(1.0), "b": T(0.0, 1.0)}  # in another order
    _, pushed = jvp(function, x, backwards)
    assert_close(pushed["y"], T(1.0, 4.0 + 12.0))
    _, pulled = vjp(function, x, {"y": T(1.0, 1.0)})
    assert_close(pulled, {"b": T(6.0, 12.0), "a": T(5.0)})


def test_dataclass_list_named_tuple_and_none_inside_the_arguments():
    weight, bias, data = random(3, 2), random(2, seed=1), random(4, 3, seed=2)
    layers = [Layer(weight, bias), Layer(random(2, 2, seed=3))]

    def loss(layers, data):
        for layer in layers:
            data = (data @ layer.weight + (0 if layer.bias is None else layer.bias)).tanh()
        return (data**2).sum()

    value, (slopes, by_data) = vjp(loss, (layers, data))
    assert type(slopes) is list and type(slopes[0]) is Layer and slopes[1].bias is None
    assert_close(slopes[0].weight, differences(lambda w: loss([Layer(w, bias), layers[1]], data), weight)[0])
    assert by_data.shape == (4, 3)
    blocks = hessian(loss, (layers, data))
    assert blocks[0][0].weight[0][1].weight.shape == (3, 2, 2, 2)
    assert blocks[0][0].weight[0][1].bias is None
    _, products = vhp(loss, (layers, data), ([Layer(weight, bias), layers[1]], data))
    assert products[0][0].bias.shape == (2,)
    assert value == loss(layers, data)


def test_named_tuples_are_spread_as_tuples_and_come_back():
    matrix = jacobian(lambda a, b: Pair(a * b, b), Pair(T(2.0), T(3.0)))
    assert matrix == Pair(Pair(T(3.0), T(2.0)), Pair(T(0.0), T(1.0)))
    assert type(matrix) is Pair and type(matrix.a) is Pair


def test_a_vector_of_another_structure():
    x = {"a": T(1.0), "b": T(2.0)}
    with says(ValueError, "v has another structure: expected the keys ['a', 'b'] but got ['a']"):
        jvp(lambda x: x["a"] * x["b"], x, {"a": T(1.0)})
    with says(ValueError, "v has another structure: expected dict, as in the other tree, but got tuple"):
        jvp(lambda x: x["a"] * x["b"], x, (T(1.0), T(1.0)))


# --- messages (recorded from torch)

A, B, ONES, WEIGHTS = T(1.0, 2.0), T(3.0, 4.0), T(1.0, 1.0), T(1.0, 2.0)


def with_other_history(x):
    """A value with a history that does not contain the inputs."""
    return x.clone().requires_grad_()


NO_GRADIENTS = (
    "Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
    "differentiable manner from the input when running in strict mode."
)
INDEPENDENT = "The output of the user-provided function is independent of input {}. This is not allowed in strict mode."
INDEPENDENT_OUTPUT = (
    "Output {} of the user-provided function is independent of input {}. This is not allowed in strict mode."
)
CONSTANT_JACOBIAN = (
    "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode when "
    "create_graph=True."
)
CONSTANT_GRADIENT = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
    "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for "
    "example)."
)
CONSTANT_HESSIAN = (
    "The hessian of the user-provided function is independent of input {}. This is not allowed in strict mode when "
    "create_graph=True."
)
DOUBLE_BACKWARD = (
    "The gradient with respect to the input is independent of entry 1 in the grad_outputs when using the double "
    "backward trick to compute forward mode gradients. This is not allowed in strict mode."
)
DOUBLE_BACKWARD_HESSIAN = (
    "The hessian of the user-provided function is independent of entry 0 in the grad_jacobian. This is not allowed in "
    "strict mode as it prevents from using the double backward trick to replace forward mode AD."
)

#: (function of the module, user's function, inputs, further arguments, values of create_graph, message)
STRICT = [
    ("vjp", lambda a: T(3.0), A, (T(1.0),), (False, True), NO_GRADIENTS.format(0)),
    ("vjp", lambda a: with_other_history(B).sum(), A, (), (False, True), INDEPENDENT.format(0)),
    ("vjp", lambda a, b: (a * a).sum(), (A, B), (), (False, True), INDEPENDENT.format(1)),
    ("vjp", lambda a: a.sum(), A, (), (True,), CONSTANT_JACOBIAN.format(0)),
    ("vjp", lambda a, b: (a**3 + b).sum(), (A, B), (), (True,), CONSTANT_JACOBIAN.format(1)),
    ("jvp", lambda a: (a * a, T(1.0)), A, (ONES,), (False, True), NO_GRADIENTS.format(1)),
    ("jvp", lambda a: with_other_history(B), A, (ONES,), (False, True), INDEPENDENT.format(0)),
    ("jvp", lambda a: (a * a, with_other_history(B)), A, (ONES,), (False, True), DOUBLE_BACKWARD),
    ("jvp", lambda a: (a * a, a * 2), A, (ONES,), (True,), CONSTANT_JACOBIAN.format(1)),
    ("jvp", lambda a, b: (a * a, b * 2), (A, B), (ONES, WEIGHTS), (True,), CONSTANT_JACOBIAN.format(1)),
    *[
        case
        for name in ("vhp", "hvp")
        for case in [
            (name, lambda a: T(3.0), A, (ONES,), (False, True), NO_GRADIENTS.format(0)),
            (name, lambda a: with_other_history(B).sum(), A, (ONES,), (False, True), INDEPENDENT.format(0)),
            (name, lambda a: a.sum(), A, (ONES,), (False, True), CONSTANT_GRADIENT.format(0)),
            (
                name, lambda a, b: (a**3).sum() + b.sum(), (A, B), (ONES, WEIGHTS), (False, True),
                CONSTANT_GRADIENT.format(1),
            ),
            (name, lambda a: (a * a).sum(), A, (ONES,), (True,), CONSTANT_HESSIAN.format(0)),
            (name, lambda a, b: (a * b).sum(), (A, B), (ONES, WEIGHTS), (True,), CONSTANT_HESSIAN.format(0)),
        ]
    ],
    (
        "vhp", lambda a: (a * with_other_history(a.detach())).sum(), A, (ONES,), (False, True),
        "The jacobian of the user-provided function is independent of input 0. This is not allowed in strict mode.",
    ),
    ("hvp", lambda a: (a * with_other_history(a.detach())).sum(), A, (ONES,), (False, True), DOUBLE_BACKWARD_HESSIAN),
    ("jacobian", lambda a: T(3.0), A, (), (False, True), NO_GRADIENTS.format(0)),
    ("jacobian", lambda a: (a * a, with_other_history(B)), A, (), (False, True), INDEPENDENT_OUTPUT.format(1, 0)),
    ("jacobian", lambda a, b: (a * a, b * b), (A, B), (), (False, True), INDEPENDENT_OUTPUT.format(0, 1)),
    ("jacobian", lambda a: a * 2, A, (), (True,), CONSTANT_JACOBIAN.format(0)),
    ("jacobian", lambda a, b: (a * a * b * b, a * a + b), (A, B), (), (True,), CONSTANT_JACOBIAN.format(1)),
    ("hessian", lambda a: T(3.0), A, (), (False, True), NO_GRADIENTS.format(0)),
    ("hessian", lambda a: with_other_history(B).sum(), A, (), (False, True), CONSTANT_GRADIENT.format(0)),
    ("hessian", lambda a, b: (a * a).sum(), (A, B), (), (False, True), CONSTANT_GRADIENT.format(1)),
    ("hessian", lambda a: a.sum(), A, (), (False, True), CONSTANT_GRADIENT.format(0)),
    ("hessian", lambda a, b: (a * b).sum(), (A, B), (), (False, True), INDEPENDENT_OUTPUT.format(0, 0)),
    ("hessian", lambda a: (a * a).sum(), A, (), (True,), CONSTANT_JACOBIAN.format(0)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "function", "inputs", "vectors", "graphs", "message"),
    STRICT,
    ids=lambda value: value if isinstance(value, str) and value in FUNCTIONS else "",
)
def test_strict(name, function, inputs, vectors, graphs, message):
    v = (vectors if len(vectors) != 1 else vectors[0],) if vectors else ()
    for create_graph in (False, True):
        if create_graph in graphs:
            with says(RuntimeError, message):
                FUNCTIONS[name](function, inputs, *v, create_graph=create_graph, strict=True)
        else:
            strictly = FUNCTIONS[name](function, inputs, *v, create_graph=create_graph, strict=True)
            assert_close(strictly, FUNCTIONS[name](function, inputs, *v, create_graph=create_graph))
    FUNCTIONS[name](function, inputs, *v)  # without strict there is no error


@pytest.mark.parametrize("name", ["jvp", "hvp", "vhp", "jacobian", "hessian"])
def test_zeros_where_nothing_depends_on_the_input(name):
    arguments = () if name in ("jacobian", "hessian") else (A,)
    for function in (lambda a: T(3.0), lambda a: with_other_history(B).sum(), lambda a: adjoint.tensor(3)):
        result = FUNCTIONS[name](function, A, *arguments)
        zeros = result if name in ("jacobian", "hessian") else result[1]
        assert not zeros.any()


TYPES = "The {role} given to {name} must be either a Tensor or a tuple of Tensors but {what} has type {type}."


@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrong_types(name):
    call = FUNCTIONS[name]
    v = () if name in ("jacobian", "hessian") else (T(1.0) if name == "vjp" else A,)

    def message(role, what, kind=float):
        return TYPES.format(role=role, name=name, what=what, type=kind)

    def function(*arguments):
        return (arguments[0] ** 2).sum()

    with says(TypeError, message("inputs", "the given inputs", str)):
        call(function, "text")
    with says(TypeError, message("inputs", "the given inputs", type(None))):
        call(function, None)
    with says(TypeError, message("inputs", "the value at index 1")):
        call(function, (A, 3.0))
    with says(TypeError, message("inputs", "the value at [1]['x'][0]", str)):
        call(function, (A, {"x": ["text"]}))
    role = "outputs of the user-provided function"
    with says(TypeError, message(role, f"the given {role}")):
        call(lambda a: 3.0, A, *v)
    with says(TypeError, message(role, f"the given {role}", type(None))):
        call(lambda a: None, A, *v)
    with says(TypeError, message(role, "the value at index 1")):
        call(lambda a: (a.sum(), 3.0), A, *v)
    with says(RuntimeError, "only Tensors of floating point dtype can require gradients"):
        call(function, adjoint.tensor([1, 2]), *v)
    if v:
        with says(TypeError, message("v", "the given v")):
            call(function, A, 1.0)
        with says(TypeError, message("v", "the value at index 0")):
            call(function, A, (1.0,))
        with says(TypeError, message("v", "the given v", list)):
            call(function, A, [A])


VECTOR_FOR_INPUT = (
    "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element."
)


@pytest.mark.parametrize("name", ["jvp", "vhp", "hvp"])
@pytest.mark.parametrize("options", [{}, {"strategy": FORWARD}], ids=["reverse", "forward"])
def test_wrong_vectors_for_inputs(name, options):
    if name == "vhp":
        options = {}

    def call(*arguments):
        return FUNCTIONS[name](*arguments, **options)

    def function(a):
        return (a * a).sum()

    def product(a, b):
        return (a * b).sum()

    with says(RuntimeError, VECTOR_FOR_INPUT):
        call(function, A)
    with says(RuntimeError, VECTOR_FOR_INPUT):
        call(product, (T(1.0), T(2.0)))
    with says(RuntimeError, "v has invalid size: should be adjoint.Size([2]) but got adjoint.Size([3])."):
        call(function, A, T(1.0, 2.0, 3.0))
    with says(RuntimeError, "The given v should contain a single Tensor."):
        call(function, A, (A, A))
    with says(RuntimeError, "v is a tuple of invalid length: should be 2 but got 1."):
        call(product, (A, A), A)
    with says(RuntimeError, "v is a tuple of invalid length: should be 1 but got 2."):
        call(function, (A,), (A, A))
    with says(RuntimeError, "Entry 0 in v has invalid size: should be adjoint.Size([2]) but got adjoint.Size([])."):
        call(function, (A,), T(1.0))
    wrong = "The v given to {} must be either a Tensor or a tuple of Tensors but the given v has type <class 'list'>."
    with says(TypeError, wrong.format(name)):
        call(function, (A,), [A])
    with says(RuntimeError, "only Tensors of floating point dtype can require gradients"):
        call(function, adjoint.tensor([1, 2]), (A, A))
    with says(RuntimeError, "Entry 1 in v has invalid size: should be adjoint.Size([2]) but got adjoint.Size([])."):
        call(product, (A, A), (A, T(1.0)))
    with says(
        RuntimeError,
        "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
        "grad_output[0] has a dtype of adjoint.complex128 and output[0] has a dtype of adjoint.float64.",
    ):
        call(function, A, A.to(c128))
    with says(RuntimeError, "grad can be implicitly created only for real scalar outputs but got adjoint.complex128"):
        call(lambda z: (z * z.conj()).real, T(1 + 1j, dtype=c128))
    assert_close(call(function, A, adjoint.tensor([1, 2])), call(function, A, A))


def test_wrong_vectors_for_outputs():
    needed = (
        "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
    )
    for function in (lambda a: a * a, lambda a: (a.sum(), a.sum()), lambda a: ()):
        with says(RuntimeError, needed):
            vjp(function, A)
    with says(RuntimeError, "v has invalid size: should be adjoint.Size([]) but got adjoint.Size([2])."):
        vjp(lambda a: a.sum(), A, A)
    with says(RuntimeError, "Entry 1 in v has invalid size: should be adjoint.Size([]) but got adjoint.Size([2])."):
        vjp(lambda a: (a * a, a.sum()), A, (A, A))
    with says(RuntimeError, "`inputs` argument to `grad()` cannot be empty."):
        vjp(lambda: A.sum(), ())


@pytest.mark.parametrize("name", ["vhp", "hvp", "hessian"])
def test_functions_that_are_not_scalar(name):
    v = () if name == "hessian" else (A,)
    with says(RuntimeError, f"The function given to {name} should return a single Tensor"):
        FUNCTIONS[name](lambda a: (a.sum(), a.sum()), A, *v)
    with says(RuntimeError, f"The function given to {name} should return a single Tensor"):
        FUNCTIONS[name](lambda a: (a.sum(),), A, *v)
    with says(RuntimeError, f"The Tensor returned by the function given to {name} should contain a single element"):
        FUNCTIONS[name](lambda a: a * a, A, *v)
    z = A.to(c128)
    v = () if name == "hessian" else (z,)
    with says(RuntimeError, "grad can be implicitly created only for real scalar outputs but got adjoint.complex128"):
        FUNCTIONS[name](lambda a: (a * a).sum(), z, *v)


def test_wrong_options():
    def square(a):
        return a * a

    def total(a):
        return (a * a).sum()

    expected = 'Expected strategy to be either "forward-mode" or "reverse-mode".'
    with pytest.raises(AssertionError, match=f"^{expected} Hint: If your function has more outputs than inputs"):
        jacobian(square, A, strategy="forward")
    for call in (
        lambda: hessian(total, A, outer_jacobian_strategy="forward"),
        lambda: jvp(square, A, A, strategy="forward"),
        lambda: hvp(total, A, A, strategy="forward"),
    ):
        with says(AssertionError, expected):
            call()
    together = (
        'adjoint.autograd.functional.{}: `strict=True` and `strategy="forward-mode"` are not supported together (yet). '
        'Please either set `strict=False` or `strategy="reverse-mode"`.'
    )
    with says(RuntimeError, together.format("jacobian")):
        jacobian(square, A, strict=True, strategy=FORWARD)
    with says(RuntimeError, together.format("hessian")):
        hessian(total, A, strict=True, outer_jacobian_strategy=FORWARD)
    with says(RuntimeError, together.format("jvp")):
        jvp(square, A, A, strict=True, strategy=FORWARD)
    with says(
        RuntimeError,
        "adjoint.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please "
        "either set `strict=False` or `vectorize=False`.",
    ):
        jacobian(square, A, strict=True, vectorize=True)
    with says(ValueError, "jacobian: chunk_size must be a positive number, but got 0"):
        jacobian(square, A, vectorize=True, chunk_size=0)
    with pytest.raises(ValueError, match=r"^hessian: chunk_size=2 bounds how many rows are vectorized"):
        hessian(total, A, chunk_size=2)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_torchs_parameters_come_first(name):
    names = {
        "jacobian": "func inputs create_graph strict vectorize strategy",
        "hessian": "func inputs create_graph strict vectorize outer_jacobian_strategy",
    }.get(name, "func inputs v create_graph strict")
    result = inspect.signature(FUNCTIONS[name]).parameters.values()
    assert [p.name for p in result if p.kind is not p.KEYWORD_ONLY] == names.split()


# --- methods of computation


@pytest.mark.parametrize(
    ("function", "inputs", "options", "evaluations"),
    [
        (lambda x: x[:2] ** 2, random(5), {"strategy": AUTO}, 1),
        (lambda x: adjoint.outer(x, x), random(2), {"strategy": AUTO}, 3),
        (lambda x: adjoint.outer(x, x), random(2), {"strategy": REVERSE}, 1),
        (lambda x: adjoint.outer(x, x), random(2), {"strategy": AUTO, "strict": True}, 1),
        (lambda x: x[:2] ** 2, random(5), {"strategy": FORWARD}, 6),
    ],
)
def test_auto_takes_the_smaller_side(function, inputs, options, evaluations):
    calls = []

    def count(x):
        calls.append(x)
        return function(x)

    assert_close(jacobian(count, inputs, **options), jacobian(function, inputs))
    assert len(calls) == evaluations


class Terminal:
    """A stand-in for rich's progress bar that notes its calls."""

    instances: list[Any] = []

    def __init__(self, **options):
        self.log = []
        self.task_ids = [0]
        self.instances.append(self)

    def add_task(self, title, total, completed):
        self.log.append((title, total, completed))

    def update(self, task, completed):
        self.log.append(completed)

    def start(self):
        self.log.append("start")

    def stop(self):
        self.log.append("stop")


@pytest.fixture
def terminal(monkeypatch):
    import rich.console
    import rich.progress

    monkeypatch.setattr(Terminal, "instances", [])
    monkeypatch.setattr(rich.progress, "Progress", Terminal)
    monkeypatch.setattr(rich.console.Console, "is_terminal", True)
    return Terminal.instances


def test_progress_is_shown_when_it_lasts(monkeypatch, terminal):
    monkeypatch.setattr(progress, "SHOW_AFTER", 0.0)
    jacobian(lambda x: x**2, random(3))
    (bar,) = terminal
    assert bar.log == [("jacobian", 3, 1), "start", 2, 3, "stop"]
    # only the outermost of nested calls has a bar
    jacobian(lambda x: jacobian(lambda x: x**2, x, create_graph=True), random(2), strategy=FORWARD)
    assert [each.log[0] for each in terminal[1:]].count(("jacobian", 2, 1)) == len(terminal) - 1
    assert all(each.log[-1] == "stop" for each in terminal)


def test_progress_bar_is_closed_after_an_error(monkeypatch, terminal):
    monkeypatch.setattr(progress, "SHOW_AFTER", 0.0)
    calls = []

    def function(x):
        calls.append(x)
        if len(calls) == 4:
            raise KeyError("fourth")
        return x

    with pytest.raises(KeyError):
        jacobian(function, random(5), strategy=FORWARD)
    assert terminal[0].log[-1] == "stop"
    jacobian(lambda x: x**2, random(3))
    assert len(terminal) == 2


def test_nothing_is_shown_or_imported_before(monkeypatch, terminal, capsys):
    jacobian(lambda x: x**2, random(3))
    assert terminal == []
    monkeypatch.setattr(progress, "SHOW_AFTER", 0.0)
    monkeypatch.setitem(sys.modules, "rich.progress", None)  # rich is not installed
    jacobian(lambda x: x**2, random(3))
    assert terminal == [] and capsys.readouterr() == ("", "")


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("create_graph", [False, True])
def test_an_empty_output_depends_on_nothing_and_is_no_error(strict, create_graph):
    empty, block = jacobian(lambda a: (a[:0], a * a), A, strict=strict, create_graph=create_graph)
    assert tuple(empty.shape) == (0, 2)
    assert tuple(block.shape) == (2, 2)
    assert tuple(hessian(lambda a: (a * a).sum(), T(), strict=strict, create_graph=create_graph).shape) == (0, 0)


@pytest.mark.parametrize("vectorize", [False, True])
def test_forward_mode_hands_out_copies(vectorize):
    a, v = A.clone(), A.clone()
    options = {"vectorize": vectorize, "strategy": FORWARD}
    assert_close(jacobian(lambda a: a.mul_(a), a, **options), jacobian(lambda a: a * a, a))
    assert_close(jvp(lambda a: a.mul_(a), a, v, strategy=FORWARD)[1], 2 * A * A)
    assert_close((a, v), (A, A))


def test_forward_mode_writes_into_tensors_of_its_own():
    def function(a):
        result = adjoint.zeros(3, dtype=a.dtype)
        corner = result[1:]
        result[0] = a[1]
        corner.copy_(a).mul_(a)
        result.t()[:2].add_(a)
        return result * result[0]

    for vectorize in (False, True):
        assert_close(jacobian(function, A, vectorize=vectorize, strategy=FORWARD), jacobian(function, A))


def test_holomorphic_functions_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for scale in (1e-6, 1.0, 1e6):
            jacobian(lambda z: (z @ z).exp() / (z + 1), scale * random(2, 2, dtype=c128) / 10**6)
