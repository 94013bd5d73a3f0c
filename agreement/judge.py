"""Who is right where the two differ: torch's own float64 results for narrow dtypes, finite differences for derivatives,
torch's own gradient for a jvp at a kink.

Both judge by torch's results alone: finite differences, of the second order too, are those of its forward values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import numpy as np

from .inputs import Array, Dtypes, Scope, drawn
from .numbers import SMALLEST_SCALE, distance
from .observe import (
    COTANGENT,
    FUNCTIONAL,
    TANGENT,
    Library,
    Observation,
    Observe,
    as_numpy,
    floating,
    forward,
    gradient,
    jvp,
    observe,
    recorded,
    second,
)
from .samples import Sample

WIDEST = {"float32": "float64", "float16": "float64", "bfloat16": "float64", "complex64": "complex128"}
ROUNDING, SLOPES, TRANSPOSED = "rounding", "finite differences", "transposition"
NEAR_SLOPE = {"float64": 1e-5, "complex128": 1e-5, "float32": 5e-3, "complex64": 5e-3}  # relative


def judge(how: Observe, torch: Library, sample: Sample, dtype: str, theirs: Observation, ours: Observation) -> str:
    """What speaks for adjoint: ROUNDING, SLOPES, TRANSPOSED, or nothing."""
    if ours.error is not None:
        return ""
    try:
        if dtype in WIDEST and rounds_less(how, torch, sample, dtype, theirs, ours):
            return ROUNDING
        if dtype in NEAR_SLOPE and how is not forward and slopes_agree(how, torch, sample, dtype, theirs, ours):
            return SLOPES
        if how is jvp and transposes(torch, sample, dtype, theirs, ours):
            return TRANSPOSED
    except Exception:  # a sample that cannot be run in the wide dtype has no judge
        return ""
    return ""


def rounds_less(
    how: Observe, torch: Library, sample: Sample, dtype: str, theirs: Observation, ours: Observation
) -> bool:
    """Whether adjoint is at least as near as torch to what torch gets from the same inputs in the widest dtype."""
    exact = observe(how, torch, sample, WIDEST[dtype], rounded=dtype)
    if exact.error is not None or exact.facts != theirs.facts or exact.facts != ours.facts:
        return False
    error = error_of(exact, ours)
    return error < inf and error <= error_of(exact, theirs)


def error_of(exact: Observation, seen: Observation) -> float:
    """The largest error of all arrays, relative to the largest number of each; infinite if shapes differ."""
    if [shape_of(each) for each in exact.arrays] != [shape_of(each) for each in seen.arrays]:
        return inf
    pairs = zip(exact.arrays, seen.arrays, strict=True)
    return max((relative(one, other) for one, other in pairs if one is not None and other is not None), default=0.0)


def shape_of(array: Array | None) -> tuple[int, ...] | None:
    return None if array is None else array.shape


def relative(exact: Array, seen: Array) -> float:
    finite = np.abs(exact[np.isfinite(exact)])
    return float(distance(exact, seen).max(initial=0.0) / max(finite.max(initial=0.0), SMALLEST_SCALE))


def slopes_agree(
    how: Observe, torch: Library, sample: Sample, dtype: str, theirs: Observation, ours: Observation
) -> bool:
    """Whether central differences agree with adjoint's derivative along a direction, and not with torch's."""
    dtypes = Dtypes(WIDEST.get(dtype, dtype), dtype if dtype in WIDEST else "")
    ahead, behind = (SAMPLED[how](torch, sample, dtypes, step) for step in (STEP[how], -STEP[how]))
    slopes: list[Array | None] = [(one - other) / (2 * STEP[how]) for one, other in zip(ahead, behind, strict=True)]
    near = NEAR_SLOPE[dtype]
    return error_of(Observation(slopes), along(how, ours)) < near <= error_of(Observation(slopes), along(how, theirs))


def transposes(torch: Library, sample: Sample, dtype: str, theirs: Observation, ours: Observation) -> bool:
    """Whether adjoint's jvp is the transpose of torch's own gradient, and torch's jvp is not."""
    slope = along(gradient, observe(gradient, torch, sample, dtype))
    paired = [Observation([pairing(each.arrays, COTANGENT)]) for each in (ours, theirs)]
    return error_of(slope, paired[0]) < NEAR_SLOPE[dtype] <= error_of(slope, paired[1])


def along(how: Observe, seen: Observation) -> Observation:
    """The derivative in the direction of the tangents."""
    return seen if how is jvp else Observation([pairing(seen.arrays, TANGENT)])


def pairing(arrays: Sequence[Array | None], seed: int) -> Array:
    """The real inner product of arrays with tangents, or with cotangents."""
    return np.asarray(sum(product(each, seed, number) for number, each in enumerate(arrays) if each is not None))


def product(array: Array, *seed: int) -> float:
    """The real inner product with what is drawn for an array of this shape."""
    return float(np.sum(np.conj(array) * drawn(array.shape, str(array.dtype), *seed)).real)


def moved(torch: Library, tensor: Any, step: float, *seed: int) -> Any:
    """A tensor some way along the numbers that are drawn for it."""
    return tensor + step * torch.drawn(tensor, *seed)


def moved_results(torch: Library, sample: Sample, dtypes: Dtypes, step: float) -> list[Array]:
    """The results for inputs that are moved along their tangents."""
    scope = Scope(torch.module, sample, dtypes, lambda tensor, number: moved(torch, tensor, step, TANGENT, number))
    return [as_numpy(tensor) for tensor in floating(scope.compared(scope.result()))]


def moved_functional(torch: Library, sample: Sample, dtypes: Dtypes, step: float) -> list[Array]:
    """What the gradient is the gradient of: the pairing of results and cotangents."""
    outputs, _, _ = recorded(torch, sample, dtypes, lambda leaf, number: moved(torch, leaf, step, TANGENT, number))
    return [pairing([as_numpy(each) for each in outputs], COTANGENT)]


def moved_slope(torch: Library, sample: Sample, dtypes: Dtypes, step: float) -> list[Array]:
    """What second order is the gradient of, by inputs and cotangents: that functional's slope along random weights."""

    def at(aside: float) -> float:
        def leaf(tensor: Any, number: int) -> Any:
            ahead = moved(torch, tensor, step, TANGENT, number)
            return ahead + aside * torch.drawn(tensor, FUNCTIONAL, number)

        outputs, leaves, _ = recorded(torch, sample, dtypes, leaf)
        cotangents = (torch.drawn(each, COTANGENT, number) for number, each in enumerate(outputs))
        ahead = [moved(torch, each, step, TANGENT, len(leaves) + j) for j, each in enumerate(cotangents)]
        pairs = zip(outputs, ahead, strict=True)
        return sum(float(np.sum(np.conj(as_numpy(other)) * as_numpy(each)).real) for each, other in pairs)

    aside = STEP[second]
    return [np.asarray((at(aside) - at(-aside)) / (2 * aside))]


STEP: dict[Observe, float] = {jvp: 1e-5, gradient: 1e-5, second: 1e-4}
SAMPLED: dict[Observe, Callable[[Library, Sample, Dtypes, float], list[Array]]] = {
    jvp: moved_results,
    gradient: moved_functional,
    second: moved_slope,
}
