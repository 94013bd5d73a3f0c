"""The package functorch, an older name of torch.func: transforms, and modules as functions of their parameters."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from adjoint import nn
from adjoint.func import (
    functional_call,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "vjp",
    "vmap",
]


class FunctionalModule(nn.Module):
    """A module as a function of its parameters and its arguments."""

    def __init__(self, stateless_model: nn.Module) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = [name for name, _ in stateless_model.named_parameters()]
        self.buffer_names = [name for name, _ in stateless_model.named_buffers()]

    def forward(self, params: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        """The result with these parameters."""
        return self._result(params, (), args, kwargs)

    def _result(self, params: Sequence[Any], buffers: Sequence[Any], args: Any, kwargs: Any) -> Any:
        names = self.param_names + self.buffer_names
        return functional_call(self.stateless_model, dict(zip(names, [*params, *buffers], strict=True)), args, kwargs)


class FunctionalModuleWithBuffers(FunctionalModule):
    """A module as a function of its parameters, its buffers and its arguments."""

    def forward(self, params: Sequence[Any], buffers: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        """The result with these parameters and buffers; the module modifies the buffers as it would its own."""
        return self._result(params, buffers, args, kwargs)


def make_functional(model: nn.Module, disable_autograd_tracking: bool = False) -> tuple[Any, tuple[Any, ...]]:
    """A copy of a module as a function of its parameters, and these parameters.

    Raises RuntimeError for a module with buffers.
    """
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    model, params, _ = _copies(model, disable_autograd_tracking)
    return FunctionalModule(model), params


def make_functional_with_buffers(
    model: nn.Module, disable_autograd_tracking: bool = False
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """A copy of a module as a function of parameters and buffers, these parameters, and these buffers."""
    model, params, buffers = _copies(model, disable_autograd_tracking)
    return FunctionalModuleWithBuffers(model), params, buffers


def _copies(model: nn.Module, is_constant: bool) -> tuple[nn.Module, tuple[Any, ...], tuple[Any, ...]]:
    model = copy.deepcopy(model)
    params = tuple(model.parameters())
    if is_constant:
        for each in params:
            each.requires_grad_(False)
    return model, params, tuple(model.buffers())


def combine_state_for_ensemble(
    models: Sequence[nn.Module],
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """The first module as a function of parameters and buffers, and the stacked ones of all modules, for vmap.

    Raises RuntimeError without modules, or if they differ in class or training mode.
    """
    if len(models) == 0:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({each.training for each in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if len({type(each) for each in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    params, buffers = stack_module_state(models)
    call, _, _ = make_functional_with_buffers(models[0])
    return call, tuple(each.detach() for each in params.values()), tuple(buffers.values())
