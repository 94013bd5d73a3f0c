"""Runs a recorded program: regions of steps tile by tile in C, and between them functions of NumPy's arrays.

Memory is a list of blocks: arrays of the caller, constants, results, and memory for the values between steps. A
register of a region lies in a block or in the scratch memory of a tile. The plain form is `plain_region.py`.
"""

try:
    import cython

    compiled = cython.compiled
except ModuleNotFoundError:
    compiled = False

import numpy

from adjoint.program.plain_region import CheckFailed
from adjoint.runtime import crossovers
from adjoint.runtime.threads import get_num_threads

if compiled:
    adj_import_ufuncs()
    _ndarray = numpy.ndarray
    _UNLOCKED, _THREADED = crossovers.UNLOCKED, crossovers.THREADED

    def byte_bounds(array):
        """The first address of an array's elements and the address after the last."""
        low: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, adj_bytes(array))
        high: cython.Py_ssize_t = low
        for n, stride in zip(array.shape, array.strides):
            if n == 0:
                return low, low
            if stride < 0:
                low += (n - 1) * stride
            else:
                high += (n - 1) * stride
        return low, high + array.itemsize

    @cython.final
    @cython.cclass
    class Frame:
        """The memory blocks of one run: the arrays, and the addresses of their first elements."""

        def __init__(self, n: int) -> None:
            self.arrays = [None] * n
            self.blocks = cython.cast(cython.pp_char, PyMem_Calloc(n + 1, cython.sizeof(cython.p_char)))
            if self.blocks is cython.NULL:
                raise MemoryError("no memory for the blocks of a program")

        def __dealloc__(self):
            PyMem_Free(self.blocks)

        def set(self, number, array, offset):
            """Let a block be the memory of an array, whose first element lies at an offset in it."""
            self.arrays[number] = array
            self.blocks[number] = adj_bytes(array) - cython.cast(cython.Py_ssize_t, offset)

        def drop(self, numbers):
            """Let go of the arrays of some blocks."""
            for number in numbers:
                self.arrays[number] = None

    @cython.final
    @cython.cclass
    class BlockView:
        """An array in a block: an offset in bytes, a dtype, a shape and strides."""

        def __init__(self, number, offset, dtype, shape, strides):
            self.number, self.offset = number, offset
            self.dtype = dtype
            self.ndim = len(shape)
            for k, (n, stride) in enumerate(zip(shape, strides)):
                self.shape[k], self.strides[k] = n, stride

        def layout(self):
            """The shape and the strides."""
            ndim = self.ndim
            return tuple([self.shape[k] for k in range(ndim)]), tuple([self.strides[k] for k in range(ndim)])

        def address(self, frame: Frame):
            """The address of the first element in the memory of a frame."""
            return frame.blocks[self.number] + self.offset

        def of(self, frame: Frame):
            """The array in the memory of a frame."""
            owner = frame.arrays[self.number]
            return adj_view_of(
                owner, frame.blocks[self.number] + self.offset, self.dtype, self.ndim, self.shape, self.strides
            )

    @cython.final
    @cython.cclass
    class Region:
        """Steps on arrays seen as rows and columns, inside of further axes.

        steps: (way, loop, position, registers), as `set_step` of machine.py takes them. registers: for each the block
        (None: scratch memory), the offset in it, the strides of rows, columns and the outer axes. outer: the lengths of
        the outer axes. tile, group: how many columns, and rows, are worked on together. cost: the time of all steps for
        one element, in additions. in_one_piece: one thread runs all tiles in their order.
        """

        def __init__(self, steps, registers, outer, n_rows, n_columns, tile, group, n_bytes, cost, in_one_piece):
            region = cython.address(self.code)
            adj_make_region(region, len(steps), len(registers), len(outer))
            for k, (way, loop, position, operands) in enumerate(steps):
                set_step(cython.address(region.steps[k]), way, loop, position, operands)
            for k, (block, offset, row, column, others) in enumerate(registers):
                region.sources[k] = -1 if block is None else block
                region.offsets[k] = 0 if block is None else offset
                region.registers[k].offset = offset if block is None else 0
                region.registers[k].row, region.registers[k].column = row, column
                for axis, stride in enumerate(others):
                    region.outer_strides[k * len(outer) + axis] = stride
            region.work = n_rows * n_columns * cost
            self.code.n_outer = len(outer)
            for axis, n in enumerate(outer):
                region.outer_shape[axis] = n
            job = cython.address(region.job)
            job.n_rows, job.n_columns, job.tile, job.group, job.scratch = n_rows, n_columns, tile, group, n_bytes
            adj_set_pieces(job, n_rows + n_columns if in_one_piece else ADJ_TILES)

        def __dealloc__(self):
            adj_free_region(cython.address(self.code))

        def run(self, frame: Frame):
            """Run the steps on the memory of a frame. Returns the floating point errors, an or of C's FE_ constants."""
            region: cython.pointer(adj_region) = cython.address(self.code)
            adj_place_registers(region, frame.blocks)
            if not region.n_outer:
                return self.work()
            flags: cython.int = 0
            for k in range(region.n_outer):
                at[k] = 0
            while True:
                flags |= self.work()
                if not adj_next_place(region, at):
                    return flags

        def work(self):
            """Run the steps at one place along the outer axes."""
            region: cython.pointer(adj_region) = cython.address(self.code)
            job: cython.pointer(adj_job) = cython.address(region.job)
            job.flags = 0
            job.next = 0
            if region.work < _UNLOCKED and job.scratch <= ADJ_STACK_SCRATCH:
                adj_work_here(job, False)
                return job.flags
            threads: cython.int = 1
            if region.work >= _THREADED and job.n_pieces > 1:
                threads = get_num_threads()
            share(adj_work, job, threads)
            if job.flags & ADJ_NO_MEMORY:
                raise MemoryError("no memory for the tiles at work")
            return job.flags

    @cython.final
    @cython.cclass
    class Product:
        """A product of matrices or vectors, between regions. dtype: the common dtype; left, right, out: the arrays."""

        def __init__(self, left: BlockView, right: BlockView, out: BlockView):
            self.code = ReadyProduct(out.dtype, left.layout(), right.layout(), out.layout())
            self.left, self.right, self.out = left, right, out

        def run(self, frame: Frame):
            """Multiply."""
            return self.code.run(self.left.address(frame), self.right.address(frame), self.out.address(frame))

    @cython.final
    @cython.cclass
    class Keeper:
        """Stores the result of a function in a block, at an offset. view: the array there."""

        def __init__(self, view: BlockView, n_bytes):
            self.view, self.n_bytes = view, n_bytes
            self.shape, self.strides = view.layout()

        def keep(self, frame: Frame, result):
            """Keep an array, or a number; raises CheckFailed for one of another shape or dtype than recorded."""
            view: BlockView = self.view
            if type(result) is not _ndarray:
                result = numpy.asarray(result)
            if not adj_has_layout(result, self.shape, view.dtype):
                raise CheckFailed
            if adj_has_strides(result, self.strides):
                return frame.set(view.number, result, view.offset)
            frame.set(view.number, numpy.empty(self.n_bytes, numpy.uint8), 0)
            laid_out = view.of(frame)
            laid_out[...] = result
            return frame.set(view.number, laid_out, view.offset)

    @cython.final
    @cython.cclass
    class Macro:
        """A call of a function, between regions.

        arguments: for each argument an object whose method `of` returns its value in a frame; keywords: such objects by
        name. keeper: an object whose method `keep` takes the frame and the result, or None.
        """

        def __init__(self, function, arguments, keywords, keeper):
            self.function, self.arguments, self.keywords, self.keeper = function, arguments, keywords, keeper

        def run(self, frame: Frame):
            """Call the function and store its result."""
            values: list = [
                cython.cast(BlockView, each).of(frame) if type(each) is BlockView else each.of(frame)
                for each in self.arguments
            ]
            if self.keywords:
                result = self.function(*values, **{name: each.of(frame) for name, each in self.keywords.items()})
            else:
                result = self.function(*values)
            if type(self.keeper) is Keeper:
                cython.cast(Keeper, self.keeper).keep(frame, result)
            elif self.keeper is not None:
                self.keeper.keep(frame, result)
            return 0

    @cython.final
    @cython.cclass
    class Runner:
        """A program in memory of its own; one thread runs it at a time.

        instructions: in order, each with a method `run`, most of them a `Region`, a `Product` or a `Macro`. entries:
        for each array of the caller the block, and the offset in it. fresh: the blocks that get new memory at each
        run, with the functions that make it. results: for each the block, and a `BlockView`, or None where it is the
        block's array itself. passing: the blocks whose arrays are let go of afterwards.
        """

        def __init__(self, frame: Frame, instructions, entries, fresh, results, passing):
            self.frame, self.instructions = frame, instructions
            self.entries, self.fresh, self.results, self.passing = entries, fresh, results, passing

        def run(self, externals: list):
            """The results, for the arrays of the caller."""
            frame: Frame = self.frame
            results: list = []
            try:
                for (block, offset), array in zip(self.entries, externals):
                    frame.set(block, array, offset)
                for block, maker in self.fresh:
                    frame.set(block, maker(), 0)
                for instruction in self.instructions:
                    kind = type(instruction)
                    if kind is Region:
                        cython.cast(Region, instruction).run(frame)
                    elif kind is Product:
                        cython.cast(Product, instruction).run(frame)
                    elif kind is Macro:
                        cython.cast(Macro, instruction).run(frame)
                    else:
                        instruction.run(frame)
                for block, view in self.results:
                    results.append(frame.arrays[block] if view is None else cython.cast(BlockView, view).of(frame))
                return results
            finally:
                frame.drop(self.passing)
