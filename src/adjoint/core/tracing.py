"""From a kernel or formula to a `Program`: the function is called once with placeholders that note what it does.

What can be traced is elementwise work on real arrays: operators, ufuncs, declared elementwise operations and `where`.
A function that looks at shapes or values, or calls anything else, raises `Untraceable` and keeps running as it is.
"""

import numpy

from adjoint.arrays.loops import FLOAT, PICK, TRUTH, Program, max_temporaries
from adjoint.arrays.namespace import namespace

#: So many programs for different numbers one operation or formula may have.
MAX_PROGRAMS = 64
#: So many operands has a step of a program.
MAX_OPERANDS = 3

_FLOAT64 = numpy.dtype("float64")
_BOOL = numpy.dtype("bool")
_numpy = namespace(numpy.zeros(0))


class Untraceable(Exception):
    """What a function does cannot be noted as elementwise steps."""


class Trace:
    """The steps noted so far, as (ufunc or PICK, the `Value`s read)."""

    def __init__(self):
        self.steps = []

    def note(self, function, *operands):
        """Note one step; returns its result."""
        operands = tuple([self.operand(operand) for operand in operands])
        if function == PICK:
            kinds, result = [value.kind for value in operands[1:]], FLOAT
            if operands[0].kind != TRUTH or TRUTH in kinds:
                raise Untraceable("where() of truth values")
        else:
            kinds = {value.kind for value in operands}
            if len(operands) > MAX_OPERANDS:
                raise Untraceable(f"{function.__name__} of more operands than a step has")
            if len(kinds) != 1 or function.nin != len(operands) or function.nout != 1:
                raise Untraceable(f"{function.__name__} of operands of several types")
            result = result_kind(function, kinds.pop(), len(operands))
        value = Value(self, result)
        self.steps.append((function, operands, value))
        return value

    def operand(self, operand):
        """An operand as a `Value`: numbers are constants."""
        if isinstance(operand, Value):
            return operand
        if type(operand) in (int, float) and float(operand) == operand:
            return Value(self, FLOAT, float(operand))
        raise Untraceable(f"an operand {operand!r:.40}")


def result_kind(function, kind, n):
    """FLOAT or TRUTH: what a ufunc gives for operands of a kind."""
    given = "?" if kind == TRUTH else "d"
    for types in function.types:
        if types[:n] == given * n:
            found = {"?": TRUTH, "d": FLOAT}.get(types[-1])
            if found is not None:
                return found
    raise Untraceable(f"{function.__name__} has no loop that is known here")


def binary(function):
    """An operator of two operands, and the same reflected."""

    def method(self, other):
        return self.trace.note(function, self, other)

    def reflected(self, other):
        return self.trace.note(function, other, self)

    return method, reflected


def unary(function):
    return lambda self: self.trace.note(function, self)


class Value:
    """The placeholder of an array, or a constant."""

    def __init__(self, trace, kind, constant=None):
        self.trace = trace
        self.kind = kind
        self.constant = constant

    @property
    def dtype(self):
        return _FLOAT64 if self.kind == FLOAT else _BOOL

    __add__, __radd__ = binary(numpy.add)
    __sub__, __rsub__ = binary(numpy.subtract)
    __mul__, __rmul__ = binary(numpy.multiply)
    __truediv__, __rtruediv__ = binary(numpy.divide)
    __lt__, _ = binary(numpy.less)
    __le__, _ = binary(numpy.less_equal)
    __gt__, _ = binary(numpy.greater)
    __ge__, _ = binary(numpy.greater_equal)
    __eq__, _ = binary(numpy.equal)
    __ne__, _ = binary(numpy.not_equal)
    __and__, __rand__ = binary(numpy.logical_and)
    __or__, __ror__ = binary(numpy.logical_or)
    __neg__ = unary(numpy.negative)
    __abs__ = unary(numpy.absolute)
    __invert__ = unary(numpy.logical_not)
    __hash__ = None

    def __pow__(self, exponent):
        # the same loops as NumPy's operator picks
        quick = _POWERS.get(exponent) if type(exponent) in (int, float) else None
        if exponent == 1 and quick is not None:
            return self
        return self.trace.note(numpy.power, self, exponent) if quick is None else self.trace.note(quick, self)

    def __rpow__(self, base):
        return self.trace.note(numpy.power, base, self)

    def __array_ufunc__(self, function, method, *operands, **options):
        if method != "__call__" or options:
            raise Untraceable(f"{function.__name__} with options")
        return self.trace.note(function, *operands)

    def __array__(self, *args, **kwargs):
        raise Untraceable("a conversion")

    def __bool__(self):
        raise Untraceable("a choice by value")

    def __getattr__(self, name):
        if name.startswith("_"):
            # as of an array, which has no attributes of a Tensor
            raise AttributeError(name)
        raise Untraceable(f"the attribute {name}")


_POWERS = {2: numpy.square, 1: numpy.positive, -1: numpy.reciprocal, 0.5: numpy.sqrt}


class Traced:
    """Stands for an array namespace, or with a table of operations for `ops`: what it gives notes its steps."""

    def __init__(self, trace, operations=None):
        self._trace = trace
        self._operations = operations

    def __getattr__(self, name):
        trace = self._trace
        if name == "where":
            return lambda *operands: trace.note(PICK, *operands)
        if self._operations is None:
            return getattr(_numpy, name)
        operation = self._operations[name]
        if not operation.elementwise:
            raise Untraceable(name)
        return operation.rule.kernel(Traced(trace))


class Itself:
    """An argument that stands for itself, None too."""

    def __init__(self, value):
        self.value = value


def traced(function, arguments, operations=None):
    """The program of a function of (namespace, *arguments), or None.

    arguments: None for an array or number that the program is given when it runs; anything else stands for itself, in
        an `Itself` or not.
    operations: the table of declared operations, if the namespace is that of formulas.
    """
    if not max_temporaries:
        return None
    trace = Trace()
    inputs = [Value(trace, FLOAT) for argument in arguments if argument is None]
    places = iter(inputs)
    filled = [next(places) if argument is None else argument for argument in arguments]
    filled = [argument.value if isinstance(argument, Itself) else argument for argument in filled]
    try:
        result = function(Traced(trace, operations), *filled)
        if not isinstance(result, Value) or result.kind != FLOAT:
            return None
        return assembled(trace, inputs, result)
    except (Untraceable, ArithmeticError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError):
        return None


def assembled(trace, inputs, result):
    """The program of what was noted: steps that lead to the result, temporaries shared as soon as they are free."""
    needed = {id(result)}
    steps = []
    for step in reversed(trace.steps):
        if id(step[2]) in needed:
            needed.update(map(id, step[1]))
            steps.append(step)
    steps.reverse()
    constants = []
    for _, operands, _ in steps:
        constants += [value for value in operands if value.constant is not None]
    numbers = list(dict.fromkeys([value.constant for value in constants]))
    registers = {id(value): k for k, value in enumerate(inputs)}
    registers |= {id(value): len(inputs) + numbers.index(value.constant) for value in constants}
    last_use = {id(value): k for k, (_, operands, _) in enumerate(steps) for value in operands}
    free, n_temporaries, places, coded = [], 0, {}, []
    for k, (function, operands, value) in enumerate(steps):
        place = -1
        if value is not result:
            if not free:
                free.append(n_temporaries)
                n_temporaries += 1
            place = places[id(value)] = free.pop()
        # what is read for the last time is free for the next step, not for this one's own result
        free += {places[id(operand)] for operand in operands if id(operand) in places and last_use[id(operand)] == k}
        coded.append((function, [registers[id(operand)] for operand in operands], operands[0].kind, value.kind, place))
        registers[id(value)] = len(inputs) + len(numbers) + k
    return Program(len(inputs), numbers, coded)
