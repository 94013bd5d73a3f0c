"""Reductions: values of NumPy and SciPy, gradients against finite differences, and rare cases with exact answers."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import adjoint

inf, nan = math.inf, math.nan
RNG = np.random.default_rng(7)
X = RNG.standard_normal((2, 3, 4))
DIMS = [None, (), 0, -1, (0, 2), (1, -1), (0, 1, 2)]


def tensor(values: Any, **options: Any) -> Any:
    return adjoint.tensor(np.asarray(values, dtype=np.float64), **options)


def gradient(f: Callable[[Any], Any], values: Any) -> np.ndarray:
    x = tensor(values, requires_grad=True)
    (g,) = adjoint.autograd.grad(f(x).sum(), [x])
    return g.numpy()


def second(f: Callable[[Any], Any], values: Any) -> np.ndarray:
    """The gradient of the sum of the gradient: row sums of the Hessian."""
    x = tensor(values, requires_grad=True)
    (g,) = adjoint.autograd.grad(f(x).sum(), [x], create_graph=True)
    (h,) = adjoint.autograd.grad(g.sum(), [x])
    return h.numpy()


def differences(f: Callable[[Any], Any], values: Any, step: float = 1e-6) -> np.ndarray:
    values = np.asarray(values, dtype=np.float64)
    result = np.empty_like(values)
    for index in np.ndindex(values.shape):
        change = np.zeros_like(values)
        change[index] = step
        up, down = (f(tensor(values + sign * change)).sum().item() for sign in (1, -1))
        result[index] = (up - down) / (2 * step)
    return result


# values ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin", "var", "std", "logsumexp", "norm"])
def test_values_agree_with_numpy(name: str, dim: Any, keepdim: bool) -> None:
    axis = None if dim == () else dim
    references: dict[str, Callable[..., Any]] = {
        "logsumexp": scipy.special.logsumexp,
        "var": lambda a, **k: np.var(a, ddof=1, **k),
        "std": lambda a, **k: np.std(a, ddof=1, **k),
        "norm": lambda a, **k: np.sqrt(np.sum(a * a, **k)),
    }
    expected = references.get(name, getattr(np, name, None))(X, axis=axis, keepdims=keepdim)
    options = {"dim": () if dim is None and name in ("amax", "amin", "logsumexp") else dim}
    result = getattr(adjoint, name)(tensor(X), **options, keepdim=keepdim)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12)
    assert result.shape == np.shape(expected)


@pytest.mark.parametrize("dim", [None, 0, 1, -1])
@pytest.mark.parametrize("name", ["prod", "argmax", "argmin"])
def test_one_axis_reductions_agree_with_numpy(name: str, dim: int | None) -> None:
    for keepdim in (False, True):
        expected = getattr(np, name)(X, axis=dim, keepdims=keepdim)
        result = getattr(tensor(X), name)(dim, keepdim)
        np.testing.assert_allclose(result.numpy(), expected)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_running_and_normalised_values_agree(dim: int) -> None:
    x = tensor(X)
    np.testing.assert_allclose(x.cumsum(dim).numpy(), np.cumsum(X, axis=dim))
    np.testing.assert_allclose(x.cumprod(dim).numpy(), np.cumprod(X, axis=dim))
    np.testing.assert_allclose(x.softmax(dim).numpy(), scipy.special.softmax(X, axis=dim))
    np.testing.assert_allclose(x.log_softmax(dim).numpy(), scipy.special.log_softmax(X, axis=dim))


@pytest.mark.parametrize("p", [0, 1, 2, 3, 2.5, 0.5, -1, inf, -inf])
def test_norms_agree_with_numpy(p: float) -> None:
    np.testing.assert_allclose(adjoint.norm(tensor(X[0, 0]), p).item(), np.linalg.norm(X[0, 0], p))
    result = adjoint.linalg.vector_norm(tensor(X), p, dim=1, keepdim=True)
    np.testing.assert_allclose(result.numpy(), np.linalg.norm(X, p, axis=1, keepdims=True))


def test_zero_dimensional_input_has_one_axis_by_courtesy() -> None:
    x = tensor(2.0)
    for name in ("sum", "mean", "amax", "amin", "prod", "logsumexp", "norm", "cumsum", "cumprod"):
        result = getattr(x, name)(dim=0)
        assert result.shape == () and result.item() == 2.0, name
        assert getattr(x, name)(dim=-1).shape == ()
    assert x.softmax(0).item() == 1.0
    assert x.log_softmax(-1).item() == 0.0
    assert x.argmax(0).item() == 0
    with np.errstate(invalid="ignore"):
        assert math.isnan(x.var(0).item())
    with pytest.raises(IndexError, match=r"Dimension out of range \(expected to be in range of \[-1, 0\], but got 1\)"):
        x.sum(1)


# data types -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bool", "uint8", "int8", "int32", "int64"])
def test_integers_are_summed_and_multiplied_in_int64(kind: str) -> None:
    x = adjoint.tensor([1, 1, 1], dtype=getattr(adjoint, kind))
    for result in (x.sum(), x.sum(0), x.prod(), x.prod(0), x.cumsum(0), x.cumprod(0)):
        assert result.dtype is adjoint.int64
    assert (x.sum().item(), x.prod().item()) == (3, 1)


def test_dtype_is_what_the_input_is_cast_to_before() -> None:
    x = adjoint.tensor([1.5, 2.5], requires_grad=True)
    y = x.sum(dtype=adjoint.float64)
    assert y.dtype is adjoint.float64
    y.backward()
    assert x.grad.dtype is adjoint.float32 and x.grad.tolist() == [1.0, 1.0]
    assert x.sum(0, dtype=adjoint.int32).item() == 3
    assert x.softmax(0, dtype=adjoint.float64).dtype is adjoint.float64
    assert adjoint.mean(adjoint.tensor([1, 2]), dtype=adjoint.float32).item() == 1.5


def test_half_precision_is_summed_in_single_precision() -> None:
    assert adjoint.ones(5000, dtype=adjoint.float16).sum().item() == 5000.0
    assert adjoint.ones(5000, dtype=adjoint.bfloat16).mean().item() == 1.0
    assert adjoint.full((5,), 0.1, dtype=adjoint.float16).cumsum(0).dtype is adjoint.float16


def test_uint8_keeps_its_type_in_any_and_all() -> None:
    x = adjoint.tensor([1, 0], dtype=adjoint.uint8)
    assert x.any().dtype is adjoint.uint8 and x.any().item() == 1
    assert x.all().dtype is adjoint.uint8 and x.all().item() == 0
    assert adjoint.tensor([1, 0]).any().dtype is adjoint.bool


def test_no_axes_mean_none_in_any_and_all() -> None:
    x = adjoint.tensor([[True, False]])
    assert adjoint.any(x, dim=()).tolist() == [[True, False]]
    assert adjoint.all(x, dim=(0, 1)).item() is False
    assert adjoint.any(x, keepdim=True).tolist() == [[True]]


def test_count_nonzero() -> None:
    x = adjoint.tensor([[1.0, 0.0, nan], [0.0, 0.0, 2.0]])
    assert x.count_nonzero().item() == 3
    assert x.count_nonzero(0).tolist() == [1, 0, 2]
    assert x.count_nonzero(0, 1).item() == 3
    assert x.count_nonzero(dim=(0, 1)).dtype is adjoint.int64


# errors ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda t: t.mean(adjoint.tensor([1, 2])), RuntimeError, r"mean\(\): could not infer .* Input .* Got: Long"),
        (lambda t: t.mean(t.ones(2), dtype=t.int32), RuntimeError, r"Optional dtype must be .* Got: Int"),
        (lambda t: t.std(t.tensor([1, 2])), RuntimeError, "std and var only support floating point and complex"),
        (lambda t: t.sum(t.ones(2, 3), (0, 0)), RuntimeError, "dim 0 appears multiple times in the list of dims"),
        (lambda t: t.sum(t.ones(2, 3), 5), IndexError, r"Dimension out of range .* \[-2, 1\], but got 5"),
        (lambda t: t.amax(t.zeros(0)), RuntimeError, r"amax\(\): Expected reduction dim to be specified for"),
        (lambda t: t.amin(t.zeros(0, 3), 0), IndexError, r"amin\(\): Expected reduction dim 0 to have non-zero"),
        (lambda t: t.max(t.zeros(0)), RuntimeError, r"max\(\): Expected reduction dim to be specified"),
        (lambda t: t.argmax(t.zeros(0)), IndexError, r"argmax\(\): Expected reduction dim to be specified"),
        (lambda t: t.argmin(t.zeros(0, 3), 0), IndexError, r"argmin\(\): Expected reduction dim 0 to have"),
        (lambda t: t.argmax(t.tensor([True])), RuntimeError, r"argmax\(\): does not support bool input"),
        (lambda t: t.amax(t.tensor([1j])), NotImplementedError, "\"max_values_cpu\" not implemented for 'Complex"),
        (lambda t: t.softmax(t.tensor([1, 2]), 0), NotImplementedError, "softmax.* not implemented for 'Long'"),
        (lambda t: t.log_softmax(t.tensor([1j]), 0), NotImplementedError, "log_softmax.* for 'ComplexFloat'"),
        (lambda t: t.norm(t.tensor([1, 2])), RuntimeError, "vector_norm: Expected a floating point .* Got Long"),
        (lambda t: t.linalg.vector_norm(t.zeros(0), inf), RuntimeError, "the inf norm on an empty tensor because"),
        (lambda t: t.linalg.vector_norm(t.zeros(0, 2), -1, 0), RuntimeError, "the -1 norm on the dimension 0"),
        (lambda t: t.linalg.vector_norm(t.ones(2), "fro"), TypeError, "argument 'ord' .* must be Number, not str"),
        (lambda t: t.linalg.vector_norm(tensor([1.0]), dtype=t.float32), RuntimeError, r"\(Double\) should be"),
        (lambda t: t.linalg.vector_norm(t.ones(2), dtype=t.complex64), RuntimeError, "should be real for real inputs"),
        (lambda t: t.linalg.vector_norm(t.ones(2) * 1j, dtype=t.float32), RuntimeError, "complex for complex inputs"),
        (lambda t: t.std(t.ones(2), 0, unbiased=True, correction=2), TypeError, "either unbiased or correction"),
        (lambda t: t.sum([1, 2]), TypeError, r"sum\(\): argument 'input' \(position 1\) must be Tensor, not list"),
    ],
)  # fmt: skip
def test_errors_are_worded_as_in_torch(call: Callable[[Any], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(adjoint)


def test_reductions_of_nothing() -> None:
    empty = adjoint.zeros(0, 3)
    assert empty.sum().item() == 0.0 and empty.prod().item() == 1.0
    assert empty.sum(0).tolist() == [0.0] * 3 and empty.prod(0).tolist() == [1.0] * 3
    assert empty.amax(1).shape == (0,) and empty.softmax(1).shape == (0, 3)
    assert empty.norm().item() == 0.0
    with np.errstate(all="ignore"):
        assert empty.logsumexp(0).tolist() == [-inf] * 3
        for result in (empty.mean(), empty.var(), empty.std()):
            assert math.isnan(result.item())
        x = adjoint.zeros(0, requires_grad=True)
        (x.mean() + x.var() + x.prod() + x.logsumexp(0)).backward()
    assert x.grad.shape == (0,)


# first and second derivatives -----------------------------------------------------------------------------------------

SMOOTH: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: (x * x).sum((0, 2)) ** 2,
    "mean": lambda x: (x * x).mean(1, keepdim=True) ** 2,
    "mean_all": lambda x: (x * x).mean() ** 2,
    "prod": lambda x: x.prod(1),
    "prod_all": lambda x: x.prod(),
    "cumsum": lambda x: x.cumsum(1) ** 3,
    "cumprod": lambda x: x.cumprod(2) ** 2,
    "var": lambda x: x.var((0, 1)) ** 2,
    "std": lambda x: x.std(-1, correction=0.5),
    "logsumexp": lambda x: x.logsumexp((0, 2)),
    "softmax": lambda x: x.softmax(1) ** 2,
    "log_softmax": lambda x: x.log_softmax(-1) ** 2,
    "amax": lambda x: x.amax((0, 1)) ** 3,
    "max": lambda x: x.max() ** 3,
    "norm 2": lambda x: x.norm(dim=1),
    "norm 3": lambda x: x.norm(3),
    "norm 1": lambda x: x.norm(1, 0) ** 2,
    "norm inf": lambda x: x.norm(inf, (1, 2)) ** 2,
    "norm -1": lambda x: x.norm(-1, 2),
    "aminmax": lambda x: x.aminmax(dim=0).min * x.aminmax(dim=0).max,
    "nanmean": lambda x: (x * x).nanmean(0) ** 2,
}


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_agree_with_differences(name: str) -> None:
    f = SMOOTH[name]
    np.testing.assert_allclose(gradient(f, X), differences(f, X), rtol=1e-5, atol=1e-6)

    def slope(x: Any) -> Any:
        x = x.detach().requires_grad_()
        return adjoint.autograd.grad(f(x).sum(), [x])[0]

    np.testing.assert_allclose(second(f, X), differences(slope, X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("values", [[2.0, 0.0, 3.0], [2.0, 0.0, 0.0, 3.0], [0.0], [0.0, 0.0, 0.0]])
def test_products_are_exact_at_zero_in_first_and_second_order(values: list[float]) -> None:
    n = len(values)
    others = [math.prod(values[:i] + values[i + 1 :]) for i in range(n)]
    pairs = [[math.prod(v for k, v in enumerate(values) if k not in (i, j)) for j in range(n)] for i in range(n)]
    hessian = np.array(pairs) * (1 - np.eye(n))
    for f in (lambda x: x.prod(), lambda x: x.prod(0), lambda x: x.cumprod(0)[-1]):
        np.testing.assert_array_equal(gradient(f, values), others)
        np.testing.assert_array_equal(second(f, values), hessian.sum(0))


@pytest.mark.parametrize("n", [513, 1500])
@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_products_of_long_vectors(n: int, zeros: int) -> None:
    values = RNG.uniform(0.9, 1.1, n)
    values[[700 % n, 3][:zeros]] = 0
    nonzero = np.where(values == 0, 1, values)
    others = np.prod(nonzero) / nonzero * ((values == 0).sum() - (values == 0) == 0)
    for f in (lambda x: x.prod(), lambda x: x.prod(0)):
        np.testing.assert_allclose(gradient(f, values), others, rtol=1e-11)
    if zeros == 2:
        # the second derivative is the one by both zeros
        expected = np.zeros(n)
        expected[[700 % n, 3]] = np.prod(nonzero)
        np.testing.assert_allclose(second(lambda x: x.prod(), values), expected, rtol=1e-11)


def test_running_product_at_zeros() -> None:
    values = [2.0, 0.0, 3.0, 0.0]
    assert gradient(lambda x: x.cumprod(0), values).tolist() == [1.0, 8.0, 0.0, 0.0]
    assert second(lambda x: x.cumprod(0), values).tolist() == [4.0, 12.0, 2.0, 6.0]


def test_long_running_product_agrees_with_the_quotient() -> None:
    values = RNG.uniform(0.9, 1.1, 1000)
    products = np.cumprod(values)
    np.testing.assert_allclose(
        gradient(lambda x: x.cumprod(0), values), np.cumsum(products[::-1])[::-1] / values, rtol=1e-11
    )


def test_equal_elements_share_the_gradient() -> None:
    values = [2.0, 2.0, 1.0]
    for f in (lambda x: x.amax(), lambda x: x.amax(0), lambda x: x.max(), lambda x: x.norm(inf)):
        assert gradient(f, values).tolist() == [0.5, 0.5, 0.0]
    assert gradient(lambda x: x.amin(0, True), [1.0, 1.0, 1.0, 4.0]).tolist() == [1 / 3] * 3 + [0.0]
    assert gradient(lambda x: x.max(), [1.0, nan]).tolist() == [0.0, 1.0]


def test_a_count_has_an_undefined_gradient() -> None:
    x = tensor([0.0, 2.0]).requires_grad_()
    assert adjoint.autograd.grad(x.norm(0), x, allow_unused=True) == (None,)


@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2, 3, inf, -inf, -1])
def test_gradient_of_a_norm_is_zero_at_zero(p: float) -> None:
    with np.errstate(divide="ignore"):
        assert gradient(lambda x: x.norm(p), [0.0, 0.0]).tolist() == [0.0, 0.0]
    if p > 0:
        slope = gradient(lambda x: x.norm(p), [0.0, 2.0])
        assert slope[0] == 0 and slope[1] == pytest.approx(1, rel=1e-15)
        assert np.isfinite(second(lambda x: x.norm(p), [0.0, 0.0])).all()


def test_standard_deviation_of_equal_numbers_has_gradient_zero() -> None:
    assert gradient(lambda x: x.std(), [1.0, 1.0, 1.0]).tolist() == [0.0] * 3
    assert second(lambda x: x.std(correction=0), [1.0, 1.0, 1.0]).tolist() == [0.0] * 3


@pytest.mark.parametrize("kind", [adjoint.float32, adjoint.float64, adjoint.complex64])
@pytest.mark.parametrize("dim", [None, 0])
def test_equal_numbers_do_not_vary(kind, dim) -> None:
    # the quotient of the sum may be a different number
    for n in (3, 7, 10):
        x = adjoint.full((n, 1), 0.1 if kind.is_floating_point else 0.1 + 0.3j, dtype=kind, requires_grad=True)
        spread = x.std(dim)
        assert spread.abs().max().item() == 0
        assert adjoint.autograd.grad(spread.sum(), x)[0].abs().max().item() == 0
    x = tensor([1e8, 1e8 + 1, 1e8 + 2])
    assert x.var(dim).item() == 1.0


@pytest.mark.parametrize("function", [adjoint.softmax, adjoint.log_softmax, adjoint.amax, adjoint.amin])
@pytest.mark.parametrize("kind", [adjoint.int64, adjoint.complex64])
def test_nothing_of_any_type(function, kind) -> None:
    result = function(adjoint.ones(0, 4, dtype=kind), 1)
    assert result.numel() == 0 and result.dtype is kind


def test_too_few_elements_for_a_variance() -> None:
    with np.errstate(all="ignore"):
        assert math.isnan(tensor([1.0]).var().item())
        assert tensor([1.0, 2.0]).var(correction=3).item() == inf
        assert np.isnan(gradient(lambda x: x.var(), [1.0])).all()
        assert gradient(lambda x: x.var(correction=2), [1.0, 2.0]).tolist() == [inf, inf]
        assert np.isnan(gradient(lambda x: x.std(correction=3), [1.0, 2.0])).all()
        # as in torch: along axes the formula keeps its sign, also for degrees of freedom below 0
        assert gradient(lambda x: x.var(0, correction=2), [1.0, 2.0]).tolist() == [-inf, inf]
        assert gradient(lambda x: x.var(0, correction=3), [1.0, 2.0]).tolist() == [1.0, -1.0]
        assert gradient(lambda x: x.std(0, correction=3), [1.0, 2.0]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("reduce", [adjoint.amax, adjoint.amin])
def test_gradient_of_an_extremum_that_is_nan(reduce) -> None:
    rows = [[1.0, math.nan], [2.0, 3.0]]
    actual = gradient(lambda x: reduce(x, 1), rows)
    assert np.isnan(actual[0]).all()
    assert sorted(actual[1].tolist()) == [0.0, 1.0]


def test_signatures_of_the_standard_deviation() -> None:
    x = tensor(X[0])
    biased = np.std(X[0])
    for result in (x.std(False), x.std(unbiased=False), x.std(correction=0), adjoint.std(x, None, False)):
        np.testing.assert_allclose(result.item(), biased)
    np.testing.assert_allclose(x.std(0, False, True).numpy(), np.std(X[0], axis=0, keepdims=True))
    np.testing.assert_allclose(adjoint.var(x, axis=0, keepdims=True).numpy(), X[0].var(0, ddof=1, keepdims=True))
    deviation, mean = adjoint.std_mean(x, 1)
    np.testing.assert_allclose((deviation.numpy(), mean.numpy()), (X[0].std(1, ddof=1), X[0].mean(1)))


def test_infinite_rows_of_logsumexp() -> None:
    with np.errstate(divide="ignore"):
        rows = tensor([[-inf, -inf], [-inf, 1.0], [inf, 1.0]])
        assert rows.logsumexp(1).tolist() == [-inf, 1.0, inf]
    assert gradient(lambda x: x.logsumexp(0), [-inf, 1.0]).tolist() == [0.0, 1.0]
    assert second(lambda x: x.logsumexp(0), [-inf, 1.0]).tolist() == [0.0, 0.0]
    assert tensor([1000.0, 1000.0]).logsumexp(0).item() == 1000.0 + math.log(2)


def test_nansum_gives_no_gradient_to_nan() -> None:
    assert gradient(lambda x: x.nansum(), [nan, 1.0, 2.0]).tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "f",
    [
        lambda z: z.sum(0).abs() ** 2,
        lambda z: z.mean().abs() ** 2,
        lambda z: z.prod(1).abs() ** 2,
        lambda z: z.cumprod(1).abs() ** 2,
        lambda z: z.var(1),
        lambda z: z.std(),
        lambda z: z.logsumexp(0).abs() ** 2,
        lambda z: z.norm(2, 0),
        lambda z: z.norm(1),
        lambda z: z.norm(3, 1),
    ],
)
def test_complex_gradients_are_conjugate_wirtinger(f: Callable[[Any], Any]) -> None:
    values = RNG.standard_normal((2, 3)) + 1j * RNG.standard_normal((2, 3))
    z = adjoint.tensor(values, requires_grad=True)
    (g,) = adjoint.autograd.grad(f(z).sum(), [z])
    for direction in (1.0, 1j):
        for index in np.ndindex(values.shape):
            change = np.zeros_like(values)
            change[index] = 1e-6 * direction
            up, down = (f(adjoint.tensor(values + s * change)).sum().item() for s in (1, -1))
            expected = g.numpy()[index].real if direction == 1.0 else g.numpy()[index].imag
            assert (up - down) / 2e-6 == pytest.approx(expected, rel=1e-5, abs=1e-7)


# names and conveniences -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: x.sum(), "SumBackward0"),
        (lambda x: x.sum(0), "SumBackward1"),
        (lambda x: x.mean(), "MeanBackward0"),
        (lambda x: x.mean(0), "MeanBackward1"),
        (lambda x: x.prod(), "ProdBackward0"),
        (lambda x: x.prod(0), "ProdBackward1"),
        (lambda x: x.max(), "MaxBackward1"),
        (lambda x: x.max(0).values, "MaxBackward0"),
        (lambda x: x.median(), "MedianBackward0"),
        (lambda x: x.median(0).values, "MedianBackward1"),
        (lambda x: x.amax(), "AmaxBackward0"),
        (lambda x: x.std(), "StdBackward0"),
        (lambda x: x.norm(), "LinalgVectorNormBackward0"),
        (lambda x: x.cumsum(0), "CumsumBackward0"),
        (lambda x: x.log_softmax(0), "LogSoftmaxBackward0"),
    ],
)
def test_nodes_have_torchs_names(f: Callable[[Any], Any], name: str) -> None:
    assert f(tensor(X[0], requires_grad=True)).grad_fn.name() == name


def test_numpys_names_of_arguments_and_out() -> None:
    x = tensor(X)
    assert adjoint.sum(x, axis=0, keepdims=True).shape == (1, 3, 4)
    out = adjoint.zeros(3, 4, dtype=adjoint.float64)
    assert adjoint.sum(x, 0, out=out) is out
    np.testing.assert_allclose(out.numpy(), X.sum(0))
    with pytest.raises(RuntimeError, match=r"sum\(\): functions with out=... arguments don't support automatic"):
        adjoint.sum(tensor(X, requires_grad=True), 0, out=out)


def test_functional_softmax_without_an_axis_warns() -> None:
    x = tensor(X[0])
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax has been deprecated"):
        result = adjoint.nn.functional.softmax(x)
    np.testing.assert_allclose(result.numpy(), scipy.special.softmax(X[0], axis=1))
    np.testing.assert_allclose(adjoint.nn.functional.softmin(x, dim=0).numpy(), scipy.special.softmax(-X[0], axis=0))


def test_norm_conveniences() -> None:
    x = tensor(X[0])
    expected = np.linalg.norm(X[0])
    for result in (x.norm(), x.norm("fro"), x.norm(None), x.norm(2, (0, 1)), adjoint.norm(x, tensor(2.0))):
        np.testing.assert_allclose(result.item(), expected)
    np.testing.assert_allclose(x.norm("nuc").item(), np.linalg.svd(X[0], compute_uv=False).sum())
    assert adjoint.norm(adjoint.ones(4), dtype=adjoint.float64).dtype is adjoint.float64


@pytest.mark.parametrize("pick", ["max", "min", "amax", "amin", "median"])
def test_an_infinite_cotangent_reaches_only_the_chosen(pick: str) -> None:
    values = np.array([3.0, 1.0, 2.0])
    extremum = getattr(tensor(values), pick)().item()
    result = gradient(lambda x: (getattr(x, pick)() - extremum).sqrt(), values)
    np.testing.assert_array_equal(result, np.where(values == extremum, inf, 0.0))


@pytest.mark.parametrize("function", ["sum", "cumsum", "prod", "cumprod", "nansum"])
def test_dtype_of_integer_results(function: str) -> None:
    args = (0,) if function.startswith("cum") else ()
    for dtype in (adjoint.int8, adjoint.int32, adjoint.int64):
        assert getattr(adjoint, function)(adjoint.tensor([1, 2]), *args, dtype=dtype).dtype is dtype


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e9, -1e9])
@pytest.mark.parametrize("kind", ["float64", "complex128"])
def test_derivatives_of_logcumsumexp_keep_their_digits(offset: float, kind: str) -> None:
    # the offset is exact and does not change the weights
    rest = np.round(RNG.normal(size=50) * 3, 4) * 1.0
    x = (rest + offset).astype(kind)
    rest = x - offset
    t = RNG.normal(size=50).astype(kind)
    function = lambda v: adjoint.logcumsumexp(v, 0)
    result = adjoint.func.jvp(function, (adjoint.from_numpy(x),), (adjoint.from_numpy(t),))[1].numpy()
    powers = np.exp(rest)
    expected = np.cumsum(powers * t) / np.cumsum(powers)
    np.testing.assert_allclose(result, expected, rtol=1e-12)
    (back,) = adjoint.func.vjp(function, adjoint.from_numpy(x))[1](adjoint.from_numpy(t))
    expected = powers * np.cumsum((t / np.cumsum(powers))[::-1])[::-1]
    np.testing.assert_allclose(back.numpy(), expected, rtol=1e-12)


def test_logcumsumexp_of_nothing_and_of_infinities() -> None:
    x = adjoint.tensor([-np.inf, -np.inf, 1.0, np.inf, 2.0], dtype=adjoint.float64)
    t = adjoint.tensor([1.0, 2, 3, 4, 5], dtype=x.dtype)
    actual = adjoint.func.jvp(lambda v: adjoint.logcumsumexp(v, 0), (x,), (t,))[1]
    assert actual.tolist() == [0, 0, 3, 4, 4]
    result = adjoint.logcumsumexp(x.requires_grad_(), 0)
    result.detach().mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.backward(adjoint.ones_like(result))


SMOOTH_AT_TIES = {
    "logcumsumexp": lambda x: adjoint.logcumsumexp(x, 0),
    "logcumsumexp of columns": lambda x: adjoint.logcumsumexp(x.mT, 1),
    "logsumexp": lambda x: adjoint.logsumexp(x, 0),
    "masked.logsumexp": lambda x: adjoint.masked.logsumexp(x, 0, mask=adjoint.tensor([[True], [True], [False]])),
    "logaddexp": lambda x: adjoint.logaddexp(x[0], x[1]),
    "logaddexp2": lambda x: adjoint.logaddexp2(x[0], x[1]),
    "softmax": lambda x: adjoint.softmax(x, 0),
    "log_softmax": lambda x: adjoint.log_softmax(x, 0),
    "hypot": lambda x: adjoint.hypot(x[0], x[1]),
    "vector_norm": lambda x: adjoint.linalg.vector_norm(x, 3.0, 0),
}


OF_COMPLEX = ("logcumsumexp", "logcumsumexp of columns", "logsumexp")


@pytest.mark.parametrize(
    ("name", "kind"), [(n, "float64") for n in SMOOTH_AT_TIES] + [(n, "complex128") for n in OF_COMPLEX]
)
def test_equal_elements_are_no_kinks_to_any_order(name: str, kind: str) -> None:
    x = adjoint.tensor([[1.0, 0.5], [1.0, 0.7], [1.0, 0.5]], dtype=getattr(adjoint, kind), requires_grad=True)
    function = SMOOTH_AT_TIES[name]
    assert adjoint.autograd.gradcheck(function, (x,), check_forward_ad=True)
    assert adjoint.autograd.gradgradcheck(function, (x,), check_fwd_over_rev=True)


def test_norm_except_dim():
    x = adjoint.arange(24.0, dtype=adjoint.float64).reshape(2, 3, 4).requires_grad_()
    expected = np.sqrt((x.detach().numpy() ** 2).sum((0, 2), keepdims=True))
    assert np.allclose(adjoint.norm_except_dim(x, 2, 1).detach(), expected)
    assert adjoint.norm_except_dim(x, 1, -1).item() == 276
    assert adjoint.autograd.gradcheck(lambda v: adjoint.norm_except_dim(v, 2, 0), (x,))
    assert adjoint.norm_except_dim(adjoint.tensor([3.0, -4.0])).tolist() == [3.0, 4.0]
    assert adjoint.norm_except_dim(x, 1, -2).shape == (1, 3, 1)
    with pytest.raises(IndexError, match=re.escape("expected to be in range of [-1, 0], but got 1")):
        adjoint.norm_except_dim(adjoint.ones(2), 2, 1)
    with pytest.raises(IndexError, match=re.escape("expected to be in range of [-3, 2], but got 3")):
        adjoint.norm_except_dim(x, 2, 3)
    with pytest.raises(IndexError, match=re.escape("Dimension specified as 0 but tensor has no dimensions")):
        adjoint.norm_except_dim(adjoint.tensor(2.0))
