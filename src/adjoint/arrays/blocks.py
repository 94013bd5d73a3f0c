"""Runs a few steps of arithmetic over large arrays block by block, in two threads: a `Machine`.

Each step is an inner loop of a ufunc of NumPy, the very one that NumPy itself would call on a whole array. Here it is
called on a block at a time, and all steps are run on one block before the next one is taken up: so intermediate values
stay in the processor's cache and never become arrays. The loops need no Python, so the blocks are dealt out to several
threads.

Arrays are seen as rows and columns. Steps work on each element (ways EACH), on one number for each row (PER_ROW), or
reduce a row (ROW_SUM, ROW_FOLD) or everything (TOTAL).

Which steps to run is `fusion.py`'s business. There is no uncompiled form; fusion then does without.
"""

try:
    import cython

    compiled = cython.compiled
except ModuleNotFoundError:
    compiled = False

import os

from adjoint.arrays.forks import renewed_in_child

#: Ways of a step; the same numbers as in the compiled part.
EACH, PER_ROW, ROW_SUM, ROW_FOLD, TOTAL = range(5)

#: Loops that are not a ufunc's: selections among elements of 1, 4, 8 bytes; truth values as numbers of 4, 8 bytes.
OWN_LOOPS = {("where", 1): 0, ("where", 4): 1, ("where", 8): 2, ("number", 4): 3, ("number", 8): 4}

#: How many steps and registers a machine has at most.
MOST_STEPS, MOST_REGISTERS = 64, 96

_MOST_THREADS = 8
_threads = 1


def usable_processors() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def get_num_threads() -> int:
    """How many threads work on one large array at most."""
    return _threads


def set_num_threads(n: int) -> None:
    """Set how many threads work on one large array at most, from 1 to 8."""
    global _threads
    if not 1 <= n <= _MOST_THREADS:
        raise ValueError(f"set_num_threads(): expected a number from 1 to {_MOST_THREADS}, got {n}")
    _threads = n


if compiled:

    def n_helpers() -> int:
        """How many threads were started so far to help with large arrays."""
        return adj_n_workers

    def flags() -> dict:
        """C's numbers for what NumPy can warn of."""
        return {"divide": FE_DIVBYZERO, "over": FE_OVERFLOW, "under": FE_UNDERFLOW, "invalid": FE_INVALID}

    @renewed_in_child
    def forget_workers():
        """Threads are not inherited, and machines that they used are free."""
        adj_forget_workers()

    _threads = min(_MOST_THREADS, usable_processors())

    def share(work, job, threads):
        """work(job), a C function, in this thread and at the same time in others, if they are not at work already."""
        helpers = adj_claim_helpers(threads - 1)
        with cython.nogil:
            adj_run_job(work, job, helpers)
        return 0

    @cython.final
    @cython.cclass
    class Machine:
        """Steps and where their registers lie.

        steps: (way, ufunc and the place of the loop among its types, or a loop of our own and None, registers), where
        the last register is that of the result. scratch: the offset of each register in a thread's own memory, None
        for those in arrays. strides: of rows and columns, for those in scratch. block, group: how many columns, and
        rows, are worked on at once; with several rows a block has all columns.
        """

        def __init__(self, steps, scratch, strides, n_bytes, block, group, total_size):
            self.n_steps = len(steps)
            self.n_registers = len(scratch)
            for k, (way, loop, place, registers) in enumerate(steps):
                if place is None:
                    adj_set_own_loop(cython.address(self.steps[k]), loop)
                else:
                    adj_set_loop(cython.address(self.steps[k]), loop, place)
                self.steps[k].way = way
                self.steps[k].n_inputs = len(registers) - 1
                for i, register in enumerate(registers):
                    self.steps[k].registers[i] = register
            for k, (offset, stride) in enumerate(zip(scratch, strides)):
                self.registers[k].base = cython.NULL
                self.registers[k].row, self.registers[k].column = stride
                self.registers[k].offset = 0 if offset is None else offset
            self.scratch = n_bytes
            self.block = block
            self.group = group
            self.total_size = total_size
            self.in_use = 0

        def run(self, places, n_rows, n_columns, totals, threads):
            """Run on arrays, given as (register, array, stride of rows, stride of columns); returns what was raised.

            That is the or of C's FE_ constants; MemoryError if there was no memory for the blocks. The machine itself
            notes where arrays lie, so it is not to be run again before it is done: -2 says that another thread has it.
            """
            if self.in_use == adj_process:
                return -2
            for register, array, row, column in places:
                self.registers[register].base = adj_data(array)
                self.registers[register].row = row
                self.registers[register].column = column
            job.n_steps = self.n_steps
            job.flags = 0
            job.steps = self.steps
            job.registers = self.registers
            job.n_rows, job.n_columns, job.scratch = n_rows, n_columns, self.scratch
            job.block, job.group = self.block, self.group
            job.totals = cython.NULL if totals is None else adj_data(totals)
            job.total_size = self.total_size
            job.next = 0
            # pieces of 8 blocks, so that a thread that is interrupted does fewer of them
            piece = 8 * self.block if n_rows == 1 else 8 * self.group
            n_pieces = ((n_columns if n_rows == 1 else n_rows) + piece - 1) // piece
            job.piece, job.n_pieces = piece, n_pieces
            self.in_use = adj_process
            share(adj_work, cython.address(job), threads if n_pieces > 1 else 1)
            self.in_use = 0
            if job.flags & (1 << 30):
                raise MemoryError("no memory for the blocks at work")
            return job.flags
