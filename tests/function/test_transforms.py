"""Custom functions under forward mode, func.* and vmap, in all nestings."""

import numpy as np
import pytest

import adjoint
from adjoint import func, vmap
from adjoint.autograd import Function, forward_ad, gradcheck, gradgradcheck
from adjoint.testing import assert_close


def vector(*values):
    return adjoint.tensor(values, dtype=adjoint.float64)


def members(**functions):
    return {name: staticmethod(value) if callable(value) else value for name, value in functions.items()}


def make_function(**functions):
    return type("My", (Function,), members(**functions))


class Product(Function):
    """x * y * y, as a function with all optional parts."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y, n=1):
        return x * y * y * n

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y, ctx.n = inputs
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y * y * ctx.n, 2 * g * x * y * ctx.n, None

    @staticmethod
    def jvp(ctx, tx, ty, tn):
        assert tn is None
        x, y = ctx.saved_tensors
        return (tx * y * y + 2 * ty * x * y) * ctx.n


class ByRule(Product):
    """The same function with its own vmap rule."""

    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x, y, n=1):
        assert info.randomness == "error"
        if in_dims[0] is None:
            x = x.expand(info.batch_size, *x.shape)
        if in_dims[1] is None:
            y = y.expand(info.batch_size, *y.shape)
        rank = max(x.ndim, y.ndim)
        x, y = [t.reshape(info.batch_size, *[1] * (rank - t.ndim), *t.shape[1:]) for t in (x, y)]
        return ByRule.apply(x, y, n), 0


def plain(x, y):
    return x * y * y


FUNCTIONS = pytest.mark.parametrize("function", [Product, ByRule])
X, Y = vector(1.0, 2.0, 3.0), vector(0.5, -1.0, 2.0)

DERIVATIVES = {
    "grad": lambda f: func.grad(lambda x, y: f(x, y).sum(), (0, 1)),
    "jacrev": lambda f: func.jacrev(f, (0, 1)),
    "jacfwd": lambda f: func.jacfwd(f, (0, 1)),
    "hessian": lambda f: func.hessian(lambda x, y: f(x, y).sum(), (0, 1)),
    "reverse over forward": lambda f: func.jacrev(func.jacfwd(f, 1), 1),
    "reverse over reverse": lambda f: func.jacrev(func.jacrev(f, 1), (0, 1)),
    "forward over forward": lambda f: func.jacfwd(func.jacfwd(f, 1), (0, 1)),
    "third": lambda f: func.jacfwd(func.jacrev(func.jacfwd(f, 1), 0), 1),
    "jvp": lambda f: lambda x, y: func.jvp(f, (x, y), (y, x)),
    "jvp of grad": lambda f: (
        lambda x, y: func.jvp(func.grad(lambda y: f(x, y).sum()), (y,), (x,))  # x is a constant
    ),
    "vjp of jvp": lambda f: lambda x, y: func.vjp(lambda y: func.jvp(lambda x: f(x, y), (x,), (y,))[1], y)[1](x),
}


def same(actual, expected):
    if isinstance(expected, tuple):
        for a, b in zip(actual, expected, strict=True):
            same(a, b)
    else:
        assert_close(actual, expected)


@FUNCTIONS
@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_derivatives(function, derivative):
    make = DERIVATIVES[derivative]
    same(make(function.apply)(X, Y), make(plain)(X, Y))


@FUNCTIONS
@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_derivatives_of_each_member(function, derivative):
    make = DERIVATIVES[derivative]
    batch = adjoint.stack([Y, Y * 2])
    for dims in ((None, 0), (0, 0)):
        x = X if dims[0] is None else adjoint.stack([X, X + 1])
        same(vmap(make(function.apply), dims)(x, batch), vmap(make(plain), dims)(x, batch))


@FUNCTIONS
@pytest.mark.parametrize("derivative", ["grad", "jacrev", "jacfwd", "jvp"])
def test_derivatives_of_a_batch(function, derivative):
    make = DERIVATIVES[derivative]
    same(make(vmap(function.apply))(X, Y), make(vmap(plain))(X, Y))
    same(make(vmap(function.apply, (None, 0)))(X, Y), make(vmap(plain, (None, 0)))(X, Y))


@FUNCTIONS
def test_nested_batches(function):
    result = vmap(vmap(function.apply, (None, 0)), (0, None))(X, Y)
    assert_close(result, vmap(vmap(plain, (None, 0)), (0, None))(X, Y))
    assert_close(vmap(vmap(lambda x: function.apply(x, x, n=3)))(X.expand(2, 3)), (3 * X**3).expand(2, 3))


@FUNCTIONS
def test_batch_with_history(function):
    x = X.clone().requires_grad_()
    vmap(function.apply, (0, None))(x, Y).sum().backward()
    assert_close(x.grad, (Y * Y).sum().expand(3))


@FUNCTIONS
def test_gradcheck(function):
    x, y = X.clone().requires_grad_(), Y.clone().requires_grad_()
    assert gradcheck(
        function.apply,
        (x, y),
        check_undefined_grad=True,
        check_batched_grad=True,
        check_forward_ad=True,
        check_batched_forward_grad=True,
    )
    assert gradgradcheck(function.apply, (x, y), check_fwd_over_rev=True, check_rev_over_rev=True)


# vmap rules -----------------------------------------------------------------------------------------------------------


def setup(ctx, inputs, output):
    """The function saves nothing."""


def test_rule_differentiates_by_the_functions_own_derivative_inside_the_batch():
    """A vmap rule that computes outside of Tensors still works if each member's derivative is taken."""

    class Outside(Function):
        @staticmethod
        def forward(x):
            return adjoint.from_numpy(np.exp(x.detach().numpy()))

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

        @staticmethod
        def vmap(info, in_dims, x):
            return adjoint.from_numpy(np.exp(x.detach().numpy())), in_dims[0]

    assert_close(vmap(func.grad(Outside.apply))(X), X.exp())


def test_rule_sees_batches_in_trees():
    notes = []

    def rule(info, in_dims, pair, n):
        notes.append((info.batch_size, in_dims, n))
        return (pair[0] * n, pair[1]), (0, None)

    function = make_function(forward=lambda pair, n: (pair[0] * n, pair[1]), setup_context=setup, vmap=rule)
    first, second = vmap(lambda x: function.apply((x, Y), 2), out_dims=(0, None))(X)
    assert notes == [(3, ((0, None), None), 2)]
    assert_close(first, X * 2)
    assert second is Y


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda x: x, "Expected the vmap staticmethod to have two returns.*Got a <class .*Tensor'> instead"),
        (lambda x: (x, 0, 0), "Expected the vmap staticmethod to have two returns.*Got 3 returns instead"),
        (lambda x: (x, (0, 0)), r"returned an incompatible \(output, out_dims\) tuple. Expected out_dims=\(0, 0\)"),
        (lambda x: (x, 5), r"Dimension out of range \(expected to be in range of \[-1, 0\], but got 5\)"),
    ],
)
def test_wrong_rules(returned, message):
    function = make_function(forward=lambda x: x, setup_context=setup, vmap=lambda info, in_dims, x: returned(x))
    with pytest.raises((RuntimeError, IndexError), match=message):
        vmap(function.apply)(X)


def test_missing_and_ambiguous_rules():
    neither = make_function(forward=lambda x: x * 2, setup_context=setup)
    with pytest.raises(RuntimeError, match="You tried to vmap over My, but it does not have vmap support"):
        vmap(neither.apply)(X)
    both = make_function(forward=lambda x: x * 2, setup_context=setup, vmap=lambda *args: None, generate_vmap_rule=True)
    with pytest.raises(RuntimeError, match="it has both generate_vmap_rule=True and an overridden vmap"):
        vmap(both.apply)(X)
    assert_close(both.apply(X), X * 2)


@pytest.mark.parametrize(
    "use", [lambda f: func.grad(lambda x: f(x).sum())(X), lambda f: vmap(f)(X), lambda f: func.jvp(f, (X,), (X,))]
)
def test_transformations_want_setup_context(use):
    function = make_function(forward=lambda ctx, x: x * 2, backward=lambda ctx, g: g * 2)
    with pytest.raises(RuntimeError, match="it must override the setup_context staticmethod"):
        use(function.apply)
    # the function can be used again
    x = X.clone().requires_grad_()
    function.apply(x).sum().backward()
    assert_close(x.grad, X * 0 + 2)


def test_in_place_under_transformations():
    function = make_function(
        forward=lambda x: x.mul_(2),
        setup_context=lambda ctx, inputs, output: ctx.mark_dirty(inputs[0]),
        backward=lambda ctx, g: g * 2,
        generate_vmap_rule=True,
    )
    assert_close(func.grad(lambda x: function.apply(x.clone()).sum())(X), X * 0 + 2)
    assert_close(vmap(lambda x: function.apply(x.clone()))(X), X * 2)


def test_what_had_no_tangent_is_modified_in_a_batch_of_tangents():
    fill = make_function(
        forward=lambda x, target: target.copy_(x * 2),
        setup_context=lambda ctx, inputs, output: ctx.mark_dirty(inputs[1]),
        jvp=lambda ctx, t, other: other.copy_(t * 2),
        generate_vmap_rule=True,
    )
    assert_close(func.jacfwd(lambda x: fill.apply(x, X.clone()))(X), 2 * adjoint.eye(3, dtype=adjoint.float64))


# forward mode ---------------------------------------------------------------------------------------------------------


def tangents(function, *pairs):
    """Tangents of the results. An argument without a tangent is a constant."""
    with forward_ad.dual_level():
        args = [x if t is None else forward_ad.make_dual(x, t) for x, t in pairs]
        outputs = function.apply(*args)
        single = not isinstance(outputs, tuple)
        results = [forward_ad.unpack_dual(output).tangent for output in ((outputs,) if single else outputs)]
        return results[0] if single else results


def test_arguments_without_tangents():
    notes = []

    def jvp(ctx, *tangents):
        notes.append(tangents)
        return tangents[0]

    whole = vector(1.0).long()
    function = make_function(forward=lambda ctx, a, b, c, n: a * 1, jvp=jvp)
    tangents(function, (X, Y), (Y, None), (whole, None), (3, None))
    assert notes[0][0] is not None and notes[0][1].equal(Y * 0) and notes[0][2] is notes[0][3] is None
    function = make_function(forward=lambda ctx, a, b: (ctx.set_materialize_grads(False), a * 1)[1], jvp=jvp)
    tangents(function, (X, Y), (Y, None))
    assert notes[1][1] is None
    # without tangents the jvp is not called
    make_function(forward=lambda ctx, a: a * 1, jvp=lambda ctx, t: 1 / 0).apply(X)


def test_tangents_are_hidden_from_forward_and_shown_to_jvp():
    notes = []

    def forward(ctx, x):
        notes.append((forward_ad.unpack_dual(x).tangent, adjoint.is_grad_enabled()))
        ctx.save_for_forward(x)
        assert ctx.saved_tensors == ()
        return x * 1

    def jvp(ctx, t):
        notes.append((ctx.saved_tensors[0].requires_grad, adjoint.is_grad_enabled()))
        return t

    function = make_function(forward=forward, jvp=jvp)
    with forward_ad.dual_level():
        result = function.apply(forward_ad.make_dual(X.clone().requires_grad_(), Y))
    assert notes == [(None, False), (True, True)]
    assert result.grad_fn.saved_for_forward is None


@pytest.mark.parametrize(
    ("forward", "jvp", "message"),
    [
        (lambda ctx, x: x * 1, lambda ctx, t: (t, t), r"invalid number of forward gradients \(expected 1 but got 2\)"),
        (lambda ctx, x: x * 1, lambda ctx, t: [t], r"expected Variable or None \(got list\) for grad output 0."),
        (lambda ctx, x: x * 1, lambda ctx, t: t.sum(), r"Tensor is of size \[3\] while the given forward gradient is"),
        (lambda ctx, x: x.long(), lambda ctx, t: t, "Function's jvp returned a gradient at position 0, but  the corr"),
        (lambda ctx, x: x, lambda ctx, t: t, r"a view \(or an input as-is\) but the jvp is not returning a vi"),
        (lambda ctx, x: x, lambda ctx, t: t.clone().view(3), "a view but the jvp is not returning a view of the given"),
        (
            lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2))[1],
            lambda ctx, t: t * 2,
            "An inplace custom Function is not modifying the forward mode gradients inplace",
        ),
    ],
)
def test_wrong_tangents(forward, jvp, message):
    with pytest.raises(RuntimeError, match=message):
        tangents(make_function(forward=forward, jvp=jvp), (X.clone(), Y.clone()))


def test_missing_jvp():
    with pytest.raises(NotImplementedError, match="You must implement the jvp function for custom"):
        tangents(make_function(forward=lambda ctx, x: x * 1), (X, Y))


def test_tangents_of_views_and_of_modified_inputs():
    view = make_function(forward=lambda ctx, x: x.view(3, 1), jvp=lambda ctx, t: t.view(3, 1))
    assert_close(tangents(view, (X, Y)), Y.view(3, 1))
    double = make_function(forward=lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2))[1], jvp=lambda ctx, t: t.mul_(2))
    t = Y.clone()
    assert_close(tangents(double, (X.clone(), t)), Y * 2)
    assert_close(t, Y * 2)
    fill = make_function(
        forward=lambda ctx, x, target: (ctx.mark_dirty(target), target.copy_(x))[1], jvp=lambda ctx, t, other: t * 3
    )
    assert_close(tangents(fill, (X, Y), (X.clone(), None)), Y * 3)


@pytest.mark.parametrize("forward", [lambda ctx, x: x.view(2, 1), lambda ctx, x: x, lambda ctx, x: x[:1]])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_outputs_of_a_primal_have_no_tangent(forward, requires_grad):
    """A view of a primal shares memory with a tensor that has a tangent."""
    function = make_function(forward=forward, jvp=lambda ctx, t: t)
    with forward_ad.dual_level():
        x = X.clone().requires_grad_(requires_grad)
        primal = forward_ad.unpack_dual(forward_ad.make_dual(x, Y) * 2).primal
        assert forward_ad.unpack_dual(function.apply(primal.view(3)[:2])).tangent is None


def test_outputs_without_tangent():
    def forward(ctx, x):
        constant = x * 3
        ctx.mark_non_differentiable(constant)
        return x * 2, constant, x.long(), "no tensor", x * 1

    function = make_function(forward=forward, jvp=lambda ctx, t: (t * 2, None, None, None, None))
    with forward_ad.dual_level():
        outputs = function.apply(forward_ad.make_dual(X, Y))
        results = [forward_ad.unpack_dual(output).tangent for output in outputs if output != "no tensor"]
    assert results[1:] == [None] * 3
    assert_close(results[0], Y * 2)
