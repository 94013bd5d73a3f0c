"""Trees of containers, under the names of torch.utils._pytree.

None is a leaf, as in torch. A dataclass is a leaf unless it is registered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from adjoint.runtime import pytree as _pytree

__all__ = [
    "GetAttrKey",
    "KeyEntry",
    "MappingKey",
    "SequenceKey",
    "TreeSpec",
    "key_get",
    "keystr",
    "register_pytree_node",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_only",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
]

TreeSpec = _pytree.TreeDef
_IsLeaf = Callable[[Any], bool] | None


def _leaf(is_leaf: _IsLeaf) -> Callable[[Any], bool]:
    def test(value: Any) -> bool:
        return value is None or not _pytree.is_registered(type(value)) or (is_leaf is not None and is_leaf(value))

    return test


def tree_flatten(tree: Any, is_leaf: _IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree and its structure.

    >>> from adjoint.utils._pytree import tree_flatten
    >>> tree_flatten({"a": 1, "b": (2, None)})
    ([1, 2, None], {'a': *, 'b': (*, *)})
    """
    return _pytree.flatten(tree, _leaf(is_leaf))


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """A tree with this structure and these leaves.

    Raises TypeError unless `treespec` is a structure, and ValueError for another number of leaves.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item of type "
            f"{type(treespec)}."
        )
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec refers to a pytree that "
            f"holds {treespec.num_leaves} items ({treespec})."
        )
    return treespec.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: _IsLeaf = None) -> list[Any]:
    """The leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


tree_iter = tree_leaves


def tree_structure(tree: Any, is_leaf: _IsLeaf = None) -> TreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: _IsLeaf = None) -> Any:
    """A tree with the same structure; each leaf is a function of the corresponding leaves of all trees.

    >>> from adjoint.utils._pytree import tree_map
    >>> tree_map(lambda a, b: a + b, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    leaves, structure = tree_flatten(tree, is_leaf)
    columns = [structure.flatten_up_to(rest) for rest in rests]
    return structure.unflatten(func(*values) for values in zip(leaves, *columns, strict=True))


def tree_map_only(types: Any, func: Callable[[Any], Any], tree: Any, is_leaf: _IsLeaf = None) -> Any:
    """A tree with leaves of some types replaced by a function of them; `types` may be a predicate."""
    predicate = types if callable(types) and not isinstance(types, type) else lambda leaf: isinstance(leaf, types)
    return tree_map(lambda leaf: func(leaf) if predicate(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: _IsLeaf = None) -> bool:
    """True if a predicate is true of all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: _IsLeaf = None) -> bool:
    """True if a predicate is true of a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_is_leaf(tree: Any, is_leaf: _IsLeaf = None) -> bool:
    """True if a tree is a single leaf."""
    return _leaf(is_leaf)(tree)


# paths ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SequenceKey:
    """The position of a member in a tuple, a list, or a registered container."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The member of a sequence."""
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """The key of a value in a dictionary."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The value in a dictionary."""
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """The name of a field of a named tuple or a registered class."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The field of an object."""
        return getattr(obj, self.name)


KeyEntry = SequenceKey | MappingKey | GetAttrKey
_Path = tuple[KeyEntry, ...]


#: The functions of `register_pytree_node` that give path entries and members.
_with_entries: dict[type, Callable[[Any], tuple[list[tuple[Any, Any]], Any]]] = {}


def _members(tree: Any) -> list[tuple[KeyEntry, Any]]:
    """The path entries of a container, and its members."""
    if type(tree) in _with_entries:
        return list(_with_entries[type(tree)](tree)[0])
    entry = {"field": GetAttrKey, "key": MappingKey, "position": SequenceKey}[_pytree.kind_of_keys(type(tree))]
    return [(entry(key), member) for key, member in _pytree.members(tree)]


def _paths(tree: Any, is_leaf: Callable[[Any], bool]) -> list[_Path]:
    """The path of each leaf."""
    if is_leaf(tree):
        return [()]
    return [(entry, *rest) for entry, member in _members(tree) for rest in _paths(member, is_leaf)]


def tree_flatten_with_path(tree: Any, is_leaf: _IsLeaf = None) -> tuple[list[tuple[_Path, Any]], TreeSpec]:
    """Pairs of the path and the leaf, and the structure.

    >>> from adjoint.utils._pytree import keystr, tree_flatten_with_path
    >>> pairs, _ = tree_flatten_with_path({"a": 1, "b": (2, 3)})
    >>> [(keystr(path), leaf) for path, leaf in pairs]
    [("['a']", 1), ("['b'][0]", 2), ("['b'][1]", 3)]
    """
    leaves, structure = tree_flatten(tree, is_leaf)
    return list(zip(_paths(tree, _leaf(is_leaf)), leaves, strict=True)), structure


def tree_leaves_with_path(tree: Any, is_leaf: _IsLeaf = None) -> list[tuple[_Path, Any]]:
    """Pairs of the path and the leaf."""
    return tree_flatten_with_path(tree, is_leaf)[0]


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: _IsLeaf = None) -> Any:
    """As `tree_map`; the function gets the path of the leaf first."""
    pairs, structure = tree_flatten_with_path(tree, is_leaf)
    columns = [structure.flatten_up_to(rest) for rest in rests]
    return structure.unflatten(func(*pair, *values) for pair, *values in zip(pairs, *columns, strict=True))


def keystr(kp: _Path) -> str:
    """A path, as Python writes it after the name of the tree."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: _Path) -> Any:
    """The part of a tree at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


# classes of containers ------------------------------------------------------------------------------------------------


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[list[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    *,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None,
    **names: Any,
) -> None:
    """Register a class as a container, also for adjoint's transforms. Names for serialisation are accepted and ignored.

    flatten_with_keys_fn: gives pairs of a path entry and a member, and the context; otherwise entries are positions.

    Raises ValueError for a registered class.
    """
    _pytree.register(cls, flatten_fn, unflatten_fn)
    if flatten_with_keys_fn is not None:
        _with_entries[cls] = flatten_with_keys_fn
