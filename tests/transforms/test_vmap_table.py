"""Every declared operation under vmap against a loop: values, gradients inside and outside, and two levels."""

from __future__ import annotations

import importlib.util
import itertools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.core.graph import new_tensor
from adjoint.core.recorded import operations
from adjoint.rules import TABLE, Rule
from adjoint.runtime.pytree import flatten

specification = importlib.util.spec_from_file_location("table", Path(__file__).parents[1] / "rules" / "test_table.py")
table = importlib.util.module_from_spec(specification)
specification.loader.exec_module(table)

N, M = 3, 2

#: Operations without array results, or with result shapes that depend on values.
REFUSED = {"argwhere", "masked_select"} | table.samples.SPARSE


class Case:
    """An operation as a function of its array arguments. Some arguments have one array for each member."""

    def __init__(self, rule: Rule, values: dict[str, Any], members: list[Any], names: tuple[str, ...]) -> None:
        self.rule, self.values, self.members, self.names = rule, values, members, names

    def call(self, **arrays: Any) -> list[Any]:
        values = {**self.values, **arrays}
        result = operations[self.rule.name].apply([values[name] for name in self.rule.names])
        return [result] if self.rule.outputs is None else list(result)

    def arguments(self, values: dict[str, Any], needs: bool = False) -> dict[str, Any]:
        results = {}
        for name in self.rule.inputs + self.rule.constants:
            value = values[name]
            if isinstance(value, list):
                results[name] = tuple(leaf(member, needs) for member in value)
            elif isinstance(value, np.ndarray):
                results[name] = leaf(value, needs and name in self.rule.inputs)
        return results

    def stacked_arguments(self, needs: bool = False) -> dict[str, Any]:
        """The arguments. Those with one array for each member are stacked."""
        stacked = dict(self.values)
        for name in self.names:
            columns = [member[name] for member in self.members]
            if isinstance(columns[0], list):
                stacked[name] = [np.stack(column) for column in zip(*columns, strict=True)]
            else:
                stacked[name] = np.stack(columns)
        return self.arguments(stacked, needs)

    def vmap_results(self, arrays: dict[str, Any]) -> list[Any]:
        keys = list(arrays)
        in_dims = tuple(0 if key in self.names else None for key in keys)
        return adjoint.vmap(lambda *args: self.call(**dict(zip(keys, args, strict=True))), in_dims)(*arrays.values())


def leaf(array: np.ndarray, needs: bool) -> Any:
    tensor = new_tensor(array.copy())
    if needs and array.dtype.kind in "fc":
        tensor.requires_grad = True
    return tensor


def flat(arrays: dict[str, Any]) -> list[Any]:
    values = itertools.chain.from_iterable(v if isinstance(v, tuple) else (v,) for v in arrays.values())
    return [value for value in values if value.requires_grad]


def cases(rule: Rule, kind: str, in_turn: bool = False) -> Iterator[Case]:
    """Cases in which all arguments are batched, and each one alone. With in_turn, each problem has one of these."""
    rng = np.random.default_rng(0)
    for turn, problem in enumerate(table.problems(rule, kind)):
        names = tuple(n for n in rule.inputs + rule.constants if isinstance(problem.values[n], (np.ndarray, list)))
        alone = names[turn % len(names) :][:1] if in_turn and names else names
        subsets = {names, *((name,) for name in alone)}
        if rule.name in table.samples.WRITTEN_INTO:
            subsets = {subset for subset in subsets if rule.inputs[0] in subset}
        for subset in sorted(subsets - {()}):
            members = [
                problem.put({p: table.another(problem.at(p), rng) for p in table.spots(problem, subset)})
                for _ in range(N)
            ]
            yield Case(rule, problem.values, members, subset)


RULES = [
    pytest.param(rule, kind, id=f"{rule.name}-{kind}")
    for rule in TABLE.values()
    if rule.name not in REFUSED
    for kind in (table.kinds_of(rule) if rule.has_derivative else ["float64"])
]


@pytest.fixture(autouse=True)
def _loops_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        # this warning appears once in a process
        warnings.filterwarnings("ignore", "Casting complex values to real")
        yield


@pytest.mark.parametrize(("rule", "kind"), RULES)
def test_values(rule: Rule, kind: str) -> None:
    for case in cases(rule, kind):
        result = case.vmap_results(case.stacked_arguments())
        each = [case.call(**case.arguments(member)) for member in case.members]
        for y, expected in zip(result, zip(*each, strict=True), strict=True):
            assert y._array.dtype == expected[0]._array.dtype
            np.testing.assert_allclose(y._array, np.stack([e._array for e in expected]), 1e-9, 1e-9)


#: The values decide about the number of classes, or about a complex result.
OF_VALUES = ("bincount", "matrix_function")


@pytest.mark.parametrize(("rule", "kind"), [case for case in RULES if case.values[0].name not in OF_VALUES])
def test_an_empty_batch(rule: Rule, kind: str) -> None:
    """Results have the shape and the dtype of a member's result, with and without a loop over members."""
    for case in cases(rule, kind):
        none = {name: empty(value) if name in case.names else value for name, value in case.stacked_arguments().items()}
        member = case.call(**case.arguments(case.members[0]))
        for y, expected in zip(case.vmap_results(none), member, strict=True):
            assert y.shape == (0, *expected.shape)
            assert y.dtype == expected.dtype


def empty(value: Any) -> Any:
    """An argument with an empty batch of its first member."""
    return tuple(member[:0] for member in value) if isinstance(value, tuple) else value[:0]


#: Factorizations whose vectors are determined up to a sign or a phase: only the gradients of values are compared.
VALUES = {"linalg_eig": 0, "linalg_eigh": 0, "linalg_svd": 1}


def weights_of(rule: Rule, outputs: list[Any], rng: np.random.Generator) -> list[Any]:
    weights = [new_tensor(table.noise_like(y._array, rng)) for y in outputs]
    return without_vectors(rule, weights)


def without_vectors(rule: Rule, weights: list[Any]) -> list[Any]:
    number = VALUES.get(rule.name)
    return [w if number is None or position == number else w * 0 for position, w in enumerate(weights)]


DIFFERENTIABLE = [case for case in RULES if case.values[0].has_derivative]


@pytest.mark.parametrize("create_graph", [False, True], ids=["raw", "recorded"])
@pytest.mark.parametrize(("rule", "kind"), DIFFERENTIABLE)
def test_gradients_of_a_mapped_function(rule: Rule, kind: str, create_graph: bool) -> None:
    """Gradients outside of vmap: an argument that all members share gets the sum of the members' gradients."""
    rng = np.random.default_rng(1)
    for case in cases(rule, kind):
        arrays = case.stacked_arguments(needs=True)
        leaves = flat(arrays)
        outputs = case.vmap_results(arrays)
        weights = weights_of(rule, outputs, rng)
        pairs = [(y, w) for y, w in zip(outputs, weights, strict=True) if y.requires_grad]
        if not pairs:
            continue
        ends, drivers = zip(*pairs, strict=True)
        gradients = adjoint.autograd.grad(ends, leaves, drivers, create_graph=create_graph, materialize_grads=True)

        again = case.stacked_arguments(needs=True)
        same = flat(again)
        ends, drivers = [], []
        for i in range(N):
            inputs = {name: pick(value, i) if name in case.names else value for name, value in again.items()}
            for y, w in zip(case.call(**inputs), weights, strict=True):
                if y.requires_grad:
                    ends.append(y)
                    drivers.append(w[i])
        expected = adjoint.autograd.grad(ends, same, drivers, materialize_grads=True)
        for a, b in zip(gradients, expected, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a.detach()._array, b._array, 1e-8, 1e-8)


def pick(value: Any, i: int) -> Any:
    return tuple(member[i] for member in value) if isinstance(value, tuple) else value[i]


@pytest.mark.parametrize(("rule", "kind"), DIFFERENTIABLE)
def test_gradients_inside_a_mapped_function(rule: Rule, kind: str) -> None:
    """Gradients inside of vmap: each member has one, also by arguments that all members share."""
    rng = np.random.default_rng(2)
    for case in cases(rule, kind):
        arrays = case.stacked_arguments(needs=True)
        keys = list(arrays)
        outputs = case.call(**case.arguments(case.members[0], needs=True))
        flags = [y.requires_grad for y in outputs]
        if not any(flags):
            continue
        weights = weights_of(rule, outputs, rng)

        def gradients(*values: Any, case: Case = case, keys: list[str] = keys, weights: Any = weights) -> Any:
            inputs = dict(zip(keys, values, strict=True))
            ends = case.call(**inputs)
            pairs = [(y, w) for y, w in zip(ends, weights, strict=True) if y.requires_grad]
            ends, drivers = zip(*pairs, strict=True)
            return adjoint.autograd.grad(ends, flat(inputs), drivers, materialize_grads=True)

        in_dims = tuple(0 if key in case.names else None for key in keys)
        result = adjoint.vmap(gradients, in_dims)(*arrays.values())
        each = [gradients(*case.arguments(member, needs=True).values()) for member in case.members]
        for g, expected in zip(result, zip(*each, strict=True), strict=True):
            np.testing.assert_allclose(g._array, np.stack([e._array for e in expected]), 1e-8, 1e-8)


@pytest.mark.parametrize(("rule", "kind"), DIFFERENTIABLE)
def test_batch_of_cotangents(rule: Rule, kind: str) -> None:
    """is_grads_batched gives the results of a loop over the cotangents, recorded or not."""
    rng = np.random.default_rng(3)
    for problem in table.problems(rule, kind):
        case = Case(rule, problem.values, [], ())
        arrays = case.arguments(problem.values, needs=True)
        leaves = flat(arrays)
        outputs = [y for y in case.call(**arrays) if y.requires_grad]
        drivers = [new_tensor(table.noise_like(np.zeros((N, *y.shape), y._array.dtype), rng)) for y in outputs]
        drivers = without_vectors(rule, drivers)
        for create_graph in (True, False):
            gradients = adjoint.autograd.grad(
                outputs, leaves, drivers, retain_graph=True, create_graph=create_graph, is_grads_batched=True,
                allow_unused=True,
            )  # fmt: skip
            for i in range(N):
                each = adjoint.autograd.grad(
                    outputs, leaves, [w[i] for w in drivers], retain_graph=True, allow_unused=True
                )
                for g, expected in zip(gradients, each, strict=True):
                    assert (g is None) == (expected is None)
                    if g is not None:
                        assert g.dtype == expected.dtype
                        np.testing.assert_allclose(g.detach()._array[i], expected._array, 1e-8, 1e-8)


@pytest.mark.parametrize(("rule", "kind"), RULES)
def test_two_levels(rule: Rule, kind: str) -> None:
    """Nested vmap, with the batch axes on all arguments or on different ones."""
    for case in cases(rule, kind, in_turn=True):
        arrays = case.stacked_arguments()
        doubled = {name: again(value) if name in case.names else value for name, value in arrays.items()}
        keys = list(arrays)
        in_dims = tuple(0 if key in case.names else None for key in keys)

        def call(*args: Any, case: Case = case, keys: list[str] = keys) -> Any:
            return case.call(**dict(zip(keys, args, strict=True)))

        inner = adjoint.vmap(call, in_dims)
        expected = inner(*arrays.values())
        for out_dims in (0, 1):
            for y, once in zip(adjoint.vmap(inner, in_dims, out_dims)(*doubled.values()), expected, strict=True):
                for j in range(M):
                    np.testing.assert_allclose(y.select(out_dims, j)._array, once._array, 1e-9, 1e-9)
        if len(case.names) < 2:
            continue
        # one argument has the outer axis, and all others have the inner axis
        first, rest = case.names[0], case.names[1:]
        values = {**case.arguments(case.values), **{name: arrays[name] for name in case.names}}
        outer = tuple(0 if key == first else None for key in keys)
        middle = tuple(0 if key in rest else None for key in keys)
        result = adjoint.vmap(adjoint.vmap(call, middle), outer)(*[values[key] for key in keys])
        for i in range(N):
            args = [pick(values[key], i) if key == first else values[key] for key in keys]
            for y, once in zip(result, adjoint.vmap(call, middle)(*args), strict=True):
                np.testing.assert_allclose(y[i]._array, once._array, 1e-9, 1e-9)


def again(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(again, value))
    return new_tensor(np.stack([value._array] * M))


# forward mode ---------------------------------------------------------------------------------------------------------


class Function:
    """An operation as a function of its floating point and complex arrays, with its other arguments fixed.

    arrays: all array arguments, one by one. places: the positions of the differentiated arrays. dims: their batch axes.
    """

    def __init__(self, case: Case, arguments: dict[str, Any]) -> None:
        self.case = case
        leaves, self.structure = flatten(arguments)
        self.arrays = tuple(leaves)
        self.places = [i for i, leaf in enumerate(leaves) if is_inexact(leaf)]
        names = [name for name, value in arguments.items() for _ in flatten(value)[0]]
        self.dims = tuple(0 if name in case.names else None for name in names)

    def values_of(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(values[i] for i in self.places)

    def __call__(self, members: tuple[Any, ...], arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        inputs = dict(zip(self.places, members, strict=True))
        values = self.structure.unflatten(inputs.get(i, array) for i, array in enumerate(arrays))
        outputs = self.case.call(**values)
        number = VALUES.get(self.case.rule.name)
        return tuple(y for position, y in enumerate(outputs) if is_inexact(y) and number in (None, position))

    def tangent(self, values: tuple[Any, ...], arrays: tuple[Any, ...], directions: tuple[Any, ...]) -> Any:
        return adjoint.func.jvp(lambda *x: self(x, arrays), values, directions)[1]

    def series(
        self: Any, values: tuple[Any, ...], arrays: tuple[Any, ...], *orders: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        rows = tuple(map(list, zip(*orders, strict=True)))
        return tuple(flatten(adjoint.func.jet(lambda *x: self(x, arrays), values, rows)[1])[0])


def is_inexact(tensor: Any) -> bool:
    return tensor._array.dtype.kind in "fc"


@pytest.mark.parametrize(("rule", "kind"), DIFFERENTIABLE)
def test_tangents_of_a_mapped_function(rule: Rule, kind: str) -> None:
    """jvp of vmap and vmap of jvp give the results of a loop of jvp."""
    rng = np.random.default_rng(4)
    for case in cases(rule, kind, in_turn=True):
        f = Function(case, case.stacked_arguments())
        x, dims = f.values_of(f.arrays), f.values_of(f.dims)
        if not x:
            continue
        v = tuple(new_tensor(table.noise_like(value._array, rng)) for value in x)

        each = []
        for i, member in enumerate(case.members):
            g = Function(case, case.arguments(member))
            along = tuple(t if dim is None else t[i] for t, dim in zip(v, dims, strict=True))
            each.append(g.tangent(g.values_of(g.arrays), g.arrays, along))
        expected = [np.stack([t._array for t in column]) for column in zip(*each, strict=True)]

        mapped_tangents = adjoint.vmap(f.tangent, (dims, f.dims, dims))(x, f.arrays, v)
        mapped = adjoint.vmap(f, (dims, f.dims))
        outside = adjoint.func.jvp(lambda *args, f=f, mapped=mapped: mapped(args, f.arrays), x, v)[1]
        for actual in (mapped_tangents, outside):
            for t, e in zip(actual, expected, strict=True):
                np.testing.assert_allclose(t._array, e, 1e-8, 1e-8)


@pytest.mark.parametrize(("rule", "kind"), DIFFERENTIABLE)
def test_series_of_a_mapped_function(rule: Rule, kind: str) -> None:
    """jet of vmap and vmap of jet give the results of a loop of jet. The series are shorter than the batch."""
    rng = np.random.default_rng(5)
    for case in cases(rule, kind, in_turn=True):
        f = Function(case, case.stacked_arguments())
        x, dims = f.values_of(f.arrays), f.values_of(f.dims)
        if not x:
            continue
        v = [tuple(new_tensor(table.noise_like(value._array, rng)) for value in x) for _ in range(N - 1)]

        each = []
        for i, member in enumerate(case.members):
            g = Function(case, case.arguments(member))
            along = [tuple(t if dim is None else t[i] for t, dim in zip(row, dims, strict=True)) for row in v]
            each.append(g.series(g.values_of(g.arrays), g.arrays, *along))
        expected = [np.stack([t._array for t in column]) for column in zip(*each, strict=True)]

        mapped_series = adjoint.vmap(f.series, (dims, f.dims, *(dims for _ in v)))(x, f.arrays, *v)
        outside = Function.series(adjoint.vmap(f, (dims, f.dims)), x, f.arrays, *v)
        for actual in (mapped_series, outside):
            for t, e in zip(actual, expected, strict=True):
                np.testing.assert_allclose(t._array, e, 1e-8, 1e-8)


@pytest.mark.parametrize(("rule", "kind"), DIFFERENTIABLE)
def test_jacobians_of_both_modes_agree(rule: Rule, kind: str) -> None:
    """jacfwd equals jacrev, also for complex numbers. Both report an operation that may not be holomorphic."""
    adapt = table.samples.WITHIN.get(rule.name, lambda x: x)
    for problem in table.problems(rule, kind):
        case = Case(rule, problem.values, [], ())
        f = Function(case, case.arguments(problem.values))
        x = f.values_of(f.arrays)
        both = []
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".* is not a holomorphic function", UserWarning)
            for jacobian in (adjoint.func.jacfwd, adjoint.func.jacrev):
                both.append(jacobian(lambda *args, f=f: f(tuple(map(adapt, args)), f.arrays), tuple(range(len(x))))(*x))
        for forward, reverse in zip(*[flatten(actual)[0] for actual in both], strict=True):
            assert forward.dtype == reverse.dtype
            np.testing.assert_allclose(forward._array, reverse._array, 1e-8, 1e-8)
