"""Hooks of modules: their tables, the hooks for all modules, and their execution in calls and backward passes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from adjoint.autograd import Function
from adjoint.core.hooks import HookTable, RemovableHandle
from adjoint.tensor.tensor import Tensor

Hook = Callable[..., Any]

#: The tables of hooks in each module.
TABLES = (
    "_forward_pre_hooks",
    "_forward_hooks",
    "_backward_pre_hooks",
    "_backward_hooks",
    "_state_dict_pre_hooks",
    "_state_dict_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)
#: The tables of keys of hooks with an option: with keyword arguments, or also called after an error.
MARKS = ("_forward_pre_hooks_with_kwargs", "_forward_hooks_with_kwargs", "_forward_hooks_always_called")
#: The hooks for all modules, by kind.
OF_ALL = {
    kind: HookTable()
    for kind in ("forward_pre", "forward", "backward_pre", "backward", "parameter", "buffer", "module")
}
#: Whether the backward hooks for all modules are full ones; None before the first one.
_full_of_all: bool | None = None


def add(table: HookTable, hook: Hook, prepend: bool = False) -> RemovableHandle:
    """Add a hook after the other hooks, or before them."""
    earlier = dict(table) if prepend else {}
    for key in earlier:
        del table[key]
    handle = RemovableHandle(table, hook)
    table.update(earlier)
    return handle


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, args)` before forward of every module; a result other than None replaces the arguments.

    >>> from adjoint import nn, ones
    >>> with nn.modules.module.register_module_forward_pre_hook(lambda module, args: print(module)):
    ...     _ = nn.Tanh()(ones(2))
    Tanh()
    """
    return add(OF_ALL["forward_pre"], hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after forward of every module; a result other than None replaces the output.

    with_kwargs: the hook takes (module, args, kwargs, output). always_call: call it after an error, too.

    >>> from adjoint import nn, ones
    >>> with nn.modules.module.register_module_forward_hook(lambda module, args, output: output + 1):
    ...     nn.ReLU()(ones(2))
    tensor([2., 2.])
    """

    def run(module: Any, args: Any, kwargs: Any, output: Any) -> Any:
        return hook(module, args, kwargs, output) if with_kwargs else hook(module, args, output)

    run.always_call = always_call  # type: ignore[attr-defined]
    return add(OF_ALL["forward"], run)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_output)` before the backward pass through each module; a result replaces grad_output.

    >>> from adjoint import nn, ones
    >>> with nn.modules.module.register_module_full_backward_pre_hook(lambda module, grads: print(module)):
    ...     nn.Tanh()(ones(2, requires_grad=True)).sum().backward()
    Tanh()
    """
    return add(OF_ALL["backward_pre"], hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` after the backward pass through each module.

    A result other than None replaces grad_input.

    Raises RuntimeError if there are hooks of register_module_backward_hook().

    >>> from adjoint import nn, ones
    >>> with nn.modules.module.register_module_full_backward_hook(lambda module, grads, _: print(grads)):
    ...     nn.ReLU()(ones(2, requires_grad=True)).sum().backward()
    (tensor([1., 1.]),)
    """
    return _of_all_backward(hook, True)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` after the backward of each module's last operation; deprecated.

    Raises RuntimeError if there are hooks of register_module_full_backward_hook().

    >>> from adjoint import nn, ones
    >>> with nn.modules.module.register_module_backward_hook(lambda module, grads, _: print(module)):
    ...     nn.ReLU()(ones(2, requires_grad=True)).sum().backward()
    ReLU()
    """
    return _of_all_backward(hook, False)


def _of_all_backward(hook: Hook, full: bool) -> RemovableHandle:
    global _full_of_all
    if OF_ALL["backward"] and _full_of_all is not full:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only "
            "one of them."
        )
    _full_of_all = full
    return add(OF_ALL["backward"], hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, parameter)` when a module registers a parameter; a result replaces it.

    >>> from adjoint import nn
    >>> with nn.modules.module.register_module_parameter_registration_hook(lambda module, name, _: print(name)):
    ...     _ = nn.Linear(2, 3)
    weight
    bias
    """
    return add(OF_ALL["parameter"], hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` when a module registers a buffer; a result replaces it.

    >>> from adjoint import nn, ones
    >>> with nn.modules.module.register_module_buffer_registration_hook(lambda module, name, _: print(name)):
    ...     nn.Module().register_buffer("mean", ones(2))
    mean
    """
    return add(OF_ALL["buffer"], hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` when a module registers a submodule; a result replaces it.

    >>> from adjoint import nn
    >>> with nn.modules.module.register_module_module_registration_hook(lambda module, name, _: print(name)):
    ...     _ = nn.Sequential(nn.ReLU())
    0
    """
    return add(OF_ALL["module"], hook)


def after_registration_hooks(kind: str, module: Any, name: str, value: Any) -> Any:
    """A new parameter, buffer or submodule after the registration hooks."""
    for hook in OF_ALL[kind].values():
        other = hook(module, name, value)
        value = value if other is None else other
    return value


def call(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The output of a module that has hooks."""
    called_keys: set[Any] = set()
    try:
        return _call(module, args, kwargs, called_keys)
    except Exception:
        # hooks with always_call get the arguments of the failed call, and None as output
        for key, hook, with_kwargs, always in _forward_hooks(module):
            if always and key not in called_keys:
                _try_hook(hook, (module, args, *((kwargs,) if with_kwargs else ()), None))
        raise


def _try_hook(hook: Hook, arguments: tuple[Any, ...]) -> None:
    try:
        hook(*arguments)
    except Exception as error:
        import warnings

        warnings.warn(
            f"module forward hook with ``always_call=True`` raised an exception that was silenced as another error "
            f"was raised in forward: {error}",
            stacklevel=5,
        )


def _forward_hooks(module: Any) -> list[tuple[Any, Hook, bool, bool]]:
    of_all = [(("all", key), hook, True, hook.always_call) for key, hook in OF_ALL["forward"].items()]
    with_kwargs, always = module._forward_hooks_with_kwargs, module._forward_hooks_always_called
    return of_all + [
        (key, hook, key in with_kwargs, key in always) for key, hook in list(module._forward_hooks.items())
    ]


def _call(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], called_keys: set[Any]) -> Any:
    for key, hook in [*OF_ALL["forward_pre"].items(), *module._forward_pre_hooks.items()]:
        args, kwargs = _other_arguments(module, hook, key in module._forward_pre_hooks_with_kwargs, args, kwargs)
    full = list(module._backward_hooks.values()) if module._is_full_backward_hook is not False else []
    plain = list(module._backward_hooks.values()) if module._is_full_backward_hook is False else []
    of_all = list(OF_ALL["backward"].values())
    full, plain = (of_all + full, plain) if _full_of_all else (full, of_all + plain)
    before = [*OF_ALL["backward_pre"].values(), *module._backward_pre_hooks.values()]
    backward_hooks = BackwardHooks(module, full, before) if full or before else None
    if backward_hooks is not None:
        args = backward_hooks.inputs(args)
    output = module.forward(*args, **kwargs)
    for key, hook, with_kwargs, _ in _forward_hooks(module):
        called_keys.add(key)
        other = hook(module, args, kwargs, output) if with_kwargs else hook(module, args, output)
        output = output if other is None else other
    if backward_hooks is not None:
        output = backward_hooks.outputs(output)
    if plain:
        _register_on_last(module, plain, output)
    return output


def _other_arguments(module: Any, hook: Hook, with_kwargs: bool, args: Any, kwargs: Any) -> Any:
    if not with_kwargs:
        other = hook(module, args)
        return (args if other is None else other if isinstance(other, tuple) else (other,)), kwargs
    other = hook(module, args, kwargs)
    if other is None:
        return args, kwargs
    if not isinstance(other, tuple) or len(other) != 2:
        raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {other}.")
    return other


def _register_on_last(module: Any, hooks: list[Hook], output: Any) -> None:
    while not isinstance(output, Tensor):
        output = (
            next((v for v in output.values() if isinstance(v, Tensor)), None) if isinstance(output, dict) else output[0]
        )
    if output.grad_fn is not None:
        for hook in hooks:
            output.grad_fn.register_hook(lambda grads, cotangents, hook=hook: hook(module, grads, cotangents))


class BackwardHookFunction(Function):
    """The identity of several tensors, with one node for all their cotangents.

    Results of tensors that do not require grad do not require it either. Missing cotangents are zeros.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(*tensors: Any) -> Any:
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def setup_context(ctx: Any, tensors: Any, results: Any) -> None:
        ctx.mark_non_differentiable(
            *(result for result, tensor in zip(results, tensors, strict=True) if not tensor.requires_grad)
        )

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return tuple(tangent if tangent is None else tangent.view_as(tangent) for tangent in tangents)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        return cotangents


NO_OUTPUTS = "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received"
OUTPUTS_ALONE = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
    "gradients. Let an input require grad if the hook is to get grad_input."
)


class BackwardHooks:
    """The full backward hooks of one call of a module. Nodes at its inputs and outputs run them.

    full: the hooks after the pass, with grad_input and grad_output. before: the hooks of grad_output, before the pass.
    """

    def __init__(self, module: Any, full: list[Hook], before: list[Hook]) -> None:
        self.module, self.full, self.before = module, full, before
        self.n_inputs = -1
        self.places: list[int] = []
        self.grad_outputs: Any = None

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, with tensors that went through the node at the inputs."""
        result, self.places, node = _through_node(args)
        self.n_inputs = len(args)
        if node is not None:
            node.register_hook(self.after_pass)
        self.has_node = node is not None
        return result

    def outputs(self, output: Any) -> Any:
        """The output, with tensors that went through the node at the outputs.

        It warns unless the output is a Tensor or a tuple.
        """
        if not isinstance(output, (Tensor, tuple)):
            warnings.warn(f"{NO_OUTPUTS} {type(output)}", UserWarning, stacklevel=6)
        values = output if isinstance(output, tuple) else (output,)
        result, places, node = _through_node(values)
        if node is not None:
            node.register_prehook(lambda cotangents: self.before_pass(cotangents, places, len(values)))
        return result if isinstance(output, tuple) else result[0]

    def before_pass(self, cotangents: Any, places: list[int], n: int) -> Any:
        """Run the hooks of grad_output; if no input requires grad, run the full hooks, too."""
        grads = _spread(cotangents, places, n)
        for hook in self.before:
            other = hook(self.module, grads)
            grads = grads if other is None else _checked_tuple(other, grads)
        self.grad_outputs = grads
        if self.full and not self.has_node:
            warnings.warn(OUTPUTS_ALONE, UserWarning, stacklevel=2)
            for hook in self.full:
                if hook(self.module, _spread((), [], self.n_inputs), grads) is not None:
                    raise RuntimeError(
                        "backward hook for Modules where no input requires gradient should always return None or None "
                        "for all gradients."
                    )
            self.grad_outputs = None
        return tuple(grads[position] for position in places)

    def after_pass(self, grad_inputs: Any, _: Any) -> Any:
        """Run the hooks of grad_input and grad_output."""
        if self.grad_outputs is None:  # no cotangent came through the output of the module
            return None
        grads = _spread(grad_inputs, self.places, self.n_inputs)
        for hook in self.full:
            other = hook(self.module, grads, self.grad_outputs)
            grads = grads if other is None else _checked_tuple(other, grads)
        self.grad_outputs = None
        return tuple(grads[position] for position in self.places)


def _through_node(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int], Any]:
    """The values with tensors that went through one node, the positions of these tensors, and the node or None."""
    places = [k for k, value in enumerate(values) if isinstance(value, Tensor)]
    if not any(values[k].requires_grad for k in places):
        return values, places, None
    results = BackwardHookFunction.apply(*(values[k] for k in places))
    node = next((result.grad_fn for result in results if result.grad_fn is not None), None)
    by_place = dict(zip(places, results, strict=True))
    return tuple(by_place.get(k, value) for k, value in enumerate(values)), places, node


def _spread(values: Any, places: list[int], n: int) -> tuple[Any, ...]:
    """A tuple of n elements with the values at these positions, and None elsewhere."""
    by_place = dict(zip(places, values, strict=True))
    return tuple(by_place.get(k) for k in range(n))


def _checked_tuple(other: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    other = other if isinstance(other, tuple) else (other,)
    if len(other) != len(grads):
        raise RuntimeError(
            f"Backward hook returned an invalid number of grad_input, got {len(other)}, but expected {len(grads)}"
        )
    return other
