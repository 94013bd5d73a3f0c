"""Arguments on which every declared rule is tested: derived from its kind and signature, or given here.

A sample maps parameter names to a `Draw` (an array drawn at random), a constant array, a list of such for a sequence,
or a plain value. Parameters that it does not mention have their defaults.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from adjoint.rules import Rule

Sample = dict[str, Any]


class Draw(NamedTuple):
    """An array of numbers drawn between two bounds (real and imaginary part alike), then perhaps transformed."""

    shape: tuple[int, ...] = ()
    low: float = -1.0
    high: float = 1.0
    then: Callable[[np.ndarray], np.ndarray] | None = None
    real: bool = False

    def __call__(self, rng: np.random.Generator, dtype: np.dtype[Any]) -> np.ndarray:
        values = rng.uniform(self.low, self.high, self.shape)
        if dtype.kind == "c" and not self.real:
            values = values + 1j * rng.uniform(self.low, self.high, self.shape)
        values = np.asarray(values)
        return values if self.then is None else self.then(values)


def draw(*shape: int, **options: Any) -> Draw:
    return Draw(shape, **options)


def index(*values: Any) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def mask(*values: Any) -> np.ndarray:
    return np.array(values, dtype=bool)


# transformations ----------------------------------------------------------------------------------------------------


def adjoint_of(a: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(a, -1, -2))


def positive_definite(a: np.ndarray) -> np.ndarray:
    return a @ adjoint_of(a) + np.eye(a.shape[-1])


def well_conditioned(a: np.ndarray) -> np.ndarray:
    return a + 3 * np.eye(a.shape[-2], a.shape[-1])


def spread_apart(a: np.ndarray) -> np.ndarray:
    """Singular values and eigenvalues far from each other."""
    return a + np.diag(3.0 * np.arange(1, a.shape[-1] + 1))


def hermitian(a: np.ndarray) -> np.ndarray:
    return spread_apart(a + adjoint_of(a))


def apart(a: np.ndarray) -> np.ndarray:
    """No two values close to each other, so that order does not change within a finite difference."""
    rng = np.random.default_rng(a.size)
    return a * 1e-2 + rng.permutation(a.size).reshape(a.shape)


# data ---------------------------------------------------------------------------------------------------------------

#: Where the inputs of elementwise operations are drawn: (low, high) for all, or by input.
DOMAINS: dict[str, tuple[float, float] | dict[str, tuple[float, float]]] = {
    "acos": (-0.8, 0.8),
    "acosh": (1.2, 3.0),
    "asin": (-0.8, 0.8),
    "atanh": (-0.8, 0.8),
    "fmod": {"input": (-3.0, 3.0), "other": (0.8, 1.3)},
    "hypot": (0.5, 2.0),
    "log": (0.5, 2.0),
    "log10": (0.5, 2.0),
    "log1p": (-0.5, 2.0),
    "log2": (0.5, 2.0),
    "pow": {"input": (0.5, 2.0), "exponent": (-2.0, 2.0)},
    "reciprocal": (0.5, 2.0),
    "remainder": {"input": (-3.0, 3.0), "other": (0.8, 1.3)},
    "rsqrt": (0.5, 2.0),
    "sqrt": (0.5, 2.0),
    "true_divide": {"input": (-1.0, 1.0), "other": (0.5, 2.0)},
}

#: Operations on real numbers only.
REAL_ONLY = {
    "atan2",
    "ceil",
    "clamp",
    "complex",
    "exp2",
    "floor",
    "fmod",
    "hypot",
    "logaddexp",
    "maximum",
    "minimum",
    "relu",
    "remainder",
    "round",
    "sign",
    "softplus",
    "trunc",
}

#: Operations on complex numbers only.
COMPLEX_ONLY = {"imag"}

#: Samples besides those derived from the signature, or instead of them where that cannot fill all parameters.
SAMPLES: dict[str, list[Sample]] = {
    "add": [{"input": draw(2, 3), "other": draw(3), "alpha": 2.5}],
    "sub": [{"input": draw(2, 3), "other": draw(3), "alpha": 2.5}],
    "rsub": [{"input": draw(2, 3), "other": draw(3), "alpha": 2.5}],
    "clamp": [
        {"input": draw(2, 3), "min": draw(3, low=-0.5, high=-0.1), "max": draw(2, 1, low=0.1, high=0.5)},
        {"input": draw(4), "min": draw(4), "max": draw(4)},
        {"input": draw(4), "min": -0.25},
        {"input": draw(4), "max": draw(4)},
    ],
    "pow": [
        {"input": draw(2, 3), "exponent": 3},
        {"input": draw(4, low=0.5, high=2.0), "exponent": -1.5},
        {"input": 2.0, "exponent": draw(4)},
    ],
    "softplus": [{"input": draw(6), "beta": 3.0, "threshold": 1.0}],
    "where": [
        {"condition": mask([True, False, True], [False, False, True]), "input": draw(2, 3), "other": draw(3)},
        {"condition": mask(True, False), "input": draw(3, 1), "other": draw()},
        {"condition": mask(True, False), "input": draw(2), "other": 0.5},
    ],
    "copy": [{"input": draw(2, 3), "other": draw(3)}, {"input": draw(2, 3), "other": draw(2, 3)}],
    "fill": [{"input": draw(2, 3), "other": draw()}],
}

#: Checks that do not apply, by (operation, check), and why.
GAPS: dict[tuple[str, str], str] = {}

# derived samples ----------------------------------------------------------------------------------------------------


def samples_of(rule: Rule) -> list[Sample]:
    """All samples of a rule; none if no one says how to fill its parameters."""
    return [*SAMPLES.get(rule.name, ()), *derived(rule)]


def derived(rule: Rule) -> Iterator[Sample]:
    """Samples that the signature alone gives: for elementwise operations, and where a core signature names the axes."""
    filled = set(rule.inputs) | {p.name for p in rule.parameters if p.default is not p.empty}
    if set(rule.names) - filled or rule.sequence is not None:
        return
    if rule.kind == "elementwise" or rule.core == "()->()" or (rule.kind == "linear" and len(rule.names) == 1):
        required = [p.name for p in rule.parameters if p.name in rule.inputs and p.default is p.empty]
        for shapes in SHAPES[len(required)]:
            yield {name: Draw(shape, *domain(rule, name)) for name, shape in zip(required, shapes, strict=True)}
    elif rule.core is not None:
        yield from (core_sample(rule, batch) for batch in ((), (2,)))


#: Shapes for one and for two broadcasting inputs: plain, broadcast, empty, zero-dimensional.
SHAPES: dict[int, list[tuple[tuple[int, ...], ...]]] = {
    1: [((2, 3),), ((0, 3),), ((),)],
    2: [((2, 3), (2, 3)), ((2, 1), (3,)), ((0, 3), (3,)), ((), ()), ((2,), ())],
    3: [((2, 3), (2, 3), (2, 3)), ((2, 1), (3,), ()), ((0, 3), (3,), (1,)), ((), (), ())],
}

SIZES = {"m": 3, "k": 2, "n": 4, "p": 2, "b": 2}


def core_sample(rule: Rule, batch: tuple[int, ...]) -> Sample:
    groups = re.findall(r"\(([^)]*)\)", rule.core.split("->")[0])
    shapes = [tuple(SIZES[letter] for letter in re.findall(r"\w+", group)) for group in groups]
    return {name: Draw(batch + shape, *domain(rule, name)) for name, shape in zip(rule.inputs, shapes, strict=True)}


def domain(rule: Rule, name: str) -> tuple[float, float]:
    """Where one input of a rule is drawn."""
    found = DOMAINS.get(rule.name, (-1.0, 1.0))
    return found[name] if isinstance(found, dict) else found
