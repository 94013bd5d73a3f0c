"""Einstein summation on raw arrays of any library: the equation's grammar, the order of contractions, the contractions.

A contraction of two operands is one matrix product. Their axes fall into three groups: common axes that stay (batch),
common axes that are summed (contracted), and axes of one operand (free).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy

from adjoint.arrays.namespace import row_major
from adjoint.runtime.caches import memoize

Shape = tuple[int, ...]

#: The letters of equations, in torch's order. `string` has them too, and takes a millisecond to import.
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


# the equation -------------------------------------------------------------------------------------------------------


# torch's words about dots, for an operand and for the output
_SECOND_ELLIPSIS = (
    "operand {} for which an ellipsis was already found",
    "output but an ellipsis (...) was already found",
)
_STRAY_DOT = ("operand {} that is not part of any ellipsis", "output that is not part of any ellipsis (...)")


def _letters(text: str, start: int, operand: int | None) -> str:
    """One operand's subscripts without spaces, an ellipsis as "."; `start` is their position in the equation."""
    letters: list[str] = []
    skip = 0
    for i, letter in enumerate(text):
        if skip:
            skip -= 1
        elif letter == ".":
            if "." in letters:
                raise RuntimeError(f"einsum(): found '.' for {_SECOND_ELLIPSIS[operand is None].format(operand)}")
            if text[i : i + 3] != "...":
                raise RuntimeError(f"einsum(): found '.' for {_STRAY_DOT[operand is None].format(operand)}")
            letters.append(".")
            skip = 2
        elif letter in LETTERS:
            letters.append(letter)
        elif letter != " ":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {start + i} in the equation string, subscripts must be "
                "in [a-zA-Z]"
            )
    return "".join(letters)


def _operands(text: str) -> list[str]:
    start = 0
    result = []
    for operand, part in enumerate(text.split(",")):
        result.append(_letters(part, start, operand))
        start += len(part) + 1
    return result


def _check_ranks(inputs: Sequence[str], ranks: Sequence[int]) -> None:
    if len(inputs) != len(ranks):
        more = "fewer" if len(ranks) < len(inputs) else "more"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation")
    for operand, (labels, rank) in enumerate(zip(inputs, ranks, strict=True)):
        n_subscripts = len(labels.replace(".", ""))
        message = f"einsum(): the number of subscripts in the equation ({n_subscripts})"
        if "." not in labels and n_subscripts != rank:
            raise RuntimeError(
                f"{message} does not match the number of dimensions ({rank}) for operand {operand} and no ellipsis was "
                "given"
            )
        if n_subscripts > rank:
            raise RuntimeError(f"{message} is more than the number of dimensions ({rank}) for operand {operand}")


def _implicit_output(inputs: Sequence[str]) -> str:
    joined = "".join(inputs)
    return ("." if "." in joined else "") + "".join(sorted(c for c in set(joined) if c != "." and joined.count(c) == 1))


def _check_output(output: str, inputs: Sequence[str]) -> None:
    for letter in output:
        if output.count(letter) > 1:
            raise RuntimeError(f"einsum(): output subscript {letter} appears more than once in the output")
        if letter != "." and not any(letter in labels for labels in inputs):
            raise RuntimeError(
                f"einsum(): output subscript {letter} does not appear in the equation for any input operand"
            )


@memoize(512)
def explicit_equation(equation: str, ranks: tuple[int, ...]) -> str:
    """The equation with an explicit output, letters instead of ellipses, and no spaces.

    Raises RuntimeError, in torch's words, if it is malformed or does not fit operands of these ranks.

    >>> explicit_equation("...i, ij", (3, 2))
    'abi,ij->abj'
    """
    arrow = equation.find("->")
    inputs = _operands(equation if arrow < 0 else equation[:arrow])
    _check_ranks(inputs, ranks)
    if arrow < 0:
        output = _implicit_output(inputs)
    else:
        output = _letters(equation[arrow + 2 :], arrow + 2, None)
        _check_output(output, inputs)
    extra = [rank - len(labels) + 1 if "." in labels else 0 for labels, rank in zip(inputs, ranks, strict=True)]
    fresh = "".join([c for c in LETTERS if c not in equation][: max(extra)])
    if len(fresh) < max(extra):
        raise RuntimeError("einsum(): too many dimensions: 52 subscripts are available")
    filled = [labels.replace(".", fresh[len(fresh) - n :]) for labels, n in zip(inputs, extra, strict=True)]
    return f"{','.join(filled)}->{output.replace('.', fresh)}"


def equation_of_sublists(sublists: Sequence[Any], output: Any) -> str:
    """The equation for lists of numbers (and Ellipsis); None as output leaves it implicit.

    >>> equation_of_sublists([[0, 1], [1, ...]], None)
    'AB,B...'
    """

    def letters(sublist: Any) -> str:
        return "".join(["..." if i is Ellipsis else _SUBLIST_LETTERS[_check(i)] for i in sublist])

    inputs = ",".join([letters(s) for s in sublists])
    return inputs if output is None else f"{inputs}->{letters(output)}"


_SUBLIST_LETTERS = "".join(sorted(LETTERS))


def _check(i: int) -> int:
    if not 0 <= i < 52:
        raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
    return i


def split_equation(equation: str) -> tuple[list[str], str]:
    """The subscripts of the operands and of the result of an explicit equation."""
    inputs, output = equation.split("->")
    return inputs.split(","), output


@memoize(512)
def check_sizes(equation: str, shapes: tuple[Shape, ...]) -> None:
    """Raise RuntimeError, in torch's words, unless the sizes of equal subscripts agree; size 1 broadcasts."""
    sizes: dict[str, int] = {}
    for operand, (labels, shape) in enumerate(zip(split_equation(equation)[0], shapes, strict=True)):
        operand_sizes: dict[str, int] = {}
        for letter, n in zip(labels, shape, strict=True):
            if operand_sizes.setdefault(letter, n) != n:
                raise RuntimeError(
                    f"einsum(): subscript {letter} is repeated for operand {operand} but the sizes don't match, "
                    f"{n} != {operand_sizes[letter]}"
                )
        for letter, n in operand_sizes.items():
            before = sizes.get(letter, 1)
            if before != 1 and n not in (1, before):
                raise RuntimeError(
                    f"einsum(): subscript {letter} has size {n} for operand {operand} which does not broadcast with "
                    f"previously seen size {before}"
                )
            sizes[letter] = n if before == 1 else before


@memoize(512)
def subscripts_met(equation: str, shapes: tuple[Shape, ...]) -> tuple[str, ...]:
    """Each operand's subscripts, each once, without subscripts of axes of size 1 that are broadcast.

    >>> subscripts_met("ii,ij->j", ((2, 2), (1, 3)))
    ('i', 'j')
    """
    operands = split_equation(equation)[0]
    sizes = [dict(zip(labels, shape, strict=True)) for labels, shape in zip(operands, shapes, strict=True)]
    longer = {c for operand_sizes in sizes for c, n in operand_sizes.items() if n != 1}
    return tuple(
        ["".join([c for c, n in operand_sizes.items() if n != 1 or c not in longer]) for operand_sizes in sizes]
    )


def has_contraction(equation: str, shapes: tuple[Shape, ...]) -> bool:
    """True if some subscript of two operands, for more than one element, is summed over: torch runs a matrix product.

    >>> has_contraction("ij,jk->ik", ((2, 3), (3, 4))), has_contraction("ij,jk->ik", ((2, 1), (1, 4)))
    (True, False)
    """
    operands, output = split_equation(equation)
    axes = [pair for labels, shape in zip(operands, shapes, strict=True) for pair in zip(labels, shape, strict=True)]
    longer = {c for c, n in axes if n != 1}
    counts = Counter("".join(subscripts_met(equation, shapes)))
    return any(n > 1 and c in longer and c not in output for c, n in counts.items())


# the contractions ---------------------------------------------------------------------------------------------------


@memoize(512)
def contraction_path(equation: str, shapes: tuple[Shape, ...]) -> tuple[tuple[int, ...], ...]:
    """The operands of each contraction in turn; results are appended to the list.

    The order comes from opt_einsum if it is installed, else from NumPy.

    >>> contraction_path("ij,jk,k->i", ((9, 9), (9, 9), (9,)))
    ((1, 2), (0, 1))
    """
    try:
        import opt_einsum
    except ModuleNotFoundError:
        operands = [numpy.broadcast_to(0.0, shape) for shape in shapes]
        path = numpy.einsum_path(equation, *operands, optimize="greedy")[0][1:]
    else:
        path = opt_einsum.contract_path(equation, *shapes, shapes=True, optimize="auto")[0]
    return tuple([tuple(step) for step in path])


def einsum(xp: Any, arrays: Sequence[Any], equation: str) -> Any:
    """The sum of products that an explicit equation names; sizes must agree as `check_sizes` demands.

    >>> import numpy
    >>> einsum(numpy, [numpy.ones((2, 3)), numpy.ones((3, 4))], "ij,jk->ki").shape
    (4, 2)
    """
    inputs, output = split_equation(equation)
    terms = []
    for array, labels in zip(arrays, inputs, strict=True):
        if len(set(labels)) < len(labels):
            array, labels = _without_repeats(xp, array, labels)
        terms.append((array, labels))
    if len(terms) == 1:
        return _alone(xp, *terms[0], output)
    path: tuple[tuple[int, ...], ...] = ((0, 1),)
    if len(terms) > 2:
        reduced = ",".join([labels for _, labels in terms]) + "->" + output
        path = contraction_path(reduced, tuple([array.shape for array, _ in terms]))
    for step in path:
        picked = [terms.pop(i) for i in sorted(step, reverse=True)]
        while len(picked) > 1:
            left, right = picked.pop(), picked.pop()
            remaining = output + "".join([labels for _, labels in terms + picked])
            picked.append(_pair(xp, left, right, remaining))
        terms.append(picked[0])
    array, labels = terms[0]
    return array if labels == output else xp.permute_dims(array, tuple([labels.index(c) for c in output]))


def _alone(xp: Any, array: Any, labels: str, output: str) -> Any:
    """Sum one operand over the axes that are not in the output, and reorder the others."""
    inner_axes = tuple([i for i, c in enumerate(labels) if c not in output])
    if inner_axes:
        array = xp.asarray(xp.sum(array, axis=inner_axes, dtype=array.dtype))
        labels = "".join([c for c in labels if c in output])
    order = tuple([labels.index(c) for c in output])
    result = xp.permute_dims(array, order) if labels != output else array
    # without a sum the result still shares the caller's memory
    return row_major(result) if inner_axes else xp.asarray(result, copy=True)


def _without_repeats(xp: Any, array: Any, labels: str) -> tuple[Any, str]:
    """The diagonal along axes of equal label."""
    for letter in labels:
        while labels.count(letter) > 1:
            first = labels.index(letter)
            second = labels.index(letter, first + 1)
            rest = [i for i in range(len(labels)) if i not in (first, second)]
            array = xp.linalg.diagonal(xp.permute_dims(array, (*rest, first, second)))
            labels = "".join([labels[i] for i in rest]) + letter
    return array, labels


class _Side(NamedTuple):
    """The preparation of one operand of a pair before the product; None or () for no step."""

    squeezed: Shape | None
    summed: tuple[int, ...]
    order: tuple[int, ...] | None
    grouped: Shape | None


class _Pair(NamedTuple):
    left: _Side
    right: _Side
    product: str
    shape: Shape | None
    labels: str


def _pair(xp: Any, left: tuple[Any, str], right: tuple[Any, str], remaining: str) -> tuple[Any, str]:
    """The contraction of two operands over all of their labels that are not kept."""
    if _is_turned(left[1], right[1], remaining):
        left, right = right, left
    (a, in_a), (b, in_b) = left, right
    plan = _pair_plan(in_a, tuple(a.shape), in_b, tuple(b.shape), remaining)
    product = getattr(xp, plan.product)(_made_ready(xp, a, plan.left), _made_ready(xp, b, plan.right))
    return (product if plan.shape is None else xp.reshape(product, plan.shape)), plan.labels


@memoize(1024)
def _is_turned(in_a: str, in_b: str, remaining: str) -> bool:
    """True if a label of the second operand alone leads the result: as the left factor it gives rows of memory."""
    return next((c in in_b for c in remaining if (c in in_a) is not (c in in_b)), False)


def _made_ready(xp: Any, array: Any, side: _Side) -> Any:
    if side.squeezed is not None:
        array = xp.reshape(array, side.squeezed)
    if side.summed:
        array = xp.asarray(xp.sum(array, axis=side.summed, dtype=array.dtype))
    if side.order is not None:
        array = xp.permute_dims(array, side.order)
    return array if side.grouped is None else xp.reshape(array, side.grouped)


@memoize(1024)
def _pair_plan(in_a: str, shape_a: Shape, in_b: str, shape_b: Shape, remaining: str) -> _Pair:
    size = dict(zip(in_b, shape_b, strict=True))
    # an axis of size 1 broadcasts against the other operand, so it can be dropped
    left = [c for c, n in zip(in_a, shape_a, strict=True) if n != 1 or c not in in_b]
    right = [c for c, n in zip(in_b, shape_b, strict=True) if n != 1 or c not in left]
    size.update({c: n for c, n in zip(in_a, shape_a, strict=True) if c in left})
    own_a = [c for c in left if c in remaining or c in right]
    own_b = [c for c in right if c in remaining or c in left]
    batch = [c for c in own_a if c in own_b and c in remaining]
    inner_labels = [c for c in own_a if c in own_b and c not in remaining]
    free_a = [c for c in own_a if c not in own_b]
    free_b = [c for c in own_b if c not in own_a]
    outer, rows, columns = [[size[c] for c in group] for group in (batch, free_a, free_b)]
    if inner_labels:
        inner = prod([size[c] for c in inner_labels])
        groups = [*outer, prod(rows), inner], [*outer, inner, prod(columns)]
        orders = batch + free_a + inner_labels, batch + inner_labels + free_b
        product_shape = [*outer, prod(rows), prod(columns)]
    else:
        groups = [*outer, *rows, *[1] * len(columns)], [*outer, *[1] * len(rows), *columns]
        orders = batch + free_a, batch + free_b
        product_shape = [*outer, *rows, *columns]
    sides = [
        _side(labels, there, own_labels, order, size, tuple(group))
        for labels, there, own_labels, order, group in zip(
            (in_a, in_b), (left, right), (own_a, own_b), orders, groups, strict=True
        )
    ]
    shape = (*outer, *rows, *columns)
    return _Pair(
        sides[0],
        sides[1],
        "matmul" if inner_labels else "multiply",
        None if tuple(product_shape) == shape else shape,
        "".join(batch + free_a + free_b),
    )


def _side(
    labels: str, there: list[str], own_labels: list[str], order: list[str], size: dict[str, int], group: Shape
) -> _Side:
    return _Side(
        squeezed=None if len(there) == len(labels) else tuple([size[c] for c in there]),
        summed=tuple([i for i, c in enumerate(there) if c not in own_labels]),
        order=None if order == own_labels else tuple([own_labels.index(c) for c in order]),
        grouped=None if tuple([size[c] for c in order]) == group else group,
    )


# vector products ------------------------------------------------------------------------------------------------------

#: Up to so many elements it takes less time to copy them in another order than to take three slices of each operand.
_FEW = 1 << 11
_NEXT, _BEFORE = numpy.array([1, 2, 0]), numpy.array([2, 0, 1])


def small_cross_product(a: Any, b: Any, axis: int) -> Any:
    """The vector product along an axis of length 3 of small arrays of NumPy's; None for others.

    >>> small_cross_product(numpy.array([1.0, 0.0, 0.0]), numpy.array([0.0, 1.0, 0.0]), 0)
    array([0., 0., 1.])
    """
    if type(a) is not numpy.ndarray or type(b) is not numpy.ndarray or a.ndim != b.ndim or a.size + b.size > _FEW:
        return None
    ahead = a.take(_NEXT, axis) * b.take(_BEFORE, axis)
    return ahead - a.take(_BEFORE, axis) * b.take(_NEXT, axis)
