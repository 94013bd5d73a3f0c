"""Sets of the columns on which each element of an array depends, in memory proportional to the entries.

The sets of an array are a list of `Term`s; an element's set is the union over the terms. A term is an array of labels
with one label for each element: 0 for the empty set, otherwise a column, or a row of a table of sets. Operations that
move elements move labels alike, and views of labels cost nothing. So slices and sums of slices of a long vector need no
memory of their own, and a dense set that many elements share is stored once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray

#: From this number of terms on they are combined to one table.
MOST_TERMS = 24
#: From this number of tables on terms that are joined get one table in common.
_MOST_TABLES = 4
#: More entries than this are an error instead of an exhausted memory.
MOST_ENTRIES = 2**30
_LABEL = np.int64
#: Up to this number of columns whole arrays are exchanged; rows of more are sorted one by one.
_FEW = 6

TOO_MANY = (
    "the pattern has at least {count} entries, more than the {most} that are kept: the function depends on its "
    "argument densely, so that derivatives by structure do not pay; use dense ones, or products (adjoint.func.jvp "
    "and vjp)"
)


class DensePatternError(ValueError):
    """A pattern has so many entries that derivatives by structure do not pay."""


class Table:
    """Sets of columns, one in each row, sorted: row r has indices[indptr[r]:indptr[r + 1]]."""

    __slots__ = ("indices", "indptr")

    def __init__(self, indptr: Array, indices: Array) -> None:
        self.indptr, self.indices = indptr, indices

    @property
    def sizes(self) -> Array:
        """The number of columns in each row."""
        return np.diff(self.indptr)


class Term(NamedTuple):
    """Labels, one for each element; with a table they are its rows plus 1, without one columns plus 1; 0 for none."""

    labels: Array
    table: Table | None = None

    def with_labels(self, labels: Array) -> Term:
        """The term of elements that were moved like these labels."""
        return Term(labels, self.table)

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for terms that are the same view of the same labels."""
        labels = self.labels
        return (id(self.table), labels.__array_interface__["data"][0], labels.strides, labels.shape)


Terms = list[Term]


def columns_of(shape: tuple[int, ...]) -> Terms:
    """The terms of the argument itself: each element depends on its own column."""
    size = int(np.prod(shape))
    kind = np.int32 if size < 2**31 - 1 else np.int64
    return [Term(np.arange(1, size + 1, dtype=kind).reshape(shape))]


def union(parts: Iterable[Terms], shape: tuple[int, ...]) -> Terms:
    """The terms of elements that depend on several arrays' elements at the same position, broadcast to a shape."""
    together: dict[tuple[Any, ...], Term] = {}
    for terms in parts:
        for term in terms:
            spread = term if term.labels.shape == shape else term.with_labels(np.broadcast_to(term.labels, shape))
            together[spread.key] = spread
    result = list(together.values())
    return result if len(result) <= MOST_TERMS else combine(result)


def combine(terms: Terms) -> Terms:
    """The sets as one term."""
    shape = terms[0].labels.shape
    size = int(np.prod(shape))
    indptr, indices = rows(terms, size)
    return [Term(np.arange(1, size + 1, dtype=_LABEL).reshape(shape), Table(indptr, indices))]


def take(terms: Terms, source: Array) -> Terms:
    """The terms of elements that were moved from the flat positions `source` minus 1; 0 for zeros."""
    result = []
    for term in terms:
        flat = np.empty(term.labels.size + 1, dtype=term.labels.dtype)
        flat[0] = 0
        flat[1:] = term.labels.reshape(-1)
        result.append(term.with_labels(np.asarray(flat[source])))
    return result


def join(parts: Sequence[tuple[Terms, int]]) -> Terms:
    """The concatenated terms of several flat arrays, given with their sizes."""
    tables = {id(term.table): term.table for terms, _ in parts for term in terms if term.table is not None}
    parts = in_one_table(parts, list(tables.values())) if len(tables) > _MOST_TABLES else parts
    total, start = sum([size for _, size in parts]), 0
    slots: dict[tuple[int, int], Term] = {}
    for terms, size in parts:
        counts: dict[int, int] = {}
        for term in terms:
            number = counts[id(term.table)] = counts.get(id(term.table), -1) + 1
            slot = slots.setdefault((id(term.table), number), term.with_labels(np.zeros(total, dtype=_LABEL)))
            slot.labels[start : start + size] = term.labels.reshape(-1)
        start += size
    return list(slots.values())


def in_one_table(parts: Sequence[tuple[Terms, int]], tables: list[Table]) -> list[tuple[Terms, int]]:
    """The terms, with one shared table."""
    offsets, rows_before, entries_before = {}, 0, 0
    indptr, indices = [np.zeros(1, dtype=_LABEL)], []
    for table in tables:
        offsets[id(table)] = rows_before
        indptr.append(table.indptr[1:] + entries_before)
        indices.append(table.indices)
        rows_before += len(table.indptr) - 1
        entries_before += len(table.indices)
    common = Table(np.concatenate(indptr), np.concatenate(indices))

    def change(term: Term) -> Term:
        if term.table is None:
            return term
        return Term(np.where(term.labels > 0, term.labels + offsets[id(term.table)], 0), common)

    return [([change(term) for term in terms], size) for terms, size in parts]


def group(terms: Terms, groups: Array, count: int) -> Table:
    """The union of the sets of each group; `groups` has the number of the group of each element plus 1, 0 for none."""
    keys = []
    for term in terms:
        numbers, labels = distinct_pairs(np.broadcast_to(groups, term.labels.shape), term)
        if term.table is not None:
            numbers, labels = expand(numbers, labels, term.table)
        keys.append((numbers, labels))
    if not keys:
        return Table(np.zeros(count + 1, dtype=_LABEL), np.zeros(0, dtype=_LABEL))
    owners, columns = (np.concatenate(parts) for parts in zip(*keys, strict=True))
    return Table(*compress(owners, columns, count))


def distinct_pairs(groups: Array, term: Term) -> tuple[Array, Array]:
    """Pairs of a group and a label that occur together, both counted from 0; those with a table each once."""
    if term.labels.size and not any(term.labels.strides) and not any(groups.strides):
        groups, labels = groups.reshape(-1)[:1], term.labels.reshape(-1)[:1]
    else:
        groups, labels = groups.reshape(-1), term.labels.reshape(-1)
    present = (groups > 0) & (labels > 0)
    if not present.all():
        groups, labels = groups[present], labels[present]
    groups, labels = groups.astype(_LABEL) - 1, labels.astype(_LABEL) - 1
    if term.table is None or not len(labels):
        return groups, labels
    width = int(labels.max()) + 1
    keys = distinct(groups * width + labels)
    return keys // width, keys % width


def distinct(keys: Array) -> Array:
    """Sorted keys, each once; numpy.unique makes tables of hashes, which take ten times as long."""
    if len(keys) > 1 and not (keys[1:] > keys[:-1]).all():
        keys = np.sort(keys)
        keys = keys[np.append(True, keys[1:] != keys[:-1])]
    return keys


def expand(owners: Array, table_rows: Array, table: Table) -> tuple[Array, Array]:
    """Pairs of an owner and a column, from pairs of an owner and a row of a table."""
    sizes = table.sizes[table_rows]
    count = int(sizes.sum())
    if count > MOST_ENTRIES:
        raise DensePatternError(TOO_MANY.format(count=count, most=MOST_ENTRIES))
    starts = np.repeat(table.indptr[table_rows] - (np.cumsum(sizes) - sizes), sizes)
    return np.repeat(owners, sizes), table.indices[starts + np.arange(count)]


def compress(owners: Array, columns: Array, count: int) -> tuple[Array, Array]:
    """Sorted sets without repetitions, as (indptr, indices), from pairs of an owner and a column."""
    indptr = np.zeros(count + 1, dtype=_LABEL)
    if not len(owners):
        return indptr, np.zeros(0, dtype=_LABEL)
    width = int(columns.max()) + 1
    if count == 1:
        present = np.zeros(width, dtype=bool)
        present[columns] = True
        indices = np.flatnonzero(present)
        indptr[1] = len(indices)
        return indptr, indices
    keys = distinct(owners * width + columns)
    np.cumsum(np.bincount(keys // width, minlength=count), out=indptr[1:])
    return indptr, keys % width


def rows(terms: Terms, size: int) -> tuple[Array, Array]:
    """The sets of all elements, as (indptr, indices) of a matrix in compressed rows."""
    if not terms:
        return np.zeros(size + 1, dtype=_LABEL), np.zeros(0, dtype=_LABEL)
    if all(term.table is None for term in terms):
        return rows_of_columns([term.labels.reshape(-1) for term in terms], size)
    table = group(terms, np.arange(1, size + 1).reshape(terms[0].labels.shape), size)
    return table.indptr, table.indices


def rows_of_columns(columns: list[Array], size: int) -> tuple[Array, Array]:
    """The same for terms without tables: one row of a block for each element, sorted where it is not already."""
    if not size:
        return np.zeros(1, dtype=_LABEL), np.zeros(0, dtype=_LABEL)
    columns = in_rising_order(sorted(columns, key=lambda labels: int(labels[size // 2])))
    masks = [columns[0] > 0, *[left < right for left, right in pairwise(columns)]]
    block = np.stack(columns, axis=1)
    block -= 1
    if all(bool(mask.all()) for mask in masks):
        return np.arange(0, block.size + 1, len(columns), dtype=_LABEL), block.reshape(-1)
    indptr = np.zeros(size + 1, dtype=_LABEL)
    for mask in masks:
        indptr[1:] += mask
    np.cumsum(indptr, out=indptr)
    return indptr, block[np.stack(masks, axis=1)]


def in_rising_order(columns: list[Array]) -> list[Array]:
    """Arrays of the same numbers, place by place, the smallest first."""
    columns = list(columns)
    if len(columns) > _FEW:
        block = np.sort(np.stack(columns, axis=1), axis=1)
        return list(np.moveaxis(block, 1, 0))
    for last in range(len(columns) - 1, 0, -1):
        for i in range(last):
            left, right = columns[i], columns[i + 1]
            if not (left <= right).all():
                columns[i], columns[i + 1] = np.minimum(left, right), np.maximum(left, right)
    return columns
