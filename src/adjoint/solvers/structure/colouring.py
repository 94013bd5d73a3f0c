"""Compression: the entries of a sparse matrix from few products with it, or with its transpose.

Columns without a common row share one product, and so do rows without a common column. In a matrix with a few full
rows, these come from products with its transpose, and the other entries from columns; a few full columns are handled
likewise. For a symmetric matrix a star colouring needs fewer products, since each entry is in two columns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adjoint.arrays.kernels.colouring import colours_apart, star_colours

Array = np.ndarray

#: Vertices with more neighbours than this, and than sixteen times the average, get a colour of their own.
_HUB = 32


class Part(NamedTuple):
    """Entries that one kind of product gives.

    by_rows: products are with the transpose. entries: positions in the matrix's data. colours: of each entry's seed.
    places: in the product, for each entry. members, groups: vertices and their colours, which make the seeds.
    """

    by_rows: bool
    entries: Array
    colours: Array
    places: Array
    members: Array
    groups: Array
    n_colours: int

    def seeds(self, first: int, last: int, size: int, kind: Any) -> Array:
        """The vectors of the colours first ... last - 1, one a row."""
        mask = (self.groups >= first) & (self.groups < last)
        seeds = np.zeros((last - first, size), dtype=kind)
        seeds[self.groups[mask] - first, self.members[mask]] = 1
        return seeds


class Pattern:
    """The possible entries of a sparse matrix: rows in compressed form, columns sorted and without repetitions.

    >>> Pattern.of([[1, 0], [1, 1]]).indices
    array([0, 0, 1])
    """

    def __init__(self, shape: tuple[int, int], indptr: Array, indices: Array) -> None:
        self.shape = shape
        self.indptr, self.indices = indptr.astype(np.int64, copy=False), indices.astype(np.int64, copy=False)

    @classmethod
    def of(cls, matrix: Any) -> Pattern:
        """The places of the non-zero entries of a sparse or dense matrix."""
        from scipy.sparse import csr_array

        rows = csr_array(matrix)
        rows = csr_array((rows.data != 0, rows.indices, rows.indptr), shape=rows.shape)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        return cls(rows.shape, rows.indptr, rows.indices)

    @property
    def nnz(self) -> int:
        """The number of entries."""
        return len(self.indices)

    @property
    def row_sizes(self) -> Array:
        """The number of entries in each row."""
        return np.diff(self.indptr)

    @property
    def rows(self) -> Array:
        """The row of each entry."""
        return np.repeat(np.arange(self.shape[0]), self.row_sizes)

    def matrix(self, data: Array) -> Any:
        """A csr_array with these entries."""
        from scipy.sparse import csr_array

        kind = np.int32 if max(self.nnz, *self.shape) < 2**31 else np.int64
        return csr_array((data, self.indices.astype(kind), self.indptr.astype(kind)), shape=self.shape)

    def symmetric(self) -> Pattern:
        """The pattern together with its transpose."""
        ones = self.matrix(np.ones(self.nnz, dtype=np.int8))
        both = (ones + ones.T.tocsr()).tocsr()
        both.sort_indices()
        return Pattern(self.shape, both.indptr, both.indices)


def fullest_first(sizes: Array) -> Array:
    """Vertices in order of falling sizes, as they stand where these are equal."""
    return np.argsort(-sizes, kind="stable")


class Choice(NamedTuple):
    """A way to compress: the entries taken by rows (the others by columns), and a bound below for its products."""

    bound: int
    by_rows: Array


def choices(pattern: Pattern, rows: Array) -> list[Choice]:
    """Columns alone, rows alone, the fullest rows apart, the fullest columns apart; the most promising first."""
    of_rows, of_columns = pattern.row_sizes, np.bincount(pattern.indices, minlength=pattern.shape[1])
    none = np.zeros(pattern.nnz, dtype=bool)
    result = [Choice(int(of_rows.max(initial=0)), none), Choice(int(of_columns.max(initial=0)), ~none)]
    result.sort(key=lambda choice: choice.bound)
    for sizes, of_entries, apart in ((of_rows, rows, True), (of_columns, pattern.indices, False)):
        falling = np.sort(sizes)[::-1]
        bounds = np.arange(len(falling)) + falling
        best = int(np.argmin(bounds)) if len(bounds) else 0
        if len(bounds) and bounds[best] < result[0].bound:
            full = np.zeros(len(sizes), dtype=bool)
            full[fullest_first(sizes)[:best]] = True
            mask = full[of_entries]
            result.insert(0, Choice(int(bounds[best]), mask if apart else ~mask))
    return sorted(result, key=lambda choice: choice.bound)


def compression(pattern: Pattern) -> list[Part]:
    """The parts that give all entries of a matrix by the fewest products known.

    Source: A. Curtis, M. Powell, J. Reid, "On the estimation of sparse Jacobian matrices", IMA J. Appl. Math. 13 (1974)
    117-119, for columns; T. Coleman, A. Verma, "The efficient computation of sparse Jacobian matrices using automatic
    differentiation", SIAM J. Sci. Comput. 19 (1998) 1210-1233, for both directions.

    >>> import numpy
    >>> [part.n_colours for part in compression(Pattern.of(numpy.eye(5) + numpy.eye(5, k=1)))]
    [2]
    """
    rows = pattern.rows
    best: list[Part] | None = None
    for choice in choices(pattern, rows):
        if best is not None and count_of(best) <= choice.bound:
            break
        parts = [part_of(pattern, rows, mask, by_rows) for mask, by_rows in
                 ((~choice.by_rows, False), (choice.by_rows, True)) if mask.any()]  # fmt: skip
        if best is None or count_of(parts) < count_of(best):
            best = parts
    return best or []


def count_of(parts: list[Part]) -> int:
    """The number of products."""
    return sum([part.n_colours for part in parts])


def part_of(pattern: Pattern, rows: Array, mask: Array, by_rows: bool) -> Part:
    """The chosen entries, by products with the transpose or without."""
    inner, outer = (rows, pattern.indices) if by_rows else (pattern.indices, rows)
    n_inner, n_outer = pattern.shape if by_rows else pattern.shape[::-1]
    inner, outer = inner[mask], outer[mask]
    memberships = transposed_pairs(outer, inner, n_inner)
    sets = transposed_pairs(inner, outer, n_outer)
    present = np.flatnonzero(np.diff(memberships[0]))
    colours = ordered_colours(sets, memberships, n_inner)
    groups = colours[present]
    count = int(groups.max(initial=-1)) + 1
    return Part(by_rows, np.flatnonzero(mask), colours[inner], outer, present, groups, count)


def transposed_pairs(values: Array, owners: Array, n: int) -> tuple[Array, Array]:
    """The values of each of n owners, as (starts, values)."""
    starts = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(owners, minlength=n), out=starts[1:])
    if len(owners) and bool((owners[1:] >= owners[:-1]).all()):
        return starts, values
    return starts, values[np.argsort(owners, kind="stable")]


def ordered_colours(sets: tuple[Array, Array], memberships: tuple[Array, Array], n: int) -> Array:
    """The better of two greedy colourings: vertices in the given order, and vertices with many neighbours first."""
    bound = int(np.diff(sets[0]).max(initial=0))
    first = colours_apart(sets, memberships, np.arange(n))
    if not n or int(first.max()) + 1 <= bound:
        return first
    sizes = np.diff(sets[0])
    neighbours = np.add.reduceat(
        np.append(sizes[memberships[1]], 0), np.minimum(memberships[0][:-1], len(memberships[1]))
    )
    neighbours[np.diff(memberships[0]) == 0] = 0
    second = colours_apart(sets, memberships, fullest_first(neighbours))
    return second if int(second.max()) < int(first.max()) else first


def symmetric_compression(pattern: Pattern) -> list[Part]:
    """The part that gives all entries of a symmetric matrix from products with a star colouring.

    An entry of row i and column j is read from row i if no other column of that row has the colour of j, otherwise from
    row j. Vertices with many neighbours get unique colours, so that they do not disturb others.

    Source: A. Gebremedhin, A. Tarafdar, A. Pothen, A. Walther, "Efficient computation of sparse Hessians using coloring
    and automatic differentiation", INFORMS J. Comput. 21 (2009) 209-223.

    >>> import numpy
    >>> arrow = numpy.eye(9) + numpy.eye(1, 9).T + numpy.eye(1, 9)
    >>> [part.n_colours for part in symmetric_compression(Pattern.of(arrow))]
    [2]
    """
    n = pattern.shape[0]
    rows, columns = pattern.rows, pattern.indices
    if not len(rows):
        return []
    colours = star_colouring(n, rows, columns)
    count = int(colours.max()) + 1
    keys = rows * count + colours[columns]
    _, places, repeats = np.unique(keys, return_inverse=True, return_counts=True)
    direct = repeats[places] == 1
    present = np.unique(columns)
    return [
        Part(
            False,
            np.arange(pattern.nnz),
            np.where(direct, colours[columns], colours[rows]),
            np.where(direct, rows, columns),
            present,
            colours[present],
            count,
        )
    ]


def star_colouring(n: int, rows: Array, columns: Array) -> Array:
    """The better of two greedy star colourings of the graph of a symmetric matrix, hubs with colours of their own."""
    beside = rows != columns
    rows, columns = rows[beside], columns[beside]
    degrees = np.bincount(rows, minlength=n)
    hubs = degrees > max(_HUB, 16 * float(degrees.mean()) if n else 0)
    edges = ~(hubs[rows] | hubs[columns])
    graph = transposed_pairs(columns[edges], rows[edges], n)
    rest = np.diff(graph[0])
    best = star_colours(graph, np.arange(n))
    if int(best.max()) > 1:
        other = star_colours(graph, fullest_first(rest))
        best = other if int(other.max()) < int(best.max()) else best
    best = best.copy()
    best[hubs] = best[~hubs].max(initial=-1) + 1 + np.arange(int(hubs.sum()))
    return best
