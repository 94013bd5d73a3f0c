"""Messages of gradcheck about the gradients of zero cotangents: they must be zeros with the inputs' properties."""

import re

import pytest

import adjoint
from adjoint.autograd import gradcheck
from adjoint.tools.gradcheck.contracts import check_multiplied
from tools.planted import plant


@pytest.mark.parametrize(
    ("gradient", "message"),
    [
        (adjoint.ones(2, dtype=adjoint.float64), "backward not multiplied by grad_output"),
        (adjoint.zeros(2), "grad is incorrect type: adjoint.float32 for input 0, which is adjoint.float64"),
        (
            adjoint.zeros(3, dtype=adjoint.float64),
            "grad is incorrect size: adjoint.Size([3]) for input 0, which has size adjoint.Size([2])",
        ),
    ],
)
def test_gradients_for_zero_cotangents(gradient, message):
    function = plant(lambda x: x * 2, lambda cotangents, x: gradient)
    x = adjoint.ones(2, dtype=adjoint.float64, requires_grad=True)
    with pytest.raises(gradcheck.GradcheckError, match=re.escape(message)):
        check_multiplied(function, (x,))


@pytest.mark.parametrize("options", [{}, {"fast_mode": True}, {"check_batched_grad": True}])
@pytest.mark.parametrize("name", ["saved", "attribute", "in place", "view", "setup_context"])
def test_batched_tangents_pass_through_custom_functions_of_every_form(name, options):
    """gradcheck's own batches do not need setup_context, unlike vmap."""

    class Saved(adjoint.autograd.Function):
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x.exp()

        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x.exp()

        def jvp(ctx, t):
            (x,) = ctx.saved_tensors
            return t * x.exp()

    class Attribute(Saved):
        def forward(ctx, x):
            ctx.x = x.detach()
            return x.exp()

        def backward(ctx, g):
            return g * ctx.x.exp()

        def jvp(ctx, t):
            return t * ctx.x.exp()

    class InPlace(Saved):
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        def backward(ctx, g):
            return g * 2

        def jvp(ctx, t):
            return t.mul_(2)

    class View(Saved):
        def forward(ctx, x):
            return x[1:]

        def backward(ctx, g):
            return adjoint.cat([g.new_zeros(1), g])

        def jvp(ctx, t):
            return t[1:]

    class SetupContext(Saved):
        def forward(x):
            return x.exp()

        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

    functions = {
        "saved": Saved.apply,
        "attribute": Attribute.apply,
        "in place": lambda x: InPlace.apply(x * 1),
        "view": View.apply,
        "setup_context": SetupContext.apply,
    }
    x = adjoint.rand(3, dtype=adjoint.float64, requires_grad=True)
    checks = {"check_forward_ad": True, "check_batched_forward_grad": True, **options}
    assert gradcheck(functions[name], (x,), **checks)


def test_a_jvp_that_mixes_up_a_batch_is_found():
    class Wrong(adjoint.autograd.Function):
        def forward(ctx, x):
            return x * 2

        def backward(ctx, g):
            return g * 2

        def jvp(ctx, t):
            return t * 2 + getattr(t._array, "level", 0)

    x = adjoint.rand(3, dtype=adjoint.float64, requires_grad=True)
    assert gradcheck(Wrong.apply, (x,), check_forward_ad=True)
    with pytest.raises(gradcheck.GradcheckError, match="batched"):
        gradcheck(Wrong.apply, (x,), check_forward_ad=True, check_batched_forward_grad=True)
