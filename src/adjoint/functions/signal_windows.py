"""torch.signal.windows: the weights that fade a piece of a signal out towards its ends, symmetric by default.

adjoint.hann_window() and its relatives under SciPy's names and defaults. Formulas from Harris, On the use of
windows for harmonic analysis with the discrete Fourier transform (1978).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import exp
from typing import TYPE_CHECKING, Any, TypeVar

import numpy

from adjoint.arrays.dtypes import as_dtype, float32, float64, get_default_dtype
from adjoint.arrays.size import as_int
from adjoint.functions.composite import composite
from adjoint.functions.window_functions import bartlett_at, cosines, kaiser_at
from adjoint.tensor.creation import _wrap

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
F = TypeVar("F", bound="Callable[..., Tensor]")

_ARGUMENTS = """

Args:
    M: how many weights.
    sym: N is M - 1, which makes the window symmetric; else M, so that it can be repeated.
    dtype: float32 or float64; the default one unless given.

Raises ValueError for a negative M, or another dtype{more}.

>>> import adjoint
>>> adjoint.signal.windows.{example}
tensor({output})
"""


def _document(example: str, output: str, more: str = "") -> Callable[[F], F]:
    """The parts of a docstring that all windows share, and an example of one."""

    def declare(window: F) -> F:
        window.__doc__ = (window.__doc__ or "").rstrip() + _ARGUMENTS.format(more=more, example=example, output=output)
        return composite(namespace="signal.windows", method=False)(window)

    return declare


def _window(
    function: str,
    M: int,
    sym: bool,
    weights: Callable[[Any, int], Any],
    dtype: Any,
    device: Any,
    requires_grad: bool,
    alone: float = 1.0,
) -> Tensor:
    """weights: a function that returns the weights for the numbers 0 .. M - 1 and N, in double precision.

    alone: the weight where there is but one.
    """
    kind = get_default_dtype() if dtype is None else as_dtype(dtype, function)
    M = as_int(function, "window_length", 1, M)
    if M < 0:
        raise ValueError(f"{function} requires non-negative window length, got M={M}")
    if kind not in (float32, float64):
        raise ValueError(f"{function} expects float32 or float64 dtypes, got: {kind}")
    values = weights(numpy.arange(M), M - 1 if sym else M) if M > 1 else numpy.full(M, alone)
    return _wrap(values.astype(kind.numpy), requires_grad, function, device)


def _by_position(weights: Callable[[Any], Any]) -> Callable[[Any, int], Any]:
    # of places from 0 to 1
    return lambda k, last: weights(k / last)


def _positive(what: str, value: float) -> None:
    if value <= 0:
        raise ValueError(f"{what} must be positive, got: {value} instead.")


@_document("bartlett(5)", "[0.0000, 0.5000, 1.0000, 0.5000, 0.0000]")
def bartlett(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The Bartlett window, a triangle: 1 - abs(2 k / N - 1) for k = 0 .. M - 1."""
    return _window("bartlett", M, sym, _by_position(bartlett_at), dtype, device, requires_grad)


@_document("cosine(4)", "[0.3827, 0.9239, 0.9239, 0.3827]")
def cosine(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Half a wave: sin(pi (k + 1/2) / (N + 1)) for k = 0 .. M - 1."""
    return _window(
        "cosine", M, sym, lambda k, last: numpy.sin(numpy.pi * (k + 0.5) / (last + 1)), dtype, device, requires_grad
    )


@_document("exponential(3)", "[0.3679, 1.0000, 0.3679]", ", a tau below 0, a center of a symmetric window")
def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """exp(-abs(k - center) / tau) for k = 0 .. M - 1; center is N / 2 unless given."""
    _positive("Tau", tau)
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    return _window(
        "exponential",
        M,
        sym,
        lambda k, last: numpy.exp(-abs(k - (last / 2 if center is None else center)) / tau),
        dtype,
        device,
        requires_grad,
        alone=exp(-abs(center or 0) / tau),
    )


@_document("gaussian(3)", "[0.6065, 1.0000, 0.6065]", ", a standard deviation that is not positive")
def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """exp(-((k - N / 2) / std)^2 / 2) for k = 0 .. M - 1."""
    _positive("Standard deviation", std)
    return _window(
        "gaussian", M, sym, lambda k, last: numpy.exp(-(((k - last / 2) / std) ** 2) / 2), dtype, device, requires_grad
    )


@_document("kaiser(3, beta=2.0)", "[0.4387, 1.0000, 0.4387]", ", a negative beta")
def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """i0(beta sqrt(1 - (2 k / N - 1)^2)) / i0(beta) for k = 0 .. M - 1, i0 the modified Bessel function."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _window("kaiser", M, sym, _by_position(kaiser_at(float(beta))), dtype, device, requires_grad)


@_document("general_cosine(3, a=[0.5, 0.3])", "[0.2000, 0.8000, 0.2000]", ", no coefficients")
def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The sum over i of (-1)^i a[i] cos(2 pi i k / N) for k = 0 .. M - 1."""

    def weights(position: Any) -> Any:
        if not isinstance(a, Iterable):
            raise TypeError("Coefficients must be a list/tuple")
        factors = [(-1) ** i * float(factor) for i, factor in enumerate(a)]
        if not factors:
            raise ValueError("Coefficients cannot be empty")
        return cosines(*factors)(position)

    return _window("general_cosine", M, sym, _by_position(weights), dtype, device, requires_grad)


@_document("general_hamming(3, alpha=0.6)", "[0.2000, 1.0000, 0.2000]")
def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """alpha - (1 - alpha) cos(2 pi k / N) for k = 0 .. M - 1."""
    return general_cosine(
        M, a=[alpha, 1 - alpha], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


@_document("hann(3)", "[0., 1., 0.]")
def hann(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The Hann window, (1 - cos(2 pi k / N)) / 2 for k = 0 .. M - 1."""
    return general_cosine(
        M, a=[0.5, 0.5], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


@_document("hamming(3)", "[0.0800, 1.0000, 0.0800]")
def hamming(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The Hamming window, 0.54 - 0.46 cos(2 pi k / N) for k = 0 .. M - 1."""
    return general_cosine(
        M, a=[0.54, 0.46], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


@_document("blackman(5)[1:4]", "[0.3400, 1.0000, 0.3400]")
def blackman(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The Blackman window, 0.42 - 0.5 cos(2 pi k / N) + 0.08 cos(4 pi k / N) for k = 0 .. M - 1."""
    return general_cosine(
        M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


@_document("nuttall(5)", "[3.6280e-04, 2.2698e-01, 1.0000e+00, 2.2698e-01, 3.6280e-04]")
def nuttall(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The Nuttall window, the sum over i of (-1)^i a[i] cos(2 pi i k / N) for k = 0 .. M - 1.

    a = 0.3635819, 0.4891775, 0.1365995, 0.0106411.
    """
    return general_cosine(
        M,
        a=[0.3635819, 0.4891775, 0.1365995, 0.0106411],
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )
