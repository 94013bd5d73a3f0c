"""Fourier transforms: NumPy's values and the sums that define them, arguments, torch's errors."""

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.fft
from scipy import signal

import adjoint
from adjoint.arrays.libraries.numpy_namespace import xp

RNG = np.random.default_rng(11)
KINDS = ["float32", "float64", "complex64", "complex128"]
NORMS = [None, "backward", "forward", "ortho"]


def draw(*shape: int, dtype: str = "float64") -> np.ndarray:
    values = RNG.standard_normal(shape)
    if dtype.startswith("complex"):
        values = values + 1j * RNG.standard_normal(shape)
    return values.astype(dtype)


def same(actual: Any, expected: np.ndarray, dtype: str) -> None:
    single = dtype in ("float32", "complex64")
    np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-4 if single else 1e-10, atol=1e-4 if single else 1e-10)
    assert actual.numpy().dtype.itemsize == expected.dtype.itemsize // (2 if single else 1)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_axis(name: str, dtype: str) -> None:
    x = draw(4, 5, dtype=dtype)
    if name in ("rfft", "ihfft") and dtype.startswith("complex"):
        with pytest.raises(RuntimeError, match=f"{name} expects a real input tensor, but got Complex"):
            getattr(adjoint.fft, name)(adjoint.from_numpy(x))
        return
    for n in (None, 1, 3, 8):
        for dim in (-1, 0):
            for norm in NORMS:
                expected = getattr(np.fft, name)(x.astype(np.result_type(x, np.float64)), n, dim, norm)
                same(getattr(adjoint.fft, name)(adjoint.from_numpy(x), n, dim, norm), expected, dtype)


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"])
def test_several_axes(name: str) -> None:
    x = draw(3, 4, 5) if name.startswith("r") else draw(3, 4, 5, dtype="complex128")
    ours, theirs, t = getattr(adjoint.fft, name), getattr(np.fft, name), adjoint.from_numpy(x)
    same(ours(t), theirs(x), "float64")
    for norm in NORMS:
        same(ours(t, (2, 6), (0, -1), norm=norm), theirs(x, (2, 6), (0, -1), norm=norm), "float64")
    same(ours(t, dim=1), theirs(x, axes=(1,)), "float64")
    same(ours(t, (-1, 3), (2, 0)), theirs(x, (5, 3), (2, 0)), "float64")
    if name.endswith("n"):
        same(ours(t, (6, 2)), theirs(x, (6, 2), (-2, -1)), "float64")


@pytest.mark.parametrize("form", ["2", "n"])
@pytest.mark.parametrize("norm", NORMS)
def test_hermitian_signals(form: str, norm: str | None) -> None:
    """The transform is hfft or ihfft along the last axis, and fft or ifft along the others."""
    half, real = draw(3, 4, dtype="complex128"), draw(3, 6)
    expected = np.fft.hfft(np.fft.fft(half, axis=0, norm=norm), axis=1, norm=norm)
    same(getattr(adjoint.fft, f"hfft{form}")(adjoint.from_numpy(half), norm=norm), expected, "float64")
    expected = np.fft.ifft(np.fft.ihfft(real, axis=1, norm=norm), axis=0, norm=norm)
    same(getattr(adjoint.fft, f"ihfft{form}")(adjoint.from_numpy(real), norm=norm), expected, "float64")


def test_gradient_is_that_of_the_matrix_of_the_transform() -> None:
    matrix = np.exp(-2j * np.pi * np.outer(np.arange(5), np.arange(5)) / 5)
    x = adjoint.from_numpy(draw(5, dtype="complex128")).requires_grad_()
    g = draw(5, dtype="complex128")
    adjoint.fft.fft(x).backward(adjoint.from_numpy(g))
    np.testing.assert_allclose(x.grad.numpy(), matrix.conj().T @ g)
    real = adjoint.from_numpy(draw(5)).requires_grad_()
    adjoint.fft.rfft(real).backward(adjoint.from_numpy(g[:3]))
    np.testing.assert_allclose(real.grad.numpy(), (matrix[:3].conj().T @ g[:3]).real)


@pytest.mark.parametrize(("name", "size"), [("fft2", 6), ("rfft2", 6), ("irfft2", 6), ("hfft2", 5), ("ihfft2", 7)])
def test_derivatives_of_cut_and_continued_input(name: str, size: int) -> None:
    x = draw(3, 4, dtype="complex128" if name in ("fft2", "irfft2", "hfft2") else "float64")
    f = lambda t: getattr(adjoint.fft, name)(t, (2, size), norm="ortho")
    direction = draw(*x.shape, dtype=str(x.dtype))
    primal, tangent = adjoint.func.jvp(f, (adjoint.from_numpy(x),), (adjoint.from_numpy(direction),))
    same(tangent, f(adjoint.from_numpy(direction)).numpy(), "float64")
    g = draw(*primal.shape, dtype=str(primal.numpy().dtype))
    t = adjoint.from_numpy(x).requires_grad_()
    f(t).backward(adjoint.from_numpy(g))
    assert np.vdot(t.grad.numpy(), direction).real == pytest.approx(np.vdot(g, tangent.numpy()).real)


@pytest.mark.parametrize("x", [np.arange(5), np.array([True, False, True])])
def test_whole_numbers_are_taken_in_the_default_type(x: np.ndarray) -> None:
    assert adjoint.fft.fft(adjoint.from_numpy(x)).dtype is adjoint.complex64
    assert adjoint.fft.irfft(adjoint.from_numpy(x)).dtype is adjoint.float32


def test_no_axes() -> None:
    assert adjoint.fft.fftn(adjoint.tensor(2.0)).numpy() == 2
    assert adjoint.fft.ifftn(adjoint.ones(3), dim=()).dtype is adjoint.complex64
    with pytest.raises(RuntimeError, match="rfftn must transform at least one axis"):
        adjoint.fft.rfftn(adjoint.tensor(2.0))


def test_empty_batches() -> None:
    assert adjoint.fft.fft(adjoint.zeros(0, 4)).shape == (0, 4)
    assert adjoint.fft.rfft(adjoint.zeros(0, 4)).shape == (0, 3)
    assert adjoint.fft.irfft(adjoint.zeros(0, 4)).shape == (0, 6)
    assert adjoint.fft.irfft(adjoint.zeros(0, 4)).dtype is adjoint.float32


def test_out() -> None:
    x, target = adjoint.ones(4), adjoint.zeros(4, dtype=adjoint.complex128)
    assert adjoint.fft.fft(x, out=target) is target
    assert target.numpy()[0] == 4
    with pytest.raises(RuntimeError, match="can't be cast"):
        adjoint.fft.fft(x, out=adjoint.zeros(4))
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        adjoint.fft.fft(x.requires_grad_(), out=target)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda f, x: f.fft(x, 0), RuntimeError, r"Invalid number of data points \(0\) specified"),
        (lambda f, x: f.fft(x, -1), RuntimeError, r"Invalid number of data points \(-1\) specified"),
        (lambda f, x: f.fft(x, 2.5), TypeError, r"fft_fft\(\): argument 'n' \(position 2\) must be int, not float"),
        (lambda f, x: f.fft(x, norm="no"), RuntimeError, 'Invalid normalization mode: "no"'),
        (lambda f, x: f.fft(x, dim=2), IndexError, r"expected to be in range of \[-2, 1\], but got 2"),
        (lambda f, x: f.fft(x[0, 0]), IndexError, "Dimension specified as -1 but tensor has no dimensions"),
        (lambda f, x: f.fft([1.0]), TypeError, r"argument 'input' \(position 1\) must be Tensor, not list"),
        (lambda f, x: f.fft(), TypeError, r"fft_fft\(\) missing 1 required positional arguments: \"input\""),
        (lambda f, x: f.fft(x.half()), RuntimeError, "Unsupported dtype Half"),
        (lambda f, x: f.irfft(x[:, :1]), RuntimeError, r"Invalid number of data points \(0\) specified"),
        (lambda f, x: f.fft2(x, (1,)), RuntimeError, "dim and shape arguments must have the same length"),
        (lambda f, x: f.fft2(x[0]), IndexError, r"expected to be in range of \[-1, 0\], but got -2"),
        (lambda f, x: f.fftn(x, (1, 2, 3)), RuntimeError, "Got shape with 3 values but input tensor only has 2"),
        (lambda f, x: f.fftn(x, dim=(0, -2)), RuntimeError, "FFT dims must be unique"),
        (lambda f, x: f.rfftn(x + 1j), RuntimeError, "rfftn expects a real-valued input tensor, but got ComplexFloat"),
        (lambda f, x: f.ihfftn(x + 1j), RuntimeError, "Only supports floating-point dtypes, but found: ComplexFloat"),
        (lambda f, x: f.fftshift(x[0, 0]), RuntimeError, "`shifts` required"),
        (lambda f, x: f.fftfreq(4, dtype=adjoint.int64), RuntimeError, "fftfreq requires a floating point or complex"),
        (lambda f, x: f.fftfreq(-1), RuntimeError, "negative dimension -1"),
    ],
)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(adjoint.fft, adjoint.ones(3, 4))


def test_frequencies_and_shifts() -> None:
    for n in (1, 4, 5):
        for name in ("fftfreq", "rfftfreq"):
            expected = getattr(np.fft, name)(n, 0.5)
            np.testing.assert_allclose(getattr(adjoint.fft, name)(n, 0.5, dtype=adjoint.float64).numpy(), expected)
        x = draw(n, 3)
        for name in ("fftshift", "ifftshift"):
            ours, theirs = getattr(adjoint.fft, name), getattr(np.fft, name)
            np.testing.assert_array_equal(ours(adjoint.from_numpy(x)).numpy(), theirs(x))
            np.testing.assert_array_equal(ours(adjoint.from_numpy(x), dim=(0,)).numpy(), theirs(x, axes=0))
    assert adjoint.fft.fftfreq(3, requires_grad=True).requires_grad
    assert np.isnan(adjoint.fft.fftfreq(3, 0).numpy()[0])


# short-time transforms ------------------------------------------------------------------------------------------------


def spectra_of(x: np.ndarray, n: int, hop: int, window: np.ndarray) -> np.ndarray:
    starts = range(0, x.shape[-1] - n + 1, hop)
    return np.stack([np.fft.rfft(x[..., k : k + n] * window) for k in starts], -1)


@pytest.mark.parametrize(("mode", "numpys"), [
    ("reflect", "reflect"), ("replicate", "edge"), ("constant", "constant"), ("circular", "wrap"),
])  # fmt: skip
def test_stft_continues_the_signal(mode: str, numpys: Any) -> None:
    x, window = draw(2, 30), draw(8)
    padded = np.pad(x, ((0, 0), (4, 4)), numpys)
    result = adjoint.stft(
        adjoint.from_numpy(x), 8, 3, window=adjoint.from_numpy(window), pad_mode=mode, return_complex=True
    )
    np.testing.assert_allclose(result.numpy(), spectra_of(padded, 8, 3, window))


def test_stft_forms() -> None:
    x, window = draw(30), draw(5)
    t, w = adjoint.from_numpy(x), adjoint.from_numpy(window)
    middle = np.concatenate([np.zeros(1), window, np.zeros(2)])
    plain = adjoint.stft(t, 8, 2, 5, w, center=False, return_complex=True)
    np.testing.assert_allclose(plain.numpy(), spectra_of(x, 8, 2, middle))
    normalized = adjoint.stft(t, 8, 2, 5, w, center=False, normalized=True, return_complex=True)
    np.testing.assert_allclose(normalized.numpy(), plain.numpy() / np.sqrt(8))
    whole = adjoint.stft(t + 0j, 8, 2, 5, w, center=False)
    np.testing.assert_allclose(whole[:5].numpy(), plain.numpy())
    assert whole.shape[0] == 8
    aligned = adjoint.stft(t, 8, 2, 5, w, center=False, align_to_window=True, return_complex=True)
    assert aligned.shape[1] == plain.shape[1] + 1
    ones = np.concatenate([np.zeros(1), np.ones(5), np.zeros(2)])
    np.testing.assert_allclose(
        adjoint.stft(t, 8, 2, 5, center=False, return_complex=True).numpy(), spectra_of(x, 8, 2, ones)
    )
    with pytest.warns(UserWarning, match="return_complex=False is deprecated"):
        pairs = adjoint.stft(t, 8, 2, 5, w, center=False, return_complex=False)
    np.testing.assert_allclose(pairs.numpy(), np.stack([plain.numpy().real, plain.numpy().imag], -1))


@pytest.mark.parametrize("hop", [2, 3, 8])
@pytest.mark.parametrize("windowed", [False, True])
def test_istft_gives_the_signal_back(hop: int, windowed: bool) -> None:
    x = draw(2, 48)
    window = adjoint.from_numpy(np.hanning(10)[1:-1]) if windowed else None
    spectra = adjoint.stft(adjoint.from_numpy(x), 8, hop, window=window, return_complex=True)
    for length in (48, 20, None):
        result = adjoint.istft(spectra, 8, hop, window=window, length=length).numpy()
        np.testing.assert_allclose(result, x[:, : result.shape[1]], atol=1e-12)
    whole = adjoint.stft(adjoint.from_numpy(x), 8, hop, window=window, onesided=False, return_complex=True)
    result = adjoint.istft(whole, 8, hop, window=window, length=48, return_complex=True).numpy()
    np.testing.assert_allclose(result, x, atol=1e-12)
    with pytest.warns(UserWarning, match="padded with zeros in the tail"):
        longer = adjoint.istft(spectra, 8, hop, window=window, length=60).numpy()
    assert longer.shape == (2, 60) and not longer[:, 58:].any()


def test_derivatives_of_short_time_transforms() -> None:
    x, window = adjoint.from_numpy(draw(20)), adjoint.from_numpy(np.hanning(10)[1:-1] + 0.1)
    forward = lambda x, w: adjoint.stft(x, 8, 3, window=w, return_complex=True)
    spectra = forward(x, window)
    backward = lambda s, w: adjoint.istft(s, 8, 3, window=w)
    for f, values in ((forward, (x, window)), (backward, (spectra, window))):
        directions = tuple([adjoint.from_numpy(draw(*v.shape, dtype=str(v.numpy().dtype))) for v in values])
        step = 1e-6
        after = f(*[v + step * d for v, d in zip(values, directions, strict=True)])
        before = f(*[v - step * d for v, d in zip(values, directions, strict=True)])
        _, tangent = adjoint.func.jvp(f, values, directions)
        np.testing.assert_allclose(tangent.numpy(), ((after - before) / (2 * step)).numpy(), atol=1e-7)
        g = adjoint.from_numpy(draw(*tangent.shape, dtype=str(tangent.numpy().dtype)))
        _, pull = adjoint.func.vjp(f, *values)
        pulled = sum(np.vdot(a.numpy(), d.numpy()).real for a, d in zip(pull(g), directions, strict=True))
        assert pulled == pytest.approx(np.vdot(g.numpy(), tangent.numpy()).real)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"return_complex": None}, RuntimeError, "stft requires the return_complex parameter be given"),
        ({"hop_length": 0}, RuntimeError, "expected hop_length > 0, but got hop_length=0"),
        ({"win_length": 20}, RuntimeError, "expected 0 < win_length <= n_fft, but got win_length=20"),
        ({"n_fft": 0}, RuntimeError, "expected 0 < n_fft < 30, but got n_fft=0"),
        ({"n_fft": 80}, RuntimeError, "Padding size should be less than the corresponding input dimension"),
        ({"pad_mode": "no"}, NotImplementedError, "Unrecognised padding mode no"),
        ({"align_to_window": True}, RuntimeError, "align_to_window should only be set when center = false"),
        ({"window": adjoint.ones(3)}, RuntimeError, r"expected a 1D window tensor of size equal to win_length=16"),
        ({"window": adjoint.ones(16) * 1j, "onesided": True}, RuntimeError, "Cannot have onesided output"),
        ({"input": adjoint.arange(30)}, RuntimeError, "expected a tensor of floating point or complex values"),
        ({"input": adjoint.ones(1, 1, 30)}, RuntimeError, "expected a 1D or 2D tensor"),
    ],
)
def test_errors_of_stft(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        adjoint.stft(**{"input": adjoint.ones(30), "n_fft": 16, "return_complex": True, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"input": adjoint.ones(9, 5)}, "istft requires a complex-valued input tensor"),
        ({"input": adjoint.ones(8, 5) + 0j}, "match n_fft / 2 \\+ 1 when onesided=True, but got 8"),
        ({"onesided": False}, "match n_fft when onesided=False, but got 9"),
        ({"input": adjoint.ones(9, 0) + 0j}, "input tensor cannot be empty"),
        ({"input": adjoint.ones(9, 1) + 0j}, "no element lies between the margins of 8 on both ends"),
        ({"hop_length": 17}, "expected 0 < hop_length <= win_length"),
        ({"win_length": 17}, "expected 0 < win_length <= n_fft"),
        ({"window": adjoint.ones(3)}, "Invalid window shape"),
        ({"window": adjoint.zeros(16)}, "window overlap add min: 1"),
        ({"window": adjoint.ones(16) + 0j}, "Complex windows are incompatible with return_complex=False"),
        ({"return_complex": True}, "Cannot have onesided output"),
    ],
)
def test_errors_of_istft(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        adjoint.istft(**{"input": adjoint.ones(9, 5) + 0j, "n_fft": 16, **options})


# windows --------------------------------------------------------------------------------------------------------------

WINDOWS: dict[str, Any] = {"bartlett": {}, "blackman": {}, "hann": {}, "kaiser": {"beta": 12.0}}
WINDOWS |= {"hamming": {}, "general_hamming": {"alpha": 0.6}}


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("periodic", [True, False])
def test_windows(name: str, periodic: bool) -> None:
    if name == "general_hamming":
        make = partial(adjoint.hamming_window, alpha=0.6, beta=0.4)
    else:
        make = getattr(adjoint, f"{name}_window")
    for n in (0, 1, 2, 5, 8):
        result = make(n, periodic=periodic, dtype=adjoint.float64)
        expected = getattr(signal.windows, name)(n, *WINDOWS[name].values(), sym=not periodic)
        np.testing.assert_allclose(result.numpy(), expected, atol=1e-12)
        half = make(n, periodic, dtype=adjoint.float16)
        np.testing.assert_array_equal(half.numpy(), result.numpy().astype("float32").astype("float16"))
    assert make(3).dtype is adjoint.float32 and make(3, requires_grad=True).is_leaf


@pytest.mark.parametrize(
    ("args", "dtype", "error", "message"),
    [
        ((-1,), None, RuntimeError, "hann_window requires non-negative window_length, got window_length=-1"),
        ((2.0,), None, TypeError, "argument 'window_length' .position 1. must be int, not float"),
        ((3,), adjoint.int64, RuntimeError, "hann_window expects floating point dtypes"),
        ((3,), adjoint.complex64, NotImplementedError, "not implemented for 'ComplexFloat'"),
    ],
)
def test_errors_of_windows(args: Any, dtype: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        adjoint.hann_window(*args, dtype=dtype)


SYMMETRIC: dict[str, dict[str, Any]] = {
    "bartlett": {},
    "blackman": {},
    "cosine": {},
    "exponential": {"tau": 1.5},
    "gaussian": {"std": 0.7},
    "general_cosine": {"a": [0.5, 0.3, 0.2]},
    "general_hamming": {"alpha": 0.6},
    "hamming": {},
    "hann": {},
    "kaiser": {"beta": 5.0},
    "nuttall": {},
}


def test_signal_windows() -> None:
    windows = adjoint.signal.windows
    assert set(SYMMETRIC) == set(windows.__all__)
    for (name, options), sym in itertools.product(SYMMETRIC.items(), (True, False)):
        for n in (0, 1, 2, 5, 8):
            result = getattr(windows, name)(n, sym=sym, dtype=adjoint.float64, **options)
            expected = getattr(signal.windows, name)(n, sym=sym, **options)
            np.testing.assert_allclose(result.numpy(), expected, atol=1e-12)
    off_center = windows.exponential(5, center=1.0, sym=False)
    np.testing.assert_allclose(off_center.numpy(), np.exp(-abs(np.arange(5) - 1.0)), 1e-6)
    assert windows.exponential(1, center=1.0, sym=False).item() == off_center[0]
    assert off_center.dtype is adjoint.float32 and windows.hann(3, requires_grad=True).requires_grad


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("hann", {"M": -1}, ValueError, "general_cosine requires non-negative window length, got M=-1"),
        ("kaiser", {"dtype": adjoint.float16}, ValueError, "kaiser expects float32 or float64 dtypes"),
        ("exponential", {"tau": 0.0}, ValueError, "Tau must be positive, got: 0.0 instead"),
        ("exponential", {"center": 1.0}, ValueError, "Center must be None for symmetric windows"),
        ("gaussian", {"std": -1.0}, ValueError, "Standard deviation must be positive, got: -1.0 instead"),
        ("kaiser", {"beta": -1.0}, ValueError, "beta must be non-negative, got: -1.0 instead"),
        ("general_cosine", {"a": []}, ValueError, "Coefficients cannot be empty"),
        ("general_cosine", {"a": 3.0}, TypeError, "Coefficients must be a list/tuple"),
    ],
)
def test_errors_of_signal_windows(name: str, options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        getattr(adjoint.signal.windows, name)(**{"M": 4, **options})


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("shape", [(64,), (8, 63), (3, 4, 5)])
def test_loops_without_scipys_python_code(shape: tuple[int, ...], norm: str) -> None:
    """The loops give the bits of SciPy's functions, for every memory layout and number of axes."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=shape), rng.normal(size=shape) + 1j
    for axes, dtypes in itertools.product([(0,), (len(shape) - 1,), tuple(range(len(shape)))], [("f4", "c8"), "dD"]):
        size = (*[shape[axis] for axis in axes[:-1]], 2 * shape[axes[-1]] - 1)
        calls = [("fftn", x, {}), ("rfftn", x, {}), ("fftn", z, {}), ("ifftn", z, {}), ("irfftn", z, {"s": size})]
        for (name, values, options), layout in itertools.product(calls, (np.asarray, np.asfortranarray, np.flip)):
            array = layout(values.astype(dtypes[values.dtype.kind == "c"]))
            result = getattr(xp.fft, name)(array, axes=axes, norm=norm, **options)
            expected = getattr(scipy.fft, name)(array, axes=axes, norm=norm, **options)
            assert (result.dtype, result.strides) == (expected.dtype, expected.strides)
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("name", "shape"),
    [(name, shape) for name in ("fftn", "rfftn") for shape in ((1,), (4,), (5,), (2, 3), (4, 1, 6))]
    + [("ifftn", (2, 3)), ("ifftn", (4, 1, 6))],
)
@pytest.mark.parametrize("dtype", [adjoint.float64, adjoint.float32, adjoint.int64])
def test_phases_of_real_signals(name: str, shape: tuple[int, ...], dtype: adjoint.dtype) -> None:
    """A frequency without an imaginary part has the phase 0 or pi. In torch, too, the inverse over one axis has -pi."""
    x = adjoint.from_numpy(np.random.default_rng(0).integers(-5, 5, shape)).to(dtype)
    y = getattr(adjoint.fft, name)(x).numpy()
    assert (y.imag == 0).any() and not np.signbit(y.imag[y.imag == 0]).any()


@pytest.mark.parametrize(("norm", "forward", "backward"), [("backward", 0, 2), ("forward", 2, 0), ("ortho", 1, 1)])
def test_nodes_show_the_normalization(norm: str, forward: int, backward: int) -> None:
    x = adjoint.ones(4, requires_grad=True)
    z = x.to(adjoint.complex64)
    expected = {"fft": forward, "rfft": forward, "ifft": backward, "irfft": backward}
    for name, number in expected.items():
        result = getattr(adjoint.fft, name)(x if name == "rfft" else z, norm=norm)
        assert result.grad_fn._saved_normalization == number
