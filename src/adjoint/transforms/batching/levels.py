"""vmap at each operation: arrays with a hidden batch axis, and kernels on them.

A `BatchedKernel` runs the batch forms of `adjoint.rules.derive.batch` by positions instead of names, if they only put
the batch axis in front of all operands and shift axis parameters. It passes all others to a function.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

import numpy

from adjoint.core.recorded import raw_ops
from adjoint.rules.derive import core_ranks

if not cython.compiled:
    # the compiled form has them from the .pxd
    from adjoint.core.graph import dtype_of, shape_of
    from adjoint.core.modes.state import ThreadState, current

_ndarray = numpy.ndarray
_ALL = slice(None)
_NUMBERS = frozenset((int, float, bool, complex, type(None)))
_ABSENT = object()
numpy_ops = raw_ops(numpy.zeros(0))
#: The ways to prepare the operands of a whole batch for one run, by the batching of the rule.
_OTHER, _ALIGNED, _AXES = range(3)
_WAYS = {"align": _ALIGNED, "core": _ALIGNED, "axes": _AXES}

ESCAPED = (
    "Either your tensor may have escaped from inside a function being vmapped and this is a user error, or it is used "
    "after the mapping has ended: return it from the function instead."
)

# arrays ---------------------------------------------------------------------------------------------------------------


@cython.cclass
class BatchedBase:
    """All members of a batch, seen as one of them.

    data: an array with the batch axis in front, perhaps batched at lower levels itself.
    """

    def __init__(self, level, data) -> None:
        self.level = level
        self.data = data

    @property
    def batches(self):
        """Level and size of each batch, the outermost first."""
        return ((self.level, self.data.shape[0]), *batches_of(self.data))

    @property
    def underlying(self):
        """The array that holds all members of all batches."""
        data = self.data
        while isinstance(data, BatchedBase):
            data = cython.cast(BatchedBase, data).data
        return data

    @property
    def shape(self):
        """The shape of a member."""
        data = self.data
        return shape_of(data)[1:] if type(data) is _ndarray else data.shape[1:]

    @property
    def ndim(self):
        """The number of axes of a member."""
        return self.data.ndim - 1

    @property
    def dtype(self):
        """The data type."""
        data = self.data
        return dtype_of(data) if type(data) is _ndarray else data.dtype

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        return batched_array(self.level, self.data[(_ALL, *index)])


_kind = BatchedBase
_batched_ops = None


def set_kind(kind, ops):
    """Declare the class of batched arrays, which adds operators, and the operations on them."""
    global _kind, _batched_ops
    _kind, _batched_ops = kind, ops


def batched_array(level, data):
    """An array whose first axis is the batch of a level."""
    if cython.compiled:
        instance = cython.cast(object, instantiate(_kind, BatchedBase))
    else:
        instance = _kind.__new__(_kind)
    array: BatchedBase = instance
    array.level = level
    array.data = data
    return array


def batches_of(array):
    """The levels and sizes of all batch axes of an array; () for other arrays."""
    return array.batches if isinstance(array, BatchedBase) else ()


def check_alive(array):
    """Raise RuntimeError for the array of a tensor that escaped from a mapped function, outside of passes."""
    state: ThreadState = current()
    if state.run is not None or state.replaying:
        return
    while isinstance(array, BatchedBase):
        level = cython.cast(BatchedBase, array).level
        for batch in state.batches:
            if batch[0] == level:
                break
        else:
            raise RuntimeError(ESCAPED)
        array = cython.cast(BatchedBase, array).data


def strip_level(level, value):
    """An argument without one level, and where its batch axis is then (None: it has none); lists for a sequence."""
    if isinstance(value, BatchedBase):
        array: BatchedBase = value
        return (array.data, 0) if array.level == level else (value, None)
    if isinstance(value, (list, tuple)):
        pairs = [strip_level(level, member) for member in value]
        return [data for data, _ in pairs], [dim for _, dim in pairs]
    return value, None


# kernels --------------------------------------------------------------------------------------------------------------


@cython.final
@cython.cclass
class BatchedKernel:
    """The kernel of an operation on operands of which some may be batched.

    operands: the positions of arrays in the signature. core: the number of core axes of each.
    levels: a `BatchLevel` for each number, the argument of whole batch forms. others: the batch form for operations
    that the ways of this class do not cover; it takes (level, arguments by name).
    is_joint: the operands broadcast, so the axes of all levels can be put in front at once.
    """

    def __init__(self, rule, levels, others) -> None:
        self.rule = rule
        self.__name__ = self.name = rule.name
        self.names = rule.names
        self.n_positional = len(rule.positional)
        self.defaults = tuple([_ABSENT if p.default is p.empty else p.default for p in rule.parameters])
        self.operands = tuple([i for i, name in enumerate(self.names) if name in rule.inputs + rule.constants])
        self.constants = frozenset([self.names.index(name) for name in rule.constants])
        self.sequence = -1 if rule.sequence is None else self.names.index(rule.sequence)
        self.axes = tuple([self.names.index(name) for name in rule.axes])
        self.new_axes = tuple([self.names.index(name) for name in rule.new_axes])
        self.way = _WAYS.get(rule.batching, _OTHER)
        self.core = None
        if self.way == _ALIGNED:
            ranks = core_ranks(rule) if rule.batching == "core" else {}
            self.core = tuple([ranks.get(self.names[position], 0) for position in self.operands])
        self.form = rule.batch_form
        self.needs = ()
        if self.form is not None:
            self.needs = tuple([-1 if name == "ndim" else self.names.index(name) for name in self.form.needs])
        self.returns_one = rule.outputs is None
        self.levels = levels
        self.others = others
        is_declared = rule.batch_kernel is not None or self.form is not None
        self.is_joint = rule.batching == "align" and not is_declared and self.returns_one and self.sequence < 0

    def __call__(self, *args, **kwargs):
        if self.is_joint:
            result = joint(self.name, args, kwargs)
            if result is not None:
                return result
        values = self.bind(args, kwargs)
        level: cython.longlong = self.level_of(values)
        if level == 0:
            return getattr(self.ops_of(values), self.name)(*args, **kwargs)
        return self.at_level(values, level)

    def bind(self, args: tuple, kwargs: dict):
        """The arguments in the order of the signature."""
        values: list = list(args)
        i: cython.Py_ssize_t
        for i in range(len(values), len(self.names)):
            value = kwargs.get(self.names[i], self.defaults[i]) if kwargs else self.defaults[i]
            if value is _ABSENT:
                raise TypeError(f"{self.name}() is missing the argument {self.names[i]!r}")
            values.append(value)
        return values

    def level_of(self, values: list):
        """The highest level among the operands, 0 if none is batched."""
        level: cython.longlong = 0
        for position in self.operands:
            value = values[position]
            if isinstance(value, BatchedBase):
                level = max(level, cython.cast(BatchedBase, value).level)
            elif position == self.sequence:
                for member in value:
                    if isinstance(member, BatchedBase):
                        level = max(level, cython.cast(BatchedBase, member).level)
        return level

    def ops_of(self, values: list):
        """The operations for operands without batches."""
        for position in self.operands:
            for value in values[position] if position == self.sequence else (values[position],):
                if hasattr(value, "ndim"):
                    return raw_ops(value)
        return numpy_ops

    def at_level(self, values: list, level: cython.longlong):
        """The batch form of the operation over the members of one level."""
        if self.rule.batch_kernel is not None and not self.is_empty(values, level):
            result = self.rule.batch_kernel(self.levels[level], **dict(zip(self.names, values)))
            if result is not NotImplemented:
                return result
        if self.way != _OTHER:
            result = self.in_one_run(values, level)
            if result is not NotImplemented:
                return result
        return self.others(level, dict(zip(self.names, values)))

    def is_empty(self, values: list, level: cython.longlong) -> bool:
        """True if the batch of a level has no members."""
        for position in self.operands:
            for value in values[position] if position == self.sequence else (values[position],):
                is_own: cython.bint = isinstance(value, BatchedBase) and cython.cast(BatchedBase, value).level == level
                if is_own and not cython.cast(BatchedBase, value).data.shape[0]:
                    return True
        return False

    def in_one_run(self, values: list, level: cython.longlong):
        """The operation on the data of one level, with arguments for one axis more; NotImplemented where that fails."""
        data: list = list(values)
        is_batched: list = []
        model = None
        size = None
        is_inner: cython.bint = False
        for position in self.operands:
            value = values[position]
            if position == self.sequence:
                members = [strip_level(level, member) for member in value]
                data[position] = [member for member, _ in members]
                arrays = data[position]
                flags = [dim is not None for _, dim in members]
            else:
                is_own: cython.bint = isinstance(value, BatchedBase) and cython.cast(BatchedBase, value).level == level
                if is_own:
                    value = data[position] = cython.cast(BatchedBase, value).data
                flags = is_own
                arrays = (value,)
            for n, array in enumerate(arrays):
                if isinstance(array, BatchedBase):
                    is_inner = True
                elif model is None and hasattr(array, "ndim"):
                    model = array
                if size is None and (flags[n] if position == self.sequence else flags):
                    size = array.shape[0]
            is_batched.append(flags)
        first = data[self.operands[0]]
        is_own = is_batched[0]
        if self.operands[0] == self.sequence:
            first, is_own = first[0], is_batched[0][0]
        ndim: cython.Py_ssize_t = (first.ndim if hasattr(first, "ndim") else 0) - is_own
        fits: cython.bint = (
            self.align(data, is_batched) if self.way == _ALIGNED else self.shift(data, is_batched, size, ndim)
        )
        ops = _batched_ops if is_inner else raw_ops(model)
        if not fits or (self.form is not None and not self.reform(ops, data, size, ndim)):
            return NotImplemented
        n = self.n_positional
        kernel = getattr(ops, self.name)
        if n == len(data):
            result = kernel(*data)
        else:
            result = kernel(*data[:n], **dict(zip(self.names[n:], data[n:])))
        if self.returns_one:
            return batched_array(level, result)
        return tuple([batched_array(level, part) for part in result])

    def align(self, data: list, is_batched: list):
        """Axes of size 1 behind the batch axis, until operands have equal ranks in front of their core axes."""
        ranks: list = []
        highest: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        for i in range(len(self.operands)):
            value = data[self.operands[i]]
            rank: cython.Py_ssize_t = 0
            if hasattr(value, "ndim"):
                rank = value.ndim - is_batched[i] - self.core[i]
                if rank < 0:
                    return False
                highest = max(highest, rank)
            ranks.append(rank)
        for i in range(len(self.operands)):
            if is_batched[i] and ranks[i] != highest:
                position = self.operands[i]
                data[position] = data[position][(_ALL, *(None,) * (highest - ranks[i]))]
        return True

    def shift(self, data: list, is_batched: list, size, ndim: cython.Py_ssize_t):
        """Puts the batch axis on all inputs and shifts axis parameters; False if a constant has the batch axis."""
        if ndim == 0 and self.axes:
            # arrays without axes are treated as vectors when dim is given
            return False
        i: cython.Py_ssize_t
        for position in self.axes:
            dim = self.shift_dims(data[position], self.defaults[position], ndim)
            if dim is NotImplemented:
                return False
            data[position] = dim
        for position in self.new_axes:
            dim = self.shift_dims(data[position], self.defaults[position], ndim + 1)
            if dim is NotImplemented:
                return False
            data[position] = dim
        for i in range(len(self.operands)):
            position = self.operands[i]
            if position in self.constants:
                if is_batched[i]:
                    return False
            elif position == self.sequence:
                data[position] = [
                    member if is_own else on_all(member, size) for member, is_own in zip(data[position], is_batched[i])
                ]
            elif not is_batched[i]:
                data[position] = on_all(data[position], size)
        return True

    def shift_dims(self, dim, default, n: cython.Py_ssize_t):
        """An axis parameter for arrays with one axis more in front; NotImplemented where it is none of a member."""
        if dim is None or (dim == () and (default is None or default == ())):
            if self.form is not None:
                return dim
            dim = tuple(range(n))
        if type(dim) is int:
            return shifted_axis(dim, n)
        if not isinstance(dim, (tuple, list)) or not dim:
            # an empty dim may mean all axes
            return NotImplemented
        axes = tuple([shifted_axis(d, n) for d in dim])
        return NotImplemented if NotImplemented in axes else axes

    def reform(self, ops, data: list, size, ndim: cython.Py_ssize_t):
        """The other arguments as the rule says; False if it refuses."""
        needs = [ndim if position < 0 else data[position] for position in self.needs]
        changed = self.form.call(ops, size, *needs)
        if changed is None:
            return False
        for name, value in changed.items():
            data[self.names.index(name)] = value
        return True


def shifted_axis(dim, n: cython.Py_ssize_t):
    """An axis counted from the front behind one axis more; NotImplemented where there is none."""
    if type(dim) is not int or not -n <= dim < n:
        return NotImplemented
    return dim % n + 1


def on_all(array, size):
    """An array repeated along a batch axis in front."""
    return raw_ops(array).expand(array, (size, *array.shape)) if hasattr(array, "shape") else array


def joint(name, args: tuple, options: dict):
    """An operation whose operands broadcast, for all levels at once; None for other arrays than NumPy's.

    The axes of the levels, from the lowest on, precede the axes of a member. If an operand lacks a level below one that
    it has, it gets an axis of size 1 there.
    """
    operands: list = []
    operand_levels: list = []
    rank: cython.Py_ssize_t = 0
    ndim: cython.Py_ssize_t
    every: tuple = ()
    levels: tuple
    for value in args:
        levels = ()
        while isinstance(value, BatchedBase):
            levels = (cython.cast(BatchedBase, value).level, *levels)
            value = cython.cast(BatchedBase, value).data
        if type(value) is _ndarray:
            ndim = value.ndim - len(levels)
            rank = max(rank, ndim)
            if levels and levels != every:
                every = tuple(sorted({*every, *levels})) if every else levels
        elif type(value) not in _NUMBERS and hasattr(value, "ndim"):
            return None
        operands.append(value)
        operand_levels.append(levels)
    if not every:
        return None
    for value in options.values():
        if type(value) not in _NUMBERS and hasattr(value, "ndim"):
            return None
    i: cython.Py_ssize_t
    for i in range(len(operands)):
        levels = operand_levels[i]
        value = operands[i]
        if levels and (levels != every or value.ndim - len(levels) != rank):
            axes = [_ALL if level in levels else None for level in every if level >= levels[0]]
            operands[i] = value[(*axes, *(None,) * (rank - value.ndim + len(levels)))]
    result = getattr(numpy_ops, name)(*operands, **options)
    for level in every:
        result = batched_array(level, result)
    return result
