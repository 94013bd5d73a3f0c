"""Window functions: the weights that fade a piece of a signal out towards its ends, for stft() and istft()."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.dtypes import as_dtype, get_default_dtype, is_half
from adjoint.arrays.size import type_name
from adjoint.functions.composite import composite
from adjoint.tensor.creation import _wrapped
from adjoint.tensor.memory.pinning import pinnable

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

_DOC = """The {name} window of {size}: {formula} for k = 0 .. n - 1.

N is n, so that the window can be repeated, or n - 1 with periodic=False, which makes it symmetric.
dtype: of floating point; the default one unless given.

Raises RuntimeError for a negative size or another dtype.

>>> import adjoint
>>> adjoint.{function}(4{arguments}){part}
tensor({shown})
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
    """weights: what gives the weights for places from 0 to 1; they are computed in double precision."""
    if isinstance(window_length, bool) or not hasattr(window_length, "__index__"):
        given = type_name(window_length)
        raise TypeError(f"{function}(): argument 'window_length' (position 1) must be int, not {given}")
    n = window_length.__index__()
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
        # rounded as the other functions round: to float32 first
        values = values.astype(numpy.float32)
    return _wrapped(values.astype(kind.numpy), requires_grad, function, device)


def cosines(*factors: float) -> Callable[[Any], Any]:
    return lambda place: sum(factor * numpy.cos(2 * pi * i * place) for i, factor in enumerate(factors))


def bartlett_at(place: Any) -> Any:
    return 1 - abs(2 * place - 1)


def kaiser_at(beta: float) -> Callable[[Any], Any]:
    def weights(place: Any) -> Any:
        from scipy.special import i0e

        # i0(x) / i0(beta) by the scaled functions, which do not overflow
        x = abs(beta) * numpy.sqrt(1 - (2 * place - 1) ** 2)
        return i0e(x) / i0e(beta) * numpy.exp(x - abs(beta))

    return weights


def _declare(name: str, formula: str, weights: Callable[[Any], Any], shown: str, part: str = "") -> None:
    function = f"{name}_window"

    def window(
        window_length: int,
        periodic: bool = True,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
    ) -> Tensor:
        return _window(function, window_length, periodic, weights, dtype, device, requires_grad)

    _publish(window, name, formula, shown, part)


def _publish(window: Any, name: str, formula: str, shown: str, part: str = "", arguments: str = "") -> None:
    function = f"{name}_window"
    window.__name__ = window.__qualname__ = function
    window.__doc__ = _DOC.format(
        name=name.capitalize(), size="size n", formula=formula, function=function, shown=shown, part=part,
        arguments=arguments,
    )  # fmt: skip
    composite(method=False)(pinnable(window))


_declare("hann", "(1 - cos(2 pi k / N)) / 2", cosines(0.5, -0.5), "[0.0000, 0.5000, 1.0000, 0.5000]")
_declare(
    "blackman",
    "0.42 - 0.5 cos(2 pi k / N) + 0.08 cos(4 pi k / N)",
    cosines(0.42, -0.5, 0.08),
    "[0.3400, 1.0000, 0.3400]",
    "[1:]",
)
_declare("bartlett", "1 - abs(2 k / N - 1)", bartlett_at, "[0.0000, 0.5000, 1.0000, 0.5000]")


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
    return _window(
        "hamming_window", window_length, periodic, cosines(alpha, -beta), dtype, device, requires_grad
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
    return _window("kaiser_window", window_length, periodic, kaiser_at(beta), dtype, device, requires_grad)


_publish(hamming_window, "hamming", "alpha - beta cos(2 pi k / N)", "[0.0800, 0.5400, 1.0000, 0.5400]")
_publish(
    kaiser_window,
    "kaiser",
    "i0(beta sqrt(1 - (2 k / N - 1)^2)) / i0(beta), i0 the modified Bessel function",
    "[0.0885, 0.6334, 1.0000, 0.6334]",
    arguments=", beta=4.0",
)
