"""Collapsed Taylor mode: first derivatives along many directions, and only the sum of the second derivatives.

The tangent of a Tensor at such a level has n + 1 rows: its derivatives along n directions, and the sum of its second
derivatives along them. Only the last row has terms of second order. They need only sums over the directions:

    kind           terms of the last row besides the derivative along the last row of the arguments
    linear         nothing
    multilinear    2 times the sum of the products of rows of two factors
    elementwise    the second derivative times the sum of the squares of the rows
    others         the sum of the second derivatives by series of order 2 of each direction

Forward Laplacians: R. Li and others, A computational framework for neural network-based variational Monte Carlo with
forward Laplacian, 2024; collapsed Taylor mode: F. Dangel and others, 2025.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING, Any

from adjoint.arrays.dtypes import kind_of
from adjoint.core.graph import TensorBase
from adjoint.core.operations.operation import Operation
from adjoint.rules.derive import call
from adjoint.rules.recurrences import Slot, Step, member_at, replace_arguments, slots_of, zeros_for
from adjoint.runtime.pytree import LEAF
from adjoint.tensor.table import ops
from adjoint.transforms import forward
from adjoint.transforms.batching.vmap import vmap
from adjoint.transforms.func import jvp
from adjoint.transforms.jets import jet, propagate
from adjoint.transforms.tangents import is_alone
from adjoint.transforms.taylor import TaylorLevel

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


class NotCollapsed(Exception):
    """A custom function was called; its jvp cannot give sums of second derivatives."""


def sum_of_seconds(func: Callable[..., Any], x: Tensor, directions: Tensor) -> Tensor:
    """The sum of the second derivatives of a function along directions, which lie along a new first axis.

    Raises NotCollapsed where a custom function is called.
    """
    rows = ops.cat([directions, ops.zeros_like(x)[None]], 0)
    _, series, _ = propagate("laplacian", func, LEAF, [x], [rows], len(directions), CollapsedLevel())
    return series[0][-1]


class CollapsedLevel(TaylorLevel):
    """Propagation of rows of first derivatives, and of the sum of second derivatives, at one level."""

    of_series = False

    def result_tangent(self, operation: Operation, tangents: dict[str, Any], values: list[Any], result: Any) -> Any:
        """The rows of the result (a tuple for several)."""
        rule = operation.rule
        if rule.kind == "constant":
            return None
        by_name = dict(zip(operation.arguments.names, values, strict=True))
        step = Step(rule, ops, tangents, by_name, result, self)
        rows = _BY_KIND.get(rule.kind, by_series)(step)
        if rows is NotImplemented:
            rows = by_series(step)
        if rule.outputs is None:
            return self.fit(rows, result)
        return tuple(self.fit(r, y) if kind_of(y._array) in "fc" else None for r, y in zip(rows, result, strict=True))

    def constant(self, tensor: TensorBase, coming: Any) -> Any:
        """The rows of a constant."""
        return zeros(tensor, coming.shape[0])

    def read(self, result: Any, n: int) -> Any:
        """The rows of a result, or of several."""
        if isinstance(result, tuple):
            return tuple(self.read(part, n) for part in result)
        rows = forward.tangent_of(result, self.number)
        return zeros(result, n) if rows is None else rows

    def of_function(self, push: Callable[[list[Any]], Any], tangents: list[Any], outputs: Any) -> Any:
        """A custom function has no rows."""
        raise NotCollapsed


def zeros(tensor: Any, n: int) -> Tensor:
    """So many rows of zeros."""
    rows: Tensor = ops.stack([ops.zeros_like(tensor)] * n, 0)
    return rows


def with_last(rows: Tensor, more: Tensor) -> Tensor:
    """Adds a term to the last row."""
    if is_alone(rows) and is_alone(more) and rows._array.base is None and rows._array[-1].shape == more._array.shape:
        rows._array[-1] += more._array
        return rows
    return ops.cat([rows[:-1], (rows[-1] + more)[None]], 0)


def linear(step: Step) -> Any:
    """The operation on each row; inputs without rows have zeros."""
    filled = {name: zeros_for(ops, step.values[name], step.series.get(name)) for name in step.rule.inputs}
    return step.level.over_orders(step.rule, {**step.values, **filled}, list(slots_of(step)))


def multilinear(step: Step) -> Any:
    """The operation on the rows of each factor, and on the rows of each two."""
    slots = list(slots_of(step))
    rows = {slot: member_at(step.series, slot) for slot in slots}

    def on(*operands: Slot) -> Any:
        whole_rows = [rows[slot] if len(operands) == 1 else rows[slot][:-1] for slot in operands]
        return step.level.over_orders(
            step.rule, replace_arguments(step.values, list(operands), whole_rows), list(operands)
        )

    total = on(slots[0])
    for slot in slots[1:]:
        total = total + on(slot)
    for pair in combinations(slots, 2):
        total = with_last(total, 2 * ops.sum(on(*pair), (0,)))
    return total


def elementwise(step: Step) -> Any:
    """The partial derivative times the rows, and its own derivative times the sum of their squares."""
    formulas = [f for f in step.rule.vjps if f.inputs[0] in step.series]
    if len(formulas) != 1 or len(step.series) != 1:
        return NotImplemented
    (formula,), y = formulas, step.y
    name = formula.inputs[0]
    x = step.values[name]
    by_name = {**step.values, "y": y}
    real = isinstance(x, TensorBase) and kind_of(x._array) == kind_of(y._array) == "f" and x.shape == y.shape
    if not real or any(need not in by_name for need in formula.needs):
        return NotImplemented
    rows = step.series[name]
    values = [by_name[need] for need in formula.needs]
    of_rows = formula.call(ops, rows, *values)
    if not any(need in ("y", name) for need in formula.needs):
        return of_rows
    ones = ops.ones_like(x)
    with forward.level() as number:
        by_name[name] = forward.dual(x, ones, number)
        by_name["y"] = forward.dual(y, formula.call(ops, ones, *values), number)
        second = forward.tangent_of(formula.call(ops, ones, *[by_name[need] for need in formula.needs]), number)
    return of_rows if second is None else with_last(of_rows, second * ops.sum(rows[:-1] * rows[:-1], (0,)))


def by_series(step: Step) -> Any:
    """Series of order 2 of each direction, and the derivative along the last rows."""
    slots = list(slots_of(step))
    primals = tuple(member_at(step.values, slot) for slot in slots)
    rows = [member_at(step.series, slot) for slot in slots]

    def function(*arrays: Any) -> Any:
        return call(step.rule, ops, replace_arguments(step.values, slots, list(arrays)))

    def along(*directions: Any) -> Any:
        series = tuple([direction, ops.zeros_like(direction)] for direction in directions)
        _, derivatives = jet(function, primals, series)
        return derivatives if isinstance(derivatives, tuple) else (derivatives,)

    each = vmap(along, randomness="same")(*[r[:-1] for r in rows])
    last = jvp(function, primals, tuple(r[-1] for r in rows))[1]
    results = [
        ops.cat([first, (of_last + ops.sum(second, (0,)))[None]], 0)
        for (first, second), of_last in zip(each, last if isinstance(last, tuple) else (last,), strict=True)
    ]
    return results[0] if step.rule.outputs is None else tuple(results)


_BY_KIND = {"linear": linear, "multilinear": multilinear, "elementwise": elementwise}
