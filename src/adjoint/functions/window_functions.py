"""Window functions: the weights that fade a piece of a signal out towards its ends, for stft() and istft()."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import TYPE_CHECKING, Any, TypeVar

import numpy

from adjoint.arrays.dtypes import as_dtype, get_default_dtype, is_half
from adjoint.arrays.size import as_int
from adjoint.functions.arguments import real_number
from adjoint.functions.composite import composite, describe
from adjoint.tensor.creation import _wrap
from adjoint.tensor.memory.pinning import pinnable

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])

_DOC = """The {name} window of {size}: {formula} for k = 0 .. n - 1.

N is n, so that the window can be repeated, or n - 1 with periodic=False, which makes it symmetric.
dtype: of floating point; the default one unless given.

Raises RuntimeError for a negative size or another dtype.

>>> import adjoint
>>> adjoint.{example}
tensor({output})
"""


def _window(
    function: str,
    window_length: int,
    periodic: bool,
    weights: Callable[[Any], Any],
    dtype: Any,
    device: Any,
    requires_grad: bool,
) -> Tensor:
    """weights: a function that returns the weights for positions from 0 to 1; they are computed in double precision."""
    n = as_int(function, "window_length", 1, window_length)
    kind = get_default_dtype() if dtype is None else as_dtype(dtype, function)
    if not (kind.is_floating_point or kind.is_complex):
        raise RuntimeError(f"{function} expects floating point dtypes, got: {kind}")
    if n < 0:
        raise RuntimeError(f"{function} requires non-negative window_length, got window_length={n}")
    if n > 1 and kind.is_complex:
        raise NotImplementedError(f"{function} is not implemented for '{kind.long_name}'")
    last = n if periodic else n - 1
    values = weights(numpy.arange(n) / last) if n > 1 else numpy.ones(n)
    if is_half(kind.numpy):
        # rounded to float32 first, like the other functions
        values = values.astype(numpy.float32)
    return _wrap(values.astype(kind.numpy), requires_grad, function, device)


def cosines(*factors: float) -> Callable[[Any], Any]:
    return lambda position: sum(factor * numpy.cos(2 * pi * i * position) for i, factor in enumerate(factors))


def bartlett_at(position: Any) -> Any:
    return 1 - abs(2 * position - 1)


def kaiser_at(beta: float) -> Callable[[Any], Any]:
    def weights(position: Any) -> Any:
        from scipy.special import i0e

        # i0(x) / i0(beta) by the scaled functions, which do not overflow
        x = abs(beta) * numpy.sqrt(1 - (2 * position - 1) ** 2)
        return i0e(x) / i0e(beta) * numpy.exp(x - abs(beta))

    return weights


def _declare(name: str, formula: str, example: str, output: str) -> Callable[[F], F]:
    """Declare a window function, with the docstring that all share."""

    def declare(function: F) -> F:
        describe(_DOC, name=name, size="size n", formula=formula, example=example, output=output)(function)
        return composite(method=False)(pinnable(function))

    return declare


@_declare(
    "Hann",
    "(1 - cos(2 pi k / N)) / 2",
    "hann_window(4)",
    "[0.0000, 0.5000, 1.0000, 0.5000]",
)
def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    return _window("hann_window", window_length, periodic, cosines(0.5, -0.5), dtype, device, requires_grad)


@_declare(
    "Blackman",
    "0.42 - 0.5 cos(2 pi k / N) + 0.08 cos(4 pi k / N)",
    "blackman_window(4)[1:]",
    "[0.3400, 1.0000, 0.3400]",
)
def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    return _window("blackman_window", window_length, periodic, cosines(0.42, -0.5, 0.08), dtype, device, requires_grad)


@_declare(
    "Bartlett",
    "1 - abs(2 k / N - 1)",
    "bartlett_window(4)",
    "[0.0000, 0.5000, 1.0000, 0.5000]",
)
def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    return _window("bartlett_window", window_length, periodic, bartlett_at, dtype, device, requires_grad)


@_declare(
    "Hamming",
    "alpha - beta cos(2 pi k / N)",
    "hamming_window(4)",
    "[0.0800, 0.5400, 1.0000, 0.5400]",
)
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    alpha, beta = real_number("hamming_window", "alpha", 3, alpha), real_number("hamming_window", "beta", 4, beta)
    return _window("hamming_window", window_length, periodic, cosines(alpha, -beta), dtype, device, requires_grad)


@_declare(
    "Kaiser",
    "i0(beta sqrt(1 - (2 k / N - 1)^2)) / i0(beta), i0 the modified Bessel function",
    "kaiser_window(4, beta=4.0)",
    "[0.0885, 0.6334, 1.0000, 0.6334]",
)
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    beta = real_number("kaiser_window", "beta", 3, beta)
    return _window("kaiser_window", window_length, periodic, kaiser_at(beta), dtype, device, requires_grad)
