"""HIPS autograd's traces, const_graph and full_graph, deprecated methods, foreign arrays, and names of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp
import pytest
import scipy.signal

from adjoint.compat import autograd as ag
from adjoint.compat.autograd import builtins, core, extend, tracer, util
from adjoint.compat.autograd import numpy as np
from adjoint.compat.autograd.misc import const_graph, flatten
from adjoint.compat.autograd.misc.tracers import full_graph
from adjoint.compat.autograd.numpy import numpy_jvps, numpy_vjps, numpy_wrapper
from adjoint.compat.autograd.scipy import signal
from adjoint.compat.autograd.test_util import check_grads

X = onp.array([0.5, -1.5, 2.0])
M = onp.array([[1.0, 2.0, 0.5], [0.3, -1.0, 1.5]])
Fun = Callable[..., Any]


@pytest.fixture(autouse=True)
def _seed() -> None:
    onp.random.seed(2)


# traces ---------------------------------------------------------------------------------------------------------------


class Depth(tracer.Node):
    __slots__ = ("depth", "name")

    def __init__(self, value: Any, fun: Any, args: Any, kwargs: Any, parent_argnums: Any, parents: Any) -> None:
        self.depth, self.name = 1 + max(parent.depth for parent in parents), fun.__name__
        assert all(args[n] is not None for n in parent_argnums)

    def initialize_root(self) -> None:
        self.depth, self.name = 0, "start"


def test_a_trace_sees_every_primitive() -> None:
    value, node = tracer.trace(Depth.new_root(), lambda x: np.sum(2.0 * np.sin(x) + x.T.reshape(-1)[::-1]), X)
    assert value == pytest.approx(onp.sum(2 * onp.sin(X) + X)) and (node.name, node.depth) == ("sum", 5)
    value, node = tracer.trace(Depth.new_root(), lambda x: {"a": (x, [x * x])}, 3.0)
    assert value["a"][1] == [9.0] and node.depth == 2
    with pytest.warns(UserWarning, match="Output seems independent"):
        assert tracer.trace(Depth.new_root(), lambda x: 3.0, 1.0) == (3.0, None)


class Names(tracer.Node):
    """A node that appends the names of all calls of a trace to one list."""

    def __init__(self, value: Any, fun: Any, args: Any, kwargs: Any, parent_argnums: Any, parents: Any) -> None:
        self.calls = parents[0].calls
        self.calls.append(fun.__name__)

    def initialize_root(self) -> None:
        self.calls: list[str] = []


def test_a_trace_sees_the_derivatives_inside_it() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(x + x) * x)

    value, node = tracer.trace(Names.new_root(), ag.grad(f), X)
    onp.testing.assert_allclose(value, ag.grad(f)(X))
    assert node.calls.index("sin") < node.calls.index("cos") and node.calls.count("add") >= 2
    value, node = tracer.trace(Depth.new_root(), lambda x: ag.grad(f)(x) * x, X)
    onp.testing.assert_allclose(value, ag.grad(f)(X) * X)
    assert node.depth > 5 and node.name == "multiply"
    value, node = tracer.trace(Depth.new_root(), ag.grad(lambda x: ag.grad(lambda y: y**3)(x[0])), X)
    onp.testing.assert_allclose(value, [6 * X[0], 0, 0])
    value, _ = tracer.trace(Depth.new_root(), ag.grad(lambda pair: pair["a"][0] * pair["b"]), {"a": [2.0], "b": 3.0})
    assert value == {"a": [3.0], "b": 2.0}


def test_what_a_traced_value_can_do() -> None:
    def check(x: Any) -> Any:
        assert (x.shape, x.ndim, x.size, x.dtype, len(x), bool(x[0])) == ((3,), 1, 3, onp.float64, 3, True)
        assert str(x) == f"Autograd TracedBox with value {X}" and tracer.isbox(x) and hash(x) == id(x)
        onp.testing.assert_array_equal(tracer.getval(x), X)
        with pytest.raises(AttributeError, match="nothing"):
            x.nothing  # noqa: B018
        pairs = [1.0 - x, abs(-x), 2.0**x, x.real + x.T, +x, x > 0, onp.add(x, 1.0), onp.add.reduce(x)]
        return onp.concatenate([*pairs[:-1], [pairs[-1]]]) + sum(x) + x @ x + x.max(axis=0) // 1.0 + np.array([x[0]])

    def same(x: Any) -> Any:
        parts = [1.0 - x, abs(-x), 2.0**x, x + x, x, x > 0, x + 1.0, [x.sum()]]
        return onp.concatenate(parts) + x.sum() + x @ x + x.max() // 1.0 + x[:1]

    value, node = tracer.trace(Depth.new_root(), check, X)
    onp.testing.assert_allclose(value, same(X))
    assert node.depth > 5


def test_traces_in_traces_and_in_derivatives() -> None:
    def inner(y: Any, x: Any) -> Any:
        return tracer.trace(Depth.new_root(), lambda z: z * x + y, y)[0]

    value, node = tracer.trace(Depth.new_root(), lambda x: inner(2.0, x) * x, 3.0)
    assert value == 24.0 and node.depth == 3
    assert ag.grad(lambda x: inner(2.0 * x, x))(3.0) == 14.0


def test_errors_of_traces() -> None:
    with pytest.raises(TypeError, match=r"Can't differentiate w\.r\.t\. type <class 'str'>"):
        tracer.trace(Depth.new_root(), lambda x: x, "text")
    with pytest.raises(NotImplementedError, match="Node does not define initialize_root"):
        tracer.Node.new_root()
    with pytest.raises(NotImplementedError, match="Node has no __init__"):
        tracer.Node(1.0, onp.sin, (), {}, (), ())


def test_passes_by_hand() -> None:
    def f(x: Any) -> Any:
        y = np.exp(x)
        return np.sum(y[:2] * x[1:] * onp.argmax(x)) + x[0] * y[0]

    value, node = core.trace(core.VJPNode.new_root(), f, X)
    assert value == pytest.approx(float(f(X)))
    onp.testing.assert_allclose(core.backward_pass(1.0, node), ag.grad(f)(X))
    _, node = core.trace(core.JVPNode.new_root(M[0]), f, X)
    assert node.g == pytest.approx(ag.make_jvp(f)(X)(M[0])[1])


def test_calls_without_nodes() -> None:
    double = extend.primitive(lambda x: 2 * x)
    extend.register_notrace(Depth, double)
    value, node = tracer.trace(Depth.new_root(), lambda x: double(x) + x, 3.0)
    assert value == 9.0 and node.depth == 1
    extend.register_notrace(extend.VJPNode, double)
    assert ag.grad(lambda x: double(x) * x)(3.0) == 6.0


def test_const_graph_runs_the_function_once() -> None:
    calls = []

    def f(a: Any, x: Any, y: Any) -> Any:
        calls.append(1)
        first, second = np.linalg.eigh(np.outer(x, x) + onp.eye(3))
        return {"sum": a * first + np.floor(y), "all": [np.concatenate([second[0], x])]}

    again = const_graph(f, 2.0)
    for x, y in ((X, 1.5), (X**2, 2.5), (X + 1, X)):
        actual, expected = again(x, y), f(2.0, x, y)
        onp.testing.assert_allclose(actual["sum"], expected["sum"])
        onp.testing.assert_allclose(abs(actual["all"][0]), abs(expected["all"][0]))
    assert len(calls) == 4 and again.__name__ == "f"
    check_grads(const_graph(lambda x: np.sin(x) * x[0]))(X)
    with pytest.warns(UserWarning, match="independent"), pytest.raises(ValueError, match="independent of input"):
        const_graph(lambda x: 1.0)(X)


def test_full_graph() -> None:
    node = full_graph(lambda x, y: np.sin(x) * y, 1.0, 2.0)
    fun, args, kwargs, parents = node.recipe
    assert node.value == pytest.approx(2 * onp.sin(1)) and fun.__name__ == "multiply" and not kwargs
    assert args == (onp.sin(1), 2.0) and parents[0][1].recipe[0].__name__ == "sin"


# older interfaces -----------------------------------------------------------------------------------------------------


def test_derivatives_by_methods() -> None:
    product = ag.primitive(lambda x, y, z: x * y * z)
    with pytest.warns(UserWarning, match="The defvjp method is deprecated"):
        product.defvjp(lambda g, ans, vs, gvs, x, y, z: g * y * z)
    with pytest.warns(UserWarning, match="The defgrad method is deprecated"):
        product.defgrad(lambda ans, x, y, z: lambda g: g * x * z, argnum=1)
    with pytest.warns(UserWarning, match="The defvjp_is_zero method is deprecated"):
        product.defvjp_is_zero([2])
    assert ag.grad(product, (0, 1, 2))(2.0, 3.0, 5.0) == (15.0, 10.0, 0.0)
    with pytest.warns(UserWarning, match="quick_grad_check function is deprecated"):
        util.quick_grad_check(lambda x, y: x**2 * y, 2.0, (3.0,))
    assert util.func(product) is product and [*util.toposort(1, lambda n: [n + 1] * 2 if n < 3 else [])] == [1, 2, 3]


# names that are special in HIPS autograd, and NumPy's functions with special forms ------------------------------------


def test_where_keeps_pythons_numbers() -> None:
    assert np.where(True, 1, 2) == 1 and type(np.where(True, 1, 2)) is int
    assert np.where([True, False], [1, 2], y=[3, 4]) == [1, 4]
    assert isinstance(np.where([True], [onp.float64(1)], [2.0]), onp.ndarray)
    onp.testing.assert_array_equal(np.where(onp.array([False, True]))[0], [1])
    onp.testing.assert_array_equal(ag.grad(lambda x: np.sum(np.where(x > 0, x, 2 * x)))(X), [1, 2, 1])
    with pytest.raises(ValueError, match="either both or neither of x and y"):
        np.where(True, 1)


def test_joined_rows_and_columns() -> None:
    check_grads(lambda x: np.r_[x, 1.0, x[0]])(X)
    check_grads(lambda x: np.c_[x, 2 * x])(X)
    assert np.r_[1, 2].tolist() == [1, 2]


def test_integers_of_boxes() -> None:
    assert ag.grad(lambda x: x * np.int64(x))(2.5) == 2.0
    assert type(np.int32(2.5)) is onp.int32 and onp.zeros(1, np.int8).dtype == onp.int8
    assert isinstance(onp.int16(1), np.int16) and issubclass(onp.int16, np.int16)


@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigenvalues_are_of_one_triangle(uplo: str) -> None:
    a = M.T @ M + onp.diag([1.0, 2.0, 3.0])
    check_grads(lambda a: np.linalg.eigh(a, uplo)[0])(a)
    check_grads(lambda a: np.linalg.eigvalsh(a, uplo))(a + 1j * (onp.triu(a, 1) - onp.tril(a, -1)))
    onp.testing.assert_array_equal(np.linalg.eigvalsh(a, uplo), onp.linalg.eigvalsh(a, uplo))


@pytest.mark.parametrize("shapes", [((7,), (3,)), ((5, 4), (2, 3)), ((3,), (6,))])
def test_convolve_of_the_same_size(shapes: Any) -> None:
    a, b = (onp.random.randn(*shape) for shape in shapes)
    onp.testing.assert_allclose(signal.convolve(a, b, mode="same"), scipy.signal.convolve(a, b, mode="same"))
    check_grads(lambda a, b: signal.convolve(a, b, mode="same"), (0, 1), modes=["rev"])(a, b)


def test_flatten_gives_every_part_its_dtype() -> None:
    vector, unflatten = flatten([onp.ones(2, onp.float32), 1j, 3])
    assert vector.dtype == onp.complex128
    assert [onp.asarray(part).dtype for part in unflatten(vector)] == [onp.float32, onp.complex128, onp.float64]


def test_empty_lists_index() -> None:
    assert ag.jacobian(lambda x: x[[]])(X).shape == (0, 3)


class Foreign:
    """An array with its own handling of ufuncs, like the arrays of xarray."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = [x.value if isinstance(x, Foreign) else x for x in inputs]
        return Foreign(getattr(ufunc, method)(*plain, **kwargs))


@pytest.mark.parametrize("f", [lambda x, y: x * y, lambda x, y: np.multiply(x, y), lambda x, y: onp.multiply(y, x)])
def test_foreign_arrays_have_their_way(f: Fun) -> None:
    result = ag.grad(lambda x: np.sum(f(x, Foreign(X)).value))(X)
    onp.testing.assert_array_equal(result, X)
    onp.testing.assert_allclose(ag.grad(lambda x: np.sum(onp.sin(Foreign(x)).value))(X), onp.cos(X))


class OwnArray(onp.ndarray):
    """A subclass of ndarray that cannot handle boxes itself."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if not all(isinstance(x, onp.ndarray) for x in inputs):
            return NotImplemented
        return getattr(ufunc, method)(*[onp.asarray(x) for x in inputs], **kwargs)


def test_an_array_can_be_the_cotangent_of_a_list() -> None:
    product = extend.primitive(lambda lists: onp.prod([onp.sum(members) for members in lists]))
    extend.defvjp(product, lambda ans, lists: lambda g: [onp.full(len(m), g * ans / sum(m)) for m in lists])
    result = ag.grad(lambda x: product([[x[0], x[1]], [x[2]]]))(X)
    onp.testing.assert_allclose(result, [2.0, 2.0, -1.0])


def test_subclasses_of_arrays_are_arrays() -> None:
    array = X.view(OwnArray)
    for f in (lambda x: np.sum(x * array), lambda x: np.sum(array * x), lambda x: np.sum(np.multiply(array, x))):
        onp.testing.assert_array_equal(onp.asarray(ag.grad(f)(X)), X)


def test_names_for_authors_of_primitives() -> None:
    assert numpy_jvps.defjvp is extend.defjvp and builtins.ListVSpace is builtins.ContainerVSpace
    check_grads(lambda x: numpy_wrapper.concatenate_args(0, x, x))(X)
    check_grads(lambda x: numpy_wrapper.array_from_args((), {"ndmin": 2}, x[0], x[1]))(X)
    assert numpy_vjps.match_complex(1.0, 1j) == 0.0 and numpy_vjps.match_complex(1j, 1.0) == 1 + 0j
    assert numpy_vjps.match_complex(1.0, 2.0) == 2.0
    spread, n = numpy_vjps.repeat_to_match_shape(X, (3, 2), float, -1, False)
    assert n == 2 and spread.tolist() == onp.repeat(X[:, None], 2, 1).tolist()
    values: list[Any] = []
    ag.grad(lambda x: (values.append(x.__array_namespace__()), x)[1])(1.0)
    assert values == [np]
    with pytest.raises(TypeError, match="NoneType"):
        ag.grad(lambda x: 1.0)(None)
    tracer.Box.register(Foreign)
    assert tracer.box_type_mappings.pop(Foreign) is tracer.Box
