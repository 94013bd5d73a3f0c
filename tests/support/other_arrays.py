"""Rules on the arrays of a library other than NumPy: the same results and gradients, or a gap with a reason."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from adjoint.core.graph import new_tensor
from adjoint.rules import Rule, derive
from adjoint.tensor.differentiate import grad
from adjoint.tensor.table import ops
from rules.test_table import Problem, cotangents_at, kinds_of, problems
from support import samples


class Library(NamedTuple):
    """The conversions between NumPy's arrays and those of a library. `kind` is the type of its arrays."""

    array: Callable[[np.ndarray], Any]
    numpy: Callable[[Any], np.ndarray]
    kind: type


class GapList(NamedTuple):
    """The rules that do not work on a library's arrays, with the reasons and the versions of the measurement.

    The list is in tests/data/NAME_gaps.json. Another version of a library may close a gap. Then the test is skipped
    with a message. `make gaps` compares each entry of a list with the installed versions.
    """

    name: str
    measured_with: dict[str, str]
    gaps: dict[str, str]

    @staticmethod
    def path(name: str) -> Path:
        return Path(__file__).parents[1] / "data" / f"{name}_gaps.json"

    @classmethod
    def read(cls, name: str) -> GapList:
        return cls(name, **json.loads(cls.path(name).read_text()))

    def write(self) -> None:
        record = {"measured_with": self.measured_with, "gaps": dict(sorted(self.gaps.items()))}
        self.path(self.name).write_text(json.dumps(record, indent=2) + "\n")

    def check(self, library: Library, rule: Rule, every_kind: bool = False) -> None:
        """Fail if a rule does not work and is not in the list. Skip, with the reason, if a rule of the list works."""
        if rule.name in samples.SPARSE:
            pytest.skip("the values of sparse arrays are NumPy's")
        failure = failure_of(library, rule, every_kind)
        if rule.name not in self.gaps:
            assert failure is None, failure
        elif failure is None:
            listed = ", ".join(f"{package} {number}" for package, number in self.measured_with.items())
            here = ", ".join(f"{package} {number}" for package, number in versions_of(self.measured_with).items())
            pytest.skip(f"{rule.name} works with {here}; it did not with {listed} (make gaps)")


def versions_of(packages: Iterable[str]) -> dict[str, str]:
    """The versions of packages that are installed."""
    return {package: version(package) for package in packages}


def tensors_of(library: Library, value: Any, requires_grad: bool = False) -> Any:
    """A tensor over the library's array for an array of NumPy's; members of a list likewise; anything else as it is."""
    if isinstance(value, list):
        return [tensors_of(library, item, requires_grad) for item in value]
    if not isinstance(value, np.ndarray):
        return value
    tensor = new_tensor(library.array(value))
    tensor.requires_grad = requires_grad and value.dtype.kind in "fc"
    return tensor


def compare(library: Library, problem: Problem, rng: np.random.Generator) -> None:
    """Results and gradients are arrays of the library, and have NumPy's values."""
    rule = problem.rule
    names = {name for name, _ in problem.places}
    values = problem.values | {
        name: tensors_of(library, problem.values[name], name in names) for name in rule.inputs + rule.constants
    }
    result = derive.call(rule, ops, values)
    outputs = [result] if rule.outputs is None else list(result)
    for y, expected in zip(outputs, problem.outputs(), strict=True):
        same(library, y, expected)
    leaves = [problem.at(key, values) for key in problem.places]
    if not rule.has_derivative or not leaves:
        return
    cotangents = cotangents_at(problem, rng)
    pairs = [
        (y, tensors_of(library, u.astype(e.dtype)))
        for y, u, e in zip(outputs, cotangents, problem.outputs(), strict=True)
        if y.requires_grad
    ]
    ends, drivers = zip(*pairs, strict=True)
    try:
        expected = problem.vjp(cotangents)
    except RuntimeError as refusal:
        # eigenvectors are determined up to a phase, so not every function of them has a gradient
        with pytest.raises(RuntimeError, match=re.escape(str(refusal))):
            grad(ends, leaves, drivers)
        return
    gradients = grad(ends, leaves, drivers, materialize_grads=True)
    for key, gradient in zip(problem.places, gradients, strict=True):
        same(library, gradient, expected[key])


def same(library: Library, tensor: Any, expected: np.ndarray) -> None:
    assert isinstance(tensor._array, library.kind), type(tensor._array)
    array = library.numpy(tensor._array)
    assert array.dtype == expected.dtype, (array.dtype, expected.dtype)
    np.testing.assert_allclose(array, expected, 1e-6, 1e-6)


def failure_of(library: Library, rule: Rule, every_kind: bool = False) -> str | None:
    """The first error that a rule gives on the library's arrays, in one line; None if there is none."""
    rng = np.random.default_rng(0)
    # an operation without a derivative may not be defined for complex numbers
    kinds = kinds_of(rule) if every_kind and rule.has_derivative else kinds_of(rule)[:1]
    for problem in itertools.chain.from_iterable(problems(rule, kind) for kind in kinds):
        try:
            compare(library, problem, rng)
        except Exception as error:
            return f"{type(error).__name__}: {str(error).strip()}".split("\n")[0].strip()
    return None
