"""The engine of docs/engine.md and adjoint agree on programs: views, in-place operations, second order, jvp."""

import functools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import adjoint
from support import engine_page

PAGE = engine_page.load()


class Pair:
    """A tensor of adjoint's and the equal tensor of the page's engine."""

    def __init__(self, real, of_page):
        self.real, self.of_page = real, of_page

    @property
    def memory(self):
        return self.of_page.counter

    def fits(self, other):
        shape, to = self.of_page.array.shape, other.of_page.array.shape
        return len(shape) <= len(to) and all(n in (1, m) for n, m in zip(shape[::-1], to[::-1], strict=False))


copy = PAGE.Rule(lambda a, b: np.broadcast_to(b, a.shape).copy(), a=lambda g: g * 0.0, b=lambda g: g)

UNARY = [(adjoint.sin, PAGE.sin), (adjoint.tanh, PAGE.tanh), (adjoint.exp, PAGE.exp), (adjoint.neg, PAGE.neg)]
BINARY = [(adjoint.add, PAGE.add), (adjoint.sub, PAGE.sub), (adjoint.mul, PAGE.mul)]
# pairs of a view in adjoint and the same view in the page's engine; the last one needs two axes
VIEWS = [
    (lambda x: x[0], lambda x: x[0]),
    (lambda x: x[::2], lambda x: x[::2]),
    (lambda x: x[..., -1], lambda x: x[..., -1]),
    (lambda x: x.T, PAGE.transpose),
]
# operations whose rules do not save their result
IN_PLACE = [
    (lambda x, other: x.add_(other), PAGE.add),
    (lambda x, other: x.mul_(other), PAGE.mul),
    (lambda x, other: x.copy_(other), copy),
]
KINDS = ("unary", "binary", "view", "view", "in place", "in place")
steps = st.lists(st.tuples(st.sampled_from(KINDS), *[st.integers(0, 23)] * 3), min_size=3, max_size=14)


def run_in_both(starts, program):
    """All tensors of a program that starts from two leaves, in both engines."""
    leaves = [Pair(adjoint.tensor(a, requires_grad=True), PAGE.Tensor(a.copy(), requires_grad=True)) for a in starts]
    pairs = [*leaves, *[Pair(leaf.real * 1.0, leaf.of_page * 1.0) for leaf in leaves]]
    for kind, which, a, b in program:
        x = pairs[a % len(pairs)]
        # an in-place operation may not overlap its operand
        fitting = [pair for pair in pairs if pair.memory is not x.memory and pair.fits(x)]
        other = fitting[b % len(fitting)] if fitting else None
        ndim = x.of_page.array.ndim
        if kind == "unary":
            real, of_page = UNARY[which % len(UNARY)]
            pairs.append(Pair(real(x.real), of_page(x.of_page)))
        elif kind == "binary" and other is not None:
            real, of_page = BINARY[which % len(BINARY)]
            pairs.append(Pair(real(x.real, other.real), of_page(x.of_page, other.of_page)))
        elif kind == "view" and ndim:
            real, of_page = VIEWS[which % (2 + ndim)]
            pairs.append(Pair(real(x.real), of_page(x.of_page)))
        elif kind == "in place" and other is not None and x.memory not in [leaf.memory for leaf in leaves]:
            real, of_page = IN_PLACE[which % len(IN_PLACE)]
            real(x.real, other.real)
            PAGE.modify(x.of_page, of_page, other.of_page)
    return leaves, pairs


def orders_in_adjoint(y, leaves):
    """The gradients of a tensor's sum, and the gradients of the sum of these gradients."""
    options = {"allow_unused": True, "retain_graph": True}
    first = adjoint.autograd.grad(y, leaves, adjoint.ones_like(y), create_graph=True, **options)
    roots = [g for g in first if g is not None and g.requires_grad]
    second = adjoint.autograd.grad(roots, leaves, [adjoint.ones_like(g) for g in roots], **options) if roots else []
    return [None if g is None else g.detach().numpy() for g in (*first, *second)]


def orders_on_the_page(y, leaves):
    first = PAGE.grad(y, leaves, create_graph=True)
    roots = [g for g in first if g is not None and g.requires_grad]
    nodes = [PAGE.history(leaf) for leaf in leaves]
    second = PAGE.run_backward(roots, [PAGE.ones(g) for g in roots], captured=nodes) if roots else []
    return [None if g is None else g.array for g in (*first, *second)]


def outcome(compute, *arguments):
    """The result of a computation; None if an operation modified a value that the computation needs."""
    try:
        return compute(*arguments)
    except RuntimeError as error:
        if "has been modified by an inplace operation" not in str(error):
            raise
        return None


def fill_missing(arrays, shapes):
    """The arrays, with zeros in place of None and at missing positions."""
    arrays = [*arrays, *[None] * (len(shapes) - len(arrays))]
    return [np.zeros(shape) if a is None else a for a, shape in zip(arrays, shapes, strict=True)]


@pytest.mark.quick(0)
@settings(max_examples=200, deadline=None)
@given(steps, st.integers(0, 99))
def test_gradients_of_programs(program, seed):
    rng = np.random.default_rng(seed)
    starts = [rng.normal(size=(2, 3)) * 0.5, rng.normal(size=3) * 0.5]
    with np.errstate(all="ignore"):
        leaves, pairs = run_in_both(starts, program)
    # nested exponentials have no exact digits left to compare
    assume(all(np.abs(pair.of_page.array).max() < 1e6 for pair in pairs))
    real, of_page = [leaf.real for leaf in leaves], [leaf.of_page for leaf in leaves]
    shapes = [start.shape for start in starts] * 2
    for pair in pairs:
        np.testing.assert_allclose(pair.real.detach().numpy(), pair.of_page.array, rtol=1e-9, atol=1e-12)
        assert pair.real._version == pair.of_page.counter.value
        assert pair.real.requires_grad and pair.of_page.requires_grad
        result = outcome(orders_in_adjoint, pair.real, real)
        expected = outcome(orders_on_the_page, pair.of_page, of_page)
        assert (result is None) is (expected is None)
        if result is not None:
            for actual, right in zip(fill_missing(result, shapes), fill_missing(expected, shapes), strict=True):
                np.testing.assert_allclose(actual, right, rtol=1e-7, atol=1e-9)


CHAIN = [
    *UNARY,
    (lambda x: x.T, PAGE.transpose),
    (lambda x: x[..., ::-1] * x if isinstance(x, PAGE.Tensor) else x.flip(-1) * x,) * 2,
]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(CHAIN), min_size=1, max_size=6))
def test_jvp_of_chains(chain):
    start, tangent = np.linspace(-0.5, 0.6, 6).reshape(2, 3), np.linspace(1.0, -0.5, 6).reshape(2, 3)

    def compose(side):
        return lambda x: functools.reduce(lambda value, pair: pair[side](value), chain, x)

    # nested exponentials overflow
    with np.errstate(all="ignore"):
        value, result = PAGE.jvp(compose(1), PAGE.Tensor(start), PAGE.Tensor(tangent))
        real, expected = adjoint.func.jvp(compose(0), (adjoint.tensor(start),), (adjoint.tensor(tangent),))
    np.testing.assert_allclose(value.array, real.numpy(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(result.array, expected.numpy(), rtol=1e-9, atol=1e-12)


def test_leaves_may_not_be_written_to():
    for x in (PAGE.Tensor(np.ones(3), requires_grad=True), PAGE.Tensor(np.ones((2, 3)), requires_grad=True)[0]):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            PAGE.modify(x, PAGE.mul, 2.0)
