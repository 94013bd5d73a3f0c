"""Forward mode: tangents of every rule by Tensors, views and in-place operations, levels, texts of duals."""

from __future__ import annotations

import copy
import functools
import gc
import importlib.util
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.autograd import forward_ad
from adjoint.autograd.forward_ad import dual_level, make_dual, set_fwd_grad_enabled, unpack_dual
from adjoint.core.graph import new_tensor
from adjoint.core.modes.state import current
from adjoint.core.recorded import operations
from adjoint.rules import Rule, derive
from adjoint.tensor.table import ops
from adjoint.transforms import forward
from adjoint.transforms.duals import steps

specification = importlib.util.spec_from_file_location(
    "rule_table", Path(__file__).parents[1] / "rules" / "test_table.py"
)
table = importlib.util.module_from_spec(specification)
specification.loader.exec_module(table)
Problem, assert_close, inner = table.Problem, table.assert_close, table.inner


# every rule -----------------------------------------------------------------------------------------------------------


def duals(problem: Problem, tangents: dict[Any, Any], number: int, values: dict[str, Any]) -> dict[str, Any]:
    """The arguments as Tensors, with tangents of a level at some places."""
    dual_tensors = {p: forward.dual(problem.at(p, values), as_tensor(t), number) for p, t in tangents.items()}
    filled = {n: list(v) if n == problem.rule.sequence else v for n, v in values.items()}
    for (name, i), value in dual_tensors.items():
        if i is None:
            filled[name] = value
        else:
            filled[name][i] = value
    return filled


def as_tensor(value: Any) -> Any:
    return new_tensor(value.copy()) if isinstance(value, np.ndarray) else value


def run_rule(problem: Problem, values: dict[str, Any]) -> list[Any]:
    result = derive.call(problem.rule, ops, values)
    return [result] if problem.rule.outputs is None else list(result)


def call_in_place(problem: Problem, values: dict[str, Any]) -> list[Any]:
    """Run the in-place operation on a copy of its first argument."""
    rule = problem.rule
    by_name = {p.name: values[p.name] for p in rule.parameters if p.kind is p.KEYWORD_ONLY}
    rest = [values[n] for n in rule.names[1:] if n not in by_name]
    return [operations[rule.name].inplace((ops.clone(values[rule.inputs[0]]), *rest), by_name)]


def has_in_place(problem: Problem) -> bool:
    array, (y, *_) = problem.values[problem.rule.inputs[0]], problem.outputs()
    same = isinstance(array, np.ndarray) and y.shape == array.shape and y.dtype == array.dtype
    return problem.rule.inplace and same


def array_of(tangent: Any, like: Any) -> np.ndarray:
    return np.zeros_like(like._array) if tangent is None else tangent._array


Run = Callable[[Problem, dict[str, Any]], list[Any]]


def tangents_along(problem: Problem, directions: dict[Any, Any], run: Run) -> list[np.ndarray]:
    """The tangents of the results, zeros for results without one. Checks their layout."""
    with forward.level() as number:
        values = duals(problem, directions, number, problem.tensors(requires_grad=False))
        outputs = run(problem, values)
        results = [forward.tangent_of(y, number) for y in outputs]
        for y, t, flag in zip(outputs, results, problem.differentiable(problem.outputs()), strict=True):
            if not flag:
                assert t is None
            if t is not None:
                assert t._array.dtype == y._array.dtype
                assert t._array.shape == y._array.shape
                layout = steps(y._array)
                assert 0 in layout or steps(t._array) == layout
                assert y._view is not None or not any(
                    np.may_share_memory(t._array, forward.tangent_of(problem.at(p, values), number)._array)
                    for p in directions
                )
        return [array_of(t, y) for t, y in zip(results, outputs, strict=True)]


CHECKS: dict[str, Callable[[Problem, np.random.Generator, Run], None]] = {}


def check(function: Any) -> Any:
    CHECKS[function.__name__.removeprefix("check_")] = function
    return function


@check
def check_tangent(problem: Problem, rng: np.random.Generator, run: Run) -> None:
    """The tangent agrees with central differences, and forward mode is the transpose of reverse mode."""
    directions = table.directions_at(problem, rng)
    result = tangents_along(problem, directions, run)
    for t, slope in zip(result, table.slopes(problem, directions), strict=True):
        assert_close(t, slope)
    cotangents = table.cotangents_at(problem, rng)
    pulled = problem.vjp(cotangents)
    assert_close(inner(cotangents, result), inner(pulled.values(), directions.values()), 1e-9)


@check
def check_some(problem: Problem, rng: np.random.Generator, run: Run) -> None:
    """The same check with a tangent of only one argument."""
    for position, direction in table.directions_at(problem, rng).items():
        result = tangents_along(problem, {position: direction}, run)
        for t, slope in zip(result, table.slopes(problem, {position: direction}), strict=True):
            assert_close(t, slope)


@check
def check_second(problem: Problem, rng: np.random.Generator, run: Run) -> None:
    """Reverse over forward, forward over reverse, and forward over forward agree with differences of the vjp."""
    v, w = table.directions_at(problem, rng), table.directions_at(problem, rng)
    cotangents = table.cotangents_at(problem, rng)

    def along_v(step: float) -> float:
        return inner(problem.displace(w, step).vjp(cotangents).values(), v.values())

    expected = (along_v(table.STEP) - along_v(-table.STEP)) / (2 * table.STEP)
    for second in (reverse_over_forward, forward_over_reverse, forward_over_forward):
        assert_close(second(problem, cotangents, v, w, run), expected, 1e-5)


def reverse_over_forward(problem: Problem, cotangents: Any, v: Any, w: Any, run: Run) -> float:
    leaves = problem.tensors(requires_grad=True)
    with forward.level() as number:
        outputs = run(problem, duals(problem, v, number, leaves))
        results = [forward.tangent_of(y, number) for y in outputs]
        pairs = [
            (t, new_tensor(u)) for t, u in zip(results, cotangents, strict=True) if t is not None and t.requires_grad
        ]
        if not pairs:
            return 0.0
        ends, drivers = zip(*pairs, strict=True)
        inputs = [problem.at(p, leaves) for p in problem.places]
        gradients = table.grad(ends, inputs, drivers, materialize_grads=True)
        return inner([w[p] for p in problem.places], [g._array for g in gradients])


def forward_over_reverse(problem: Problem, cotangents: Any, v: Any, w: Any, run: Run) -> float:
    leaves = problem.tensors(requires_grad=True)
    with forward.level() as number:
        outputs = run(problem, duals(problem, w, number, leaves))
        pairs = [(y, new_tensor(u)) for y, u in zip(outputs, cotangents, strict=True) if y.requires_grad]
        ends, drivers = zip(*pairs, strict=True)
        inputs = [problem.at(p, leaves) for p in problem.places]
        gradients = table.grad(ends, inputs, drivers, materialize_grads=True)
        results = [array_of(forward.tangent_of(g, number), g) for g in gradients]
        return inner([v[p] for p in problem.places], results)


def forward_over_forward(problem: Problem, cotangents: Any, v: Any, w: Any, run: Run) -> float:
    with forward.level() as outer:
        values = duals(problem, w, outer, problem.tensors(requires_grad=False))
        with forward.level() as number:
            firsts = [forward.tangent_of(y, number) for y in run(problem, duals(problem, v, number, values))]
        seconds = [None if t is None else forward.tangent_of(t, outer) for t in firsts]
    pairs = [(u, t._array) for u, t in zip(cotangents, seconds, strict=True) if t is not None]
    return inner([u for u, _ in pairs], [t for _, t in pairs])


RULES = [
    pytest.param(rule, kind, name, id=f"{rule.name}-{kind}-{name}", marks=case.marks)
    for case in table.CASES
    if case.values[2] == "jvp"
    for rule, kind, name in [(*case.values[:2], name) for name in CHECKS]
]


@pytest.mark.quick(200)
@pytest.mark.parametrize(("rule", "kind", "name"), RULES)
def test_rule(rule: Rule, kind: str, name: str) -> None:
    rng = np.random.default_rng(0)
    for number, problem in enumerate(table.problems(rule, kind)):
        runs = [run_rule, call_in_place] if has_in_place(problem) else [run_rule]
        for run in runs:
            try:
                CHECKS[name](problem, rng, run)
            except Exception as error:
                error.add_note(f"in sample {number} of {rule.name}, {run.__name__}: {problem}")
                raise


# views and operations in place ----------------------------------------------------------------------------------------


X, T = [1.0, 2.0, 3.0], [1.0, 10.0, 100.0]


def tangent(tensor: Any) -> Any:
    """The tangent as a list, or None."""
    result = unpack_dual(tensor).tangent
    return None if result is None else result.tolist()


def fresh(values: Any = X, tangents: Any = T, **options: Any) -> Any:
    """A new dual that is not a view."""
    return make_dual(adjoint.tensor(values, **options), adjoint.tensor(tangents, **options)).clone()


VIEWS: dict[str, Callable[[Any], Any]] = {
    "getitem": lambda x: x[0, 1:],
    "reversed axes": lambda x: x.t(),
    "permute": lambda x: x.permute(1, 0),
    "view": lambda x: x.view(3, 2),
    "flat": lambda x: x.view(-1),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "squeeze": lambda x: x[:1].squeeze(0),
    "diagonal": lambda x: x.diagonal(),
    "step": lambda x: x[:, ::2],
    "view of a view": lambda x: x.t()[1].view(2, 1),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
@pytest.mark.parametrize("when", ["before", "after"])
def test_views_share_the_tangent_of_their_base(view: Any, when: str) -> None:
    values, other = adjoint.randn(2, 3), adjoint.randn(2, 3)
    with dual_level():
        base = values.clone()
        part = view(base) if when == "before" else None
        base.mul_(make_dual(adjoint.ones(2, 3), other))
        expected = values * other
        part = view(base) if part is None else part
        adjoint.testing.assert_close(unpack_dual(part).tangent, view(expected))
        # a write through the view changes the base's tangent, and a write to the base changes the view's
        part.mul_(3.0)
        view(expected).mul_(3.0)
        adjoint.testing.assert_close(unpack_dual(base).tangent, expected)
        base.mul_(2.0)
        adjoint.testing.assert_close(unpack_dual(part).tangent, view(expected) * 2)


@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
def test_in_place_on_a_view_gives_the_base_a_tangent(view: Any) -> None:
    base = adjoint.zeros(2, 3)
    part = view(base)
    with dual_level():
        source = adjoint.randn(part.shape)
        part.copy_(make_dual(adjoint.ones(part.shape), source))
        expected = adjoint.zeros(2, 3)
        view(expected).copy_(source)
        adjoint.testing.assert_close(unpack_dual(base).tangent, expected)
        adjoint.testing.assert_close(unpack_dual(part).tangent, source)


def test_views_that_overlap_share_a_tangent() -> None:
    base = adjoint.zeros(2, 2)
    row, column = base[0], base[:, 0]
    with dual_level():
        row.copy_(make_dual(adjoint.tensor([1.0, 2.0]), adjoint.tensor([5.0, 6.0])))
        assert tangent(column) == [5.0, 0.0]
        column.mul_(3.0)
        assert tangent(base) == [[15.0, 6.0], [0.0, 0.0]]
        assert tangent(row) == [15.0, 6.0]
        base.zero_()
        assert tangent(row) == [0.0, 0.0]
        assert tangent(column) == [0.0, 0.0]


def test_the_base_of_a_dual_has_no_tangent() -> None:
    base = adjoint.tensor(X)
    with dual_level():
        source = adjoint.tensor(T)
        d = make_dual(base, source)
        assert d._is_view()
        assert d._base is base
        d.mul_(2)
        assert base.tolist() == [2.0, 4.0, 6.0]
        assert tangent(base) is None
        # the tangent is not copied, so in-place operations change it
        assert unpack_dual(d).tangent is source
        assert source.tolist() == [2.0, 20.0, 200.0]


def test_a_base_that_gets_a_tangent_leaves_the_dual_its_own() -> None:
    base = adjoint.tensor(X)
    with dual_level():
        d = make_dual(base, adjoint.tensor(T))
        base.mul_(d)
        assert tangent(base) == [1.0, 20.0, 300.0]
        assert tangent(d) == T


@pytest.mark.parametrize(
    "layout",
    [
        pytest.param(adjoint.ones(1).expand(2, 3), id="expanded"),
        pytest.param(adjoint.ones(3, 2).t(), id="column major"),
        pytest.param(adjoint.ones(2, 6)[:, ::2], id="with gaps"),
    ],
)
def test_a_tangent_of_another_layout_is_copied(layout: Any) -> None:
    with dual_level():
        d = make_dual(adjoint.full((2, 3), 3.0), layout)
        assert unpack_dual(d).tangent is not layout
        assert unpack_dual(d).tangent.stride() == d.stride()
        assert tangent(d.view(6)) == [1.0] * 6
        d.mul_(d)
        assert tangent(d) == [[6.0] * 3] * 2
    assert layout.tolist() == [[1.0] * 3] * 2


def test_tangents_follow_the_layout_of_results() -> None:
    with dual_level():
        column_major = make_dual(adjoint.ones(3, 2).t(), adjoint.ones(3, 2).t())
        plain = adjoint.ones(2, 3)
        assert tangent((plain * column_major).reshape(-1)) == [1.0] * 6
        assert tangent(adjoint.matmul(column_major, plain.t()).view(-1)) == [3.0] * 4


@pytest.mark.parametrize("change", ["zero_", "fill_", "copy_", "round_"])
def test_constants_written_over_a_dual_take_its_tangent_away(change: str) -> None:
    arguments = {"fill_": (2.0,), "copy_": (adjoint.tensor(X),)}.get(change, ())
    with dual_level():
        d = fresh()
        getattr(d, change)(*arguments)
        assert tangent(d) == [0.0, 0.0, 0.0]
        part = fresh()
        arguments = tuple(a[1:] if isinstance(a, adjoint.Tensor) else a for a in arguments)
        getattr(part[1:], change)(*arguments)
        assert tangent(part) == [1.0, 0.0, 0.0]


def test_setitem() -> None:
    with dual_level():
        d = fresh()
        d[1] = 5.0
        assert tangent(d) == [1.0, 0.0, 100.0]
        d[0] = d[2]
        assert tangent(d) == [100.0, 0.0, 100.0]
        plain = adjoint.zeros(3)
        plain[2] = d[2]
        assert tangent(plain) == [0.0, 0.0, 100.0]
        plain[adjoint.tensor([0, 1])] = d[1:]
        assert tangent(plain) == [0.0, 100.0, 100.0]
        assert plain.tolist() == [5.0, 3.0, 3.0]
        plain[plain > 4] = d[0] * 2
        assert tangent(plain) == [200.0, 100.0, 100.0]


def test_results_do_not_share_memory_with_the_tangents_they_come_from() -> None:
    with dual_level():
        d = make_dual(adjoint.tensor(X), adjoint.tensor(T))
        for make in (lambda x: x + 1, lambda x: x.reshape(3).conj() + 0, lambda x: x.to(adjoint.float32, copy=True)):
            result = make(d)
            result.mul_(3.0)
            assert tangent(result) == [3.0, 30.0, 300.0]
            assert tangent(d) == T


def test_detach() -> None:
    with dual_level():
        d = fresh()
        assert tangent(d.detach()) is None
        assert tangent(d.detach()[1:]) is None
        assert tangent(d.data) is None
        detached = d.detach()
        detached.mul_(2)
        assert tangent(d) == T
        assert d.tolist() == [2.0, 4.0, 6.0]
        d.detach_()
        assert tangent(d) is None


def test_the_primal_of_a_dual_is_a_view_without_tangent() -> None:
    with dual_level():
        d = fresh()
        primal = unpack_dual(d).primal
        assert primal._is_view()
        assert tangent(primal) is None
        assert tangent(primal[1:]) is None
        assert [tangent(part) for part in primal.unbind()] == [None] * 3
        primal.mul_(d)
        assert tangent(primal) == [1.0, 20.0, 300.0]
        assert tangent(d) == T
        assert d.tolist() == [1.0, 4.0, 9.0]


def test_the_primal_of_a_tensor_without_tangent_is_a_view_inside_a_level() -> None:
    x = adjoint.tensor(X, requires_grad=True)
    with dual_level():
        primal, none = unpack_dual(x)
        assert none is None
        assert primal._base is x
        assert primal.grad_fn is not None
        y = adjoint.zeros(3)
        primal = unpack_dual(y).primal
        y.copy_(fresh())
        assert tangent(y) == T
        assert tangent(primal) is None


def test_no_grad_keeps_tangents() -> None:
    with dual_level():
        d = fresh()
        with adjoint.no_grad():
            assert tangent(d * 2) == [2.0, 20.0, 200.0]
            assert tangent(d.clone().mul_(2)) == [2.0, 20.0, 200.0]
            base = adjoint.zeros(2)
            base[0].copy_(d[1])
            assert tangent(base) == [10.0, 0.0]


def test_tangents_that_require_gradients() -> None:
    t = adjoint.tensor(T, requires_grad=True)
    x = adjoint.tensor(X, requires_grad=True)
    with dual_level():
        result = unpack_dual(make_dual(x, t) ** 3).tangent
        by_t, by_x = adjoint.autograd.grad(result.sum(), (t, x))
    assert by_t.tolist() == [3.0, 12.0, 27.0]
    assert by_x.tolist() == [6.0, 120.0, 1800.0]


def test_overwritten_values_can_still_be_differentiated() -> None:
    x = adjoint.tensor(X, requires_grad=True)
    with dual_level():
        d = (make_dual(x, adjoint.tensor(T)) * 1).clone()
        d.mul_(d)
        d.exp_()
        (gradient,) = adjoint.autograd.grad(unpack_dual(d).tangent.sum(), x)
    x64 = np.array(X)
    # d/dx of exp(x^2) 2 x t
    np.testing.assert_allclose(gradient.numpy(), np.exp(x64**2) * (4 * x64**2 + 2) * np.array(T), rtol=1e-5)


@pytest.mark.parametrize(("size", "stride"), [((2, 2, 3), (0, 3, 1)), ((2, 3), (1, 1)), ((2, 2, 2), (1, 2, 1))])
def test_tangents_of_elements_that_meet_meet(size: Any, stride: Any) -> None:
    """A write through one view appears in all other views, in the value and in the tangent."""
    with dual_level():
        x = adjoint.zeros(8).as_strided(size, stride).detach()
        x[0] = make_dual(adjoint.ones(size[1:]), adjoint.ones(size[1:]))
        primal, tangent = unpack_dual(x)
        assert tangent is not None and (tangent == primal).all() and primal[1].any()


def test_failed_operations_in_place_change_nothing() -> None:
    leaf = adjoint.tensor(X, requires_grad=True)
    with dual_level():
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used"):
            leaf.mul_(fresh())
        assert tangent(leaf) is None
        plain = adjoint.ones(3)
        with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
            plain.mul_(make_dual(adjoint.ones(2, 3), adjoint.ones(2, 3)))
        assert tangent(plain) is None
        assert plain.tolist() == [1.0] * 3
        with adjoint.no_grad():
            leaf.mul_(fresh())
        assert tangent(leaf) == [1.0, 20.0, 300.0]


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda d, x: adjoint.add(d, x, out=adjoint.zeros(3)), id="an argument"),
        pytest.param(lambda d, x: adjoint.add(x, x, out=d), id="the target"),
        pytest.param(lambda d, x: adjoint.add(x, x, out=d[:]), id="a view of the target"),
    ],
)
def test_out_is_refused(call: Any) -> None:
    message = "Trying to use forward AD with add_out that does not support it because it is an out="
    with dual_level(), pytest.raises(NotImplementedError, match=message):
        call(fresh(), adjoint.ones(3))


def test_out_of_a_sequence_is_refused() -> None:
    with dual_level(), pytest.raises(NotImplementedError, match="with cat_out that does not support it"):
        adjoint.cat([adjoint.ones(3), fresh()], out=adjoint.zeros(6))


def test_integer_results_have_no_tangents() -> None:
    with dual_level():
        d = fresh()
        for result in (d > 1, d.argmax(), d.to(adjoint.int64), d.to(adjoint.int64).to(adjoint.float32), d.isnan()):
            assert tangent(result) is None
        target = adjoint.zeros(3, dtype=adjoint.int64)
        target.copy_(d)
        assert tangent(target) is None
        assert target.tolist() == [1, 2, 3]


def test_several_results() -> None:
    with dual_level():
        d = fresh([2.0, 1.0, 3.0])
        values, indices = d.sort()
        assert tangent(values) == [10.0, 1.0, 100.0]
        assert tangent(indices) is None
        assert [tangent(part) for part in d.unbind()] == T
        assert [tangent(part) for part in d.split(2)] == [[1.0, 10.0], [100.0]]
        assert tangent(d.max(0).values) == 100.0
        _, vectors = adjoint.linalg.eigh(d * adjoint.eye(3))
        assert np.shape(tangent(vectors)) == (3, 3)
        first, second, _ = d.unbind()
        with pytest.raises(RuntimeError, match="output of a function that returns multiple views"):
            adjoint.ones(3, requires_grad=True).clone().unbind()[0].mul_(first)
        assert tangent(first * second) == 2.0 * 10 + 1.0


def test_some_arguments_with_tangents() -> None:
    x = adjoint.tensor(X)
    with dual_level():
        d = fresh()
        assert tangent(adjoint.cat([d, x])) == [*T, 0.0, 0.0, 0.0]
        assert tangent(adjoint.stack([x, d])) == [[0.0, 0.0, 0.0], T]
        assert tangent(adjoint.where(x > 1, d, x)) == [0.0, 10.0, 100.0]
        assert tangent(adjoint.where(x > 1, x, d)) == [1.0, 0.0, 0.0]
        assert tangent(adjoint.einsum("i,j->ij", x, d)) == [[k * t for t in T] for k in X]
        assert tangent(adjoint.einsum("i,i,i->", x, d, x)) == 1 + 40 + 900
        assert tangent(adjoint.cat([x, x])) is None


def test_mixed_types() -> None:
    with dual_level():
        d = fresh()
        for other, dtype in ((adjoint.float64, adjoint.float64), (adjoint.int64, adjoint.float32)):
            product = d * adjoint.ones(3, dtype=other)
            assert unpack_dual(product).tangent.dtype == product.dtype == dtype
            assert tangent(product) == T
        assert unpack_dual(d.to(adjoint.float64)).tangent.dtype == adjoint.float64
        z = adjoint.complex(d, adjoint.ones(3))
        assert tangent(z) == [complex(t) for t in T]
        assert tangent(z.imag) == [0.0] * 3
        assert tangent((z * 1j).imag) == T
        target = adjoint.zeros(3, dtype=adjoint.float64)
        target.copy_(d)
        assert unpack_dual(target).tangent.dtype == adjoint.float64
        # The tangent keeps its own precision. Results have the precision of the operation.
        wide = make_dual(adjoint.tensor(X), adjoint.tensor(T, dtype=adjoint.float64))
        assert unpack_dual(wide).tangent.dtype == adjoint.float64
        assert unpack_dual(wide * 2).tangent.dtype == adjoint.float32


@pytest.mark.parametrize("dtype", [adjoint.float16, adjoint.bfloat16])
def test_half_precision(dtype: Any) -> None:
    with dual_level():
        d = fresh(dtype=dtype)
        result = d.exp() * d
        actual = unpack_dual(result).tangent
        assert result.dtype == actual.dtype == dtype
        x = np.array(X)
        np.testing.assert_allclose(actual.to(adjoint.float64).numpy(), (1 + x) * np.exp(x) * T, rtol=2e-2)
        d.mul_(d)
        assert unpack_dual(d).tangent.dtype == dtype
        assert tangent(d) == [2.0, 40.0, 600.0]
        assert unpack_dual(fresh(dtype=dtype) * adjoint.ones(3)).tangent.dtype == adjoint.float32


def test_gradients_have_tangents() -> None:
    x = adjoint.tensor(X, requires_grad=True)
    with dual_level():
        ((make_dual(x, adjoint.tensor(T)) ** 3).sum()).backward()
        assert tangent(x.grad) == [6.0, 120.0, 1800.0]
    assert tangent_outside(x.grad) is None


def tangent_outside(tensor: Any) -> Any:
    with dual_level():
        return tangent(tensor)


def forward_ad_is_on() -> bool:
    with dual_level():
        return tangent(fresh()) is not None


# levels ---------------------------------------------------------------------------------------------------------------


def test_errors_without_a_level() -> None:
    with pytest.raises(RuntimeError, match=r"no level exists, make sure to enter_dual_level\(\) first."):
        make_dual(adjoint.ones(2), adjoint.ones(2))
    with pytest.raises(RuntimeError, match=r"This index was either not created or is already deleted\."):
        make_dual(adjoint.ones(2), adjoint.ones(2), level=0)
    with pytest.raises(RuntimeError, match=r"Dual level must be a positive number."):
        forward_ad.exit_dual_level()
    x = adjoint.ones(2)
    assert unpack_dual(x).primal is x
    assert unpack_dual(x, level=0).tangent is None
    with pytest.raises(TypeError, match=r"argument 'dual' \(position 1\) must be Tensor, not int"):
        unpack_dual(3)


def test_levels_do_not_nest() -> None:
    with dual_level() as number:
        assert number == 0
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported at the moment"):
            forward_ad.enter_dual_level()
        # the level still exists
        assert tangent(fresh()) == T


def test_errors_of_make_dual() -> None:
    x, t = adjoint.tensor(X), adjoint.tensor(T)
    with dual_level():
        with pytest.raises(RuntimeError, match=r"size \[3\] while the given forward gradient is of size \[2\]"):
            make_dual(x, adjoint.ones(2))
        with pytest.raises(ValueError, match=r"Expected primal to be floating point or complex, but got: .*int64"):
            make_dual(adjoint.ones(3, dtype=adjoint.int64), t)
        with pytest.raises(ValueError, match=r"Expected tangent to be floating point or complex, but got: .*bool"):
            make_dual(x, x > 1)
        with pytest.raises(ValueError, match=r"Expected a real tangent for a primal of type .*float32, but got: .*c"):
            make_dual(x, t * 1j)
        with pytest.raises(TypeError, match="Expected primal to be a Tensor, but got int"):
            make_dual(3, t)
        d = make_dual(x, t)
        with pytest.raises(RuntimeError, match="already has a forward gradient at the same level 0"):
            make_dual(d, t)
        with pytest.raises(RuntimeError, match="itself has a forward gradient at the same level0"):
            make_dual(x, d)
        with pytest.raises(RuntimeError, match="Invalid level given to _make_dual"):
            make_dual(x, t, level=1)
        with pytest.raises(RuntimeError, match="Invalid level given to _fw_primal"):
            unpack_dual(d, level=1)
        with pytest.raises(RuntimeError, match="no level exists"):
            make_dual(x, t, level=-1)
        assert unpack_dual(d, level=-1).tangent is None


def test_wrong_exits_leave_the_level_open() -> None:
    message = "Trying to exit a forward AD level that was not the last one that was created"
    with dual_level():
        with pytest.raises(RuntimeError, match=message):
            forward_ad.exit_dual_level(level=3)
        with forward.level(), pytest.raises(RuntimeError, match=message):
            forward_ad.exit_dual_level()
        assert tangent(fresh()) == T


def test_exceptions_close_the_level() -> None:
    for _ in range(2):
        duals = []
        with pytest.raises(RuntimeError, match="must match the size"), dual_level():
            adjoint.add(duals.append(fresh()) or duals[0], adjoint.ones(2))
        assert "tangent" not in repr(duals)
        assert tangent_outside(duals[0]) is None
    with pytest.raises(RuntimeError, match="must match the size"), forward.level():
        adjoint.add(adjoint.ones(3), adjoint.ones(2))
    assert current().dual_stack == ()
    assert current().unusual == 0


def test_tangents_end_with_their_level() -> None:
    x = adjoint.tensor(X, requires_grad=True)
    with dual_level():
        result = make_dual(x, adjoint.tensor(T)).exp()
        base = adjoint.zeros(3)
        base.copy_(result)
        view = base[1:]
        assert tangent(view) is not None
    assert [tangent_outside(y) for y in (result, base, view)] == [None] * 3
    with dual_level():
        assert tangent(result * base) is None
        assert tangent(adjoint.autograd.grad(result.sum(), x)[0]) is None


@pytest.mark.parametrize("keep_graph", [False, True])
def test_the_end_of_a_level_frees_tangents(keep_graph: bool) -> None:
    x = adjoint.tensor(X, requires_grad=True)
    with dual_level():
        d = make_dual(x, adjoint.tensor(T))
        middle = d.exp()
        middle.mul_(d)
        end = adjoint.cat([middle * d, d.sin()]).prod()
        results = [unpack_dual(y).tangent for y in (d, middle, end)]
        watched = [weakref.ref(t) for t in results]
        if keep_graph:
            # the nodes keep saved values, but the tensors no longer exist
            del d, middle
        del results
    gc.collect()
    assert [reference() for reference in watched] == [None] * 3
    assert end.grad_fn is not None


def test_tensors_that_die_inside_a_level_leave_nothing_behind() -> None:
    with forward.level() as number:
        d = forward.dual(adjoint.tensor(X), adjoint.tensor(T), number)
        for _ in range(100):
            d = d * 1.0
        gc.collect()
        assert len(forward.holders[number]) < 10
    assert number not in forward.holders


def test_threads_do_not_share_levels() -> None:
    notes: list[Any] = []

    def other() -> None:
        try:
            notes.append(tangent(d))
            forward_ad.exit_dual_level()
        except RuntimeError as error:
            notes.append(str(error))
        with dual_level(), set_fwd_grad_enabled(False):
            notes.append(tangent(fresh()))
            has_begun.set()
            resume.wait(10)

    has_begun, resume = threading.Event(), threading.Event()
    with dual_level():
        d = fresh()
        thread = threading.Thread(target=other)
        thread.start()
        assert has_begun.wait(10)
        # the other thread's level and switch do not affect this thread
        assert tangent(d * 2) == [2.0, 20.0, 200.0]
        resume.set()
        thread.join()
        assert tangent(d) == T
    assert notes == [None, "Dual level must be a positive number.", None]


def test_forward_mode_can_be_switched_off() -> None:
    with dual_level():
        d = fresh()
        with set_fwd_grad_enabled(False):
            assert tangent(d) is None
            assert tangent(d * 2) is None
            assert "tangent" not in repr(d)
            result = d * 2
            adjoint.add(d, d, out=adjoint.zeros(3))
            with set_fwd_grad_enabled(True):
                assert tangent(d * 2) == [2.0, 20.0, 200.0]
        assert tangent(d) == T
        assert tangent(result) is None
    set_fwd_grad_enabled(False)
    try:
        assert tangent_outside(adjoint.ones(2)) is None
        with dual_level():
            assert tangent(fresh()) is None
    finally:
        set_fwd_grad_enabled(True)
    with dual_level():
        assert tangent(fresh()) == T
    with set_fwd_grad_enabled(False):
        # functions with their own derivative do not change
        assert derivative(lambda x: x * x)(number(3.0)).item() == 6.0
        assert not forward_ad_is_on()
    assert forward_ad_is_on()
    with pytest.raises(TypeError, match="must be bool, not int"):
        set_fwd_grad_enabled(1)


def test_decorators() -> None:
    @dual_level()
    def double() -> Any:
        return tangent(fresh() * 2)

    @dual_level()
    def doubled_each() -> Any:
        yield tangent(fresh() * 2)
        yield tangent(fresh() * 3)

    @dual_level()
    @set_fwd_grad_enabled(False)
    def tangent_without_mode() -> Any:
        return tangent(fresh())

    assert [double(), double()] == [[2.0, 20.0, 200.0]] * 2
    assert list(doubled_each()) == [[2.0, 20.0, 200.0], [3.0, 30.0, 300.0]]
    assert tangent_without_mode() is None
    assert double() == [2.0, 20.0, 200.0]


# nested levels --------------------------------------------------------------------------------------------------------


def derivative(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The derivative of a function of one number by a new level; 0 if the function does not depend on it."""

    def derive(x: Any) -> Any:
        with forward.level() as number:
            y = function(forward.dual(x, adjoint.ones_like(x), number))
            result = forward.tangent_of(y, number)
        return adjoint.zeros_like(y) if result is None else result

    return derive


def number(value: float) -> Any:
    return adjoint.tensor(value, dtype=adjoint.float64)


def test_perturbations_are_not_confused() -> None:
    one = number(1.0)
    assert derivative(lambda x: x * derivative(lambda y: x + y)(one))(one).item() == 1.0
    # the inner function ignores its own argument
    assert derivative(lambda x: x * derivative(lambda y: x * 2)(one))(one).item() == 0.0
    assert derivative(lambda x: x * derivative(lambda y: x * y)(x))(number(3.0)).item() == 6.0
    assert derivative(lambda x: derivative(lambda y: x * y * y)(x))(number(3.0)).item() == 12.0


CLOSED_FORMS: dict[str, tuple[Callable[[Any], Any], list[Callable[[float], float]]]] = {
    "exp(2x)": (lambda x: (2 * x).exp(), [lambda x, k=k: 2**k * np.exp(2 * x) for k in (1, 2, 3)]),
    "x^4": (lambda x: x**4, [lambda x: 4 * x**3, lambda x: 12 * x**2, lambda x: 24 * x]),
    "sin": (lambda x: x.sin(), [np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x)]),
    "1/x": (lambda x: 1 / x, [lambda x: -(x**-2), lambda x: 2 * x**-3, lambda x: -6 * x**-4]),
    "log": (lambda x: x.log(), [lambda x: 1 / x, lambda x: -(x**-2), lambda x: 2 * x**-3]),
    "sqrt": (
        lambda x: x.sqrt(),
        [lambda x: 0.5 * x**-0.5, lambda x: -0.25 * x**-1.5, lambda x: 0.375 * x**-2.5],
    ),
    "prod": (
        lambda x: adjoint.stack([x, x * 2, x * 3]).prod(),
        [lambda x: 18 * x**2, lambda x: 36 * x, lambda x: 36.0 + 0 * x],
    ),
    "inverse": (
        lambda x: adjoint.linalg.inv(adjoint.stack([x, x * 0, x, x * 2]).view(2, 2)).trace(),
        [lambda x: -1.5 * x**-2, lambda x: 3 * x**-3, lambda x: -9 * x**-4],
    ),
}


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_derivatives_of_third_order(name: str) -> None:
    function, expected = CLOSED_FORMS[name]
    for form in expected:
        function = derivative(function)
        np.testing.assert_allclose(function(number(0.7)).item(), form(0.7), rtol=1e-10)


def power_in_place(x: Any) -> Any:
    y = x.clone()
    y.mul_(x)
    y.mul_(y)
    return y


def power_in_view(x: Any) -> Any:
    box = adjoint.ones(3, dtype=adjoint.float64)
    box[1] = x
    part = box[1:]
    part.mul_(x)
    part[0].mul_(part[0])
    part[1].zero_()
    return box.sum() - 1


@pytest.mark.parametrize("function", [power_in_place, power_in_view])
def test_operations_in_place_at_nested_levels(function: Any) -> None:
    for expected in (4 * 0.7**3, 12 * 0.7**2, 24 * 0.7, 24.0):
        function = derivative(function)
        np.testing.assert_allclose(function(number(0.7)).item(), expected, rtol=1e-12)


def test_operations_in_place_on_values_of_outer_levels() -> None:
    def outer(x: Any) -> Any:
        def inner(y: Any) -> Any:
            z = x.clone()
            # only the outer level is used here
            z.mul_(x)
            z.mul_(y)
            return z

        return derivative(inner)(x)

    assert derivative(outer)(number(3.0)).item() == 6.0
    assert derivative(derivative(outer))(number(3.0)).item() == 2.0


@pytest.mark.parametrize(
    ("function", "along", "value", "slope"),
    [
        # the arguments of jvp are v with the tangent s, inside a level in which x has the tangent d
        (lambda v, x, t, d: unpack_dual(v * v * d).tangent, "x", lambda x, t: x * x * t, lambda x, t, s: 2 * x * s * t),
        (lambda v, x, t, d: unpack_dual(v * v * d).primal, "x", lambda x, t: x * x * x, lambda x, t, s: 2 * x * s * x),
        (lambda v, x, t, d: unpack_dual(make_dual(x, v) ** 3).tangent, "t", lambda x, t: 3 * x * x * t,
         lambda x, t, s: 3 * x * x * s),
        (lambda v, x, t, d: unpack_dual(make_dual(v, t) ** 3).tangent, "x", lambda x, t: 3 * x * x * t,
         lambda x, t, s: 6 * x * t * s),
        (lambda v, x, t, d: unpack_dual(make_dual(v, v) ** 3).tangent, "x", lambda x, t: 3 * x**3,
         lambda x, t, s: 9 * x * x * s),
    ],
    ids=["tangent", "primal", "moving tangent", "moving primal", "both move"],
)  # fmt: skip
def test_duals_at_a_level_that_is_not_the_innermost(function: Any, along: str, value: Any, slope: Any) -> None:
    x, t, s = adjoint.tensor([1.0, 2.0]), adjoint.tensor([3.0, 5.0]), adjoint.tensor([7.0, 11.0])
    with dual_level():
        d = make_dual(x, t)
        point = {"x": x, "t": t}[along]
        result = adjoint.func.jvp(lambda v: function(v, x, t, d), (point,), (s,))
        assert [part.tolist() for part in result] == [value(x, t).tolist(), slope(x, t, s).tolist()]


def test_unpacking_what_varies_at_inner_levels_only() -> None:
    x, t, s = adjoint.tensor([1.0, 2.0]), adjoint.tensor([3.0, 5.0]), adjoint.tensor([7.0, 11.0])
    with dual_level():
        # v itself is a constant of the level, but its tangent d is not
        d = make_dual(x, t)
        assert [part.tolist() for part in adjoint.func.jvp(lambda v: unpack_dual(v).tangent, (x,), (d,))] == [
            [0.0, 0.0], t.tolist()
        ]  # fmt: skip

        def second(w: Any) -> Any:
            return adjoint.func.jvp(lambda v: unpack_dual(v * w * d * v).tangent, (x,), (s,))[1]

        result = adjoint.func.jvp(second, (t,), (x,))
        assert [part.tolist() for part in result] == [(2 * x * s * t * t).tolist(), (2 * x * x * s * t).tolist()]


def test_reverse_mode_inside_and_outside_of_nested_levels() -> None:
    def slope(function: Any) -> Any:
        def reverse(x: Any) -> Any:
            leaf = x * 1 if x.requires_grad else x.clone().requires_grad_()
            (gradient,) = adjoint.autograd.grad(function(leaf), leaf, create_graph=True)
            return gradient

        return reverse

    def power(x: Any) -> Any:
        return x**5

    for order in ((0, 1, 0), (1, 0, 1), (1, 1, 0), (0, 0, 1), (1, 1, 1), (0, 1, 1)):
        function = power
        for reverse in order:
            function = slope(function) if reverse else derivative(function)
        x = adjoint.tensor(0.7, dtype=adjoint.float64)
        np.testing.assert_allclose(function(x).item(), 60 * 0.7**2, rtol=1e-12)


# texts and attributes of duals ----------------------------------------------------------------------------------------


PRINTED: dict[str, tuple[Callable[[], Any], str]] = {
    "plain": (
        lambda: make_dual(adjoint.tensor(X), adjoint.ones(3)),
        "tensor([1., 2., 3.], tangent=tensor([1., 1., 1.]))",
    ),
    "zero-dimensional": (lambda: make_dual(adjoint.tensor(1.0), adjoint.tensor(2.0)), "tensor(1., tangent=2.0)"),
    "empty": (
        lambda: make_dual(adjoint.zeros(0, 3), adjoint.ones(0, 3)),
        "tensor([], size=(0, 3), tangent=tensor([], size=(0, 3)))",
    ),
    "two axes": (
        lambda: make_dual(adjoint.zeros(2, 3), adjoint.ones(2, 3)),
        "tensor([[0., 0., 0.],\n        [0., 0., 0.]], tangent=tensor([[1., 1., 1.],\n        [1., 1., 1.]]))",
    ),
    "grad_fn": (
        lambda: make_dual(adjoint.tensor(X, requires_grad=True), adjoint.tensor(T)),
        "tensor([1., 2., 3.], grad_fn=<ViewBackward0>,\n       tangent=tensor([  1.,  10., 100.]))",
    ),
    "tangent that requires grad": (
        lambda: make_dual(adjoint.tensor(X), adjoint.tensor(T, requires_grad=True)),
        "tensor([1., 2., 3.], tangent=tensor([  1.,  10., 100.], requires_grad=True))",
    ),
    "unpacked": (
        lambda: unpack_dual(make_dual(adjoint.tensor(X), adjoint.ones(3))),
        "UnpackedDualTensor(primal=tensor([1., 2., 3.]), tangent=tensor([1., 1., 1.]))",
    ),
    "unpacked without tangent": (
        lambda: unpack_dual(adjoint.tensor(X)),
        "UnpackedDualTensor(primal=tensor([1., 2., 3.]), tangent=None)",
    ),
    "unpacked, zero-dimensional": (
        lambda: unpack_dual(make_dual(adjoint.tensor(1.0), adjoint.tensor(2.0))),
        "UnpackedDualTensor(primal=tensor(1.), tangent=tensor(2.))",
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_printed(name: str) -> None:
    make, expected = PRINTED[name]
    with dual_level():
        assert repr(make()) == expected


def test_an_unpacked_dual_is_a_named_tuple() -> None:
    with dual_level():
        unpacked = unpack_dual(fresh())
        primal, result = unpacked
        assert unpacked._fields == ("primal", "tangent")
        assert (unpacked.primal, unpacked.tangent) == (primal, result)


def test_item_and_copies_have_no_tangents() -> None:
    with dual_level():
        d = fresh()
        assert d.sum().item() == 6.0
        assert d.numpy().tolist() == d.tolist() == X
        assert tangent(copy.deepcopy(d)) is None


@pytest.mark.parametrize(
    ("name", "args"),
    [("t_", ()), ("transpose_", (0, 1)), ("unsqueeze_", (0,)), ("squeeze_", ()), ("swapaxes_", (0, 1))],
)
def test_tangents_are_reshaped_in_place_too(name: str, args: tuple[int, ...]) -> None:
    fw = adjoint.autograd.forward_ad
    x, t = adjoint.ones(3, 1), adjoint.tensor([[1.0], [2.0], [3.0]])
    with fw.dual_level():
        y = fw.make_dual(x, t).clone()
        getattr(y, name)(*args)
        value, tangent = fw.unpack_dual(y)
        assert tangent.shape == value.shape
        assert tangent.flatten().tolist() == [1.0, 2.0, 3.0]
        assert fw.unpack_dual(2 * y).tangent.shape == value.shape


# the fast path of plain arrays against the path with a history --------------------------------------------------------

PAIRS = {
    "sum": lambda x, y: x + y,
    "difference of a number": lambda x, y: 2.0 - x,
    "product": lambda x, y: x * y,
    "constant": lambda x, y: x * 3,
    "quotient": lambda x, y: y / (x * x + 1),
    "power": lambda x, y: (x * x) ** 3,
    "copy": lambda x, y: x.clone(),
    "sum of elements": lambda x, y: x.sum() + y.mean(),
    "matrix": lambda x, y: x @ y.mT,
    "matrices": lambda x, y: x.clone() @ x.mT.clone(),
    "matrix and a constant": lambda x, y: x @ adjoint.ones(x.shape[1], 2, dtype=x.dtype),
    "constant and a matrix": lambda x, y: adjoint.ones(2, x.shape[0], dtype=x.dtype) @ x,
    "matrix and a vector": lambda x, y: x @ adjoint.ones(x.shape[1], dtype=x.dtype),
    "several steps": lambda x, y: (x.sin() * y.exp()).tanh().sigmoid(),
    "comparison": lambda x, y: x * (x > y),
}


@pytest.mark.parametrize("dtype", [adjoint.float32, adjoint.float64])
@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (300, 400)], ids=str)
@pytest.mark.parametrize("name", PAIRS)
def test_plain_arrays_take_the_way_of_those_with_history(name: str, shape: tuple[int, ...], dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x, v, y = (adjoint.tensor(rng.normal(size=s), dtype=dtype) for s in (shape, shape, (3, shape[1])[-len(shape) :]))
    y = y if shape[0] != 300 else x.flip(0)
    results = []
    for requires_grad in (False, True):
        with dual_level():
            one = make_dual(x.clone().requires_grad_(requires_grad), v)
            two = make_dual(y.clone().requires_grad_(requires_grad), adjoint.ones_like(y))
            result = unpack_dual(PAIRS[name](one, two))
            assert result.primal.requires_grad is requires_grad
            assert result.tangent.shape == result.primal.shape and result.tangent.dtype == dtype
            assert not np.may_share_memory(result.tangent._array, v._array)
            results.append((result.primal.detach().numpy(), result.tangent.detach().numpy()))
    tolerance = 1e-5 if dtype is adjoint.float32 else 1e-12
    for plain, followed in zip(*results, strict=True):
        np.testing.assert_allclose(plain, followed, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("function", [adjoint.sin, lambda x: x * x, lambda x: adjoint.sum(x, 0), adjoint.logcumsumexp])
def test_tangents_keep_their_history_where_values_have_none(function: Any) -> None:
    if function is adjoint.logcumsumexp:
        function = functools.partial(function, dim=0)
    x = adjoint.tensor([0.3, -0.5], dtype=adjoint.float64)
    t = adjoint.ones(2, dtype=adjoint.float64, requires_grad=True)
    with dual_level():
        unpack_dual(function(make_dual(x, t))).tangent.sum().backward()
    _, expected = adjoint.autograd.functional.vjp(function, x, adjoint.ones_like(function(x)))
    np.testing.assert_allclose(t.grad.numpy(), expected.numpy(), rtol=1e-14)


def test_plain_constants_have_no_tangent_at_a_level() -> None:
    with dual_level():
        assert unpack_dual(adjoint.ones(2) * 3).tangent is None
        assert unpack_dual(make_dual(adjoint.ones(2), adjoint.ones(2)) > 0).tangent is None


VIEWS_OF_PRIMALS = {
    "slice": lambda p: p[1:],
    "element": lambda p: p[0],
    "transpose": lambda p: p.mT,
    "member of unbind": lambda p: p.unbind(1)[1],
    "view of a view": lambda p: p.reshape(6)[1:5].view(2, 2)[1],
    "all": lambda p: p.view(6),
}
WRITES_OF_DUALS = {
    "copy_": lambda v, y: v.copy_(y),
    "assignment": lambda v, y: v.__setitem__(..., y),
    "add_": lambda v, y: v.add_(y),
    "mul_": lambda v, y: v.mul_(y),
    "addcmul_": lambda v, y: v.addcmul_(y, y),
}


@pytest.mark.parametrize("write", WRITES_OF_DUALS)
@pytest.mark.parametrize("view", VIEWS_OF_PRIMALS)
def test_a_dual_that_is_written_into_a_part_of_a_primal_gives_the_primal_a_tangent(view, write):
    values = adjoint.arange(6.0, dtype=adjoint.float64).reshape(2, 3)
    with dual_level():
        dual = make_dual(values.clone(), adjoint.ones_like(values))
        primal = unpack_dual(dual).primal
        # the same program on a tensor that is no view
        twin = values.clone()
        tangents = []
        for target in (primal, twin):
            earlier = target[:, 1:]
            part = VIEWS_OF_PRIMALS[view](target)
            number = make_dual(adjoint.tensor(2.0, dtype=adjoint.float64), adjoint.tensor(3.0, dtype=adjoint.float64))
            WRITES_OF_DUALS[write](part, number)
            results = [target, part, earlier, target.exp(), target.reshape(6)[2:]]
            tangents.append([unpack_dual(result).tangent for result in results])
        for tangent, reference in zip(*tangents, strict=True):
            assert adjoint.equal(tangent, reference)
        assert adjoint.equal(unpack_dual(dual).tangent, adjoint.ones_like(values))
    assert unpack_dual(primal).tangent is None
