"""Named observations of tensors and errors, for the comparison of two libraries or of two forms of adjoint.

This module runs beside PyTorch too, and does not import adjoint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

#: Names and observations: an array, an Error, or a plain value.
Observations = list[tuple[str, Any]]


class Error(NamedTuple):
    """An error: the name of its class, and its text."""

    kind: str
    text: str


def attempt(call: Callable[[], Any]) -> Any:
    """The result of a call, or its error."""
    try:
        return call()
    except NameError:
        raise  # a line without its operands is no program
    except Exception as error:
        return Error(type(error).__name__, str(error))


def array(tensor: Any) -> np.ndarray[Any, Any]:
    """A copy of the values of a tensor."""
    if str(tensor.dtype).endswith("bfloat16"):
        tensor = tensor.float()  # NumPy has no such dtype
    values: np.ndarray[Any, Any] = tensor.detach().clone().resolve_conj().resolve_neg().numpy(force=True)
    return values


def array_or_none(tensor: Any) -> np.ndarray[Any, Any] | None:
    return None if tensor is None else array(tensor)


def tolerance(dtype: np.dtype[Any]) -> float:
    """The allowed distance of numbers, relative to the largest of them."""
    return {2: 2e-2, 4: 1e-3}.get(np.zeros(0, dtype).real.itemsize, 1e-7) if dtype.kind in "fc" else 0.0


#: The tolerance if some intermediate numbers are rounded to less than 64 bits.
NARROW = 2e-3


def same(one: Any, other: Any, tol: float = 0.0) -> bool:
    """Whether two observations agree: numbers up to rounding, at least up to `tol`, and None with zeros."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        tol = max(tol, tolerance(one.dtype)) if one.dtype.kind in "fc" else 0.0
        with np.errstate(all="ignore"):
            least = 1e-3 if tol < 1e-5 else 1.0
            size = np.max(np.abs(other[np.isfinite(other)]), initial=least) if other.dtype.kind in "fc" else 1.0
            return bool(np.allclose(one, other, rtol=tol, atol=tol * size, equal_nan=True))
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        values = one if isinstance(one, np.ndarray) else other
        return (one is None or other is None) and not np.any(values)
    if isinstance(one, tuple) and type(one) is type(other) is tuple:
        return len(one) == len(other) and all(same(a, b, tol) for a, b in zip(one, other, strict=True))
    return bool(type(one) is type(other) and one == other)


#: The relative change of inputs: a few units in the last place.
SHAKE = {"float64": 2.0**-46, "float32": 2.0**-17, "float16": 2.0**-9, "bfloat16": 2.0**-6}
#: The numbers of the further runs that show whether an observation is steady.
SHAKES = (1, 2, 3)


def shake_values(values: np.ndarray[Any, Any], number: int, dtype: str) -> np.ndarray[Any, Any]:
    """Inputs changed by a few units in the last place; 0: as they are."""
    if not number:
        return values
    size = SHAKE.get(dtype, SHAKE["float64"])
    rng = np.random.default_rng([number, values.size])
    return np.asarray(values * (1 + size * rng.uniform(-1, 1, values.shape)))


def is_steady(name: str, one: Any, again: Callable[[int], Any], tol: float = 0.0) -> bool:
    """Whether numbers stay the same when the inputs change by rounding. `again` observes them, or fails.

    Other numbers belong to ties, jumps and differences of equal numbers. There are no right numbers to compare with.
    """
    if not isinstance(one, np.ndarray):
        return True
    runs = [again(number) for number in SHAKES]
    others = [dict(run).get(name) for run in runs if not isinstance(run, Error)]
    return all(same(other, one, tol) for other in others if isinstance(other, np.ndarray))


def apart(one: Any, other: Any) -> str:
    """The difference of two observations in words. For arrays, these are the elements that differ most."""
    if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)):
        return f"{text_of(one)} against {text_of(other)}"
    if one.shape != other.shape or one.dtype != other.dtype or not one.size:
        return f"{one.shape} {one.dtype} against {other.shape} {other.dtype}"
    with np.errstate(all="ignore"):
        gap = np.nan_to_num(np.abs(one.astype(complex) - other.astype(complex)), nan=1e300)
    index = np.unravel_index(np.argmax(gap), gap.shape)
    return f"{one[index]!r} against {other[index]!r} at {[int(k) for k in index]} of {one.shape} {one.dtype}"


def text_of(value: Any) -> str:
    return f"{value.kind}: {value.text:.200}" if isinstance(value, Error) else f"{value!r:.200}"
