"""Optimizer: groups of parameters with options, a state for each parameter, hooks, and state dicts."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

from adjoint.core.hooks import HookTable, RemovableHandle
from adjoint.core.modes.grad_mode import enable_grad
from adjoint.tensor.tensor import Tensor

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook", "required"]


class _Required:
    """The default value of a required option: each group must set it."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()
_pre_of_all, _post_of_all = HookTable(), HookTable()
Hook = Callable[..., Any]


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before each step of every optimizer; a result replaces args and kwargs.

    >>> from adjoint import nn, ones, optim
    >>> sgd = optim.SGD([nn.Parameter(ones(2))])
    >>> with optim.optimizer.register_optimizer_step_pre_hook(lambda optimizer, *_: print(type(optimizer).__name__)):
    ...     sgd.step()
    SGD
    """
    return RemovableHandle(_pre_of_all, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after each step of every optimizer.

    >>> from adjoint import nn, ones, optim
    >>> sgd = optim.SGD([nn.Parameter(ones(2))])
    >>> with optim.optimizer.register_optimizer_step_post_hook(lambda optimizer, *_: print(type(optimizer).__name__)):
    ...     sgd.step()
    SGD
    """
    return RemovableHandle(_post_of_all, hook)


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """A method `step` with the hooks before and after it."""

    @functools.wraps(step)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        self: Any = args[0]
        # an optimizer that wraps another optimizer may lack tables of hooks
        tables = vars(self)
        for hook in [*_pre_of_all.values(), *tables.get("_optimizer_step_pre_hooks", {}).values()]:
            other = hook(self, args, kwargs)
            if other is not None:
                if not isinstance(other, tuple) or len(other) != 2:
                    raise RuntimeError(
                        f"{type(self).__name__}.step must return None or a tuple of (new_args, new_kwargs), but got "
                        f"{other}."
                    )
                args, kwargs = other
        result = step(*args, **kwargs)
        self._opt_called = True
        for hook in [*tables.get("_optimizer_step_post_hooks", {}).values(), *_post_of_all.values()]:
            hook(self, args, kwargs)
        return result

    wrapper.hooked = True  # type: ignore[attr-defined]
    return wrapper


class Optimizer:
    """The base class of optimizers. A subclass calls `super().__init__(params, defaults)` and defines `step`.

    Args:
        params: parameters, pairs of a name and a parameter, or groups: dictionaries with "params" and options.
        defaults: the default options of groups.

    Raises ValueError without parameters, for a parameter in two groups, and for results of operations. Raises TypeError
    for objects other than tensors.

    >>> import adjoint
    >>> class Descent(adjoint.optim.Optimizer):
    ...     def __init__(self, params, lr):
    ...         super().__init__(params, {"lr": lr})
    ...     @adjoint.no_grad()
    ...     def step(self):
    ...         for group in self.param_groups:
    ...             for parameter in group["params"]:
    ...                 parameter -= group["lr"] * parameter.grad
    >>> w = adjoint.ones(2, requires_grad=True)
    >>> w.square().sum().backward()
    >>> Descent([w], 0.25).step()
    >>> w
    tensor([0.5000, 0.5000], requires_grad=True)
    """

    _tables = (
        "_optimizer_step_pre_hooks",
        "_optimizer_step_post_hooks",
        "_optimizer_state_dict_pre_hooks",
        "_optimizer_state_dict_post_hooks",
        "_optimizer_load_state_dict_pre_hooks",
        "_optimizer_load_state_dict_post_hooks",
    )
    state: defaultdict[Tensor, Any]
    param_groups: list[dict[str, Any]]
    _optimizer_step_pre_hooks: HookTable
    _optimizer_step_post_hooks: HookTable
    _optimizer_state_dict_pre_hooks: HookTable
    _optimizer_state_dict_post_hooks: HookTable
    _optimizer_load_state_dict_pre_hooks: HookTable
    _optimizer_load_state_dict_post_hooks: HookTable

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        step = vars(cls).get("step")
        if step is not None and not getattr(step, "hooked", False):
            cls.step = _with_hooks(step)  # type: ignore[method-assign]

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._complete()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + str(params.type())
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _complete(self) -> None:
        for table in self._tables:
            vars(self).setdefault(table, HookTable())

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._complete()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for k, group in enumerate(self.param_groups):
            lines.append(f"{chr(10) * bool(k)}Parameter Group {k}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])

    # groups ----------------------------------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters with its options: {"params": ..., "lr": ...}.

        Raises the errors of the constructor.

        >>> from adjoint import nn, ones, optim
        >>> sgd = optim.SGD([nn.Parameter(ones(2))], lr=0.1)
        >>> sgd.add_param_group({"params": [nn.Parameter(ones(3))], "lr": 0.2})
        >>> [group["lr"] for group in sgd.param_groups]
        [0.1, 0.2]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            param_group["params"] = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        else:
            param_group["params"] = list(params)
        self._take_names(param_group)
        for parameter in param_group["params"]:
            if not isinstance(parameter, Tensor):
                kind = type(parameter).__name__
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {kind}")
            if not self.defaults.get("differentiable") and not (parameter.is_leaf or parameter.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        new = {id(parameter) for parameter in param_group["params"]}
        if len(new) < len(param_group["params"]):
            import warnings

            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error",
                stacklevel=3,
            )
        if any(id(parameter) in new for group in self.param_groups for parameter in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def _take_names(self, group: dict[str, Any]) -> None:
        """Separate the names from the parameters of a group."""
        has_names = [isinstance(each, tuple) for each in group["params"]]
        if any(has_names):
            if not all(has_names):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            group["param_names"] = [name for name, _ in group["params"]]
            group["params"] = [parameter for _, parameter in group["params"]]
            # the names are the first entry, as in PyTorch
            rest = dict(group)
            group.clear()
            group["params"] = rest.pop("params")
            group.update(rest)
        if self.param_groups and ("param_names" in group) != ("param_names" in self.param_groups[0]):
            kinds = ("with names", "without names")
            current = "param_names" in group
            raise ValueError(
                "all optimizer param groups should be with/without names. "
                f"cannot add param group {kinds[not current]} to the optimizer"
            )

    # steps -----------------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters by their gradients. closure: a function that computes the loss and the gradients.

        Raises NotImplementedError unless a subclass defines it.

        >>> from adjoint import ones, optim
        >>> w = ones(2, requires_grad=True)
        >>> sgd = optim.SGD([w], lr=0.25)
        >>> w.square().sum().backward()
        >>> sgd.step()
        >>> w.tolist()
        [0.5, 0.5]
        """
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Remove the gradients of all parameters, or fill them with zeros.

        >>> from adjoint import ones, optim
        >>> w = ones(2, requires_grad=True)
        >>> w.sum().backward()
        >>> optim.SGD([w]).zero_grad()
        >>> w.grad is None
        True
        """
        for group in self.param_groups:
            for parameter in group["params"]:
                grad = parameter.grad
                if grad is not None and set_to_none:
                    parameter.grad = None
                elif grad is not None:
                    grad.detach_() if grad.grad_fn is not None else grad.requires_grad_(False)
                    grad.zero_()

    # hooks -----------------------------------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; a result replaces args and kwargs.

        The optimizer is also the first of args, as in torch.

        >>> from adjoint import ones, optim
        >>> sgd = optim.SGD([ones(2, requires_grad=True)])
        >>> handle = sgd.register_step_pre_hook(lambda optimizer, args, kwargs: print("before"))
        >>> sgd.step()
        before
        """
        return RemovableHandle(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step; the optimizer is also the first of args.

        >>> from adjoint import ones, optim
        >>> sgd = optim.SGD([ones(2, requires_grad=True)])
        >>> handle = sgd.register_step_post_hook(lambda optimizer, args, kwargs: print("after"))
        >>> sgd.step()
        after
        """
        return RemovableHandle(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before state_dict().

        >>> from adjoint import ones, optim
        >>> sgd = optim.SGD([ones(2, requires_grad=True)])
        >>> handle = sgd.register_state_dict_pre_hook(lambda optimizer: print("before"))
        >>> len(sgd.state_dict())
        before
        2
        """
        return _add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after state_dict(); a result replaces the dictionary.

        >>> from adjoint import ones, optim
        >>> sgd = optim.SGD([ones(2, requires_grad=True)])
        >>> handle = sgd.register_state_dict_post_hook(lambda optimizer, state: {"all": state})
        >>> list(sgd.state_dict())
        ['all']
        """
        return _add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before load_state_dict(); a result replaces the dictionary.

        >>> from adjoint import ones, optim
        >>> sgd = optim.SGD([ones(2, requires_grad=True)])
        >>> handle = sgd.register_load_state_dict_pre_hook(lambda optimizer, state: state["all"])
        >>> sgd.load_state_dict({"all": sgd.state_dict()})
        """
        return _add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` after load_state_dict().

        >>> from adjoint import ones, optim
        >>> sgd = optim.SGD([ones(2, requires_grad=True)])
        >>> handle = sgd.register_load_state_dict_post_hook(lambda optimizer: print("after"))
        >>> sgd.load_state_dict(sgd.state_dict())
        after
        """
        return _add(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # state -----------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """A dictionary of "state", by indices of parameters, and "param_groups", with indices instead of parameters.

        >>> from adjoint import ones, optim
        >>> optim.SGD([ones(2, requires_grad=True)]).state_dict()["param_groups"][0]["params"]
        [0]
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for parameter in group["params"]:
                numbers.setdefault(id(parameter), len(numbers))
            packed = {key: value for key, value in group.items() if key != "params"}
            groups.append({**packed, "params": [numbers[id(parameter)] for parameter in group["params"]]})
        state = {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            other = hook(self, result)
            result = result if other is None else other
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state and the options from state_dict(). Tensors are cast to the dtypes of their parameters.

        Raises ValueError if the number or the sizes of the groups differ.

        >>> from adjoint import ones, optim
        >>> sgd = optim.SGD([ones(2, requires_grad=True)], lr=0.1)
        >>> sgd.load_state_dict(optim.SGD([ones(2, requires_grad=True)], lr=0.2).state_dict())
        >>> sgd.param_groups[0]["lr"]
        0.2
        """
        state_dict = dict(state_dict)
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            other = hook(self, state_dict)
            state_dict = state_dict if other is None else other
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(current["params"]) != len(other["params"]) for current, other in zip(groups, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        numbers = chain.from_iterable(group["params"] for group in saved)
        by_number = dict(zip(numbers, chain.from_iterable(group["params"] for group in groups), strict=True))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            parameter = by_number.get(key)
            state[key if parameter is None else parameter] = _cast(parameter, value)
        for current, other in zip(groups, saved, strict=True):
            other["params"] = current["params"]
            if "param_names" in current:
                other["param_names"] = current["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)


def _cast(parameter: Tensor | None, value: Any, key: Any = None) -> Any:
    """A copy of a value of a state; tensors except step counts get the dtype and device of the parameter."""
    if isinstance(value, Tensor):
        if parameter is None or key == "step" or not parameter.is_floating_point():
            return value.clone()
        return value.to(dtype=parameter.dtype, device=parameter.device, copy=True)
    if isinstance(value, dict):
        return {name: _cast(parameter, member, name) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(parameter, member) for member in value)
    return deepcopy(value)


def _add(table: HookTable, hook: Hook, prepend: bool) -> RemovableHandle:
    earlier = OrderedDict(table) if prepend else {}
    for key in earlier:
        del table[key]
    handle = RemovableHandle(table, hook)
    table.update(earlier)
    return handle


def _evaluate(closure: Callable[[], Any] | None) -> Any:
    """The loss from a closure, which runs with gradients enabled; None without a closure."""
    if closure is None:
        return None
    with enable_grad():
        return closure()
