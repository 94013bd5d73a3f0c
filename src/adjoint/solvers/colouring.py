"""Sparse Jacobians from few products: columns without a common row share one product, and so do rows."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray


def colours_of_columns(pattern: Any) -> Array:
    """A colour for each column of a sparse boolean matrix, such that columns of one colour have no row in common.

    Greedy, columns with many neighbours first; the number of colours is at least that of the fullest row's entries.

    Source: A. Curtis, M. Powell, J. Reid, "On the estimation of sparse Jacobian matrices", IMA J. Appl. Math. 13 (1974)
    117-119.

    >>> from scipy.sparse import diags_array
    >>> colours_of_columns(diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(6, 6)))
    array([1, 2, 0, 1, 2, 0])
    """
    from scipy.sparse import csr_array

    rows = csr_array(pattern, dtype=np.int32)
    neighbours = csr_array(rows.T @ rows)
    degrees = np.diff(neighbours.indptr)
    colours = np.full(rows.shape[1], -1)
    for column in np.argsort(-degrees, kind="stable"):
        near = neighbours.indices[neighbours.indptr[column] : neighbours.indptr[column + 1]]
        used = np.unique(colours[near])
        used = used[used >= 0]
        free = np.flatnonzero(used != np.arange(len(used)))
        colours[column] = free[0] if len(free) else len(used)
    return colours


class Compression:
    """How the entries of a sparse m x n matrix are read off few products with it, or with its transpose.

    by_rows: products are with the transpose. seeds: the vectors, one a row.
    """

    def __init__(self, pattern: Any) -> None:
        from scipy.sparse import coo_array

        stored = coo_array(pattern)
        used = stored.data != 0
        self.shape = stored.shape
        self.rows, self.columns = stored.row[used], stored.col[used]
        ones = coo_array((np.ones(len(self.rows), np.int32), (self.rows, self.columns)), shape=self.shape)
        of_columns, of_rows = colours_of_columns(ones), colours_of_columns(ones.T)
        self.by_rows = int(of_rows.max(initial=-1)) < int(of_columns.max(initial=-1))
        self.colours = of_rows if self.by_rows else of_columns
        self.seeds = (self.colours == np.arange(self.colours.max(initial=-1) + 1)[:, None]).astype(np.float64)

    def matrix(self, products: Array) -> Any:
        """The sparse matrix from its products with the seeds, one a row."""
        from scipy.sparse import csr_array

        inner, outer = (self.rows, self.columns) if self.by_rows else (self.columns, self.rows)
        entries = products[self.colours[inner], outer]
        return csr_array((entries, (self.rows, self.columns)), shape=self.shape)
