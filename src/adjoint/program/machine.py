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
_DOUBLE = numpy.dtype(float)

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
        """An elementwise program: steps on inputs and constants; the last step makes the result.

        inputs: the types of the inputs. constants: types and numbers. dtype: the type of the result. steps: (loop,
        place, registers, size of the result's elements, slot of the result or None); `set_step` explains the first
        three. n_slots: the number of intermediate values alive at once. cost: the time for one element, in additions.
        parameters: the arguments of the trace, with a type for each array.

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
        """An executable `Schedule`: steps on registers, for arrays viewed as rows and columns.

        steps: (way, loop, position, registers), explained in `set_step`; the last register holds the result. registers:
        the schedule's `Registers`, which lie in a thread's scratch memory or in arrays.
        """

        def __init__(self, schedule, steps, registers):
            self.n_steps, self.n_registers, self.scratch = len(steps), len(registers.scratch), registers.n_bytes
            self.n_rows, self.n_columns = schedule.n_rows, schedule.n_columns
            self.tile, self.group, self.total_size = schedule.tile, schedule.group, schedule.total_size
            self.is_threaded = schedule.is_threaded
            for k, (way, loop, position, places) in enumerate(steps):
                set_step(cython.address(self.steps[k]), way, loop, position, places)
                if way == TOTAL:
                    self.total_step = k
            for k, (offset, stride) in enumerate(zip(registers.scratch, registers.strides)):
                self.registers[k].base = cython.NULL
                self.registers[k].row, self.registers[k].column = stride
                self.registers[k].offset = 0 if offset is None else offset
            for register, constant in schedule.fixed:
                self.registers[register].base = adj_bytes(constant)
                self.registers[register].row = self.registers[register].column = 0
            self.n_places = len(schedule.moving)
            for k, (register, value, row, column) in enumerate(schedule.moving):
                self.places[k].where, self.places[k].value = register, value
                self.places[k].row, self.places[k].column = row, column
            self.rest = schedule.constants + [None] * len(schedule.steps)
            self.before, self.after = schedule.apart(schedule.before), schedule.apart(schedule.after)
            self.new = [(value, numpy.dtype(schedule.dtypes[value]), schedule.shapes[value])
                        for value in schedule.outputs + schedule.totals]  # fmt: skip
            self.total = schedule.totals[0] if schedule.totals else -1
            self.n_totals = schedule.n_rows * -(-schedule.n_columns // schedule.tile)
            self.results = schedule.form.results
            self.strides_of = schedule.strides

        def run(self, arrays: list, quiet):
            """The results for arrays of the schedule's shapes.

            None where NumPy has to compute them: for arrays that do not lie in rows and columns, and where NumPy would
            report a floating point error; `quiet`: whatever errors there are.
            """
            totals: cython.double[32]
            memory: cython.p_char = cython.cast(cython.p_char, totals)
            values: list = arrays + self.rest
            for step in self.before:
                run_apart(step, values)
            for value, dtype, shape in self.new:
                values[value] = adj_new_of(dtype, shape)
            if not self.place(registers, values):
                return None
            if self.total >= 0 and self.n_totals > 32:
                buffer = adj_new_of(_DOUBLE, (self.n_totals,))
                memory = adj_bytes(buffer)
            job.n_steps = self.n_steps
            job.steps = self.steps
            job.registers = registers
            job.n_rows, job.n_columns, job.scratch = self.n_rows, self.n_columns, self.scratch
            job.tile, job.group, job.flags = self.tile, self.group, 0
            job.totals, job.total_size = memory, self.total_size
            adj_set_pieces(cython.address(job), ADJ_TILES)
            share(adj_work, cython.address(job), get_num_threads() if self.is_threaded and job.n_pieces > 1 else 1)
            if job.flags & ADJ_NO_MEMORY:
                raise MemoryError("no memory for the tiles at work")
            if job.flags and not quiet and would_tell(job.flags):
                return None
            if self.total >= 0:
                adj_add_totals(cython.address(job), self.total_step, self.n_totals, adj_bytes(values[self.total]))
            for step in self.after:
                run_apart(step, values)
            if type(self.results) is tuple:
                # another name than above, where it is an int of C: a result may be None
                return tuple([None if result is None else values[result] for result in self.results])
            return values[self.results]

        def place(self, registers, values: list):
            """Set the registers that lie in arrays; False for an array that does not lie in rows and columns."""
            k: cython.Py_ssize_t
            for k in range(self.n_registers):
                registers[k] = self.registers[k]
            for k in range(self.n_places):
                register: cython.pointer(adj_register) = cython.address(registers[self.places[k].where])
                array = values[self.places[k].value]
                register.base = adj_bytes(array)
                register.row, register.column = self.places[k].row, self.places[k].column
                if not adj_is_plain(array):
                    strides = self.strides_of(array)
                    if strides is None:
                        return False
                    register.row, register.column = strides
            return True

    def run_apart(step, values: list):
        """Run a step of `Schedule.apart`, and put its result among the values."""
        value, kernel, operands, dtype, shape = step
        arguments: list = [values[operand] for operand in operands]
        if dtype is not None:
            arguments.append(adj_new_of(dtype, shape))
        values[value] = kernel(*arguments)
        return 0
