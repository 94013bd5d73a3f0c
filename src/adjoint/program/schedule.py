"""The schedule of a form: the steps before, in and after the tiles, and the memory of their values.

`elementwise` prepares a form without reductions for arrays of any shape. A `Schedule` is for given shapes. It views
arrays as rows and columns: reductions are over columns, or over everything. Values that are equal for all rows are
small, and so are values computed from complete sums. NumPy computes them before and after the tiles.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy

from adjoint.runtime import crossovers

from . import machine
from .form import BOOL, CAST, NARROW, WHERE, WIDEN, Form, Step
from .machine import EACH, MOST_INPUTS, MOST_REGISTERS, MOST_STEPS, OWN_LOOPS, PER_ROW, ROW_FOLD, ROW_SUM, TILE, TOTAL
from .trace import loop_index

#: How a value lies in rows and columns.
_FULL, _ROWS, _COLUMNS, _NUMBER = "full", "one number per row", "one row", "one number"


class Unschedulable(Exception):
    """The machine supports other shapes only, or shorter programs."""


def loop_of(step: Step, dtypes: list[str]) -> tuple[Any, int | None]:
    """A step's loop for the machine: a ufunc and the index of its loop, or a loop of our own and None."""
    if step.kernel in (WHERE, CAST):
        kernel, size = step.kernel, numpy.dtype(step.dtype).itemsize
        if kernel == CAST and dtypes[step.operands[0]] != BOOL:
            kernel = WIDEN if size == 8 else NARROW
        return OWN_LOOPS[kernel, size], None
    if step.reduction is not None:
        return step.kernel, loop_index(step.kernel, step.dtype * 2)
    return step.kernel, loop_index(step.kernel, "".join([dtypes[register] for register in step.operands]))


def last_uses(form: Form) -> dict[int, int]:
    """For each register, the number of the last step that reads it."""
    return {register: k for k, step in enumerate(form.steps) for register in step.operands}


def elementwise(form: Form) -> Any:
    """An elementwise form as the machine runs it on arrays of any shape; None if too long or of truth values."""
    dtypes = form.dtypes
    fits = len(form.inputs) <= MOST_INPUTS and len(form.steps) <= MOST_STEPS and len(dtypes) <= MOST_REGISTERS
    if not (machine.compiled and form.is_elementwise and fits) or dtypes[form.results] == BOOL:
        return None
    last_use = last_uses(form)
    slots: dict[int, int] = {}
    free: list[int] = []
    n_slots = 0
    steps = []
    for k, step in enumerate(form.steps):
        register = form.first_step + k
        slot = None
        if register != form.results:
            if not free:
                free.append(n_slots)
                n_slots += 1
            slot = slots[register] = free.pop()
        # a register that is read for the last time is free for the next step, not for this one's own result
        free += {slots[operand] for operand in step.operands if operand in slots and last_use[operand] == k}
        steps.append((*loop_of(step, dtypes), [*step.operands, register], numpy.dtype(step.dtype).itemsize, slot))
    return machine.Elementwise(form.inputs, form.constants, dtypes[form.results], steps, n_slots, form.cost)


class Registers:
    """The machine's registers, one for each value in the tiles, and the scratch memory for intermediate values."""

    def __init__(self, kinds: dict[int, str], dtypes: list[str], tile: int, group: int) -> None:
        self.kinds, self.dtypes, self.tile = kinds, dtypes, tile
        # room for one tile is as large as the largest, and is used again when the last use is past
        self.tile_size, self.column_size = (-(-n * 8 // 64) * 64 for n in (tile * group, group))
        self.numbers: dict[int, int] = {}
        self.scratch: list[int | None] = []
        self.strides: list[tuple[int, int]] = []
        self.n_bytes = 0
        self._offsets: dict[int, int] = {}
        self._free: list[int] = []

    def add(self, value: int, offset: int | None = None) -> int:
        """A register for a value: at an offset in the scratch memory, or for memory that is named when it runs."""
        number = self.numbers[value] = len(self.scratch)
        self.scratch.append(offset)
        item = numpy.dtype(self.dtypes[value]).itemsize
        self.strides.append((self.tile * item, item) if self.kinds[value] == _FULL else (item, 0))
        return number

    def add_intermediate(self, value: int) -> int:
        """A register for a value that only other steps use."""
        if self.kinds[value] != _FULL:
            # one number for each row: written while longer values are still being read
            return self.add(value, self._take(self.column_size))
        offset = self._free.pop() if self._free else self._take(self.tile_size)
        self._offsets[value] = offset
        return self.add(value, offset)

    def release(self, values: list[int]) -> None:
        """Free the scratch memory of values."""
        self._free.extend([self._offsets[value] for value in values if value in self._offsets])

    def _take(self, size: int) -> int:
        offset, self.n_bytes = self.n_bytes, self.n_bytes + size
        return offset


class Schedule:
    """A form prepared for arrays of given shapes.

    dense: the arrays are contiguous, so arrays of one shape can be viewed as one row.

    Raises Unschedulable for shapes that the machine cannot view as rows and columns.
    """

    def __init__(self, form: Form, shapes: list[tuple[int, ...]], dense: bool = True) -> None:
        self.form = form
        self.dtypes = form.dtypes
        self.shapes = shapes_of(form, shapes)
        self.shape = max(self.shapes, key=lambda shape: (prod(shape), len(shape)), default=())
        steps = [(form.first_step + k, step) for k, step in enumerate(form.steps)]
        self.steps = dict(steps)
        rank = len(self.shape)
        splits = {len(self.shapes[step.operands[0]]) - self._n_reduced(step) for step in form.steps if step.reduction}
        splits.discard(0)
        if len(splits) > 1:
            raise Unschedulable("reductions over different axes")
        whole = all(shape in (self.shape, ()) or prod(shape) == 1 for shape in self.shapes)
        self.split = splits.pop() if splits else 0 if whole and dense else max(rank - 1, 0)
        self.n_rows, self.n_columns = prod(self.shape[: self.split]), prod(self.shape[self.split :])
        self.reduces_rows = any(step.reduction and not self._is_total(step) for step in form.steps)
        shortest = crossovers.SHORTEST_LONE_ROW if self._is_lone_reduction() else crossovers.SHORTEST_ROW
        if self.n_columns < shortest or (self.reduces_rows and self.n_columns > crossovers.LONGEST_ROW):
            raise Unschedulable("rows too short or too long")
        self.kinds: dict[int, str] = {}
        self._divide()
        self._make_machine()

    def _is_lone_reduction(self) -> bool:
        """True if the program reduces rows of its inputs first, and then uses no more than the results."""
        n_inputs = len(self.form.inputs)
        reads = any(operand < n_inputs for step in self.form.steps[1:] for operand in step.operands)
        return self.reduces_rows and self.form.steps[0].reduction is not None and not reads

    def _n_reduced(self, step: Step) -> int:
        """How many axes a reduction reduces."""
        rank = len(self.shapes[step.operands[0]])
        assert step.reduction is not None
        return rank if step.reduction.axes is None else step.reduction.axes

    def _is_total(self, step: Step) -> bool:
        return self._n_reduced(step) == len(self.shapes[step.operands[0]])

    def _kind(self, value: int) -> str:
        """How a value lies in the rows and columns."""
        step = self.steps.get(value)
        if step is not None and step.reduction is not None:
            return _NUMBER if self._is_total(step) else _ROWS
        shape = (1,) * (len(self.shape) - len(self.shapes[value])) + self.shapes[value]
        first, last = shape[: self.split], shape[self.split :]
        kinds = {(True, True): _FULL, (True, False): _ROWS, (False, True): _COLUMNS, (False, False): _NUMBER}
        of_rows = first == self.shape[: self.split] and (bool(first) or last == self.shape[self.split :])
        of_columns = last == self.shape[self.split :]
        if (not of_rows and prod(first) != 1) or (not of_columns and prod(last) != 1):
            raise Unschedulable("shapes that are no rows and columns")
        return kinds[of_rows, of_columns]

    def _divide(self) -> None:
        """Assign the steps to three phases: before the tiles, in them and after them."""
        self.before: list[int] = []
        self.in_tiles: list[int] = []
        self.after: list[int] = []
        self.totals: list[int] = []
        late: set[int] = set()
        for value in range(self.form.first_step):
            self.kinds[value] = self._kind(value)
        for value, step in self.steps.items():
            if late.intersection(step.operands):
                # results of complete sums: the rest is small, and no sum
                if prod(self.shapes[value]) == prod(self.shape) or step.reduction is not None:
                    raise Unschedulable("a large value made of complete sums")
                self.after.append(value)
                late.add(value)
                continue
            self.kinds[value] = self._kind(value)
            if step.reduction is not None:
                self.in_tiles.append(value)
                if self._is_total(step):
                    self.totals.append(value)
                if self._is_total(step) or not step.reduction.keepdims:
                    late.add(value)
            elif self.kinds[value] in (_NUMBER, _COLUMNS):
                self.before.append(value)
            else:
                self.in_tiles.append(value)
        if not self.in_tiles or len(self.totals) > 1 or len(self.in_tiles) > MOST_STEPS:
            raise Unschedulable("no steps, two sums of everything, or too many steps")

    def _make_machine(self) -> None:
        computed = set(self.in_tiles)
        result_registers = self.form.registers_of_results()
        result_registers += [operand for value in self.after for operand in self.steps[value].operands]
        # a value has an array of its own if the form returns it or steps after the machine read it
        self.outputs = [
            value for value in dict.fromkeys(result_registers) if value in computed and value not in self.totals
        ]
        last_use = {operand: k for k, value in enumerate(self.in_tiles) for operand in self.steps[value].operands}
        tile = self.n_columns if self.reduces_rows else min(TILE, self.n_columns)
        group = max(1, min(self.n_rows, TILE // tile)) if tile == self.n_columns else 1
        registers = Registers(self.kinds, self.dtypes, tile, group)
        #: The operands that the machine reads from arrays: inputs, constants and results of earlier steps.
        self.outer_operands: list[int] = []
        steps = []
        for k, value in enumerate(self.in_tiles):
            past = [operand for operand in dict.fromkeys(self.steps[value].operands) if last_use[operand] == k]
            steps.append(self._step(value, past, registers))
        if len(registers.scratch) > MOST_REGISTERS:
            raise Unschedulable("too many values")
        sizes = {numpy.dtype(self.dtypes[value]).itemsize for value in self.in_tiles if self.steps[value].reduction}
        if len(sizes) > 1:
            # the machine clears and copies results of all reductions by one size
            raise Unschedulable("reductions of several types")
        self.total_size = max(sizes, default=8)
        self.tile, self.group = tile, group
        self.is_threaded = (
            prod(self.shape) * sum([self.steps[value].cost for value in self.in_tiles]) >= crossovers.THREADED
        )
        self._assign_registers(registers.numbers)
        self.machine = machine.Machine(self, steps, registers)

    def _step(self, value: int, past: list[int], registers: Registers) -> tuple[Any, ...]:
        """The machine's step for a value; it is the last one to use the values `past`."""
        registers_of_step = []
        for operand in self.steps[value].operands:
            if operand not in registers.numbers:
                registers.add(operand)
                self.outer_operands.append(operand)
            registers_of_step.append(registers.numbers[operand])
        # a loop may write where it reads only if elements have the same size
        item = numpy.dtype(self.dtypes[value]).itemsize
        same = [v for v in past if numpy.dtype(self.dtypes[v]).itemsize == item]
        registers.release(same)
        if value in self.totals:
            registers_of_step.append(registers_of_step[0])
        elif value in self.outputs:
            registers_of_step.append(registers.add(value))
        else:
            registers_of_step.append(registers.add_intermediate(value))
        registers.release([v for v in past if v not in same])
        return self._way(value), *loop_of(self.steps[value], self.dtypes), registers_of_step

    def _way(self, value: int) -> int:
        step = self.steps[value]
        if value in self.totals:
            return TOTAL
        if step.reduction is not None:
            return ROW_SUM if step.kernel is numpy.add else ROW_FOLD
        return EACH if self.kinds[value] == _FULL else PER_ROW

    def _assign_registers(self, numbers: dict[int, int]) -> None:
        """The memory of registers: constants, and arrays with the strides of contiguous ones."""
        first = len(self.form.inputs)
        constants = {first + k: numpy.asarray(number, dtype) for k, (dtype, number) in enumerate(self.form.constants)}
        self.constants = list(constants.values())
        self.fixed = [(numbers[value], constants[value]) for value in self.outer_operands if value in constants]
        self.moving = []
        for value in (*self.outer_operands, *self.outputs):
            if value not in constants:
                rows, columns = self._contiguous_strides(value)
                self.moving.append((numbers[value], value, rows, columns))

    def _contiguous_strides(self, value: int) -> tuple[int, int]:
        """The strides of rows and columns of a value in a contiguous array."""
        item = numpy.dtype(self.dtypes[value]).itemsize
        if self.shapes[value] == self.shape:
            return self.n_columns * item, item
        if value in self.outputs and self.steps[value].reduction:
            return item, 0
        shape = self.shapes[value]
        strides = self._rows_and_columns(shape, tuple([item * prod(shape[k + 1 :]) for k in range(len(shape))]))
        if strides is None:
            raise Unschedulable("shapes that are no rows and columns")
        return strides

    def apart(self, values: list[int]) -> list[tuple[Any, ...]]:
        """Steps that NumPy runs, since they are small: (value, kernel, operands, dtype, shape).

        The kernel writes into a new array of the dtype and the shape, or, without a dtype, returns an array.
        """
        steps: list[tuple[Any, ...]] = []
        for value in values:
            step = self.steps[value]
            if step.kernel == WHERE:
                steps.append((value, _where, step.operands, None, None))
            elif step.kernel == CAST:
                steps.append((value, _cast_to(step.dtype), step.operands, None, None))
            else:
                steps.append((value, step.kernel, step.operands, numpy.dtype(step.dtype), self.shapes[value]))
        return steps

    def strides(self, array: Any) -> tuple[int, int] | None:
        """The strides of rows and columns of an array, None if it has no such layout."""
        return self._rows_and_columns(array.shape, array.strides) if array.flags.aligned else None

    def _rows_and_columns(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int] | None:
        missing = len(self.shape) - len(shape)
        shape, strides = (1,) * missing + shape, (0,) * missing + strides
        rows = _one_stride(self.shape[: self.split], shape[: self.split], strides[: self.split])
        columns = _one_stride(self.shape[self.split :], shape[self.split :], strides[self.split :])
        if rows is None or columns is None or (rows and abs(rows) < abs(columns)):
            # NumPy would lay out the result in another order, too
            return None
        return rows, columns


def _where(*operands: Any) -> Any:
    return numpy.asarray(numpy.where(*operands))


def _cast_to(dtype: str) -> Any:
    return lambda array: array.astype(dtype)


def shapes_of(form: Form, shapes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The shape of each register for inputs of given shapes; Unschedulable where shapes do not broadcast."""
    shapes_of_values = [*shapes, *[()] * len(form.constants)]
    for step in form.steps:
        operands = [shapes_of_values[register] for register in step.operands]
        if step.reduction is None:
            try:
                shapes_of_values.append(numpy.broadcast_shapes(*operands))
            except ValueError as error:
                raise Unschedulable(str(error)) from error
            continue
        (shape,) = operands
        n = len(shape) if step.reduction.axes is None else step.reduction.axes
        if n > len(shape) or (n == len(shape) and step.kernel is not numpy.add):
            raise Unschedulable("a maximum of everything, or more axes than there are")
        shapes_of_values.append((*shape[: len(shape) - n], *(1,) * (n if step.reduction.keepdims else 0)))
    return shapes_of_values


def _one_stride(whole: tuple[int, ...], shape: tuple[int, ...], strides: tuple[int, ...]) -> int | None:
    """The stride that steps through several axes as through one, None if there is none."""
    stride, expected = 0, None
    for n, k, step in reversed(list(zip(whole, shape, strides, strict=True))):
        if n == 1:
            continue
        step = 0 if k == 1 else step
        if expected is None:
            stride = step
        elif step != expected:
            return None
        expected = step * n
    return stride
