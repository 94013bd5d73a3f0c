"""Trees of tensors as one real vector, the form that solvers work on."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.arrays.dtypes import dtype, float64, promote_types
from adjoint.core.errors import explain
from adjoint.core.graph import TensorBase, new_tensor
from adjoint.core.modes.grad_mode import enable_grad
from adjoint.core.modes.state import current, is_grad_enabled
from adjoint.core.operations.dependence import depends, differentiating, leads_elsewhere
from adjoint.core.operations.recorder import is_inexact
from adjoint.runtime.pytree import flatten, places
from adjoint.tensor.creation import as_tensor, zeros
from adjoint.tensor.table import ops
from adjoint.transforms import forward, func, passing
from adjoint.transforms.batching.batched import batches_of

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Tree = Any

CAPTURED = (
    "{name}: the function depends on a tensor that {what} and is not among its arguments, so that its derivative would "
    "be lost: pass it to the function as an argument, after {after}"
)
CONSTANT = (
    "{name}: what the function returned does not depend on {what} by any recorded operation, so that its derivative "
    "would be zero. Compute it from {what} with adjoint's operations, without detach(), item(), numpy() or no_grad() "
    "on the way; if it is constant indeed, say so with allow_constant=True"
)


def constant_error(name: str, what: str) -> RuntimeError:
    """The error for a function whose result does not depend on the tensors of a requested derivative."""
    return explain(RuntimeError(CONSTANT.format(name=name, what=what)), "lost-derivative")


class Flat:
    """The layout of a tree of tensors in one real vector: leaf after leaf, row by row, complex numbers as pairs.

    name: the name in messages of the function with this argument. kind: the vector's dtype; by default the leaves'
    own, promoted. Arrays and numbers count as tensors.

    Raises TypeError if a leaf is not floating-point or complex.

    >>> from adjoint.tensor.creation import tensor
    >>> flat = Flat({"a": tensor([1.0, 2.0]), "b": tensor(3.0 + 4j)}, "f()")
    >>> flat.ravel({"a": tensor([5.0, 6.0]), "b": tensor(7.0 + 8j)})
    tensor([5., 6., 7., 8.])
    >>> flat.unravel(tensor([1.0, 2.0, 3.0, 4.0]))
    {'a': tensor([1., 2.]), 'b': tensor(3.+4.j)}
    """

    def __init__(self, tree: Tree, name: str, kind: dtype | None = None) -> None:
        leaves, self.structure = flatten(tree)
        self.name = name
        self.leaves: list[Tensor] = [as_tensor(leaf) for leaf in leaves]
        for leaf, path in zip(self.leaves, places(self.structure), strict=True):
            if not is_inexact(leaf._array.dtype):
                raise TypeError(
                    f"{name}: expected floating-point or complex values, but the one at x{path} is of {leaf.dtype}"
                )
        self.shapes = [tuple(leaf.shape) for leaf in self.leaves]
        self.kinds: list[dtype] = [leaf.dtype for leaf in self.leaves]
        self.sizes = [
            math.prod(shape) * (2 if kind.is_complex else 1)
            for shape, kind in zip(self.shapes, self.kinds, strict=True)
        ]
        self.size = sum(self.sizes)
        #: True for a function of arrays: it gets differentiable arrays with NumPy's meaning for Tensors.
        self.of_arrays = False
        self.kind = kind or common_dtype([kind_of_leaf.to_real() for kind_of_leaf in self.kinds])

    def start(self) -> Tensor:
        """The vector of the tree from which the layout was made."""
        return self._concatenate(self.leaves)

    def ravel(self, tree: Tree) -> Tensor:
        """The vector of a tree of this structure. Raises ValueError for other structures and shapes."""
        leaves = [as_tensor(leaf) for leaf in self.structure.flatten_up_to(tree)]
        triples = zip(leaves, self.shapes, places(self.structure), strict=True)
        for leaf, shape, path in triples:
            if tuple(leaf.shape) != shape:
                raise ValueError(
                    f"{self.name}: expected shape {shape} at x{path}, as in the given value, but the function "
                    f"returned {tuple(leaf.shape)}"
                )
        return self._concatenate(leaves)

    def _concatenate(self, leaves: list[Tensor]) -> Tensor:
        parts = [
            reshape(ops.view_as_real(leaf.to(kind)) if kind.is_complex else leaf, (size,)).to(self.kind)
            for leaf, kind, size in zip(leaves, self.kinds, self.sizes, strict=True)
        ]
        if not parts:
            return zeros(0, dtype=self.kind)
        return parts[0] if len(parts) == 1 else ops.cat(parts, 0)

    def unravel(self, vector: Tensor) -> Tree:
        """The tree of a vector; axes in front of the last one stay."""
        parts, at, front = [], 0, tuple(vector.shape[:-1])
        for shape, kind, size in zip(self.shapes, self.kinds, self.sizes, strict=True):
            part = vector if size == self.size else vector[..., at : at + size]
            if kind.is_complex:
                pairs = ops.reshape(part.to(kind.to_real()), (*front, *shape, 2))
                parts.append(ops.complex(pairs[..., 0], pairs[..., 1]))
            else:
                parts.append(reshape(part, (*front, *shape)).to(kind))
            at += size
        return self.structure.unflatten(parts)

    def argument(self, vector: Tensor) -> Tree:
        """The tree of a vector, as a function gets it."""
        tree = self.unravel(vector)
        return passing.to_arguments(tree) if self.of_arrays else tree


def reshape(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The tensor itself where it has the shape, so that a field of one vector records no operation for it."""
    return tensor if tensor.shape == shape else ops.reshape(tensor, shape)


def common_dtype(kinds: list[dtype]) -> dtype:
    """The dtype that holds all of these; float64 for none."""
    common = kinds[0] if kinds else float64
    for kind in kinds[1:]:
        common = promote_types(common, kind)
    return common


class Differentiable:
    """The differentiable tensors of a tree, separated from the other leaves.

    >>> from adjoint.tensor.creation import tensor
    >>> part = Differentiable((tensor(1.0), "x", tensor(2)))
    >>> part.tensors, part.tree([tensor(3.0)])
    ([tensor(1.)], (tensor(3.), 'x', tensor(2)))
    """

    def __init__(self, tree: Tree) -> None:
        self.leaves, self.structure = flatten(tree)
        self.flags = [isinstance(leaf, TensorBase) and is_inexact(leaf._array.dtype) for leaf in self.leaves]

    @property
    def tensors(self) -> list[Tensor]:
        """The differentiable tensors of the tree."""
        return self.of(self.leaves)

    def of(self, leaves: list[Any]) -> list[Any]:
        """The values for these tensors, from one value for each leaf."""
        return [leaf for leaf, flag in zip(leaves, self.flags, strict=True) if flag]

    def tree(self, tensors: Any, rest: Any = None) -> Tree:
        """The tree with other tensors in their places; with rest=(x,) x replaces all other leaves."""
        new = iter(tensors)
        return self.structure.unflatten(
            [
                next(new) if flag else leaf if rest is None else rest[0]
                for leaf, flag in zip(self.leaves, self.flags, strict=True)
            ]
        )


def pull_back(function: Callable[[Tree], Tensor], tree: Tree, cotangent: Tensor) -> Tree:
    """The cotangents of the tensors in a tree, None for everything else in it."""
    part = Differentiable(tree)
    if not part.tensors:
        return None
    cotangents = func.vjp(lambda *tensors: function(part.tree(tensors)), *part.tensors)[1](cotangent)
    return part.tree(cotangents, rest=(None,))


def push_forward(function: Callable[[Tree], Tensor], tree: Tree, tangents: Tree) -> Tensor | None:
    """The derivative along tangents, with None for leaves other than tensors; None if no leaf has a tangent."""
    part = Differentiable(tree)
    directions = part.of(flatten(tangents, lambda leaf: leaf is None)[0]) if part.tensors else []
    if not directions:
        return None
    inputs, drivers = tuple(part.tensors), tuple(directions)
    return func.jvp(lambda *tensors: function(part.tree(tensors)), inputs, drivers)[1]


def plain(tree: Tree) -> Tree:
    """A copy of the tree's values without history and tangents."""
    leaves, structure = flatten(tree)
    return structure.unflatten([new_tensor(x._array) if isinstance(x, TensorBase) else x for x in leaves])


def differentiated_leaves(tree: Tree) -> list[Tensor]:
    """The tensors in a tree with respect to which derivatives are requested."""
    recorded, dual = is_grad_enabled(), bool(current().dual_stack)
    return [
        leaf for leaf in Differentiable(tree).tensors
        if (recorded and leaf.requires_grad) or (dual and forward.has_tangent(leaf))
    ]  # fmt: skip


def check_function(
    function: Callable[..., Tensor],
    args: tuple[Tree, ...],
    name: str,
    after: str | None,
    dependence: list[tuple[str, list[Tensor]]],
) -> None:
    """Run a function once and check the dependence of its result.

    name: the caller's name in messages. after: the name in messages of its last argument before the function's; None if
    the function may depend on other tensors. dependence: pairs of a name in messages and tensors among the arguments;
    the result must depend on at least one tensor of each pair.

    Raises RuntimeError if the result depends on a tracked tensor that is not among the arguments, or lacks a required
    dependence.
    """
    part = Differentiable(args)
    with enable_grad():
        aliases = [func.follow(tensor) for tensor in plain(part.tensors)]
        with differentiating(aliases):
            result = function(*part.tree(aliases))
    if not isinstance(result, TensorBase):
        raise TypeError(f"{name}: the function must return a Tensor, but it returned {type(result).__name__}")
    if leads_elsewhere([result], aliases):
        if after is None:
            return
        raise RuntimeError(CAPTURED.format(name=name, what="requires grad", after=after))
    if any(forward.tangent_of(result, number) is not None for number in current().dual_stack):
        raise RuntimeError(CAPTURED.format(name=name, what="has a tangent", after=after))
    alias_of = {id(tensor): alias for tensor, alias in zip(part.tensors, aliases, strict=True)}
    for what, tensors in dependence:
        if tensors and not depends([result], [alias_of[id(tensor)] for tensor in tensors]):
            raise constant_error(name, what)


# vmap -----------------------------------------------------------------------------------------------------------------


def one_by_one(function: Callable[..., Tensor], *trees: Tree) -> Tensor:
    """Call a function that leaves the tensors for NumPy; where they are batched by vmap, for one member at a time."""
    leaves, structure = flatten(trees, lambda part: part is None)
    batches = [dict(batches_of(x._array)) if isinstance(x, TensorBase) else {} for x in leaves]
    level = max((level for batch in batches for level in batch), default=0)
    if not level:
        return function(*trees)
    sizes = [batch.get(level) for batch in batches]
    whole = [x if n is None else ops.batch_out(x, level, n) for x, n in zip(leaves, sizes, strict=True)]
    results = [
        one_by_one(function, *structure.unflatten(x if n is None else x[i] for x, n in zip(whole, sizes, strict=True)))
        for i in range(next(n for n in sizes if n is not None))
    ]
    return ops.batch_in(ops.stack(results, 0), level)


# NumPy ----------------------------------------------------------------------------------------------------------------


def to_numpy(tensor: Tensor) -> np.ndarray:
    """The values of a tensor, as an array of NumPy's."""
    return np.asarray(tensor.detach().numpy())
