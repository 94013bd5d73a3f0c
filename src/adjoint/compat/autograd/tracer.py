"""Boxes, primitives and traces, under the names of autograd.tracer."""

from adjoint.compat.autograd import _node_derivatives  # noqa: F401  (registers itself)
from adjoint.compat.autograd._boxes import Box, getval, isbox
from adjoint.compat.autograd._nodes import (
    Node,
    TraceStack,
    new_box,
    notrace_primitives,
    toposort,
    trace,
    trace_primitives_map,
    trace_stack,
)
from adjoint.compat.autograd._passes import register_notrace
from adjoint.compat.autograd._primitives import notrace_primitive, primitive
from adjoint.compat.autograd._sequences import subvals

box_type_mappings = Box.type_mappings

__all__ = [
    "Box", "Node", "TraceStack", "box_type_mappings", "getval", "isbox", "new_box", "notrace_primitive",
    "notrace_primitives", "primitive", "register_notrace", "subvals", "toposort", "trace", "trace_primitives_map",
    "trace_stack",
]  # fmt: skip
