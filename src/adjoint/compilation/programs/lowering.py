"""From the steps of a recording to instructions on views of buffers.

Steps that only make views vanish. A trace (program/trace.py) turns kernels of operations into their ufuncs; all other
functions stay calls. Then constants are folded, equal instructions merge, copies become names for the same memory, and
dead instructions are dropped.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from adjoint.arrays.dtypes import dtype as DType
from adjoint.arrays.kernels.products_and_sums import MATRICES, MATRIX_VECTOR, PRODUCT, VECTORS, can_be_ready
from adjoint.arrays.libraries.numpy_namespace import fast_sum, select
from adjoint.compilation.programs.passes.part_sums import PartSums
from adjoint.compilation.programs.views import CONSTANT, EXTERNAL, VALUE, Buffer, Memory, View
from adjoint.compilation.recordings.outlines import is_outline, root_of, with_arrays
from adjoint.compilation.recordings.recorded_array import Method, RuleKernel
from adjoint.compilation.recordings.recording import Look, Recording, Step, arrays_in, gather, name_of
from adjoint.program.form import BOOL, CAST, COPY, FLOATS, WHERE, Form
from adjoint.program.schedule import Unschedulable, shapes_of
from adjoint.program.trace import MAX_OPERANDS, NOTHING, RANKS, SHAPES, Looked, Untraceable, loop_index, trace
from adjoint.runtime.caches import memoize

_ndarray = numpy.ndarray
#: Operations and methods whose result is a copy of their first argument.
_COPYING_OPERATIONS = frozenset(("clone", "clone_with_strides"))
_COPYING_METHODS = frozenset(("copy", "astype"))
#: Functions whose result has one value everywhere.
_FILLED = {"zeros_like": 0, "zeros": 0, "ones_like": 1, "ones": 1, "new_zeros": 0}
#: Functions that select by truth values.
_SELECTIONS = (numpy.where, select)
#: The reductions that become instructions, and NumPy's functions for them.
_REDUCTIONS = {numpy.add, numpy.maximum, numpy.minimum}
_REDUCING = {
    fast_sum: numpy.add, numpy.sum: numpy.add, numpy.max: numpy.maximum, numpy.amax: numpy.maximum,
    numpy.min: numpy.minimum, numpy.amin: numpy.minimum,
}  # fmt: skip
#: Constants of at most so many elements are searched for one value everywhere.
_SEARCHED = 4096


class Number:
    """A constant of one value in a type."""

    __slots__ = ("_key", "dtype", "value")

    def __init__(self, value: Any, dtype: Any) -> None:
        self.dtype = numpy.dtype(dtype)
        self.value = self.dtype.type(value)
        self._key: Any = None

    @property
    def key(self) -> Any:
        """Equal for equal bits."""
        if self._key is None:
            self._key = self.dtype.char, self.value.tobytes()
        return self._key


class Elementwise:
    """An instruction: a ufunc, or a kernel of the machine's own, on views that are broadcast against `out`.

    waits: it runs after the instructions before it, also where it needs none of them.
    """

    __slots__ = ("kernel", "line", "operands", "out", "reads", "waits", "writes")

    def __init__(self, kernel: Any, operands: list[Any], out: View) -> None:
        self.kernel, self.operands, self.out = kernel, operands, out
        #: The views that it reads, and the view that it writes.
        self.reads = [operand for operand in operands if type(operand) is View]
        self.writes = [out]
        self.waits = False

    @property
    def name(self) -> str:
        """The name of the kernel."""
        return self.kernel if isinstance(self.kernel, str) else str(self.kernel.__name__)


class Reduce(Elementwise):
    """An instruction: a ufunc that reduces some axes of its one operand.

    axes: the axes. wide: the result as a view of the shape of the operand, with strides of 0 along these axes.
    """

    __slots__ = ("axes",)

    def __init__(self, kernel: Any, operands: list[Any], out: View, axes: tuple[int, ...]) -> None:
        super().__init__(kernel, operands, out)
        self.axes = axes

    @property
    def name(self) -> str:
        """The name of the reduction."""
        return f"{self.kernel.__name__}.reduce"

    @property
    def wide(self) -> View:
        """The result, broadcast to the shape of the operand."""
        (source,) = self.operands
        out_strides = self.out.strides
        if len(out_strides) < len(source.shape):
            steps = iter(out_strides)
            out_strides = tuple([0 if axis in self.axes else next(steps) for axis in range(len(source.shape))])
        strides = tuple([0 if axis in self.axes else step for axis, step in enumerate(out_strides)])
        return self.out.replace(shape=source.shape, strides=strides)


class Call:
    """An instruction: a function of NumPy's arrays.

    args, kwargs: the arguments, with views instead of arrays. results: in the structure of the result, for each array
    the view that stores it, or None if it lies in memory of an argument. targets: views that it writes into.
    waits: as in `Elementwise`.
    """

    __slots__ = ("args", "function", "kwargs", "reads", "results", "targets", "waits", "writes")

    def __init__(self, function: Any, args: Any, kwargs: Any, results: Any, targets: list[View]) -> None:
        self.function, self.args, self.kwargs, self.results, self.targets = function, args, kwargs, results, targets
        #: The views that it reads, and the views that it writes.
        self.reads = list(leaves((args, kwargs)))
        self.writes = [*leaves(results), *targets]
        self.waits = False

    @property
    def draws(self) -> bool:
        """True if it draws random numbers."""
        return bool(getattr(self.function, "draws", False))

    @property
    def name(self) -> str:
        """The name of the function."""
        return name_of(self.function)


class Check(Call):
    """An instruction: a function of arrays whose result must be the recorded one."""

    __slots__ = ("expected", "function_line", "line")
    expected: Any
    line: Any
    function_line: int | None


class Product(Call):
    """An instruction: the product of two arrays of one or two axes, into memory that the program plans."""

    __slots__ = ()


def leaves(tree: Any) -> list[View]:
    """The views in a tree of arguments."""
    return gather(tree, View, [])


def with_views(instruction: Any, function: Callable[[View], View]) -> Any:
    """An instruction with other views."""
    changed: Any
    if isinstance(instruction, Elementwise):
        operands = [function(operand) if isinstance(operand, View) else operand for operand in instruction.operands]
        axes = (instruction.axes,) if isinstance(instruction, Reduce) else ()
        changed = type(instruction)(instruction.kernel, operands, function(instruction.out), *axes)
        changed.waits = instruction.waits
        return changed
    changed = type(instruction)(
        instruction.function,
        map_views(instruction.args, function),
        map_views(instruction.kwargs, function),
        map_views(instruction.results, function),
        [function(view) for view in instruction.targets],
    )
    if isinstance(instruction, Check):
        changed.expected, changed.line, changed.function_line = (
            instruction.expected,
            instruction.line,
            instruction.function_line,
        )
    changed.waits = instruction.waits
    return changed


def map_views(tree: Any, function: Callable[[View], View]) -> Any:
    """A tree with its views replaced."""
    if isinstance(tree, View):
        return function(tree)
    if isinstance(tree, (tuple, list)):
        return type(tree)([map_views(member, function) for member in tree])
    if isinstance(tree, dict):
        return {key: map_views(member, function) for key, member in tree.items()}
    if isinstance(tree, slice):
        return slice(*[map_views(part, function) for part in (tree.start, tree.stop, tree.step)])
    return tree


class Lowering:
    """The instructions of a recording.

    externals: arrays of the caller that each call reads and writes in place. results: groups of new arrays, each group
    made together. constants: arrays of the caller with fixed values.
    """

    def __init__(
        self, recording: Recording, externals: list[Any], results: list[list[Any]], constants: list[Any]
    ) -> None:
        self.memory = Memory()
        self.externals = [self.memory.view(array, EXTERNAL) for array in externals]
        for view in self.externals:
            view.buffer.kind = EXTERNAL
        self.callers = {self.memory.view(array, CONSTANT).buffer.number for array in constants}
        self.originals = recording.originals
        self.instructions: list[Any] = []
        self._n_writes: dict[int, int] = {}
        #: How often steps and results read each buffer.
        self._n_reads: dict[int, int] = {}
        self._alias: dict[int, Buffer] = {}
        #: How many writes to each buffer are to come.
        self._coming: dict[int, int] = {}
        self._part_sums = PartSums(self._n_writes, self._n_reads, self._is_final)
        self._equal: dict[Any, View] = {}
        #: By buffer number, the region with a budget that filled the buffer.
        self.regions: dict[int, int] = {}
        self._region = -1
        has_regions = bool(recording.budgets)
        views = self._enter(recording)
        self._coming = self._n_writes.copy()
        for array in [array for group in results for array in group]:
            self._count_read(self.memory.view(array, CONSTANT))
        for k, (step, result) in enumerate(zip(recording.steps, views, strict=True)):
            if has_regions:
                self._region = recording.region_of(k)
            for view in [view for view, is_new in result if is_new] + [*map(self.memory.view, step.writes)]:
                self._coming[view.buffer.number] -= 1
            self._lower(step, result)
        for waiting in list(self._part_sums.waiting.values()):
            self._emit_due([waiting.plans[-1][2]])
        self.results = [self._results(group) for group in results]
        self._drop_dead()

    # buffers ----------------------------------------------------------------------------------------------------------

    def _enter(self, recording: Recording) -> list[list[tuple[View, bool]]]:
        """The views of all results, and how often each buffer is written."""
        views = []
        enter = self.memory.enter
        has_regions = bool(recording.budgets)
        for k, step in enumerate(recording.steps):
            target = step.args[0] if step.function is operator.setitem else None
            for array in step.arrays:
                view, _ = enter(array, CONSTANT)
                if array is not target:
                    self._count_read(view)
            result = step.result
            outputs = [enter(array, VALUE) for array in ((result,) if type(result) is _ndarray else arrays_in(result))]
            for view, is_new in outputs:
                if is_new:
                    self._n_writes[view.buffer.number] = 1
                    if has_regions:
                        self.regions[view.buffer.number] = recording.region_of(k)
            for array in step.writes:
                view = self.memory.view(array, CONSTANT)
                self._count(view)
                self._make_own(view.buffer)
            views.append(outputs)
        return views

    def _count(self, view: View) -> None:
        number = view.buffer.number
        self._n_writes[number] = self._n_writes.get(number, 0) + 1

    def _count_read(self, view: View) -> None:
        number = view.buffer.number
        self._n_reads[number] = self._n_reads.get(number, 0) + 1

    def _let_be(self, buffer: Buffer, other: Buffer) -> None:
        """Let a buffer be another name for one with the same values."""
        self._alias[buffer.number] = other
        self._n_reads[other.number] = self._n_reads.get(other.number, 0) + self._n_reads.get(buffer.number, 0)

    def _is_written_once(self, buffer: Buffer) -> bool:
        return buffer.kind == VALUE and self._n_writes.get(buffer.number, 0) <= 1

    def _is_steady(self, buffer: Buffer) -> bool:
        """True if the values in a buffer never change once they are there."""
        if buffer.kind == VALUE:
            return self._is_written_once(buffer)
        return self._n_writes.get(buffer.number, 0) == 0

    def _is_final(self, buffer: Buffer) -> bool:
        """True if the values that are in a buffer now never change."""
        return self._is_steady(buffer) or (buffer.kind == VALUE and self._coming.get(buffer.number) == 0)

    def view(self, array: Any) -> View:
        """An array as a view, in the buffer that has its values."""
        view = self.memory.views.get(id(array))
        if view is None:
            view = self.memory.enter(array, CONSTANT)[0]
        buffer = self._alias.get(view.buffer.number)
        return view if buffer is None else view.replace(buffer)

    def _results(self, arrays: list[Any]) -> list[View]:
        """Arrays made together, as views."""
        buffers = [self.memory.view(array, CONSTANT).buffer for array in arrays]
        # an array with its values in its own buffer keeps it, also if others have values there
        owners = {buffer.number: buffer for buffer in buffers if buffer.number not in self._alias}
        copies: dict[int, Buffer] = {}
        return [self._result(array, owners, copies) for array in arrays]

    def _result(self, array: Any, owners: dict[int, Buffer], copies: dict[int, Buffer]) -> View:
        """A result as a view; results without shared memory in the recording get separate memory.

        owners: by the number of a buffer with results, the buffer in the recording. copies: by the number of a
        constant, its copy.
        """
        recorded_view = self.memory.view(array, CONSTANT)
        view = self.resolve(recorded_view)
        if view.buffer.kind == CONSTANT and view.buffer.n_bytes and view.buffer.number not in self.callers:
            return self._own_copy(view, copies)
        if (
            view.buffer.kind != VALUE
            or owners.setdefault(view.buffer.number, recorded_view.buffer) is recorded_view.buffer
        ):
            return view
        source, target = [_flat(buffer, recorded_view.dtype) for buffer in (view.buffer, recorded_view.buffer)]
        self._alias.pop(recorded_view.buffer.number)
        self._emit(Elementwise(COPY, [source], target))
        return recorded_view

    def _own_copy(self, view: View, copies: dict[int, Buffer]) -> View:
        """A constant in memory that is filled anew at each call, since the caller may write to results."""
        buffer = view.buffer
        if buffer.number not in copies:
            # the caller has the array of the recorded call
            buffer.array = _memory(root_of(buffer.array)).copy()
            copy = whole_copy(view, self.memory)
            self._count(copy.out)
            self._emit(copy)
            copies[buffer.number] = copy.out.buffer
        return view.replace(buffer=copies[buffer.number])

    def resolve(self, view: View) -> View:
        """A view in the buffer that has its values."""
        buffer = self._alias.get(view.buffer.number)
        return view if buffer is None else view.replace(buffer)

    def new(self, shape: tuple[int, ...], dtype: Any) -> View:
        """A view of a new buffer for a value between steps."""
        view = self.memory.new(shape, dtype)
        self._n_writes[view.buffer.number] = 1
        self.regions[view.buffer.number] = self._region
        return view

    # steps ------------------------------------------------------------------------------------------------------------

    def _lower(self, step: Step, outputs: list[tuple[View, bool]]) -> None:
        if type(step) is Look:
            self._add_check(step)
            return
        if not step.writes:
            if not any(is_new for _, is_new in outputs) and not getattr(step.function, "draws", False):
                return
            if self._is_constant(step, outputs):
                for view, _ in outputs:
                    view.buffer.kind = CONSTANT
                    self._n_writes[view.buffer.number] = 0
                return
        if len(outputs) == 1 and isinstance(step.result, _ndarray) and self._lower_one(step, outputs[0][0]):
            return
        if step.writes and self._lower_write(step):
            return
        self._add_call(step, outputs)

    def _make_own(self, buffer: Buffer) -> None:
        """A constant that is written into: its memory is filled anew at each call, before all other instructions."""
        if buffer.kind != CONSTANT:
            return
        original = self.originals.get(id(buffer.array), buffer.array)
        buffer.kind = VALUE
        self._count(View(buffer, 0, (), (), None))
        source = self.memory.view(original.copy(), CONSTANT)
        array = buffer.array
        target = View(
            buffer, array.__array_interface__["data"][0] - buffer.address, array.shape, array.strides, array.dtype
        )
        self._emit(Elementwise(COPY, [source], target))

    def _is_constant(self, step: Step, outputs: list[tuple[View, bool]]) -> bool:
        """True if the results are the same at each call."""
        if getattr(step.function, "draws", False):
            return False
        for array in step.arrays:
            if self.view(array).buffer.kind != CONSTANT:
                if way_of(step.function) != FILL:
                    return False
                break
        buffers = [view.buffer for view, _ in outputs]
        return all(self._n_writes.get(b.number, 0) <= 1 and not is_outline(b.address) for b in buffers)

    def _lower_one(self, step: Step, out: View) -> bool:
        """The instructions of a step with one new array as its result; False if it stays a call."""
        function = step.function
        way = way_of(function)
        if way == COPY:
            return self._copy(self.view(step.args[0]), out)
        if way == FILL:
            self._add(COPY, [Number(_FILLED[step.name], out.dtype)], out)
            return True
        if way == PRODUCT_OF and is_product(step):
            views = [self.view(array) for array in step.args]
            self._emit(Product(numpy.matmul, tuple(views), {}, out, []))
            return True
        if isinstance(function, RuleKernel):
            return self._lower_kernel(step, out)
        if isinstance(function, numpy.ufunc) and not step.kwargs:
            return self._lower_ufunc(function, step.args, out)
        if way == WHERE and len(step.args) == 3 and not step.kwargs:
            return self._lower_selection(step.args, out)
        if way == CONCATENATE:
            return self._lower_concatenation(step, out)
        return self._lower_reduction(step, out)

    def _lower_selection(self, args: Any, out: View) -> bool:
        condition, *values = args
        if type(condition) is not _ndarray or condition.dtype.char != BOOL or out.dtype.char not in FLOATS:
            return False
        operands = [self._operand(condition, condition.dtype), *[self._operand(value, out.dtype) for value in values]]
        if any(operand is None for operand in operands) or any(part.dtype != out.dtype for part in operands[1:]):
            return False
        self._add(WHERE, operands, out)
        return True

    def _lower_concatenation(self, step: Step, out: View) -> bool:
        """Copies to the parts of the result."""
        parts = step.args[0]
        axis = step.args[1] if len(step.args) > 1 else step.kwargs.get("axis", 0)
        if len(step.args) > 2 or not set(step.kwargs) <= {"axis"} or axis is None:
            return False
        if any(type(part) is not _ndarray or part.dtype != out.dtype for part in parts):
            return False
        axis, start = axis % len(out.shape), 0
        self._n_writes[out.buffer.number] = len(parts)
        for part in parts:
            n = part.shape[axis]
            shape = (*out.shape[:axis], n, *out.shape[axis + 1 :])
            target = out.replace(offset=out.offset + start * out.strides[axis], shape=shape)
            self._add(COPY, [self._simple(self.view(part))], target)
            start += n
        return True

    def _lower_reduction(self, step: Step, out: View) -> bool:
        """A sum, maximum or minimum over axes, in the order of NumPy."""
        reduction = reduction_of(step)
        if reduction is None:
            return False
        ufunc, array, axes = reduction
        source = self.view(array)
        if source.dtype != out.dtype or source.dtype.char not in FLOATS or not array.size or not axes:
            return False
        steps = [abs(step) for n, step in zip(source.shape, source.strides, strict=True) if n > 1]
        if steps != sorted(steps, reverse=True) or not out.is_whole:
            return False  # NumPy goes through the elements in the order of memory
        whole = Reduce(ufunc, [source], out, axes)
        has_one = all(source.shape[axis] == 1 for axis in axes)
        self._emit(beginning_of(whole, True) if has_one else whole)
        return True

    def _lower_write(self, step: Step) -> bool:
        """A write into views: an assignment, or a ufunc with out=."""
        if step.function is operator.setitem:
            array, index, value = step.args
            target = array[index] if _is_basic(index) else None
            if type(target) is not _ndarray or not numpy.may_share_memory(target, array):
                return False
            out = self.view(target)
            source = self._operand(value, out.dtype)
            if source is None or (isinstance(source, View) and len(source.shape) > len(out.shape)):
                return False
            return self._copy(source, out)
        if isinstance(step.function, numpy.ufunc) and set(step.kwargs) == {"out"} and len(step.writes) == 1:
            return self._lower_ufunc(step.function, step.args, self.view(step.writes[0]))
        if step.function is numpy.copyto and len(step.args) == 2 and not step.kwargs:
            source = self._operand(step.args[1], step.args[0].dtype)
            return source is not None and self._copy(source, self.view(step.args[0]))
        return False

    def _operand(self, value: Any, dtype: Any) -> Any:
        """An argument as an operand of a type; None if it would be converted."""
        if type(value) is _ndarray:
            return self._simple(self.view(value))
        if isinstance(value, (bool, int, float)) and dtype.kind in "fbiu":
            try:
                return Number(value, dtype)
            except OverflowError:
                return None
        return None

    def _simple(self, view: View) -> Any:
        """A view, or the number that a constant is everywhere."""
        buffer = view.buffer
        if buffer.kind is not CONSTANT or not self._is_steady(buffer) or view.dtype.char not in (*FLOATS, BOOL):
            return view
        array = _array_of(view)
        if not array.size or (array.size > _SEARCHED and any(view.strides)):
            return view
        first = array.flat[0]
        if array.size == 1 or bool((array == first).all() and (numpy.signbit(array) == numpy.signbit(first)).all()):
            return Number(first, view.dtype)
        return view

    def _copy(self, source: Any, out: View) -> bool:
        """Copy a view: another name for the same memory where that cannot be seen."""
        if isinstance(source, View):
            if source.dtype != out.dtype and not _can_cast(source.dtype, out.dtype):
                return False
            source = self._simple(source)
        if (
            isinstance(source, View)
            and source.dtype == out.dtype
            and self._is_written_once(out.buffer)
            and self._is_steady(source.buffer)
            and source.shape == out.shape
            and source.is_whole
            and out.is_whole
            and (source.buffer.kind == VALUE)
        ):
            self._let_be(out.buffer, source.buffer)
            return True
        if isinstance(source, Number):
            source = Number(source.value, out.dtype)
        kernel = COPY
        if isinstance(source, View) and source.dtype != out.dtype:
            kernel = CAST
        self._add(kernel, [source], out)
        return True

    def _lower_ufunc(self, ufunc: Any, args: Any, out: View) -> bool:
        if ufunc.nout != 1 or ufunc.signature is not None or ufunc.nin > MAX_OPERANDS or len(args) != ufunc.nin:
            return False
        kinds = tuple([value.dtype if type(value) is _ndarray else type(value) for value in args])
        resolved = types_of(ufunc, kinds)
        if resolved is None or resolved[-1] != out.dtype:
            return False
        operands = []
        for value, dtype in zip(args, resolved[:-1], strict=True):
            operand = self._operand(value, dtype)
            if operand is None or operand.dtype != dtype:
                return False
            operands.append(operand)
        self._add(ufunc, operands, out)
        return True

    def _lower_kernel(self, step: Step, out: View) -> bool:
        """The kernel of an operation as the ufuncs that it consists of."""
        template = template_of(step, out)
        if template is None:
            return False
        inputs = step.args if template.is_flat else inputs_of(step)
        values: list[Any] = []
        for value, dtype in zip(inputs, template.inputs, strict=True):
            operand = self._operand(value, dtype)
            if operand is None:
                return False
            values.append(operand)
        values += template.constants
        if template.copied is not None:
            return self._copy(values[template.copied], out)
        for kernel, operands, shape, dtype in template.steps:
            target = out if shape is None else self.new(shape, dtype)
            self._add(kernel, [values[operand] for operand in operands], target)
            values.append(self.resolve(target))
        return True

    def _add(self, kernel: Any, operands: list[Any], out: View) -> None:
        """Add an elementwise instruction, unless the same was added before, or there are no elements."""
        if 0 in out.shape:
            return
        operands = [self.resolve(operand) if type(operand) is View else operand for operand in operands]
        same = _identity_operand(kernel, operands)
        if isinstance(same, View) and same.shape == out.shape and kernel != COPY and self._copy(same, out):
            return
        if kernel is numpy.add and self._part_sums.add(operands, out):
            return
        if kernel == COPY:
            self._note_copy(operands[0], out)
        if self._is_written_once(out.buffer) and out.is_whole:
            key = self._key(kernel, operands, out)
            if key is not None:
                before = self._equal.get(key)
                if before is not None:
                    self._let_be(out.buffer, before.buffer)
                    return
                self._equal[key] = out
        self._emit(Elementwise(kernel, operands, out))

    def _note_copy(self, source: Any, out: View) -> None:
        """Remember buffers of zeros, and copies into a part of them."""
        is_number = type(source) is Number and source.dtype.char in FLOATS
        if is_number and out.is_whole and source.value == 0 and not numpy.signbit(source.value):
            self._part_sums.note_fill(out)
        else:
            self._part_sums.note_copy(source, out)

    def _emit(self, instruction: Any) -> None:
        """Add an instruction, after the instructions of sums that it needs."""
        if self._part_sums.waiting:
            self._emit_due([*instruction.reads, *instruction.writes])
        self.instructions.append(instruction)

    def _emit_due(self, views: list[View]) -> None:
        for kernel, operands, out in self._part_sums.due(views):
            terms = [Number(0.0, out.dtype) if operand is None else operand for operand in operands]
            self._emit(Elementwise(kernel, terms, out))

    def _key(self, kernel: Any, operands: list[Any], out: View) -> Any:
        """Equal for instructions with equal results; None where operands change."""
        parts: list[Any] = [kernel, out.shape, out.dtype.char]
        for operand in operands:
            if type(operand) is Number:
                parts.append(operand.key)
                continue
            if not self._is_steady(operand.buffer):
                return None
            parts.append(operand.key)
        return tuple(parts)

    def _add_check(self, step: Step) -> None:
        args, kwargs = self._trees(step)
        is_constant = all(view.buffer.kind == CONSTANT for view in leaves((args, kwargs)))
        if is_constant and not getattr(step.function, "draws", False):
            return
        check = Check(step.function, args, kwargs, None, [])
        check.expected, check.line, check.function_line = step.result, step.line, step.function_line
        self._emit(check)

    def _add_call(self, step: Step, outputs: list[tuple[View, bool]]) -> None:
        args, kwargs = self._trees(step)
        fresh = iter(outputs)
        # members of a result may share memory
        new = {view.buffer.number for view, is_new in outputs if is_new}

        def target(array: Any) -> Any:
            view, _ = next(fresh)
            return view if view.buffer.number in new else None

        results = with_arrays(step.result, target)
        targets = [self.view(array) for array in step.writes]
        self._emit(Call(step.function, args, kwargs, results, targets))

    def _trees(self, step: Step) -> tuple[Any, Any]:
        return with_arrays(step.args, self.view), with_arrays(step.kwargs, self.view)

    # dead instructions ------------------------------------------------------------------------------------------------

    def _drop_dead(self) -> None:
        """Drop instructions that lead to no result, no check and no write into memory of the caller."""
        live = {view.buffer.number for group in self.results for view in group}
        live_ones = []
        for instruction in reversed(self.instructions):
            needed = isinstance(instruction, Check) or (isinstance(instruction, Call) and instruction.draws)
            for view in instruction.writes:
                needed = needed or view.buffer.kind == EXTERNAL or view.buffer.number in live
            if needed:
                live_ones.append(instruction)
                live.update([view.buffer.number for view in instruction.reads])
        self.instructions = live_ones[::-1]


def whole_copy(view: View, memory: Memory) -> Elementwise:
    """The instruction that copies the buffer of a view to a new one."""
    source = _flat(view.buffer, view.dtype)
    return Elementwise(COPY, [source], memory.new(source.shape, source.dtype))


def _flat(buffer: Buffer, dtype: Any) -> View:
    """A whole buffer as one axis."""
    return View(buffer, 0, (buffer.n_bytes // dtype.itemsize,), (dtype.itemsize,), dtype)


@memoize()
def types_of(ufunc: Any, kinds: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The dtypes of the operands and of the result of a ufunc for arrays and Python's numbers; None without a loop."""
    if not all(isinstance(kind, numpy.dtype) or kind in (bool, int, float) for kind in kinds):
        return None
    try:
        resolved: tuple[Any, ...] = ufunc.resolve_dtypes((*kinds, None))
        index = loop_index(ufunc, "".join([dtype.char for dtype in resolved[:-1]]))
    except (TypeError, Untraceable):
        return None
    return resolved if ufunc.types[index].split("->")[1] == resolved[-1].char else None


#: The native kernels that are products as numpy.matmul has them.
_PRODUCTS = (PRODUCT, MATRICES, MATRIX_VECTOR, VECTORS)


def is_product(step: Step) -> bool:
    """True for a product of arrays that `ReadyProduct` has."""
    if way_of(step.function) != PRODUCT_OF or len(step.args) != 2 or step.kwargs:
        return False
    arrays = (*step.args, step.result)
    return all(type(array) is _ndarray and array.flags.aligned for array in arrays) and can_be_ready(*arrays)


def reduction_of(step: Step) -> tuple[Any, Any, tuple[int, ...]] | None:
    """The ufunc, the array and the axes of a step that reduces one; None for other steps."""
    function = step.function
    ufunc = _REDUCING.get(function) if callable(function) and function.__hash__ else None
    if ufunc is None and getattr(function, "__name__", "") == "reduce":
        ufunc = getattr(function, "__self__", None)
    if ufunc not in _REDUCTIONS:
        return None
    options = dict(zip(("axis", "dtype", "keepdims"), step.args[1:4], strict=False)) if function is fast_sum else {}
    if not options:
        options = dict(zip(("axis", "dtype", "out", "keepdims"), step.args[1:5], strict=False))
    options |= step.kwargs
    array = step.args[0] if step.args else None
    if type(array) is not _ndarray or options.get("out") is not None or not set(options) <= _OPTIONS:
        return None
    if options.get("dtype") is not None and numpy.dtype(options["dtype"]) != array.dtype:
        return None
    axis = options.get("axis", 0 if function not in _REDUCING else None)
    axes = range(array.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return ufunc, array, tuple(sorted([k % array.ndim for k in axes])) if array.ndim else ()


_OPTIONS = frozenset(("axis", "dtype", "out", "keepdims"))


def beginning_of(reduction: Reduce, is_all: bool = False) -> Elementwise:
    """The instruction that gives a reduction its first value; with is_all its only one, of axes with one element."""
    (source,) = reduction.operands
    out = reduction.out
    axes = [axis for axis in range(len(source.shape)) if axis not in reduction.axes]
    strides = [source.strides[axis] for axis in axes]
    shape: Any = [source.shape[axis] for axis in axes]
    if len(out.shape) == len(source.shape):
        shape = out.shape
        strides = [0 if axis in reduction.axes else source.strides[axis] for axis in range(len(source.shape))]
    first = source.replace(shape=tuple(shape), strides=tuple(strides))
    if reduction.kernel is not numpy.add:
        return Elementwise(COPY, [first], out)
    if is_all:
        return Elementwise(numpy.add, [zero_of(out.dtype), first], out)
    return Elementwise(COPY, [zero_of(out.dtype)], out)


#: The first value of NumPy's sums: 0.0, or -0.0 in later versions.
_SUM_BEGINS_WITH = float(numpy.add.reduce(numpy.array([-0.0])))


def zero_of(dtype: Any) -> Number:
    """The first value of NumPy's sums."""
    return Number(_SUM_BEGINS_WITH, dtype)


def _array_of(view: View) -> Any:
    """The array of a constant view."""
    memory = _memory(root_of(view.buffer.array))
    return numpy.ndarray(view.shape, view.dtype, memory, view.offset, view.strides)


def _memory(array: Any) -> Any:
    """The memory of an array as bytes."""
    return numpy.ravel(array, order="K").view(numpy.uint8)


def _is_basic(index: Any) -> bool:
    """True for an index without arrays and lists, whose result is a view."""
    members = index if isinstance(index, tuple) else (index,)
    return all(
        member is None or member is Ellipsis or isinstance(member, (slice, numpy.integer)) or type(member) is int
        for member in members
    )


def _can_cast(source: Any, target: Any) -> bool:
    """True where the machine converts elements itself."""
    return source.char in (*FLOATS, BOOL) and target.char in FLOATS


def _identity_operand(kernel: Any, operands: list[Any]) -> Any:
    """The operand that an instruction gives unchanged, or None."""
    if kernel is numpy.multiply:
        first, second = operands
        if isinstance(second, Number) and second.value == 1:
            return first
        if isinstance(first, Number) and first.value == 1:
            return second
    if kernel is numpy.divide and isinstance(operands[1], Number) and operands[1].value == 1:
        return operands[0]
    return operands[0] if kernel is numpy.positive else None


# known properties of functions
# -------------------------------------------------------------------------------------------

#: How a step may become instructions: besides these, COPY and WHERE.
FILL, PRODUCT_OF, CONCATENATE, OTHERWISE = "fill", "product", "concatenate", "otherwise"


def way_of(function: Any) -> str:
    """How a step by a function may become instructions."""
    try:
        return _way_of(function)
    except TypeError:
        return OTHERWISE  # it has no hash


@memoize(4096)
def _way_of(function: Any) -> str:
    kind, name = type(function), name_of(function)
    copies = _COPYING_OPERATIONS if kind is RuleKernel else _COPYING_METHODS if kind is Method else ()
    if name in copies or function is numpy.copy:
        return COPY
    if name in _FILLED:
        return FILL
    if function is numpy.matmul or (kind is RuleKernel and function.rule.native in _PRODUCTS):
        return PRODUCT_OF
    if function in _SELECTIONS:
        return WHERE
    return CONCATENATE if function is numpy.concatenate else OTHERWISE


# forms of kernels -----------------------------------------------------------------------------------------------------

_forms: dict[Any, Form | None] = {}
_LIMIT = 4096


def inputs_of(step: Step) -> Iterator[Any]:
    """The arguments of a kernel that are inputs of its form, also inside tuples."""
    for value in (*step.args, *step.kwargs.values()):
        yield from arrays_in(value)


def form_of_kernel(step: Step) -> Form | None:
    """The form of a kernel for the arguments of a step, or None if it has no form."""
    names = tuple(step.kwargs)
    values = (*step.args, *step.kwargs.values())
    for level in (NOTHING, RANKS, SHAPES):
        try:
            key = (step.function.rule.name, names, level, *[_part_of_key(value, level) for value in values])
            if key in _forms:
                form = _forms[key]
                if form is not None or level == SHAPES:
                    return form
                continue
        except TypeError:
            return None
        function = step.function.function
        n = len(step.args)

        def call(*args: Any, n: int = n, function: Any = function) -> Any:
            return function(*args[:n], **dict(zip(names, args[n:], strict=True)))

        try:
            form = trace(call, values, level)
        except Looked:
            form = None
        except Untraceable:
            form = None
            level = SHAPES
            key = (step.function.rule.name, names, level, *[_part_of_key(value, level) for value in values])
        if len(_forms) > _LIMIT:
            _forms.clear()
        _forms[key] = form
        if form is not None or level == SHAPES:
            return form
    return None


class Template:
    """A kernel's instructions for arguments of some shapes and types.

    inputs: the types of the operands. constants: the numbers behind them. steps: (kernel, operands by their numbers,
    shape, dtype); the shape is None for the result. copied: the operand that the kernel copies, or None. is_flat: the
    arguments are the inputs, in order.
    """

    __slots__ = ("constants", "copied", "inputs", "is_flat", "steps")

    def __init__(self, form: Form, shapes: list[tuple[int, ...]], is_flat: bool) -> None:
        self.inputs = [numpy.dtype(dtype) for dtype in form.inputs]
        self.constants = [Number(number, dtype) for dtype, number in form.constants]
        self.copied = form.results if form.results < form.first_step else None
        self.is_flat = is_flat
        self.steps = []
        for register, step in enumerate(form.steps, form.first_step):
            shape = None if register == form.results else shapes[register]
            self.steps.append((step.kernel, step.operands, shape, numpy.dtype(step.dtype)))


_templates: dict[Any, Template | None] = {}


def template_of(step: Step, out: View) -> Template | None:
    """The instructions of a kernel for the arguments of a step and its result, or None if it stays a call."""
    try:
        parts = [_part_of_key(value, SHAPES) for value in (*step.args, *step.kwargs.values())]
    except TypeError:
        return None
    key = (step.function, tuple(step.kwargs), out.shape, out.dtype.char, *parts)
    if key not in _templates:
        if len(_templates) > _LIMIT:
            _templates.clear()
        _templates[key] = _new_template(step, out)
    return _templates[key]


def _new_template(step: Step, out: View) -> Template | None:
    form = form_of_kernel(step)
    if form is None or not isinstance(form.results, int):
        return None
    inputs = list(inputs_of(step))
    try:
        shapes = shapes_of(form, [value.shape for value in inputs])
    except Unschedulable:
        return None
    if any(instruction.reduction is not None for instruction in form.steps):
        return None
    is_copy = form.results < form.first_step
    if not is_copy and (shapes[form.results] != out.shape or form.dtypes[form.results] != out.dtype.char):
        return None
    is_flat = len(inputs) == len(step.args) and all(a is b for a, b in zip(inputs, step.args, strict=True))
    return Template(form, shapes, is_flat)


def _part_of_key(value: Any, level: int) -> Any:
    """The properties of an argument that a form depends on; TypeError for arguments of other kinds."""
    kind = type(value)
    if kind is _ndarray:
        if level == NOTHING:
            return value.dtype.char
        return (value.dtype.char, value.ndim) if level == RANKS else (value.dtype.char, value.shape)
    if kind is tuple or kind is list:
        return tuple([_part_of_key(member, level) for member in value])
    if kind is float:
        return kind, repr(value)
    if not isinstance(value, (bool, int, float, complex, str, type(None), numpy.dtype, DType, type)):
        raise TypeError
    return kind, value
