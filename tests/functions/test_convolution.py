"""Convolutions against their definition, their transposes against inner products, and errors for bad input."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
import adjoint.nn.functional as F
from adjoint.arrays.kernels import convolution
from adjoint.autograd import grad

CONVOLVE = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSE = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def by_definition(x: Any, w: Any, stride: int, padding: int, dilation: int, groups: int) -> Any:
    n = x.ndim - 2
    x = np.pad(x, ((0, 0), (0, 0), *[(padding, padding)] * n))
    outputs = [(m - dilation * (k - 1) - 1) // stride + 1 for m, k in zip(x.shape[2:], w.shape[2:], strict=True)]
    y = np.zeros((x.shape[0], w.shape[0], *outputs), x.dtype)
    inputs, rows = w.shape[1], w.shape[0] // groups
    for o in range(w.shape[0]):
        channels = x[:, o // rows * inputs : (o // rows + 1) * inputs]
        for index in np.ndindex(*outputs):
            window = tuple(
                slice(p * stride, p * stride + dilation * (k - 1) + 1, dilation)
                for p, k in zip(index, w.shape[2:], strict=True)
            )
            y[(slice(None), o, *index)] = (channels[(..., *window)] * w[o]).reshape(x.shape[0], -1).sum(1)
    return y


def rand(*shape: int, kind: str = "float64") -> Any:
    rng = np.random.default_rng(len(shape) + sum(shape))
    values = rng.standard_normal(shape)
    return values + 1j * rng.standard_normal(shape) if kind == "complex128" else values


GEOMETRIES = list(itertools.product((1, 2, 3), (0, 1, 3), (1, 2), (1, 2)))


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("kind", ["float64", "complex128"])
def test_convolution_is_what_it_is_defined_to_be(n: int, kind: str) -> None:
    for stride, padding, dilation, groups in GEOMETRIES:
        x, w = rand(2, 4, *(5, 6, 5)[:n], kind=kind), rand(6, 4 // groups, *(2, 3, 1)[:n], kind=kind)
        b = rand(6, kind=kind)
        y = CONVOLVE[n](*map(adjoint.tensor, (x, w, b)), stride, padding, dilation, groups)
        expected = by_definition(x, w, stride, padding, dilation, groups) + b.reshape(6, *(1,) * n)
        np.testing.assert_allclose(y._array, expected, 1e-10, 1e-10)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_transpose_has_the_inner_products_of_a_transpose(n: int) -> None:
    for stride, padding, dilation, groups in GEOMETRIES:
        extra = max(stride, dilation) - 1
        y, w = rand(2, 4, *(6, 7, 6)[:n]), rand(4, 3, *(4, 3, 2)[:n])
        image = TRANSPOSE[n](*map(adjoint.tensor, (y, w)), None, stride, padding, extra, groups, dilation)
        x = rand(*image.shape)
        expected = (by_definition(x, w, stride, padding, dilation, groups)[(..., *map(slice, y.shape[2:]))] * y).sum()
        np.testing.assert_allclose((image._array * x).sum(), expected, 1e-9)
        smallest = [
            (m - 1) * stride - 2 * padding + dilation * (k - 1) + 1
            for m, k in zip(y.shape[2:], w.shape[2:], strict=True)
        ]
        assert tuple(image.shape) == (2, 3 * groups, *[m + extra for m in smallest])


def all_three(x: Any, w: Any, **geometry: Any) -> list[Any]:
    x, w = (adjoint.tensor(a, requires_grad=True) for a in (x, w))
    y = F.conv2d(x, w, **geometry)
    return [t.detach()._array for t in (y, *grad(y, (x, w), adjoint.tensor(rand(*y.shape))))]


@pytest.mark.parametrize("geometry", [{}, {"stride": 2, "padding": 1}, {"groups": 2}, {"dilation": 2}])
@pytest.mark.parametrize("channels", [2, 10])
def test_work_done_in_parts_is_the_same(monkeypatch: pytest.MonkeyPatch, geometry: Any, channels: int) -> None:
    groups = geometry.get("groups", 1)
    x, w = rand(3, channels, 9, 8), rand(4, channels // groups, 3, 3)
    whole = all_three(x, w, **geometry)
    monkeypatch.setattr(convolution, "_PIECES", 64)
    for a, b in zip(all_three(x, w, **geometry), whole, strict=True):
        np.testing.assert_allclose(a, b, 1e-10, 1e-10)


@pytest.mark.parametrize("kernel", [(3, 3), (2, 4), (1, 2)])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.filterwarnings("ignore:Using padding='same'")
def test_same_keeps_the_size_and_puts_an_odd_zero_behind(kernel: tuple[int, int], dilation: int) -> None:
    x, w = rand(1, 1, 6, 5), rand(1, 1, *kernel)
    margins = [divmod(dilation * (k - 1), 2) for k in kernel]
    padded = np.pad(x, ((0, 0), (0, 0), *[(half, half + odd) for half, odd in margins]))
    y = F.conv2d(adjoint.tensor(x), adjoint.tensor(w), padding="same", dilation=dilation)
    np.testing.assert_allclose(y._array, by_definition(padded, w, 1, 0, dilation, 1), 1e-12, 1e-12)


def test_same_warns_of_a_copy() -> None:
    convolution_of_its_own_size = adjoint.zeros(1, 1, 7), adjoint.zeros(1, 1, 6)
    with pytest.warns(UserWarning, match="Using padding='same' with even kernel lengths"):
        F.conv1d(*convolution_of_its_own_size, padding="same")


def test_image_without_batch() -> None:
    x, w, b = adjoint.tensor(rand(2, 5, 6)), adjoint.tensor(rand(3, 2, 3, 3)), adjoint.tensor(rand(3))
    assert adjoint.equal(F.conv2d(x, w, b), F.conv2d(x[None], w, b)[0])
    w = w.transpose(0, 1)
    assert adjoint.equal(F.conv_transpose2d(x, w, b), F.conv_transpose2d(x[None], w, b)[0])


def test_no_images_and_no_channels() -> None:
    x, w = adjoint.zeros(0, 2, 5, requires_grad=True), adjoint.ones(3, 2, 3, requires_grad=True)
    y = F.conv1d(x, w)
    assert y.shape == (0, 3, 3)
    y.sum().backward()
    assert x.grad.shape == x.shape
    assert w.grad.abs().sum() == 0


@pytest.mark.parametrize("kind", [adjoint.float16, adjoint.bfloat16])
def test_half_precision_is_rounded_once(kind: Any) -> None:
    x, w, b = (adjoint.tensor(rand(*shape)).to(kind) for shape in ((2, 3, 6), (4, 3, 3), (4,)))
    y = F.conv1d(x, w, b, padding=1)
    expected = F.conv1d(x.float(), w.float(), b.float(), padding=1)
    assert y.dtype is kind
    assert adjoint.equal(y, expected.to(kind))


def test_integers() -> None:
    y = F.conv1d(adjoint.arange(5).reshape(1, 1, 5), adjoint.tensor([[[1, 0, 2]]]))
    assert y.tolist() == [[[4, 7, 10]]]
    assert y.dtype is adjoint.int64


def test_result_is_contiguous_and_of_its_own() -> None:
    x = adjoint.tensor(rand(2, 3, 4, 4))
    for w in (adjoint.eye(3)[:, :, None, None].double(), adjoint.tensor(rand(3, 3, 2, 2))):
        y = F.conv2d(x, w)
        assert y.is_contiguous()
        assert not np.shares_memory(y._array, x._array)


def third(f: Callable[..., Any], x: Any, w: Any, v: Any) -> Any:
    (g,) = grad(f(x, w), x, create_graph=True)
    (h,) = grad((g * v).sum(), w, create_graph=True)
    return h


def test_third_derivative() -> None:
    x, w = (adjoint.tensor(rand(*s), requires_grad=True) for s in ((1, 2, 5), (2, 2, 3)))
    v, u, z = (adjoint.tensor(rand(*s)) for s in ((1, 2, 5), (2, 2, 3), (1, 2, 5)))

    def f(x: Any, w: Any) -> Any:
        return F.conv1d(x, w, stride=2, padding=1).pow(4).sum()

    (gradient,) = grad((third(f, x, w, v) * u).sum(), x)
    step = 1e-5
    difference = (third(f, x + step * z, w, v) - third(f, x - step * z, w, v)) / (2 * step)
    np.testing.assert_allclose((gradient * z).sum().item(), (difference * u).sum().item(), 1e-6)


def test_convolution_by_its_general_name() -> None:
    x, w = adjoint.tensor(rand(1, 2, 5, 5)), adjoint.tensor(rand(2, 2, 3, 3))
    y = adjoint.convolution(x, w, None, (2, 1), (1, 0), (1, 1), False, (0, 0), 1)
    assert adjoint.equal(y, F.conv2d(x, w, stride=(2, 1), padding=(1, 0)))
    y = adjoint.convolution(x, w, None, [2, 1], [1, 0], [1, 1], True, [1, 0], 1)
    assert adjoint.equal(y, F.conv_transpose2d(x, w, stride=(2, 1), padding=(1, 0), output_padding=(1, 0)))


def test_node() -> None:
    y = adjoint.conv1d(adjoint.zeros(1, 1, 3, requires_grad=True), adjoint.ones(1, 1, 3))
    assert y.grad_fn.name() == "ConvolutionBackward0"


X, W = adjoint.zeros(1, 4, 5, 5), adjoint.zeros(4, 4, 3, 3)
WRONG = [
    (lambda: F.conv2d(X[0, 0], W),
     "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [5, 5]"),
    (lambda: F.conv2d(X, W[0]), "a list of 1 values to match the convolution dimensions, but got stride=[1, 1]"),
    (lambda: F.conv2d(X, W, stride=(1, 1, 1)), "a list of 2 values to match the convolution dimensions"),
    (lambda: F.conv2d(X[:, :2], W), "expected input[1, 2, 5, 5] to have 4 channels, but got 2 channels instead"),
    (lambda: F.conv2d(X, W[:3, :2], groups=2), "expected weight to be divisible by 2 at dimension 0"),
    (lambda: F.conv2d(X, W[:0]), "expected weight to be at least 1 at dimension 0"),
    (lambda: F.conv2d(X, W, groups=0), "non-positive groups is not supported"),
    (lambda: F.conv2d(X, W, padding=-1), "negative padding is not supported"),
    (lambda: F.conv2d(X, W, stride=0), "non-positive stride is not supported"),
    (lambda: F.conv2d(X, W, dilation=0), "dilation should be greater than zero, but got [0, 0]"),
    (lambda: F.conv2d(X, W, dilation=3), "Kernel size: (7 x 7). Kernel size can't be greater than actual input size"),
    (lambda: F.conv2d(X, W, adjoint.zeros(3)),
     "expected bias to be 1-dimensional with 4 elements, but got bias of size [3]"),
    (lambda: F.conv2d(X, W.double()), "expected scalar type Float but found Double"),
    (lambda: F.conv2d(X, W, adjoint.zeros(4).double()), "Input type (float) and bias type (double) should be the same"),
    (lambda: F.conv2d(X, W, padding="all"), "Invalid padding string: 'all'"),
    (lambda: F.conv2d(X, W, padding="same", stride=2), "padding='same' is not supported for strided convolutions"),
    (lambda: F.conv_transpose2d(X[:, :2], W),
     "expected input[1, 2, 5, 5] to have 4 channels, but got 2 channels instead"),
    (lambda: F.conv_transpose2d(X, W, output_padding=1),
     "output padding must be smaller than either stride or dilation"),
    (lambda: F.conv_transpose2d(X, W, output_padding=-1), "negative output_padding is not supported"),
    (lambda: F.conv_transpose2d(X[:, :, :1, :1], W, padding=3), "Calculated output size per channel: (-3 x -3)"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), WRONG, ids=[message for _, message in WRONG])
def test_messages(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(RuntimeError) as raised:
        call()
    assert message in str(raised.value)


def test_what_is_no_array_or_no_number() -> None:
    with pytest.raises(TypeError, match="argument 'weight' \\(position 2\\) must be Tensor, not NoneType"):
        F.conv2d(X, None)
    with pytest.raises(TypeError, match="argument 'stride' must be tuple of ints, not float"):
        F.conv2d(X, W, stride=1.5)
    with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
        F.conv2d(X.bool(), W.bool())
    assert F.conv2d(X[:0].bool(), W.bool()).shape == F.conv2d(X[:0], W).shape


STRIDES = {
    "conv1d": lambda x, s: F.conv1d(x[0], adjoint.tensor(rand(4, 5, 2)), stride=s, padding=1),
    "conv2d": lambda x, s: F.conv2d(x, adjoint.tensor(rand(4, 3, 2, 2)), stride=s, dilation=2),
    "conv3d": lambda x, s: F.conv3d(x[None], adjoint.tensor(rand(4, 2, 2, 2, 2)), stride=s),
    "max_pool2d": lambda x, s: F.max_pool2d(x, 2, s),
    "avg_pool2d": lambda x, s: F.avg_pool2d(x, 2, s),
    "lp_pool2d": lambda x, s: F.lp_pool2d(x, 2, 2, s),
    "unfold": lambda x, s: F.unfold(x, 2, stride=s),
    "Tensor.unfold": lambda x, s: x.unfold(-1, 2, s),
}


@pytest.mark.parametrize("name", STRIDES)
@pytest.mark.parametrize("stride", [2**31 - 1, 2**62])
def test_strides_beyond_the_image_cost_nothing(name: str, stride: int) -> None:
    x = adjoint.tensor(rand(2, 3, 5, 7), requires_grad=True)
    actual, expected = (STRIDES[name](x, s) for s in (stride, 50))
    assert adjoint.equal(actual, expected)
    g = adjoint.tensor(rand(*actual.shape))
    assert adjoint.equal(grad(actual, x, g)[0], grad(expected, x, g)[0])


def test_a_convolution_has_a_channel() -> None:
    with pytest.raises(RuntimeError, match="to be at least 1"):
        adjoint.nn.functional.conv2d(adjoint.zeros(1, 2, 5, 5), adjoint.zeros(0, 2, 3, 3))


def normal(*shape: int) -> adjoint.Tensor:
    return adjoint.tensor(np.random.default_rng(len(shape)).normal(size=shape))


def test_conv_tbc_is_a_convolution_in_time() -> None:
    x, w, b = normal(5, 2, 3), normal(2, 3, 4), normal(4)
    expected = sum(np.pad(x.numpy(), ((1, 1), (0, 0), (0, 0)))[k : k + 6] @ w.numpy()[k] for k in range(2)) + b.numpy()
    np.testing.assert_allclose(adjoint.conv_tbc(x, w, b, 1).numpy(), expected)
    assert adjoint.autograd.gradcheck(adjoint.conv_tbc, [t.requires_grad_() for t in (x, w, b)])


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((3, 2), (2, 2, 2), (2,)), "Input must have 3 dims: time, batch, in_channel"),
        (((3, 2, 2), (2, 2), (2,)), "Weight tensor must have 3 dims"),
        (((3, 2, 2), (2, 2, 2), ()), "Bias must be 1-D"),
        (((3, 2, 2), (2, 3, 2), (2,)), r"Input dim 2 \(input channels\) is not == dim 1 in the weight tensor"),
        (((3, 2, 2), (2, 2, 2), (3,)), "Bias size must equal dim 2 in the weight tensor"),
    ],
)
def test_conv_tbc_refuses(shapes: tuple[tuple[int, ...], ...], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        adjoint.conv_tbc(*[adjoint.zeros(s) for s in shapes])


@pytest.mark.parametrize("name", ["stride", "padding", "dilation", "output_padding"])
@pytest.mark.parametrize("function", ["conv1d", "conv2d", "conv3d", *(f"conv_transpose{n}d" for n in (1, 2, 3))])
def test_numbers_for_each_axis_are_checked_by_their_names(function: str, name: str) -> None:
    if name == "output_padding" and "transpose" not in function:
        return
    n = int(function[-2])
    arrays = [adjoint.ones(*sizes, *(3,) * n) for sizes in ((1, 2), (2, 2))]
    with pytest.raises(TypeError, match=f"^{function}\\(\\): argument '{name}' must be tuple of ints, not float"):
        getattr(F, function)(*arrays, **{name: 1.5})
    text = f"^expected {name} to be a single integer value or a list of {n} values .*but got {name}="
    with pytest.raises(RuntimeError, match=text):
        getattr(F, function)(*arrays, **{name: [1] * (n + 1)})


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(
    ("kind", "option"),
    [
        *itertools.product(["conv", "conv_transpose"], ["stride", "padding", "dilation"]),
        ("conv_transpose", "output_padding"),
    ],
)
def test_numbers_that_are_none_are_named_with_the_function(kind: str, n: int, option: str) -> None:
    name = f"{kind}{n}d"
    image, kernel = adjoint.ones(1, 1, *[4] * n), adjoint.ones(1, 1, *[2] * n)
    with pytest.raises(TypeError, match=rf"^{name}\(\): argument '{option}' must be"):
        getattr(F, name)(image, kernel, **{option: [1.5] * n})
