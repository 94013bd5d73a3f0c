"""Handles of hooks, and the hooks that a pickle of a tensor loses, under the names of torch.utils.hooks."""

from adjoint.core.hooks import RemovableHandle, unserializable_hook, warn_if_has_hooks

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]
