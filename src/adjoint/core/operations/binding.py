"""Arguments of an operation are bound to the names of its signature, checked and converted for kernels."""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

import inspect
import warnings

import numpy

from adjoint.arrays.namespace import is_array
from adjoint.arrays.shapes import normalize_dims
from adjoint.core import errors
from adjoint.core.graph import registry
from adjoint.core.holders import tensor_of_array
from adjoint.core.operations.arguments import INTERNAL, explanation
from adjoint.core.operations.dependence import check_kept

if not cython.compiled:
    # the compiled form has them from the .pxd
    from adjoint.core.graph import TensorBase, dtype_of, ndim_of
    from adjoint.core.modes.state import current

_REQUIRED = inspect.Parameter.empty
_ndarray = numpy.ndarray
_FLOAT32, _FLOAT64 = numpy.dtype("float32"), numpy.dtype("float64")
_LARGEST_SINGLE = float(numpy.finfo(numpy.float32).max)
_INFINITY = float("inf")
#: Whole numbers up to here are numbers of double precision.
_EXACT = 1 << 53
_ALIASES = {"axis": "dim", "axes": "dims", "keepdims": "keepdim", "self": "input", "x": "input", "a": "input"}


@cython.final
@cython.cclass
class Arguments:
    """The signature of an operation; it binds, checks and converts the arguments of calls.

    All fields below hold positions in the signature.

    inputs: arguments that may need a gradient.
    array_positions: the inputs and constant arrays.
    sequence: the argument that is a sequence of tensors; -1 for none.
    spread: the argument that takes all further positional arguments; -1 for none.
    number_positions: arguments that are converted to Python numbers. strict_positions: arguments that must be numbers.
    other_positions: all other arguments.
    axes, new_axes: arguments that count axes.
    scalar_positions: inputs that may be numbers.
    is_checked_by_type: `plain` and `whole` arguments may need no call of the rule's check.
    needs_types_only: they need no further check at all.
    passed_kinds: kinds of dtypes (NumPy's letters); arrays of one such dtype pass the rule's check.
    n_typed: the number of leading arrays that must have that dtype.
    """

    def __init__(self, rule):
        self.rule = rule
        self.check = rule.check
        self.name = rule.name
        self.names = rule.names
        self.n_names = len(self.names)
        self.defaults = tuple([p.default for p in rule.parameters])
        self.n_positional = len([p for p in rule.parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY])
        self.inputs = tuple([self.names.index(n) for n in rule.inputs])
        self.n_inputs = len(self.inputs)
        self.first_input = self.inputs[0] if self.inputs else -1
        self.array_positions = tuple([self.names.index(n) for n in rule.inputs + rule.constants])
        self.strict_positions = tuple([self.names.index(n) for n in rule.numbers])
        self.number_positions = self.strict_positions + tuple([self.names.index(n) for n in rule.numbers_or_others])
        self.sequence = -1 if rule.sequence is None else self.names.index(rule.sequence)
        self.spread = -1 if rule.spread is None else self.names.index(rule.spread)
        self.takes_numbers = rule.scalars
        self.has_axes = bool(rule.axes or rule.new_axes)
        self.axes = tuple([self.names.index(n) for n in rule.axes])
        self.new_axes = tuple([self.names.index(n) for n in rule.new_axes])
        others = self.array_positions + self.number_positions + self.axes + self.new_axes
        self.other_positions = tuple([position for position in range(self.n_names) if position not in others])
        inputs = rule.inputs if rule.scalars is True else rule.scalars or ()
        self.scalar_positions = tuple([self.names.index(n) for n in inputs])
        self.passed_kinds = "biuf" if rule.check is None else getattr(rule.check, "passed_kinds", "")
        self.n_typed = self.n_inputs if getattr(rule.check, "looks_at_inputs", False) else len(self.array_positions)
        # without a check, the look at each argument costs no more than that at their types
        self.is_checked_by_type = rule.check is not None and bool(self.passed_kinds) and self.sequence < 0
        self.needs_types_only = self.is_checked_by_type and not self.has_axes

    def bind(self, args, kwargs):
        """The arguments in the order of the signature; `view(2, 3)` and `view((2, 3))` are the same."""
        # a list is the caller's own, made for this call
        values: list = args if type(args) is list else list(args)
        n: cython.Py_ssize_t = self.n_names
        n_given: cython.Py_ssize_t = len(values)
        spread: cython.Py_ssize_t = self.spread
        if spread >= 0 and len(values) > spread:
            first = values[spread]
            if len(values) > spread + 1 or not (first is None or isinstance(first, (tuple, list))):
                rest = tuple(values[spread:])
                del values[spread:]
                values.append(rest)
        if len(values) == n > self.n_positional:
            values = self.factor_last(values)
        if len(values) > n:
            raise TypeError(f"{self.name}() takes {n} arguments ({', '.join(self.names)}) but {len(values)} were given")
        n_keywords: cython.Py_ssize_t = 0
        for i in range(len(values), n):
            name = self.names[i]
            if kwargs:
                if name in kwargs:
                    values.append(kwargs[name])
                    n_keywords += 1
                    continue
                alias = alias_of(name, kwargs, self.names)
                if alias is not None:
                    values.append(kwargs[alias])
                    n_keywords += 1
                    continue
            default = self.defaults[i]
            if default is _REQUIRED:
                raise TypeError(f'{self.name}() missing 1 required positional arguments: "{name}"')
            values.append(default)
        if kwargs and n_keywords != len(kwargs):
            raise TypeError(unexpected_keyword(self.name, self.names, n_given, kwargs))
        return values

    def factor_last(self, values):
        """Arguments as older programs gave them, add(input, alpha, other), in the order of the signature."""
        last: cython.Py_ssize_t = self.n_names - 1
        if not (isinstance(values[1], (bool, int, float, complex)) and isinstance(values[last], TensorBase)):
            return values
        factor = self.names[last]
        message = f"{self.name}() with {factor} in second place is deprecated: give it last and by name, {factor}="
        warnings.warn(message, DeprecationWarning, stacklevel=1)  # compiled functions are no frames
        return [values[0], *values[2:], values[1]]

    def plain(self, values: list):
        """True for arrays of NumPy's of one floating type, and numbers of Python's that this type holds."""
        first = None
        single: cython.bint = False
        k: cython.Py_ssize_t
        position: cython.Py_ssize_t
        for k in range(len(self.array_positions)):
            position = self.array_positions[k]
            value = values[position]
            if isinstance(value, TensorBase):
                array = cython.cast(TensorBase, value)._array
                if type(array) is not _ndarray:
                    return False
                if k >= self.n_typed:
                    continue
                dtype = dtype_of(array)
                if first is None:
                    if dtype is not _FLOAT64 and dtype is not _FLOAT32:
                        return False
                    first = dtype
                    single = dtype is _FLOAT32
                elif dtype is not first:
                    return False
        if first is None:
            return False
        for position in self.array_positions:
            value = values[position]
            if isinstance(value, TensorBase) or (value is None and self.defaults[position] is None):
                continue
            if position not in self.scalar_positions or not is_held(value, single):
                return False
        for position in self.number_positions:
            if not is_held(values[position], single):
                return False
        return True

    def passes(self, values: list):
        """True for arguments that the rule's check passes, as their types tell."""
        return ("f" in self.passed_kinds and self.plain(values)) or self.whole(values)

    def whole(self, values: list):
        """True for arrays of NumPy's of one type of integers or bools that the rule's check passes, without numbers."""
        first = None
        k: cython.Py_ssize_t
        position: cython.Py_ssize_t
        for k in range(len(self.array_positions)):
            position = self.array_positions[k]
            value = values[position]
            if not isinstance(value, TensorBase):
                return False
            array = cython.cast(TensorBase, value)._array
            if type(array) is not _ndarray:
                return False
            if k >= self.n_typed:
                continue
            dtype = dtype_of(array)
            if first is None:
                if not is_whole(dtype) or dtype.kind not in self.passed_kinds:
                    return False
                first = dtype
            elif dtype is not first:
                return False
        for position in self.number_positions:
            if values[position] is not self.defaults[position]:
                return False
        return first is not None

    def prepare(self, values):
        """Wrap raw arrays, refuse other objects, count axes from the front, let the rule check the rest."""
        if self.needs_types_only and self.passes(values):
            return values
        if self.sequence >= 0:
            values[self.sequence] = self.sequence_of_tensors(values[self.sequence])
        first = None
        position: cython.Py_ssize_t
        for position in self.array_positions:
            value = values[position]
            if isinstance(value, TensorBase):
                first = value if first is None else first
            elif position == self.sequence:
                first = value[0] if value else None
            elif (value is None and self.defaults[position] is None) or (
                (type(value) is float or type(value) is int) and position in self.scalar_positions
            ):
                continue
            elif is_array(value):
                values[position] = tensor_of_array(value)
                first = values[position] if first is None else first
            elif position in self.scalar_positions and isinstance(value, numpy.generic):
                values[position] = value.item()  # a number like Python's, whose dtype does not count
            elif not (position in self.scalar_positions and isinstance(value, (bool, int, float, complex))):
                raise TypeError(errors.must_be_tensor(self.name, self.names[position], position, value))
        if first is None and self.array_positions and self.sequence < 0:
            position = self.array_positions[0]
            raise TypeError(errors.must_be_tensor(self.name, self.names[position], position, values[position]))
        for position in self.number_positions:
            kind = type(values[position])  # NumPy's float64 is a float too, and would decide the dtype
            if not (kind is float or kind is int or kind is bool or kind is complex):
                values[position] = self.number(position, values[position])
        for position in self.other_positions:
            value = values[position]
            if value is not None and not isinstance(value, (bool, int, tuple)) and isinstance(value, numpy.generic):
                values[position] = value.item()
        if self.has_axes and first is not None:
            counted = cython.cast(TensorBase, first)._array
            ndim: cython.int = ndim_of(counted) if type(counted) is _ndarray else counted.ndim
            for position in self.axes:
                dim = values[position]
                if dim is not None and not (type(dim) is int and 0 <= dim < ndim):
                    values[position] = counted_from_front(dim, ndim)
            for position in self.new_axes:
                values[position] = counted_from_front(values[position], ndim + 1)
        if self.check is not None and not (self.has_axes and self.is_checked_by_type and self.passes(values)):
            try:
                self.check(*values)
            except INTERNAL as error:
                by_name = dict(zip(self.names, values, strict=True))
                better = explanation(registry.signature_of(self.rule), self.name, (), by_name, error)
                if better is None:
                    raise
                raise better from error
        return values

    def number(self, position: cython.int, value):
        """A parameter as a Python number, also where it is NumPy's or a tensor of one element and no dimension."""
        if isinstance(value, numpy.generic):
            return value.item()
        if isinstance(value, TensorBase) and not (value._array.ndim or value.requires_grad):
            if current().dual_stack:
                check_kept(value, f"the number {self.names[position]}= of {self.name}()")
            return value.item()
        if isinstance(value, numpy.ndarray):
            if value.ndim == 0:
                return value.item()
            raise TypeError(errors.must_be_number(self.name, self.names[position], value))
        if position in self.strict_positions and (value is not None or self.defaults[position] is not None):
            raise TypeError(errors.must_be_number(self.name, self.names[position], value))
        return value

    def sequence_of_tensors(self, members):
        """The members of a sequence argument as Tensors."""
        if isinstance(members, TensorBase) or not isinstance(members, (tuple, list)):
            raise TypeError(
                f"{self.name}(): argument '{self.rule.sequence}' (position 1) must be tuple of Tensors, "
                f"not {type(members).__name__}"
            )
        result = []
        for i, member in enumerate(members):
            if not isinstance(member, TensorBase) and is_array(member):
                member = tensor_of_array(member)
            elif not isinstance(member, TensorBase):
                raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(member).__name__}")
            result.append(member)
        return tuple(result)


def counted_from_front(dims, ndim: cython.Py_ssize_t):
    """`normalize_dims`, with a fast path for one Python int within bounds, or a tuple of different ones."""
    axis: cython.Py_ssize_t
    if type(dims) is int and -ndim <= dims < ndim:
        axis = dims
        return axis + ndim if axis < 0 else axis
    if type(dims) is tuple and ndim < 64:
        axis_bits: cython.ulonglong = 0
        has_negative: cython.bint = False
        for dim in cython.cast(tuple, dims):
            if type(dim) is not int or not -ndim <= dim < ndim:
                return normalize_dims(dims, ndim)
            axis = dim
            if axis < 0:
                axis += ndim
                has_negative = True
            bit: cython.ulonglong = cython.cast(cython.ulonglong, 1) << axis
            if axis_bits & bit:
                return normalize_dims(dims, ndim)
            axis_bits |= bit
        return tuple([dim + ndim if dim < 0 else dim for dim in dims]) if has_negative else dims
    return normalize_dims(dims, ndim)


def is_whole(dtype):
    """True for NumPy's types of integers and bools."""
    return isinstance(dtype, numpy.dtype) and dtype.kind in "biu"


def is_held(value, single):
    """True for a number of Python's that double precision, or single precision, holds."""
    if type(value) is float:
        number: cython.double = value
        return not single or not _LARGEST_SINGLE < abs(number) < _INFINITY
    return type(value) is int and -_EXACT <= value <= _EXACT


def alias_of(name, kwargs, names):
    """The keyword of a call that is NumPy's name for the parameter `name` (axis for dim), or None."""
    for keyword in kwargs:
        if keyword not in names and _ALIASES.get(keyword) == name:
            return keyword
    return None


def unexpected_keyword(operation, names, n_given, kwargs):
    """The error for keywords that name no parameter."""
    for keyword in kwargs:
        if keyword in names and names.index(keyword) < n_given:
            return f"{operation}() got multiple values for argument '{keyword}'"
    for keyword in kwargs:
        if keyword not in names and _ALIASES.get(keyword) not in names[n_given:]:
            return f"{operation}() got an unexpected keyword argument '{keyword}'; it takes {', '.join(names)}"
    return f"{operation}() got one argument under two names: {', '.join(kwargs)}"
