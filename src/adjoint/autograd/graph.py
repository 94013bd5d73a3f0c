"""The graph as an object: its nodes, and what they save."""

import typing as _typing

from adjoint.core.edges import (
    GradientEdge,
    Node,
    get_gradient_edge,
    register_multi_grad_hook,
    set_override_stale_capture_stream,
    set_warn_on_accumulate_grad_stream_mismatch,
)
from adjoint.core.modes.finite import watch_forward
from adjoint.core.modes.grad_mode import increment_version
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
from adjoint.runtime.lazy import LateAttributes as _LateAttributes
from adjoint.runtime.lazy import by_name as _by_name
from adjoint.tensor.older.absent import AttributeOf as _AttributeOf
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
    "region_activation_memory_budget",
    "register_multi_grad_hook",
    "save_on_cpu",
    "save_to_disk",
    "saved_tensors",
    "saved_tensors_hooks",
    "set_override_stale_capture_stream",
    "set_warn_on_accumulate_grad_stream_mismatch",
    "watch_forward",
]

if _typing.TYPE_CHECKING:
    from adjoint.compilation.budgets import region_activation_memory_budget
else:
    # what compiles is read when it is used
    __getattr__ = _LateAttributes(
        __name__,
        _by_name({"adjoint.compilation.budgets": "region_activation_memory_budget"}),
        missing=_AttributeOf(__name__),
    )
    __dir__ = __getattr__.list_names
