"""Boxes as values: writes, lost derivatives, arguments and results. HIPS autograd is the model."""

from __future__ import annotations

import copy
import operator
import random
import warnings
from typing import Any

import numpy as onp
import pytest

import adjoint.compat.autograd as ag
from adjoint.compat.autograd import core, extend
from adjoint.compat.autograd import numpy as np
from adjoint.compat.autograd.misc import const_graph
from adjoint.compat.autograd.scipy import special
from adjoint.compat.autograd.test_util import check_grads
from adjoint.compat.autograd.tracer import getval
from adjoint.core.operations.dependence import LostDerivativeError

X = onp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
V = onp.array([1.0, 2.0, 3.0])


# writes into arrays ---------------------------------------------------------------------------------------------------

#: The part of a copy that a program writes to. In NumPy some of these are views, and some are copies.
PARTS = {
    "row": lambda r: r[1],
    "rows": lambda r: r[1:],
    "column": lambda r: r[:, 1],
    "number": lambda r: r[1, 2],
    "number as a view": lambda r: r[1, 2, ...],
    "new axis": lambda r: r[None],
    "all": lambda r: r,
    "transposed": lambda r: r.T,
    "swapped": lambda r: np.swapaxes(r, 0, 1),
    "moved": lambda r: np.moveaxis(r, 0, 1),
    "reshaped": lambda r: r.reshape(3, 2),
    "ravelled": lambda r: r.ravel(),
    "ravelled as a copy": lambda r: r.T.ravel(),
    "flattened": lambda r: r.copy().flatten(),
    "chosen": lambda r: r[onp.array([0, 1])],
    "masked": lambda r: r[onp.array([True, False])],
    "strided": lambda r: r[::2, ::2],
    "view of a view": lambda r: r[1:].T[1:],
    "copied again": lambda r: r.copy(),
    "product": lambda r: r * 1.0,
}


def _add(part: Any, x: Any) -> Any:
    part += x[0, 0]
    return part


def _multiply(part: Any, x: Any) -> Any:
    part *= part
    return part


def _divide(part: Any, x: Any) -> Any:
    part /= x[0, 1]
    return part


def _power(part: Any, x: Any) -> Any:
    part **= 2
    return part


@pytest.mark.parametrize("change", [_add, _multiply, _divide, _power])
@pytest.mark.parametrize("part", PARTS)
def test_copies_are_changed_in_place_as_in_numpy(part: str, change: Any) -> None:
    def function(x: Any) -> Any:
        whole = x.copy()
        changed = change(PARTS[part](whole), x)
        return np.concatenate([np.ravel(whole), np.ravel(changed)])

    expected = function(X.copy())
    onp.testing.assert_allclose(ag.make_vjp(function)(X)[1], expected)
    check_grads(function, modes=["rev", "fwd"], order=2)(X)


@pytest.mark.parametrize("make", [lambda x: x.copy(), np.copy, copy.copy, copy.deepcopy], ids=range(4))
def test_copies_can_be_assigned_to(make: Any) -> None:
    def function(x: Any) -> Any:
        whole = make(x)
        whole[0] = x[1] * 2
        whole[1, ::2] += x[0, 0]
        whole.flat[1] = x[0, 2]
        return whole * x

    onp.testing.assert_allclose(ag.make_vjp(function)(X)[1], function(X.copy()))
    check_grads(function, modes=["rev", "fwd"], order=2)(X)


#: Statements that write into an array.
WRITES = {
    "item": lambda x: x.__setitem__(0, 1.0),
    "slice": lambda x: x.__setitem__(slice(1), x[1:]),
    "mask": lambda x: x.__setitem__(onp.array([True, False]), 1.0),
    "item of a result": lambda x: (x * 2).__setitem__(0, 1.0),
    "item of a view": lambda x: x[1].__setitem__(0, x[0, 0]),
    "reversed": lambda x: x[::-1].__setitem__(0, 1.0),
    "flat": lambda x: x.flat.__setitem__(0, 1.0),
    "out": lambda x: np.add(x, x, out=x),
    "copyto": lambda x: np.copyto(x, 1.0),
    "put": lambda x: np.put(x, [0], [1.0]),
    "fill_diagonal": lambda x: np.fill_diagonal(x, 1.0),
    "at": lambda x: np.add.at(x, [0], 1.0),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("derive", [ag.grad, lambda f: lambda x: ag.make_jvp(f)(x)(x)], ids=["backward", "forward"])
def test_boxes_are_values(derive: Any, write: str) -> None:
    def function(x: Any) -> Any:
        WRITES[write](x)
        return np.sum(x)

    with pytest.raises(TypeError, match=r"'ArrayBox' object does not support item assignment.*x\.copy\(\)"):
        derive(function)(X)


def test_operators_in_place_make_other_values() -> None:
    def function(x: Any) -> Any:
        y = z = x * 1.0
        y += x
        y *= 2
        row = x[0]
        row -= 1
        return np.sum(y * z) + np.sum(x) + np.sum(row)

    assert ag.grad(function)(V) == pytest.approx(8 * V + 1 + onp.array([1.0, 0.0, 0.0]))


def test_in_place_results_have_the_arrays_type() -> None:
    def function(x: Any) -> Any:
        y = x.copy()
        y += 1j * x
        return np.sum(y)

    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' output from"):
        ag.grad(function)(V)


@pytest.mark.parametrize("index", [0, 4, -1, slice(1, 4), [0, 2], onp.array([3, 3])], ids=str)
def test_flat(index: Any) -> None:
    check_grads(lambda x: x.flat[index] ** 2, modes=["rev", "fwd"], order=2)(X)
    check_grads(lambda x: sum(member**2 for member in x.flat) + len(x.flat) + next(x.flat), order=1)(X)


# lost derivatives -----------------------------------------------------------------------------------------------------


def test_weights_of_counts_are_differentiated() -> None:
    places = onp.array([0, 2, 2])
    for count in (
        lambda x: np.bincount(places, x),
        lambda x: np.bincount(places, weights=x, minlength=5),
        lambda x: np.histogram(places, 2, weights=x)[0],
        lambda x: np.histogram(places, 2, None, None, x)[0],
        lambda x: np.histogram(x, 3, weights=x)[0],
    ):
        check_grads(count, modes=["rev", "fwd"], order=2)(V)
    assert ag.grad(lambda x: np.sum(x * np.histogram(x, bins=3)[0] * np.bincount(places)))(V).tolist() == [1, 0, 2]


def test_arrays_of_boxes_as_results_carry_derivatives() -> None:
    def function(x: Any) -> Any:
        result = onp.empty((2, 2), object)
        result[0, 0], result[0, 1], result[1, 0], result[1, 1] = x[0] * 2, 3.0, x[1] * x[2], x[0]
        return result

    expected = onp.zeros((2, 2, 3))
    expected[0, 0, 0], expected[1, 0], expected[1, 1, 0] = 2, [0, 3, 2], 1
    onp.testing.assert_array_equal(ag.jacobian(function)(V), expected)
    onp.testing.assert_array_equal(ag.make_jvp(function)(V)(onp.ones(3))[1], expected.sum(-1))
    result = ag.make_vjp(lambda x: (x, {"a": function(x)}))(V)[0]((onp.zeros(3), {"a": onp.ones((2, 2))}))
    assert result.tolist() == [3, 3, 2]

    def with_text(x: Any) -> Any:
        return onp.array([x[0], "text"], dtype=object)

    with pytest.raises(TypeError, match="no numbers"):
        ag.jacobian(with_text)(V)


@pytest.mark.parametrize("convert", [float, complex, lambda x: onp.zeros(2).__setitem__(0, x)], ids=range(3))
def test_plain_numbers_of_boxes_are_errors_that_name_the_line(convert: Any) -> None:
    def function(x: Any) -> Any:
        convert(x[0])  # here
        return np.sum(x)

    for derive in (ag.grad, lambda f: lambda x: ag.make_jvp(f)(x)(x)):
        with pytest.raises(LostDerivativeError, match=r"test_autograd_values\.py.*getval"):
            derive(function)(V)


# arguments and results ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [onp.longdouble, onp.clongdouble])
def test_extended_precision_is_computed_in_double_with_a_word(kind: Any) -> None:
    double = onp.complex128 if kind is onp.clongdouble else onp.float64

    def square(x: Any) -> Any:
        return np.real(np.sum(x * x))

    for value in (kind(3), onp.array([1, 2], kind)):
        with pytest.warns(UserWarning, match="double precision"):
            result = ag.grad(square)(value)
        assert result.dtype == kind
        onp.testing.assert_array_equal(result, ag.grad(square)(value.astype(double)))
    calls = (
        lambda x: x * kind(2),
        lambda x: np.multiply(x, onp.ones(3, kind)),
        lambda x: np.dot(x, onp.ones(3, kind)),
        lambda x: x.astype(kind),
        lambda x: np.concatenate([x, onp.ones(1, kind)]),
        lambda x: np.sum(x, dtype=kind),
    )
    for call in calls:
        with pytest.warns(UserWarning, match="double precision"):
            value, gradient = ag.value_and_grad(lambda x, call=call: np.real(np.sum(call(x))))(V)
        assert value.dtype == gradient.dtype == onp.float64
    with pytest.warns(UserWarning, match="double precision"):
        value, tangent = ag.make_jvp(lambda x: x * x)(onp.ones(2, kind))(onp.ones(2, kind))
    assert tangent.tolist() == [2.0, 2.0]

    @extend.primitive
    def twice(x: Any) -> Any:
        return 2 * onp.asarray(x, kind)

    extend.defvjp(twice, lambda ans, x: lambda g: onp.asarray(2, kind) * g)
    with pytest.warns(UserWarning, match="double precision"):
        assert ag.grad(lambda x: np.real(np.sum(twice(x))))(V).tolist() == [2.0, 2.0, 2.0]


# tables and graphs ----------------------------------------------------------------------------------------------------


def test_tables_of_derivatives() -> None:
    assert np.sin in core.primitive_vjps and np.sin in core.primitive_jvps
    for unknown in (np.floor, len, "sin", core.primitive(len)):
        assert unknown not in core.primitive_vjps and unknown not in core.primitive_jvps
        with pytest.raises(KeyError):
            core.primitive_vjps[unknown]
    pull = core.primitive_vjps[np.multiply]((0, 1), 6.0, (2.0, V), {})
    by_x, by_y = pull(onp.ones(3))
    assert by_x == 6.0 and by_y.tolist() == [2.0, 2.0, 2.0]
    assert core.primitive_vjps[np.sum]((0,), 6.0, (V,), {"axis": 0})(2.0)[0].tolist() == [2.0, 2.0, 2.0]
    assert core.primitive_jvps[np.multiply]((0, 1), (1.0, 10.0), 6.0, (2.0, 3.0), {}) == 23.0
    assert np.exp in list(core.primitive_vjps) and len(core.primitive_vjps) > 200


def test_tables_of_derivatives_of_ones_own() -> None:
    @extend.primitive
    def double(x: Any) -> Any:
        return 2 * x

    assert double not in core.primitive_vjps
    extend.defvjp(double, lambda ans, x: lambda g: 2 * g)
    extend.defjvp(double, lambda g, ans, x: 2 * g)
    assert core.primitive_vjps[double]((0,), 2.0, (1.0,), {})(3.0) == (6.0,)
    assert core.primitive_jvps[double]((0,), (3.0,), 2.0, (1.0,), {}) == 6.0

    @extend.primitive
    def other(x: Any) -> Any:
        return 2 * x

    core.primitive_vjps[other] = core.primitive_vjps[double]
    core.primitive_jvps[other] = core.primitive_jvps[double]
    check_grads(other, modes=["rev", "fwd"], order=1)(2.0)
    with pytest.raises(TypeError, match="cannot be removed"):
        del core.primitive_vjps[other]


DIFFERENTIATING = {
    "grad": lambda x: ag.grad(lambda y: np.sum(y**3))(x),
    "grad that depends": lambda x: ag.grad(lambda y: np.sum(y * y * x))(x),
    "grad of something": lambda x: ag.grad(lambda y: np.sum(np.sin(y)))(x * 2) * x,
    "second": ag.elementwise_grad(ag.elementwise_grad(lambda y: y**3)),
    "jacobian": ag.jacobian(lambda y: y**2),
    "make_vjp": lambda x: ag.make_vjp(lambda y: y**2)(x)[0](x),
    "make_jvp": lambda x: ag.make_jvp(lambda y: y**2)(x)(x)[1],
    "hvp": lambda x: ag.make_hvp(lambda y: np.sum(y**3))(x)[0](onp.ones(3)),
}


@pytest.mark.parametrize("name", DIFFERENTIATING)
def test_const_graph_of_functions_that_differentiate(name: str) -> None:
    function = DIFFERENTIATING[name]
    constant = const_graph(function)
    for x in (V, 2 * V, V):
        onp.testing.assert_allclose(constant(x), function(x))
    onp.testing.assert_allclose(ag.jacobian(constant)(V), ag.jacobian(function)(V))


def test_const_graph_runs_other_functions_once() -> None:
    calls = []
    constant = const_graph(lambda x: (calls.append(1), np.sin(x) * x)[1])
    assert constant(1.0) == onp.sin(1.0) and constant(2.0) == onp.sin(2.0) * 2
    assert len(calls) == 1


def test_matrices_of_linalg() -> None:
    stack = onp.arange(12.0).reshape(2, 2, 3)
    assert np.linalg.T(stack).shape == (2, 3, 2)
    onp.testing.assert_array_equal(np.linalg._dot(stack, np.linalg.T(stack)), stack @ stack.transpose(0, 2, 1))
    check_grads(lambda x: np.linalg._dot(np.linalg.T(x), x), modes=["rev", "fwd"], order=2)(stack)


@pytest.mark.parametrize("function", [
    lambda x: np.linalg.solve(onp.ones((2, 2)) * x, onp.ones(2)),
    lambda x: np.linalg.inv(onp.ones((2, 2)) * x),
    lambda x: np.linalg.cholesky(-onp.eye(2) * x),
    lambda x: np.linalg.inv(onp.ones((2, 3)) * x),
], ids=range(4))  # fmt: skip
def test_errors_of_linalg_are_numpys(function: Any) -> None:
    with pytest.raises(onp.linalg.LinAlgError) as expected:
        function(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(onp.linalg.LinAlgError) as result:
            ag.grad(lambda x: np.sum(function(x)))(1.0)
    assert str(result.value) == str(expected.value)


def test_values_with_a_box_or_a_space_alone_are_errors_and_never_zeros() -> None:
    class Pair:
        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

    class PairSpace(extend.VSpace):
        def __init__(self, value: Any) -> None:
            pass

    PairSpace.register(Pair)
    assert type(extend.vspace(Pair(1.0, 2.0))) is PairSpace
    pair = extend.primitive(Pair)
    first = extend.primitive(lambda p: p.a)
    extend.defvjp(pair, lambda ans, a, b: lambda g: g.a, lambda ans, a, b: lambda g: g.b)
    extend.defvjp(first, lambda ans, p: lambda g: Pair(g, 0.0))
    with pytest.raises(TypeError, match=r"Pair\(\) returned a Pair.*a Box or VSpace was registered, but not both"):
        ag.grad(lambda x: first(pair(x, x)))(2.0)
    with pytest.raises(TypeError, match=r"Can't differentiate w\.r\.t\. type"):
        ag.grad(lambda p: first(p))(Pair(1.0, 2.0))


#: Steps that read a whole array of shape (3, 2), and may save it.
READING = {
    "square": lambda r: r * r,
    "power": lambda r: r**2,
    "number over": lambda r: 2.0 / (3.0 + r * r),
    "exp": lambda r: np.exp(0.3 * r) - r,
    "ufunc": lambda r: np.tanh(r),
    "product": lambda r: np.dot(r, r.T)[:, :2],
    "operator": lambda r: (r @ r.T)[:, 1:],
    "sum of powers": lambda r: np.einsum("ij,ij->ij", r, r),
    "reduced": lambda r: np.prod(r, axis=1)[:, None] * np.std(r),
    "transposed": lambda r: np.sin(r.T).T,
    "keyword": lambda r: np.linalg.norm(x=r) * r,
    "special": lambda r: special.erf(r),
    "list": lambda r: np.array([r[i] * r[i] for i in range(3)]),
    "sequence": lambda r: np.concatenate([r * r, r])[1:4],
    "own primitive": lambda r: cube(r),
    "sorted": lambda r: np.cumsum(np.cumprod(r, axis=0), axis=1),
}
#: Steps that write to this array. x and y are other arrays.
WRITING = {
    "number": lambda r, x, y: r.__setitem__((1, 0), x[0, 0] * y[2, 1]),
    "row": lambda r, x, y: r.__setitem__(0, np.cos(y[1])),
    "mask": lambda r, x, y: r.__setitem__(getval(r) > 0.5, 0.25),
    "view": lambda r, x, y: operator.imul(r[1:], 0.5),
    "reshaped": lambda r, x, y: r.reshape(-1).__setitem__(slice(1, 3), r[2] * r[0]),
    "ravelled": lambda r, x, y: operator.iadd(r.ravel(), 0.1),
    "transposed": lambda r, x, y: operator.isub(r.T, 0.3 * x.T),
    "itself": lambda r, x, y: operator.imul(r, r),
    "function": lambda r, x, y: np.copyto(r[2], r[1] * y[0]),
    "at": lambda r, x, y: np.add.at(r, 0, y[2]),
}


@extend.primitive
def cube(x):
    return x**3


extend.defvjp(cube, lambda ans, x: lambda g: 3 * x**2 * g)


@pytest.mark.parametrize("seed", range(60))
def test_what_reads_a_copy_keeps_the_values_that_it_read(seed: int) -> None:
    """Random programs read a copy, write to it and to its views, and read it again. Differences check the gradients."""
    draw = random.Random(seed)
    steps = [draw.choice([*READING.values(), *WRITING.values()]) for _ in range(draw.randint(2, 8))]

    def program(x: Any) -> Any:
        r, y = (x * 1.0).copy(), x * x
        for step in [*steps, READING["square"]]:
            if step in WRITING.values():
                step(r, x, y)
            else:
                y = 0.5 * y + np.tanh(step(r))
        return np.sum(y * r)

    x = onp.random.default_rng(seed).normal(size=(3, 2))
    direction = onp.random.default_rng(seed + 1).normal(size=(3, 2))
    slope = (program(x + 1e-6 * direction) - program(x - 1e-6 * direction)) / 2e-6
    result = ag.grad(program)(x)
    onp.testing.assert_allclose(onp.sum(result * direction), slope, rtol=2e-5, atol=1e-7)
