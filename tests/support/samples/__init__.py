"""Arguments for the tests of every declared rule, derived from its kind and signature, or from the file of a family.

A sample maps names of parameters to a `Draw` (a random array), a constant array, a list of these for a sequence, or a
plain value. Other parameters have their defaults. The modules of this package are the families. Each may define tables
and sets under the names below.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from adjoint.rules import Rule

from .draws import Draw, Sample

__all__ = ["COMPLEX_ONLY", "GAPS", "REAL_ONLY", "SPARSE", "WITHIN", "WRITTEN_INTO", "Draw", "samples_of"]

_families: list[ModuleType] = [
    importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)
]


def table(name: str) -> dict[str, Any]:
    """One table of all families together."""
    tables = [getattr(family, name, {}) for family in _families]
    merged = {key: value for entries in tables for key, value in entries.items()}
    if len(merged) < sum(map(len, tables)):
        raise ValueError(f"two families have an entry of the same name in {name}")
    return merged


def names(name: str) -> set[str]:
    """One set of names of all families together."""
    return set().union(*(getattr(family, name, ()) for family in _families))


#: Domains of the inputs of elementwise operations: (low, high) for all inputs, or by input.
DOMAINS: dict[str, tuple[float, float] | dict[str, tuple[float, float]]] = table("DOMAINS")
#: Samples besides those derived from the signature.
MORE: dict[str, list[Sample]] = table("MORE")
#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = table("SAMPLES")
#: Tests that do not apply, by a pattern of their names, with the reasons.
GAPS: dict[str, str] = table("GAPS")
#: Operations on real numbers only.
REAL_ONLY = names("REAL_ONLY")
#: Operations on complex numbers only.
COMPLEX_ONLY = names("COMPLEX_ONLY")
#: Operations on sparse arrays: the tests of dense ones do not apply, but those of tests/sparse_matrices.
SPARSE = names("SPARSE")
#: Operations whose derivative holds only within a set of inputs, and the function that takes any Tensor into this set.
WITHIN: dict[str, Callable[[Any], Any]] = table("WITHIN")
#: Operations whose result must fit into the first input. So the first input has a batch axis if another input has one.
WRITTEN_INTO = {"copy", "fill"}


def samples_of(rule: Rule) -> list[Sample]:
    """All samples of a rule. An empty list if its parameters have no source."""
    if rule.name in SAMPLES:
        return SAMPLES[rule.name]
    return [*derive(rule), *MORE.get(rule.name, ())]


def derive(rule: Rule) -> Iterator[Sample]:
    """Samples that the signature gives: for elementwise operations, one array, or axes that a core signature names."""
    filled = set(rule.inputs) | {p.name for p in rule.parameters if p.default is not p.empty}
    if set(rule.names) - filled or rule.sequence is not None:
        return
    lone_array = rule.kind in ("linear", "constant") and len(rule.names) == 1 and rule.core is None
    if rule.kind == "elementwise" or rule.core == "()->()" or lone_array:
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
    """The domain of one input of a rule."""
    interval = DOMAINS.get(rule.name, (-1.0, 1.0))
    return interval[name] if isinstance(interval, dict) else interval
