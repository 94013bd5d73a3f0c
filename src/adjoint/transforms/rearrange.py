"""rearrange: reorders, splits and merges axes by a pattern in the notation of einops."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

from adjoint.core.graph import TensorBase
from adjoint.tensor.table import ops
from adjoint.tensor.tensor import Tensor

#: A side of a pattern: the names in each axis; "..." stands for all unnamed axes.
Side = list[list[str]]


class DimensionBindError(ValueError):
    """Lengths of axes do not follow from the shape of a tensor and the given sizes, or contradict them."""


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """A tensor with its axes in another order, split or merged, as in "b (h w) c -> b c h w".

    Args:
        tensor: a tensor, or several of one shape, which are stacked along a new first axis.
        pattern: names of axes on both sides of an arrow. Parentheses hold the axes into which one axis is split, or
            from which it is merged; 1 is an axis of length one; ... means all axes without names.
        axes_lengths: lengths of named axes; for an axis that is split, all but one are needed.

    Raises ValueError for an inconsistent pattern or one that does not fit the tensor. Raises DimensionBindError, a
    ValueError, for lengths that do not fit, and TypeError for lengths that are no ints.

    >>> import adjoint
    >>> x = adjoint.arange(6)
    >>> adjoint.func.rearrange(x, "(a b) -> b a", a=2)
    tensor([[0, 3],
            [1, 4],
            [2, 5]])
    """
    whole: Tensor = tensor if isinstance(tensor, TensorBase) else ops.stack(tensor)
    if not isinstance(pattern, str):
        raise TypeError(f"rearrange(): argument 'pattern' (position 2) must be str, not {type(pattern).__name__}")
    if pattern.count("->") != 1:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = (read(text) for text in pattern.split("->"))
    check(left, right, pattern, axes_lengths)
    left, right = expand_ellipsis(left, right, whole.dim())
    lengths = lengths_of(left, tuple(whole.shape), axes_lengths)
    order = [name for axis in left for name in axis]
    ways = [order.index(name) for axis in right for name in axis if name != "1"]
    split = whole.reshape([lengths[name] for name in order])
    # axes of length one that are missing on the right side
    axes = [i for i in range(len(order)) if i in ways]
    split = split.reshape([lengths[order[i]] for i in axes]).permute([axes.index(i) for i in ways])
    return split.reshape([prod(lengths[name] for name in axis) for axis in right])


def read(text: str) -> Side:
    """A side of a pattern. Raises ValueError where parentheses or names are wrong."""
    side: Side = []
    in_parentheses = False
    for token in re.findall(r"\.\.\.|[()]|[^\s().]+|\.", text):
        if token == "(" and in_parentheses:
            raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
        if token == ")" and not in_parentheses:
            raise ValueError(f"Imbalanced parentheses in expression: '{text}'")
        if token == "(":
            side.append([])
        if token in "()":
            in_parentheses = token == "("
            continue
        check_name(token)
        if in_parentheses:
            side[-1].append(token)
        else:
            side.append([token])
    if in_parentheses:
        raise ValueError(f"Imbalanced parentheses in expression: '{text}'")
    names = [name for axis in side for name in axis if name != "1"]
    repeated = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if repeated is not None:
        raise ValueError(f"Indexing expression contains duplicate dimension '{repeated}'")
    return side


def check_name(token: str) -> None:
    """Raise ValueError unless this is a name that a pattern may contain."""
    if token == "..." or token.isdecimal():
        return
    if token[0] == "_" or token[-1] == "_":
        raise ValueError(f"Invalid axis identifier: {token} axis name should should not start or end with underscore")
    if not token.isidentifier():
        raise ValueError(f"Invalid axis identifier: {token} not a valid python identifier")


def check(left: Side, right: Side, pattern: str, sizes: dict[str, int]) -> None:
    """Raise ValueError unless both sides have the same names, and lengths are of these; TypeError for other lengths."""
    if any("..." in axis and len(axis) > 1 for axis in left):
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    here, there = ({name for axis in side for name in axis} - {"1"} for side in (left, right))
    if "..." in there - here:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    for length in sizes.values():
        if type(length) is not int:
            raise TypeError(f"rearrange axis lengths must be integers, got: {type(length)}")
    number = next((name for name in (*here, *there) if name.isdecimal()), None)
    if number is not None:
        raise ValueError(f"rearrange only supports unnamed axes of size 1, got {number}")
    if here != there:
        raise ValueError(
            f"Identifiers only on one side of rearrange expression (should be on both): {sorted(here ^ there)}"
        )
    if sizes.keys() - here:
        raise ValueError(f"Identifiers not found in rearrange expression: {sorted(sizes.keys() - here)}")


def expand_ellipsis(left: Side, right: Side, ndim: int) -> tuple[Side, Side]:
    """Both sides with names for the ellipsis, and for axes of length 1 on the left.

    Raises ValueError if the number of axes differs from the tensor's.
    """
    n_named = len([axis for axis in left if axis != ["..."]])
    hidden = ndim - n_named
    if hidden < 0 or (hidden and ["..."] not in left):
        raise ValueError(
            f"Number of dimensions in pattern ({n_named}) must be equal to the number of dimensions in the tensor "
            f"({ndim})"
        )
    rest = [f"... {i}" for i in range(hidden)]
    wide = [part for axis in left for part in ([[name] for name in rest] if axis == ["..."] else [axis])]
    sides = [
        [[part for name in axis for part in (rest if name == "..." else [name])] for axis in side]
        for side in (wide, [part for axis in right for part in ([[n] for n in rest] if axis == ["..."] else [axis])])
    ]
    ones = iter(range(sum(axis.count("1") for axis in sides[0])))
    sides[0] = [[f"1 {next(ones)}" if name == "1" else name for name in axis] for axis in sides[0]]
    return sides[0], sides[1]


def lengths_of(left: Side, shape: tuple[int, ...], sizes: dict[str, int]) -> dict[str, int]:
    """The length of each name. Raises DimensionBindError where it does not follow, or does not fit."""
    lengths = {"1": 1}
    for axis, size in zip(left, shape, strict=True):
        sizes_of_names = {name: 1 if name.startswith("1 ") else sizes.get(name) for name in axis}
        open_names = [name for name, length in sizes_of_names.items() if length is None]
        if len(open_names) > 1:
            raise DimensionBindError(
                f"cannot infer the sizes of two dimensions at once {open_names[0]} and {open_names[1]}"
            )
        filled = prod(length for length in sizes_of_names.values() if length is not None)
        if not open_names and filled != size:
            names = ", ".join(name.split(" ")[0] for name in axis) + "," * (len(axis) == 1)
            raise DimensionBindError(
                f"Dimension sizes to do not match ({size} != {filled}) when matching dimension pack ({names})"
            )
        if any(length is not None and length < 0 for length in sizes_of_names.values()) or filled == 0 or size % filled:
            extents = tuple("?" if length is None else length for length in sizes_of_names.values())
            raise DimensionBindError(
                f"inferred dimension does not evenly fit into larger dimension: {size} vs {extents}"
            )
        lengths |= {name: size // filled if length is None else length for name, length in sizes_of_names.items()}
    return lengths
