"""Experiments with each rule on the arrays of another library and on NumPy's, one function for each experiment.

An experiment has two arguments, a problem (a rule with arguments) and a library, and returns tensors. Both libraries
give the same values.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.arrays.libraries.standard_namespace import MissingFunction
from adjoint.func import jvp, vmap
from adjoint.rules import TABLE, derive
from adjoint.tensor.differentiate import grad
from adjoint.tensor.table import ops
from rules.test_table import Place, Problem, another, directions_at, kinds_of, noise_like, problems
from support import samples
from support.other_arrays import GapList, Library, compare, same, tensors_of

#: The outcomes of an experiment. REFUSED: NumPy's arrays are refused, too. LACKS: the library lacks a function.
RIGHT, REFUSED, LACKS, DIFFERS = "right", "refused on NumPy too", "not there", "differs"
ON_NUMPY = Library(np.asarray, lambda array: array, np.ndarray)
#: Rules that do not work on CuPy's arrays, with the reasons.
LISTED = GapList.read("cupy").gaps
#: The number of members of a batch.
MEMBERS = 3

Experiment = Callable[[Problem, Library], Any]
EXPERIMENTS: dict[str, Experiment] = {}


def experiment(function: Experiment) -> Experiment:
    """Add an experiment to the table."""
    EXPERIMENTS[function.__name__] = function
    return function


def arguments(problem: Problem, library: Library, at_places: dict[Place, Any]) -> dict[str, Any]:
    """The arguments as tensors of a library. `at_places` has the values of those with a derivative."""
    names = problem.rule.inputs + problem.rule.constants
    values = problem.values | {name: tensors_of(library, problem.values[name]) for name in names}
    for (name, number), value in at_places.items():
        if number is None:
            values[name] = value
        else:
            values[name] = [value if k == number else member for k, member in enumerate(values[name])]
    return values


def results(problem: Problem, values: dict[str, Any]) -> list[Any]:
    """The results with a derivative."""
    result = derive.call(problem.rule, ops, values)
    outputs = [result] if problem.rule.outputs is None else list(result)
    flags = problem.differentiable(problem.outputs())
    return [y for y, flag in zip(outputs, flags, strict=True) if flag]


def tensors_at(problem: Problem, library: Library, requires_grad: bool) -> dict[Place, Any]:
    """The arrays with a derivative, as tensors."""
    return {p: tensors_of(library, np.asarray(problem.at(p)), requires_grad) for p in problem.places}


def function_of(problem: Problem, library: Library) -> Callable[..., tuple[Any, ...]]:
    """The rule as a function of its arguments with a derivative."""

    def run(*points: Any) -> tuple[Any, ...]:
        return tuple(results(problem, arguments(problem, library, dict(zip(problem.places, points, strict=True)))))

    return run


@experiment
def forward(problem: Problem, library: Library) -> list[Any]:
    """Results and their tangents in forward mode."""
    directions = directions_at(problem, np.random.default_rng(1))
    points = tensors_at(problem, library, False)
    tangents = tuple([tensors_of(library, directions[p].astype(problem.at(p).dtype)) for p in points])
    outputs, result = jvp(function_of(problem, library), tuple(points.values()), tangents)
    return [*outputs, *result]


@experiment
def second(problem: Problem, library: Library) -> list[Any]:
    """Gradients with a history, and their gradients."""
    rng = np.random.default_rng(1)
    leaves = tensors_at(problem, library, True)
    outputs = results(problem, arguments(problem, library, leaves))
    drivers = [noise_like(np.empty(y.shape, y._array.dtype), rng).astype(y._array.dtype) for y in outputs]
    weights = [tensors_of(library, noise_like(problem.at(p), rng).astype(problem.at(p).dtype)) for p in leaves]
    starts = [tensors_of(library, driver) for driver in drivers]
    places = list(leaves.values())
    firsts = grad(outputs, places, starts, create_graph=True, materialize_grads=True)
    pairs = [(first, weight) for first, weight in zip(firsts, weights, strict=True) if first.requires_grad]
    if not pairs:
        return list(firsts)
    ends, along = zip(*pairs, strict=True)
    return [*firsts, *grad(ends, places, along, materialize_grads=True)]


@experiment
def batch(problem: Problem, library: Library) -> list[Any]:
    """Results of vmap over all arguments with a derivative."""
    rng = np.random.default_rng(1)
    columns = [[another(problem.at(position), rng) for _ in range(MEMBERS)] for position in problem.places]
    result = vmap(function_of(problem, library))(*[tensors_of(library, np.stack(column)) for column in columns])
    return list(result)


#: Experiments whose values and gradients are compared with the formulas themselves (support/other_arrays.py).
VALUE = "value"


def names() -> list[str]:
    """The pieces: rule, kind of numbers, experiment. Rules of sparse arrays are left out: their values are NumPy's."""
    return [
        f"rule/{rule.name}/{kind}/{name}"
        for rule in TABLE.values()
        if rule.name not in samples.SPARSE
        for kind in (kinds_of(rule) if rule.has_derivative else kinds_of(rule)[:1])
        for name in (VALUE, *(EXPERIMENTS if rule.has_derivative else ()))
    ]


def run(name: str, library: Library) -> dict[str, Any]:
    """Run one piece; its outcome, and the reason."""
    _, rule, kind, what = name.split("/")
    try:
        for problem in problems(TABLE[rule], kind):
            outcome = compare_values(problem, library) if what == VALUE else compare_runs(problem, library, what)
            if outcome is not None:
                return outcome
    except MissingFunction as error:
        return {"outcome": LACKS, "why": first_line(error)}
    except Exception as error:
        if rule in LISTED:
            return {"outcome": LACKS, "why": LISTED[rule]}
        return {"outcome": DIFFERS, "why": f"{type(error).__name__}: {first_line(error)}"}
    return {"outcome": RIGHT}


def compare_values(problem: Problem, library: Library) -> None:
    """Compare results and gradients."""
    compare(library, problem, np.random.default_rng(0))


def compare_runs(problem: Problem, library: Library, what: str) -> dict[str, Any] | None:
    """Compare an experiment on both libraries."""
    try:
        expected = EXPERIMENTS[what](problem, ON_NUMPY)
    except Exception as error:
        return {"outcome": REFUSED, "why": first_line(error)}
    result = EXPERIMENTS[what](problem, library)
    for tensor, ours in zip(result, expected, strict=True):
        same(library, tensor, np.asarray(ours._array))
    return None


def first_line(error: Exception) -> str:
    """The first line of an error, or the largest difference."""
    text = str(error).strip()
    if text.startswith("Not equal to tolerance"):
        lines = re.findall(r"M(?:ax|ismatched)[^\n]*", text)
        return ", ".join(lines)[:200]
    return text.split("\n")[0].strip()[:300]
