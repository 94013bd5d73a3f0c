"""autograd.custom: derivatives of plain functions of trees."""

from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import adjoint
from adjoint import func, vmap
from adjoint.autograd import custom, grad
from adjoint.testing import assert_close


def vector(*values):
    return adjoint.tensor(values, dtype=adjoint.float64)


X, Y = vector(1.0, 2.0), vector(0.5, -1.0)

RULES = {
    "vjp": {"vjp": lambda g, x, y: 3 * g * y / x},
    "jvp": {"jvp": lambda t, x, y: 3 * t * y / x},
    "both": {"vjp": {"x": lambda g, x, y: 3 * g * y / x}, "jvp": {"x": lambda t, x: 3 * t * x**2}},
}


@pytest.mark.parametrize("names", RULES)
@pytest.mark.parametrize(
    "derivative",
    [
        lambda f: f,
        lambda f: func.jacrev(f),
        lambda f: func.jacfwd(f),
        lambda f: func.hessian(lambda x: f(x).sum()),
        lambda f: func.jacrev(func.jacfwd(f)),
        lambda f: vmap(f),
        lambda f: vmap(func.grad(f)),
        lambda f: func.jacrev(vmap(f)),
        lambda f: lambda x: func.jvp(func.grad(lambda x: f(x).sum()), (x,), (Y,)),
    ],
)
def test_one_rule_is_enough(names, derivative):
    cube = custom(lambda x: x**3, **RULES[names])
    pairs = [derivative(cube)(X), derivative(lambda x: x**3)(X)]
    for a, b in zip(*[result if isinstance(result, tuple) else (result,) for result in pairs], strict=True):
        assert_close(a, b)


def test_function_may_leave_the_tensors():
    @custom(vjp=lambda g, y: g * y)
    def natural_exp(x):
        """e to the x."""
        assert not x.requires_grad or not adjoint.is_grad_enabled()
        return adjoint.from_numpy(np.exp(x.detach().numpy()))

    x = X.clone().requires_grad_()
    y = natural_exp(x)
    assert y.grad_fn.name() == "NaturalExpBackward"
    assert natural_exp.__doc__ == "e to the x." and repr(natural_exp) == "<custom function natural_exp(x)>"
    (first,) = grad(y.sum(), x, create_graph=True)
    (second,) = grad(first.sum(), x)
    assert_close(second, X.exp())


def test_only_what_rules_name_is_saved():
    product = custom(lambda x, w, n: x * w * n, vjp={"x": lambda g, w, n: g * w * n})
    y = product(X.clone().requires_grad_(), Y, 3)
    assert [id(t) for t in y.grad_fn.saved_tensors] == [id(Y)]


def test_only_rules_that_are_needed_run():
    ran = []

    def rule(name):
        return lambda g, x, w: (ran.append(name), g * (w if name == "x" else x))[1]

    product = custom(lambda x, w: x * w, vjp={"x": rule("x"), "w": rule("w")})
    x = X.clone().requires_grad_()
    assert_close(grad(product(x, Y).sum(), x)[0], Y)
    assert ran == ["x"]


def test_arguments_of_all_kinds():
    @custom
    def scaled_sum(x, *more, scale=2.0, **options):
        return (x + sum(more)) * scale * options["w"]

    @scaled_sum.vjp
    def _(g, x, more, scale, options):
        total = g * scale
        whole = (x + sum(more)) * total
        return total * options["w"], tuple(total * options["w"] for _ in more), None, {"w": whole}

    def f(x, w):
        return scaled_sum(x, x, x * 2, w=w)

    assert_close(f(X, Y), 8 * X * Y)
    for a, b in zip(func.grad(lambda x, w: f(x, w).sum(), (0, 1))(X, Y), (8 * Y, 8 * X), strict=True):
        assert_close(a, b)


@dataclass
class Model:
    weight: object
    bias: object
    name: str = "m"


Pair = namedtuple("Pair", "first second")


def test_trees():
    """Dicts, dataclasses and named tuples, with parts that have no derivative."""

    @custom
    def layer(model, inputs):
        z = model.weight * inputs["x"] + model.bias
        return Pair({"z": z, "positive": z > 0}, [model.name, inputs["n"]])

    @layer.vjp("model")
    def _(g, inputs):
        return Model(g.first["z"] * inputs["x"], g.first["z"], None)

    @layer.vjp("inputs")
    def _(g, model):
        return {"n": None, "x": g.first["z"] * model.weight}

    def loss(weight, bias, x):
        result = layer(Model(weight, bias), {"x": x, "n": 3})
        assert isinstance(result, Pair) and result.second == ["m", 3] and not result.first["positive"].requires_grad
        return result.first["z"] ** 2

    def expected_value(weight, bias, x):
        return (weight * x + bias) ** 2

    args = (X, Y, X + Y)
    for make in (func.jacrev, func.jacfwd):
        for a, b in zip(make(loss, (0, 1, 2))(*args), make(expected_value, (0, 1, 2))(*args), strict=True):
            assert_close(a, b)
    assert_close(vmap(loss)(*args), vmap(expected_value)(*args))


def test_joint_rules():
    product = custom(
        lambda x, w: x * w,
        vjp=lambda g, x, w: {"w": g * x, "x": g * w},
        jvp=lambda t, x, w: t[0] * w + x * t[1],
    )
    assert_close(func.jvp(product, (X, Y), (Y, X))[1], Y * Y + X * X)
    for a, b in zip(func.grad(lambda x, w: product(x, w).sum(), (0, 1))(X, Y), (Y, X), strict=True):
        assert_close(a, b)
    # the missing tangent counts as zeros
    assert_close(func.jvp(lambda x: product(x, Y), (X,), (X,))[1], X * Y)


def test_parts_without_cotangent():
    first = custom(lambda x: x[0] * 2, vjp=lambda g, x: (g * 2, None))
    a, b = X.clone().requires_grad_(), Y.clone().requires_grad_()
    gradients = grad(first((a, b)).sum(), (a, b), allow_unused=True)
    assert_close(gradients[0], X * 0 + 2)
    assert gradients[1] is None
    none = custom(lambda x: x * 2, vjp=lambda g: None)
    assert grad(none(a).sum(), a, allow_unused=True) == (None,)


def test_wrong_rules_are_refused_when_given():
    with pytest.raises(TypeError, match=r"f: the vjp asks for 'z'; known are g \(first\), y \(the result\), x"):

        @custom(vjp=lambda g, z: g)
        def f(x):
            return x

    with pytest.raises(TypeError, match="the jvp of 'z' is for a parameter that is not there; known are x"):
        custom(lambda x: x, jvp={"z": lambda t: t})
    with pytest.raises(TypeError, match="the vjp must be a function, not int"):
        custom(lambda x: x, vjp=3)
    both = custom(lambda x: x, vjp=lambda g: g)
    with pytest.raises(TypeError, match="give either one rule for all parameters, or one for each"):
        both.vjp("x")(lambda g: g)


def test_wrong_results_of_rules():
    x = X.clone().requires_grad_()
    several = custom(lambda x, w: x * w, vjp=lambda g: g)
    with pytest.raises(RuntimeError, match=r"must return a tuple with one value for each parameter \(x, w\), but it"):
        several(x, Y).sum().backward()
    too_many = custom(lambda x, w: x * w, vjp=lambda g: (g, g, g))
    with pytest.raises(RuntimeError, match=r"\(x, w\), but it returned 3 values"):
        too_many(x, Y).sum().backward()
    tree = custom(lambda x: x["a"] * 1, vjp=lambda g: {"b": g})
    with pytest.raises(RuntimeError, match=r"the cotangent of 'x' must have the structure {'a': \*}, or None for"):
        tree({"a": x}).sum().backward()
    nothing = custom(lambda x: x * 1)
    with pytest.raises(RuntimeError, match="has neither a vjp nor a jvp, so it cannot be differentiated"):
        nothing(x).sum().backward()
    with pytest.raises(RuntimeError, match="has neither a vjp nor a jvp, so it cannot be differentiated"):
        func.jvp(nothing, (X,), (X,))


def test_a_parameter_called_like_the_result_is_refused():
    with pytest.raises(TypeError, match="asks for 'y', which means the result, but is a parameter"):
        custom(lambda x, y: x * y, vjp=lambda g, x, y: (g * y, g * x))


@pytest.mark.parametrize("mode", ["reverse", "forward over reverse"])
def test_rules_that_differentiate_after_a_batch_is_over(mode):
    def f(x, p):
        return (x * p).sin()

    @custom
    def g(x, p):
        return f(x, p)

    @g.vjp
    def _(g, x, p):
        # values of the whole batch and values of members meet before the end of the batch
        of_x, of_p = func.vjp(f, x, p)[1](g)
        return of_x, of_p + 0.0 * of_x.sum()

    x = adjoint.tensor([0.1, 0.5, 0.9], dtype=adjoint.float64)

    def slope(h):
        p = adjoint.tensor(2.0, dtype=adjoint.float64, requires_grad=True)
        if mode == "reverse":
            loss = vmap(lambda x: h(x, p))(x).sum()
        else:
            loss = func.jacfwd(lambda x: h(x, p).sum())(x).sum()
        return grad(loss, p)[0]

    assert_close(slope(g), slope(f))


def test_rules_of_several_parameters_add_up_in_forward_mode():
    """The tangents are added leaf by leaf. None counts as zero."""

    @custom
    def both(x, z):
        return {"product": x * z, "first": x**2, "second": 3 * z, "whole": x.long()}

    @both.jvp("x")
    def _(t, x, z):
        return {"product": t * z, "first": 2 * t * x, "second": None, "whole": None}

    @both.jvp("z")
    def _(t, x):
        return {"product": x * t, "first": None, "second": 3 * t, "whole": None}

    _, tangents = func.jvp(both, (X, Y), (X, Y))
    assert_close(tangents["product"], 2 * X * Y)
    assert_close(tangents["first"], 2 * X * X)
    assert_close(tangents["second"], 3 * Y)
    assert tangents["whole"].tolist() == (0 * X).tolist()
    _, alone = func.jvp(lambda x: both(x, Y), (X,), (X,))
    assert_close(alone["product"], X * Y)
    assert_close(alone["second"], 0 * Y)
    nothing = custom(lambda x, z: x + z, jvp={"x": lambda t: None, "z": lambda t: t})
    assert_close(func.jvp(nothing, (X, Y), (X, Y))[1], Y)


def test_rules_for_results_without_a_derivative_and_constant_arguments():
    @custom(jvp={"x": lambda t, x: (2 * x * t, None), "w": lambda t: (t, None)})
    def squares(x, w):
        return x * x + w, x.long()

    x = X.clone().requires_grad_()
    squares(x, Y)[0].sum().backward()
    assert_close(x.grad, 2 * X)
    # no parameter has a tangent
    value, tangent = func.jvp(lambda z: squares(X, Y)[0] + z, (X,), (Y,))
    assert_close((value, tangent), (X * X + Y + X, Y))


def test_a_rule_may_leave_out_a_parameter():
    part = custom(lambda x, w: x * w, jvp={"x": lambda t, w: None, "w": lambda t, x: x * t})
    assert_close(func.jvp(part, (X, Y), (X, X))[1], X * X)


def test_a_parameter_without_a_rule_is_a_constant():
    for rules in ({"jvp": {"x": lambda t, w: t * w}}, {"vjp": {"x": lambda g, w: g * w}}):
        product = custom(lambda x, w: x * w, **rules)
        assert_close(func.jvp(lambda w, product=product: product(X, w), (Y,), (X,)), (X * Y, 0 * X))
        assert_close(func.grad(lambda w, product=product: product(X, w).sum())(Y), 0 * X)


def test_a_rule_of_whole_numbers_has_no_tangent():
    scaled = custom(lambda k, w: k * w, jvp={"k": lambda t, w: t * w})
    assert_close(func.jvp(lambda w: scaled(adjoint.tensor(2), w), (Y,), (X,)), (2 * Y, 0 * X))


class Nested(adjoint.autograd.function.NestedIOFunction):
    @staticmethod
    def forward_extended(ctx, pair):
        ctx.save_for_backward(*pair)
        return {"product": pair[0] * pair[1]}

    @staticmethod
    def backward_extended(ctx, gradients):
        a, b = ctx.saved_tensors
        return [gradients["product"] * b, gradients["product"] * a]


class Several(adjoint.autograd.function.NestedIOFunction):
    @staticmethod
    def forward_extended(ctx, x, factor):
        return [x * factor], x + 1

    @staticmethod
    def backward_extended(ctx, of_products, of_sum):
        return 3 * of_products[0] + of_sum, None


class Plain(adjoint.autograd.function.NestedIOFunction):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g


def test_nested_arguments_and_results():
    a, b = X.clone().requires_grad_(), Y.clone().requires_grad_()
    Nested.apply([a, b])["product"].sum().backward()
    assert_close((a.grad, b.grad), (Y, X))
    x = X.clone().requires_grad_()
    (product,), total = Several.apply(x, 3.0)
    (product + total).sum().backward()
    assert_close(x.grad, vector(4.0, 4.0))
    x.grad = None
    Plain.apply(x).sum().backward()
    assert_close(x.grad, vector(2.0, 2.0))
