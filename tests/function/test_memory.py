"""Custom functions make no reference cycles, and nested passes may be deep."""

import gc
import threading
import weakref

import pytest

import adjoint
from adjoint.autograd import Function, custom, grad


class Exp(Function):
    """Save an input, the result, an intermediate value, and views of these."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(x, y, y * 2, y.view(-1), y[0], None)
        ctx.save_for_forward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[1]

    @staticmethod
    def jvp(ctx, t):
        return t * ctx.saved_tensors[1]


class Several(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        part = y.view(-1)[1:]
        ctx.save_for_backward(x, y, part)
        ctx.mark_non_differentiable(constant := y > 1)
        return part, y, x, constant

    @staticmethod
    def backward(ctx, *grads):
        return grads[1] * ctx.saved_tensors[1]


class InPlace(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x.exp_()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


def view(x):
    base = x * 1
    part = base[1:]
    InPlace.apply(part)
    return [base, part]


def differentiate(x):
    y = Exp.apply(x)
    (slope,) = grad(y.sum(), x, create_graph=True)
    return [y, slope]


def forward_mode(x):
    forward_ad = adjoint.autograd.forward_ad
    with forward_ad.dual_level():
        y = Exp.apply(forward_ad.make_dual(x, adjoint.ones(3)))
        return [y, forward_ad.unpack_dual(y).tangent]


def hook(x):
    with adjoint.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        return [Exp.apply(x)]


CASES = {
    "saved": lambda x: [Exp.apply(x)],
    "several": lambda x: list(Several.apply(x)),
    "in place": lambda x: [InPlace.apply(x * 1)],
    "view in place": view,
    "twice differentiated": differentiate,
    "forward mode": forward_mode,
    "hooks on saved tensors": hook,
    "custom": lambda x: [custom(lambda x: (x.exp(), x), vjp=lambda g, x, y: g[0] * y[0] + g[1])(x)[0]],
}


@pytest.mark.quick(6)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("run", [False, True])
def test_everything_is_freed_by_reference_counting(case, run):
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        x = adjoint.ones(3, requires_grad=True)
        outputs = CASES[case](x)
        if run:
            sum(o.sum() for o in outputs if o.requires_grad).backward()
            x.grad = None
        nodes = [o.grad_fn for o in outputs if o.grad_fn is not None]
        watched = [weakref.ref(thing) for thing in (x, *outputs, *nodes)]
        del outputs, nodes, x
        assert [ref() for ref in watched] == [None] * len(watched)
    finally:
        if enabled:
            gc.enable()


def test_failed_forward_leaves_nothing():
    class Failing(Function):
        @staticmethod
        def forward(ctx, x):
            refs.append(weakref.ref(ctx))
            raise ValueError("no")

    refs = []
    x = adjoint.ones(1, requires_grad=True)
    with pytest.raises(ValueError, match="no"):
        Failing.apply(x)
    assert refs[0]() is None


def test_passes_inside_passes():
    """A backward runs another backward pass, 2,000 levels deep. Each pass has the modes of the pass outside."""
    threads = set()

    class Deep(Function):
        @staticmethod
        def forward(ctx, x):
            with adjoint.enable_grad():
                ctx.x = x.detach().requires_grad_() - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx, g):
            threads.add(threading.get_ident())
            assert not adjoint.is_grad_enabled()
            if ctx.x > 0:
                with adjoint.enable_grad():
                    Deep.apply(ctx.x).sum().backward()
            return g

    x = adjoint.tensor(2000.0, requires_grad=True)
    Deep.apply(x).sum().backward()
    assert x.grad.item() == 1.0
    assert 1 < len(threads) < 2000


def test_errors_come_out_of_deep_passes():
    class Deep(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.depth = int(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            if ctx.depth == 0:
                raise ZeroDivisionError("bottom")
            with adjoint.enable_grad():
                Deep.apply(adjoint.tensor(ctx.depth - 1.0, requires_grad=True)).backward()
            return g

    with pytest.raises(ZeroDivisionError, match="bottom"):
        Deep.apply(adjoint.tensor(100.0, requires_grad=True)).backward()
    assert adjoint.is_grad_enabled()


def test_long_chain():
    x = adjoint.zeros(1, requires_grad=True)
    y = x
    for _ in range(20_000):
        y = Double.apply(y)
    y.sum().backward()
    assert x.grad.item() == 1.0
    del y


class Double(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g
