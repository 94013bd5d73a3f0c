"""Objects with parameters as functions of these parameters.

An object must be callable. Its `named_parameters()` and `named_buffers()` return pairs of a dotted name and a Tensor,
and its tensors are attributes under these names.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from adjoint.core.graph import TensorBase
from adjoint.core.modes.state import ATTRIBUTE, ModeBlock
from adjoint.tensor.table import ops
from adjoint.tensor.tensor import Tensor

Tensors: TypeAlias = dict[str, Tensor]
_ABSENT = object()


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Tensors | Sequence[Tensors],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call an object with other parameters and buffers; afterwards it has its own again.

    Args:
        module: a callable object with named_parameters(), named_buffers() and its tensors as attributes.
        parameter_and_buffer_dicts: tensors by their dotted names, or several such dictionaries. A single dictionary
            receives the values that the object assigns to these attributes during the call.
        args: a tuple of the positional arguments, or a single one.
        kwargs: the keyword arguments.
        tie_weights: a tensor with several names is replaced under all of them.
        strict: the dictionaries must name exactly all parameters and buffers.

    Raises:
        ValueError: a name is in several dictionaries, or tied names get several tensors; there is no dictionary.
        TypeError: a value, or the attribute of that name, is no Tensor.
        RuntimeError: with strict, names are missing or unexpected.
        AttributeError: an object along a dotted name is missing.

    >>> import adjoint
    >>> class Line:
    ...     def __init__(self):
    ...         self.slope = adjoint.ones(2, requires_grad=True)
    ...     def named_parameters(self):
    ...         yield "slope", self.slope
    ...     def named_buffers(self):
    ...         yield from ()
    ...     def __call__(self, x):
    ...         return (self.slope * x).sum()
    >>> line, x = Line(), adjoint.tensor([1.0, 2.0])
    >>> adjoint.func.grad(lambda slope: adjoint.func.functional_call(line, {"slope": slope}, x))(adjoint.zeros(2))
    tensor([1., 2.])
    """
    if not hasattr(module, "named_parameters") or not hasattr(module, "named_buffers"):
        raise TypeError(
            "functional_call(): argument 'module' (position 1) must have named_parameters() and named_buffers(), "
            f"not be {type(module).__name__}"
        )
    replacements = merge(parameter_and_buffer_dicts)
    members = dict([*_all_of(module.named_parameters), *_all_of(module.named_buffers)])
    values = tie(replacements, members) if tie_weights else dict(replacements)
    if strict:
        check_names(module, values, members)
    owners = owners_of(module, values)
    for name, value in values.items():
        check_value(name, owners[name], value)
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with replacing(owners, values):
        result = module(*arguments, **({} if kwargs is None else kwargs))
        if isinstance(parameter_and_buffer_dicts, dict):
            originals = {name: getattr(*owners[name]) for name in replacements}
    if isinstance(parameter_and_buffer_dicts, dict):
        parameter_and_buffer_dicts.update(originals)
    return result


def merge(dictionaries: Tensors | Sequence[Tensors]) -> Tensors:
    """One dictionary of one or several. Raises ValueError for other objects, and for names in several dictionaries."""
    if isinstance(dictionaries, dict):
        return dictionaries
    if not isinstance(dictionaries, (list, tuple)):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dictionaries)}"
        )
    if not all(isinstance(each, dict) for each in dictionaries):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [name for each in dictionaries for name in each]
    repeated = [name for i, name in enumerate(names) if name in names[:i]]
    if repeated:
        raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    return {name: value for each in dictionaries for name, value in each.items()}


def _all_of(method: Callable[..., Any]) -> list[tuple[str, Tensor]]:
    """The pairs of a name and a tensor, also the further names of a tensor where the object can give them."""
    return list(method(remove_duplicate=False) if takes(method, "remove_duplicate") else method())


def takes(method: Callable[..., Any], name: str) -> bool:
    """True if a method has a parameter of a name."""
    code = getattr(method, "__code__", None)
    if code is not None and not hasattr(method, "__wrapped__"):
        # a tenth of the time of inspect.signature
        return name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    try:
        return name in inspect.signature(method).parameters
    except ValueError:
        return False


def tie(values: Tensors, members: Tensors) -> Tensors:
    """Tensors by name, each also under the other names of the tensor that it replaces.

    Raises ValueError if names of one tensor get several tensors.
    """
    groups: dict[int, list[str]] = {}
    for name, tensor in members.items():
        groups.setdefault(id(tensor), []).append(name)
    parameters = dict(values)
    for names in groups.values():
        keys = [name for name in names if name in values]
        if len({id(values[name]) for name in keys}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(keys)}, which are tied. Consider using "
                "tie_weights=False"
            )
        if keys:
            parameters.update(dict.fromkeys(names, values[keys[0]]))
    return parameters


def check_names(module: Any, values: Tensors, members: Tensors) -> None:
    """Raise RuntimeError unless the values are named as the object's own tensors."""
    wrong = {"Unexpected": sorted(values.keys() - members.keys()), "Missing": sorted(members.keys() - values.keys())}
    lines = [f"\n\t{kind} key(s): {', '.join(map(repr, names))}." for kind, names in wrong.items() if names]
    if lines:
        raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:" + "".join(lines))


def check_value(name: str, owner: tuple[Any, str], value: Any) -> None:
    """Raise an error unless a value may replace an attribute; `_owner` gives its owner and name."""
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')
    if value is not None and not isinstance(value, TensorBase):
        raise TypeError(f"{value} is not an instance of adjoint.Tensor")
    before = getattr(*owner, None)
    if before is not None and not isinstance(before, TensorBase):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of adjoint.Tensor")


def _owner(module: Any, name: str) -> tuple[Any, str]:
    """The object that a dotted name leads to, and the name of its attribute."""
    *path, last = name.split(".")
    for part in path:
        member = getattr(module, part, _ABSENT)
        if member is _ABSENT:
            raise AttributeError(f"{type(module).__name__} has no attribute `{part}`")
        module = member
    return module, last


class Entry:
    """An entry of a dictionary as an attribute: a module looks its tensors up in dictionaries."""

    def __init__(self, table: dict[str, Any]) -> None:
        object.__setattr__(self, "_table", table)

    def __getattr__(self, name: str) -> Any:
        return self._table[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self._table[name] = value


def owners_of(module: Any, names: Iterable[str]) -> dict[str, tuple[Any, str]]:
    """The owner and the last name of each tensor, by its dotted name."""
    return {name: _owner(module, name) for name in names}


def _holder(owner: Any, name: str) -> Any:
    """The owner of an attribute: the object, or its table of parameters or buffers."""
    state = getattr(owner, "__dict__", {})
    for kind in ("_parameters", "_buffers"):
        table = state.get(kind)
        if isinstance(table, dict) and name in table:
            return Entry(table)
    return owner


class replacing(ModeBlock):
    """A block that replaces attributes. places: their owners and names, by dotted names."""

    def __init__(self, places: dict[str, tuple[Any, str]], values: Tensors) -> None:
        self.places, self.values = places, values

    def _changes(self) -> tuple[Any, ...]:
        places = [(*self.places[name], value) for name, value in self.values.items()]
        return tuple([(ATTRIBUTE, name, (_holder(owner, name), value)) for owner, name, value in places])


def stack_module_state(models: Sequence[Any]) -> tuple[Tensors, Tensors]:
    """The parameters and buffers of objects of one class, stacked by name, for `vmap` over `functional_call`.

    The stacked parameters are leaves; they require grad if the objects' parameters do.

    Raises RuntimeError without objects, and if the objects differ in class, training mode, shapes or requires_grad.

    >>> import adjoint
    >>> class Line:
    ...     def __init__(self, slope):
    ...         self.slope = adjoint.tensor(slope, requires_grad=True)
    ...     def named_parameters(self):
    ...         yield "slope", self.slope
    ...     def named_buffers(self):
    ...         yield from ()
    ...     def __call__(self, x):
    ...         return self.slope * x
    >>> lines = [Line(1.0), Line(2.0)]
    >>> parameters, buffers = adjoint.func.stack_module_state(lines)
    >>> call = lambda p, b, x: adjoint.func.functional_call(lines[0], (p, b), x)
    >>> adjoint.func.vmap(call, (0, 0, None))(parameters, buffers, adjoint.tensor(3.0)).tolist()
    [3.0, 6.0]
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    for model in models:
        if not hasattr(model, "named_parameters"):
            raise TypeError(f"stack_module_state: a model has named_parameters(), but got {type(model).__name__}")
    modes = {bool(getattr(model, "training", False)) for model in models}
    if len(modes) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return _stack(parameters), _stack(buffers)


def _stack(states: list[Tensors]) -> Tensors:
    """Tensors of the same name in one, as leaves."""
    stacked = {}
    for name in states[0]:
        members = [state[name] for state in states]
        flags = {member.requires_grad for member in members}
        if len(flags) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        stacked[name] = ops.stack([member.detach() for member in members]).requires_grad_(flags.pop())
    return stacked
