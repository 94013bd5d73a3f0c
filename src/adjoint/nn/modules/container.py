"""Containers: sequences of modules, and lists and dictionaries of modules and parameters."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from adjoint.nn.modules.module import Module, _indent
from adjoint.nn.parameter import Parameter
from adjoint.tensor.tensor import Tensor

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class _Row(Module):
    """The base class of Sequential and ModuleList: submodules under the names "0", "1" and so on."""

    def _name_at(self, index: Any) -> str:
        """The name of the submodule at a position; a negative position counts from the end."""
        position, length = operator.index(index), len(self)
        if not -length <= position < length:
            raise IndexError(f"index {position} is out of range")
        return list(self._modules)[position]

    def _renumber(self, modules: Iterable[Module]) -> None:
        self._modules = {str(k): module for k, module in enumerate(modules)}

    def _part(self, index: slice) -> Any:
        raise NotImplementedError

    def __getitem__(self, index: Any) -> Any:
        return self._part(index) if isinstance(index, slice) else self._modules[self._name_at(index)]

    def __setitem__(self, index: Any, module: Module) -> None:
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index: Any) -> None:
        names = list(self._modules)[index] if isinstance(index, slice) else [self._name_at(index)]
        for name in names:
            delattr(self, name)
        self._renumber(list(self))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, module: Module) -> Any:
        """Append a module; returns the container.

        >>> from adjoint import nn
        >>> len(nn.ModuleList().append(nn.ReLU()))
        1
        """
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: Any) -> Any:
        """Remove and return the module at a position. Raises IndexError outside the container.

        >>> from adjoint import nn
        >>> nn.ModuleList([nn.ReLU(), nn.Tanh()]).pop(0)
        ReLU()
        """
        module = self[key]
        del self[key]
        return module


class Sequential(_Row):
    """A chain of modules: each takes the output of the previous one.

    The arguments are modules, or one OrderedDict of names and modules. Shapes and dtypes are those of the first input
    and the last output.

    >>> import adjoint
    >>> from adjoint import nn
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    >>> model(adjoint.ones(4, 2)).shape
    adjoint.Size([4, 3])
    >>> model
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        pairs = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else enumerate(args)
        for name, module in pairs:
            self.add_module(str(name) if isinstance(name, int) else name, module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)  # type: ignore[misc]
        return input

    def _part(self, index: slice) -> Any:
        return type(self)(OrderedDict(list(self._modules.items())[index]))

    def extend(self, sequential: Iterable[Module]) -> Sequential:
        """Append several modules; returns the container.

        >>> from adjoint import nn
        >>> len(nn.Sequential(nn.ReLU()).extend([nn.Tanh(), nn.Tanh()]))
        3
        """
        for module in list(sequential):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Sequential:
        """Insert a module before a position; returns the container. Raises IndexError outside the container.

        >>> from adjoint import nn
        >>> nn.Sequential(nn.ReLU()).insert(0, nn.Tanh())[0]
        Tanh()
        """
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules: list[Any] = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return self.extend(other)

    def __mul__(self, other: Any) -> Sequential:
        return Sequential(*list(self) * self._factor(other))

    def __imul__(self, other: Any) -> Sequential:
        return self.extend(list(self) * (self._factor(other) - 1))

    __rmul__ = __mul__

    def _factor(self, other: Any) -> int:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return other


class ModuleList(_Row):
    """A list of modules. A module with such an attribute owns the parameters of all of them.

    >>> from adjoint import nn
    >>> nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])
    ModuleList(
      (0-1): 2 x ReLU()
      (2): Tanh()
    )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _part(self, index: slice) -> Any:
        return type(self)(list(self._modules.values())[index])  # type: ignore[arg-type]

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Append several modules; returns the list. Raises TypeError unless `modules` is an iterable.

        >>> from adjoint import nn
        >>> len(nn.ModuleList().extend([nn.Tanh(), nn.Tanh()]))
        2
        """
        _check_iterable("ModuleList", modules)
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Insert a module before a position.

        >>> from adjoint import nn
        >>> layers = nn.ModuleList([nn.ReLU()])
        >>> layers.insert(0, nn.Tanh())
        >>> layers[0]
        Tanh()
        """
        modules: list[Any] = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        return self.extend(modules)

    def __repr__(self) -> str:
        runs: list[tuple[int, int, str]] = []
        for k, text in enumerate(repr(module) for module in self):
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], k, text)
            else:
                runs.append((k, k, text))
        if not runs:
            return f"{self._get_name()}()"
        lines = [
            f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in runs
        ]
        return f"{self._get_name()}(\n  " + "\n  ".join(map(_indent, lines)) + "\n)"


class ModuleDict(Module):
    """A dictionary of modules. A module with such an attribute owns the parameters of all of them.

    >>> from adjoint import nn
    >>> nn.ModuleDict({"act": nn.ReLU()})["act"]
    ReLU()
    """

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules.

        >>> from adjoint import nn
        >>> layers = nn.ModuleDict({"act": nn.ReLU()})
        >>> layers.clear()
        >>> len(layers)
        0
        """
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Remove and return the module under a key. Raises KeyError for a missing key.

        >>> from adjoint import nn
        >>> nn.ModuleDict({"act": nn.ReLU()}).pop("act")
        ReLU()
        """
        return self._modules.pop(key)

    def keys(self) -> Iterable[str]:
        """The keys, in the order of insertion.

        >>> from adjoint import nn
        >>> list(nn.ModuleDict({"act": nn.ReLU()}).keys())
        ['act']
        """
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """The keys with their modules.

        >>> from adjoint import nn
        >>> list(nn.ModuleDict({"act": nn.ReLU()}).items())
        [('act', ReLU())]
        """
        return self._modules.items()

    def values(self) -> Iterable[Any]:
        """The modules.

        >>> from adjoint import nn
        >>> list(nn.ModuleDict({"act": nn.ReLU()}).values())
        [ReLU()]
        """
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add the modules of a mapping or of pairs. Raises TypeError and ValueError for other objects.

        >>> from adjoint import nn
        >>> layers = nn.ModuleDict()
        >>> layers.update([("act", nn.ReLU())])
        >>> "act" in layers
        True
        """
        for key, module in _pairs("ModuleDict", "ModuleDict", modules):
            self[key] = module


class ParameterList(Module):
    """A list of parameters: tensors become Parameters, other objects stay unchanged.

    >>> import adjoint
    >>> adjoint.nn.ParameterList([adjoint.ones(2), 3])
    ParameterList(
        (0): Parameter containing: [adjoint.float32 of size 2]
        (1): Object of type: int
    )
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _name_at(self, index: Any) -> str:
        position = operator.index(index)
        if not -len(self) <= position < len(self):
            raise IndexError(f"index {position} is out of range")
        return str(position % len(self))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return getattr(self, self._name_at(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        setattr(self, self._name_at(index), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([getattr(self, str(k)) for k in range(self._size)])

    def __iadd__(self, values: Iterable[Any]) -> ParameterList:
        return self.extend(values)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value: Any) -> ParameterList:
        """Append a value; returns the list.

        >>> import adjoint
        >>> len(adjoint.nn.ParameterList().append(adjoint.ones(2)))
        1
        """
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Append several values; returns the list. Raises TypeError unless `values` is an iterable.

        >>> import adjoint
        >>> len(adjoint.nn.ParameterList().extend([adjoint.ones(2), adjoint.ones(3)]))
        2
        """
        _check_iterable("ParameterList", values)
        for value in list(values):
            self.append(value)
        return self

    def pop(self, index: int = -1) -> Any:
        """Remove and return the value at a position, by default the last. Raises IndexError outside the list.

        >>> import adjoint
        >>> adjoint.nn.ParameterList([adjoint.ones(2), 3]).pop()
        3
        """
        values = list(self)
        value = values.pop(int(self._name_at(index)))
        for k in range(self._size):
            delattr(self, str(k))
        self._size = 0
        self.extend(values)
        return value

    def extra_repr(self) -> str:
        return "\n".join(f"  ({k}): {_description(value, str(_dtype_of(value)))}" for k, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters: tensors become Parameters, other objects stay unchanged.

    >>> import adjoint
    >>> adjoint.nn.ParameterDict({"left": adjoint.ones(2)})
    ParameterDict(  (left): Parameter containing: [adjoint.FloatTensor of size 2])
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _attribute(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                f"'{type(key).__name__}')."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._attribute(key))

    def __setitem__(self, key: str, value: Any) -> None:
        attribute = self._attribute(key)
        self._keys[key] = None
        setattr(self, attribute, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._attribute(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __or__(self, other: Any) -> ParameterDict:
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other: Any) -> ParameterDict:
        return ParameterDict(other) | self

    def __ior__(self, other: Any) -> ParameterDict:
        self.update(other)
        return self

    def copy(self) -> ParameterDict:
        """A dictionary with the same parameters.

        >>> import adjoint
        >>> parameters = adjoint.nn.ParameterDict({"left": adjoint.ones(2)})
        >>> parameters.copy()["left"] is parameters["left"]
        True
        """
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value under a key; for a missing key, the default is added first.

        >>> import adjoint
        >>> adjoint.nn.ParameterDict().setdefault("left", 3)
        3
        """
        if key not in self:
            self[key] = default
        return self[key]

    def get(self, key: str, default: Any = None) -> Any:
        """The value under a key, or the default for a missing key.

        >>> import adjoint
        >>> adjoint.nn.ParameterDict().get("left", 3)
        3
        """
        return self[key] if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dictionary with the same value under all keys.

        >>> import adjoint
        >>> adjoint.nn.ParameterDict().fromkeys(["a", "b"], 3)["b"]
        3
        """
        return ParameterDict((key, default) for key in keys)

    def clear(self) -> None:
        """Remove all values.

        >>> import adjoint
        >>> parameters = adjoint.nn.ParameterDict({"left": adjoint.ones(2)})
        >>> parameters.clear()
        >>> len(parameters)
        0
        """
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove and return the value under a key. Raises AttributeError for a missing key.

        >>> import adjoint
        >>> adjoint.nn.ParameterDict({"left": 3}).pop("left")
        3
        """
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove the last key, and return it with its value. Raises KeyError if there is none.

        >>> import adjoint
        >>> adjoint.nn.ParameterDict({"left": 3}).popitem()
        ('left', 3)
        """
        key, _ = self._keys.popitem()
        value = getattr(self, key)
        delattr(self, key)
        return key, value

    def keys(self) -> Iterable[str]:
        """The keys, in the order of insertion.

        >>> import adjoint
        >>> list(adjoint.nn.ParameterDict({"left": 3}).keys())
        ['left']
        """
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """The keys with their values.

        >>> import adjoint
        >>> list(adjoint.nn.ParameterDict({"left": 3}).items())
        [('left', 3)]
        """
        return [(key, self[key]) for key in self._keys]

    def values(self) -> Iterable[Any]:
        """The values.

        >>> import adjoint
        >>> list(adjoint.nn.ParameterDict({"left": 3}).values())
        [3]
        """
        return [self[key] for key in self._keys]

    def update(self, parameters: Any) -> None:
        """Add the values of a mapping or of pairs. Raises TypeError and ValueError for other objects.

        >>> import adjoint
        >>> parameters = adjoint.nn.ParameterDict()
        >>> parameters.update({"left": 3})
        >>> parameters["left"]
        3
        """
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            # torch sorts the keys of every mapping other than an OrderedDict
            parameters = sorted(parameters.items())
        for key, value in _pairs("ParametersDict", "ParameterDict", parameters):
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(f"  ({key}): {_description(value, _type_of(value))}" for key, value in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _check_iterable(name: str, values: Any) -> None:
    if not isinstance(values, Iterable) or isinstance(values, (str, Tensor)):
        raise TypeError(f"{name}.extend should be called with an iterable, but got {type(values).__name__}")


def _pairs(class_name: str, name: str, values: Any) -> Iterator[tuple[str, Any]]:
    """The pairs of a mapping, of another ModuleDict or ParameterDict, or of an iterable of pairs."""
    if not isinstance(values, Iterable):
        raise TypeError(
            f"{class_name}.update should be called with an iterable of key/value pairs, but got {type(values).__name__}"
        )
    if isinstance(values, (Mapping, ModuleDict, ParameterDict)):
        yield from values.items()
        return
    for k, pair in enumerate(values):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{name} update sequence element #{k} should be Iterable; is{type(pair).__name__}")
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(f"{name} update sequence element #{k} has length {len(pair)}; 2 is required")
        yield pair


def _dtype_of(value: Any) -> Any:
    return value.dtype if isinstance(value, Tensor) else None


def _type_of(value: Any) -> str:
    return str(value.type()) if isinstance(value, Tensor) else ""


def _description(value: Any, kind: str) -> str:
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    head = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"{head} containing: [{kind} of size {'x'.join(map(str, value.shape))}]"
