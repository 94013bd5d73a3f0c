"""Statistics, differences and distances: values of NumPy and SciPy, arguments, torch's errors."""

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.spatial import distance

import adjoint

RNG = np.random.default_rng(31)
NAN = float("nan")


def draw(*shape: int, dtype: str = "float64") -> np.ndarray:
    values = np.asarray(RNG.standard_normal(shape))
    return values + 1j * RNG.standard_normal(shape) if dtype.startswith("complex") else values


def wrap(x: Any) -> Any:
    return adjoint.from_numpy(np.asarray(x))


def check_derivatives(f: Any, *values: np.ndarray) -> None:
    """First and second derivatives agree with differences in a random direction; the vjp is the transposed jvp."""
    step = 1e-6
    primals = tuple(map(wrap, values))
    directions = [draw(*v.shape, dtype=str(v.dtype)) for v in values]
    tangents = tuple(map(wrap, directions))
    points = [[p + s * d for p, d in zip(primals, tangents, strict=True)] for s in (step, -step)]
    y, t = adjoint.func.jvp(f, primals, tangents)
    np.testing.assert_allclose(t.numpy(), ((f(*points[0]) - f(*points[1])) / (2 * step)).numpy(), rtol=1e-5, atol=1e-5)
    g = wrap(draw(*y.shape, dtype=str(y.numpy().dtype)))

    def pull(*arguments: Any) -> Any:
        return adjoint.func.vjp(f, *arguments)[1](g)

    along = sum(np.vdot(a.numpy(), d).real for a, d in zip(pull(*primals), directions, strict=True))
    assert along == pytest.approx(np.vdot(g.numpy(), t.numpy()).real)
    _, seconds = adjoint.func.jvp(pull, primals, tangents)
    for second, above, below in zip(seconds, pull(*points[0]), pull(*points[1]), strict=True):
        np.testing.assert_allclose(second.numpy(), ((above - below) / (2 * step)).numpy(), rtol=1e-4, atol=1e-4)


# covariances --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("correction", [0, 1, 2])
def test_cov(correction: int, dtype: str) -> None:
    x, counts, shares = draw(3, 5, dtype=dtype), np.array([1, 2, 1, 1, 3]), RNG.random(5)
    for f, a in ((None, None), (counts, None), (None, shares), (counts, shares)):
        options = {"fweights": None if f is None else wrap(f), "aweights": None if a is None else wrap(a)}
        call = lambda t, options=options: adjoint.cov(t, correction=correction, **options)
        expected = np.cov(x, ddof=correction, fweights=f, aweights=a)
        np.testing.assert_allclose(call(wrap(x)).numpy(), expected)
        np.testing.assert_allclose(call(wrap(x[0])).numpy(), expected[0, 0])
        check_derivatives(call, x)
    check_derivatives(lambda t, w: adjoint.cov(t, aweights=w, correction=correction), draw(2, 4), RNG.random(4) + 0.5)


def test_cov_of_whole_numbers_and_of_too_few_observations() -> None:
    assert adjoint.cov(adjoint.arange(4)).dtype is adjoint.float32
    with np.errstate(all="ignore"), pytest.warns(UserWarning, match="degrees of freedom is <= 0"):
        assert np.isnan(adjoint.cov(adjoint.ones(2, 1)).numpy()).all()


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_corrcoef(dtype: str) -> None:
    x = draw(3, 6, dtype=dtype)
    np.testing.assert_allclose(adjoint.corrcoef(wrap(x)).numpy(), np.corrcoef(x))
    assert adjoint.corrcoef(wrap(x[0])).numpy() == pytest.approx(1)
    # correlations are clipped to 1 on the diagonal
    check_derivatives(lambda t: adjoint.corrcoef(t)[0, 1:], x)


# quantiles, medians, modes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("dim", [None, 0, -1])
@pytest.mark.parametrize("keepdim", [False, True])
def test_quantiles(keepdim: bool, dim: int | None, interpolation: Any) -> None:
    x, q = draw(4, 5), np.array([0.0, 0.1, 0.5, 0.83, 1.0])
    result = adjoint.quantile(wrap(x), wrap(q), dim, keepdim, interpolation=interpolation)
    np.testing.assert_allclose(result.numpy(), np.quantile(x, q, dim, method=interpolation, keepdims=keepdim))
    result = adjoint.quantile(wrap(x), 0.3, dim, keepdim, interpolation=interpolation)
    np.testing.assert_allclose(result.numpy(), np.quantile(x, 0.3, dim, method=interpolation, keepdims=keepdim))
    x[[0, 1, 2, 2], [1, 3, 0, 4]] = NAN
    result = adjoint.nanquantile(wrap(x), wrap(q), dim, keepdim, interpolation=interpolation)
    expected = np.nanquantile(x, q, dim, method=interpolation, keepdims=keepdim)
    np.testing.assert_allclose(result.numpy(), expected)
    check_derivatives(lambda t: adjoint.quantile(t, 0.3, dim, keepdim, interpolation=interpolation), draw(4, 5))


def test_quantiles_with_nan() -> None:
    x = wrap([[1.0, NAN, 3.0], [1.0, 2.0, 3.0], [NAN, NAN, NAN]]).requires_grad_()
    np.testing.assert_array_equal(adjoint.quantile(x, 0.5, 1).detach().numpy(), [NAN, 2, NAN])
    result = adjoint.nanquantile(x, 0.5, 1)
    np.testing.assert_array_equal(result.detach().numpy(), [2, 2, NAN])
    result[:2].sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[0.5, 0, 0.5], [0, 1, 0], [0, 0, 0]])


def test_gradient_by_the_place_of_the_quantile() -> None:
    check_derivatives(lambda t, q: adjoint.quantile(t, q), draw(3, 4), np.array([0.21, 0.68]))


def test_nanmedian() -> None:
    x = np.array([[1.0, NAN, 3.0, 2.0], [4.0, 5.0, 6.0, 7.0]])
    values, indices = adjoint.nanmedian(wrap(x), 1)
    np.testing.assert_array_equal(values.numpy(), [2, 5])
    np.testing.assert_array_equal(indices.numpy(), [3, 1])
    assert adjoint.nanmedian(wrap(x)).item() == 4
    assert np.isnan(adjoint.nanmedian(adjoint.zeros(0)).item())
    leaf = wrap([2.0, NAN, 2.0, 1.0]).requires_grad_()
    leaf.nanmedian().backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), [0.5, 0, 0.5, 0])


def test_mode_is_the_smallest_of_the_most_frequent_at_its_last_place() -> None:
    x = np.array([[1, 2, 2, 1, 3], [5, 5, 4, 4, 4], [3, 1, 2, 5, 4]])
    values, indices = adjoint.mode(wrap(x))
    np.testing.assert_array_equal(values.numpy(), [1, 4, 1])
    np.testing.assert_array_equal(indices.numpy(), [3, 4, 1])
    assert adjoint.mode(wrap(x), 0, keepdim=True).values.shape == (1, 5)


# running results ------------------------------------------------------------------------------------------------------


def test_running_extrema_take_the_last_of_equal_elements_and_keep_nan() -> None:
    values, indices = adjoint.cummax(wrap([1.0, 3, 3, 2, NAN, 5, NAN]), 0)
    np.testing.assert_array_equal(values.numpy(), [1, 3, 3, 3, NAN, NAN, NAN])
    np.testing.assert_array_equal(indices.numpy(), [0, 1, 2, 2, 4, 4, 6])
    values, indices = adjoint.cummin(wrap([3.0, 1, 1, 2, 0]), 0)
    np.testing.assert_array_equal(values.numpy(), [3, 1, 1, 1, 0])
    np.testing.assert_array_equal(indices.numpy(), [0, 1, 2, 2, 4])
    leaf = wrap([1.0, 3, 2]).requires_grad_()
    leaf.cummax(0).values.sum().backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), [1, 2, 0])


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_logcumsumexp(dtype: str) -> None:
    x = draw(3, 5, dtype=dtype)
    np.testing.assert_allclose(np.exp(adjoint.logcumsumexp(wrap(x), 1).numpy()), np.cumsum(np.exp(x), 1))
    check_derivatives(lambda t: adjoint.logcumsumexp(t, -1), x)


def test_logcumsumexp_neither_overflows_nor_loses_small_terms() -> None:
    x = np.array([-1000.0, -1001.0, 0.0, 1000.0, 999.0])
    result = adjoint.logcumsumexp(wrap(x), 0).numpy()
    tail = np.log1p(np.exp(-1.0))
    np.testing.assert_allclose(result, [-1000, -1000 + tail, 0, 1000, 1000 + tail])
    leaf = wrap(x).requires_grad_()
    adjoint.logcumsumexp(leaf, 0)[1].backward()
    share = 1 / (1 + np.exp(-1.0))
    np.testing.assert_allclose(leaf.grad.numpy(), [share, 1 - share, 0, 0, 0], atol=1e-12)


def test_logcumsumexp_of_infinities() -> None:
    leaf = wrap([-np.inf, 1.0, -np.inf, np.inf, 2.0]).requires_grad_()
    y = adjoint.logcumsumexp(leaf, 0)
    np.testing.assert_array_equal(y.detach().numpy(), [-np.inf, 1, 1, np.inf, np.inf])
    y[:3].sum().backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), [0, 2, 0, 0, 0])


def test_imaginary_part_of_logcumsumexp_goes_on_where_the_larger_number_is() -> None:
    x = np.array([complex(-np.inf, 1), 1 + 7j, 7j, 9 - 20j, 8 - 21j])
    result = adjoint.logcumsumexp(wrap(x), 0).numpy()
    np.testing.assert_allclose(np.exp(result), np.cumsum(np.exp(x)))
    assert result[0] == -np.inf and result[0].imag == 0
    larger = [7, 7, -20, -20]
    assert (abs(result[1:].imag - larger) < np.pi / 2).all()


def test_diff() -> None:
    x, before, behind = draw(4, 5), draw(4, 1), draw(4, 2)
    for n in (0, 1, 2, 5, 9):
        for dim in (0, -1):
            expected = np.diff(x, n, axis=dim) if n <= x.shape[dim] else x.take(range(0), dim)
            np.testing.assert_allclose(adjoint.diff(wrap(x), n, dim).numpy(), expected)
    result = adjoint.diff(wrap(x), prepend=wrap(before), append=wrap(behind))
    np.testing.assert_allclose(result.numpy(), np.diff(x, prepend=before, append=behind))
    np.testing.assert_array_equal(adjoint.diff(wrap([True, True, False])).numpy(), [False, True])
    check_derivatives(lambda a, b: adjoint.diff(a, 2, prepend=b), x, before)


@pytest.mark.parametrize("edge_order", [1, 2])
def test_gradient_on_a_grid(edge_order: Any) -> None:
    f, x, y = draw(4, 5), np.cumsum(RNG.random(4) + 0.1), np.cumsum(RNG.random(5) + 0.1)
    for spacing, theirs in ((1, (1,)), (2.0, (2.0,)), ((0.5, 3.0), (0.5, 3.0))):
        result = adjoint.gradient(wrap(f), spacing=spacing, edge_order=edge_order)
        for a, b in zip(result, np.gradient(f, *theirs, edge_order=edge_order), strict=True):
            np.testing.assert_allclose(a.numpy(), b)
    result = adjoint.gradient(wrap(f), spacing=(wrap(x), wrap(y)), edge_order=edge_order)
    for a, b in zip(result, np.gradient(f, x, y, edge_order=edge_order), strict=True):
        np.testing.assert_allclose(a.numpy(), b)
    (result,) = adjoint.gradient(wrap(f), dim=1, edge_order=edge_order)
    np.testing.assert_allclose(result.numpy(), np.gradient(f, axis=1, edge_order=edge_order))
    check_derivatives(lambda a, p: adjoint.gradient(a, spacing=(p,), dim=0, edge_order=edge_order)[0], f, x)


def test_gradient_next_to_nan() -> None:
    (result,) = adjoint.gradient(wrap([0.0, 1.0, NAN, 3.0, 5.0]))
    np.testing.assert_array_equal(result.numpy(), [1, NAN, 1, NAN, 2])


def test_trapezoidal_rule() -> None:
    from scipy.integrate import cumulative_trapezoid, trapezoid

    y, x = draw(3, 4, 5), np.cumsum(RNG.random(4))
    alike = {"trapezoid": trapezoid, "trapz": trapezoid, "cumulative_trapezoid": cumulative_trapezoid}
    for name, theirs in alike.items():
        ours = getattr(adjoint, name)
        np.testing.assert_allclose(ours(wrap(y)).numpy(), theirs(y))
        np.testing.assert_allclose(ours(wrap(y), dx=0.3, dim=0).numpy(), theirs(y, dx=0.3, axis=0))
        np.testing.assert_allclose(ours(wrap(y), wrap(x), dim=1).numpy(), theirs(y, x, axis=1))
        places = np.cumsum(RNG.random(y.shape), 0)
        np.testing.assert_allclose(ours(wrap(y), wrap(places), dim=0).numpy(), theirs(y, places, axis=0))
        check_derivatives(lambda a, b, ours=ours: ours(a, b, dim=1), y, x)
        assert ours(adjoint.arange(4)).dtype is adjoint.float32
    assert adjoint.trapezoid(adjoint.zeros(2, 0)).tolist() == [0, 0]


# distances ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.7, 2, 3, np.inf])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_cdist(batch: tuple[int, ...], p: float) -> None:
    a, b = draw(*batch, 4, 3), draw(5, 3)
    result = adjoint.cdist(wrap(a), wrap(b), p).numpy()
    for index in np.ndindex(*batch):
        metric = {0: "hamming", np.inf: "chebyshev"}.get(p, "minkowski")
        expected = distance.cdist(a[index], b, metric, **({"p": p} if metric == "minkowski" else {}))
        np.testing.assert_allclose(result[index], expected * (3 if p == 0 else 1))
    if p:
        check_derivatives(lambda x, y: adjoint.cdist(x, y, p), a, b)


def test_cdist_by_a_product_of_matrices() -> None:
    a, b = draw(30, 4), draw(3, 4)
    expected = distance.cdist(a, b)
    for mode in ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"):
        f = lambda x, y, mode=mode: adjoint.cdist(x, y, compute_mode=mode)
        np.testing.assert_allclose(f(wrap(a), wrap(b)).numpy(), expected)
        check_derivatives(f, a, b)


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, np.inf])
@pytest.mark.parametrize("mode", ["use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"])
def test_equal_points_give_no_gradient(mode: str, p: float) -> None:
    x = wrap([[1.0, 2.0], [3.0, 4.0]]).requires_grad_()
    y = adjoint.cdist(x, x.detach(), p, mode)
    (g,) = adjoint.autograd.grad(y[0, 0], x, create_graph=True)
    np.testing.assert_array_equal(g.detach().numpy(), 0)
    (second,) = adjoint.autograd.grad((g * g).sum() + y.sum() * 0, x)
    np.testing.assert_array_equal(second.numpy(), 0)


def test_cdist_keeps_single_precision_and_takes_nothing() -> None:
    a = draw(3, 2).astype("float32")
    assert adjoint.cdist(wrap(a), wrap(a), 1).dtype is adjoint.float32
    assert adjoint.cdist(adjoint.zeros(0, 3), adjoint.zeros(2, 3)).shape == (0, 2)
    # as in torch, half precision works only by matrix products
    half = wrap(draw(30, 2)).half()
    result = adjoint.cdist(half, half[:4])
    assert result.dtype is adjoint.float16
    np.testing.assert_allclose(result.numpy(), distance.cdist(half.numpy(), half[:4].numpy()), atol=0.1)
    assert adjoint.cdist(half[:0], half[:3]).shape == (0, 3)
    np.testing.assert_array_equal(adjoint.cdist(adjoint.zeros(2, 0), adjoint.zeros(3, 0)).numpy(), np.zeros((2, 3)))


def test_dist() -> None:
    a, b = draw(3, 4), draw(4)
    for p in (0, 1, 2, 3, np.inf):
        result = adjoint.dist(wrap(a), wrap(b), p).numpy()
        np.testing.assert_allclose(result, np.linalg.norm((a - b).ravel(), p))
    check_derivatives(lambda x, y: adjoint.dist(x, y, 3), a, b)


@pytest.mark.parametrize("p", [1, 2, 3.5, np.inf])
def test_renorm(p: float) -> None:
    x = draw(3, 4) * np.array([[0.01], [1], [3]])
    lengths = np.linalg.norm(x, p, axis=1, keepdims=True)
    expected = np.where(lengths > 1, x / (lengths + 1e-7), x)
    np.testing.assert_allclose(adjoint.renorm(wrap(x), p, 0, 1.0).numpy(), expected)
    leaf = wrap(x).requires_grad_()
    target = leaf * 1
    assert target.renorm_(p, 0, 1.0) is target
    np.testing.assert_allclose(target.detach().numpy(), expected)
    g = draw(3, 4)
    target.backward(wrap(g))
    other = wrap(x).requires_grad_()
    other.renorm(p, 0, 1.0).backward(wrap(g))
    np.testing.assert_allclose(leaf.grad.numpy(), other.grad.numpy())


# in place, out=, errors -----------------------------------------------------------------------------------------------


def test_sums_of_products_in_place() -> None:
    x, a, b = draw(2, 3), draw(4, 2, 5), draw(4, 5, 3)
    target = wrap(x.copy())
    assert target.addbmm_(wrap(a), wrap(b), beta=0.5, alpha=2) is target
    np.testing.assert_allclose(target.numpy(), 0.5 * x + 2 * (a @ b).sum(0))
    target = wrap(x.copy())
    target.addr_(wrap(x[:, 0].copy()), wrap(x[0].copy()))
    np.testing.assert_allclose(target.numpy(), x + np.outer(x[:, 0], x[0]))


def test_out_of_named_results() -> None:
    values, indices = adjoint.zeros(0), adjoint.zeros(0, dtype=adjoint.int64)
    result = adjoint.cummax(adjoint.tensor([1.0, 3.0, 2.0]), 0, out=(values, indices))
    assert result.values is values and result.indices is indices and indices.tolist() == [0, 1, 1]
    least = adjoint.zeros(())
    result = adjoint.aminmax(adjoint.tensor([1.0, 3.0]), out=(least, adjoint.zeros(())))
    assert result.min is least and result.max == 3


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t, x: t.cov(x[None]), RuntimeError, "to have two or fewer dimensions but got an input with 3 dim"),
        (lambda t, x: t.cov(x > 0), RuntimeError, r"cov\(\): bool dtype is not supported for input"),
        (lambda t, x: t.cov(x, fweights=x[0]), RuntimeError, "expected fweights to have integral dtype but got"),
        (lambda t, x: t.cov(x, aweights=t.ones(3)), RuntimeError, "there are observations in the input but got 3 != 4"),
        (lambda t, x: t.cov(x, aweights=-x[0]), RuntimeError, "aweights cannot be negative"),
        (lambda t, x: t.cov(x, aweights=x), RuntimeError, "expected aweights to have one or fewer dimensions"),
        (lambda t, x: t.cov(x, aweights=x[0] * 0), RuntimeError, "weights sum to zero, can't be normalized"),
        (lambda t, x: t.corrcoef(x[None]), RuntimeError, r"corrcoef\(\): expected input to have two or fewer"),
        (lambda t, x: t.quantile(x, 1.5), RuntimeError, r"q must be in the range \[0, 1\] but got 1.5"),
        (lambda t, x: t.quantile(x, x[0] + 1), RuntimeError, r"q values must be in the range \[0, 1\]"),
        (lambda t, x: t.quantile(x[:0], 0.5), RuntimeError, "input tensor must be non-empty"),
        (lambda t, x: t.quantile(x, x), RuntimeError, "q must be a scalar or 1D tensor"),
        (lambda t, x: t.quantile(x, x[0].double()), RuntimeError, "q tensor must be same dtype as the input tensor"),
        (lambda t, x: t.quantile(x.long(), 0.5), RuntimeError, "must be either float or double dtype"),
        (lambda t, x: t.quantile(x, 0.5, interpolation="no"), RuntimeError, "must be one of linear, lower, higher"),
        (lambda t, x: t.quantile(x, 0.5, 2), IndexError, r"in range of \[-2, 1\], but got 2"),
        (lambda t, x: t.nanmedian(x > 0), NotImplementedError, "\"median_cpu\" not implemented for 'Bool'"),
        (lambda t, x: t.mode(x[:0], 0), IndexError, r"mode\(\): Expected reduction dim 0 to have non-zero size"),
        (lambda t, x: t.mode(x + 1j), NotImplementedError, "\"mode_cpu\" not implemented for 'ComplexFloat'"),
        (lambda t, x: t.cummax(x + 1j, 0), NotImplementedError, "\"cummax_cpu\" not implemented for 'ComplexFloat'"),
        (lambda t, x: t.logcumsumexp(x.long(), 0), NotImplementedError, '"logcumsumexp_out_cpu" not implemented for'),
        (lambda t, x: t.aminmax(x[:0]), RuntimeError, r"aminmax\(\): cannot compute aminmax over an empty dimension"),
        (lambda t, x: t.aminmax(x[:0], dim=0), IndexError, "aminmax: Expected reduction dim 0 to have non-zero size"),
        (lambda t, x: t.diff(x[0, 0]), RuntimeError, "diff expects input to be at least one-dimensional"),
        (lambda t, x: t.diff(x, -1), RuntimeError, "order must be non-negative but got -1"),
        (lambda t, x: t.diff(x, prepend=x[0]), RuntimeError, "prepend or append to be the same dimension as input"),
        (lambda t, x: t.diff(x, prepend=x[:2]), RuntimeError, r"input.size\(0\) = 3, but got tensor.size\(0\) = 2"),
        (lambda t, x: t.gradient(x, edge_order=3), RuntimeError, "only supports edge_order=1 and edge_order=2"),
        (lambda t, x: t.gradient(x[:1]), RuntimeError, "expected each dimension size to be at least edge_order"),
        (lambda t, x: t.gradient(x, spacing=[1.0]), RuntimeError, "a list of length equal to 'self.dim.. = 2'"),
        (lambda t, x: t.gradient(x, spacing=[x, x]), RuntimeError, "but got an element with 2 dimensions!"),
        (lambda t, x: t.trapezoid(x, t.ones(3)), RuntimeError, "There must be one `x` value for each sample point"),
        (lambda t, x: t.trapezoid(x > 0), RuntimeError, "received a bool input for `y`, but bool is not supported"),
        (lambda t, x: t.trapezoid(x, x > 0), RuntimeError, "received a bool input for `x` or `y`"),
        (lambda t, x: t.trapezoid(x, x, dx=1.0), TypeError, "received both x, the coordinates, and dx"),
        (lambda t, x: t.cdist(x, x[0]), RuntimeError, "cdist only supports at least 2D tensors, X2 got: 1D"),
        (lambda t, x: t.cdist(x, x[:, :2]), RuntimeError, "the same number of columns. X1: 4 X2: 2"),
        (lambda t, x: t.cdist(x, x, -1), RuntimeError, "cdist only supports non-negative p values"),
        (lambda t, x: t.cdist(x.long(), x.long()), RuntimeError, "only supports floating-point dtypes, X1 got: Long"),
        (lambda t, x: t.cdist(x, x, compute_mode="no"), ValueError, "no is not a valid value for compute_mode"),
        (lambda t, x: t.renorm(x, 0, 0, 1.0), RuntimeError, "renorm: non-positive-norm not supported"),
        (lambda t, x: t.renorm(x, 2, 0, -1.0), RuntimeError, "renorm: expected maxnorm to be >= 0 but got -1"),
        (lambda t, x: t.renorm(x[0], 2, 0, 1.0), RuntimeError, "renorm: input needs at least 2 dimensions, got 1"),
        (lambda t, x: t.dist(x.long(), x.long()), RuntimeError, "either floating point or complex. Got Long instead"),
    ],
)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with warnings.catch_warnings(), pytest.raises(error, match=message):
        call(adjoint, adjoint.ones(3, 4))


def test_nothing_integrates_to_zero_of_truth_values_too() -> None:
    result = adjoint.trapezoid(adjoint.zeros(3, 0, dtype=adjoint.bool))
    assert (result.dtype, result.tolist()) == (adjoint.bool, [False] * 3)


def test_cov_with_weights_of_half_precision():
    weights = adjoint.tensor([1.0, 2.0, 1.0], dtype=adjoint.bfloat16)
    assert (
        adjoint.cov(adjoint.tensor([1.0, 2.0, 4.0], dtype=adjoint.bfloat16), aweights=weights).dtype is adjoint.bfloat16
    )


def test_every_largest_coordinate_of_a_distance_gets_its_gradient() -> None:
    x = adjoint.tensor([[1.0, 2.0], [0.0, 1.0]], requires_grad=True)
    adjoint.pdist(x, adjoint.inf).backward()
    counted = adjoint.ones(2, 3, requires_grad=True)
    adjoint.pdist(counted, 0).backward()
    assert not counted.grad.any()
    assert x.grad.tolist() == [[1.0, 1.0], [-1.0, -1.0]]
