"""Formulas over many parameters with few large operations.

Small arrays are copied into one block and back. Large arrays are processed tile by tile. So a formula with a dozen
operations runs on pieces that stay in the cache of the processor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy

#: The bytes of a block or tile. The second-level cache of a core holds a dozen of them. The allocator reuses memory for
#: temporary arrays of this size; from 128 KiB on, glibc maps new pages.
TILE_BYTES = 96 * 1024
Row = Sequence[Any]


def run(formula: Callable[..., None], rows: list[Row], joined: bool = True) -> None:
    """Run a formula, which updates its arguments in place, on all rows, with joined or divided arrays.

    rows: for each parameter its array, the gradient and the arrays of the state, all with one shape. joined: join
    small arrays, by copies.
    """
    tile = TILE_BYTES // rows[0][0].itemsize
    small: list[Row] = []
    size = 0
    for row in rows:
        n = row[0].size
        if n > tile // 2:
            for part in _tiles(row, tile):
                formula(*part)
            continue
        if not joined:
            formula(*row)
            continue
        if size + n > tile:
            _run_block(formula, small)
            small, size = [], 0
        small.append(row)
        size += n
    if small:
        _run_block(formula, small)


def _tiles(row: Row, tile: int) -> Iterator[Row]:
    """The arrays of a row in tiles; whole arrays if one of them is not contiguous."""
    if row[0].size <= tile or not all(array.flags.c_contiguous for array in row):
        yield row
        return
    flat = [array.reshape(-1) for array in row]
    for start in range(0, row[0].size, tile):
        yield tuple([array[start : start + tile] for array in flat])


def _run_block(formula: Callable[..., None], rows: list[Row]) -> None:
    """Run a formula on the joined columns of small arrays, and copy all columns except the gradients back."""
    if len(rows) == 1:
        formula(*rows[0])
        return
    columns = list(zip(*rows, strict=True))
    joined = [numpy.concatenate(column, axis=None) for column in columns]
    formula(*joined)
    stop, parts = 0, []
    for array in columns[0]:
        start, stop = stop, stop + array.size
        parts.append((slice(start, stop), array.shape))
    for k, column in enumerate(columns):
        if k != 1:
            values = joined[k]
            for array, (part, shape) in zip(column, parts, strict=True):
                array[...] = values[part].reshape(shape)
