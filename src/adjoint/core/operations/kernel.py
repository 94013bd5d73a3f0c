"""Running an operation's kernel on raw arrays: promotion, array libraries, programs, errors in torch's words."""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

import numpy

from adjoint.arrays.dtypes import get_default_dtype, kind_of, numpy_dtype
from adjoint.arrays.libraries.numpy_namespace import by_long_rows
from adjoint.arrays.namespace import astype, holds_arrays, is_array, is_on_device, namespace, row_major
from adjoint.arrays.promotion import promote
from adjoint.core.operations.arguments import error_of_kernel
from adjoint.program.fused import Fused
from adjoint.runtime.memory import with_kept_memory

if not cython.compiled:
    # the compiled form has them from the .pxd
    from adjoint.arrays.kernels.products_and_sums import meet_in_short_rows
    from adjoint.core.graph import TensorBase, dtype_of, ndim_of
    from adjoint.core.in_place import check_current
    from adjoint.core.operations.binding import is_whole
    from adjoint.program.fused import inputs_among
    from adjoint.runtime.crossovers import is_large

_ndarray = numpy.ndarray
#: Types of arrays of other libraries that operations ran on.
_array_types: set = set()
_asarray = numpy.asarray

#: Ufuncs whose results are integers of the operands' type, or bools, and which never report floating point errors.
_WITHOUT_ERRORS = frozenset((numpy.bitwise_and, numpy.bitwise_or, numpy.bitwise_xor, numpy.invert))

_FLOAT32, _FLOAT64 = numpy.dtype("float32"), numpy.dtype("float64")
_numpy = namespace(numpy.zeros(0))


@cython.final
@cython.cclass
class Kernel:
    """The kernel of an operation, for arrays of any library.

    on_numpy: the kernel on NumPy's arrays. quick: the kernel for one or two arrays without further arguments. small: a
    faster function with the results of `quick` for small arrays, or None. keeps_whole: integers and bools of one dtype
    are computed without a cast. fuses: small arrays run as a program too. plain: the program for arrays and numbers, in
    which numbers are operands like arrays. If there is none, `fused_call` makes a program for numbers that calls
    repeat, as long as `repeats` is set.
    """

    def __init__(self, arguments, fuses):
        rule = arguments.rule
        self.rule = rule
        self.name = rule.name
        self.arguments = arguments
        self.keeps_dtype = rule.dtypes == "any"
        self.is_view = rule.view
        self.has_one_result = rule.outputs is None
        self.lies_in_rows = rule.rows
        self.native = rule.native
        self.kernels = {}
        self.on_numpy = self.kernel_for(_numpy)
        self.quick = self.on_numpy if rule.fast is None else getattr(_numpy, rule.fast)
        self.small = None if rule.small is None else getattr(_numpy, rule.small)
        self.keeps_whole = rule.dtypes != "float"
        self.fuses = fuses
        # kernels are traced with one or two arrays; with all arguments, some of them by name, where they differ
        self.is_ufunc = isinstance(self.quick, numpy.ufunc)
        self.fused = Fused(self.quick, (), self.is_ufunc)
        names, n = arguments.names, arguments.n_positional
        same = rule.fast is None and n == len(names) == arguments.n_inputs
        self.fused_call = self.fused if same else Fused(self.on_numpy, names[n:])
        self.plain = None if rule.plain is None else Fused(rule.plain, (), True)
        self.repeats = rule.kind == "elementwise" and rule.outputs is None
        self.parameters = None
        self.uncast = set()
        self.casts = {}

    def kernel_for(self, xp):
        """The kernel bound to an array library's namespace."""
        kernel = self.kernels.get(xp)
        if kernel is None:
            kernel = self.kernels.setdefault(xp, self.rule.kernel(xp))
        return kernel

    def for_formulas(self, xp):
        """The kernel as formulas call it: on NumPy's arrays one of several steps for each element is a program."""
        kernel = self.kernel_for(xp)
        rule = self.rule
        if xp is not _numpy or self.is_ufunc or not rule.is_elementwise or rule.names != rule.inputs or rule.outputs:
            return kernel
        fused: Fused = self.fused

        def one(input):
            out = fused.one(input, False) if type(input) is _ndarray else None
            return kernel(input) if out is None else out

        def two(left, right):
            is_plain: cython.bint = type(left) is _ndarray and type(right) is _ndarray
            out = fused.two(left, right, False, is_large(left) or is_large(right)) if is_plain else None
            return kernel(left, right) if out is None else out

        return {1: one, 2: two}.get(len(rule.names), kernel)

    def one(self, array):
        """The result for one plain array."""
        large: cython.bint = is_large(array)
        out = None
        if self.native is not None and not large:
            out = self.native.one(array)
        elif self.small is not None and not large:
            out = self.small(array)
        elif self.fuses or large:
            out = self.fused.one(array, False)
        if out is None:
            out = with_kept_memory(self.quick, (array,)) if large else self.quick(array)
        if type(out) is not _ndarray:
            return _asarray(out)
        return in_rows(out) if self.lies_in_rows else out

    def two(self, left, right):
        """The result for two plain arrays, or one and a number; None where a native kernel leaves it to `run`."""
        large: cython.bint = is_large(left) or is_large(right)
        if self.native is not None:
            return with_kept_memory(self.native.run, (left, right)) if large else self.native.two(left, right)
        try:
            out = None
            if self.small is not None and not large:
                out = self.small(left, right)
            elif self.fuses or large:
                # a program computes large results in reused memory
                out = self.fused.two(left, right, False, large)
            if out is None and self.is_ufunc and meet_in_short_rows(left, right):
                out = with_kept_memory(by_long_rows, (self.quick, left, right))
            elif out is None:
                out = with_kept_memory(self.quick, (left, right)) if large else self.quick(left, right)
        except Exception as error:
            self.fail(error, [left, right])
        return out if type(out) is _ndarray else _asarray(out)

    def of_whole(self, left, right):
        """The result for one or two small arrays of integers or bools, of one type that the check passes.

        right: None for one array.
        """
        function = self.quick if self.small is None else self.small
        try:
            out = function(left) if right is None else function(left, right)
        except Exception as error:
            self.fail(error, [left] if right is None else [left, right])
        return out if type(out) is _ndarray else _asarray(out)

    def overwrites(self, array, raw: list):
        """True if the kernel may write its result right into its first argument, as no error can stop it half way."""
        if self.quick not in _WITHOUT_ERRORS or raw[0] is not array or not is_large(array):
            return False
        dtype = dtype_of(array)
        if dtype.kind not in "biu":
            return False
        for value in raw:
            if type(value) is not _ndarray or dtype_of(value) is not dtype or value.shape != array.shape:
                return False
        return True

    def unwrap(self, values):
        """Raw arguments for the kernel, promoted.

        A tuple of these, the half type to round to or None, and whether any is complex, unless that is None and False.
        """
        raw: list = list(values)
        first = None
        plain: cython.bint = True
        has_numbers: cython.bint = False
        k: cython.Py_ssize_t
        position: cython.Py_ssize_t
        for k in range(len(self.arguments.array_positions)):
            position = self.arguments.array_positions[k]
            value = raw[position]
            if isinstance(value, TensorBase):
                array = raw[position] = cython.cast(TensorBase, value)._array
                if type(array) is not _ndarray:
                    check_current(value)
                if k >= self.arguments.n_inputs:
                    continue  # the type of an index or a mask does not count
                dtype = dtype_of(array) if type(array) is _ndarray else array.dtype
                if first is None:
                    first = dtype
                    plain = plain and self.is_kept(first)
                elif dtype is not first:
                    plain = False
            elif position == self.arguments.sequence:
                members: list = []
                for member in value:
                    array = cython.cast(TensorBase, member)._array
                    if type(array) is not _ndarray:
                        check_current(member)
                    dtype = dtype_of(array) if type(array) is _ndarray else array.dtype
                    if first is None:
                        first = dtype
                        plain = plain and self.is_kept(first)
                    elif dtype is not first:
                        plain = False
                    members.append(array)
                raw[position] = members
                plain = plain and first is not None
            elif isinstance(value, complex) or isinstance(value, numpy.generic):
                plain = False
            elif value is not None:
                has_numbers = True
        if plain and not (has_numbers and first is not _FLOAT64 and first is not _FLOAT32):
            return raw
        half = None
        if not self.keeps_dtype:
            half = self.promote(raw)
        for position in self.arguments.inputs:
            for operand in raw[position] if position == self.arguments.sequence else (raw[position],):
                if type(operand) is _ndarray:
                    if dtype_of(operand).kind == "c":
                        return raw, half, True
                elif isinstance(operand, complex) or (hasattr(operand, "dtype") and kind_of(operand) == "c"):
                    return raw, half, True
        return raw, half, False

    def is_kept(self, dtype):
        """True for a dtype that needs no promotion if all arrays have it: real floating types and integers."""
        return dtype is _FLOAT64 or dtype is _FLOAT32 or (self.keeps_whole and is_whole(dtype))

    def promote(self, raw: list):
        """Cast raw arguments to their common type; returns the half type to round to, or None.

        The casts for combinations of types are remembered, as a check of each value costs more than a small operation.
        """
        kinds = self.kinds(raw)
        if kinds is not None:
            if kinds in self.uncast:
                return None
            entry = self.casts.get(kinds)
            if entry is not None and entry[0] is get_default_dtype():
                self.cast_arrays(raw, entry[1])
                return None
        before: list = list(raw)
        half = promote(raw, self.arguments.inputs, self.arguments.sequence, self.rule.dtypes, self.rule.wide)
        if kinds is not None and half is None:
            if same_members(raw, before, self.arguments.sequence):
                self.uncast.add(kinds)
            elif self.arguments.sequence < 0:
                self.keep_cast(kinds, raw, before)
        return half

    def keep_cast(self, kinds, raw: list, before: list):
        """Remember the type that a promotion has cast arrays to, if it has changed nothing but arrays."""
        target = None
        for position in self.arguments.inputs:
            value = raw[position]
            if type(value) is _ndarray:
                target = dtype_of(value)
            elif value is not before[position]:
                return
        self.casts[kinds] = (get_default_dtype(), target)

    def cast_arrays(self, raw: list, target):
        """Cast the arrays among raw arguments to a type."""
        position: cython.Py_ssize_t
        for position in self.arguments.inputs:
            value = raw[position]
            if type(value) is _ndarray and dtype_of(value) is not target:
                raw[position] = value.astype(target, copy=False)

    def kinds(self, raw: list):
        """The types and ranks of the inputs, which decide the promotion; None if values count too."""
        parts: list = []
        position: cython.Py_ssize_t
        for position in self.arguments.inputs:
            for value in raw[position] if position == self.arguments.sequence else (raw[position],):
                if type(value) is _ndarray:
                    parts.append(dtype_of(value))
                    parts.append(ndim_of(value) > 0)
                elif value is None or type(value) is float or type(value) is bool:
                    parts.append(type(value))
                elif type(value) is int and 0 <= value < 128:
                    # every integer type holds it
                    parts.append(int)
                else:
                    return None
        return tuple(parts)

    def run(self, raw, half):
        """Call the kernel; results are arrays (zero-dimensional ones too), rounded to the half type if there is one."""
        if self.native is not None and half is None and (self.is_view or not is_large(raw[0])):
            outs = self.native.several(raw)
            if outs is not None:
                return self.lay_out(outs)
        if half is None and (self.repeats or self.plain is not None):
            outs = self.by_program(raw)
            if outs is not None:
                return outs
        xp = _numpy
        kernel = self.on_numpy
        other = self.other_than_numpy(raw)
        if other is not None:
            xp = namespace(other)
            if getattr(xp, "check_alive", None) is not None:
                xp.check_alive(other)
            kernel = self.kernel_for(xp)
            if getattr(xp, "beside", None) is not None:
                raw = self.on_one_device(raw, xp, other)
        n: cython.Py_ssize_t = self.arguments.n_positional
        outs = None
        try:
            if other is None:
                if self.has_large(raw):
                    outs = self.fused_call.call(raw, False)
            elif not self.is_ufunc and self.rule.kind == "elementwise" and is_on_device(other):
                outs = self.fused_call.on_device(raw)
            if outs is None and n == len(raw):
                outs = kernel(*raw)
            elif outs is None:
                outs = kernel(*raw[:n], **dict(zip(self.arguments.names[n:], raw[n:])))
        except Exception as error:
            self.fail(error, raw)
        if self.has_one_result:
            return self.lay_out(result_array(outs, xp, half))
        rounded: cython.Py_ssize_t = self.rule.rounded
        return self.lay_out(
            [result_array(out, xp, half if number < rounded else None) for number, out in enumerate(outs)]
        )

    def lay_out(self, outs):
        """The result or the list of results, row by row in memory if the rule says so."""
        if not self.lies_in_rows:
            return outs
        return in_rows(outs) if self.has_one_result else [in_rows(out) for out in outs]

    def by_program(self, raw: list):
        """The result for small plain arrays and numbers by a program, or None."""
        first = raw[0]
        if type(first) is not _ndarray:
            return None
        for value in raw:
            if type(value) is _ndarray:
                if is_large(value):
                    return None
            elif type(value) is not float and type(value) is not int:
                if self.plain is not None or not (value is None or type(value) is bool or type(value) is str):
                    return None
        if self.plain is not None:
            flat = self.plain.flat_for(first)
            return self.plain.attempt(raw, False) if flat is None else flat.several(raw, False, False)
        flat = self.fused_call.last_program(raw)
        if flat is not None:
            return flat.several(inputs_among(raw, self.fused_call.numbers), False, False)
        parameters = [None if type(value) is _ndarray else value for value in raw]
        with cython.critical_section(self):
            before: list = self.parameters
            self.parameters = parameters
        if parameters != before:
            # a number that changes from call to call would need a program each time
            return None
        out = self.fused_call.attempt(raw, False)
        self.repeats = out is not None or self.fused_call.flat_for(first) is not None
        return out

    def on_one_device(self, raw, xp, model):
        """The arguments with all arrays on the device of one of them, or RuntimeError."""
        on_device = list(raw)
        for position in self.arguments.array_positions:
            value = on_device[position]
            if position == self.arguments.sequence:
                on_device[position] = [xp.beside(member, model, True) for member in value]
            else:
                on_device[position] = xp.beside(value, model, position in self.arguments.inputs)
        return on_device

    def has_large(self, raw):
        """True if one of the arrays is large."""
        position: cython.Py_ssize_t
        for position in self.arguments.array_positions:
            if position == self.arguments.sequence:
                return any([is_large(member) for member in raw[position]])
            if is_large(raw[position]):
                return True
        return False

    def other_than_numpy(self, raw):
        """The array whose library runs the operation, or None for NumPy.

        It is the first array of another library. An array that holds arrays of other libraries, as a batched array
        does, comes before it.
        """
        first = None
        position: cython.Py_ssize_t
        for position in self.arguments.array_positions:
            value = raw[position]
            if type(value) is _ndarray or value is None or type(value) is float or type(value) is int:
                continue
            for member in value if position == self.arguments.sequence else (value,):
                if type(member) is _ndarray or not (type(member) in _array_types or is_array(member)):
                    continue
                _array_types.add(type(member))
                if holds_arrays(member):
                    return member
                if first is None:
                    first = member
        return first

    def fail(self, error, raw):
        """Raise a kernel's error, explained where that can be."""
        if isinstance(error, MemoryError):
            raise error
        better = error_of_kernel(self.rule, self.arguments.names, error, raw)
        if better is error:
            raise error
        raise better from error


def in_rows(array):
    """The array, or a copy of it, that lies in memory row by row."""
    if cython.compiled and type(array) is _ndarray:
        return array if adj_lies_in_rows(array) else array.copy()
    return row_major(array)


def same_members(values: list, others: list, sequence: cython.Py_ssize_t):
    """True if two lists of arguments hold the same objects, also in the argument that is a sequence."""
    i: cython.Py_ssize_t
    for i in range(len(values)):
        if i == sequence:
            if not same_members(list(values[i]), list(others[i]), -1):
                return False
        elif values[i] is not others[i]:
            return False
    return True


def result_array(out, xp, half):
    """A kernel's result as an array of the right type."""
    if type(out) is not _ndarray and (isinstance(out, numpy.generic) or not is_array(out)):
        out = xp.asarray(out)
    if half is not None and numpy_dtype(out.dtype) == _FLOAT32:
        out = astype(out, half)
    return out
