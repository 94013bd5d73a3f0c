"""The graph as an object: its nodes, and what they save."""

from adjoint.core.edges import (
    GradientEdge,
    Node,
    get_gradient_edge,
    register_multi_grad_hook,
    set_warn_on_accumulate_grad_stream_mismatch,
)
from adjoint.core.finite import watch_forward
from adjoint.core.grad_mode import increment_version
from adjoint.core.saved_hooks import (
    allow_mutation_on_saved_tensors,
    composed,
    disable_saved_tensors_hooks,
    node_creation_hook,
    record_locations,
    save_on_cpu,
    save_to_disk,
    saved_tensors_hooks,
)
from adjoint.tools.graph_view import draw, saved_tensors

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "composed",
    "disable_saved_tensors_hooks",
    "draw",
    "get_gradient_edge",
    "increment_version",
    "node_creation_hook",
    "record_locations",
    "register_multi_grad_hook",
    "save_on_cpu",
    "save_to_disk",
    "saved_tensors",
    "saved_tensors_hooks",
    "set_warn_on_accumulate_grad_stream_mismatch",
    "watch_forward",
]
