"""The machine in C that runs programs (`machine.h`), as Python sees it. In plain Python there is none.

`Elementwise` runs an elementwise program on arrays of any shape that lie in memory as rows and columns do. `Machine`
runs a schedule for fixed shapes. Both share the work on large arrays among several threads.
"""

try:
    import cython

    compiled = cython.compiled
except ModuleNotFoundError:
    compiled = False

import numpy

from adjoint.runtime import crossovers
from adjoint.runtime.threads import get_num_threads

from .form import CAST, COPY, NARROW, WHERE, WIDEN

#: The operand of a step; the same numbers as in machine.h.
EACH, PER_ROW, ROW_SUM, ROW_FOLD, TOTAL, EACH_ALONG_ANY = range(6)
#: The loops that are no ufunc's, by kernel and size of the result's elements.
OWN_LOOPS = {(WHERE, 1): 0, (WHERE, 4): 1, (WHERE, 8): 2, (CAST, 4): 3, (CAST, 8): 4, (WIDEN, 8): 10, (NARROW, 4): 11}
OWN_LOOPS |= {(COPY, size): 5 + k for k, size in enumerate((1, 2, 4, 8, 16))}

_ndarray = numpy.ndarray

MOST_INPUTS, MOST_STEPS, MOST_REGISTERS, TILE = 8, 64, 96, 2048


def would_tell(flags):
    """True if NumPy would warn of one of these floating point errors, or raise."""
    if not compiled:
        return False
    state = numpy.geterr()
    bits = {"divide": FE_DIVBYZERO, "over": FE_OVERFLOW, "under": FE_UNDERFLOW, "invalid": FE_INVALID}
    return any([flags & bits[name] and how != "ignore" for name, how in state.items()])


if compiled:
    adj_import_ufuncs()
    MOST_INPUTS, MOST_STEPS, MOST_REGISTERS, TILE = ADJ_MOST_INPUTS, ADJ_MOST_STEPS, ADJ_MOST_REGISTERS, ADJ_TILE
    _UNLOCKED, _THREADED, _LARGE = crossovers.UNLOCKED, crossovers.THREADED, crossovers.KEPT_MEMORY

    def set_step(step, way, loop, position, registers):
        """Fill a step: a ufunc and the place of its loop, or the number of a loop of our own and None."""
        if position is None:
            adj_set_own_loop(step, loop)
        elif not adj_set_loop(step, loop, position):
            raise ValueError(f"{loop.__name__} has no inner loop at {position}")
        step.way = way
        step.n_operands = len(registers) - 1
        for i, register in enumerate(registers):
            step.registers[i] = register
        return 0

    @cython.final
    @cython.cclass
    class Elementwise:
        """An elementwise program: steps on inputs and constants, of which the last one makes the result.

        inputs: the types of the inputs. constants: types and numbers. dtype: the type of the result. steps: (loop,
        place, registers, size of the result's elements, slot of the result or None); `set_step` says what the first
        three are. n_slots: how many intermediate values are alive at once. cost: the time for one element, in
        additions. parameters: what the function was traced with, the type for each array.

        Raises ValueError for a ufunc that has no inner loop for these types.
        """

        def __init__(self, inputs, constants, dtype, steps, n_slots, cost):
            kind = numpy.dtype(dtype)
            self.cost = cost
            self.code.n_inputs, self.code.n_constants, self.code.n_steps = len(inputs), len(constants), len(steps)
            self.code.n_slots, self.code.type_num, self.code.size = n_slots, kind.num, kind.itemsize
            adj_make_elementwise(cython.address(self.code))
            for k, char in enumerate(inputs):
                self.code.input_types[k] = numpy.dtype(char).num
            for k, (char, number) in enumerate(constants):
                adj_set_constant(cython.address(self.code), k, numpy.dtype(char).itemsize, number)
            for k, (loop, position, registers, size, slot) in enumerate(steps):
                set_step(cython.address(self.code.steps[k]), EACH, loop, position, registers)
                adj_set_result(cython.address(self.code), k, size, 0 if slot is None else slot)

        def __dealloc__(self):
            adj_free_elementwise(cython.address(self.code))

        def one(self, x, quiet):
            """The result for one array, or None where NumPy has to compute it."""
            operands: cython.pointer(PyObject) = cython.cast(cython.pointer(PyObject), x)
            return run_elementwise(self, cython.address(operands), quiet, False)

        def two(self, x, y, quiet, flat_only):
            """The result for two arrays, or an array and a number; with `flat_only` of one shape."""
            operands: (cython.pointer(PyObject))[2]
            operands[0] = cython.cast(cython.pointer(PyObject), x)
            operands[1] = cython.cast(cython.pointer(PyObject), y)
            return run_elementwise(self, operands, quiet, flat_only)

        def several(self, inputs: list, quiet, flat_only):
            """The result for as many arrays and numbers as there are inputs."""
            if len(inputs) != self.code.n_inputs:
                raise ValueError(f"a program of {self.code.n_inputs} inputs cannot run on {len(inputs)}")
            return run_elementwise(self, adj_items(inputs), quiet, flat_only)

        def fits(self, values: list):
            """True for arrays where `parameters` has their type, and for the very objects that it has besides."""
            n: cython.Py_ssize_t = len(values)
            k: cython.Py_ssize_t
            if n != len(self.parameters):
                return False
            for k in range(n):
                value = values[k]
                if (_ndarray if type(value) is _ndarray else value) is not self.parameters[k]:
                    return False
            return True

        def takes_two(self):
            """True if there are two inputs."""
            return self.code.n_inputs == 2

    def run_elementwise(program, operands, quiet, flat_only):
        """Run an elementwise program; `quiet`: whatever floating point errors there are.

        None where NumPy has to compute it: for arrays of another layout, and where NumPy would report an error.
        """
        job: adj_job
        registers: adj_register[96]
        numbers: cython.double[8]
        created: cython.pointer(PyObject) = cython.NULL
        if not adj_bind(
            cython.address(program.code), operands, cython.address(job), registers, numbers, cython.address(created),
            new_kept_array, _LARGE, flat_only,
        ):  # fmt: skip
            return None
        result = cython.cast(object, created)
        release(created)
        work: cython.Py_ssize_t = job.n_rows * job.n_columns * program.cost
        if work < _UNLOCKED and job.scratch <= ADJ_STACK_SCRATCH:
            if work:
                adj_work_here(cython.address(job), quiet)
        else:
            threads: cython.int
            threads = get_num_threads() if work >= _THREADED and job.n_pieces > 1 else 1
            share(adj_work, cython.address(job), threads)
            if job.flags & ADJ_NO_MEMORY:
                raise MemoryError("no memory for the tiles at work")
        if job.flags and not quiet and would_tell(job.flags):
            return None
        return result

    @cython.final
    @cython.cclass
    class Machine:
        """Steps and where their registers lie, for arrays seen as rows and columns.

        steps: (way, loop, position, registers), where the last register is that of the result; `set_step` explains the
        others. scratch: the offset of each register in a thread's own memory, None for those in arrays. strides:
        of rows and columns, for those in scratch. tile, group: how many columns, and rows, are worked on together; with
        several rows a tile has all columns.
        """

        def __init__(self, steps, scratch, strides, n_bytes, tile, group, total_size):
            self.n_steps = len(steps)
            self.n_registers = len(scratch)
            for k, (way, loop, position, registers) in enumerate(steps):
                set_step(cython.address(self.steps[k]), way, loop, position, registers)
            for k, (offset, stride) in enumerate(zip(scratch, strides)):
                self.registers[k].base = cython.NULL
                self.registers[k].row, self.registers[k].column = stride
                self.registers[k].offset = 0 if offset is None else offset
            self.scratch = n_bytes
            self.tile = tile
            self.group = group
            self.total_size = total_size

        def run(self, addresses, n_rows, n_columns, totals, threads):
            """Run on arrays, given as (register, array, stride of rows, stride of columns).

            Returns the floating point errors that were raised, an or of C's FE_ constants.
            """
            for k in range(self.n_registers):
                registers[k] = self.registers[k]
            for register, array, row, column in addresses:
                registers[register].base = adj_bytes(array)
                registers[register].row = row
                registers[register].column = column
            job.n_steps = self.n_steps
            job.steps = self.steps
            job.registers = registers
            job.n_rows, job.n_columns, job.scratch = n_rows, n_columns, self.scratch
            job.tile, job.group, job.flags = self.tile, self.group, 0
            job.totals = cython.NULL if totals is None else adj_bytes(totals)
            job.total_size = self.total_size
            adj_set_pieces(cython.address(job), ADJ_TILES)
            share(adj_work, cython.address(job), threads if job.n_pieces > 1 else 1)
            if job.flags & ADJ_NO_MEMORY:
                raise MemoryError("no memory for the tiles at work")
            return job.flags
