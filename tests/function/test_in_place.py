"""Functions that return inputs or views, and functions that modify inputs."""

import pytest

import adjoint
from adjoint.autograd import Function, grad
from adjoint.autograd import forward_ad as fwAD

CUSTOM = "This view was created inside a custom Function .or because an input was returned as-is."
MULTIPLE = "This view is the output of a function that returns multiple views"


def leaf(*values):
    return adjoint.tensor(values, dtype=adjoint.float64, requires_grad=True)


def values(tensor):
    return tensor.detach().numpy().tolist()


def make(forward, backward=lambda ctx, *grads: grads[0]):
    return type("My", (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


IDENTITY = make(lambda ctx, x: x, lambda ctx, g: g * 5)
COLUMN = make(lambda ctx, x: x.view(2, 1), lambda ctx, g: g.view(2) * 5)


def double(ctx, x, *others):
    ctx.mark_dirty(x)
    return x.mul_(2)


DOUBLE = make(double, lambda ctx, g: g * 2)


# returned inputs and views --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [IDENTITY, COLUMN])
@pytest.mark.parametrize("is_leaf", [True, False])
def test_input_comes_back_as_a_view(function, is_leaf):
    x = leaf(1.0, 2.0)
    y = x if is_leaf else x * 1
    z = function.apply(y)
    assert z is not y and z._base is y and z.grad_fn.name() == "MyBackward" and z.data_ptr() == y.data_ptr()
    assert values(grad(z.sum(), x)[0]) == [5.0, 5.0]


@pytest.mark.parametrize("function", [IDENTITY, COLUMN])
def test_view_by_a_function_is_not_modified(function):
    y = leaf(1.0, 2.0) * 1
    z = function.apply(y)
    for target, name in ((z, "My"), (z.view(2), "View")):
        with pytest.raises(RuntimeError, match=f"Output 0 of {name} is a view and is being modified inplace. {CUSTOM}"):
            target.add_(1)
    with pytest.raises(RuntimeError, match=CUSTOM):
        function.apply(leaf(1.0, 2.0)).add_(1)


def test_view_by_a_function_after_its_base_was_modified():
    y = leaf(1.0, 2.0) * 1
    z = IDENTITY.apply(y)
    y.add_(1)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="Output 0 of My is a view and its base or another view of its base has"):
            _ = z.grad_fn
    assert "grad_fn=<Invalid>" in repr(z)


def test_several_views():
    function = make(lambda ctx, x: (x.view(2, 1), x, x * 2), lambda ctx, a, b, c: a.view(2) + b + c * 2)
    x = leaf(1.0, 2.0)
    a, b, c = function.apply(x * 1)
    for nr, view in enumerate((a, b)):
        with pytest.raises(RuntimeError, match=f"Output {nr} of My is a view and is being .*{MULTIPLE}"):
            view.add_(1)
    c.add_(1)
    assert values(grad(c.sum() + b.sum(), x)[0]) == [3.0, 3.0]


def test_without_gradient_an_input_comes_back_as_a_plain_view():
    x = adjoint.ones(2)
    y = IDENTITY.apply(x)
    assert y is not x and y._base is x
    y.add_(1)
    assert values(x) == [2.0, 2.0]


def test_one_tensor_twice():
    function = make(lambda ctx, x: (x * 2,) * 2, lambda ctx, a, b: a + 10 * b)
    x = leaf(1.0)
    first, second = function.apply(x)
    # the outputs are one tensor, with the number of the last one
    assert first is second and first.output_nr == 1
    assert values(grad(first.sum(), x)[0]) == [10.0]


def test_tensor_from_elsewhere():
    other = adjoint.ones(2, dtype=adjoint.float64)
    x = leaf(1.0, 2.0)
    y = make(lambda ctx, x: other, lambda ctx, g: g * 3).apply(x)
    assert y is other and values(grad(y.sum(), x)[0]) == [3.0, 3.0]


# modified inputs ------------------------------------------------------------------------------------------------------


def test_modified_input():
    x = leaf(1.0, 2.0)
    y = x * 3
    before = y.grad_fn
    z = DOUBLE.apply(y)
    assert z is y and y.grad_fn.name() == "MyBackward" and y.grad_fn.next_functions[0][0] is before
    assert y._version == 2
    assert values(grad((y * y).sum(), x)[0]) == [2 * 36.0, 2 * 72.0]


@pytest.mark.parametrize("index", [0, 1])
def test_modified_view(index):
    """The gradient of the view reaches its part of the base, for each position of the view among the arguments."""

    def forward(ctx, *args):
        ctx.mark_dirty(args[index])
        return args[index].mul_(args[1 - index])

    function = make(forward, lambda ctx, g: (None, g * 7)[:: 1 if index else -1])
    x = leaf(1.0, 2.0, 3.0)
    base = x * 1
    view = base[1:]
    args = [adjoint.full((2,), 4.0, dtype=adjoint.float64)] * 2
    args[index] = view
    result = function.apply(*args)
    assert result is view and base.grad_fn.name() == "torch::autograd::CopySlices"
    assert values(base) == [1.0, 8.0, 12.0]
    assert values(grad(base.sum(), x, retain_graph=True)[0]) == [1.0, 7.0, 7.0]
    assert values(grad(view.sum(), x)[0]) == [0.0, 7.0, 7.0]


def test_modified_view_that_needed_no_gradient():
    function = make(lambda ctx, x, target: (ctx.mark_dirty(target), target.copy_(x))[1], lambda ctx, g: (g * 3, None))
    x = leaf(1.0, 2.0)
    base = adjoint.ones(4, dtype=adjoint.float64)
    function.apply(x, base[:2])
    assert values(base) == [1.0, 2.0, 1.0, 1.0]
    base.sum().backward()
    assert values(x.grad) == [3.0, 3.0]


@pytest.mark.parametrize(
    ("make_view", "message"),
    [
        (lambda x: make(lambda ctx, x: x).apply(x * 1), "Output 0 of My is a view and is being modified inplace. This"),
        (lambda x: make(lambda ctx, x: x[:1]).apply(x * 1), "Output 0 of My is a view and is being modified inplace."),
        (lambda x: (x * 1).split(1)[0], "Output 0 of Split is a view and is being modified inplace. This view is the"),
        (
            lambda x: hidden_view(x * 1),
            "A view was created in no_grad mode and is being modified inplace with grad mode",
        ),
        (lambda x: hidden_view(x), "a leaf Variable that requires grad has been used in an in-place operation"),
        (
            lambda x: make(lambda ctx, x: x).apply(x.detach()),
            "A view was created in no_grad mode and is being modified",
        ),
    ],
)
def test_views_that_no_function_may_modify(make_view, message):
    """The message is about this modification, not about an earlier one."""
    function = make(lambda ctx, x, y: (ctx.mark_dirty(x), x.add_(y))[1], lambda ctx, g: (g, g))
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match=message):
        function.apply(make_view(x), leaf(1.0))


def hidden_view(x):
    with adjoint.no_grad():
        return x[:1]


def test_a_view_by_a_function_without_history_gets_none_later():
    """Its history would lack the function's own derivative."""
    base = adjoint.ones(2, dtype=adjoint.float64)
    view = make(lambda ctx, x: x, lambda ctx, g: g * 5).apply(base)
    base.mul_(leaf(2.0, 3.0))
    with pytest.raises(
        RuntimeError, match="A view was created in no_grad mode and its base or another view of its base"
    ):
        view * 2


def test_modified_and_saved():
    def forward(ctx, x):
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x.exp_()

    function = make(forward, lambda ctx, g: g * ctx.saved_tensors[0])
    x = leaf(0.5, 1.0)
    for part in (slice(None), slice(1, None)):
        y = x * 1
        target = y[part]
        function.apply(target)
        expected = x.detach().exp() if part.start is None else x.detach().exp() * adjoint.tensor([0.0, 1.0])
        (gradient,) = grad(target.sum(), x, create_graph=True)
        adjoint.testing.assert_close(gradient, expected.to(adjoint.float64), check_dtype=False)
        # the saved result has a history, so the derivative can be differentiated
        adjoint.testing.assert_close(grad(gradient.sum(), x)[0], expected, check_dtype=False)
    y = x * 1
    function.apply(y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="which is output 0 of My, is at version 3; expected version 2 instead"):
        y.sum().backward()


def test_several_inputs_modified():
    def forward(ctx, a, b):
        ctx.mark_dirty(a, b)
        return a.mul_(2), b.mul_(3)

    function = make(forward, lambda ctx, a, b: (a * 2, b * 3))
    x = leaf(1.0, 2.0)
    a, b = x * 1, x * 1
    function.apply(a, b)
    assert values(grad((a + b).sum(), x)[0]) == [5.0, 5.0]
    base = x * 1
    with pytest.raises(RuntimeError, match="your Function cannot return more than one Tensor"):
        function.apply(base[:1], base[1:])


def test_forbidden_modifications():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used in an in-place"):
        DOUBLE.apply(x)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place"):
        DOUBLE.apply(x[:1])
    with pytest.raises(RuntimeError, match=MULTIPLE):
        DOUBLE.apply((x * 1).unbind(0)[0])
    y = x * 1
    with adjoint.no_grad():
        view = y.view(2)
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        DOUBLE.apply(view)
    not_returned = make(lambda ctx, x: (double(ctx, x), x.clone())[1])
    with pytest.raises(RuntimeError, match="Some elements marked as dirty during the forward method were not returned"):
        not_returned.apply(x * 1)


def test_modified_without_recording():
    x = adjoint.ones(2)
    assert DOUBLE.apply(x) is x and x._version == 2
    needs = leaf(1.0)
    with adjoint.no_grad():
        result = DOUBLE.apply(needs)
    assert result is not needs and not result.requires_grad and values(needs) == [2.0]


def test_retained_gradient_follows_the_modified_tensor():
    y = leaf(1.0) * 1
    y.retain_grad()
    DOUBLE.apply(y)
    (y * 3).sum().backward()
    assert values(y.grad) == [3.0]


# tangents of modified inputs ------------------------------------------------------------------------------------------

AS_IT_WAS = "is not modifying the forward mode gradients inplace"
NOT_RETURNED = "is not returning the forward mode gradients as-is"
TANGENTS = {
    "modified": (lambda t: t.mul_(2), None),
    "modified by nothing": (lambda t: t.add_(0), None),
    "modified twice": (lambda t: t.mul_(1).mul_(2), None),
    "modified through a view": (lambda t: (t[:].mul_(2), t)[1], None),
    "as it was": (lambda t: t, AS_IT_WAS),
    "a new one": (lambda t: t * 2, AS_IT_WAS),
    "a copy": (lambda t: t.clone(), AS_IT_WAS),
    "a view": (lambda t: t.view_as(t), AS_IT_WAS),
    "detached": (lambda t: t.detach(), AS_IT_WAS),
    "none": (lambda t: None, AS_IT_WAS),
    "modified, and a new one": (lambda t: t.mul_(2) * 1, AS_IT_WAS),
    "modified, and a view": (lambda t: t.mul_(2).view_as(t), NOT_RETURNED),
    "modified, and detached": (lambda t: t.mul_(2).detach(), NOT_RETURNED),
    "a modified copy": (lambda t: t.clone().mul_(2), NOT_RETURNED),
}


@pytest.mark.parametrize("with_setup", [False, True])
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("how", TANGENTS)
def test_jvp_modifies_the_tangent_of_a_modified_input_and_returns_it(how, n_outputs, with_setup):
    push, message = TANGENTS[how]

    class Double(Function):
        def jvp(ctx, t, s):
            return push(t) if n_outputs == 1 else (push(t), s)

        def backward(ctx, *gradients):
            return gradients[0] * 2, None

    def forward(x, y):
        x.mul_(2)
        return x if n_outputs == 1 else (x, y * 1)

    def with_ctx(ctx, x, y):
        ctx.mark_dirty(x)
        return forward(x, y)

    if with_setup:
        Double.forward = staticmethod(forward)
        Double.setup_context = staticmethod(lambda ctx, inputs, output: ctx.mark_dirty(inputs[0]))
    else:
        Double.forward = staticmethod(with_ctx)
    with fwAD.dual_level():
        x = fwAD.make_dual(adjoint.ones(2), adjoint.full((2,), 3.0)) * 1
        y = fwAD.make_dual(adjoint.ones(2), adjoint.ones(2))
        tangent = fwAD.unpack_dual(x).tangent
        if message is not None:
            with pytest.raises(RuntimeError, match=message):
                Double.apply(x, y)
            return
        result = Double.apply(x, y)
        result = result if n_outputs == 1 else result[0]
        assert result is x and fwAD.unpack_dual(x).tangent is tangent
        assert tangent.tolist() == ([3, 3] if how == "modified by nothing" else [6, 6])


def test_what_is_returned_as_it_is_may_have_any_tangent_if_it_had_none():
    class Same(Function):
        def forward(ctx, x, y):
            return x

        def jvp(ctx, t, s):
            return s * 5

    with fwAD.dual_level():
        y = fwAD.make_dual(adjoint.ones(2), adjoint.ones(2))
        result = Same.apply(adjoint.ones(2), y)
        assert fwAD.unpack_dual(result).tangent.tolist() == [5, 5]
        x = fwAD.make_dual(adjoint.ones(2), adjoint.ones(2))
        with pytest.raises(RuntimeError, match=r"is returning a view .* but the jvp is not returning a view"):
            Same.apply(x, y)
