"""Activations: values of NumPy and SciPy, kinks, in-place forms, dropout, errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import special

import adjoint

F = adjoint.nn.functional
X = np.linspace(-7.0, 7.0, 57).reshape(3, 19)


def softplus(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(x, 0)


VALUES = {
    "elu": (lambda x: F.elu(x, 0.3), np.where(X > 0, X, 0.3 * np.expm1(X))),
    "celu": (lambda x: F.celu(x, 1.7), np.where(X > 0, X, 1.7 * np.expm1(X / 1.7))),
    "selu": (
        F.selu,
        1.0507009873554805 * np.where(X > 0, X, 1.6732632423543772 * np.expm1(X)),
    ),
    "gelu": (F.gelu, X * 0.5 * special.erfc(-X / np.sqrt(2))),
    "gelu tanh": (
        lambda x: F.gelu(x, approximate="tanh"),
        0.5 * X * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3))),
    ),
    "silu": (F.silu, X / (1 + np.exp(-X))),
    "mish": (F.mish, X * np.tanh(softplus(X))),
    "logsigmoid": (F.logsigmoid, -softplus(-X)),
    "softplus": (lambda x: F.softplus(x, 2.0, 3.0), np.where(2 * X > 3, X, softplus(2 * X) / 2)),
    "tanhshrink": (F.tanhshrink, X - np.tanh(X)),
    "softsign": (F.softsign, X / (1 + np.abs(X))),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.2), np.where(X > 0, X, 0.2 * X)),
    "rrelu": (lambda x: F.rrelu(x, 0.1, 0.3), np.where(X > 0, X, 0.2 * X)),
    "relu6": (F.relu6, np.clip(X, 0, 6)),
    "hardtanh": (lambda x: F.hardtanh(x, -0.5, 2.0), np.clip(X, -0.5, 2.0)),
    "hardsigmoid": (F.hardsigmoid, np.clip(X + 3, 0, 6) / 6),
    "hardswish": (F.hardswish, X * np.clip(X + 3, 0, 6) / 6),
    "hardshrink": (F.hardshrink, np.where(np.abs(X) > 0.5, X, 0)),
    "softshrink": (F.softshrink, np.sign(X) * np.maximum(np.abs(X) - 0.5, 0)),
    "threshold": (lambda x: F.threshold(x, 0.1, 20.0), np.where(X > 0.1, X, 20.0)),
    "softmin": (lambda x: F.softmin(x, 1), special.softmax(-X, axis=1)),
}


@pytest.mark.parametrize("name", VALUES)
def test_value(name: str) -> None:
    function, expected = VALUES[name]
    np.testing.assert_allclose(function(adjoint.tensor(X)).numpy(), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["elu", "gelu", "silu", "mish", "logsigmoid", "softplus", "hardswish", "selu"])
@pytest.mark.parametrize("size", [57, 20000])
def test_no_overflow_and_one_rounding(name: str, size: int) -> None:
    """Large arguments give finite values and derivatives without warnings. The size of the array does not matter."""
    x = np.linspace(-300.0, 300.0, size, dtype=np.float32)
    function = getattr(F, name)
    leaf = adjoint.tensor(x, requires_grad=True)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        y = function(leaf)
        (first,) = adjoint.autograd.grad(y.sum(), leaf, create_graph=True)
        (second,) = adjoint.autograd.grad(first.sum(), leaf)
    assert np.isfinite(y.detach().numpy()).all()
    assert np.isfinite(first.detach().numpy()).all()
    assert np.isfinite(second.numpy()).all()
    exact = function(adjoint.tensor(x.astype(np.float64))).numpy()
    np.testing.assert_allclose(y.detach().numpy(), exact, rtol=2e-6, atol=1e-7)
    half = function(adjoint.tensor(x).to(adjoint.float16))
    rounded = function(adjoint.tensor(x).to(adjoint.float16).to(adjoint.float32)).to(adjoint.float16)
    assert half.dtype is adjoint.float16
    np.testing.assert_array_equal(half.numpy(), rounded.numpy())


KINKS = {
    # the derivatives at -3, -1, -0.5, 0, 0.5, 1, 3 and 6
    "relu6": (F.relu6, [0, 0, 0, 0, 1, 1, 1, 0]),
    "hardtanh": (F.hardtanh, [0, 0, 1, 1, 1, 0, 0, 0]),
    "hardsigmoid": (lambda x: F.hardsigmoid(x) * 6, [0, 1, 1, 1, 1, 1, 0, 0]),
    "hardswish": (F.hardswish, [0, 1 / 6, 1 / 3, 0.5, 2 / 3, 5 / 6, 1, 1]),
    "hardshrink": (F.hardshrink, [1, 1, 0, 0, 0, 1, 1, 1]),
    "softshrink": (F.softshrink, [1, 1, 0, 0, 0, 1, 1, 1]),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.1), [0.1, 0.1, 0.1, 0.1, 1, 1, 1, 1]),
    "threshold": (lambda x: F.threshold(x, 0.5, 9.0), [0, 0, 0, 0, 0, 1, 1, 1]),
    "elu at 0": (lambda x: F.elu(x, 0.25) * 4 * (x >= 0), [0, 0, 0, 1, 4, 4, 4, 4]),
}


@pytest.mark.parametrize("name", KINKS)
def test_derivative_at_a_kink(name: str) -> None:
    function, expected = KINKS[name]
    x = adjoint.tensor([-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 6.0], dtype=adjoint.float64, requires_grad=True)
    function(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-12)


IN_PLACE = ["elu", "celu", "selu", "silu", "mish", "leaky_relu", "relu", "relu6", "hardtanh", "hardsigmoid"]


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name: str) -> None:
    function = getattr(F, name)
    leaf = adjoint.tensor(X, requires_grad=True)
    target = leaf * 1
    assert function(target, inplace=True) is target
    np.testing.assert_array_equal(target.detach().numpy(), function(leaf).detach().numpy())
    target.sum().backward()
    (expected,) = adjoint.autograd.grad(function(leaf).sum(), leaf)
    np.testing.assert_allclose(leaf.grad.numpy(), expected.numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", ["elu_", "celu_", "selu_", "leaky_relu_", "relu_", "hardtanh_", "rrelu_"])
def test_in_place_under_a_name_of_its_own(name: str) -> None:
    x = adjoint.tensor(X)
    assert getattr(F, name)(x) is x
    np.testing.assert_array_equal(x.numpy(), getattr(F, name[:-1])(adjoint.tensor(X)).numpy())


def test_prelu_has_one_weight_or_one_for_each_channel() -> None:
    x, w = np.arange(-12.0, 12.0).reshape(2, 3, 4), np.array([0.1, 0.2, 0.3])
    expected = np.where(x > 0, x, x * w[:, None])
    weight = adjoint.tensor(w, requires_grad=True)
    y = F.prelu(adjoint.tensor(x), weight)
    np.testing.assert_allclose(y.detach().numpy(), expected)
    y.sum().backward()
    np.testing.assert_allclose(weight.grad.numpy(), np.minimum(x, 0).sum((0, 2)))
    one = F.prelu(adjoint.tensor(x), adjoint.tensor(np.array([0.5])))
    np.testing.assert_allclose(one.numpy(), np.where(x > 0, x, x / 2))


def test_rrelu_draws_slopes_for_negative_elements() -> None:
    x = adjoint.tensor(np.array([-1.0] * 500 + [2.0] * 5), requires_grad=True)
    y = F.rrelu(x, 0.1, 0.3, training=True)
    slopes = -y.detach().numpy()[:500]
    assert slopes.min() >= 0.1
    assert slopes.max() < 0.3
    assert np.ptp(slopes) > 0.1
    np.testing.assert_array_equal(y.detach().numpy()[500:], 2.0)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [*slopes, *[1.0] * 5])


def test_gumbel_softmax() -> None:
    adjoint.manual_seed(3)
    logits = adjoint.tensor(np.log([0.1, 0.2, 0.7])).expand(20000, 3)
    hard = F.gumbel_softmax(logits, hard=True).numpy()
    assert set(np.unique(hard.round(12))) == {0.0, 1.0}
    np.testing.assert_allclose(hard.mean(0), [0.1, 0.2, 0.7], atol=0.015)
    soft = F.gumbel_softmax(logits, tau=0.5).numpy()
    np.testing.assert_allclose(soft.sum(1), 1)
    x = adjoint.zeros(4, 3, requires_grad=True)
    (F.gumbel_softmax(x, hard=True) * adjoint.arange(3.0)).sum().backward()
    np.testing.assert_allclose(x.grad.sum(1).numpy(), 0, atol=1e-6)
    assert np.abs(x.grad.numpy()).max() > 0


# dropout --------------------------------------------------------------------------------------------------------------


def test_dropout_zeroes_a_share_and_scales_the_rest() -> None:
    adjoint.manual_seed(0)
    x = adjoint.ones(200, 100, requires_grad=True)
    y = F.dropout(x, 0.3)
    result = y.detach().numpy()
    mask = result != 0
    np.testing.assert_allclose(result[mask], 1 / 0.7, rtol=1e-6)
    assert abs(mask.mean() - 0.7) < 0.02
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), result)
    assert F.dropout(x, 0.3, training=False) is x


@pytest.mark.parametrize(
    ("function", "shape", "mask"),
    [
        (F.dropout1d, (40, 30, 5), (40, 30, 1)),
        (F.dropout1d, (300, 5), (300, 1)),
        (F.dropout2d, (40, 30, 3, 2), (40, 30, 1, 1)),
        (F.dropout3d, (40, 30, 3, 2, 2), (40, 30, 1, 1, 1)),
        (F.dropout3d, (300, 3, 2, 2), (300, 1, 1, 1)),
        (lambda x, p: adjoint.feature_dropout(x, p, True), (40, 30, 5), (40, 30, 1)),
        (lambda x, p: adjoint.feature_dropout_(x, p, True), (40, 30, 3, 2), (40, 30, 1, 1)),
    ],
)
def test_channels_are_dropped_whole(function: object, shape: tuple[int, ...], mask: tuple[int, ...]) -> None:
    adjoint.manual_seed(0)
    result = function(adjoint.ones(shape), 0.5).numpy()
    first = result[tuple(slice(0, n) for n in mask)]
    np.testing.assert_array_equal(result, np.broadcast_to(first, shape))
    assert set(np.unique(result)) == {0.0, 2.0}
    assert abs((first == 0).mean() - 0.5) < 0.1


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    adjoint.manual_seed(0)
    x = adjoint.randn(1000, 200)
    y = F.alpha_dropout(x, 0.4, training=True)
    assert abs(float(y.mean())) < 0.01
    assert abs(float(y.std()) - 1) < 0.01
    by_channel = F.feature_alpha_dropout(adjoint.zeros(50, 40, 3), 0.4, training=True).numpy()
    assert len(np.unique(by_channel)) == 2
    np.testing.assert_array_equal(by_channel, np.broadcast_to(by_channel[..., :1], by_channel.shape))
    assert F.alpha_dropout(x) is x


def test_dropout_under_vmap() -> None:
    x = adjoint.ones(8, 50)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        adjoint.func.vmap(F.dropout)(x)
    different = adjoint.func.vmap(F.dropout, randomness="different")(x).numpy()
    assert not (different == different[:1]).all()
    same = adjoint.func.vmap(F.dropout, randomness="same")(x).numpy()
    np.testing.assert_array_equal(same, np.broadcast_to(same[:1], same.shape))


ERRORS = [
    (lambda: F.elu(adjoint.arange(3)), NotImplementedError, "\"elu_cpu\" not implemented for 'Long'"),
    (lambda: F.celu(adjoint.ones(2), 0.0), RuntimeError, "alpha cannot be 0 for CELU"),
    (lambda: F.gelu(adjoint.ones(2), approximate="x"), RuntimeError, "must be either none or tanh"),
    (lambda: F.softshrink(adjoint.ones(2), -1.0), RuntimeError, r"lambda must be in range \[0, 3.40282e\+38\]"),
    (lambda: F.hardtanh(adjoint.ones(2), 2.0, 1.0), ValueError, "min_val cannot be greater than max_val"),
    (lambda: F.glu(adjoint.ones(3)), RuntimeError, "Halving dimension must be even, but dimension 0 is size 3"),
    (lambda: F.glu(adjoint.tensor(1.0)), RuntimeError, "glu does not support scalars"),
    (lambda: F.prelu(adjoint.ones(2, 4), adjoint.ones(3)), RuntimeError, "Mismatch of parameter numbers"),
    (lambda: F.rrelu(adjoint.ones(2), 0.5, 0.1), RuntimeError, "Lower bound should be less than or equal"),
    (lambda: F.dropout(adjoint.ones(2), 1.5), ValueError, "has to be between 0 and 1, but got 1.5"),
    (lambda: F.dropout1d(adjoint.ones(2)), RuntimeError, "Expected 2D or 3D input"),
    (lambda: F.mish("a"), TypeError, r"mish\(\): argument 'input' \(position 1\) must be Tensor, not str"),
]


@pytest.mark.parametrize(("call", "error", "message"), ERRORS)
def test_errors(call: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_in_place_on_a_leaf_is_refused_and_changes_nothing() -> None:
    x = adjoint.tensor([-1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        F.elu(x, inplace=True)
    np.testing.assert_array_equal(x.detach().numpy(), [-1.0, 2.0])


def test_gelu_of_large_single_precision_arrays() -> None:
    x = np.linspace(-12.0, 12.0, 50001, dtype=np.float32)
    exact = x * 0.5 * special.erfc(-x.astype(np.float64) / np.sqrt(2))
    np.testing.assert_allclose(F.gelu(adjoint.tensor(x)).numpy(), exact, rtol=3e-6, atol=1e-12)
    odd = adjoint.tensor(np.array([np.nan, np.inf, 0.0] * 5000, np.float32).reshape(3, -1)[:, ::2])
    np.testing.assert_array_equal(F.gelu(odd).numpy(), odd.numpy())


INF, NAN = float("inf"), float("nan")
POINTS = [-2.0, -0.0, 0.0, 1.0, 3.0, -INF, INF, NAN]


@pytest.mark.parametrize(
    ("name", "alpha", "values", "slopes"),
    [
        ("elu", INF, [-INF, -0.0, 0.0, 1.0, 3.0, -INF, INF, NAN], [INF, INF, INF, 1.0, 1.0, NAN, 1.0, 1.0]),
        ("elu", -INF, [INF, -0.0, 0.0, 1.0, 3.0, INF, INF, NAN], [-INF, -INF, -INF, 1.0, 1.0, NAN, 1.0, 1.0]),
        ("elu", 0.0, [-0.0, -0.0, 0.0, 1.0, 3.0, -0.0, INF, NAN], [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0]),
        ("elu", NAN, [NAN, -0.0, 0.0, 1.0, 3.0, NAN, INF, NAN], [NAN, NAN, NAN, 1.0, 1.0, NAN, 1.0, 1.0]),
        ("celu", INF, [NAN, -0.0, 0.0, 1.0, 3.0, NAN, INF, NAN], [NAN, NAN, NAN, 1.0, 1.0, NAN, 1.0, 1.0]),
        ("celu", -INF, [NAN, -0.0, 0.0, 1.0, 3.0, NAN, INF, NAN], [NAN, NAN, NAN, 1.0, 1.0, NAN, 1.0, 1.0]),
        ("celu", NAN, [NAN, -0.0, 0.0, 1.0, 3.0, NAN, INF, NAN], [NAN, NAN, NAN, 1.0, 1.0, NAN, 1.0, 1.0]),
    ],
)
@pytest.mark.parametrize("n", [1, 2000])
def test_exponential_units_of_any_alpha(name, alpha, values, slopes, n):
    x = adjoint.tensor(POINTS * n).requires_grad_()
    with warnings.catch_warnings():
        # 0 * inf warns, and its value NaN is expected
        warnings.filterwarnings("ignore", "invalid value", RuntimeWarning)
        y = getattr(adjoint.nn.functional, name)(x, alpha)
        y.sum().backward()
    np.testing.assert_array_equal(y.detach().numpy(), values * n)
    assert np.signbit(y.detach().numpy()[1]) and not np.signbit(y.detach().numpy()[2])
    np.testing.assert_array_equal(x.grad.numpy(), slopes * n)


@pytest.mark.parametrize("bounds", [(INF, INF), (0.1, INF), (NAN, 0.2), (-INF, 0.2)])
def test_bounds_of_rrelu_are_finite(bounds):
    with pytest.raises(RuntimeError, match=r"rrelu: (lower|upper) bound must be finite, got"):
        adjoint.nn.functional.rrelu(adjoint.ones(2), *bounds)


def test_bounds_of_whole_numbers_are_cut_off() -> None:
    x = adjoint.tensor([-2, -1, 0, 1, 2])
    assert F.threshold(x, -0.5, 7).tolist() == [7, 7, 7, 1, 2]
    assert F.threshold(x.abs().to(adjoint.uint8), 0, -1).tolist() == [2, 1, 255, 1, 2]
    with pytest.raises(RuntimeError, match="value cannot be converted to type uint8_t without overflow"):
        F.threshold(x.to(adjoint.uint8), -0.5, 7)
    assert F.hardtanh(x.abs().to(adjoint.uint8), -0.5, 1.5).tolist() == [1, 1, 0, 1, 1]
    assert F.hardtanh(x, 1.0, 1.0).tolist() == [1, 1, 1, 1, 1]


@pytest.mark.parametrize(("function", "shape"), [(F.dropout2d, (3, 4)), (F.dropout3d, (3, 4))])
def test_dropout_of_channels_warns_of_inputs_without_image(function, shape):
    with pytest.warns(
        UserWarning, match=rf"{function.__name__}: Received a 2-D input to {function.__name__}, which is"
    ):
        function(adjoint.ones(shape), 0.5)
