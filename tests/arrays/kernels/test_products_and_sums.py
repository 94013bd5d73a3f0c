"""Native kernels give the bits of the kernels and formulas that they replace, or None.

Plain Python has no native kernels. The tests with Tensors also run there.
"""

import itertools
import threading
import warnings

import numpy as np
import pytest

import adjoint
from adjoint.arrays.kernels.products_and_sums import (
    AVERAGE,
    LEFT_COTANGENT,
    LINEAR,
    LINEAR_INPUT,
    LINEAR_WEIGHT,
    MATRICES,
    MATRIX_VECTOR,
    PRODUCT,
    RIGHT_COTANGENT,
    SPREAD,
    SPREAD_MEAN,
    TOTAL,
    VECTORS,
    expand,
    one_like,
    stacked_products,
)
from adjoint.arrays.libraries.numpy_namespace import xp as numpy_xp
from adjoint.program import machine

compiled = pytest.mark.skipif(not machine.compiled, reason="only the compiled form has native kernels")
kinds = pytest.mark.parametrize("kind", ["f4", "f8"])
rng = np.random.default_rng(11)


def arrays(shape, kind):
    """Arrays of a shape that lie in memory in several ways."""
    plain = rng.normal(size=shape).astype(kind)
    wide = rng.normal(size=[2 * n for n in shape]).astype(kind)
    return [plain, np.asfortranarray(plain), wide[tuple([slice(None, None, 2) for _ in shape])], plain[::-1]]


def same(actual, expected):
    np.testing.assert_array_equal(actual, expected)
    return (actual.shape, actual.dtype, actual.base) == (expected.shape, expected.dtype, None)


@compiled
@kinds
@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 4, 5), (16, 16, 16), (1, 7, 3), (3, 1, 3), (2, 300, 1), (60, 50, 40)])
def test_products_and_their_cotangents_equal_numpys(sizes, kind):
    m, k, n = sizes
    for left, right in (((m, k), (k, n)), ((m, k), (k,)), ((k,), (k, n)), ((k,), (k,))):
        for a, b in itertools.product(arrays(left, kind), arrays(right, kind)):
            expected = np.asarray(np.matmul(a, b))
            assert same(PRODUCT.run(a, b), expected)
            of_ranks = {(2, 2): MATRICES, (2, 1): MATRIX_VECTOR, (1, 1): VECTORS}
            for ranks, native in of_ranks.items():
                result = native.run(a, b)
                assert same(result, expected) if ranks == (a.ndim, b.ndim) else result is None
            g = rng.normal(size=expected.shape).astype(kind)
            by_left = g[..., None] * b if b.ndim == 1 else g @ b.T if a.ndim == 2 else b @ g
            by_right = a.T @ g if a.ndim == 2 else a * g if b.ndim == 1 else a[:, None] * g
            assert same(LEFT_COTANGENT.run(g, b), by_left)
            assert same(RIGHT_COTANGENT.run(g, a), by_right)


@compiled
def test_what_is_not_plain_is_left_to_numpy():
    x = rng.normal(size=(3, 4))
    others = [x.astype("f4"), x.astype(int), x.astype(complex), x.astype(">f8"), x.view(np.recarray), 2.0, None]
    others += [np.ones((2, 3, 4)), np.ones(()), np.ones((3, 4)), np.ones(3), np.ones((4, 0)), "ab"]
    packed = np.zeros(4, [("a", "i1"), ("b", "f8")])["b"]
    for other in [*others, packed]:
        assert PRODUCT.run(x, other) is None
    assert PRODUCT.run(np.ones((0, 4)), np.ones(4)) is None and PRODUCT.run(np.ones((2, 0)), np.ones(0)) is None
    # No product has a cotangent of these ranks, or several products do.
    for g, other in (((2, 3, 4), (4,)), ((2, 2), (2,)), ((), (2, 2)), ((3, 3), (3, 3, 3)), ((3, 3, 3), (3, 2))):
        assert LEFT_COTANGENT.run(np.ones(g), np.ones(other)) is None
    for g, other in (((2, 3, 4), (4,)), ((), (2, 2)), ((2, 2), (2,)), ((3, 3, 3), (3, 3))):
        assert RIGHT_COTANGENT.run(np.ones(g), np.ones(other)) is None


STACKS = [((3, 1, 16), (16, 16)), ((4, 5, 8), (8, 3)), ((2, 3, 4, 8), (2, 3, 8, 4)), ((2, 1, 4, 8), (3, 8, 9))]
STACKS += [((5, 2, 3), (3, 2)), ((2, 3), (5, 3, 4)), ((4, 30, 20), (20, 10)), ((3, 2, 4), (4,)), ((4,), (3, 4, 2))]


@compiled
@kinds
@pytest.mark.parametrize(("left", "right"), STACKS)
def test_products_of_stacks_and_their_cotangents_equal_the_formulas(left, right, kind):
    ops = adjoint.core.recorded.raw_ops
    rule = adjoint.core.recorded.operations["matmul"].rule
    by_input, by_other = [formula.call for formula in rule.vjps]
    for a, b in itertools.product(arrays(left, kind), arrays(right, kind)):
        plain = stacked_products(a, b) if min(a.ndim, b.ndim) > 1 else None
        expected = np.matmul(a, b) if plain is None else plain
        assert same(PRODUCT.run(a, b), expected)
        for g in arrays(expected.shape, kind):
            result = LEFT_COTANGENT.run(g, b)
            if result is not None:
                assert same(result, by_input(ops(g), g, b, a.shape))
            assert (result is None) == (g.ndim < b.ndim or b.ndim == 1)
            result = RIGHT_COTANGENT.several([g, a, b.shape])
            if result is not None:
                np.testing.assert_array_equal(result, by_other(ops(g), g, a, b.shape))
            assert (result is None) == (a.ndim < 3 or b.ndim < 2)


@compiled
def test_products_of_stacks_that_do_not_fit_are_left_to_numpy():
    x = np.ones((2, 3, 4))
    for other in (np.ones((5, 2)), np.ones((3, 4, 2)), np.ones(3), np.ones(()), np.ones((2, 4, 2), "f4")):
        assert PRODUCT.run(x, other) is None
    assert RIGHT_COTANGENT.several([x, x.astype("f4"), (4, 4)]) is None
    assert RIGHT_COTANGENT.several([np.ones((2, 3)), np.ones((2, 3, 0)), (0, 3)]) is None


@compiled
@kinds
@pytest.mark.parametrize("shape", [(16,), (5, 16), (1, 16), (3, 4, 16), (2, 3, 4, 16), (7, 2)])
def test_linear_maps_and_their_cotangents_equal_the_formulas(shape, kind):
    rule = adjoint.core.recorded.operations["linear"].rule
    kernel, (by_input, by_weight, _) = rule.kernel(numpy_xp), [formula.call for formula in rule.vjps]
    for x, weight in itertools.product(arrays(shape, kind), arrays((6, shape[-1]), kind)):
        for bias in (None, *arrays((6,), kind)):
            actual, expected = LINEAR.several([x, weight, bias]), kernel(x, weight, bias)
            if actual is None:
                assert x.ndim > 2 and not x.flags.c_contiguous
            else:
                np.testing.assert_array_equal(actual, expected)
                assert actual.base is None and actual.dtype == expected.dtype and actual.strides == expected.strides
        for g in arrays((*shape[:-1], 6), kind):
            actual = LINEAR_INPUT.run(g, weight)
            assert (actual is None) == (g.ndim > 2 and not g.flags.c_contiguous)
            if actual is not None:
                np.testing.assert_array_equal(actual, by_input(adjoint.core.recorded.raw_ops(g), g, weight))
            actual = LINEAR_WEIGHT.several([g, x, weight.shape])
            np.testing.assert_array_equal(actual, by_weight(adjoint.core.recorded.raw_ops(g), g, x, weight.shape))


@compiled
def test_other_linear_maps_are_left_to_numpy():
    x, weight = np.ones((3, 4)), np.ones((2, 4))
    for values in (
        [x, np.ones(4), None],
        [x, np.ones((2, 3)), None],
        [x, weight, np.ones(())],
        [x, weight, np.ones(3)],
    ):
        assert LINEAR.several(values) is None
    for values in ([x[:, :1], weight[:, :1], None], [x[:0], weight, None], [x, weight.astype("f4"), None], [x, weight]):
        assert LINEAR.several(values) is None
    huge = np.full((2, 4), 1e308)
    assert LINEAR.several([huge[:, :2] * [1, 0], np.ones((2, 2)), huge[0, :2]]) is None
    with pytest.warns(RuntimeWarning, match="overflow"):
        adjoint.nn.functional.linear(
            *[adjoint.from_numpy(a) for a in (huge[:, :2] * [1, 0], np.ones((2, 2)), huge[0, :2])]
        )
    assert LINEAR_INPUT.run(np.ones((3, 2)), np.ones(2)) is None
    assert LINEAR_WEIGHT.several([np.ones(3), x, (4,)]) is None


@compiled
@kinds
def test_sums_of_all_elements(kind):
    for shape in ((), (1,), (7,), (9,), (130,), (3, 5), (64, 100), (2, 3, 4), (8191,)):
        x = rng.normal(size=shape).astype(kind)
        total = np.asarray(np.add.reduce(x, axis=None))
        assert same(TOTAL.run(x), total)
        assert same(AVERAGE.run(x), np.asarray(np.add.reduce(x, axis=None) / x.size))
        for spread, value in ((SPREAD, total), (SPREAD_MEAN, np.asarray(total / x.size, kind))):
            result = spread.run(total, shape)
            np.testing.assert_array_equal(result, np.broadcast_to(value, shape))
            assert (result.shape, result.dtype) == (shape, total.dtype)
    # NumPy warns here, or adds in another order
    most = np.finfo(kind).max
    for array in (np.array([most, most], kind), np.array([np.inf, -np.inf], kind), np.ones((3, 4), kind).T[::2]):
        assert TOTAL.run(array) is None
    assert TOTAL.run(np.ones(0, kind)) is None and TOTAL.run(np.ones(8192, kind)) is None
    assert np.isnan(TOTAL.run(np.array([1, np.nan], kind)))


@compiled
@kinds
def test_sums_of_two_and_in_place(kind):
    def plus(a, b):
        with np.errstate(all="ignore"):
            return adjoint.core.engine.sum_of_cotangents(a, b, False)

    for shape in ((), (7,), (3, 4), (100, 90), (0, 2)):
        a, b = rng.normal(size=(2, *shape)).astype(kind)
        copies = a.copy(), b.copy()
        assert same(np.asarray(plus(a, b)), np.asarray(a + b))
        np.testing.assert_array_equal((a, b), copies)
    assert plus(np.ones((2, 3), kind), np.ones((3, 2), kind).T).tolist() == [[2.0] * 3] * 2
    assert plus(np.ones(3, kind), np.ones((), kind)).tolist() == [2.0] * 3


def test_overflow_in_a_sum_is_told_as_numpy_tells_it():
    x = adjoint.tensor([1e308, 1e308], dtype=adjoint.float64)
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert x.sum().item() == np.inf
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        x.sum()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        assert x.sum().item() == np.inf


# through Tensors ------------------------------------------------------------------------------------------------------

PRODUCTS = {
    "matrices": (lambda a, b: a @ b, (3, 4), (4, 5)),
    "matrix and vector": (lambda a, b: a @ b, (3, 4), (4,)),
    "vector and matrix": (lambda a, b: a @ b, (4,), (4, 5)),
    "vectors": (lambda a, b: a @ b, (4,), (4,)),
    "mm": (adjoint.mm, (3, 4), (4, 5)),
    "mv": (adjoint.mv, (3, 4), (4,)),
    "dot": (adjoint.dot, (4,), (4,)),
    "batch and matrix": (lambda a, b: a @ b, (2, 3, 4), (4, 5)),
    "matrix and batch": (lambda a, b: a @ b, (3, 4), (2, 4, 5)),
    "batch and vector": (lambda a, b: a @ b, (2, 3, 4), (4,)),
    "vector and batch": (lambda a, b: a @ b, (4,), (2, 4, 5)),
    "large": (lambda a, b: a @ b, (100, 90), (90, 95)),
    "sums": (lambda a, b: (a * b).sum() * a.mean() + b.sum(), (3, 4), (3, 4)),
}


@kinds
@pytest.mark.parametrize("case", PRODUCTS)
def test_gradients_equal_those_of_recorded_formulas(case, kind):
    function, *shapes = PRODUCTS[case]
    for turned in (False, True):
        a, b = [adjoint.from_numpy(rng.normal(size=shape).astype(kind)) for shape in shapes]
        if turned:
            a = adjoint.from_numpy(np.asfortranarray(a.numpy()))
        for needed in ([a], [b], [a, b]):
            for leaf in needed:
                leaf.requires_grad_()
            result = function(a, b)
            g = adjoint.from_numpy(rng.normal(size=result.shape).astype(kind))
            quick = adjoint.autograd.grad(result, needed, g, retain_graph=True)
            # with create_graph, formulas run on Tensors, one operation after the other
            plain = adjoint.autograd.grad(result, needed, g, create_graph=True)
            for x, y in zip(quick, plain, strict=True):
                np.testing.assert_allclose(x.numpy(), y.detach().numpy(), rtol=1e-4 if kind == "f4" else 1e-12)
                assert x.dtype == y.dtype and x.shape == y.shape
            for leaf in needed:
                leaf.requires_grad_(False)


def test_errors_are_those_of_the_plain_way():
    matrix, vector = adjoint.ones(3, 4), adjoint.ones(5)
    with pytest.raises(RuntimeError, match="size mismatch, got input"):
        matrix @ vector
    with pytest.raises(RuntimeError, match="self must be a matrix"):
        adjoint.mm(vector, matrix)
    with pytest.raises(RuntimeError, match="1D tensors expected"):
        adjoint.dot(matrix, matrix)
    with pytest.raises(RuntimeError, match="to have the same dtype"):
        matrix @ adjoint.ones(4, 2, dtype=adjoint.float64)


def test_saved_shapes_are_shown_and_nodes_have_the_names_of_their_ranks():
    a, b = adjoint.ones(3, 4, requires_grad=True), adjoint.ones(4, requires_grad=True)
    assert (a @ b).grad_fn.name() == "MvBackward0" and (b @ b).grad_fn.name() == "DotBackward0"
    assert (a @ a.T).grad_fn.name() == "MmBackward0"
    node = a.sum().grad_fn
    assert tuple(node._saved_self_sym_sizes) == (3, 4) and "_saved_self_sym_sizes" in dir(node)
    assert tuple((a * 2).sum(0).grad_fn._saved_self_sym_sizes) == (3, 4)


def test_saved_factors_are_compared_unpacked_once_and_freed():
    a, b = adjoint.ones(3, 4, requires_grad=True), adjoint.ones(4, requires_grad=True)
    unpacked = []
    with adjoint.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: unpacked.append(t) or t * 2):
        result = a @ b
    result.sum().backward()
    assert len(unpacked) == 2 and a.grad[0].tolist() == [2.0] * 4 and b.grad.tolist() == [6.0] * 4
    c = adjoint.ones(4) * 1
    result = a @ c
    c.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()
    result = (a @ b).sum()
    result.backward()
    with pytest.raises(RuntimeError, match="second time"):
        result.backward()


def test_no_gradient_shares_memory_with_what_anybody_else_sees():
    w, b = adjoint.ones(3, 3, requires_grad=True), adjoint.zeros(3, requires_grad=True)
    grads, h, x = [], b, adjoint.ones(3)
    for _ in range(4):
        h = w @ h + w @ x
        h.register_hook(lambda g: grads.append((g, g.tolist())))
        w.register_hook(lambda g: grads.append((g, g.tolist())))
    h.sum().backward(retain_graph=True)
    first = w.grad.clone()
    h.sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), 2 * first.numpy())
    # later passes leave the gradients that hooks kept unchanged
    assert all(g.tolist() == values for g, values in grads) and len(grads) > 8
    cotangent = adjoint.ones(3)
    w.grad = None
    (w @ x).backward(cotangent)
    (w @ x).backward(cotangent)
    assert cotangent.tolist() == [1.0] * 3 and w.grad.tolist() == [[2.0] * 3] * 3


def test_captured_gradients_are_memory_of_their_own():
    x = adjoint.ones(4, requires_grad=True)
    (g,) = adjoint.autograd.grad(x.sum() + x.sum() + x.sum(), x)
    values = g.tolist()
    y = x * 1
    (middle, again) = adjoint.autograd.grad((y + y + y).sum(), (y, x))
    middle.mul_(5)
    assert again.tolist() == [3.0] * 4 and g.tolist() == values == [3.0] * 4


def test_threads_accumulate_products_into_one_leaf():
    w, x = adjoint.zeros(4, 4, requires_grad=True), adjoint.ones(4)

    def work():
        for _ in range(50):
            (w @ x + w @ x).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert w.grad.tolist() == [[400.0] * 4] * 4


def test_bias_gradients_are_summed_over_leading_axes():
    for shape, small in (((5, 3), (3,)), ((2, 5, 3), (3,)), ((2, 5, 3), (5, 3)), ((2, 3), (1, 3)), ((4, 1), (1,))):
        for kind in ("f4", "f8"):
            g = rng.normal(size=shape).astype(kind)
            bias = adjoint.from_numpy(np.zeros(small, kind)).requires_grad_()
            (adjoint.from_numpy(np.zeros(shape, kind)) + bias).backward(adjoint.from_numpy(g))
            axes = tuple(range(len(shape) - len(small))) + tuple([0] if small[0] == 1 and len(small) > 1 else [])
            np.testing.assert_array_equal(bias.grad.numpy(), g.sum(axes).reshape(small))


def test_only_what_leads_to_the_inputs_runs():
    a, b = adjoint.ones(2, requires_grad=True), adjoint.ones(2, requires_grad=True)
    ran = []
    left, right = a * 2, b * 3
    left.register_hook(lambda g: ran.append("left"))
    right.register_hook(lambda g: ran.append("right"))
    total = (left * right + left).sum()
    assert adjoint.autograd.grad(total, a, retain_graph=True)[0].tolist() == [8.0] * 2
    assert ran == ["left"]
    assert adjoint.autograd.grad(total, (left, a), retain_graph=True)[0].tolist() == [4.0] * 2
    unused = adjoint.ones(2, requires_grad=True)
    assert adjoint.autograd.grad(total, (b, unused), allow_unused=True, retain_graph=True)[1] is None
    total.backward(inputs=[b])
    assert a.grad is None and b.grad.tolist() == [6.0] * 2


@compiled
def test_views_and_ones_made_directly():
    x = rng.normal(size=(3, 1))
    view = expand(x, (2, 3, 4))
    np.testing.assert_array_equal(view, np.broadcast_to(x, (2, 3, 4)))
    assert view.flags.writeable and view.base is x and not expand(np.broadcast_to(1.0, 2), (2, 2)).flags.writeable
    for shape in ((3,), (2, 2), (-1, 3, 1), [3, 1], (3.0, 1)):
        assert expand(x, shape) is None
    one = one_like(np.full((1, 1), 5, "f4"))
    assert (one.dtype, one.shape, one.item()) == (np.float32, (1, 1), 1)
    assert one_like(x) is None and one_like(np.ones((), int)) is None and one_like(np.ones((), "f2")) is None
