"""Module: parameters, buffers and submodules under names, with a forward method and hooks."""

from __future__ import annotations

import functools
import types
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from adjoint.arrays.dtypes import dtype as Dtype
from adjoint.arrays.size import device as Device
from adjoint.core.hooks import HookTable, RemovableHandle
from adjoint.core.modes.grad_mode import no_grad
from adjoint.nn.modules._base import hooks
from adjoint.nn.modules._base.hooks import (
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from adjoint.nn.parameter import Buffer, Parameter
from adjoint.runtime.lazy import LateModule
from adjoint.tensor import creation
from adjoint.tensor.tensor import Tensor

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

Self = TypeVar("Self", bound="Module")
#: The tables of a module's members; attributes are looked up in them.
MEMBERS = ("_parameters", "_buffers", "_modules")
EXTRA_STATE = "_extra_state"
_replayed: Any = LateModule("adjoint.nn.modules.replayed")


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """The result of load_state_dict(): the missing keys and the unexpected keys."""

    __slots__ = ()

    def __repr__(self) -> str:
        return super().__repr__() if any(self) else "<All keys matched successfully>"

    __str__ = __repr__


def parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device, the dtype, non_blocking and the memory format in the arguments of `Module.to`; None for no change.

    Raises TypeError for other arguments.
    """
    if len(args) > 4:
        raise TypeError(f"to() takes from 0 to 4 positional arguments but {len(args)} were given")
    dtype, device = kwargs.pop("dtype", None), kwargs.pop("device", None)
    non_blocking, memory_format = kwargs.pop("non_blocking", False), kwargs.pop("memory_format", None)
    other = next((value for value in (kwargs.pop("tensor", None), *args) if isinstance(value, Tensor)), None)
    for value in args:
        if isinstance(value, Dtype):
            dtype = value
        elif isinstance(value, bool):
            non_blocking = value
        elif value is not None and not isinstance(value, Tensor):
            device = value
    if other is not None:
        dtype, device = other.dtype, other.device
    if kwargs.pop("copy", False):
        raise RuntimeError(".to() does not accept copy argument")
    if kwargs:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(kwargs))}'")
    return None if device is None else Device(device), dtype, non_blocking, memory_format


class Module:
    """A function of tensors with its parameters, buffers and submodules. Subclasses define `forward`.

    A Parameter, Buffer or Module that is assigned to an attribute is registered under its name. Call
    `super().__init__()` before the first assignment. `training` is the mode; see train().

    >>> import adjoint
    >>> from adjoint import nn
    >>> class Line(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.slope = nn.Parameter(adjoint.ones(2))
    ...     def forward(self, x):
    ...         return (self.slope * x).sum()
    >>> line = Line()
    >>> line(adjoint.tensor([1.0, 2.0])).backward()
    >>> [(name, parameter.grad) for name, parameter in line.named_parameters()]
    [('slope', tensor([1., 2.]))]
    """

    dump_patches = False
    call_super_init = False
    _version: int = 1
    _is_full_backward_hook: bool | None = None
    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _forward_hooks: HookTable
    _forward_pre_hooks: HookTable
    _backward_hooks: HookTable
    _backward_pre_hooks: HookTable

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            name = type(self).__name__
            if kwargs:
                raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
            raise TypeError(f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        state = vars(self)
        state["training"] = True
        for table in MEMBERS:
            state[table] = {}
        state["_non_persistent_buffers_set"] = set()
        self._complete()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def _complete(self) -> None:
        """Create missing tables of hooks."""
        state = vars(self)
        for table in (*hooks.TABLES, *hooks.MARKS):
            if table not in state:
                state[table] = HookTable()

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._complete()

    # calls -----------------------------------------------------------------------------------------------------------

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The output for these arguments. A subclass defines it; a call of the module runs it with all hooks.

        Raises NotImplementedError unless a subclass defines it.
        """
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        of_all = hooks.OF_ALL
        if (
            self._backward_hooks
            or self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_pre_hooks
            or of_all["forward"]
            or of_all["forward_pre"]
            or of_all["backward"]
            or of_all["backward_pre"]
        ):
            return hooks.call(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def replayed_by(self, replayed: Any) -> Module:
        """The result of `adjoint.compile` for this module: a module that calls `replayed`."""
        module: Module = _replayed.OptimizedModule(self, replayed)
        return module

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the module in place: `forward` is recorded once for each kind of arguments, then replayed.

        The arguments are those of `adjoint.compile`.

        >>> import adjoint
        >>> model = adjoint.nn.Linear(2, 3)
        >>> model.compile()
        >>> model(adjoint.ones(2)).shape
        adjoint.Size([3])
        """
        from adjoint.compilation.compiled import compile

        self.forward = compile(types.MethodType(type(self).forward, self), *args, **kwargs)  # type: ignore[method-assign]

    # attributes ------------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__
        for table in MEMBERS:
            members = state.get(table)
            if members is not None and name in members:
                return members[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        parameters = state.get("_parameters")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if "_modules" not in state:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_modules")
            state["_modules"][name] = hooks.after_registration_hooks("module", self, name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as parameter '{name}' (adjoint.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
        elif name in state.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as child module '{name}' (adjoint.nn.Module or None expected)"
                )
            state["_modules"][name] = hooks.after_registration_hooks("module", self, name, value)
        elif name in state.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as buffer '{name}' "
                    "(adjoint.nn.Buffer, adjoint.Tensor or None expected)"
                )
            state["_buffers"][name] = hooks.after_registration_hooks("buffer", self, name, value)
        elif isinstance(value, Tensor) and isinstance(value, Buffer):
            self._forget(name, "_buffers")
            self.register_buffer(name, value, value.persistent)
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name: str, except_table: str) -> None:
        """Remove a name from the attributes, and from all tables except one."""
        self.__dict__.pop(name, None)
        for table in MEMBERS:
            if table != except_table and table in self.__dict__:
                self.__dict__[table].pop(name, None)
        self.__dict__.get("_non_persistent_buffers_set", set()).discard(name)

    def __delattr__(self, name: str) -> None:
        for table in MEMBERS:
            if name in self.__dict__.get(table, ()):
                del self.__dict__[table][name]
                self._non_persistent_buffers_set.discard(name)
                return
        if name not in self.__dict__:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        members = [name for table in MEMBERS for name in self.__dict__.get(table, ())]
        names = {*dir(type(self)), *self.__dict__, *members}
        return sorted(name for name in names if not name[0].isdigit())

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name without dots; None reserves the name.

        Raises TypeError and KeyError for other names and values, and ValueError for results of operations.

        >>> from adjoint import nn, ones
        >>> module = nn.Module()
        >>> module.register_parameter("weight", nn.Parameter(ones(2)))
        >>> module.weight.shape
        adjoint.Size([2])
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_typename(param)}' object to parameter '{name}' "
                "(adjoint.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
                f"express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = (
            param if param is None else hooks.after_registration_hooks("parameter", self, name, param)
        )

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that moves with the module but is not a parameter; persistent: it is part of state_dict().

        Raises TypeError and KeyError for other names and values.

        >>> from adjoint import nn, zeros
        >>> module = nn.Module()
        >>> module.register_buffer("mean", zeros(2))
        >>> module.mean
        tensor([0., 0.])
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{_typename(tensor)}' object to buffer '{name}' (adjoint Tensor or None required)"
            )
        self._buffers[name] = hooks.after_registration_hooks("buffer", self, name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under a name without dots; None reserves the name.

        Raises TypeError and KeyError for other names and values.

        >>> from adjoint import nn
        >>> model = nn.Module()
        >>> model.add_module("act", nn.ReLU())
        >>> model.act
        ReLU()
        """
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{_typename(module)} is not a Module subclass")
        self._check_name("module", name, "_modules")
        self._modules[name] = hooks.after_registration_hooks("module", self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a submodule: the same as add_module().

        >>> from adjoint import nn
        >>> model = nn.Module()
        >>> model.register_module("act", nn.ReLU())
        """
        self.add_module(name, module)

    def _check_name(self, kind: str, name: Any, table: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {_typename(name)}")
        if hasattr(self, name) and name not in self.__dict__[table]:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')

    # members by dotted names -----------------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """The submodule under a dotted name; "" is the module itself. Raises AttributeError for a missing one.

        >>> from adjoint import nn
        >>> nn.Sequential(nn.Sequential(nn.ReLU())).get_submodule("0.0")
        ReLU()
        """
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Replace the submodule under a dotted name, or add it; strict: only replace an existing one.

        Raises ValueError for other targets, and AttributeError if a module on the path is missing.

        >>> from adjoint import nn
        >>> model = nn.Sequential(nn.ReLU())
        >>> model.set_submodule("0", nn.Tanh())
        >>> model
        Sequential(
          (0): Tanh()
        )
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        path, _, name = target.rpartition(".")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter under a dotted name. Raises AttributeError if it is missing.

        >>> from adjoint import nn
        >>> nn.Sequential(nn.Linear(2, 3)).get_parameter("0.bias").shape
        adjoint.Size([3])
        """
        value, name = self._member(target)
        if not isinstance(value, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return value

    def get_buffer(self, target: str) -> Tensor:
        """The buffer under a dotted name. Raises AttributeError if it is missing.

        >>> from adjoint import nn
        >>> nn.Sequential(nn.BatchNorm1d(2)).get_buffer("0.running_mean")
        tensor([0., 0.])
        """
        value, name = self._member(target)
        if name not in self.get_submodule(target.rpartition(".")[0])._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return value

    def _member(self, target: str) -> tuple[Any, str]:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`")
        return getattr(owner, name), name

    # all members -----------------------------------------------------------------------------------------------------

    def _named_members(
        self,
        members_of: Callable[[Module], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """The members of one table in all modules, with dotted names; each once, or under all its names."""
        ids: set[Any] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in members_of(module):
                if value is None or id(value) in ids:
                    continue
                if remove_duplicate:
                    ids.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their dotted names. recurse: include the parameters of submodules.

        remove_duplicate: a parameter with several names appears once.

        >>> from adjoint import nn
        >>> [name for name, _ in nn.Sequential(nn.Linear(2, 3)).named_parameters()]
        ['0.weight', '0.bias']
        """
        return self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once. recurse: include the parameters of submodules.

        >>> from adjoint import nn
        >>> [parameter.shape for parameter in nn.Linear(2, 3).parameters()]
        [adjoint.Size([3, 2]), adjoint.Size([3])]
        """
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their dotted names. recurse: include the buffers of submodules.

        >>> from adjoint import nn
        >>> [name for name, _ in nn.BatchNorm1d(2).named_buffers()]
        ['running_mean', 'running_var', 'num_batches_tracked']
        """
        return self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once. recurse: include the buffers of submodules.

        >>> from adjoint import nn
        >>> len(list(nn.BatchNorm1d(2).buffers()))
        3
        """
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The direct submodules with their names, each once.

        >>> from adjoint import nn
        >>> list(nn.Sequential(nn.ReLU()).named_children())
        [('0', ReLU())]
        """
        ids: set[int] = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in ids:
                ids.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        """The direct submodules, each once.

        >>> from adjoint import nn
        >>> list(nn.Sequential(nn.ReLU()).children())
        [ReLU()]
        """
        return (module for _, module in self.named_children())

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """The module itself and all submodules, with dotted names. memo: a set of modules to skip; it is extended.

        >>> from adjoint import nn
        >>> [name for name, _ in nn.Sequential(nn.Sequential(nn.ReLU())).named_modules()]
        ['', '0', '0.0']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """The module itself and all submodules, each once.

        >>> from adjoint import nn
        >>> len(list(nn.Sequential(nn.ReLU(), nn.Tanh()).modules()))
        3
        """
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    # changes of all members ------------------------------------------------------------------------------------------

    def apply(self: Self, fn: Callable[[Module], Any]) -> Self:
        """Call a function with each submodule, then with the module; returns the module.

        >>> from adjoint import nn
        >>> model = nn.Linear(1, 2).apply(lambda module: nn.init.ones_(module.weight))
        >>> model.weight.tolist()
        [[1.0], [1.0]]
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self: Self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Apply a function to all parameters, gradients and buffers, and store the results in their place."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        with no_grad():
            for parameter in self._parameters.values():
                if parameter is not None:
                    grad = parameter.grad
                    parameter.data = fn(parameter.data)
                    if grad is not None:
                        parameter.grad = fn(grad.data).requires_grad_(grad.requires_grad)
            for name, buffer in self._buffers.items():
                if buffer is not None:
                    self._buffers[name] = fn(buffer)
        return self

    def to(self: Self, *args: Any, **kwargs: Any) -> Self:
        """Move all parameters and buffers to a device, or convert floating-point and complex ones to a dtype.

        The forms are to(device, dtype), to(dtype), to(device) and to(tensor); the last takes both from the tensor.
        memory_format: the memory layout of tensors with four and five axes. The module changes in place.

        Raises TypeError for an integer dtype, and for other arguments.

        >>> import adjoint
        >>> adjoint.nn.Linear(2, 3).to(adjoint.float64).weight.dtype
        adjoint.float64
        """
        device, dtype, _, memory_format = parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(tensor: Tensor) -> Tensor:
            numeric = tensor.is_floating_point() or tensor.is_complex()
            # tensors with other numbers of axes, for instance biases, have no layout of channels
            layout = {} if memory_format is None or tensor.ndim not in (4, 5) else {"memory_format": memory_format}
            return tensor.to(device=device, dtype=dtype if numeric else None, **layout)

        return self._apply(convert)

    def type(self: Self, dst_type: Any) -> Self:
        """Convert all parameters and buffers to a dtype, in place.

        >>> import adjoint
        >>> adjoint.nn.Linear(2, 3).type(adjoint.float64).bias.dtype
        adjoint.float64
        """
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self: Self) -> Self:
        """Convert floating-point parameters and buffers to float32, in place.

        >>> from adjoint import nn
        >>> nn.Linear(2, 3).double().float().bias.dtype
        adjoint.float32
        """
        return self._floating("float")

    def double(self: Self) -> Self:
        """Convert floating-point parameters and buffers to float64, in place.

        >>> from adjoint import nn
        >>> nn.Linear(2, 3).double().bias.dtype
        adjoint.float64
        """
        return self._floating("double")

    def half(self: Self) -> Self:
        """Convert floating-point parameters and buffers to float16, in place.

        >>> from adjoint import nn
        >>> nn.Linear(2, 3).half().bias.dtype
        adjoint.float16
        """
        return self._floating("half")

    def bfloat16(self: Self) -> Self:
        """Convert floating-point parameters and buffers to bfloat16, in place; it needs ml_dtypes.

        >>> from adjoint import nn
        >>> nn.ReLU().bfloat16()
        ReLU()
        """
        return self._floating("bfloat16")

    def _floating(self: Self, method: str) -> Self:
        return self._apply(lambda tensor: getattr(tensor, method)() if tensor.is_floating_point() else tensor)

    def cpu(self: Self) -> Self:
        """Move all parameters and buffers to main memory.

        >>> from adjoint import nn
        >>> nn.Linear(2, 3).cpu().weight.device
        device(type='cpu')
        """
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self: Self, device: Any = None) -> Self:
        """Move all parameters and buffers to a CUDA device; it needs CuPy.

        >>> from adjoint import nn
        >>> nn.ReLU().cuda()
        ReLU()
        """
        return self._apply(lambda tensor: tensor.cuda(device))

    def to_empty(self: Self, *, device: Any, recurse: bool = True) -> Self:
        """Move to a device without copying the values; the new values are uninitialized.

        >>> from adjoint import nn
        >>> nn.Linear(2, 3).to_empty(device="cpu").weight.shape
        adjoint.Size([3, 2])
        """
        return self._apply(lambda tensor: creation.empty_like(tensor, device=device), recurse)

    def share_memory(self: Self) -> Self:
        """Move all parameters and buffers to shared memory of processes.

        >>> from adjoint import nn
        >>> nn.Linear(2, 3).share_memory().weight.is_shared()
        True
        """
        return self._apply(lambda tensor: tensor.share_memory_())

    def train(self: Self, mode: bool = True) -> Self:
        """Set the mode of the module and all submodules: training, or evaluation. Dropout and batch norm depend on it.

        Raises ValueError unless `mode` is a bool.

        >>> from adjoint import nn
        >>> nn.Dropout().train(False).training
        False
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: Self) -> Self:
        """Set the evaluation mode: train(False).

        >>> from adjoint import nn, ones
        >>> nn.Dropout().eval()(ones(2))
        tensor([1., 1.])
        """
        return self.train(False)

    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        """Set requires_grad of all parameters.

        >>> from adjoint import nn
        >>> nn.Linear(2, 3).requires_grad_(False).weight.requires_grad
        False
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Remove the gradients of all parameters, or fill them with zeros.

        >>> from adjoint import nn, ones
        >>> model = nn.Linear(2, 1)
        >>> model(ones(2)).sum().backward()
        >>> model.zero_grad()
        >>> model.weight.grad is None
        True
        """
        for parameter in self.parameters():
            clear_grad(parameter, set_to_none)

    # state -----------------------------------------------------------------------------------------------------------

    def get_extra_state(self) -> Any:
        """Further state for state_dict(), besides tensors. A subclass defines it together with set_extra_state().

        >>> from adjoint import nn
        >>> class Counted(nn.Module):
        ...     def get_extra_state(self):
        ...         return 3
        >>> dict(Counted().state_dict())
        {'_extra_state': 3}
        """
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called. A subclass with "
            "set_extra_state() defines get_extra_state() too."
        )

    def set_extra_state(self, state: Any) -> None:
        """Restore the state of get_extra_state(). A subclass defines it.

        >>> from adjoint import nn
        >>> class Counted(nn.Module):
        ...     def get_extra_state(self):
        ...         return 3
        ...     def set_extra_state(self, state):
        ...         print(state)
        >>> Counted().load_state_dict({"_extra_state": 4})
        4
        <All keys matched successfully>
        """
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called. A subclass with "
            "get_extra_state() defines set_extra_state() too."
        )

    def _persistent_members(self) -> dict[str, Tensor]:
        """The parameters and persistent buffers of this module without submodules."""
        left_out = self._non_persistent_buffers_set
        buffers = {name: value for name, value in self._buffers.items() if name not in left_out}
        members: dict[str, Tensor | None] = {**self._parameters, **buffers}
        return {name: value for name, value in members.items() if value is not None}

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Add the state of this module without submodules to a dictionary; subclasses may extend it."""
        for name, value in self._persistent_members().items():
            destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not Module.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """The parameters and persistent buffers by their dotted names; they share the memory of the module.

        keep_vars: return the tensors themselves, not detached. destination: a dictionary to extend. prefix: a text
        before each name.

        >>> from adjoint import nn
        >>> list(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).state_dict())[:3]
        ['0.weight', '0.bias', '1.weight']
        """
        for value, name in zip(args, ("destination", "prefix", "keep_vars"), strict=False):
            destination = value if name == "destination" else destination
            prefix = value if name == "prefix" else prefix
            keep_vars = value if name == "keep_vars" else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            other = hook(self, destination, prefix, metadata)
            if not getattr(hook, "_from_public_api", False):
                destination = destination if other is None else other
            elif other is not None:
                raise RuntimeError("state_dict post-hook must return None")
        return destination

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Copy the state of this module without submodules; subclasses may extend it."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        members = self._persistent_members()
        for name, member in members.items():
            if prefix + name in state_dict:
                error = self._load_member(name, member, state_dict[prefix + name], prefix + name, assign)
                error_msgs.extend([error] if error else [])
            elif strict:
                missing_keys.append(prefix + name)
        extra = prefix + EXTRA_STATE
        if type(self).set_extra_state is not Module.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            unexpected_keys.extend(self._unexpected_keys(state_dict, prefix, members, extra))

    def _unexpected_keys(self, state_dict: Any, prefix: str, members: Any, extra: str) -> list[str]:
        """The keys under a prefix that belong to no member of this module."""
        unexpected = []
        for key in state_dict:
            if key.startswith(prefix) and key != extra:
                first, *rest = key[len(prefix) :].split(".", 1)
                if (first not in self._modules) if rest else (first not in members):
                    unexpected.append(key)
        return unexpected

    def _load_member(self, name: str, member: Tensor, value: Any, key: str, assign: bool) -> str | None:
        """Copy or assign one value; returns an error message, or None."""
        if not isinstance(value, Tensor):
            return (
                f'While copying the parameter named "{key}", expected adjoint.Tensor or Tensor-like object from '
                f"checkpoint but received {type(value)}"
            )
        if member.ndim == 0 and value.ndim == 1 and value.shape[0] == 1:
            value = value[0]
        if value.shape != member.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the shape in "
                f"current model is {member.shape}."
            )
        try:
            with no_grad():
                if not assign:
                    member.copy_(value)
                elif isinstance(member, Parameter) and not isinstance(value, Parameter):
                    setattr(self, name, Parameter(value, requires_grad=member.requires_grad))
                else:
                    setattr(self, name, value)
        except Exception as error:
            action = "swapping" if assign else "copying"
            return (
                f'While {action} the parameter named "{key}", whose dimensions in the model are {member.size()} and '
                f"whose dimensions in the checkpoint are {value.size()}, an exception occurred : {error.args}."
            )
        return None

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copy parameters and buffers from a result of state_dict(); returns the missing and the unexpected keys.

        strict: such keys are errors. assign: assign the tensors of the dictionary instead of copying their values.

        Raises RuntimeError with a list of all missing keys, unexpected keys and different shapes, and TypeError unless
        `state_dict` is a mapping.

        >>> from adjoint import nn
        >>> nn.Linear(2, 3).load_state_dict(nn.Linear(2, 3).state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        state: Any = OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata

        def load(module: Module, members: Any, prefix: str = "") -> None:
            local = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local["assign_to_params_buffers"] = assign
            module._load_from_state_dict(members, prefix, local, True, missing, unexpected, errors)
            for name, child in module._modules.items():
                if child is not None:
                    path = f"{prefix}{name}."
                    load(child, {key: value for key, value in members.items() if key.startswith(path)}, path)
            incompatible = _IncompatibleKeys(missing, unexpected)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, incompatible) is not None:
                    raise RuntimeError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                        "values, if incompatible_keys need to be modified, it should be done inplace."
                    )

        load(self, state)
        if strict:
            for kind, keys in (("Unexpected", unexpected), ("Missing", missing)):
                if keys:
                    names = ", ".join(f'"{key}"' for key in keys)
                    errors.insert(0, f"{kind} key(s) in state_dict: {names}. ")
        if errors:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(errors))
            )
        return _IncompatibleKeys(missing, unexpected)

    # hooks -----------------------------------------------------------------------------------------------------------

    def register_forward_pre_hook(
        self, hook: hooks.Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before forward; a result other than None replaces the arguments.

        with_kwargs: the hook takes (module, args, kwargs) and returns None or both. prepend: call it before the other
        hooks.

        >>> from adjoint import nn, ones
        >>> model = nn.ReLU()
        >>> handle = model.register_forward_pre_hook(lambda module, args: args[0] - 3)
        >>> model(ones(2))
        tensor([0., 0.])
        """
        handle = hooks.add(self._forward_pre_hooks, hook, prepend)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        return handle

    def register_forward_hook(
        self, hook: hooks.Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after forward; a result other than None replaces the output.

        with_kwargs: the hook takes (module, args, kwargs, output). prepend: call it before the other hooks.
        always_call: call it after an error, too.

        >>> from adjoint import nn, ones
        >>> model = nn.ReLU()
        >>> handle = model.register_forward_hook(lambda module, args, output: output + 1)
        >>> model(ones(2))
        tensor([2., 2.])
        """
        handle = hooks.add(self._forward_hooks, hook, prepend)
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        return handle

    def register_full_backward_pre_hook(self, hook: hooks.Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the backward pass through the module; a result replaces grad_output.

        >>> from adjoint import nn, ones
        >>> model, x = nn.ReLU(), ones(2, requires_grad=True)
        >>> handle = model.register_full_backward_pre_hook(lambda module, grads: (grads[0] * 5,))
        >>> model(x).sum().backward()
        >>> x.grad
        tensor([5., 5.])
        """
        return hooks.add(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: hooks.Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` after the backward pass; a result replaces grad_input.

        Raises RuntimeError if the module has hooks of register_backward_hook().

        >>> from adjoint import nn, ones
        >>> model, x = nn.ReLU(), ones(2, requires_grad=True)
        >>> handle = model.register_full_backward_hook(lambda module, grads, _: (grads[0] * 5,))
        >>> model(x).sum().backward()
        >>> x.grad
        tensor([5., 5.])
        """
        return self._add_backward_hook(hook, True, prepend)

    def register_backward_hook(self, hook: hooks.Hook) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` after the backward of the module's last operation; deprecated.

        Raises RuntimeError if the module has hooks of register_full_backward_hook().

        >>> from adjoint import nn, ones
        >>> model = nn.ReLU()
        >>> handle = model.register_backward_hook(lambda module, grads, cotangents: print(cotangents))
        >>> model(ones(2, requires_grad=True)).sum().backward()
        (tensor([1., 1.]),)
        """
        return self._add_backward_hook(hook, False)

    def _add_backward_hook(self, hook: hooks.Hook, full: bool, prepend: bool = False) -> RemovableHandle:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only "
                "one of them."
            )
        self._is_full_backward_hook = full
        return hooks.add(self._backward_hooks, hook, prepend)

    def register_state_dict_pre_hook(self, hook: hooks.Hook) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before state_dict() reads the module.

        >>> from adjoint import nn
        >>> model = nn.ReLU()
        >>> handle = model.register_state_dict_pre_hook(lambda module, prefix, keep_vars: print(module))
        >>> model.state_dict()
        ReLU()
        OrderedDict()
        """
        return hooks.add(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: hooks.Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after state_dict(), which it may change in place.

        >>> from adjoint import nn
        >>> model = nn.ReLU()
        >>> handle = model.register_state_dict_post_hook(lambda module, state, prefix, _: state.update(a=1))
        >>> dict(model.state_dict())
        {'a': 1}
        """
        hook._from_public_api = True  # type: ignore[attr-defined]
        return hooks.add(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: hooks.Hook) -> RemovableHandle:
        """Like register_state_dict_post_hook(), but the hook may return another dictionary."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return hooks.add(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: hooks.Hook) -> RemovableHandle:
        """Call a hook before load_state_dict() reads the module's part.

        Its arguments are (module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs). It may change all of them except the module.

        >>> from adjoint import nn
        >>> model = nn.ReLU()
        >>> handle = model.register_load_state_dict_pre_hook(lambda module, state, *rest: state.clear())
        >>> model.load_state_dict({"old": 1})
        <All keys matched successfully>
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: hooks.Hook, with_module: bool = False) -> RemovableHandle:
        return hooks.add(self._load_state_dict_pre_hooks, functools.partial(hook, self) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook: hooks.Hook) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after load_state_dict(); it may change both lists in place.

        >>> from adjoint import nn
        >>> model = nn.ReLU()
        >>> handle = model.register_load_state_dict_post_hook(lambda module, keys: keys.unexpected_keys.clear())
        >>> model.load_state_dict({"old": 1})
        <All keys matched successfully>
        """
        return hooks.add(self._load_state_dict_post_hooks, hook)

    # text ------------------------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The arguments that repr() shows in the parentheses. A subclass defines it.

        >>> from adjoint import nn
        >>> nn.Linear(2, 3).extra_repr()
        'in_features=2, out_features=3, bias=True'
        """
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        children = [f"({name}): {_indent(repr(module))}" for name, module in self._modules.items()]
        if len(extra_lines) == 1 and not children:
            return f"{self._get_name()}({extra_lines[0]})"
        lines = extra_lines + children
        return f"{self._get_name()}(" + ("\n  " + "\n  ".join(lines) + "\n" if lines else "") + ")"


def clear_grad(parameter: Tensor, set_to_none: bool) -> None:
    """Remove the gradient of a tensor, or fill it with zeros."""
    grad = parameter.grad
    if grad is None:
        return
    if set_to_none:
        parameter.grad = None
    else:
        grad.detach_() if grad.grad_fn is not None else grad.requires_grad_(False)
        grad.zero_()


def _indent(text: str) -> str:
    """A text with all lines except the first indented by two spaces."""
    return text.replace("\n", "\n  ")


def _typename(value: Any) -> str:
    """The name of a value's class, or of a class itself; a tensor's name includes its dtype."""
    if isinstance(value, Tensor) and type(value) is Tensor:
        return str(value.type())
    kind = value if isinstance(value, type) else type(value)
    is_plain = kind.__module__ in ("builtins", "__main__")
    return kind.__qualname__ if is_plain else f"{kind.__module__}.{kind.__qualname__}"
