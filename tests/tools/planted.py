"""Functions with given derivatives, right or wrong, like custom autograd Functions.

The results of the given formulas are not adapted, so sizes and dtypes may be wrong, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import adjoint
from adjoint.autograd import forward_ad
from adjoint.core.graph import FunctionNode, gradient_edge, new_node, new_tensor, next_sequence_nr

Formula = Callable[..., Any]


class PlantedBackward(FunctionNode):
    """The node of a planted function."""

    __slots__ = ()


def plant(forward: Formula, vjp: Formula, jvp: Formula | None = None) -> Formula:
    """Make a function of tensors with given derivatives.

    forward(*inputs) returns one result or a tuple. vjp(cotangents, *inputs) returns the gradients, one for each input,
    or None for an input without a gradient. jvp(tangents, *inputs) returns the tangents of the results. Cotangents and
    tangents are tuples.
    """

    def apply(*inputs: Any) -> Any:
        with adjoint.no_grad():
            outputs = forward(*[x.detach() for x in inputs])
        results = outputs if isinstance(outputs, tuple) else (outputs,)
        results = tuple(new_tensor(y._array.copy()) for y in results)
        if adjoint.is_grad_enabled() and any(x.requires_grad for x in inputs):
            record(vjp, inputs, results)
        if jvp is not None:
            results = with_tangents(jvp, inputs, results)
        return results if isinstance(outputs, tuple) else results[0]

    return apply


def record(vjp: Formula, inputs: tuple[Any, ...], results: tuple[Any, ...]) -> None:
    node: Any = new_node(PlantedBackward, FunctionNode)

    def pull(_: Any, cotangent: Any, create_graph: bool) -> list[Any]:
        several = len(results) > 1
        grads = [g if g is None or create_graph else new_tensor(g) for g in (cotangent if several else [cotangent])]
        like = [new_tensor(y._array * 0) for y in results]
        actual = vjp(tuple(z if g is None else g for g, z in zip(grads, like, strict=True)), *inputs)
        actual = actual if isinstance(actual, tuple) else (actual,)
        return [g if g is None or create_graph else g._array for g in actual]

    edges = [gradient_edge(x) if x.requires_grad else None for x in inputs]
    node.function = pull
    node._ad_set_edges(tuple(edges))
    node._ad_output_nrs = tuple(x.output_nr for x in inputs)
    node._ad_n_outputs = len(results)
    shapes, dtypes = [y._array.shape for y in results], [y._array.dtype for y in results]
    node._ad_shape, node._ad_dtype = (shapes[0], dtypes[0]) if len(results) == 1 else (tuple(shapes), tuple(dtypes))
    node._ad_sequence_nr = next_sequence_nr()
    for nr, y in enumerate(results):
        y._node, y._output_nr = node, nr


def with_tangents(jvp: Formula, inputs: tuple[Any, ...], results: tuple[Any, ...]) -> tuple[Any, ...]:
    pairs = [forward_ad.unpack_dual(x) for x in inputs]
    if all(pair.tangent is None for pair in pairs):
        return results
    actual = jvp(tuple(pair.tangent for pair in pairs), *[pair.primal for pair in pairs])
    actual = actual if isinstance(actual, tuple) else (actual,)
    return tuple(forward_ad.make_dual(y, t) for y, t in zip(results, actual, strict=True))
