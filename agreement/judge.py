"""Decides which library is right if the two differ, for each sample, by a calculation from torch's own results.

For narrow dtypes, the calculation uses torch's results in float64. For derivatives, it uses differences of torch's
values or gradients. For a jvp at a kink, it uses torch's gradient. For a derivative that is NaN in torch, it uses
torch's result, which is a number. For strided inputs, it uses torch's results for contiguous inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any

import numpy as np

from .inputs import DIFFERENTIABLE, Array, Dtypes, Scope, random_array
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
    record,
    second,
)
from .samples import Sample

WIDEST = {"float32": "float64", "float16": "float64", "bfloat16": "float64", "complex64": "complex128"}
ROUNDING, SLOPES, TRANSPOSED, NUMBER, DTYPE, CONTIGUOUS = (
    "rounding", "finite differences", "transposition", "a number", "the result's dtype", "contiguous",
)  # fmt: skip
NEAR_SLOPE = {"float64": 1e-5, "complex128": 1e-5, "float32": 5e-3, "complex64": 5e-3}  # relative
ASIDE = 1e-4  # the step of mixed differences
NEAR_NUMBER = {**NEAR_SLOPE, "float16": 2e-2, "bfloat16": 1e-1}


@dataclass(frozen=True)
class Case:
    """A sample in a dtype and what both libraries observed there."""

    how: Observe
    torch: Library
    sample: Sample
    dtype: str
    theirs: Observation
    ours: Observation

    def observe_again(self, how: Observe, dtype: str = "", rounded: str = "") -> Observation:
        """Another observation of the same sample in torch, or its error."""
        return how(self.torch, self.sample, Dtypes(dtype or self.dtype, rounded))


def judge(how: Observe, torch: Library, sample: Sample, dtype: str, theirs: Observation, ours: Observation) -> str:
    """The key of JUDGES that decides for adjoint, or an empty text."""
    case = Case(how, torch, sample, dtype, theirs, ours)
    return "" if ours.error is not None else next((name for name, speaks in JUDGES.items() if holds(speaks, case)), "")


def holds(speaks: Callable[[Case], bool], case: Case) -> bool:
    """A sample that cannot be run in another way has no judge."""
    try:
        return speaks(case)
    except Exception:
        return False


def rounds_less(case: Case) -> bool:
    """Whether adjoint is at least as near as torch to torch's results for the same inputs in the widest dtype."""
    if case.dtype not in WIDEST:
        return False
    exact = case.observe_again(case.how, WIDEST[case.dtype], rounded=case.dtype)
    if exact.facts != case.theirs.facts or exact.facts != case.ours.facts:
        return False
    error = error_of(exact, case.ours)
    return error < inf and error <= error_of(exact, case.theirs)


def error_of(exact: Observation, approximate: Observation) -> float:
    """The largest error of all arrays, relative to the largest number of each; infinite if shapes differ."""
    if [shape_of(each) for each in exact.arrays] != [shape_of(each) for each in approximate.arrays]:
        return inf
    pairs = zip(exact.arrays, approximate.arrays, strict=True)
    return max((relative(one, other) for one, other in pairs if one is not None and other is not None), default=0.0)


def shape_of(array: Array | None) -> tuple[int, ...] | None:
    return None if array is None else array.shape


def relative(exact: Array, approximate: Array) -> float:
    finite = np.abs(exact[np.isfinite(exact)])
    return float(distance(exact, approximate).max(initial=0.0) / max(finite.max(initial=0.0), SMALLEST_SCALE))


def slopes_agree(case: Case) -> bool:
    """Whether central differences agree with adjoint's derivative along a direction, and not with torch's."""
    if case.dtype not in NEAR_SLOPE or case.how is forward:
        return False
    dtypes = Dtypes(WIDEST.get(case.dtype, case.dtype), case.dtype if case.dtype in WIDEST else "")
    where = partial(central, torch=case.torch, sample=case.sample, dtypes=dtypes)
    return any(prefers_ours(case, Observation(where(sampled, step))) for sampled, step in SAMPLED[case.how])


def prefers_ours(case: Case, slopes: Observation) -> bool:
    near = NEAR_SLOPE[case.dtype]
    return error_of(slopes, along(case.how, case.ours)) < near <= error_of(slopes, along(case.how, case.theirs))


def central(sampled: Sampled, step: float, torch: Library, sample: Sample, dtypes: Dtypes) -> list[Array | None]:
    """Central differences of what is sampled."""
    ahead, behind = (sampled(torch, sample, dtypes, aside) for aside in (step, -step))
    return [(one - other) / (2 * step) for one, other in zip(ahead, behind, strict=True)]


def transposes(case: Case) -> bool:
    """Whether adjoint's jvp is the transpose of torch's own gradient, and torch's jvp is not."""
    if case.how is not jvp:
        return False
    slope = along(gradient, case.observe_again(gradient))
    ours, theirs = (
        error_of(slope, Observation([pairing(each.arrays, COTANGENT)])) for each in (case.ours, case.theirs)
    )
    return ours < NEAR_SLOPE[case.dtype] <= theirs


def has_numbers(case: Case) -> bool:
    """Whether adjoint's derivative is a number where only torch's derivative is NaN, and equals torch's elsewhere."""
    if case.how is forward:
        return False
    results = [each for each in case.observe_again(forward).arrays if each is not None]
    pairs = [
        (theirs, ours)
        for theirs, ours in zip(case.theirs.arrays, case.ours.arrays, strict=True)
        if theirs is not None and ours is not None
    ]
    lacking = [np.isnan(theirs) & np.isfinite(ours) & number_mask(results, theirs) for theirs, ours in pairs]
    agree = all(
        agrees_elsewhere(theirs, ours, where, NEAR_NUMBER[case.dtype])
        for (theirs, ours), where in zip(pairs, lacking, strict=True)
    )
    return agree and any(where.any() for where in lacking)


def agrees_elsewhere(left: Array, right: Array, where: Array, near: float) -> bool:
    """Whether arrays agree except in some places; what is not finite agrees with what is not."""
    alike = where | ~(np.isfinite(left) | np.isfinite(right))
    return relative(np.where(alike, 0, left), np.where(alike, 0, right)) < near


def number_mask(results: list[Array], derivative: Array) -> Array:
    """Where no result is NaN: place by place for results of the derivative's shape, else as a whole."""
    places = [~(np.isnan(each) if each.shape == derivative.shape else np.isnan(each).any()) for each in results]
    return np.asarray(np.all(places, axis=0))


def tangents_have_dtypes(case: Case) -> bool:
    """Whether adjoint's tangents have the dtypes of torch's results, torch's have not, and the numbers agree."""
    if case.how is not jvp:
        return False
    dtypes = [dtype for dtype in case.observe_again(forward).dtypes if dtype in DIFFERENTIABLE]
    return (
        case.ours.dtypes == dtypes != case.theirs.dtypes
        and error_of(case.theirs, case.ours) < NEAR_SLOPE[coarsest(dtypes)]
    )


def contiguous_agrees(case: Case) -> bool:
    """Whether torch has adjoint's numbers if the same inputs lie contiguous in memory."""
    theirs = case.how(case.torch, case.sample, Dtypes(case.dtype, contiguous=True))
    near = NEAR_NUMBER.get(case.dtype, 0.0)
    return theirs.facts == case.ours.facts and error_of(theirs, case.ours) <= near < error_of(case.theirs, case.ours)


def coarsest(dtypes: list[str]) -> str:
    return next(dtype for dtype in ("complex64", "float32", "complex128", "float64") if dtype in dtypes)


def along(how: Observe, observation: Observation) -> Observation:
    """The derivative in the direction of the tangents."""
    return observation if how is jvp else Observation([pairing(observation.arrays, TANGENT)])


def pairing(arrays: Sequence[Array | None], seed: int) -> Array:
    """The real inner product of arrays with tangents, or with cotangents."""
    return np.asarray(sum(product(each, seed, number) for number, each in enumerate(arrays) if each is not None))


def product(array: Array, *seed: int) -> float:
    """The real inner product with the random numbers for an array of this shape."""
    return float(np.sum(np.conj(array) * random_array(array.shape, str(array.dtype), *seed)).real)


def displace(torch: Library, tensor: Any, step: float, *seed: int) -> Any:
    """A tensor plus a step along its random numbers."""
    return tensor + step * torch.random_like(tensor, *seed)


def moved_results(torch: Library, sample: Sample, dtypes: Dtypes, step: float) -> list[Array]:
    """The results for inputs that are moved along their tangents."""
    scope = Scope(torch.module, sample, dtypes, lambda tensor, number: displace(torch, tensor, step, TANGENT, number))
    return [as_numpy(tensor) for tensor in floating(scope.compared_value(scope.result()))]


def moved_functional(torch: Library, sample: Sample, dtypes: Dtypes, step: float) -> list[Array]:
    """The functional of the gradient: the product of results and cotangents."""
    outputs, _, _ = record(torch, sample, dtypes, lambda leaf, number: displace(torch, leaf, step, TANGENT, number))
    return [pairing([as_numpy(each) for each in outputs], COTANGENT)]


def moved_slope(torch: Library, sample: Sample, dtypes: Dtypes, step: float) -> list[Array]:
    """The functional of the second order: the slope of the first functional along random weights."""

    def at(aside: float) -> float:
        def leaf(tensor: Any, number: int) -> Any:
            ahead = displace(torch, tensor, step, TANGENT, number)
            return ahead + aside * torch.random_like(tensor, FUNCTIONAL, number)

        outputs, leaves, _ = record(torch, sample, dtypes, leaf)
        cotangents = (torch.random_like(each, COTANGENT, number) for number, each in enumerate(outputs))
        ahead = [displace(torch, each, step, TANGENT, len(leaves) + j) for j, each in enumerate(cotangents)]
        pairs = zip(outputs, ahead, strict=True)
        return sum(float(np.sum(np.conj(as_numpy(other)) * as_numpy(each)).real) for each, other in pairs)

    aside = ASIDE
    return [np.asarray((at(aside) - at(-aside)) / (2 * aside))]


def moved_gradient(torch: Library, sample: Sample, dtypes: Dtypes, step: float) -> list[Array]:
    """The same by torch's own gradient, which may be another than its values' slope by choice."""
    outputs, leaves, _ = record(
        torch, sample, dtypes, lambda leaf, number: displace(torch, leaf, step, TANGENT, number)
    )
    cotangents = (torch.random_like(each, COTANGENT, number) for number, each in enumerate(outputs))
    ahead = [displace(torch, each, step, TANGENT, len(leaves) + j) for j, each in enumerate(cotangents)]
    grads = torch.module.autograd.grad(outputs, leaves, ahead, allow_unused=True)
    return [pairing([None if each is None else as_numpy(each) for each in grads], FUNCTIONAL)]


Sampled = Callable[[Library, Sample, Dtypes, float], list[Array]]
SAMPLED: dict[Observe, tuple[tuple[Sampled, float], ...]] = {
    jvp: ((moved_results, 1e-5),),
    gradient: ((moved_functional, 1e-5),),
    second: ((moved_slope, ASIDE), (moved_gradient, 1e-5)),
}
JUDGES: dict[str, Callable[[Case], bool]] = {
    ROUNDING: rounds_less,
    SLOPES: slopes_agree,
    TRANSPOSED: transposes,
    NUMBER: has_numbers,
    DTYPE: tangents_have_dtypes,
    CONTIGUOUS: contiguous_agrees,
}
