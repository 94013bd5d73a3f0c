"""Tests of every rule, by its declaration: derivatives, both paths, batch form, in-place form, layouts.

A derivative is right if it agrees with central differences in random directions. Complex directions follow torch's
convention vjp = J^H g, so Re <g, J v> = Re <J^H g, v>.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from fnmatch import fnmatch
from typing import Any

import numpy as np
import pytest

import adjoint  # noqa: F401  (declares the operations and the class of Tensors)
from adjoint.autograd.profiler import profile
from adjoint.core.graph import new_tensor, project
from adjoint.core.recorded import operations, raw_ops
from adjoint.func import jet, jvp
from adjoint.program.fused import Fused
from adjoint.rules import TABLE, Rule, derive
from adjoint.runtime import crossovers
from adjoint.solvers.structure.tracing import pattern
from adjoint.tensor.differentiate import grad
from adjoint.tensor.table import ops as tensor_ops
from adjoint.tensor.transposed_jvp import transposed_jvp
from support import samples

NUMPY = raw_ops(np.zeros(0))
STEP = 1e-6
Place = tuple[str, int | None]


# one rule at one point ----------------------------------------------------------------------------------------------


class Problem:
    """A rule, its arguments, and the places (name, number in a sequence) by which it is differentiated."""

    def __init__(self, rule: Rule, values: dict[str, Any]) -> None:
        self.rule = rule
        self.values = values
        covered = {name for formula in rule.vjps for name in formula.inputs}
        self.places = [p for p in places(rule, values) if p[0] in covered and is_inexact(self.at(p))]

    def __repr__(self) -> str:
        return ", ".join(f"{n}={getattr(v, 'shape', v)!r:.60}" for n, v in self.values.items())

    def at(self, position: Place, values: dict[str, Any] | None = None) -> Any:
        name, i = position
        value = (self.values if values is None else values)[name]
        return value if i is None else value[i]

    def put(self, new: dict[Place, Any]) -> dict[str, Any]:
        """The arguments with new values at some places."""
        values = {n: list(v) if n == self.rule.sequence else v for n, v in self.values.items()}
        for (name, i), value in new.items():
            if i is None:
                values[name] = value
            else:
                values[name][i] = value
        return values

    def displace(self, directions: dict[Place, np.ndarray], step: float) -> Problem:
        return Problem(self.rule, self.put({p: np.asarray(self.at(p) + step * v) for p, v in directions.items()}))

    def outputs(self) -> list[np.ndarray]:
        return as_list(self.rule, derive.call(self.rule, NUMPY, self.values))

    def differentiable(self, outputs: list[Any]) -> list[bool]:
        flags = self.rule.differentiable or (True,) * len(outputs)
        return [flag and y.dtype.kind in "fc" for flag, y in zip(flags, outputs, strict=True)]

    def pack(self, outputs: list[Any]) -> Any:
        """One result, or a tuple of several, in the form that formulas take."""
        return outputs[0] if self.rule.outputs is None else tuple(outputs)

    def needs(self) -> tuple[bool, ...]:
        if self.rule.sequence is not None:
            return tuple((self.rule.sequence, i) in self.places for i in range(len(self.values[self.rule.sequence])))
        return tuple((name, None) in self.places for name in self.rule.inputs)

    def vjp(self, cotangents: list[np.ndarray]) -> dict[Place, np.ndarray]:
        """The raw vjp, reduced to the shape and dtype of each place."""
        y = self.pack(self.outputs())
        actual = derive.vjp(self.rule, NUMPY, self.pack(cotangents), self.values, y, self.needs())
        result = {}
        for name, i in self.places:
            array = self.at((name, i))
            cotangent = actual[name] if i is None else actual[name][i]
            none = cotangent is None
            result[name, i] = np.zeros_like(array) if none else project(cotangent, array.shape, array.dtype)
        return result

    def tangents(self, directions: dict[Place, Any]) -> dict[str, Any]:
        """Directions by input name, in the form that the jvp takes."""
        if self.rule.sequence is None:
            return {name: v for (name, _), v in directions.items()}
        members = range(len(self.values[self.rule.sequence]))
        return {self.rule.sequence: [directions.get((self.rule.sequence, i)) for i in members]}

    def tensors(self, requires_grad: bool) -> dict[str, Any]:
        """The arguments with a Tensor at each place. Other arrays become Tensors without a gradient."""
        wrapped = {p: tensor(self.at(p), requires_grad and p in self.places) for p in places(self.rule, self.values)}
        constants = {(n, None): tensor(self.values[n], False) for n in self.rule.constants}
        return self.put({**wrapped, **constants})


def places(rule: Rule, values: dict[str, Any]) -> list[Place]:
    """All places with an array among the inputs."""
    if rule.sequence is not None:
        return [(rule.sequence, i) for i in range(len(values[rule.sequence]))]
    return [(name, None) for name in rule.inputs if isinstance(values[name], np.ndarray)]


def is_inexact(array: np.ndarray) -> bool:
    return array.dtype.kind in "fc"


def as_list(rule: Rule, result: Any) -> list[np.ndarray]:
    return [np.asarray(y) for y in ((result,) if rule.outputs is None else result)]


def tensor(array: Any, requires_grad: bool) -> Any:
    if not isinstance(array, np.ndarray):
        return array
    result = new_tensor(array.copy())
    if requires_grad:
        result.requires_grad = True
    return result


def fill(rule: Rule, sample: dict[str, Any], rng: np.random.Generator, dtype: np.dtype[Any]) -> dict[str, Any]:
    """All arguments of a sample, with drawn arrays, and with axes counted from the front."""

    def draw(value: Any) -> Any:
        if isinstance(value, samples.Draw):
            return value(rng, dtype)
        return [draw(member) for member in value] if isinstance(value, list) else value

    values = {p.name: draw(sample.get(p.name, p.default)) for p in rule.parameters}
    arrays = rule.inputs + rule.constants
    first = next((values[n] for n in rule.names if n in arrays), None)
    first = first[0] if isinstance(first, list) else first
    return rule.normalize(values, getattr(first, "ndim", 0))


def directions_at(problem: Problem, rng: np.random.Generator) -> dict[Place, np.ndarray]:
    directions = {p: noise_like(problem.at(p), rng) for p in problem.places}
    within = samples.WITHIN.get(problem.rule.name)
    if within is None:
        return directions
    points = {p: tensor(problem.at(p), False) for p in directions}
    return {p: jvp(within, (points[p],), (tensor(v, False),))[1]._array for p, v in directions.items()}


def noise_like(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    noise = rng.standard_normal(array.shape)
    return np.asarray(noise + 1j * rng.standard_normal(array.shape) if array.dtype.kind == "c" else noise)


def cotangents_at(problem: Problem, rng: np.random.Generator) -> list[np.ndarray]:
    outputs = problem.outputs()
    flags = problem.differentiable(outputs)
    return [noise_like(y, rng) if flag else np.zeros(y.shape) for y, flag in zip(outputs, flags, strict=True)]


def inner(a: Any, b: Any) -> float:
    """The real inner product of two lists of arrays."""
    return float(sum(np.sum(np.conj(x) * y).real for x, y in zip(a, b, strict=True)))


def slopes(problem: Problem, directions: dict[Place, np.ndarray]) -> list[np.ndarray]:
    """Central differences of all differentiable results; zeros for the others."""
    after, before = problem.displace(directions, STEP).outputs(), problem.displace(directions, -STEP).outputs()
    flags = problem.differentiable(after)
    return [
        (b - a) / (2 * STEP) if flag else np.zeros(b.shape) for a, b, flag in zip(before, after, flags, strict=True)
    ]


def assert_close(actual: Any, expected: Any, tolerance: float = 1e-6) -> None:
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


# the cases ----------------------------------------------------------------------------------------------------------


def kinds_of(rule: Rule) -> list[str]:
    real, complex_ = rule.name not in samples.COMPLEX_ONLY, rule.name not in samples.REAL_ONLY
    return ["float64"] * real + ["complex128"] * complex_


def problems(rule: Rule, kind: str) -> Iterator[Problem]:
    rng = np.random.default_rng(zlib.crc32(rule.name.encode()))
    for sample in samples.samples_of(rule):
        problem = Problem(rule, fill(rule, sample, rng, np.dtype(kind)))
        if not rule.has_derivative or (any(problem.differentiable(problem.outputs())) and problem.places):
            yield problem


CHECKS: dict[str, Callable[[Problem, np.random.Generator], None]] = {}


def check(function: Callable[[Problem, np.random.Generator], None]) -> Any:
    CHECKS[function.__name__.removeprefix("check_")] = function
    return function


@check
def check_vjp(problem: Problem, rng: np.random.Generator) -> None:
    """The vjp agrees with central differences."""
    cotangents = cotangents_at(problem, rng)
    pulled = problem.vjp(cotangents)
    for _ in range(2):
        directions = directions_at(problem, rng)
        expected = inner(cotangents, slopes(problem, directions))
        assert_close(inner(pulled.values(), directions.values()), expected)


@check
def check_jvp(problem: Problem, rng: np.random.Generator) -> None:
    """The jvp agrees with central differences and is the transpose of the vjp."""
    directions = directions_at(problem, rng)
    tangents = problem.tangents(directions)
    if derive.without_jvp(problem.rule, tangents):
        result = transpose(problem, directions)
    else:
        result = derive.jvp(problem.rule, NUMPY, tangents, problem.values, problem.pack(problem.outputs()))
    compare_tangents(problem, result, directions, rng)


@check
def check_taylor(problem: Problem, rng: np.random.Generator) -> None:
    """The derivatives along a curve from series are those from nested forward mode."""
    places = problem.places
    curves = {p: [0.5 * directions_at(problem, rng)[p] for _ in range(2)] for p in places}
    primals = tuple(tensor(np.asarray(problem.at(p)), False) for p in places)

    def run(*points: Any) -> list[Any]:
        values = problem.put(dict(zip(places, points, strict=True)))
        values |= {name: tensor(values[name], False) for name in problem.rule.constants}
        result = derive.call(problem.rule, tensor_ops, values)
        outputs = [result] if problem.rule.outputs is None else list(result)
        flags = problem.differentiable([y._array for y in outputs])
        return [y for y, flag in zip(outputs, flags, strict=True) if flag]

    def along(t: Any) -> list[Any]:
        rows = zip(primals, curves.values(), strict=True)
        return run(*[x + new_tensor(first) * t + new_tensor(second) * (t * t / 2) for x, (first, second) in rows])

    outputs, series = jet(run, primals, tuple([new_tensor(np.asarray(v)) for v in rows] for rows in curves.values()))
    zero, one = tensor(np.array(0.0), False), tensor(np.array(1.0), False)
    first = jvp(along, (zero,), (one,))[1]
    second = jvp(lambda t: jvp(along, (t,), (one,))[1], (zero,), (one,))[1]
    for y, actual, *expected in zip(outputs, series, first, second, strict=True):
        for ours, other in zip(actual, expected, strict=True):
            assert ours.shape == y.shape
            assert ours._array.dtype == y._array.dtype
            assert_close(ours._array, other._array, 1e-9)


@check
def check_transposed(problem: Problem, rng: np.random.Generator) -> None:
    """The jvp that is derived from the vjp agrees with central differences, too."""
    directions = directions_at(problem, rng)
    compare_tangents(problem, transpose(problem, directions), directions, rng)


def transpose(problem: Problem, directions: dict[Place, np.ndarray]) -> Any:
    values = problem.tensors(requires_grad=False)
    y = derive.call(problem.rule, tensor_ops, values)
    tangents = problem.tangents({p: new_tensor(v) for p, v in directions.items()})
    result = transposed_jvp(problem.rule, tangents, values, y)
    arrays = [None if t is None else t._array for t in ((result,) if problem.rule.outputs is None else result)]
    return problem.pack(arrays)


def compare_tangents(
    problem: Problem, result: Any, directions: dict[Place, np.ndarray], rng: np.random.Generator
) -> None:
    actual = (result,) if problem.rule.outputs is None else result
    outputs = problem.outputs()
    flags = problem.differentiable(outputs)
    tangents = []
    for t, y, flag, slope in zip(actual, outputs, flags, slopes(problem, directions), strict=True):
        t = np.zeros_like(slope) if t is None or not flag else np.asarray(t)
        assert t.shape == y.shape
        assert not flag or t.dtype == y.dtype
        assert_close(t, slope)
        tangents.append(t)
    cotangents = cotangents_at(problem, rng)
    assert_close(inner(cotangents, tangents), inner(problem.vjp(cotangents).values(), directions.values()), 1e-9)


@check
def check_tensors(problem: Problem, rng: np.random.Generator) -> None:
    """Tensors give the kernel's value and the raw vjp's gradients, with and without recording and profiling."""
    cotangents = cotangents_at(problem, rng)
    expected = problem.vjp(cotangents)
    for create_graph, mode in ((False, nullcontext()), (True, nullcontext()), (False, profile())):
        with mode:
            outputs, result = record(problem, cotangents, create_graph)
        for y, array in zip(outputs, problem.outputs(), strict=True):
            assert y._array.dtype == array.dtype
            assert_close(y._array, array, 1e-12)
        for position, g in zip(problem.places, result, strict=True):
            assert g.shape == problem.at(position).shape
            assert g._array.dtype == problem.at(position).dtype
            assert_close(g._array, expected[position], 1e-12)


def record(problem: Problem, cotangents: list[Any], create_graph: bool) -> tuple[list[Any], tuple[Any, ...]]:
    """Results and gradients by Tensors. Cotangents may be Tensors that require a gradient."""
    values = problem.tensors(requires_grad=True)
    return recorded_from(problem, values, cotangents, create_graph)


def recorded_from(
    problem: Problem, values: dict[str, Any], cotangents: list[Any], create_graph: bool
) -> tuple[list[Any], tuple[Any, ...]]:
    result = derive.call(problem.rule, tensor_ops, values)
    outputs = [result] if problem.rule.outputs is None else list(result)
    leaves = [problem.at(p, values) for p in problem.places]
    pairs = [
        (y, u if not isinstance(u, np.ndarray) else new_tensor(u))
        for y, u in zip(outputs, cotangents, strict=True)
        if y.requires_grad
    ]
    ends, drivers = zip(*pairs, strict=True)
    return outputs, grad(ends, leaves, drivers, create_graph=create_graph, materialize_grads=True)


@check
def check_structure(problem: Problem, rng: np.random.Generator) -> None:
    """Both traced patterns, for all values and for these values, have each nonzero entry of the Jacobian."""
    expected = full_jacobian(problem)
    for is_local in (False, True):
        result = traced_pattern(problem, is_local)
        assert result.shape == expected.shape
        assert not np.any((np.abs(expected) > 1e-12) & ~result)


def ends_of(problem: Problem, leaf: Any) -> Any:
    """All differentiable results as one vector, as a function of one vector of all inputs."""
    parts, start = {}, 0
    for position in problem.places:
        array = problem.at(position)
        part = tensor_ops.reshape(leaf[start : start + array.size], array.shape)
        parts[position] = part if array.dtype.kind == "c" or leaf._array.dtype.kind != "c" else tensor_ops.real(part)
        start += array.size
    values = problem.put(parts)
    values |= {name: tensor(values[name], False) for name in problem.rule.constants}
    result = derive.call(problem.rule, tensor_ops, values)
    outputs = [result] if problem.rule.outputs is None else list(result)
    return tensor_ops.cat([tensor_ops.reshape(y, (-1,)) for y in outputs if y.requires_grad], 0)


def leaf_of(problem: Problem) -> Any:
    parts = [np.reshape(problem.at(position), -1) for position in problem.places]
    return tensor(np.concatenate(parts).astype(np.result_type(*parts)), True)


def full_jacobian(problem: Problem) -> np.ndarray:
    leaf = leaf_of(problem)
    end = ends_of(problem, leaf)
    total = np.zeros((end._array.size, leaf._array.size))
    for direction in (1, 1j) if end._array.dtype.kind == "c" else (1,):
        for row in range(len(total)):
            unit = np.zeros(end._array.shape, end._array.dtype)
            unit[row] = direction
            slope = grad(end, leaf, new_tensor(unit), retain_graph=True, materialize_grads=True)[0]
            total[row] += np.abs(slope._array)
    return total


def traced_pattern(problem: Problem, is_local: bool) -> np.ndarray:
    matrix, unseen = pattern(lambda leaf: ends_of(problem, leaf), leaf_of(problem), is_local)
    assert unseen == []
    return matrix.toarray()


@check
def check_second(problem: Problem, rng: np.random.Generator) -> None:
    """Double backward agrees with central differences of the vjp, by the inputs and by the cotangent."""
    cotangents = cotangents_at(problem, rng)
    flags = problem.differentiable(problem.outputs())
    weights = {p: noise_like(problem.at(p), rng) for p in problem.places}
    directions = directions_at(problem, rng)
    turns = [noise_like(u, rng) if flag else u * 0 for u, flag in zip(cotangents, flags, strict=True)]

    def weighted_sum(step: float) -> float:
        turned = [u + step * v for u, v in zip(cotangents, turns, strict=True)]
        ahead = problem.displace(directions, step).vjp(turned)
        return inner(weights.values(), ahead.values())

    expected = (weighted_sum(STEP) - weighted_sum(-STEP)) / (2 * STEP)
    values = problem.tensors(requires_grad=True)
    drivers = [tensor(u, flag) for u, flag in zip(cotangents, flags, strict=True)]
    _, firsts = recorded_from(problem, values, drivers, create_graph=True)
    leaves = [problem.at(p, values) for p in problem.places]
    inputs = [*leaves, *(u for u, flag in zip(drivers, flags, strict=True) if flag)]
    pairs = [(g, new_tensor(weights[p])) for p, g in zip(problem.places, firsts, strict=True) if g.requires_grad]
    seconds: Any = [new_tensor(np.zeros(w.shape)) for w in inputs]
    if pairs:
        ends, seeds = zip(*pairs, strict=True)
        seconds = grad(ends, inputs, seeds, materialize_grads=True)
    along = [*directions.values(), *(v for v, flag in zip(turns, flags, strict=True) if flag)]
    assert_close(inner((s._array for s in seconds), along), expected, 1e-5)


@check
def check_layout(problem: Problem, rng: np.random.Generator) -> None:
    """Strided, reversed and column-major arrays give the results of row-major arrays."""
    strided = Problem(problem.rule, problem.put({p: with_gaps(problem.at(p)) for p in problem.places}))
    for a, b in zip(strided.outputs(), problem.outputs(), strict=True):
        assert_close(a, b, 1e-10)
    cotangents = cotangents_at(problem, rng)
    actual, expected = strided.vjp([with_gaps(u) for u in cotangents]), problem.vjp(cotangents)
    for position in problem.places:
        assert_close(actual[position], expected[position], 1e-10)


def with_gaps(array: np.ndarray) -> np.ndarray:
    """The same values, with every axis reversed, in every second element of a column-major buffer."""
    if not array.ndim:
        return array
    buffer = np.zeros([2 * n for n in array.shape], array.dtype, order="F")
    view = buffer[(slice(None, None, -2),) * array.ndim]
    view[...] = array
    return view


@check
def check_inplace(problem: Problem, rng: np.random.Generator) -> None:
    """The variant that overwrites its first argument gives the same value and the same gradients."""
    rule, first = problem.rule, problem.rule.inputs[0]
    array, (y, *_) = problem.values[first], problem.outputs()
    if not isinstance(array, np.ndarray) or y.shape != array.shape or y.dtype != array.dtype:
        return
    cotangents = cotangents_at(problem, rng)
    values = problem.tensors(requires_grad=True)
    target = tensor_ops.clone(values[first])
    by_name = {p.name: values[p.name] for p in rule.parameters if p.kind is p.KEYWORD_ONLY}
    rest = [values[n] for n in rule.names[1:] if n not in by_name]
    result = operations[rule.name].inplace((target, *rest), by_name)
    assert result is target
    assert_close(target._array, y, 1e-12)
    leaves = [problem.at(p, values) for p in problem.places]
    gradients = grad(target, leaves, new_tensor(cotangents[0]), materialize_grads=True)
    expected = problem.vjp(cotangents)
    for position, g in zip(problem.places, gradients, strict=True):
        assert_close(g._array, expected[position], 1e-12)


@check
def check_batch(problem: Problem, rng: np.random.Generator) -> None:
    """The batch form gives the results of a loop, whichever arrays have the batch axis, at any position."""
    rule = problem.rule
    names = [n for n in rule.inputs + rule.constants if isinstance(problem.values[n], (np.ndarray, list))]
    subsets = {tuple(names), *((name,) for name in names), tuple(n for n in names if n in rule.inputs)}
    if rule.name in samples.WRITTEN_INTO:
        subsets = {subset for subset in subsets if rule.inputs[0] in subset}
    for subset, last in itertools.product(sorted(subsets - {()}), (False, True)):
        members = [problem.put({p: another(problem.at(p), rng) for p in spots(problem, subset)}) for _ in range(3)]
        values, in_dims = dict(problem.values), {}
        for name in subset:
            columns = [member[name] for member in members]
            values[name], in_dims[name] = stack(columns, last)
        result, out_dim = derive.batch(rule, NUMPY, values, in_dims)
        if out_dim is None:
            assert all(derive.call(rule, NUMPY, member) == result for member in members)
            continue
        assert out_dim == 0
        each = [as_list(rule, derive.call(rule, NUMPY, member)) for member in members]
        for actual, expected in zip(as_list(rule, result), zip(*each, strict=True), strict=True):
            assert actual.shape == (3, *expected[0].shape), (subset, last)
            assert_close(actual, np.stack(expected), 1e-10)


@check
def check_programs(problem: Problem, rng: np.random.Generator) -> None:
    """Kernel and formulas give the same results as programs, which large arrays use, and without programs."""
    rule = problem.rule
    names = [n for n in rule.inputs + rule.constants if isinstance(problem.values[n], np.ndarray)]
    if rule.sequence is not None:
        return
    inputs = [np.asarray(problem.values[n], order="C") for n in names]

    def kernel(*arrays: Any) -> Any:
        return derive.call(rule, NUMPY, {**problem.values, **dict(zip(names, arrays, strict=True))})

    def formulas(g: Any, y: Any, *arrays: Any) -> Any:
        values = {**problem.values, **dict(zip(names, arrays, strict=True))}
        actual = derive.vjp(rule, NUMPY, g, values, y, problem.needs())
        return tuple([actual.get(name) for name in rule.inputs])

    y = problem.pack(problem.outputs())
    g = problem.pack(cotangents_at(problem, rng))
    for function, arguments in ((kernel, inputs), (formulas, [g, y, *inputs])):
        expected, actual = function(*arguments), Fused(function).call(list(arguments), False)
        if not isinstance(expected, tuple):
            expected, actual = (expected,), (actual,)
        for a, b in zip(actual, expected, strict=True):
            if b is None:
                assert a is None
                continue
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-14)


@pytest.fixture(autouse=True)
def _programs_of_small_arrays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(crossovers, "SHORTEST_ROW", 1)
    monkeypatch.setattr(crossovers, "THREADED", 1)
    before = crossovers.set_large(1)
    yield
    crossovers.set_large(before)


def spots(problem: Problem, names: tuple[str, ...]) -> list[Place]:
    constants = [(n, None) for n in problem.rule.constants if n in names]
    return [p for p in places(problem.rule, problem.values) if p[0] in names] + constants


def another(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Other valid values: a small step further, or the same indices in another order."""
    if array.dtype.kind in "fc":
        return np.asarray(array * (1 + 0.1 * rng.random()))
    return array if array.ndim == 0 or rng.random() < 0.3 else np.flip(array, -1).copy()


def stack(columns: list[Any], last: bool) -> tuple[Any, Any]:
    """Members of a batch as one array, with the batch axis. For a sequence: a list of arrays, and a list of axes."""
    if isinstance(columns[0], list):
        pairs = [stack(list(column), last) for column in zip(*columns, strict=True)]
        return [a for a, _ in pairs], [d for _, d in pairs]
    axis = columns[0].ndim if last else 0
    return np.stack(columns, axis), axis


# the tests ----------------------------------------------------------------------------------------------------------

DIFFERENTIABLE = [rule for rule in TABLE.values() if rule.has_derivative]


def case(rule: Rule, kind: str, name: str) -> Any:
    identity = f"{rule.name}-{kind}-{name}"
    reason = next((why for pattern, why in samples.GAPS.items() if fnmatch(identity, pattern)), None)
    return pytest.param(rule, kind, name, id=identity, marks=[pytest.mark.skip(reason=reason)] if reason else [])


CASES = [
    case(rule, kind, name)
    for rule in DIFFERENTIABLE
    for kind in kinds_of(rule)
    for name in CHECKS
    if (name != "inplace" or rule.inplace) and (name != "programs" or kind == "float64")
] + [case(rule, "float64", "batch") for rule in TABLE.values() if not rule.has_derivative]


@pytest.mark.quick(600)
@pytest.mark.parametrize(("rule", "kind", "name"), CASES)
def test_rule(rule: Rule, kind: str, name: str) -> None:
    rng = np.random.default_rng(0)
    tried = 0
    for problem in problems(rule, kind):
        try:
            CHECKS[name](problem, rng)
        except Exception as error:
            error.add_note(f"in sample {tried} of {rule.name}: {problem}")
            raise
        tried += 1
    assert tried, f"no sample of {rule.name} has a differentiable {kind} result; give one in samples.py"


@pytest.mark.parametrize("rule", TABLE.values(), ids=list(TABLE))
def test_every_rule_has_a_sample(rule: Rule) -> None:
    assert samples.samples_of(rule), f"{rule.name} has no sample: say in samples.py how to fill {rule.names}"


#: Operands whose type another operation has refused before. It is the operation whose derivative this one is part of,
#: or SciPy's function of the order of a Bessel function.
CHECKED_BEFORE = {
    "drawn_around": ("mean", "std"), "drawn_with_chances": ("input", "p"), "iv": ("v",), "joined_pairs": ("input",),
    "kv": ("v",), "mish_gate": ("input",), "nll_spread": ("input",), "normal_hazard": ("input",),
    "places_in_drawn_windows": ("input",),
}  # fmt: skip


#: Operations that torch does not have. They refuse arguments with NumPy's messages, like SciPy's functions.
OF_SCIPY = {
    "agm", "bessel_i", "bessel_j", "cbrt", "ellipe", "ellipeinc", "ellipk", "ellipkinc", "erfcinv", "exprel",
    "jacobi_elliptic", "special_function_of_two", "times_power_of_two",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(samples.REAL_ONLY))
def test_operations_on_real_numbers_refuse_complex_operands_or_are_right(name: str) -> None:
    rule, rng = TABLE[name], np.random.default_rng(0)
    problem = next(problems(rule, "float64"))
    operands = [position for position in places(rule, problem.values) if is_inexact(problem.at(position))]
    assert operands
    for position in operands:
        if position[0] in CHECKED_BEFORE.get(name, ()):
            continue
        array = problem.at(position)
        turned = Problem(rule, problem.put({position: np.asarray(array + 0.1j * noise_like(array, rng))}))
        turned.places = [position]
        refusal = refusal_of(turned)
        if refusal:
            assert name in OF_SCIPY or "not supported for the input types" not in refusal
        else:
            check_vjp(turned, rng)
            check_jvp(turned, rng)


def refusal_of(problem: Problem) -> str:
    """The error message of an operation that refuses its arguments; an empty text if it has a value."""
    try:
        derive.call(problem.rule, tensor_ops, problem.tensors(requires_grad=False))
    except (NotImplementedError, RuntimeError, TypeError) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("data", ["SAMPLES", "MORE", "DOMAINS", "REAL_ONLY", "COMPLEX_ONLY", "WITHIN", "WRITTEN_INTO"])
def test_data_names_no_operation_that_is_not_declared(data: str) -> None:
    assert set(getattr(samples, data)) <= set(TABLE)


def test_every_gap_is_one() -> None:
    identities = [case.id for case in CASES]
    assert [pattern for pattern in samples.GAPS if not any(fnmatch(i, pattern) for i in identities)] == []
