"""Names that are looked up at their first use, so that `import adjoint` loads little.

A `LazyTable` knows the *home* of each entry: the file that will declare it. `LateAttributes` are attributes of a
module, from such tables and from other modules. A `LateModule` represents a module that another one seldom needs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any, NoReturn, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LazyTable(dict[K, V]):
    """A table whose entries are declared by their homes, which are loaded when an entry is first looked up.

    homes: the home of each entry. load: a function of a home that enters its declarations. Iteration loads the whole
    table. The look-up of an existing entry is as fast as in any dict, without a Python call.

    >>> table = LazyTable({"one": "numbers"}, lambda home: table.enter("one", 1))
    >>> "one" in table, table["one"], list(table)
    (True, 1, ['one'])
    """

    __hash__ = None

    def __init__(self, homes: dict[K, str] | None = None, load: Callable[[str], object] | None = None) -> None:
        super().__init__()
        self.homes: dict[K, str] = {}
        self._load = load
        if homes is not None and load is not None:
            self.expect(homes, load)

    def expect(self, homes: dict[K, str], load: Callable[[str], object]) -> None:
        """Set the homes of the entries, and the function that loads one."""
        self.homes, self._load = homes, load

    def enter(self, key: K, value: V) -> V:
        """Enter a value if the table has none yet; returns the table's value, from whichever thread."""
        return super().setdefault(key, value)

    def present_keys(self) -> list[K]:
        """The names that have entries by now."""
        return list(super().__iter__())

    def declare(self, key: K, value: V) -> bool:
        """Enter a value; False if another is declared under this name, here or in the module that is its home."""
        home = self.homes.get(key)
        if home is not None and home not in sys.modules:
            self._load(home)  # type: ignore[misc]
        return self.enter(key, value) is value

    def __missing__(self, key: K) -> V:
        if key in self.homes:
            self._load(self.homes[key])  # type: ignore[misc]
            if super().__contains__(key):
                return self[key]
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self.homes

    def __iter__(self) -> Iterator[K]:
        """The names in the order of their homes, then those without one."""
        for home in dict.fromkeys(self.homes.values()):
            self._load(home)  # type: ignore[misc]
        entries = dict.fromkeys(self.present_keys())
        return iter([key for key in dict.fromkeys([*self.homes, *entries]) if key in entries])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def pop(self, key: K, *default: Any) -> Any:
        """Take an entry out, which its home may have to declare first; the default, or KeyError, if there is none."""
        self.get(key)
        return super().pop(key, *default)

    # the methods of dict would look at present entries alone
    get, setdefault = MutableMapping.get, MutableMapping.setdefault  # type: ignore[assignment]
    keys, values, items = MutableMapping.keys, MutableMapping.values, MutableMapping.items  # type: ignore[assignment]
    __eq__, __ne__ = MutableMapping.__eq__, object.__ne__


def by_name(names_by_home: Mapping[str, str]) -> dict[str, str]:
    """The home of each name, from the names of each home as one text.

    >>> by_name({"a": "x y", "b": "z"})
    {'x': 'a', 'y': 'a', 'z': 'b'}
    """
    return {name: home for home, names in names_by_home.items() for name in names.split()}


class LateModule:
    """Stands for a module in another one, and imports it when one of its attributes is first used.

    For modules that most programs never need. An attribute that was used is an attribute of this object.

    >>> late = LateModule("fractions")
    >>> late.Fraction(1, 2)
    Fraction(1, 2)
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = self.__dict__[name] = getattr(import_module(self._name), name)
        return value


class LateAttributes:
    """The attributes of a module that are looked up when they are first used, by its `__getattr__` and `__dir__`.

    module: its name. homes: the module that holds each attribute; a module of this package is its own home, "".
    tables: further attributes by name. missing: a function of any other name, which raises AttributeError.
    """

    def __init__(
        self,
        module: str,
        homes: Mapping[str, str] | None = None,
        tables: tuple[LazyTable[str, Any], ...] = (),
        missing: Callable[[str], Any] | None = None,
    ) -> None:
        self.module, self.homes, self.tables = module, homes or {}, tables
        self.missing = missing or self.refuse

    def names(self) -> set[str]:
        """All names, without loading any."""
        return {*self.homes, *(name for table in self.tables for name in table.homes)}

    def list_names(self) -> list[str]:
        """The `__dir__` of the module."""
        return sorted({*vars(sys.modules[self.module]), *self.names()})

    def __call__(self, name: str) -> Any:
        home = self.homes.get(name)
        if home == "":
            return import_module(f"{self.module}.{name}")
        if home is not None:
            return self.keep(name, getattr(import_module(home), name))
        for table in self.tables:
            if name in table.homes:
                return self.keep(name, table[name])
        return self.missing(name)

    def keep(self, name: str, value: Any) -> Any:
        """The value as an attribute of the module, unless it has one by now."""
        return vars(sys.modules[self.module]).setdefault(name, value)

    def refuse(self, name: str) -> NoReturn:
        """Raise the error for a name that the module does not have."""
        raise AttributeError(
            f"module {self.module!r} has no attribute {name!r}", name=name, obj=sys.modules.get(self.module)
        )
