"""The jvp of an operation with a vjp alone: the transpose of the vjp, which is linear in its cotangent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjoint.arrays.dtypes import kind_of, numpy_dtype
from adjoint.core.graph import TensorBase, project_tensor
from adjoint.core.modes.grad_mode import enable_grad
from adjoint.core.modes.state import current
from adjoint.rules.declare import Rule
from adjoint.rules.derive import Values, vjp
from adjoint.tensor.differentiate import grad, with_zeros
from adjoint.tensor.table import ops


def transposed_jvp(rule: Rule, tangents: dict[str, Any], values: Values, y: Any) -> Any:
    """The tangent of the result (a tuple for several, None for those without gradient): d/du <vjp(u), t>.

    Tangents, values and results are Tensors. vjp(u) = J^H u is linear in u, so its own vjp at any u, with t as the
    cotangent, is J t. If gradients are recorded, this derivation is recorded too, and the tangent can be
    differentiated.
    """
    create_graph = current().grad_enabled
    outputs = (y,) if rule.outputs is None else tuple(y)
    with enable_grad():
        cotangents = [blank(output, nr, rule) for nr, output in enumerate(outputs)]
        driver = cotangents[0] if rule.outputs is None else tuple(cotangents)
        pulled = vjp(rule, ops, driver, values, y, needs(rule, tangents))
        pairs = [
            (project_tensor(cotangent, value._array.shape, numpy_dtype(value._array.dtype)), t)
            for cotangent, value, t in match_inputs(rule, pulled, values, tangents)
            if t is not None and cotangent is not None
        ]
    # cotangents that do not depend on the blanks contribute nothing
    pairs = [(end, t) for end, t in pairs if end.requires_grad]
    sources = [u for u in cotangents if u.requires_grad]
    gradients = dict.fromkeys(map(id, cotangents))
    if pairs and sources:
        ends, directions = zip(*pairs, strict=True)
        slopes = with_zeros(grad(ends, sources, directions, create_graph=create_graph, allow_unused=True), sources)
        gradients.update(zip(map(id, sources), slopes, strict=True))
    results = tuple(gradients[id(u)] for u in cotangents)
    return results[0] if rule.outputs is None else results


def blank(output: TensorBase, nr: int, rule: Rule) -> TensorBase:
    """A cotangent to differentiate by: zeros like the output, which needs a gradient if the output may have one."""
    zeros = ops.zeros_like(output)
    inexact = kind_of(zeros._array) not in "biu"
    zeros.requires_grad = inexact and (rule.differentiable is None or rule.differentiable[nr])
    return zeros


def match_inputs(rule: Rule, pulled: Any, values: Values, tangents: dict[str, Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Cotangent, value and tangent of each input, or of each member of a sequence."""
    for name, t in tangents.items():
        if name == rule.sequence:
            yield from zip(pulled[name], values[name], t, strict=True)
        else:
            yield pulled[name], values[name], t


def needs(rule: Rule, tangents: dict[str, Any]) -> tuple[bool, ...]:
    """The inputs (members of a sequence) that have a tangent."""
    if rule.sequence is not None:
        return tuple(t is not None for t in tangents[rule.sequence])
    return tuple(name in tangents for name in rule.inputs)
