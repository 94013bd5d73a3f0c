"""The graph as an object: its nodes, and what they save."""

from adjoint.core.grad_mode import increment_version
from adjoint.core.graph import Node
from adjoint.core.saved_hooks import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    node_creation_hook,
    record_locations,
    save_on_cpu,
    saved_tensors_hooks,
)

__all__ = [
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "increment_version",
    "node_creation_hook",
    "record_locations",
    "save_on_cpu",
    "saved_tensors_hooks",
]
