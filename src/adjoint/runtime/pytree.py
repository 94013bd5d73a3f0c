"""Trees of containers: taking the leaves out, and putting other leaves in.

Containers are tuple, list, deque, dict, OrderedDict, defaultdict, named tuples and dataclasses; None is a container
without leaves.
Everything else is a leaf, also an instance of a subclass of these (a Size is a leaf). A dataclass field declared with
`field(metadata={"static": True})` belongs to the structure and is not searched for leaves.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from adjoint.runtime.caches import memoize


class Kind(NamedTuple):
    """The way to take one kind of container apart, and to make it.

    keys: the names of its children; item: the child of that name; make: a container from (an example's type, keys,
    children, static fields); access: the text that follows the name of the container to access a child; show: the text
    of the container, from its type and pairs of a key and the text of a child. static: its other contents, by name.
    """

    keys: Callable[[Any], tuple[Any, ...]]
    item: Callable[[Any, Any], Any]
    make: Callable[[Any, tuple[Any, ...], list[Any], dict[str, Any]], Any]
    access: str
    show: Callable[[Any, list[tuple[Any, str]]], str]
    static: Callable[[Any], dict[str, Any]] = lambda container: {}


def _positions(container: Any) -> tuple[int, ...]:
    return tuple(range(len(container)))


def _dynamic_fields(container: Any) -> tuple[str, ...]:
    fields = dataclasses.fields(container)
    return tuple(field.name for field in fields if field.init and not field.metadata.get("static", False))


def _static_fields(container: Any) -> dict[str, Any]:
    fields = dataclasses.fields(container)
    names = [field.name for field in fields if field.init and field.metadata.get("static", False)]
    return {name: getattr(container, name) for name in names}


def _index(container: Any, key: Any) -> Any:
    return container[key]


def _show_tuple(kind: type, pairs: list[tuple[Any, str]]) -> str:
    return f"({', '.join(text for _, text in pairs)}{',' if len(pairs) == 1 else ''})"


def _show_list(kind: type, pairs: list[tuple[Any, str]]) -> str:
    return f"[{', '.join(text for _, text in pairs)}]"


def _show_dict(kind: type, pairs: list[tuple[Any, str]]) -> str:
    items = "{" + ", ".join(f"{key!r}: {text}" for key, text in pairs) + "}"
    return items if kind is dict else f"{kind.__name__}({items})"


def _show_default_dict(kind: type, pairs: list[tuple[Any, str]]) -> str:
    *items, (_, factory) = pairs
    return f"{kind.__name__}({factory}, {_show_dict(dict, items)})"


def _show_deque(kind: type, pairs: list[tuple[Any, str]]) -> str:
    *items, (_, length) = pairs
    return f"{kind.__name__}({_show_list(list, items)}, maxlen={length})"


def _show_fields(kind: type, pairs: list[tuple[Any, str]]) -> str:
    return f"{kind.__name__}({', '.join(f'{key}={text}' for key, text in pairs)})"


_TUPLE = Kind(_positions, _index, lambda kind, keys, children, static: tuple(children), "[{!r}]", _show_tuple)
_LIST = Kind(_positions, _index, lambda kind, keys, children, static: children, "[{!r}]", _show_list)
_MAPPING = Kind(
    tuple,
    _index,
    lambda kind, keys, children, static: kind(zip(keys, children, strict=True)),
    "[{!r}]",
    _show_dict,
)
_DEFAULT_DICT = Kind(
    tuple,
    _index,
    lambda kind, keys, children, static: kind(static["default_factory"], zip(keys, children, strict=True)),
    "[{!r}]",
    _show_default_dict,
    lambda container: {"default_factory": container.default_factory},
)
_DEQUE = Kind(
    _positions,
    _index,
    lambda kind, keys, children, static: kind(children, static["maxlen"]),
    "[{!r}]",
    _show_deque,
    lambda container: {"maxlen": container.maxlen},
)
_NAMED_TUPLE = Kind(
    lambda container: container._fields,
    getattr,
    lambda kind, keys, children, static: kind._make(children),
    ".{}",
    _show_fields,
)
_DATACLASS = Kind(
    _dynamic_fields,
    getattr,
    lambda kind, keys, children, static: kind(**dict(zip(keys, children, strict=True)), **static),
    ".{}",
    _show_fields,
    _static_fields,
)
_NONE = Kind(lambda container: (), _index, lambda kind, keys, children, static: None, "", lambda kind, pairs: "None")
_KINDS = {
    tuple: _TUPLE,
    list: _LIST,
    deque: _DEQUE,
    dict: _MAPPING,
    OrderedDict: _MAPPING,
    defaultdict: _DEFAULT_DICT,
    type(None): _NONE,
}


def _kind_of(tree_type: type) -> Kind | None:
    """The way to take containers of this type apart, or None for the type of a leaf."""
    kind = _KINDS.get(tree_type)
    return _kind_by_class(tree_type) if kind is None else kind


@memoize(1024)
def _kind_by_class(tree_type: type) -> Kind | None:
    if issubclass(tree_type, tuple) and hasattr(tree_type, "_fields") and hasattr(tree_type, "_make"):
        return _NAMED_TUPLE
    return _DATACLASS if dataclasses.is_dataclass(tree_type) else None


def register(
    tree_type: type, flatten: Callable[[Any], tuple[Iterable[Any], Any]], unflatten: Callable[[Any, Any], Any]
) -> None:
    """Let instances of a class be containers in all trees.

    flatten: gives the children and a context, which belongs to the structure; unflatten: an instance from these.

    Raises ValueError for a class that is a kind of container already.

    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> register(Pair, lambda pair: ((pair.a, pair.b), None), lambda children, context: Pair(*children))
    >>> map(lambda x: x + 1, Pair(1, 2)).b
    3
    """
    if tree_type in _KINDS:
        raise ValueError(f"{tree_type} is already registered as pytree node.")
    _KINDS[tree_type] = Kind(
        lambda container: tuple(range(len(list(flatten(container)[0])))),
        lambda container, key: list(flatten(container)[0])[key],
        lambda kind, keys, children, static: unflatten(children, static["context"]),
        "[{!r}]",
        _show_fields,
        lambda container: {"context": flatten(container)[1]},
    )


#: Types whose instances count as instances of another type in structures.
_STAND_INS: dict[type, type] = {}


def register_stand_in(tree_type: type, of: type) -> None:
    """Let instances of a class be flattened like instances of a registered class, and have their structure."""
    _KINDS[tree_type] = _KINDS[of]
    _STAND_INS[tree_type] = of


def is_registered(tree_type: type) -> bool:
    """True for the types that are containers by themselves and were not recognised as a dataclass."""
    kind = _kind_of(tree_type)
    return kind is not None and kind is not _DATACLASS


def kind_of_keys(tree_type: type) -> str:
    """The kind of the keys of a container: "field", "key" or "position"."""
    kind = _kind_of(tree_type)
    if kind is _NAMED_TUPLE or kind is _DATACLASS:
        return "field"
    return "key" if kind is _MAPPING or kind is _DEFAULT_DICT else "position"


def members(tree: Any) -> list[tuple[Any, Any]]:
    """The keys of a container and its members.

    >>> members({"a": 1, "b": (2,)})
    [('a', 1), ('b', (2,))]
    """
    kind = _kind_of(type(tree))
    assert kind is not None
    return [(key, kind.item(tree, key)) for key in kind.keys(tree)]


def is_container(tree_type: type) -> bool:
    """True for types whose instances are flattened.

    >>> is_container(list), is_container(int), is_container(type(None))
    (True, False, False)
    """
    return tree_type is not type(None) and _kind_of(tree_type) is not None


@dataclasses.dataclass(frozen=True, repr=False)
class TreeDef:
    """The structure of a tree: its containers, with * for each leaf.

    type: the type of the container, or None for a leaf. Two structures are equal if they have the same containers with
    the same keys in the same order and the same static fields.
    """

    type: type | None
    keys: tuple[Any, ...] = ()
    children: tuple[TreeDef, ...] = ()
    static: dict[str, Any] = dataclasses.field(default_factory=dict, hash=False)

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        kind = _kind_of(self.type)
        assert kind is not None  # it was, when this structure was read
        children = [(key, repr(child)) for key, child in zip(self.keys, self.children, strict=True)]
        static = [(name, repr(value)) for name, value in self.static.items()]
        return kind.show(self.type, children + static)

    @property
    def is_leaf(self) -> bool:
        """True for the structure of a single leaf."""
        return self.type is None

    @functools.cached_property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return 1 if self.type is None else sum(child.n_leaves for child in self.children)

    @property
    def num_leaves(self) -> int:
        """The number of leaves, under torch's name."""
        return self.n_leaves

    @property
    def num_nodes(self) -> int:
        """The number of containers and leaves."""
        return 1 + sum(child.num_nodes for child in self.children)

    @property
    def num_children(self) -> int:
        """The number of members of the outermost container."""
        return len(self.children)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """A tree of this structure with the given leaves.

        Raises ValueError if there are too many or too few.

        >>> _, structure = flatten({"a": 1, "b": (2, None)})
        >>> structure.unflatten([10, 20])
        {'a': 10, 'b': (20, None)}
        """
        values = list(leaves)
        if self.type is None and len(values) == 1:
            return values[0]
        if len(values) != self.n_leaves:
            raise ValueError(
                f"a tree with {self.n_leaves} leaves cannot be made from {len(values)} values: give one value for "
                "each leaf"
            )
        if self.type is tuple and len(self.children) == len(values) and self is flat_tuple(len(values)):
            return tuple(values)
        return self._take(iter(values))

    def _take(self, leaves: Iterator[Any]) -> Any:
        if self.type is None:
            return next(leaves)
        children = [child._take(leaves) for child in self.children]
        kind = _kind_of(self.type)
        assert kind is not None  # it was, when this structure was read
        return kind.make(self.type, self.keys, children, self.static)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of `tree` that stand where this structure has leaves; dictionaries may be in another order.

        Raises ValueError, with the path, if `tree` has other containers or keys above these positions.

        >>> _, structure = flatten({"a": 1, "b": 2})
        >>> structure.flatten_up_to({"b": [4, 5], "a": 3})
        [3, [4, 5]]
        """
        return [tree] if self.type is None else list(self._parts(tree, ""))

    def _parts(self, tree: Any, path: str) -> Iterator[Any]:
        if self.type is None:
            yield tree
            return
        if type(tree) is not self.type and _STAND_INS.get(type(tree)) is not self.type:
            raise ValueError(
                f"expected {self.type.__name__}{_at(path)}, as in the other tree, but got {type(tree).__name__}"
            )
        kind = _kind_of(self.type)
        assert kind is not None
        keys = kind.keys(tree)
        if len(keys) != len(self.keys) or set(keys) != set(self.keys):
            raise ValueError(f"expected the keys {list(self.keys)}{_at(path)} but got {list(keys)}")
        for key, child in zip(self.keys, self.children, strict=True):
            yield from child._parts(kind.item(tree, key), path + kind.access.format(key))


LEAF = TreeDef(None)


@memoize(64)
def flat_tuple(n: int) -> TreeDef:
    """The structure of a tuple of n leaves, which most trees have."""
    return TreeDef(tuple, tuple(range(n)), (LEAF,) * n)


def _at(path: str) -> str:
    return f" at {path}" if path else ""


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeDef]:
    """The leaves of a tree, in order, and its structure.

    `is_leaf` says of a container, or of None, whether it is to be a leaf.

    >>> leaves, structure = flatten({"weights": [1, 2], "bias": 3})
    >>> leaves
    [1, 2, 3]
    >>> structure.unflatten("abc")
    {'weights': ['a', 'b'], 'bias': 'c'}
    """
    if _kind_of(type(tree)) is None:
        return [tree], LEAF
    is_flat = type(tree) is tuple and tree and not any([_kind_of(type(child)) for child in tree])
    if is_flat and (is_leaf is None or not is_leaf(tree)):
        return list(tree), flat_tuple(len(tree))
    leaves: list[Any] = []
    return leaves, _read(tree, leaves, is_leaf)


def _read(tree: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeDef:
    kind = _kind_of(type(tree))
    if kind is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return LEAF
    keys = kind.keys(tree)
    children = []
    for child in tree if kind is _TUPLE or kind is _LIST else [kind.item(tree, key) for key in keys]:
        if _kind_of(type(child)) is None:
            leaves.append(child)
            children.append(LEAF)
        else:
            children.append(_read(child, leaves, is_leaf))
    return TreeDef(_STAND_INS.get(type(tree), type(tree)), keys, tuple(children), kind.static(tree))


def mutable_containers(tree: Any) -> list[Any]:
    """The mutable containers in a tree, outer ones first; a repeated container is repeated.

    >>> inner = [1]
    >>> mutable_containers((inner, {"a": inner, "b": (2,)})) == [inner, {"a": inner, "b": (2,)}, inner]
    True
    """
    kind = _kind_of(type(tree))
    if kind is None or kind is _NONE:
        return []
    here = [] if isinstance(tree, tuple) else [tree]
    return here + [each for key in kind.keys(tree) for each in mutable_containers(kind.item(tree, key))]


def map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """A tree of the structure of `tree`, each leaf made by `function` from the leaves at the same position.

    Raises ValueError if one of the others has another structure.

    >>> map(lambda a, b: a + b, {"x": 1, "y": (2,)}, {"y": (20,), "x": 10})
    {'x': 11, 'y': (22,)}
    """
    if not others and _kind_of(type(tree)) is None:
        return function(tree)
    leaves, structure = flatten(tree)
    columns = [structure.flatten_up_to(other) for other in others]
    return structure.unflatten(function(*values) for values in zip(leaves, *columns, strict=True))


def places(structure: TreeDef) -> list[str]:
    """The place of each leaf, as Python writes it after the name of the tree.

    >>> places(flatten({"a": 1, "b": (2, 3)})[1])
    ["['a']", "['b'][0]", "['b'][1]"]
    """
    if structure.type is None:
        return [""]
    kind = _kind_of(structure.type)
    assert kind is not None
    pairs = zip(structure.keys, structure.children, strict=True)
    return [kind.access.format(key) + rest for key, child in pairs for rest in places(child)]
