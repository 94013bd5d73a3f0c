"""Programs in device memory: each region is one CUDA kernel, and calls are CuPy's functions.

The instructions are the same as on the host. Regions are groups of elementwise instructions on one shape. A reduction
is a separate region, which CuPy computes. A value that only its kernel uses is a variable of the kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy

from adjoint.arrays.libraries.cupy_namespace import MissingFunction
from adjoint.arrays.namespace import namespace
from adjoint.compilation.programs.lowering import Call, Elementwise, Number, Reduce
from adjoint.compilation.programs.replay import Observed, Program
from adjoint.compilation.programs.schedule import Group, broadcast_strides, schedule, scratch_buffers
from adjoint.compilation.programs.views import View
from adjoint.compilation.recordings.device_functions import REDUCTIONS, on_device
from adjoint.program import device_region
from adjoint.program.cuda_source import has_expression
from adjoint.program.device import region_kernel
from adjoint.program.form import CAST, COPY, WHERE, Form, Step

#: The bytes that the arguments of a kernel may have: CUDA's limit on all devices, less the indexer's.
MOST_BYTES = 3800
#: The bytes of an array among the arguments, without its axes, and for each axis.
BYTES_OF_ARRAY, BYTES_OF_AXIS = 16, 16

Place = tuple[int, int, str, tuple[int, ...]]


class KernelGroup(Group):
    """A region that is one kernel: instructions that have an expression in CUDA, on equal shapes.

    is_alone: a reduction, or an instruction without an expression, which CuPy's function computes.
    """

    begins = False

    def __init__(self, first: Elementwise) -> None:
        super().__init__(first)
        self.is_alone = not is_printable(first)

    def columns_of(self, reduction: Reduce) -> int | None:
        """None: no row is reduced inside of a kernel."""
        return None

    def takes(self, instruction: Any) -> bool:
        """True if an instruction can run in the same kernel."""
        return is_printable(instruction) and super().takes(instruction)


def is_printable(instruction: Any) -> bool:
    """True for an instruction that a kernel can have."""
    if not isinstance(instruction, Elementwise) or isinstance(instruction, Reduce):
        return False
    dtypes = [operand.dtype.char for operand in (*instruction.operands, instruction.out)]
    return has_expression(instruction.name, dtypes)


class Elements:
    """A group as a form: the views that it reads and writes, and its steps on one element.

    scratch: the numbers of the buffers that have no memory.
    """

    def __init__(self, group: Group, scratch: set[int]) -> None:
        self.shape = group.shape
        self.inputs: list[View] = []
        #: Each view that is written, with the step that gives its last value.
        self.last_writes: dict[Place, tuple[View, int]] = {}
        self._numbers: list[Number] = []
        self._operands: list[list[tuple[str, int]]] = []
        #: The register of a value: an input, or the result of a step.
        self._values: dict[Place, tuple[str, int]] = {}
        self._constants: dict[Any, int] = {}
        self._instructions = group.instructions
        for k, instruction in enumerate(group.instructions):
            self._operands.append([self._operand(operand) for operand in instruction.operands])
            location = self._place(instruction.out)
            self._values[location] = ("step", k)
            if instruction.out.buffer.number not in scratch:
                self.last_writes[location] = instruction.out, k

    def _place(self, view: View) -> Place:
        return view.buffer.number, view.offset, view.dtype.char, broadcast_strides(view, self.shape)

    def _operand(self, operand: Any) -> tuple[str, int]:
        if isinstance(operand, Number):
            if operand.key not in self._constants:
                self._constants[operand.key] = len(self._numbers)
                self._numbers.append(operand)
            return "number", self._constants[operand.key]
        location = self._place(operand)
        if location not in self._values:
            self._values[location] = ("input", len(self.inputs))
            self.inputs.append(operand)
        return self._values[location]

    @property
    def outputs(self) -> list[View]:
        """The views that are written."""
        return [view for view, _ in self.last_writes.values()]

    @property
    def n_bytes(self) -> int:
        """The bytes of the kernel's arguments, at most."""
        return (len(self.inputs) + len(self.last_writes)) * (BYTES_OF_ARRAY + BYTES_OF_AXIS * len(self.shape))

    def form(self) -> Form:
        """The steps in single-assignment order."""
        first = {"input": 0, "number": len(self.inputs), "step": len(self.inputs) + len(self._numbers)}
        steps = [
            Step(instruction.kernel, tuple([first[kind] + k for kind, k in operands]), instruction.out.dtype.char)
            for instruction, operands in zip(self._instructions, self._operands, strict=True)
        ]
        return Form(
            [view.dtype.char for view in self.inputs],
            [(number.dtype.char, number.value.item()) for number in self._numbers],
            steps,
            tuple([first["step"] + k for _, k in self.last_writes.values()]),
        )


class DeviceProgram(Program):
    """A program for CuPy's arrays on one device.

    device: the device. The rest: as of `Program`.
    """

    machine = device_region
    # reused memory would be shared with other streams
    kept_bytes = -1

    def __init__(
        self, device: Any, instructions: Sequence[Any], externals: Any, results: Any, pack: Any = None
    ) -> None:
        self.device = device
        self.cupy = sys.modules["cupy"]
        self.xp = namespace(self.cupy.empty(0))
        super().__init__(instructions, externals, results, pack)

    def schedule(self, instructions: Sequence[Any]) -> list[Any]:
        """The instructions in order, in groups; each group is one kernel."""
        order = schedule(instructions, KernelGroup)
        while True:
            scratch = self._scratch_of(order)
            divided = [part for entry in order for part in parts_of(entry, scratch)]
            if len(divided) == len(order):
                return order
            order = divided

    def _scratch_of(self, order: list[Any]) -> set[int]:
        kernels = [entry for entry in order if not (isinstance(entry, Group) and entry.is_alone)]
        alone = {
            view.buffer.number
            for entry in order
            if isinstance(entry, Group) and entry.is_alone
            for instruction in entry.instructions
            for view in (*instruction.reads, *instruction.writes)
        }
        return scratch_buffers(kernels, self.result_numbers) - alone

    def scratch_of_regions(self) -> set[int]:
        """The numbers of the buffers that are variables of a kernel."""
        return self._scratch_of(self.order)

    def _place_numbers(self) -> None:
        """Numbers are written into the kernels."""
        self.number_block = -1

    def new_array(self, view: View | None, n_bytes: int) -> Callable[[], Any]:
        """A function that makes the memory for a value: an array like a view, or bytes."""
        if view is None:
            return partial(self.cupy.empty, n_bytes, numpy.uint8)
        return partial(self.cupy.empty, view.shape, view.dtype)

    def set_constant(self, frame: Any, block: int, array: Any) -> None:
        """Let a block of a frame be a copy of the constant's memory on the device."""
        owner = array
        while isinstance(owner.base, numpy.ndarray):
            owner = owner.base
        with self.cupy.cuda.Device(self.device.index):
            copy = self.cupy.asarray(numpy.ravel(owner, order="K").view(numpy.uint8))
            # a later run may be on another stream
            self.cupy.cuda.get_current_stream().synchronize()
        frame.set(block, copy, 0)

    def function_of(self, call: Call) -> Callable[..., Any]:
        """CuPy's function for the function of a call."""
        return on_device(call.function, self.xp)

    def runner(self, frame: Any, parts: list[Any], *rest: Any) -> Any:
        """Objects that run the parts on the device."""
        runner = device_region.Runner(frame, parts, *rest)
        runner.number = self.device.index
        return runner

    def region(self, group: Group) -> Any:
        """A kernel with its views, or a function of CuPy's arrays."""
        if group.is_alone:
            (instruction,) = group.instructions
            return Observed(self._by_function(instruction))
        elements = Elements(group, self.scratch)
        views = [
            [self.block_view(widen(view, group.shape)) for view in some] for some in (elements.inputs, elements.outputs)
        ]
        return device_region.Region(region_kernel(elements.form()), *views)

    def _by_function(self, instruction: Elementwise) -> Callable[[Any], None]:
        """An instruction as a function of CuPy's arrays."""
        operands = [
            (lambda frame, value=operand.value: value.item())
            if isinstance(operand, Number)
            else self.block_view(operand).of
            for operand in instruction.operands
        ]
        out = self.block_view(instruction.out)
        is_reduction, name = isinstance(instruction, Reduce), instruction.name
        function = None if name in (WHERE, COPY, CAST) else getattr(self.xp, reduction_name(instruction))

        def run(frame: Any) -> None:
            values = [operand(frame) for operand in operands]
            target = out.of(frame)
            if name == WHERE:
                target[...] = self.xp.where(*values)
            elif function is None:
                target[...] = values[0]
            elif is_reduction:
                target[...] = function(values[0], axis=instruction.axes, keepdims=target.ndim == values[0].ndim)
            else:
                target[...] = function(*values)

        return run


def reduction_name(instruction: Elementwise) -> str:
    """The name of CuPy's function for an instruction."""
    name = str(instruction.kernel.__name__)
    return REDUCTIONS[name] if isinstance(instruction, Reduce) else name


def parts_of(entry: Any, scratch: set[int]) -> list[Any]:
    """A group, split into halves if it has too many arguments for a kernel; other instructions are unchanged."""
    if not isinstance(entry, KernelGroup) or entry.is_alone or len(entry.instructions) < 2:
        return [entry]
    if Elements(entry, scratch).n_bytes <= MOST_BYTES:
        return [entry]
    middle = len(entry.instructions) // 2
    halves = []
    for instructions in (entry.instructions[:middle], entry.instructions[middle:]):
        half = KernelGroup(instructions[0])
        for instruction in instructions:
            half.add(instruction)
        halves.append(half)
    return halves


def widen(view: View, shape: tuple[int, ...]) -> View:
    """A view that is broadcast to a shape."""
    return view if view.shape == shape else view.replace(shape=shape, strides=broadcast_strides(view, shape))


def missing_function(instructions: Sequence[Any], xp: Any) -> str | None:
    """A text about the first function of the instructions that CuPy lacks, or None."""
    try:
        for instruction in instructions:
            if isinstance(instruction, Call):
                on_device(instruction.function, xp)
            elif not is_printable(instruction) and instruction.name not in (WHERE, COPY, CAST):
                getattr(xp, reduction_name(instruction))
    except MissingFunction as error:
        return str(error)
    return None
