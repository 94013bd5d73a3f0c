"""The positions of the stored values of a sparse matrix, and products with it.

The values are a vector in the matrix's order; values at the same position are added.
"""

from __future__ import annotations

from typing import Any

import numpy


class SparseLayout:
    """Rows and columns of the stored values of a matrix.

    >>> SparseLayout((2, 3), numpy.array([0, 1]), numpy.array([2, 0])).product(numpy, numpy.ones(2), numpy.arange(3.0))
    array([2., 0.])
    """

    def __init__(self, shape: tuple[int, int], rows: Any, columns: Any) -> None:
        self.shape = shape
        self.rows = numpy.ascontiguousarray(rows, dtype=numpy.int64)
        self.columns = numpy.ascontiguousarray(columns, dtype=numpy.int64)
        self._transposed: SparseLayout | None = None
        self._template: Any = None
        self._order: Any = None
        self._block_diagonal: SparseLayout | None = None
        #: Data that other modules cache with the layout: factors of systems.
        self.derived_data: dict[Any, Any] = {}

    @property
    def nnz(self) -> int:
        """The number of stored values."""
        return len(self.rows)

    def transpose(self) -> SparseLayout:
        """The layout of the transposed matrix, for the same values."""
        if self._transposed is None:
            other = SparseLayout(self.shape[::-1], self.columns, self.rows)
            self._transposed, other._transposed = other, self
            if self._template is not None:
                other._template, other._order = self._template.T, self._order
        return self._transposed

    def block_diagonal(self, n: int) -> SparseLayout:
        """The layout of n such matrices along a diagonal, with concatenated values; the last layout is cached.

        >>> SparseLayout((1, 2), [0], [1]).block_diagonal(2).columns
        array([1, 3])
        """
        shape = n * self.shape[0], n * self.shape[1]
        if self._block_diagonal is None or self._block_diagonal.shape != shape:
            blocks = numpy.arange(n)[:, None]
            rows, columns = self.rows + blocks * self.shape[0], self.columns + blocks * self.shape[1]
            self._block_diagonal = SparseLayout(shape, rows.reshape(-1), columns.reshape(-1))
        return self._block_diagonal

    def template(self) -> Any:
        """A matrix of SciPy's with these places, in compressed rows or columns; `_order` sorts the values for it."""
        if self._template is None:
            from scipy.sparse import csr_array

            rows = self.rows
            if not (rows[1:] >= rows[:-1]).all():
                self._order = numpy.argsort(rows, kind="stable")
            columns = self.columns if self._order is None else self.columns[self._order]
            starts = numpy.zeros(self.shape[0] + 1, dtype=numpy.int64)
            numpy.cumsum(numpy.bincount(rows, minlength=self.shape[0]), out=starts[1:])
            kind = numpy.int32 if max(self.nnz, *self.shape) < 2**31 else numpy.int64
            ones = numpy.ones(self.nnz, dtype=numpy.int8)
            self._template = csr_array((ones, columns.astype(kind), starts.astype(kind)), shape=self.shape)
            if self._transposed is not None:
                self._transposed._template, self._transposed._order = self._template.T, self._order
        return self._template

    def matrix(self, values: Any) -> Any:
        """A matrix of SciPy's with these values, which shares memory with them where their order is its own."""
        from copy import copy

        matrix = copy(self.template())
        matrix.data = values if self._order is None else values[self._order]
        return matrix

    def product(self, xp: Any, values: Any, array: Any) -> Any:
        """The matrix times an array of shape (n,) or (n, k)."""
        if type(values) is type(array) is numpy.ndarray:
            return self.matrix(values) @ array
        factors = values if array.ndim == 1 else xp.expand_dims(values, axis=1)
        rows, columns = xp.asarray(self.rows), xp.asarray(self.columns)
        terms = factors * xp.take(array, columns, axis=0)
        return xp.sum_at((self.shape[0], *array.shape[1:]), (rows,), terms)

    def sample_product(self, xp: Any, left: Any, right: Any) -> Any:
        """The values, at these positions, of left (m,) or (m, k) times the transpose of right (n,) or (n, k)."""
        rows, columns = xp.asarray(self.rows), xp.asarray(self.columns)
        if left.ndim == 1:
            return xp.take(left, rows, axis=0) * xp.take(right, columns, axis=0)
        total = left[:, 0][rows] * right[:, 0][columns] if left.shape[1] else xp.zeros(self.nnz, dtype=left.dtype)
        for k in range(1, left.shape[1]):
            # column by column: as large as the result, and quicker than rows of products
            total = total + xp.take(left[:, k], rows, axis=0) * xp.take(right[:, k], columns, axis=0)
        return total

    def pairs_of_product(self, of_values: bool, k: int | None) -> tuple[Any, Any]:
        """Flat places in the product with k columns, and those in the values, or in the array, that they depend on."""
        sources = numpy.arange(self.nnz) if of_values else self.columns
        return spread(self.rows, k, True), spread(sources, k, not of_values)

    def pairs_of_sampled(self, of_left: bool, k: int | None) -> tuple[Any, Any]:
        """Places in the sampled values, and those in a factor of k columns that they depend on."""
        return spread(numpy.arange(self.nnz), k, False), spread(self.rows if of_left else self.columns, k, True)


def spread(places: Any, k: int | None, is_matrix: bool) -> Any:
    """Places repeated for k columns: the flat places in a matrix with as many, or the same ones in a vector."""
    if k is None:
        return places
    return (places[:, None] * k + numpy.arange(k)).reshape(-1) if is_matrix else numpy.repeat(places, k)
