"""Trees of containers, under the names of torch.utils._pytree.

None is a leaf, as in torch. A dataclass is a leaf unless it is registered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from adjoint.runtime import pytree as _pytree

__all__ = [
    "TreeSpec",
    "register_pytree_node",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_only",
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


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[list[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    **names: Any,
) -> None:
    """Register a class as a container, also for adjoint's transforms. Names for serialisation are accepted and ignored.

    Raises ValueError for a registered class.
    """
    _pytree.register(cls, flatten_fn, unflatten_fn)
