"""Taylor mode: truncated series propagate with values, like the tangents of forward mode.

A Taylor level is a level of forward mode (`forward.py`) whose tangents are series: Tensors of coefficients along a new
first axis. Values, nesting with other levels, graphs and vmap are as in forward mode; `rules/recurrences.py` declares
the series of each operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy

from adjoint.arrays.dtypes import kind_of
from adjoint.arrays.namespace import namespace
from adjoint.core.graph import TensorBase, counter_of, new_tensor, version_of
from adjoint.core.modes.batches import running
from adjoint.core.modes.state import current, with_plain_results
from adjoint.core.operations.operation import Operation
from adjoint.core.operations.recorder import is_inexact
from adjoint.rules.derive import batch, call
from adjoint.rules.recurrences import Slot, Step, propagate
from adjoint.runtime.caches import memoize
from adjoint.tensor.table import operations, ops
from adjoint.tensor.transposed_jvp import transposed_jvp
from adjoint.transforms import forward
from adjoint.transforms.batching.batched import BatchedArray
from adjoint.transforms.tangents import is_alone, own_series, with_series


class TaylorLevel(forward.Propagation):
    """Propagation of series at one level.

    number: the number of the level.
    """

    of_series = True

    # what forward mode asks for -------------------------------------------------------------------------------------

    def result_tangent(self, operation: Operation, tangents: dict[str, Any], values: list[Any], result: Any) -> Any:
        """The series of the result (a tuple for several)."""
        by_name = dict(zip(operation.arguments.names, values, strict=True))
        input_series = {name: from_value(series, by_name[name]) for name, series in tangents.items()}
        series = propagate(Step(operation.rule, ops, input_series, by_name, result, self))
        if operation.rule.outputs is None:
            return self.fit(series, result)
        return None if series is None else tuple(self.fit(s, r) for s, r in zip(series, result, strict=True))

    def fit(self, series: Any, output: TensorBase) -> Any:
        """The series with the dtype of the result."""
        if series is None or series._array.dtype == output._array.dtype:
            return series
        if kind_of(series._array) == "c" and kind_of(output._array) == "f":
            series = ops.real(series)
        return ops.cast(series, output.dtype)

    def of_view(self, replay: Any, series: Any) -> Any:
        """The series of a view from the series of its base."""
        steps = []
        while replay:
            replay, step = replay
            steps.append(step)
        for operation, others, nr in reversed(steps):
            names = operation.arguments.names
            values = dict(zip(names, [series, *others], strict=True))
            result = self.over_orders(operation.rule, values, [(names[0], None)])
            series = result if nr is None else result[nr]
        return series

    def constant(self, tensor: TensorBase, coming: Any) -> Any:
        """The series of a constant, as long as another one."""
        return constant(tensor, coming.shape[0])

    def of_function(self, push: Callable[[list[Any]], Any], tangents: list[Any], outputs: Any) -> Any:
        """The series of a custom function's outputs, order after order, since its jvp may use the outputs.

        push: the jvp; tangents: the series of the arguments, or None. Outputs of integers have no series.
        """
        n = min(s.shape[0] for s in tangents if s is not None)
        rates = [None if s is None else s[1:n] * self.numbers(s[1:n]) for s in tangents]
        coefficients = [[y] if isinstance(y, TensorBase) and is_inexact(y._array.dtype) else None for y in outputs]
        for k in range(1, n):
            for output, rows in zip(outputs, coefficients, strict=True):
                if rows is not None:
                    forward.set_tangent(output, self.number, ops.stack(rows, 0))
            arguments = [None if rate is None else self.tensor(rate[:k]) for rate in rates]
            new_rates = self.series_of(lambda *_, arguments=arguments: push(arguments), k)
            for rows, rate in zip(coefficients, new_rates, strict=True):
                if rows is not None:
                    rows.append(ops.zeros_like(rows[0]) if rate is None else rate[k - 1] / k)
        return [None if rows is None else ops.stack(rows, 0) for rows in coefficients]

    def dual(self, primal: Any, series: Any) -> Any:
        """A view for a series, with the Tensor's history at outer levels.

        It is made before the level opens; its maker must remove its series.
        """
        if is_alone(primal):
            return with_series(primal._array, counter_of(primal), self.number, self.fit(series, primal))
        result = with_plain_results(ops.view, (primal, primal._array.shape))
        forward.set_tangent(result, self.number, self.fit(series, result))
        return result

    # what recurrences ask for -----------------------------------------------------------------------------------------

    def tensor(self, series: Any) -> Any:
        """A Tensor that has a series."""
        result = series[0]
        forward.set_tangent(result, self.number, series)
        return result

    def series_of(self, compute: Callable[..., Any], n: int) -> Any:
        """The series of results that are computed from Tensors with series, n coefficients each."""
        state = current()
        outer = state.dual_stack
        state.heed((*outer, self.number))
        try:
            result = compute(ops, transposed_jvp)
        finally:
            state.heed(outer)
        return self.read(result, n)

    def read(self, result: Any, n: int) -> Any:
        """The n coefficients of results; constants have zeros from order 1 on."""
        series = own_series(result, self.number)
        if series is not None or result is None:
            return series
        if isinstance(result, tuple):
            return tuple(self.read(part, n) for part in result)
        series = forward.tangent_of(result, self.number)
        return constant(result, n) if series is None else series

    def run(self, function: Callable[..., Any], *series: Any) -> Any:
        """The series of a function of Tensors that have these series."""
        n = min(s.shape[0] for s in series)
        tensors = [self.tensor(s) for s in series]
        return self.series_of(lambda *_: function(*tensors), n)

    def over_orders(self, rule: Any, values: dict[str, Any], slots: list[Slot]) -> Any:
        """The operation on each coefficient of some arguments; results have the coefficients along the first axis."""
        special = _OVER_ORDERS.get(rule.name)
        if special is not None:
            return special(values)
        names = {name for name, i in slots}
        dims = {
            name: [0 if (name, i) in slots else None for i in range(len(values[name]))]
            if isinstance(values[name], (list, tuple))
            else 0
            for name in names
        }
        if rule.batch_kernel is None and rule.batching != "loop" and not any(map(is_followed, tensors_in(values))):
            return batch(rule, ops if rule.check is None else Unchecked(), values, dims)[0]
        return by_vmap(rule, values, dims)

    def numbers(self, series: Any) -> Any:
        """1, 2, ... for each coefficient of a series, to be multiplied with them."""
        array = series._array
        return numbers(library(array), array.dtype, array.ndim, array.shape[0])

    def pairs(self, series: Any) -> tuple[Any, Any, Any]:
        """The places of all pairs of coefficients of two series, and where their products are added."""
        return pairs(library(series._array), series._array.shape[0])


def constant(tensor: Any, n: int) -> Any:
    """The series of a constant, of n coefficients."""
    return ops.stack([tensor, *[ops.zeros_like(tensor)] * (n - 1)], 0)


class Unchecked:
    """The operations without their checks, which refuse arguments with one axis more."""

    def __getattr__(self, name: str) -> Any:
        operation = operations[name]
        return operation if operation.rule.check is None else partial(apply_prepared, operation)


def apply_prepared(operation: Operation, *args: Any, **kwargs: Any) -> Any:
    """An operation on prepared arguments."""
    values = operation.arguments.bind(args, kwargs)
    if operation.arguments.sequence >= 0:
        values[operation.arguments.sequence] = tuple(values[operation.arguments.sequence])
    return operation.proceed(values, -1)


def from_value(series: Any, value: Any) -> Any:
    """The series with the value as first coefficient: a write through an alias without a series changed it alone."""
    if isinstance(series, list):
        return [None if s is None else from_value(s, v) for s, v in zip(series, value, strict=True)]
    if not version_of(value):
        return series
    first, array = series._array[0], value._array
    if type(first) is type(array) is numpy.ndarray and numpy.array_equal(first, array):
        return series
    return ops.cat((ops.reshape(value, (1, *value.shape)), series[1:]), 0)


def tensors_in(values: dict[str, Any]) -> Iterator[Any]:
    """All Tensors among the arguments."""
    for value in values.values():
        if isinstance(value, TensorBase):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (member for member in value if isinstance(member, TensorBase))


def is_followed(tensor: Any) -> bool:
    """True if a Tensor is recorded, has tangents or is batched: then derivatives need the operation as it is.

    The arguments of a batch form are right for values alone: sum_all with axes has no derivative of its own.
    """
    return tensor.requires_grad or bool(current().dual_stack) or isinstance(tensor._array, BatchedArray)


def by_vmap(rule: Any, values: dict[str, Any], dims: dict[str, Any]) -> Any:
    """An operation on all coefficients as on the members of a batch."""
    n = next(
        array.shape[0]
        for name, dim in dims.items()
        for array, d in (zip(values[name], dim, strict=True) if isinstance(dim, list) else [(values[name], dim)])
        if d is not None
    )
    with running(n, "same") as batch:

        def in_batch(array: Any, dim: Any) -> Any:
            if isinstance(dim, list):
                return [in_batch(a, d) for a, d in zip(array, dim, strict=True)]
            return array if dim is None else ops.batch_in(array, batch.level)

        result = call(rule, ops, {**values, **{name: in_batch(values[name], dim) for name, dim in dims.items()}})
        outputs = [ops.batch_out(r, batch.level, n) for r in (result if isinstance(result, tuple) else (result,))]
    return tuple(outputs) if isinstance(result, tuple) else outputs[0]


def _batch_in(values: dict[str, Any]) -> Any:
    """The coefficients of members: the axis of orders stays in front of the members' axes."""
    return ops.batch_in(ops.transpose(values["input"], 0, 1), values["level"])


def _batch_out(values: dict[str, Any]) -> Any:
    return ops.transpose(ops.batch_out(values["input"], values["level"], values["size"]), 0, 1)


_OVER_ORDERS = {"batch_in": _batch_in, "batch_out": _batch_out}


def library(array: Any) -> Any:
    """The namespace of an array, of the array behind one with a batch."""
    while isinstance(array, BatchedArray):
        array = array.data
    return namespace(array)


@memoize()
def numbers(xp: Any, dtype: Any, ndim: int, n: int) -> Any:
    """The numbers from 1 to n along the first axis."""
    array = numpy.arange(1, n + 1).reshape(n, *(1,) * (ndim - 1))
    return new_tensor(xp.astype(xp.asarray(array), dtype))


@memoize()
def pairs(xp: Any, n: int) -> tuple[Any, Any, Any]:
    """The places j and k - j of all pairs of coefficients, and k."""
    rows = [(j, k - j, k) for k in range(n) for j in range(k + 1)]
    left, right, sums = (new_tensor(xp.asarray(numpy.array(column))) for column in zip(*rows, strict=True))
    return left, right, sums
