"""Reductions over the elements that a mask selects: the same as over these elements alone, without NaN from others."""

from typing import Any

import numpy as np
import pytest

import adjoint

RNG = np.random.default_rng(41)
NAN, INF = float("nan"), float("inf")
#: Rows with three selected elements, with one, with none, and with all.
MASK = np.array([[True, False, True, True], [False] * 4, [True] * 4])


def draw(*shape: int) -> np.ndarray:
    return np.asarray(RNG.standard_normal(shape))


def call(name: str, x: Any, dim: Any, mask: Any, **options: Any) -> Any:
    function = getattr(adjoint.masked, name)
    if name in ("norm", "normalize"):
        return function(x, 2.0, dim, mask=mask, **options)
    return function(x, dim, mask=mask, **options)


REDUCTIONS = {
    "sum": (np.sum, 0.0),
    "prod": (np.prod, 1.0),
    "amax": (np.max, -INF),
    "amin": (np.min, INF),
    "mean": (np.mean, NAN),
    "median": (lambda x: np.sort(x)[(len(x) - 1) // 2], NAN),
    "norm": (np.linalg.norm, 0.0),
    "logsumexp": (lambda x: np.log(np.exp(x).sum()), -INF),
    "var": (lambda x: np.var(x, ddof=1), NAN),
    "std": (lambda x: np.std(x, ddof=1), NAN),
}
ALONG = {
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "softmax": lambda x: np.exp(x) / np.exp(x).sum(),
    "log_softmax": lambda x: x - np.log(np.exp(x).sum()),
    "softmin": lambda x: np.exp(-x) / np.exp(-x).sum(),
    "normalize": lambda x: x / np.linalg.norm(x),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_are_those_of_the_picked_elements(name: str) -> None:
    x = draw(3, 4)
    x[~MASK] = NAN
    reduce, of_nothing = REDUCTIONS[name]
    with np.errstate(all="ignore"):
        result = call(name, adjoint.from_numpy(x), 1, adjoint.from_numpy(MASK))
        with_axis = call(name, adjoint.from_numpy(x), 1, adjoint.from_numpy(MASK), keepdim=True)
    np.testing.assert_allclose(result.numpy(), [reduce(x[0, MASK[0]]), of_nothing, reduce(x[2])])
    np.testing.assert_array_equal(with_axis.numpy()[:, 0], result.numpy())
    if name != "median":
        whole = call(name, adjoint.from_numpy(x), None, adjoint.from_numpy(MASK))
        np.testing.assert_allclose(whole.numpy(), reduce(x[MASK]))
        np.testing.assert_allclose(call(name, adjoint.from_numpy(x[2:]), (0, 1), None).numpy(), reduce(x[2]))


@pytest.mark.parametrize("name", ALONG)
def test_what_runs_along_an_axis(name: str) -> None:
    x = draw(3, 4)
    x[~MASK] = NAN
    with np.errstate(all="ignore"):
        result = call(name, adjoint.from_numpy(x), 1, adjoint.from_numpy(MASK)).numpy()
    for row in (0, 2):
        np.testing.assert_allclose(result[row, MASK[row]], ALONG[name](x[row, MASK[row]]))
    others = {"cumsum": result[0, 0], "cumprod": result[0, 0], "log_softmax": -INF}
    assert result[0, 1] == others.get(name, 0)


@pytest.mark.parametrize("name", [*REDUCTIONS, *ALONG])
def test_gradients(name: str) -> None:
    """The gradient by an element outside of the mask is exactly 0, also in a row without selected elements.

    In such a row the variance is NaN, and so is its gradient.
    """
    x = draw(3, 4)
    x[~MASK] = NAN
    leaf = adjoint.from_numpy(x).requires_grad_()
    with np.errstate(all="ignore"):
        y = call(name, leaf, 1, adjoint.from_numpy(MASK))
        g = draw(*y.shape)
        if g.ndim == 2:
            g[~MASK] = 0
        y.backward(adjoint.from_numpy(g))
    result = leaf.grad.numpy()
    if name in ("var", "std"):
        assert np.isnan(result[1]).all()
        result[1] = 0
    np.testing.assert_array_equal(result[~MASK], 0)
    for row in (0, 2):
        picked = adjoint.from_numpy(x[row, MASK[row]]).requires_grad_()
        alone = call(name, picked, 0, None)
        alone.backward(adjoint.from_numpy(np.asarray(g[row] if g.ndim == 1 else g[row, MASK[row]])))
        np.testing.assert_allclose(result[row, MASK[row]], picked.grad.numpy(), atol=1e-12)


@pytest.mark.parametrize("unbiased", [None, True, False])
@pytest.mark.parametrize("name", ["var", "std"])
def test_spreads_of_few_elements(name: str, unbiased: bool | None) -> None:
    x, mask = adjoint.from_numpy(draw(2, 3)), adjoint.tensor([[True, True, False], [True, False, False]])
    with np.errstate(all="ignore"):
        result = getattr(adjoint.masked, name)(x, 1, unbiased, mask=mask).numpy()
    expected = getattr(np, name)(x.numpy()[0, :2], ddof=0 if unbiased is False else 1)
    np.testing.assert_allclose(result[0], expected)
    assert result[1] == 0 if unbiased is False else np.isnan(result[1])
    three = getattr(adjoint.masked, name)(x, 1, correction=0)
    np.testing.assert_allclose(three.numpy(), getattr(np, name)(x.numpy(), axis=1))
    assert getattr(adjoint.masked, name)(x * (1 + 1j), 1).is_complex()


def test_places_come_in_the_type_of_the_input() -> None:
    x = adjoint.tensor([[3.0, 9.0, 5.0], [4.0, 1.0, 2.0]])
    mask = adjoint.tensor([True, False, True])
    assert adjoint.masked.argmax(x, 1, mask=mask).tolist() == [2.0, 0.0]
    assert adjoint.masked.argmin(x, 1, mask=mask, dtype=adjoint.int64).tolist() == [0, 2]
    assert adjoint.masked.argmax(x, mask=mask).dtype is adjoint.float32


def test_types() -> None:
    x, mask = adjoint.arange(4, dtype=adjoint.int32), adjoint.tensor([False, True, True, True])
    masked = adjoint.masked
    assert masked.sum(x, mask=mask).dtype is adjoint.int64
    assert masked.sum(x, mask=mask, dtype=adjoint.int8).dtype is adjoint.int8
    assert masked.prod(x > 0, mask=mask).dtype is adjoint.int64
    assert masked.cumsum(x, 0, mask=mask).dtype is adjoint.int32
    assert masked.amin(x, mask=mask).tolist() == 1
    assert masked.amax(x, mask=mask, dtype=adjoint.float64).dtype is adjoint.float64
    assert masked.mean(x, mask=mask, dtype=adjoint.float64).item() == 2
    assert masked.median(x, mask=mask).dtype is adjoint.int32
    assert masked.var(x, mask=mask).dtype is adjoint.float32
    assert masked.sum(x, mask=mask.float()).item() == 6


@pytest.mark.parametrize("p", [0, 1, 2, 3, INF, -INF])
def test_norms(p: float) -> None:
    x, mask = np.array([3.0, -4.0, 7.0]), np.array([True, True, False])
    result = adjoint.masked.norm(adjoint.from_numpy(x), p, mask=adjoint.from_numpy(mask))
    np.testing.assert_allclose(result.numpy(), np.linalg.norm(x[mask], p))
    unit = adjoint.masked.normalize(adjoint.from_numpy(x), p, 0, eps=100.0, mask=adjoint.from_numpy(mask))
    np.testing.assert_allclose(unit.numpy(), [0.03, -0.04, 0])


def test_logaddexp() -> None:
    x, y = draw(3), draw(3)
    keep_x, keep_y = np.array([True, True, False]), np.array([True, False, False])
    a, b = adjoint.from_numpy(x).requires_grad_(), adjoint.from_numpy(y).requires_grad_()
    with np.errstate(all="ignore"):
        result = adjoint.masked.logaddexp(
            a, b, input_mask=adjoint.from_numpy(keep_x), other_mask=adjoint.from_numpy(keep_y)
        )
        result.sum().backward()
    np.testing.assert_allclose(result.detach().numpy(), [np.logaddexp(x[0], y[0]), x[1], -INF])
    share = 1 / (1 + np.exp(y[0] - x[0]))
    np.testing.assert_allclose(a.grad.numpy(), [share, 1, 0])
    np.testing.assert_allclose(b.grad.numpy(), [1 - share, 0, 0])


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda m, x: m.sum(x, mask=adjoint.ones(5)), RuntimeError, r"The expanded size of the tensor \(3\) must"),
        (lambda m, x: m.sum(x, mask=x[None]), IndexError, "mask dimensionality higher than of the input"),
        (lambda m, x: m.sum(x, mask=[True]), TypeError, "must be Tensor, not list"),
        (lambda m, x: m.sum(x, (0, -2)), RuntimeError, "dim=0 appears multiple times in the list of dims"),
        (lambda m, x: m.amax(x > 0, mask=x), NotImplementedError, "identity of amax on adjoint.bool input"),
        (lambda m, x: m.amax(x[:0]), IndexError, r"amax\(\): Expected reduction dim 0 to have non-zero size"),
        (lambda m, x: m.mean(x.long()), ValueError, "Could not infer output dtype"),
        (lambda m, x: m.median(x.long(), mask=x < 0), ValueError, "expects no fully masked out rows"),
        (lambda m, x: m.var(x, 0, True, correction=1), AssertionError, "Only one of unbiased and correction"),
        (lambda m, x: m.std(x > 0), RuntimeError, "with two bool tensors is not supported"),
        (lambda m, x: m.cumsum(x > 0, 0), NotImplementedError, "\"cumsum_out_cpu\" not implemented for 'Bool'"),
        (lambda m, x: m.softmax(x.long(), 1), NotImplementedError, '"softmax_lastdim_kernel_impl" not implemented'),
        (lambda m, x: m.norm(x.long(), dtype=adjoint.float64), RuntimeError, "floating point or complex tensor"),
        (lambda m, x: m.logaddexp(x.long(), x.long()), NotImplementedError, '"logaddexp_cpu" not implemented for'),
    ],
)
def test_errors(function: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        function(adjoint.masked, adjoint.ones(2, 3))


def test_running_values_of_bools_where_there_is_nothing_to_run_along() -> None:
    x, empty = adjoint.tensor(True), adjoint.zeros(0, 4, dtype=adjoint.bool)
    for function in (adjoint.masked.cumsum, adjoint.masked.cumprod):
        assert function(x, 0).item() is True
        assert function(empty, 0).shape == (0, 4) and function(empty, 0).dtype is adjoint.bool
        with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
            function(x[None], 0)


def test_spreads_of_whole_numbers_in_the_type_of_the_result() -> None:
    x, mask = adjoint.tensor([[100003, 100002, 4, 5]]), adjoint.tensor([[True, True, False, True]])
    picked = np.array([100003.0, 100002.0, 5.0])
    result = adjoint.masked.var(x, 1, dtype=adjoint.float64, mask=mask)
    np.testing.assert_allclose(result.numpy(), [picked.var(ddof=1)], rtol=1e-14)
    result = adjoint.masked.std(x, 1, dtype=adjoint.float64, mask=mask)
    np.testing.assert_allclose(result.numpy(), [picked.std(ddof=1)], rtol=1e-14)
    assert adjoint.masked.var(x, 1, mask=mask).dtype is adjoint.float32


def test_masked_logaddexp_where_all_is_masked_out() -> None:
    x, y = (adjoint.from_numpy(RNG.normal(size=3)) for _ in range(2))
    keep_x, keep_y = adjoint.tensor([True, False, False]), adjoint.tensor([True, True, False])

    def total(a: adjoint.Tensor, b: adjoint.Tensor) -> adjoint.Tensor:
        return adjoint.masked.logaddexp(a, b, input_mask=keep_x, other_mask=keep_y).sum()

    share = 1 / (1 + np.exp(float(y[0]) - float(x[0])))
    curvature = np.zeros((3, 3))
    curvature[0, 0] = share * (1 - share)
    first = adjoint.func.grad(total, argnums=(0, 1))
    with np.errstate(invalid="ignore"):
        gradients = first(x, y)
    np.testing.assert_allclose([each.tolist() for each in gradients], [[share, 0, 0], [1 - share, 1, 0]])
    for outer in (adjoint.func.jacfwd, adjoint.func.jacrev):
        with np.errstate(invalid="ignore"):
            result = outer(first, argnums=(0, 1))(x, y)
        for i in range(2):
            for j in range(2):
                np.testing.assert_allclose(result[i][j].numpy(), curvature if i == j else -curvature, atol=1e-15)
