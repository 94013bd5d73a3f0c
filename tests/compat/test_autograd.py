"""The interface of HIPS autograd: its documented behaviour, and derivatives to second order against differences."""

from __future__ import annotations

import copy
import functools
import pickle
import subprocess
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as onp
import pytest
import scipy.integrate
import scipy.signal
from scipy import sparse
from scipy.sparse.linalg import spsolve

import adjoint
from adjoint.compat import autograd as ag
from adjoint.compat.autograd import _nodes, core, extend, scipy, test_util, tracer, util, wrap_util
from adjoint.compat.autograd import numpy as np
from adjoint.compat.autograd.misc import fixed_points, flatten, optimizers, tracers
from adjoint.compat.autograd.misc.flatten import flatten_func
from adjoint.compat.autograd.numpy import numpy_vjps
from adjoint.compat.autograd.numpy.numpy_boxes import ArrayBox
from adjoint.compat.autograd.test_util import check_grads, combo_check

RNG = onp.random.default_rng(3)
X, M = RNG.normal(size=3), RNG.normal(size=(2, 3))
SPD = M.T @ M + onp.eye(3)
Z = RNG.normal(size=3) + 1j * RNG.normal(size=3)
Fun = Callable[..., Any]


@pytest.fixture(autouse=True)
def _seed() -> None:
    # test_util draws its directions by NumPy's global generator
    onp.random.seed(5)


# functions of NumPy and SciPy: both modes, to second order ------------------------------------------------------------

FUNCTIONS: dict[str, tuple[Fun, tuple[Any, ...]]] = {
    "operators": (lambda x, y: (x + y) * x - y / x + x**2 + 2.0**y - (-x) + abs(y) % 3.0, (X + 3, X + 2)),
    "reflected operators": (lambda x: 1.0 + x + 2 * x - 3 / (2 - x) + onp.ones(3) * x + onp.float64(2) ** x, (X,)),
    "matmul": (lambda x, y: x @ y + onp.ones((2, 3)) @ y, (M, X)),
    "methods": (
        lambda x: x.T.reshape(2, 3).reshape((3, -1)).transpose(1, 0).sum(axis=0) * x.mean() + x.flatten().std()
        + x.ravel().dot(x.ravel()) + x.swapaxes(0, 1).max() + x.clip(-0.5, 0.5).prod() + x.copy().item(2),
        (M,),
    ),
    "complex": (lambda z: np.real(z.conj() * z) + np.imag(np.exp(z)) + abs(z) + z.real * z.imag, (Z,)),
    "indexing": (
        lambda x: x[0] + x[::-1][1] + x[[0, 1, 1]][2] + x[x > 0].sum() + x[onp.array([True, False])][0]
        + x[:, None, 1].sum() + x[..., 0].sum() + x[0, onp.array([1, 1])].sum() + x[-1],
        (M,),
    ),
    "array of numbers": (lambda x: np.array([[x[0], 1.0], [x[1] * x[2], x[0]]]), (X,)),
    "array of objects": (lambda x: np.sin(onp.array([x[0], x[1]])) * x[:2] + onp.array([x[2], x[1]]), (X,)),
    "lists": (lambda x: np.sum([x[0], x[1] ** 2]) + np.dot([x[0], 1.0], [2.0, x[2]]) + np.append(x, [1.0]), (X,)),
    "einsum": (lambda x, y: np.einsum("ij,kj->ik", x, y), (M, M + 1)),
    "linalg": (lambda a: np.linalg.solve(a, X) + np.linalg.eigh(a + a.T)[0] + np.linalg.slogdet(a)[1], (SPD,)),
    "fft": (lambda x: np.abs(np.fft.rfft(x)) ** 2, (X,)),
    "where": (lambda x: np.where(x > 0, x**2, np.sin(x)), (X,)),
    "older names": (lambda x: np.trapz(x) + np.row_stack([x, x]).sum(), (X,)),
    "diagonal": (lambda x: np.make_diagonal(x, axis1=0, axis2=1), (X,)),
    "special": (lambda x: scipy.special.gammaln(x) + scipy.special.logsumexp(x), (X + 3,)),
    "special ints": (lambda x: scipy.special.gammasgn(x) * scipy.special.polygamma(1, x), (X + 3,)),
    "scipy.linalg": (lambda a: scipy.linalg.expm(a) @ scipy.linalg.sqrtm(a @ a.T), (SPD,)),
    "stats": (
        lambda x, m, s: scipy.stats.norm.logcdf(x, m, s) + scipy.stats.t.logpdf(x, s, m), (X, X + 1, X**2 + 1)
    ),
    "mvn": (lambda x, m: scipy.stats.multivariate_normal.logpdf(x, m, SPD), (M, X)),
    "containers": (lambda d: [d["a"] * d["b"][0], {"c": d["b"][1] ** 2}], ({"a": X, "b": (2.0, [X])}["a"],) * 0 or ({
        "a": X, "b": (2.0, X + 1)},)),
    "written into": (lambda x: _write(x), (X,)),
    "odeint": (
        lambda y, a: scipy.integrate.odeint(lambda y, t, a: a * y - t * y**2, y, onp.array([0.0, 0.3, 0.5]), (a,)),
        (X**2 + 0.5, X),
    ),
}  # fmt: skip


def _write(x: Any) -> Any:
    y = (x * 2.0).copy()
    y[1:] = x[:2] ** 2
    y[onp.array([0, 0])] = 3.0 * x[2]
    y[::-1] = y[::-1] * x[0]
    y += x
    turned = y[None].T
    turned[[2, 0]] = turned[[0, 2]] * x[1]
    picked = y[x > -9.0]
    picked[0] = x[1]
    return y * x + picked


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name: str) -> None:
    function, arguments = FUNCTIONS[name]
    modes = ["rev"] if name == "odeint" else ["fwd", "rev"]
    order = 1 if name == "odeint" else 2
    check_grads(function, tuple(range(len(arguments))), modes=modes, order=order)(*arguments)


def test_the_callers_arrays_are_not_written_to() -> None:
    x = X.copy()

    def f(x: Any) -> Any:
        y = x.copy()
        y[0] = 5.0
        return np.sum(y * y)

    assert ag.grad(f)(x).tolist() == [0.0, 2 * X[1], 2 * X[2]]
    assert (x == X).all()


@pytest.mark.parametrize("mode", ["full", "valid"])
@pytest.mark.parametrize("shapes", [((7,), (3,)), ((5, 4), (2, 3)), ((2, 3), (5, 4))])
def test_convolve_is_scipys(mode: str, shapes: Any) -> None:
    a, b = (RNG.normal(size=shape) for shape in shapes)
    onp.testing.assert_allclose(
        scipy.signal.convolve(a, b, mode=mode), sys.modules["scipy.signal"].convolve(a, b, mode)
    )
    check_grads(lambda a, b: scipy.signal.convolve(a, b, mode=mode), (0, 1))(a, b)


def test_convolve_along_some_axes() -> None:
    a, b = RNG.normal(size=(2, 3, 6)), RNG.normal(size=(3, 4, 2))
    result = scipy.signal.convolve(a, b, axes=([2], [2]), dot_axes=([1], [0]), mode="valid")
    expected = sum(
        onp.stack([[onp.convolve(a[i, d], b[d, j], "valid") for j in range(4)] for i in range(2)]) for d in range(3)
    )
    onp.testing.assert_allclose(result, expected)
    with pytest.raises(NotImplementedError, match="Mode wrap"):
        scipy.signal.convolve(X, X, mode="wrap")
    with pytest.raises(ValueError, match="same number of axes"):
        scipy.signal.convolve(X, M)
    with pytest.raises(ValueError, match="at least as large"):
        scipy.signal.convolve(RNG.normal(size=(2, 5)), RNG.normal(size=(3, 4)), mode="valid")


# differential operators -----------------------------------------------------------------------------------------------


def cube(x: Any) -> Any:
    return np.sum(x**3)


OPERATORS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "grad": lambda: (ag.grad(cube)(X), 3 * X**2),
    "grad of float": lambda: (ag.grad(lambda x: x**2)(3.0), 6.0),
    "two arguments": lambda: (ag.grad(lambda x, y: x * y**2, (0, 1))(2.0, 3.0), (9.0, 12.0)),
    "keyword": lambda: (ag.grad(lambda x, y=1.0: x * y)(2.0, y=4.0), 4.0),
    "by name": lambda: (ag.grad_named(lambda a, b: a * b**2, "b")(3.0, 4.0), 24.0),
    "dictionary": lambda: (ag.multigrad_dict(lambda a, b=2.0: a * b)(3.0), {"a": 2.0, "b": 3.0}),
    "third": lambda: (ag.grad(ag.grad(ag.grad(lambda x: x**4)))(2.0), 48.0),
    "value too": lambda: (ag.value_and_grad(cube)(X), (onp.sum(X**3), 3 * X**2)),
    "aux": lambda: (
        ag.grad_and_aux(lambda x: (cube(x), {"n": x.size, "y": 2 * x}))(X),
        (3 * X**2, {"n": 3, "y": 2 * X}),
    ),
    "elementwise": lambda: (ag.elementwise_grad(np.sin)(X), onp.cos(X)),
    "deriv": lambda: (ag.deriv(lambda x: np.array([x, x**2]))(3.0), onp.array([1.0, 6.0])),
    "jacobian": lambda: (ag.jacobian(lambda x: x**2)(X), onp.diag(2 * X)),
    "jacobian of matrix": lambda: (ag.jacobian(lambda x: np.sum(x, axis=0))(M).shape, (3, 2, 3)),
    "jacobian to nothing": lambda: (ag.jacobian(lambda x: x[:0])(X).shape, (0, 3)),
    "complex jacobian": lambda: (ag.jacobian(lambda z: z**2)(Z), onp.diag(2 * Z)),
    "hessian": lambda: (ag.hessian(cube)(X), onp.diag(6 * X)),
    "hvp": lambda: (ag.hessian_vector_product(cube)(X, X + 1), 6 * X * (X + 1)),
    "htp": lambda: (ag.hessian_tensor_product(lambda y, x: y * cube(x), 1)(2.0, M, M + 1), 12 * M * (M + 1)),
    "make_hvp": lambda: (ag.make_hvp(cube)(X)[0](X + 1), 6 * X * (X + 1)),
    "vjp": lambda: (ag.vector_jacobian_product(np.sin)(X, X), X * onp.cos(X)),
    "tjp": lambda: (ag.tensor_jacobian_product(lambda x: np.outer(x, x))(X, onp.eye(3)), 2 * X),
    "jvp": lambda: (ag.make_jvp(np.sin)(X)(X), (onp.sin(X), X * onp.cos(X))),
    "jvp in reverse": lambda: (ag.make_jvp_reversemode(np.sin)(X)(X), X * onp.cos(X)),
    "ggn": lambda: (ag.make_ggnvp(lambda x: M @ x)(X)(X), M.T @ (M @ X)),
    "ggn of g": lambda: (ag.make_ggnvp(lambda x: x**2, cube)(X)(X), 2 * X * 6 * X**2 * 2 * X * X),
    "checkpoint": lambda: (
        ag.grad(ag.checkpoint(lambda x, p=2: np.sum(x) ** p))(X, p=3),
        3 * X.sum() ** 2 * onp.ones(3),
    ),
    "containers": lambda: (
        ag.grad(lambda d: np.sum(d["a"]) * d["b"][0] ** 2 + sum(d["b"][1:]))({"a": X, "b": [3.0, 1.0]}),
        {"a": 9.0 * onp.ones(3), "b": [6.0 * X.sum(), 1.0]},
    ),
    "holomorphic": lambda: (ag.holomorphic_grad(lambda z: z**3)(1 + 2j), 3 * (1 + 2j) ** 2),
    "conjugate of torch's": lambda: (ag.grad(lambda z: np.real(z**2))(1 + 2j), 2 + 4j),
    "vjp of complex": lambda: (ag.make_vjp(lambda z: z * 2j)(1 + 1j)[0](3 + 1j), (3 + 1j) * 2j),
    "real into complex": lambda: (ag.grad(lambda x: np.imag(np.exp(1j * x)))(0.3), onp.cos(0.3)),
    "constant of an inner grad": lambda: (ag.grad(lambda x: x * float(ag.grad(lambda y: y**2)(3.0)))(1.0), 6.0),
    "inner grad of outer": lambda: (ag.grad(lambda x: ag.grad(lambda y: x**2 * y**2)(3.0))(2.0), 24.0),
    "no confusion": lambda: (ag.grad(lambda x: x * ag.grad(lambda y: x + y)(x))(1.0), 1.0),
    "forward over reverse": lambda: (ag.make_jvp(ag.grad(cube))(X)(X)[1], 6 * X * X),
    "reverse over forward": lambda: (ag.grad(lambda x: np.sum(ag.make_jvp(np.sin)(x)(X)[1]))(X), -X * onp.sin(X)),
    "forward over forward": lambda: (ag.make_jvp(lambda x: ag.make_jvp(cube)(x)(X)[1])(X)(X)[1], onp.sum(6 * X**3)),
    "nothing to add": lambda: (ag.grad(lambda x: np.sum(x))(onp.zeros((0, 3))).shape, (0, 3)),
    "integers": lambda: (ag.grad(lambda x: np.sum(x**2))(onp.array([1, 2])), onp.array([2.0, 4.0])),
    "single precision": lambda: (ag.grad(cube)(X.astype("f4")).dtype, onp.dtype("f4")),
    "discrete functions": lambda: (ag.grad(lambda x: x * int(np.floor(x)) * np.sign(x) * np.round(x))(2.4), 4.0),
    "comparisons": lambda: (ag.grad(lambda x: x * 2 if x > 1 and x == x and x != 5.0 and x <= 3.0 else x)(2.0), 2.0),
    "iteration": lambda: (
        ag.grad(lambda x: sum(y * i for i, y in enumerate(x)) + len(x) * x.size * x.ndim)(X),
        onp.arange(3.0),
    ),
    "getval": lambda: (ag.grad(lambda x: tracer.getval(x) * x)(3.0), 3.0),
    "isbox": lambda: (ag.grad(lambda x: x if tracer.isbox(x) and isinstance(x, ArrayBox) else 2 * x)(3.0), 1.0),
    "builtins": lambda: (
        ag.grad(lambda x: x if ag.isinstance(x, float) and issubclass(ag.type(x), float) else 2 * x)(3.0),
        1.0,
    ),
    "partial": lambda: (ag.grad(functools.partial(lambda a, b: a * b, 3.0))(2.0), 3.0),
    "copies": lambda: (ag.grad(lambda x: np.sum(copy.deepcopy(x) * x))(X), 2 * X),
    "lists of boxes": lambda: (ag.grad(lambda x: sum(x.tolist()) + sum(x.flat))(X), 2 * onp.ones(3)),
    "types": lambda: (ag.grad(lambda x: np.sum(x.astype("f4") + x.astype(int) + x.astype(bool)))(X), onp.ones(3)),
    "core": lambda: ((core.make_vjp(np.sin, 0.0)[0](1.0), core.make_jvp(np.sin, 0.0)(1.0)), (1.0, (0.0, 1.0))),
    "subvals": lambda: ((util.subvals((1, 2), [(0, 3)]), util.subval((1, 2), 1, 5)), ((3, 2), (1, 5))),
    "const_graph": lambda: (tracers.const_graph(lambda a, x: a * x, 2.0)(3.0), 6.0),
}


def assert_same(actual: Any, expected: Any) -> None:
    if isinstance(expected, (list, tuple, dict)):
        assert type(actual) is type(expected) and len(actual) == len(expected)
        for key in expected if isinstance(expected, dict) else range(len(expected)):
            assert_same(actual[key], expected[key])
        return
    assert not tracer.isbox(actual) and not isinstance(actual, adjoint.Tensor)
    if isinstance(expected, onp.dtype):
        assert actual == expected
        return
    assert onp.shape(actual) == onp.shape(expected)
    onp.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str) -> None:
    assert_same(*OPERATORS[name]())


def test_vjps_can_be_used_again_and_differentiated() -> None:
    vjp, y = ag.make_vjp(np.sin)(X)
    assert_same((vjp(X), vjp(X + 1), y), (X * onp.cos(X), (X + 1) * onp.cos(X), onp.sin(X)))
    assert_same(ag.grad(lambda g: np.sum(vjp(g) ** 2))(X), 2 * X * onp.cos(X) ** 2)


def test_names_and_documentation() -> None:
    assert ag.grad(cube, 0).__name__ == "grad_of_cube_wrt_argnum_0"
    assert "grad of function cube with respect to argument number 0" in str(ag.grad(cube).__doc__)


# primitives -----------------------------------------------------------------------------------------------------------


def product() -> Any:
    @extend.primitive
    def product(x: Any, y: Any, k: float = 1.0) -> Any:
        """x * x * y."""
        assert not tracer.isbox(x) and not isinstance(x, adjoint.Tensor)
        return k * x * x * y

    return product


def by_argument() -> Any:
    f = product()
    extend.defvjp(
        f, lambda ans, x, y, k=1.0: lambda g: 2 * k * g * x * y, lambda ans, x, y, k=1.0: lambda g: k * g * x**2
    )
    extend.defjvp(f, lambda g, ans, x, y, k=1.0: 2 * k * g * x * y, lambda g, ans, x, y, k=1.0: k * g * x**2)
    return f


def of_argnum() -> Any:
    f = product()

    def slope(argnum: int, args: Any, kwargs: Any) -> Any:
        return kwargs.get("k", 1.0) * (2 * args[0] * args[1] if argnum == 0 else args[0] ** 2)

    extend.defvjp_argnum(f, lambda argnum, ans, args, kwargs: lambda g: g * slope(argnum, args, kwargs))
    extend.defjvp_argnum(f, lambda argnum, g, ans, args, kwargs: g * slope(argnum, args, kwargs))
    return f


def of_argnums() -> Any:
    f = product()

    def slope(argnum: int, args: Any) -> Any:
        return 2 * args[0] * args[1] if argnum == 0 else args[0] ** 2

    extend.defvjp_argnums(f, lambda argnums, ans, args, kwargs: lambda g: [g * slope(n, args) for n in argnums])
    extend.defjvp_argnums(
        f, lambda argnums, gs, ans, args, kwargs: sum(g * slope(n, args) for n, g in zip(argnums, gs, strict=True))
    )
    return f


@pytest.mark.parametrize("make", [by_argument, of_argnum, of_argnums])
def test_primitives_to_third_order_in_both_modes(make: Fun) -> None:
    f = make()
    assert f.__name__ == "product" and f.__doc__ == "x * x * y." and "product" in repr(f)
    check_grads(f, (0, 1), order=3)(2.0, 3.0)
    check_grads(lambda x: f(np.sin(x), x), order=2)(X)
    assert_same(f(X, 2.0), X * X * 2.0)
    assert_same(copy.copy(f)(X, 2.0), X * X * 2.0)


def test_keyword_arguments_reach_the_formulas() -> None:
    assert_same(ag.grad(lambda x: by_argument()(x, 2.0, k=3.0))(5.0), 60.0)


def test_primitives_of_and_to_containers() -> None:
    @extend.primitive
    def both(pair: Any) -> Any:
        return [pair[0] * pair[1], {"sum": pair[0] + pair[1]}, "text", 3]

    extend.defvjp(both, lambda ans, pair: lambda g: (g[0] * pair[1] + g[1]["sum"], g[0] * pair[0] + g[1]["sum"]))
    assert_same(ag.grad(lambda x: both((x, 2 * x))[0] + both((x, x))[1]["sum"])(3.0), 4 * 3.0 + 2.0)


def test_primitives_without_all_derivatives() -> None:
    f = product()
    for operator, kind in ((ag.grad, "VJP"), (lambda f: lambda x, y: ag.make_jvp(f)(x, y)(1.0), "JVP")):
        with pytest.raises(NotImplementedError, match=rf"{kind} of product wrt argnums \(0,\) not defined"):
            operator(f)(2.0, 3.0)
    extend.defvjp(f, None, lambda ans, x, y: lambda g: g * x**2)
    assert_same(ag.grad(lambda x: f(x, x))(2.0), 4.0)
    extend.defjvp(f, None, lambda g, ans, x, y: g * x**2)
    assert_same(ag.make_jvp(lambda x: f(x, x))(2.0)(1.0)[1], 4.0)


def test_linear_primitives_and_those_without_trace() -> None:
    @extend.primitive
    def twice(x: Any) -> Any:
        return 2 * x

    extend.defjvp(twice, "same")
    assert_same(ag.make_jvp(twice)(3.0)(5.0), (6.0, 10.0))
    extend.def_linear(twice)
    assert_same(ag.make_jvp(twice)(3.0)(5.0), (6.0, 10.0))
    extend.register_notrace(extend.VJPNode, other := extend.primitive(lambda x: 2 * x))
    assert_same(ag.grad(lambda x: other(x) * x)(3.0), 6.0)
    assert_same(ag.grad(lambda x: extend.notrace_primitive(lambda x: 2 * x)(x) * x)(3.0), 6.0)


def test_numpys_functions_can_be_given_another_derivative() -> None:
    mine = extend.primitive(onp.tanh)
    extend.defvjp(mine, lambda ans, x: lambda g: 100 * g)
    assert_same(ag.grad(mine)(1.0), 100.0)
    assert mine.reduce == onp.tanh.reduce  # type: ignore[attr-defined]


def test_sparse_cotangents_and_broadcast_ones() -> None:
    @extend.primitive
    def first(x: Any, y: Any) -> Any:
        return x[0] * y

    def sparse(ans: Any, x: Any, y: Any) -> Any:
        def vjp(g: Any) -> Any:
            def add(target: Any) -> Any:
                target[0] += onp.sum(g * y)
                return target

            return extend.SparseObject(extend.vspace(x), add)

        return vjp

    extend.defvjp(first, sparse, lambda ans, x, y: numpy_vjps.unbroadcast_f(y, lambda g: g * x[0]))
    assert_same(ag.grad(lambda x, y: np.sum(first(x, y)), (0, 1))(X, onp.ones((2, 1))), (
        onp.array([2.0, 0, 0]), onp.full((2, 1), X[0])
    ))  # fmt: skip
    meta = np.metadata(onp.ones((1, 3)))
    assert_same(numpy_vjps.unbroadcast(onp.ones((4, 2, 3)) + 1j, meta), onp.full((1, 3), 8.0))


def test_methods_can_be_primitives() -> None:
    class Scaled:
        @extend.primitive
        def of(self, x: Any) -> Any:
            return 3 * x

    extend.defvjp(Scaled.of, None, lambda ans, self, x: lambda g: 3 * g)
    assert_same(ag.grad(Scaled().of)(2.0), 3.0)


# vector spaces, helpers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [2.0, X, M, Z, 1 + 2j, [X, 2.0], {"a": Z, "b": (M, 1.0)}, X.astype("f4")], ids=repr)
def test_vector_spaces(value: Any) -> None:
    space = extend.vspace(value)
    x, y = space.randn(), space.randn()
    basis = list(space.standard_basis())
    assert len(basis) == space.size and space == extend.vspace(x) and "VSpace" in repr(space)
    total = functools.reduce(space.add, [space.scalar_mul(b, space.inner_prod(b, x)) for b in basis])
    test_util.check_equivalent(total, x)
    test_util.check_equivalent(space.add(x, space.scalar_mul(x, -1.0)), space.zeros())
    test_util.check_equivalent(space.mut_add(space.mut_add(None, x), y), space.add(x, y))
    assert space.inner_prod(space.covector(x), space.covector(y)) == pytest.approx(space.inner_prod(x, y), rel=1e-5)
    test_util.check_equivalent(space.ones(), functools.reduce(space.add, basis))
    assert space.iscomplex == ("j" in repr(value))


def test_vector_spaces_of_other_shapes_differ_and_others_can_be_registered() -> None:
    assert extend.vspace(X) != extend.vspace(M) and extend.vspace(X) != extend.vspace(Z)
    assert extend.vspace(X).ndim == 1 and extend.vspace([X]).shape[0].shape == (3,)
    with pytest.raises(TypeError, match="Can't find vector space for value text"):
        extend.vspace("text")

    class Bare(extend.VSpace):
        def __init__(self, value: Any) -> None:
            self.kind = type(value)

    Bare.register(set)
    space = extend.vspace(set())
    assert space == Bare(set())
    for method in ("zeros", "ones", "standard_basis", "randn"):
        with pytest.raises(NotImplementedError, match=f"Bare has no {method}"):
            getattr(space, method)()
    with pytest.raises(NotImplementedError, match="Bare has no inner_prod"):
        space.inner_prod(1, 2)
    with pytest.raises(NotImplementedError, match=r"has no __init__\(value\)"):
        extend.VSpace(1)
    del extend.VSpace.mappings[set]


def test_checks_find_wrong_derivatives() -> None:
    combo_check(np.sum, [0])([M], axis=[None, 0, 1], keepdims=[True, False])
    wrong = extend.primitive(lambda x: x**2)
    extend.defvjp(wrong, lambda ans, x: lambda g: 3 * g * x)
    extend.defjvp(wrong, lambda g, ans, x: 3 * g * x)
    with pytest.raises(AssertionError, match=r"Derivative \(VJP\) check of"):
        check_grads(wrong, modes=["rev"])(X)
    with pytest.raises(AssertionError, match="Value mismatch"):
        check_grads(wrong, modes=["fwd"])(X)
    with pytest.raises(AssertionError, match="VSpace mismatch"):
        test_util.check_equivalent(X, M)


def test_flatten() -> None:
    value = {"b": [1.0, M], "a": (X, 2)}
    vector, unflatten = flatten(value)
    assert_same(vector, onp.concatenate([X, [2.0, 1.0], M.ravel()]))
    assert_same(unflatten(vector), {"a": (X, 2.0), "b": [1.0, M]})
    assert_same(flatten([])[0], onp.zeros(0))
    check_grads(lambda v: unflatten(flatten(unflatten(v**2))[0])["a"])(vector)
    function, _, start = flatten_func(lambda d: {"y": d["b"] * 2}, {"b": X})
    assert_same(function(start), 2 * X)


@pytest.mark.parametrize("optimizer", [optimizers.sgd, optimizers.rmsprop, optimizers.adam])
def test_optimizers(optimizer: Fun) -> None:
    points = []
    loss = lambda p: np.sum((p["a"] - 1) ** 2) + p["b"][0] ** 2
    result = optimizer(
        lambda p, i: ag.grad(loss)(p),
        {"a": X, "b": [2.0]},
        lambda p, i, g: points.append(i),
        num_iters=150,
        step_size=0.1,
    )
    assert points == list(range(150)) and loss(result) < 1e-2 * loss({"a": X, "b": [2.0]})


def test_fixed_points() -> None:
    root = lambda a: fixed_points.fixed_point(
        lambda a: lambda x: 0.5 * (x + a / x), a, 1.0, lambda x, y: np.abs(x - y), 1e-12
    )
    assert_same((root(2.0), ag.grad(root)(2.0)), (onp.sqrt(2.0), 0.5 / onp.sqrt(2.0)))
    onp.testing.assert_allclose(ag.grad(ag.grad(root))(2.0), -0.25 * 2.0**-1.5, rtol=1e-6)


def test_odeint_by_the_times() -> None:
    times = onp.array([0.1, 0.4, 0.7])
    solve = lambda t: scipy.integrate.odeint(lambda y, t: -y * t, onp.array([1.0]), t, rtol=1e-10, atol=1e-10)
    onp.testing.assert_allclose(solve(times), onp.exp(-0.5 * (times**2 - 0.01))[:, None], rtol=1e-8)
    check_grads(solve, modes=["rev"], order=1)(times)


# errors and warnings --------------------------------------------------------------------------------------------------

ERRORS: list[tuple[Fun, Any, str]] = [
    (lambda: ag.grad(lambda x: x)(X), TypeError, "Grad only applies to real scalar-output functions"),
    (lambda: ag.grad(lambda x: x * 1j)(1.0), TypeError, "Grad only applies to real scalar-output functions"),
    (lambda: ag.value_and_grad(lambda x: x)(X), TypeError, "value_and_grad only applies to real scalar"),
    (lambda: ag.elementwise_grad(lambda x: x * 1j)(X), TypeError, "Elementwise_grad only applies to real-output"),
    (lambda: ag.grad(cube)(1), TypeError, "Can't differentiate w.r.t. type <class 'int'>"),
    (lambda: ag.grad(cube)("x"), TypeError, "Can't differentiate w.r.t. type <class 'str'>"),
    (lambda: ag.grad(lambda x: "x")(1.0), TypeError, "Can't find vector space for value x"),
    (lambda: ag.grad(lambda x: float(x))(1.0), TypeError, "float"),
    (lambda: ag.grad(lambda x: onp.add(x, x, out=onp.zeros(3)))(X), TypeError, "out= is a plain array"),
    (lambda: ag.grad(lambda x: onp.zeros(3).__setitem__(0, x))(1.0), (TypeError, ValueError), "array element|float"),
    (lambda: ag.grad(lambda x: x + "text")(1.0), TypeError, "unsupported operand"),
    (lambda: ag.grad(lambda x: "text" - x)(1.0), TypeError, "unsupported operand"),
    (lambda: ag.grad(lambda x: x < None)(1.0), TypeError, "not supported"),
    (lambda: ag.grad(lambda x: list(x))(1.0), TypeError, "iteration over a 0-d array"),
    (lambda: ag.grad(lambda x: x.item())(X), ValueError, "size 1"),
    (lambda: ag.grad(lambda x: pickle.dumps(x))(X), TypeError, "a pickle of a box"),
    (lambda: ag.grad(lambda x: np.make_diagonal(x, 1))(X), NotImplementedError, "only supports offset=0"),
    (lambda: ag.grad(lambda x: scipy.linalg.schur(x)[0])(SPD), NotImplementedError, "VJP of schur"),
    (lambda: ag.grad(cube, "x")(X), AssertionError, "x"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Output seems independent")
@pytest.mark.parametrize("case", ERRORS, ids=lambda case: case[2])
def test_errors(case: Any) -> None:
    call, error, message = case
    with pytest.raises(error, match=message):
        call()


def test_results_that_depend_on_nothing_warn() -> None:
    for call in (lambda: ag.grad(lambda x: 1.0)(2.0), lambda: ag.make_jvp(lambda x: 1.0)(2.0)(1.0)):
        with pytest.warns(UserWarning, match="Output seems independent of input"):
            assert onp.all(onp.asarray(call()).ravel()[-1] == 0.0)
    with pytest.warns(UserWarning, match="not complex"):
        ag.holomorphic_grad(lambda z: z**2)(1.0)


def test_a_box_shows_its_value() -> None:
    texts: list[str] = []
    ag.grad(lambda x: (texts.append(str(x)), np.sum(x))[1])(onp.ones(2))
    assert texts == ["Autograd ArrayBox with value [1. 1.]"]


# installed under autograd's name --------------------------------------------------------------------------------------

PROGRAM = """
import sys
import adjoint.compat.autograd as ag
ag.install()
import autograd, autograd.numpy as np, autograd.numpy.random as npr, autograd.scipy.stats.norm as norm
import autograd.scipy.stats.multivariate_normal as mvn
from autograd import grad, jacobian
from autograd.builtins import isinstance, list, tuple, dict, DictBox
from autograd.extend import primitive, defvjp
from autograd.misc.optimizers import adam
from autograd.misc import flatten
from autograd.numpy.linalg import norm as length
from autograd.numpy.numpy_boxes import ArrayBox
from autograd.scipy.special import logsumexp
from autograd.test_util import check_grads
from autograd.tracer import getval
assert type(autograd.tracer.new_box(1.0, 0, None)).__name__ == "TracedBox"
assert ArrayBox.__module__.split(".")[0] == "autograd"
assert autograd is ag and grad(norm.logpdf)(1.0) == -1.0 and autograd.numpy.random is npr
"""

LATE = """
import sys, types
sys.modules["autograd"] = types.ModuleType("autograd")
import adjoint.compat.autograd as ag
ag.install()
"""


@pytest.mark.quick(0)
def test_install() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
    process = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True)
    assert process.returncode and "RuntimeError: autograd was imported before install() was called" in process.stderr


def test_install_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "autograd", types.ModuleType("autograd"))
    with pytest.raises(RuntimeError, match=r"autograd was imported before install\(\) was called; call it first"):
        ag.install()


def test_every_name_of_numpy_is_there() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        missing = [name for name in onp.__all__ if not hasattr(np, name)]
    assert missing == []


def test_traced_boxes_have_attributes_of_arrays_but_no_private_ones() -> None:
    box = _nodes.TracedBox(onp.ones((2, 3)), 0, None)
    assert (box.shape, box.ndim, box.size, box.dtype) == ((2, 3), 2, 6, onp.float64)
    with pytest.raises(AttributeError, match=r"^__nothing__$"):
        getattr(box, "__nothing__")  # noqa: B009


# uses by dependent packages -------------------------------------------------------------------------------------------


def test_joining_takes_arrays_one_by_one() -> None:
    x = onp.arange(3.0)
    for join in (np.stack, np.concatenate):
        result = ag.grad(lambda x, join=join: np.sum(join(k * np.reshape(x, (1, 3)) for k in (1.0, 2.0))))(x)
        onp.testing.assert_array_equal(result, [3.0, 3.0, 3.0])
    onp.testing.assert_array_equal(np.stack(iter([x, x])), [x, x])


def test_a_copy_of_a_box_is_one_of_its_values() -> None:
    def function(x: Any) -> Any:
        other = copy.copy(x)
        other[0] = 0.0
        return np.sum(other * x)

    onp.testing.assert_array_equal(ag.grad(function)(onp.array([3.0, 4.0])), [0.0, 8.0])


def test_older_places_of_names() -> None:
    assert scipy.misc.logsumexp is scipy.special.logsumexp

    @wrap_util.wraps(cube, "{fun}_{n}", "{n} of {fun}", n=2)
    def other() -> None: ...

    assert (other.__name__, other.__doc__) == ("cube_2", "2 of cube")


def test_derivatives_of_what_is_no_primitive_warn() -> None:
    for define in (ag.extend.defvjp, ag.extend.defjvp, ag.extend.defvjp_argnum, ag.extend.defjvp_argnums):
        with pytest.warns(UserWarning, match=rf"{define.__name__}\(\): cube is not a primitive"):
            define(cube, lambda *args: None)


def test_fields_of_maxwells_equations_by_the_permittivity() -> None:
    """A frequency-domain solver of the kind that its author writes: a sparse solve with both derivatives given."""
    n = 30
    line, damping = onp.arange(n), 1 + 0.3j * (onp.minimum(onp.arange(n), n - 1 - onp.arange(n)) < 5)
    second = sparse.diags([1.0, -2.0, 1.0], [-1, 0, 1], (n, n), format="csc")  # type: ignore[call-overload]
    source = (line == 8).astype(complex)

    def operator(eps: onp.ndarray) -> Any:
        return (second + sparse.diags(0.25 * eps * damping)).tocsc()

    @ag.extend.primitive
    def field(eps: onp.ndarray) -> onp.ndarray:
        return onp.asarray(spsolve(operator(eps), source))

    def vjp(ans: Any, eps: Any) -> Any:
        transposed = operator(eps).T.tocsc()
        return lambda g: -onp.real(spsolve(transposed, g) * 0.25 * damping * ans)

    ag.extend.defvjp(field, vjp)
    ag.extend.defjvp(field, lambda g, ans, eps: -spsolve(operator(eps), 0.25 * damping * ans * g))

    def power(eps: Any) -> Any:
        return np.sum(np.abs(field(eps)[20:25]) ** 2)

    eps = onp.linspace(1.0, 3.0, n)
    steps = 1e-6 * onp.eye(n)
    numeric = [(power(eps + step) - power(eps - step)) / 2e-6 for step in steps]
    onp.testing.assert_allclose(ag.grad(power)(eps), numeric, rtol=1e-6, atol=1e-9)
    pushed = [ag.make_jvp(power)(eps)(v)[1] for v in onp.eye(n)[:3]]
    onp.testing.assert_allclose(pushed, numeric[:3], rtol=1e-6, atol=1e-9)
