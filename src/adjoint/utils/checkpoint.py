"""Checkpoints, which save memory by recomputation, under the names of torch.utils.checkpoint."""

import typing as _typing

from adjoint.tensor.older.absent import AttributeOf as _AttributeOf
from adjoint.tools.budget import auto
from adjoint.tools.checkpoint import (
    SAC_IGNORED_OPS,
    CheckpointError,
    CheckpointPolicy,
    GraphExecGroup,
    SelectiveCheckpointContext,
    checkpoint,
    checkpoint_chain,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    get_device_states,
    noop_context_fn,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
    set_device_states,
)
from adjoint.tools.reentrant import CheckpointFunction, check_backward_validity, detach_variable

__all__ = [
    "SAC_IGNORED_OPS",
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "GraphExecGroup",
    "SelectiveCheckpointContext",
    "auto",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_chain",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)
