"""The jvp of an operation of which only the vjp is known: the vjp, which is linear in its cotangent, transposed."""

from __future__ import annotations

from typing import Any

from adjoint.core.grad_mode import enable_grad
from adjoint.core.graph import TensorBase, project_tensor
from adjoint.core.modes import current
from adjoint.rules.declare import Rule
from adjoint.rules.derive import Values, vjp
from adjoint.tensor.differentiate import grad
from adjoint.tensor.table import ops


def transposed_jvp(rule: Rule, tangents: dict[str, Any], values: Values, y: Any) -> Any:
    """The tangent of the result (a tuple for several, None for those without gradient): d/du <vjp(u), t>.

    Tangents, values and results are Tensors. vjp(u) = J^H u is linear in u, so its own vjp at any u, with t as the
    cotangent, is J t. Where gradients are recorded, so is the derivation, and the tangent can be differentiated.
    """
    create_graph = current().grad_enabled
    outputs = (y,) if rule.outputs is None else tuple(y)
    with enable_grad():
        cotangents = [blank(output, nr, rule) for nr, output in enumerate(outputs)]
        driver = cotangents[0] if rule.outputs is None else tuple(cotangents)
        pulled = vjp(rule, ops, driver, values, y, needs(rule, tangents))
        ends, directions = [], []
        for name, t in tangents.items():
            members = zip(pulled[name], values[name], t, strict=True) if name == rule.sequence else [
                (pulled[name], values[name], t)
            ]
            for cotangent, value, direction in members:
                if direction is not None and cotangent is not None:
                    ends.append(project_tensor(cotangent, value._array.shape, value._array.dtype))
                    directions.append(direction)
        ends, directions = recorded(ends, directions)
    wanted = [u for u in cotangents if u.requires_grad]
    found = dict.fromkeys(map(id, cotangents))
    if ends and wanted:
        slopes = grad(ends, wanted, directions, create_graph=create_graph, materialize_grads=True)
        found.update(zip(map(id, wanted), slopes, strict=True))
    results = tuple(found[id(u)] for u in cotangents)
    return results[0] if rule.outputs is None else results


def blank(output: TensorBase, nr: int, rule: Rule) -> TensorBase:
    """A cotangent to differentiate by: zeros like the output, which needs a gradient if the output may have one."""
    zeros = ops.zeros_like(output)
    inexact = zeros._array.dtype.kind not in "biu"
    zeros.requires_grad = inexact and (rule.differentiable is None or rule.differentiable[nr])
    return zeros


def needs(rule: Rule, tangents: dict[str, Any]) -> tuple[bool, ...]:
    """Which inputs (members of a sequence) have a tangent."""
    if rule.sequence is not None:
        return tuple(t is not None for t in tangents[rule.sequence])
    return tuple(name in tangents for name in rule.inputs)


def recorded(ends: list[Any], directions: list[Any]) -> tuple[list[Any], list[Any]]:
    """Only those cotangents that depend on the blanks."""
    kept = [(end, t) for end, t in zip(ends, directions, strict=True) if end.requires_grad]
    return [end for end, _ in kept], [t for _, t in kept]
