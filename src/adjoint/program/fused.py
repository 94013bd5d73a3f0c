"""Functions of arrays that run as programs where they can.

A `Fused` is a function and its programs: one for each combination of types, of arguments that are no arrays, and of
other facts that the function read while it was traced. The function itself is the plain form: it is called if there is
no program, if arrays have an unsuitable layout, and if NumPy has a floating point error to report.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

import weakref

import numpy

from adjoint.arrays.dtypes import dtype as DType
from adjoint.program import machine
from adjoint.program.schedule import Schedule, Unschedulable, elementwise
from adjoint.program.trace import NOTHING, RANKS, SHAPES, Looked, Untraceable, trace
from adjoint.runtime.caches import reset_with
from adjoint.runtime.memory import with_kept_memory

if not cython.compiled:
    # the compiled form has it from the .pxd
    from adjoint.runtime.crossovers import is_large

#: The limits of programs per function, and of schedules per program.
MAX_PROGRAMS = MAX_SCHEDULES = 64

_ndarray = numpy.ndarray
_FLOAT64 = numpy.dtype("float64")
#: Arguments of these types are constants of a program.
_PLAIN = (bool, int, float, str, type(None), numpy.dtype, DType, type)
_enabled = True
_ABSENT = object()
_every: weakref.WeakSet = weakref.WeakSet()


def set_fusion(enabled: bool) -> bool:
    """Switch programs on or off, for comparisons with the plain form; returns the earlier setting."""
    global _enabled
    before = _enabled
    _enabled = enabled
    return before


@cython.final
@cython.cclass
class Program:
    """A form and its machine: for arrays of any shape if it is elementwise, else one machine for each set of shapes."""

    def __init__(self, form):
        self.form = form
        self.flat = elementwise(form)
        self.machines = {}

    def run(self, values: list, quiet):
        """The results for arrays and numbers, or None where the plain form must be called."""
        large = any([is_large(value) for value in values])
        if self.flat is not None:
            rows_first = large and len(self.form.steps) > 1 and several_shapes(values)
            result = self.run_schedule(values, quiet) if rows_first else None
            return result if result is not None else self.flat.several(values, quiet, False)
        return self.run_schedule(values, quiet) if large else None

    def run_schedule(self, values: list, quiet):
        """`run` for arrays seen as rows and columns."""
        arrays = [
            value if type(value) is _ndarray else numpy.asarray(value, dtype)
            for value, dtype in zip(values, self.form.inputs)
        ]
        dense = all([array.flags.c_contiguous for array in arrays])
        key = (dense, *[array.shape for array in arrays])
        entry = self.machines.get(key, _ABSENT)
        if entry is not _ABSENT:
            machine = entry
        else:
            if len(self.machines) >= MAX_SCHEDULES:
                drop_first(self.machines)
            try:
                machine = Schedule(self.form, list(key[1:]), dense).machine
            except Unschedulable:
                machine = None
            self.machines[key] = machine
        return None if machine is None else machine.run(arrays, quiet)


def several_shapes(values):
    """True if there are arrays with axes of several shapes among some."""
    return len({value.shape for value in values if type(value) is _ndarray and value.ndim}) > 1


@cython.final
@cython.cclass
class Fused:
    """A function of arrays, and its programs.

    keywords: the names of the function's last arguments. numbers: Python numbers among the arguments are operands like
    arrays, as in a ufunc; the function must not read their values.
    """

    def __init__(self, function, keywords=(), numbers=False):
        self.function = function
        self.keywords = tuple(keywords)
        self.numbers = numbers
        self.programs = {}
        #: The kernels for arrays of a device, by the properties of the arguments that they depend on.
        self.kernels = {}
        self.level = NOTHING
        self.is_traceable = True
        #: Why there is no program for arguments that are all arrays.
        self.reason = None
        _every.add(self)

    def one(self, x, quiet):
        """The function's result for one array, by a program, or None."""
        flat = self.flat_for(x)
        return self.attempt([x], quiet) if flat is None else flat.one(x, quiet)

    def two(self, x, y, quiet, large):
        """The function's result for two arrays, or an array and a number, by a program, or None.

        large: one of them is a large array.
        """
        is_array: cython.bint = type(x) is _ndarray
        flat = self.flat_for(x if is_array else y)
        if self.numbers or (is_array and type(y) is _ndarray):
            if flat is not None and flat.takes_two():
                result = flat.two(x, y, quiet, large)
                if result is not None or not large:
                    return result
        elif self.programs and not large:
            # a step or two with a constant: to find another program takes longer than it saves
            return flat.one(x, quiet) if flat is not None and flat.fits([x, y]) else None
        return self.attempt([x, y], quiet)

    def several(self, values: list, quiet, large):
        """The function's result for any arguments, by a program, or None, as `two`."""
        flat = self.last_program(values)
        if flat is not None:
            result = flat.several(inputs_among(values, self.numbers), quiet, large)
            if result is not None or not large:
                return result
        return self.attempt(values, quiet)

    def last_program(self, values: list):
        """The elementwise program that ran last on arrays of this type, if it fits the arguments, or None."""
        flat = self.flat_for(values[0])
        return flat if flat is not None and flat.fits(values) else None

    def flat_for(self, x):
        """The elementwise program that ran last on arrays of this type, or None, as while programs are off."""
        if cython.compiled and _enabled and type(x) is _ndarray:
            kind: cython.int = adj_type_num(x)
            if kind == NPY_DOUBLE:
                return adj_double_program(self)
            if kind == NPY_FLOAT:
                return adj_single_program(self)
        return None

    def attempt(self, values: list, quiet):
        """The function's result for some arguments, by a program, or None."""
        if not (self.is_traceable and machine.compiled and _enabled):
            return None
        program: Program = self.find(values)
        if program is None:
            return None
        return program.run(inputs_among(values, self.numbers), quiet)

    def on_device(self, values: list):
        """The function's result for arrays of a device by one kernel, or None."""
        if not (self.is_traceable and _enabled):
            return None
        # an import here: without a device it would only take time
        from adjoint.program.device import run_on_device

        return run_on_device(self, values)

    def call(self, values: list, quiet):
        """The function's result for some arguments, by a program or by itself."""
        for value in values:
            if is_large(value):
                # a program reuses memory for its result; changing NumPy's allocator would take longer than the run
                flat = self.last_program(values)
                result = None if flat is None else flat.several(inputs_among(values, self.numbers), quiet, True)
                return with_kept_memory(self.run, (values, quiet)) if result is None else result
        return self.run(values, quiet)

    def run(self, values: list, quiet):
        """`call`, in any memory."""
        result = self.attempt(values, quiet)
        return self.in_order(*values) if result is None else result

    def find(self, values: list):
        """The program for some arguments, or None; functions are traced here."""
        while True:
            try:
                key = tuple([part_of_key(value, self.level, self.numbers) for value in values])
            except TypeError:
                return None
            entry = self.programs.get(key, _ABSENT)
            if entry is not _ABSENT:
                program: Program = entry
                break
            if self.level == SHAPES and not any([is_large(value) for value in values]):
                return None
            if len(self.programs) >= MAX_PROGRAMS:
                if self.level != SHAPES:
                    return None
                drop_first(self.programs)
            try:
                form = trace(self.in_order, values, self.level, self.numbers)
                program = Program(form) if form.steps else None
            except Looked as looked:
                self.level = looked.level
                self.programs.clear()
                continue
            except Untraceable as why:
                program = None
                if all([type(value) is _ndarray for value in values]) and values:
                    with cython.critical_section(self):
                        self.reason = str(why)
            if program is not None and program.flat is not None:
                program.flat.parameters = [_ndarray if type(value) is _ndarray else value for value in values]
            program = self.programs.setdefault(key, program)
            break
        if self.level == NOTHING and program is not None and program.flat is not None:
            # numbers are read in the program's type
            # the former one is still among the programs
            if "d" in key:
                put_double(self, program.flat)
            elif "f" in key:
                put_single(self, program.flat)
        return program

    def reset(self):
        """Forget the programs; functions are traced anew."""
        if cython.compiled:
            # other threads may be about to run them
            adj_retire(adj_double_program(self))
            adj_retire(adj_single_program(self))
            adj_retire(self.programs.copy())
        put_double(self, None)
        put_single(self, None)
        self.programs.clear()
        self.kernels.clear()
        self.level = NOTHING

    def in_order(self, *values):
        """The function, with arguments in their order."""
        if not self.keywords:
            return self.function(*values)
        n = len(values) - len(self.keywords)
        return self.function(*values[:n], **dict(zip(self.keywords, values[n:])))


def reset_programs() -> None:
    """Forget the programs of all functions."""
    for fused in list(_every):
        fused.reset()


def drop_first(table: dict):
    """Remove the oldest entry."""
    for key in list(table)[:1]:
        table.pop(key, None)


def part_of_key(value, level, numbers):
    """The properties of one argument that a program depends on. TypeError for an argument of another kind."""
    kind = type(value)
    if kind is _ndarray:
        dtype = adj_dtype(value) if cython.compiled else value.dtype
        if level == NOTHING and dtype is _FLOAT64:
            return "d"
        if not dtype.isnative:
            raise TypeError
        if level == NOTHING:
            return dtype.char
        return dtype.char, value.ndim if level == RANKS else value.shape
    if numbers and (kind is float or kind is int):
        return "number"
    if kind is float:
        # 0.0 and -0.0 are equal, and NaN is not equal to itself
        return kind, value if value and value == value else repr(value)
    if kind is tuple:
        return tuple([part_of_key(member, level, numbers) for member in value])
    if not isinstance(value, _PLAIN):
        raise TypeError
    return kind, value


def inputs_among(values, numbers):
    """The arguments that are a program's inputs, also inside tuples."""
    inputs: list = []
    for value in values:
        kind = type(value)
        if kind is _ndarray or (numbers and (kind is float or kind is int)):
            inputs.append(value)
        elif kind is tuple:
            inputs.extend(inputs_among(value, numbers))
    return inputs


if not cython.compiled:
    # the values that fields of compiled classes have before they are set
    Fused.of_double = Fused.of_single = None

    def put_double(fused, program):
        """Set the program that ran last on arrays of double precision."""
        fused.of_double = program

    def put_single(fused, program):
        """Set the program that ran last on arrays of single precision."""
        fused.of_single = program


reset_with(reset_programs)
