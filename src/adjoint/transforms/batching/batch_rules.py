"""The operations that move tensors into batches and out of them, and the edges of the graph between both.

`batch_in` and `batch_out` are each other's transpose, and so are `batch_spread` and `batch_sum`.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

from adjoint.arrays.namespace import is_array
from adjoint.core.graph import FunctionNode, Node, TensorBase, new_node, next_sequence_nr, project, registry
from adjoint.core.modes.batches import live_levels
from adjoint.core.operations.operation import Operation
from adjoint.core.recorded import raw_ops
from adjoint.rules.declare import Array
from adjoint.tensor.table import operations, ops
from adjoint.transforms.batching.batched import BatchedArray, Batches, LevelRule, batches_of

# in and out -----------------------------------------------------------------------------------------------------------


def batch_in(array: Any, level: int) -> BatchedArray:
    """The array as a batch over its first axis."""
    if isinstance(array, BatchedArray) and array.level > level:
        return BatchedArray(array.level, batch_in(exchange(array.data), level))
    return BatchedArray(level, array)


def batch_out(array: Any, level: int, size: int) -> Any:
    """All members of a batch in one array, along its first axis; an array without the level is repeated."""
    if isinstance(array, BatchedArray) and array.level > level:
        return BatchedArray(array.level, exchange(batch_out(array.data, level, size)))
    if isinstance(array, BatchedArray) and array.level == level:
        return array.data
    return raw_ops(array).expand(array, (size, *array.shape))


def exchange(array: Any) -> Any:
    """A view with the first two axes exchanged."""
    return raw_ops(array).transpose(array, 0, 1)


def batch_sum(array: Any, batches: Batches) -> Any:
    """The sum over batches."""
    for level, size in batches:
        whole = batch_out(array, level, size)
        array = raw_ops(whole).sum(whole, (0,), False)
    return array


def batch_spread(array: Any, batches: Batches) -> Any:
    """The array, repeated for all members of batches that it does not have yet."""
    there = dict(batches_of(array))
    for level, size in batches:
        if level not in there:
            array = batch_in(raw_ops(array).expand(array, (size, *array.shape)), level)
    return array


def batch_sum_over(ops: Any, g: Any, batches: Batches) -> Any:
    """The sum over those batches that are over; while one is being run, each member has a cotangent of its own."""
    live = live_levels()
    over = tuple([batch for batch in batches if batch[0] not in live])
    return ops.batch_sum(g, over) if over else g


def _linear(kernel: Any, transpose: Any, view: bool = False) -> None:
    """Declare a linear operation whose kernel takes batched arrays and others as they are."""
    rule = LevelRule(kernel.__name__.strip("_"), kernel, view=view, dtypes="any", method=False, function=False)
    rule.vjp("input")(transpose)
    operations[rule.name] = Operation(rule)


def _batch_in(xp, input: Array, level):  # type: ignore[no-untyped-def]
    """The tensor as a batch over its first axis."""
    return batch_in(input, level)


def _batch_out(xp, input: Array, level, size):  # type: ignore[no-untyped-def]
    """All members of a batch in one tensor, along its first axis."""
    return batch_out(input, level, size)


def _batch_sum(xp, input: Array, batches):  # type: ignore[no-untyped-def]
    """The sum over the members of batches."""
    return batch_sum(input, batches)


def _batch_spread(xp, input: Array, batches):  # type: ignore[no-untyped-def]
    """The input, repeated for all members of batches that it does not have."""
    return batch_spread(input, batches)


_linear(_batch_in, lambda ops, g, level, input_shape: ops.batch_out(g, level, input_shape[0]), view=True)
_linear(_batch_out, lambda ops, g, level: ops.batch_in(g, level), view=True)
_linear(_batch_sum, lambda ops, g, batches: ops.batch_spread(g, batches))
_linear(_batch_spread, lambda ops, g, batches: batch_sum_over(ops, g, batches))


# edges from batched nodes to nodes without a batch -------------------------------------------------------------------


class SumOverBatch(FunctionNode):
    """On an edge from a batched node to an input without the batch: sums the cotangents of all members.

    It does not sum while the batch still runs: the pass is then part of the mapped function, which has a gradient for
    each member. levels: the levels that the input lacks.
    """

    __slots__ = ("levels",)


def sum_over_batches(node: SumOverBatch, cotangent: Any, create_graph: bool) -> list[Any]:
    """The cotangent, summed over the batches that are over."""
    array = cotangent._array if create_graph else cotangent
    live = live_levels()
    over = tuple([b for b in batches_of(array) if b[0] in node.levels and b[0] not in live])
    if not over:
        return [cotangent]
    if create_graph:
        return [ops.batch_sum(cotangent, over)]
    return [project(batch_sum(cotangent, over), node._ad_shape, node._ad_dtype)]


def cross(node: Node, inputs: Sequence[Any], operands: Sequence[Any]) -> None:
    """Put a `SumOverBatch` on each edge of a node whose input lacks a batch that another operand has."""
    batches = [batches_of(operand._array) for operand in operands]
    if all([each == batches[0] for each in batches]):
        return
    levels = {level for each in batches for level, _ in each}
    edges = list(node._ad_edges)
    numbers = list(node._ad_output_nrs or [0] * len(edges))
    for i, (edge, tensor) in enumerate(zip(edges, inputs, strict=True)):
        missing = levels.difference(level for level, _ in batches_of(tensor._array)) if edge is not None else None
        if missing:
            summing = new_node(SumOverBatch, FunctionNode)
            summing.function = sum_over_batches
            summing._ad_set_edges((edge,))
            summing._ad_output_nrs = (numbers[i],)
            summing._ad_n_outputs, summing._ad_shape, summing._ad_dtype = 1, tensor._array.shape, tensor._array.dtype
            summing.levels = missing
            summing._ad_sequence_nr = next_sequence_nr()
            edges[i], numbers[i] = summing, 0
    node._ad_set_edges(tuple(edges))
    node._ad_output_nrs = tuple(numbers)


def pull_summed(formula: Any, node: SumOverBatch, cotangent: Any, values: list[Any]) -> Any:
    """The sum over batches that are over of the cotangents that a formula gives, in one step.

    The cotangents of a matrix in a batch of products are a stack of matrices; their sum is one product. Returns None
    where that needs the cotangents themselves. values: the saved values, arrays or Tensors as the cotangent.
    """
    live = live_levels()
    levels = {batch for value in values for array in arrays_in(value) for batch in batches_of(array)}
    batches = [b for b in batches_of(raw_array(cotangent)) if b[0] in node.levels and b[0] not in live]
    # a formula is linear in the cotangent: it is summed over the batches in which nothing else differs
    alone = tuple([batch for batch in batches if batch not in levels])
    batches = [batch for batch in batches if batch in levels]
    if not batches:
        return None
    on_tensors = isinstance(cotangent, TensorBase)
    if alone:
        cotangent = (ops.batch_sum if on_tensors else batch_sum)(cotangent, alone)
    stacks = [in_one_axis(value, batches) for value in (cotangent, *values)]
    return formula(ops if on_tensors else raw_ops(stacks[0]), *stacks)


def arrays_in(value: Any) -> list[Any]:
    """The arrays of a saved value: one, those of an index, or none."""
    if isinstance(value, tuple):
        return [array for item in value for array in arrays_in(item)]
    array = raw_array(value)
    return [array] if is_array(array) else []


def in_one_axis(value: Any, batches: list[tuple[int, int]]) -> Any:
    """The members of some batches along one axis more, in front, for each array or Tensor of a saved value.

    An array without such a batch is repeated.
    """
    if isinstance(value, tuple):
        return tuple([in_one_axis(item, batches) for item in value])
    if not is_array(raw_array(value)):
        return value
    for level, size in batches:
        value = (ops.batch_out if isinstance(value, TensorBase) else batch_out)(value, level, size)
    n, shape = len(batches), raw_array(value).shape
    rows = (prod(shape[:n]), *shape[n:])
    return ops.reshape(value, rows) if isinstance(value, TensorBase) else raw_ops(value).reshape(value, rows)


def raw_array(value: Any) -> Any:
    """The array of a Tensor; another value as it is."""
    return value._array if isinstance(value, TensorBase) else value


registry.cross = cross
registry.crossing = SumOverBatch
registry.pull_summed = pull_summed
