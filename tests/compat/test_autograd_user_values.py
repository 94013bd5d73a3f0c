"""Values of users' types in the HIPS layer: a box, a vector space, and primitives with such arguments and results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

from adjoint.compat import autograd
from adjoint.compat.autograd import numpy as anp
from adjoint.compat.autograd.extend import Box, VSpace, defjvp, defvjp, primitive, vspace
from adjoint.compat.autograd.test_util import check_grads
from adjoint.compat.autograd.tracer import getval, isbox
from adjoint.runtime.pytree import flatten


class Point:
    """A value that is neither an array nor a container."""

    def __init__(self, x: float, y: float) -> None:
        self.x, self.y = x, y

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and bool(numpy.allclose((self.x, self.y), (other.x, other.y)))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Point({self.x}, {self.y})"


class PointBox(Box):
    __slots__: list[str] = []

    x = property(lambda self: x_of(self))
    y = property(lambda self: y_of(self))

    def __add__(self, other: Any) -> Any:
        return add(self, other)

    def __mul__(self, factor: Any) -> Any:
        return scale(self, factor)


class PointSpace(VSpace):
    size = 2

    def __init__(self, value: Any) -> None:
        assert isinstance(value, Point)

    def zeros(self) -> Point:
        return Point(0.0, 0.0)

    def ones(self) -> Point:
        return Point(1.0, 1.0)

    def standard_basis(self) -> Iterator[Point]:
        yield Point(1.0, 0.0)
        yield Point(0.0, 1.0)

    def randn(self) -> Point:
        return Point(*numpy.random.randn(2))

    def _add(self, x: Point, y: Point) -> Point:
        return Point(x.x + y.x, x.y + y.y)

    def _mut_add(self, x: Point, y: Point) -> Point:
        return self._add(x, y)

    def _scalar_mul(self, x: Point, a: float) -> Point:
        return Point(x.x * a, x.y * a)

    def _inner_prod(self, x: Point, y: Point) -> float:
        return x.x * y.x + x.y * y.y


PointBox.register(Point)
PointSpace.register(Point)


@primitive
def x_of(p: Any) -> Any:
    return p.x


@primitive
def y_of(p: Any) -> Any:
    return p.y


@primitive
def point(x: Any, y: Any) -> Any:
    return Point(x, y)


@primitive
def add(p: Any, q: Any) -> Any:
    return Point(p.x + q.x, p.y + q.y)


@primitive
def scale(p: Any, a: Any) -> Any:
    return Point(p.x * a, p.y * a)


defvjp(x_of, lambda ans, p: lambda g: point(g, 0.0 * g))
defvjp(y_of, lambda ans, p: lambda g: point(0.0 * g, g))
defvjp(point, lambda ans, x, y: x_of, lambda ans, x, y: y_of)
defvjp(add, lambda ans, p, q: lambda g: g, lambda ans, p, q: lambda g: g)
defvjp(
    scale,
    lambda ans, p, a: lambda g: scale(g, a),
    lambda ans, p, a: lambda g: x_of(g) * x_of(p) + y_of(g) * y_of(p),
)
defjvp(x_of, lambda g, ans, p: x_of(g))
defjvp(y_of, lambda g, ans, p: y_of(g))
defjvp(point, lambda g, ans, x, y: point(g, 0.0), lambda g, ans, x, y: point(0.0, g))
defjvp(add, lambda g, ans, p, q: g, lambda g, ans, p, q: g)
defjvp(scale, lambda g, ans, p, a: scale(g, a), lambda g, ans, p, a: scale(p, g))

P = Point(2.0, 3.0)
#: Programs with the answers of HIPS autograd.
PROGRAMS: dict[str, tuple[Callable[[], Any], Any]] = {
    "attributes": (lambda: autograd.grad(lambda p: p.x * p.x * p.y)(P), Point(12, 4)),
    "operators": (lambda: autograd.grad(lambda p: (p + p * 2.0).x)(P), Point(3, 0)),
    "a sum": (lambda: autograd.grad(lambda p: sum((p * float(i)).x for i in range(4)))(P), Point(6, 0)),
    "a number inside": (lambda: autograd.grad(lambda a: scale(P, a).x * a)(3.0), 12),
    "made inside": (lambda: autograd.grad(lambda x: point(x, x * x).y)(3.0), 6),
    "NumPy's functions": (
        lambda: autograd.grad(lambda p: anp.sin(p.x) * anp.array([p.x, p.y])[1])(P),
        Point(3 * numpy.cos(2.0), numpy.sin(2.0)),
    ),
    "a list": (lambda: autograd.grad(lambda ps: ps[0].x * ps[1].y)([P, P]), [Point(3, 0), Point(0, 2)]),
    "a dictionary": (
        lambda: autograd.grad(lambda d: d["a"].x * d["b"])({"a": P, "b": 2.0}),
        {"a": Point(2, 0), "b": 2},
    ),
    "another argument": (lambda: autograd.grad(lambda a, p: p.y * a, 1)(2.0, P), Point(0, 2)),
    "several arguments": (lambda: autograd.grad(lambda a, p: p.y * a, (0, 1))(2.0, P), (3, Point(0, 2))),
    "value and gradient": (lambda: autograd.value_and_grad(lambda p: p.x * p.y)(P), (6, Point(3, 2))),
    "second order": (lambda: autograd.grad(lambda x: autograd.grad(lambda p: p.x**2 * p.y)(point(x, x)).x)(3.0), 12),
    "a value as result": (lambda: pull(lambda x: point(x, x * x), 3.0, Point(1.0, 2.0)), (Point(3, 9), 13)),
    "forward": (lambda: autograd.make_jvp(lambda p: p.x * p.y)(P)(Point(1.0, 0.0)), (6, 3)),
    "forward to a value": (lambda: autograd.make_jvp(lambda x: point(x, x * x))(3.0)(1.0), (Point(3, 9), Point(1, 6))),
    "jacobian": (lambda: autograd.jacobian(lambda x: anp.array([point(x, x).x, 2 * x]))(3.0).tolist(), [1, 2]),
}


def pull(function: Any, x: Any, g: Any) -> Any:
    vjp, value = autograd.make_vjp(function)(x)
    return value, vjp(g)


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_go_through_values_of_users_types(name: str) -> None:
    run, expected = PROGRAMS[name]
    actual, target = flatten_but_points(run()), flatten_but_points(expected)
    assert len(actual) == len(target)
    for one, other in zip(actual, target, strict=True):
        assert type(one) is Point and one == other if isinstance(other, Point) else numpy.allclose(one, other)


def flatten_but_points(tree: Any) -> list[Any]:
    return flatten(tree, lambda part: isinstance(part, Point))[0]


def test_what_the_function_gets() -> None:
    values: list[Any] = []

    def function(p: Any) -> Any:
        values.extend([type(p), isbox(p), p._value, getval(p), type(vspace(p)), p.x])
        return p.x

    autograd.grad(function)(P)
    assert values[:5] == [PointBox, True, P, P, PointSpace] and float(values[5]._value) == 2


def test_finite_differences_agree() -> None:
    check_grads(lambda p: p.x * p.y * p.y, modes=["fwd", "rev"], order=2)(P)
    check_grads(lambda p, a: scale(p, a).x * p.y, modes=["fwd", "rev"], order=2)(P, 1.5)


def test_a_function_that_does_not_depend_on_it() -> None:
    with pytest.warns(UserWarning, match="independent of input"):
        assert autograd.grad(lambda p: 3.0)(P) == Point(0, 0)


@pytest.mark.parametrize("name", ["box", "space"])
def test_a_type_with_one_of_both_is_refused(name: str) -> None:
    kind = type("Half", (), {})
    if name == "box":
        type("HalfBox", (Box,), {"__slots__": []}).register(kind)
    else:
        type("HalfSpace", (PointSpace,), {}).register(kind)
    with pytest.raises(TypeError, match=r"Can't differentiate w\.r\.t\. type"):
        autograd.grad(lambda value: 1.0)(kind())


def test_complex_spaces_of_users_types_are_refused() -> None:
    class Phase(Point):
        pass

    type("PhaseBox", (Box,), {"__slots__": []}).register(Phase)
    type("PhaseSpace", (PointSpace,), {"iscomplex": True}).register(Phase)
    with pytest.raises(TypeError, match="PhaseSpace is complex"):
        autograd.grad(lambda value: 1.0)(Phase(1.0, 2.0))


# values of a space without a basis ------------------------------------------------------------------------------------


class Sines:
    """A sum of multiples of sin(k t), by k: an element of a space of functions."""

    def __init__(self, weights: dict[int, float]) -> None:
        self.weights = weights

    @primitive
    def __call__(self, t: float) -> float:
        return sum([a * numpy.sin(k * t) for k, a in self.weights.items()], 0.0)

    @primitive
    def derivative(self) -> Sines:
        """A linear map of the space: k sin(k t) for each sin(k t)."""
        return Sines({k: k * a for k, a in self.weights.items()})


class SinesBox(Box, Sines):
    __slots__: list[str] = []


class SinesSpace(VSpace):
    def __init__(self, value: Sines) -> None:
        pass

    def zeros(self) -> Sines:
        return Sines({})

    def _add(self, f: Sines, g: Sines) -> Sines:
        return Sines({k: f.weights.get(k, 0.0) + g.weights.get(k, 0.0) for k in {*f.weights, *g.weights}})

    def _scalar_mul(self, f: Sines, a: float) -> Sines:
        return Sines({k: a * w for k, w in f.weights.items()})


SinesBox.register(Sines)
SinesSpace.register(Sines)
TERMS = range(1, 4)
defvjp(Sines.__dict__["__call__"], lambda ans, f, t: lambda g: Sines({k: g * numpy.sin(k * t) for k in TERMS}))
defvjp(Sines.__dict__["derivative"], lambda ans, f: lambda g: Sines({k: k * w for k, w in g.weights.items()}))


def test_a_space_without_a_basis_has_gradients() -> None:
    def loss(f: Any) -> Any:
        return (f(0.3) - 1.0) ** 2 + anp.exp(f(0.7)) * f.derivative()(0.2)

    def of_weights(weights: Any) -> Any:
        f = [anp.sum(weights * anp.sin(anp.array(TERMS) * t)) for t in (0.3, 0.7)]
        return (f[0] - 1.0) ** 2 + anp.exp(f[1]) * anp.sum(weights * anp.array(TERMS) * anp.sin(anp.array(TERMS) * 0.2))

    f = Sines({1: 0.5, 2: -0.25, 3: 0.125})
    value, gradient = autograd.value_and_grad(loss)(f)
    weights = numpy.array([0.5, -0.25, 0.125])
    assert float(value) == pytest.approx(float(of_weights(weights)))
    expected = autograd.grad(of_weights)(weights)
    assert [float(gradient.weights[k]) for k in TERMS] == pytest.approx(list(expected))


def test_a_constant_function_of_such_a_value_has_the_gradient_zero() -> None:
    with pytest.warns(UserWarning, match="Output seems independent"):
        assert autograd.grad(lambda f: 3.0)(Sines({1: 2.0})).weights == {}


def test_such_a_value_made_of_numbers_is_an_error() -> None:
    function = primitive(lambda a: Sines({1: a}))
    defvjp(function, lambda ans, a: lambda g: g.weights[1])
    with pytest.raises(TypeError, match=r"returned a Sines, .* whose VSpace has no standard_basis\(\)"):
        autograd.grad(lambda a: function(a)(0.5))(2.0)
