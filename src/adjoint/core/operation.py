"""Running one operation and recording it: what stands between `x * y` and a node in the graph.

An `Operation` is made from a declared rule. What it records, plans and nodes, stands in `recorded.py`.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.arrays import _cython_shim as cython

import inspect
import warnings
from time import perf_counter_ns

import numpy

from adjoint.arrays.dtypes import is_half, kind_of, numpy_dtype
from adjoint.arrays.memory import with_kept_memory
from adjoint.arrays.namespace import astype, has_views, is_array, namespace, share_memory, underlying
from adjoint.arrays.once import warn_once
from adjoint.arrays.promotion import promote
from adjoint.arrays.shapes import normalize_dims
from adjoint.core import errors
from adjoint.core.dependence import check_kept

if not cython.compiled:
    # the compiled form has them from the .pxd
    from adjoint.arrays.crossovers import is_large
    from adjoint.core.graph import (
        Node,
        TensorBase,
        View,
        bump_version,
        counter_of,
        dtype_of,
        gradient_edge,
        has_shape,
        ndim_of,
        needs_grad,
        new_node,
        new_tensor,
        next_sequence_nr,
        shape_of,
        version_of,
    )
    from adjoint.core.in_place import check_current, check_writable, overwritten, rebase
    from adjoint.core.modes import ThreadState, current
    from adjoint.core.noting import Noter
    from adjoint.core.recorded import OpNode, Plan
from adjoint.core.graph import Tangents, registry
from adjoint.core.out_dtypes import check_out_dtype
from adjoint.core.recorded import derive_plan
from adjoint.core.results import results_type
from adjoint.program.fused import Fused

_ndarray = numpy.ndarray
_asarray = numpy.asarray
_REQUIRED = inspect.Parameter.empty
_ALIASES = {"axis": "dim", "axes": "dims", "keepdims": "keepdim", "self": "input", "x": "input", "a": "input"}

# ufuncs that are quicker as Python's operators
#: Parameters that are numbers; of the first ones every rule is told nothing else.
_FACTORS = frozenset(("alpha", "beta", "value"))
_NUMBERS = _FACTORS | {
    "n",
    "p",
    "eps",
    "decimals",
    "threshold",
    "maxnorm",
    "negative_slope",
    "correction",
    "delta",
}
_TIMES, _PLUS, _MINUS, _OVER = range(1, 5)
_SYMBOLS = {numpy.multiply: _TIMES, numpy.add: _PLUS, numpy.subtract: _MINUS, numpy.divide: _OVER}

_REAL = (numpy.dtype("float32"), numpy.dtype("float64"))
_FLOAT32, _FLOAT64 = _REAL
_numpy = namespace(numpy.zeros(0))


@cython.final
@cython.cclass
class Operation:
    """A declared operation that can be called on Tensors.

    Arguments are those of the rule's kernel after the namespace, under torch's names. Python numbers and raw arrays
    are taken where Tensors are; they are constants.
    """

    def __init__(self, rule):
        self.rule = rule
        self.name = rule.name
        self.names = rule.names
        self.n_names = len(self.names)
        self.defaults = tuple([p.default for p in rule.parameters])
        self.n_positional = len([p for p in rule.parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY])
        self.inputs = tuple([self.names.index(n) for n in rule.inputs])
        self.n_inputs = len(self.inputs)
        self.first_input = self.inputs[0] if self.inputs else -1
        self.array_places = tuple([self.names.index(n) for n in rule.inputs + rule.constants])
        parameters = [place for place in range(self.n_names) if place not in self.array_places]
        self.number_places = tuple([place for place in parameters if self.names[place] in _NUMBERS])
        self.other_places = tuple([place for place in parameters if self.names[place] not in _NUMBERS])
        self.sequence = -1 if rule.sequence is None else self.names.index(rule.sequence)
        self.spread = -1 if rule.spread is None else self.names.index(rule.spread)
        self.differentiable = rule.has_derivative
        self.differentiable_in_place = bool(rule.vjps)
        self.elementwise = rule.kind == "elementwise"
        self.takes_numbers = rule.scalars
        self.keeps_dtype = rule.dtypes == "any"
        self.has_axes = bool(rule.axes or rule.new_axes)
        self.axes = tuple([self.names.index(n) for n in rule.axes])
        self.new_axes = tuple([self.names.index(n) for n in rule.new_axes])
        self.is_view = rule.view
        tail = self.defaults[len(rule.inputs) :]
        self.fast = (
            len(rule.inputs) <= 2
            and self.names[: len(rule.inputs)] == rule.inputs
            and (not tail or rule.fast is not None)
            and self.sequence < 0
            and rule.outputs is None
            and not rule.view
            and (rule.check is None or rule.fast is not None or rule.native is not None)
        )
        self.tail = tail
        self.native = rule.native
        self.kernels = {}
        self.own_kernel = self.kernel_for(_numpy)
        self.numpy_kernel = self.own_kernel if rule.fast is None else getattr(_numpy, rule.fast)
        self.is_ufunc = isinstance(self.numpy_kernel, numpy.ufunc)
        self.symbol = _SYMBOLS.get(self.numpy_kernel, 0) if self.is_ufunc else 0
        self.fuses = self.fast and self.elementwise
        # kernels are traced with one or two arrays; with all arguments, some of them by name, where they differ
        self.fused = Fused(self.numpy_kernel, (), self.is_ufunc)
        same = rule.fast is None and self.n_positional == self.n_names
        self.fused_call = self.fused if same else Fused(self.own_kernel, self.names[self.n_positional :])
        self.plans = {}
        self.real_plans = [None] * 4
        # classes of nodes and of named results are made when they are first needed, which spares time at import
        self.node_type = None
        self.results = None
        self.node_types = {}
        self.ranked_types = [None] * 9
        self.__name__ = self.__qualname__ = self.name
        self.__doc__ = rule.doc or f"numpy.{getattr(self.numpy_kernel, '__name__', self.name)}, elementwise."
        if cython.compiled:
            let_be_called(self)

    @property
    def __signature__(self):
        # worked out when it is asked for, which spares time at import
        return registry.signature_of(self.rule)

    def __repr__(self):
        return f"<operation {self.name}({', '.join(self.names)})>"

    def kernel_for(self, xp):
        """The kernel bound to an array library's namespace."""
        kernel = self.kernels.get(xp)
        if kernel is None:
            kernel = self.kernels[xp] = self.rule.kernel(xp)
        return kernel

    # one or two plain arguments ---------------------------------------------------------------------------------------

    def unary(self, x):
        """The operation on one Tensor: no look-ups if it is a plain real one, else the general way."""
        if not isinstance(x, TensorBase):
            return self.apply([x, *self.tail])
        tensor: TensorBase = x
        state: ThreadState = current()
        array = tensor._array
        if state.unusual:
            return self.noted([x])
        if type(array) is not _ndarray:
            return self.apply([x, *self.tail])
        dtype = dtype_of(array)
        if dtype is not _FLOAT32 and dtype is not _FLOAT64:
            return self.apply([x, *self.tail])
        if is_large(array):
            out = with_kept_memory(self.compute_one, (array,))
        else:
            out = self.compute_one(array)
        result: TensorBase = new_tensor(out)
        if self.differentiable and state.grad_enabled and needs_grad(tensor):
            self.record_quick(tensor, None, self.real_plan(1), out, result)
        return result

    def binary(self, x, y):
        """The operation on two Tensors of the same plain type, or one and a number; else the general way."""
        a: TensorBase
        b: TensorBase
        mask: cython.int = 0
        state: ThreadState = current()
        if state.unusual:
            return self.noted([x, y])
        if isinstance(x, TensorBase):
            a = x
            left = a._array
            if type(left) is not _ndarray:
                return self.apply([x, y, *self.tail])
            dtype = dtype_of(left)
            if dtype is not _FLOAT32 and dtype is not _FLOAT64:
                return self.apply([x, y, *self.tail])
            if isinstance(y, TensorBase):
                b = y
                right = b._array
                if type(right) is not _ndarray or dtype_of(right) is not dtype:
                    return self.apply([x, y, *self.tail])
                if state.grad_enabled:
                    mask = needs_grad(a) | (needs_grad(b) << 1)
            elif self.takes_numbers and (type(y) is float or type(y) is int):
                right = y
                if state.grad_enabled:
                    mask = needs_grad(a)
            else:
                return self.apply([x, y, *self.tail])
        elif self.takes_numbers and (type(x) is float or type(x) is int) and isinstance(y, TensorBase):
            b = y
            left, right = x, b._array
            if type(right) is not _ndarray:
                return self.apply([x, y, *self.tail])
            dtype = dtype_of(right)
            if dtype is not _FLOAT32 and dtype is not _FLOAT64:
                return self.apply([x, y, *self.tail])
            if state.grad_enabled:
                mask = needs_grad(b) << 1
        else:
            return self.apply([x, y, *self.tail])
        if is_large(left) or is_large(right):
            out = with_kept_memory(self.compute_two, (left, right))
        else:
            out = self.compute_two(left, right)
        if out is None:
            return self.apply([x, y, *self.tail])
        result: TensorBase = new_tensor(out)
        if mask and self.differentiable:
            self.record_quick(x, y, self.real_plan(mask), out, result)
        return result

    def compute_one(self, array):
        """The result for one plain array: by a native kernel, by a program, or by the kernel."""
        out = None
        if self.native is not None and not is_large(array):
            out = self.native.one(array)
        elif self.fuses or is_large(array):
            out = self.fused.one(array, False)
        if out is None:
            out = self.numpy_kernel(array)
        return out if type(out) is _ndarray else _asarray(out)

    def compute_two(self, left, right):
        """The result for two plain arrays, or one and a number; None where a native kernel is not for them."""
        if self.native is not None:
            return self.native.two(left, right)
        try:
            if self.fuses or is_large(left) or is_large(right):
                out = self.fused.two(left, right, False)
                if out is not None:
                    return out
            if self.symbol == _TIMES:
                out = left * right
            elif self.symbol == _PLUS:
                out = left + right
            elif self.symbol == _MINUS:
                out = left - right
            elif self.symbol == _OVER:
                out = left / right
            else:
                out = self.numpy_kernel(left, right)
        except Exception as error:
            self.fail(error, [left, right])
        return out if type(out) is _ndarray else _asarray(out)

    # calls and their arguments ----------------------------------------------------------------------------------------

    def __call__(self, /, *args, **kwargs):
        # the compiled form is called as `let_be_called` says, without a tuple of arguments
        return self.call(list(args), kwargs)

    def call(self, args: list, kwargs: dict):
        """The operation on arguments as they are given."""
        if not kwargs and self.fast:
            if len(args) == 1 and self.n_inputs == 1:
                return self.unary(args[0])
            if len(args) == 2 and self.n_inputs == 2:
                return self.binary(args[0], args[1])
        if kwargs and "out" in kwargs and "out" not in self.names:
            return self.into(kwargs.pop("out"), self.bind(args, kwargs))
        return self.apply(self.bind(args, kwargs))

    def bind(self, args, kwargs):
        """The arguments in the order of the signature; `view(2, 3)` and `view((2, 3))` are the same."""
        values: list = list(args)
        n: cython.Py_ssize_t = self.n_names
        spread: cython.Py_ssize_t = self.spread
        if spread >= 0 and len(values) > spread:
            first = values[spread]
            if len(values) > spread + 1 or not (first is None or isinstance(first, (tuple, list))):
                values = values[:spread] + [tuple(values[spread:])]
        if len(values) == n > self.n_positional:
            values = self.factor_last(values)
        if len(values) > n:
            raise TypeError(f"{self.name}() takes {n} arguments ({', '.join(self.names)}) but {len(values)} were given")
        used: cython.Py_ssize_t = 0
        for i in range(len(values), n):
            name = self.names[i]
            if kwargs:
                if name in kwargs:
                    values.append(kwargs[name])
                    used += 1
                    continue
                alias = alias_of(name, kwargs, self.names)
                if alias is not None:
                    values.append(kwargs[alias])
                    used += 1
                    continue
            default = self.defaults[i]
            if default is _REQUIRED:
                raise TypeError(f'{self.name}() missing 1 required positional arguments: "{name}"')
            values.append(default)
        if kwargs and used != len(kwargs):
            raise TypeError(unexpected_keyword(self.name, self.names, len(args), kwargs))
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

    def noted(self, given: list):
        """The operation on one or two arguments where something unusual is on: the quick way if it is but a profiler.

        The profiler steps aside meanwhile, and notes the result.
        """
        state: ThreadState = current()
        if state.unusual != 1 or state.profiler is None:
            return self.apply([*given, *self.tail])
        noter: Noter = state.profiler
        if noter.detailed:
            return self.apply([*given, *self.tail])
        result = None
        state.unusual = 0
        begun = perf_counter_ns()
        try:
            result = self.unary(given[0]) if len(given) == 1 else self.binary(given[0], given[1])
        finally:
            state.unusual += 1
            noter.note(self.name, begun, result)
        return result

    # the general way --------------------------------------------------------------------------------------------------

    def apply(self, values):
        """Run the operation on bound arguments and record it if a gradient is needed."""
        state: ThreadState = current()
        if state.unusual and state.profiler is not None:
            return cython.cast(Noter, state.profiler).call(self.name, self.carry_out, values)
        return self.carry_out(values)

    def carry_out(self, values):
        """What `apply` does, unobserved."""
        values = self.prepared(values)
        state: ThreadState = current()
        if state.dual_stack and not state.forward_off:
            dual = registry.dual_apply(self, values)
            if dual is not None:
                return dual
        if state.volatile:
            constant = registry.volatile_apply(self, values)
            if constant is not None:
                return constant
        raw, half, is_complex = self.unwrapped(values)
        outs = self.run(raw, half) if state.runner is None else state.runner(self, raw, half)
        if state.inspector is not None:
            state.inspector(self, raw, outs)
        mask = self.mask(values) if state.grad_enabled and self.differentiable else 0
        if self.rule.outputs is None:
            result: TensorBase = new_tensor(outs)
            if mask:
                self.record(tuple(values), self.plan(mask, is_complex), half is not None, outs, result)
            if self.is_view:
                self.note_view(values, result, None)
            return result
        tensors = [new_tensor(out) for out in outs]
        if mask:
            self.record_several(tuple(values), self.plan(mask, is_complex), half is not None, outs, tensors)
        if self.is_view:
            for nr, tensor in enumerate(tensors):
                self.note_view(values, tensor, nr)
        return self.named(tensors) if self.rule.outputs else tuple(tensors)

    def prepared(self, values):
        """Wrap raw arrays, refuse what is no array, count axes from the front, let the rule check the rest."""
        if self.sequence >= 0:
            values[self.sequence] = self.sequence_of_tensors(values[self.sequence])
        found = None
        for place in self.array_places:
            value = values[place]
            if isinstance(value, TensorBase):
                found = value if found is None else found
            elif place == self.sequence:
                found = value[0] if value else None
            elif value is None and self.defaults[place] is None:
                continue
            elif is_array(value):
                values[place] = new_tensor(value)
                found = values[place] if found is None else found
            elif self.takes_numbers and isinstance(value, numpy.generic):
                values[place] = value.item()  # a number like Python's, whose dtype does not count
            elif not (self.takes_numbers and isinstance(value, (bool, int, float, complex))):
                raise TypeError(errors.must_be_tensor(self.name, self.names[place], place, value))
        if found is None and self.array_places and self.sequence < 0:
            place = self.array_places[0]
            raise TypeError(errors.must_be_tensor(self.name, self.names[place], place, values[place]))
        for place in self.number_places:
            kind = type(values[place])  # NumPy's float64 is a float too, and would decide the dtype
            if not (kind is float or kind is int or kind is bool or kind is complex):
                values[place] = self.number(place, values[place])
        for place in self.other_places:
            value = values[place]
            if value is not None and not isinstance(value, (bool, int, tuple)) and isinstance(value, numpy.generic):
                values[place] = value.item()
        if self.has_axes and found is not None:
            ndim: cython.int = found._array.ndim
            for place in self.axes:
                dim = values[place]
                if dim is not None and not (type(dim) is int and 0 <= dim < ndim):
                    values[place] = normalize_dims(dim, ndim)
            for place in self.new_axes:
                values[place] = normalize_dims(values[place], ndim + 1)
        if self.rule.check is not None:
            self.rule.check(*values)
        return values

    def number(self, place: cython.int, value):
        """A parameter as a Python number, also where it is NumPy's or a tensor of one element and no dimension."""
        if isinstance(value, numpy.generic):
            return value.item()
        if isinstance(value, TensorBase) and not (value._array.ndim or value.requires_grad):
            if current().dual_stack:
                check_kept(value, f"the number {self.names[place]}= of {self.name}()")
            return value.item()
        if self.names[place] in _FACTORS and (value is not None or self.defaults[place] is not None):
            raise TypeError(errors.must_be_number(self.name, self.names[place], value))
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
            if is_array(member):
                member = new_tensor(member)
            elif not isinstance(member, TensorBase):
                raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(member).__name__}")
            result.append(member)
        return tuple(result)

    def unwrapped(self, values):
        """Raw arguments for the kernel, promoted; the half type to round to or None; whether any is complex."""
        raw: list = list(values)
        first = None
        plain: cython.bint = True
        for place in self.array_places:
            value = raw[place]
            if isinstance(value, TensorBase):
                array = raw[place] = cython.cast(TensorBase, value)._array
                if type(array) is not _ndarray:
                    plain = False
                    check_current(value)
                elif first is None:
                    first = dtype_of(array)
                    plain = plain and (first is _FLOAT64 or first is _FLOAT32)
                elif dtype_of(array) is not first:
                    plain = False
            elif place == self.sequence:
                for member in value:
                    check_current(member)
                raw[place] = [cython.cast(TensorBase, member)._array for member in value]
                plain = False
            elif isinstance(value, (complex, numpy.generic)):
                plain = False
        if plain:
            return raw, None, False
        half = None
        if not self.keeps_dtype:
            half = promote(raw, self.inputs, self.sequence, self.rule.dtypes, self.rule.wide)
        for place in self.inputs:
            for operand in raw[place] if place == self.sequence else (raw[place],):
                if type(operand) is _ndarray:
                    if dtype_of(operand).kind == "c":
                        return raw, half, True
                elif isinstance(operand, complex) or (hasattr(operand, "dtype") and kind_of(operand) == "c"):
                    return raw, half, True
        return raw, half, False

    def run(self, raw, half):
        """Call the kernel; results are arrays (zero-dimensional ones too), rounded to the half type if there is one."""
        xp = _numpy
        kernel = self.own_kernel
        other = self.other_than_numpy(raw)
        if other is not None:
            xp = namespace(other)
            if hasattr(xp, "check_alive"):
                xp.check_alive(other)
            kernel = self.kernel_for(xp)
            if hasattr(xp, "beside"):
                raw = self.on_one_device(raw, xp, other)
        n: cython.Py_ssize_t = self.n_positional
        try:
            if other is None and self.has_large(raw):
                outs = self.fused_call.call(raw, False)
            elif n == len(raw):
                outs = kernel(*raw)
            else:
                outs = kernel(*raw[:n], **dict(zip(self.names[n:], raw[n:])))
        except Exception as error:
            self.fail(error, raw)
        if self.rule.outputs is None:
            return finished(outs, xp, half)
        rounded: cython.Py_ssize_t = self.rule.rounded
        return [finished(out, xp, half if number < rounded else None) for number, out in enumerate(outs)]

    def on_one_device(self, raw, xp, model):
        """The arguments with all arrays on the device of one of them, or RuntimeError."""
        moved = list(raw)
        for place in self.array_places:
            value = moved[place]
            if place == self.sequence:
                moved[place] = [xp.beside(member, model, True) for member in value]
            else:
                moved[place] = xp.beside(value, model, place in self.inputs)
        return moved

    def has_large(self, raw):
        """True if one of the arrays is large."""
        for place in self.array_places:
            if place == self.sequence:
                return any([is_large(member) for member in raw[place]])
            if is_large(raw[place]):
                return True
        return False

    def other_than_numpy(self, raw):
        """The first array that is not one of NumPy, or None: any such decides which library runs the operation."""
        for place in self.array_places:
            if place == self.sequence:
                for member in raw[place]:
                    if type(member) is not _ndarray and is_array(member):
                        return member
                continue
            value = raw[place]
            if type(value) is _ndarray or value is None or type(value) is float or type(value) is int:
                continue
            if is_array(value):
                return value
        return None

    def cross(self, node: OpNode, values):
        """Let the edges know where an input is the same for all members of a batch and others are not."""
        tensors = [values[place] for place in self.array_places if place != self.sequence]
        inputs = [values[place] for place in self.inputs]
        if self.sequence >= 0:
            inputs = values[self.sequence]
            tensors.extend(inputs)
        registry.cross(node, inputs, [t for t in tensors if isinstance(t, TensorBase)])

    def fail(self, error, raw):
        """Raise a kernel's error, explained where that can be."""
        better = self.explained(error, raw)
        if better is error:
            raise error
        raise better from error

    def explained(self, error, raw):
        """The error to raise for a kernel's error: in torch's words where the rule or the shapes tell which."""
        if self.rule.explain is not None:
            better = self.rule.explain(error, *raw)
            if better is not None:
                return better
        if self.elementwise:
            errors.check_broadcast([a for a in raw if is_array(a)])
        if isinstance(error, numpy.exceptions.AxisError):
            return IndexError(str(error))
        if type(error) is ValueError:
            return RuntimeError(f"{self.name}(): {error}")
        return error

    # recording --------------------------------------------------------------------------------------------------------

    def mask(self, values):
        """Which inputs need a gradient: bit k for input k, or a tuple of truth values for a sequence."""
        if self.sequence >= 0:
            flags = tuple([needs_grad(member) for member in values[self.sequence]])
            return flags if any(flags) else 0
        mask: cython.int = 0
        k: cython.int
        for k in range(len(self.inputs)):
            value = values[self.inputs[k]]
            if isinstance(value, TensorBase) and needs_grad(value):
                mask |= 1 << k
        return mask

    def plan(self, mask, is_complex) -> Plan:
        """The plan for these inputs, derived once."""
        if not is_complex and self.sequence < 0 and mask < 4:
            return self.real_plan(mask)
        key = (mask, is_complex)
        plan = self.plans.get(key)
        if plan is None:
            plan = self.plans[key] = derive_plan(self, mask, is_complex)
        return plan

    def real_plan(self, mask) -> Plan:
        """The plan for real inputs among the first two."""
        plan = self.real_plans[mask]
        if plan is None:
            plan = self.real_plans[mask] = derive_plan(self, mask, False)
        return plan

    def record(self, values: tuple, plan: Plan, half, out, result: TensorBase):
        """Make the node of a single result."""
        dtype = dtype_of(out) if type(out) is _ndarray else numpy_dtype(out.dtype)
        if not is_inexact(dtype):
            return
        node: OpNode = self.new_node(values, plan, half)
        node._ad_n_outputs = 1
        node._ad_shape = recorded_shape(out, node)
        node._ad_dtype = dtype
        node.save(values, result, None)
        if type(out) is not _ndarray and registry.cross is not None:
            self.cross(node, values)
        node._ad_sequence_nr = next_sequence_nr()
        result._node = node
        if current().unusual:
            node.finish(values)

    def record_quick(self, x, y, plan: Plan, out, result: TensorBase):
        """What `record` does, for one or two inputs of which a plan saves nothing but themselves and the result."""
        if not plan.is_simple:
            values = (x,) if y is None else (x, y)
            self.record((*values, *self.tail) if self.tail else values, plan, False, out, result)
            return
        dtype = dtype_of(out)
        if not is_inexact(dtype):
            return
        node_type = self.node_type
        if node_type is None:
            node_type = self.node_type_for((x, y)) if y is None or self.native is None else self.ranked_type(x, y)
        node: OpNode = new_node(node_type, OpNode)
        tensor: TensorBase
        first: cython.int = 0
        second: cython.int = 0
        node.plan = plan
        node._ad_n_outputs = 1
        node._ad_n_edges = 1 if y is None else 2
        if plan.needs_first:
            tensor = x
            node._ad_first = gradient_edge(tensor)
            first = tensor._output_nr
        if plan.needs_second:
            tensor = y
            node._ad_second = gradient_edge(tensor)
            second = tensor._output_nr
        if first or second:
            node._ad_output_nrs = (first, second)
        node._ad_shape = recorded_shape(out, node)
        node._ad_dtype = dtype
        if plan.saves_result:
            node.counter = counter_of(result)
            node.version = node.counter.value
        if plan.n_saved > 0:
            node.saved0 = self.quick_entry(node, plan.place0, x, y, result, 0)
        if plan.n_saved > 1:
            node.saved1 = self.quick_entry(node, plan.place1, x, y, result, 1)
        node._ad_sequence_nr = next_sequence_nr()
        result._node = node

    def quick_entry(self, node: OpNode, place, x, y, result: TensorBase, k):
        """An input (place 0 or 1) or the result (place 2) as a node keeps it; an input's version is noted."""
        if place == 2:
            return result._array
        entry = x if place == 0 else y
        if isinstance(entry, TensorBase):
            version: cython.long = version_of(entry)
            if version:
                if version < 0:
                    raise errors.INFERENCE_SAVED.error()
                node.versions = (version, 0) if k == 0 else (0 if node.versions is None else node.versions[0], version)
        return entry

    def record_several(self, values, plan: Plan, half, outs, tensors):
        """Make the node of several results."""
        flags = self.rule.differentiable or (True,) * len(outs)
        flags = [flag and is_inexact(numpy_dtype(out.dtype)) for flag, out in zip(flags, outs)]
        if not any(flags):
            return
        node: OpNode = self.new_node(values, plan, half)
        node._ad_n_outputs = len(outs)
        node._ad_shape = tuple([out.shape for out in outs])
        node._ad_dtype = tuple([numpy_dtype(out.dtype) for out in outs])
        if node._ad_n_outputs == 1:
            node._ad_shape, node._ad_dtype = node._ad_shape[0], node._ad_dtype[0]
        node.save(values, None, tensors)
        if registry.cross is not None and any([type(out) is not _ndarray for out in outs]):
            self.cross(node, values)
        node._ad_sequence_nr = next_sequence_nr()
        for nr, (tensor, flag) in enumerate(zip(tensors, flags)):
            if flag:
                tensor._node = node
                tensor._output_nr = nr
        if current().unusual:
            node.finish(values)

    def new_node(self, values: tuple, plan: Plan, half) -> OpNode:
        """A node with its plan and edges."""
        node_type = self.node_type
        if node_type is None:
            node_type = self.node_type_for(values)
        node: OpNode = new_node(node_type, OpNode)
        node.plan = plan
        node.half = half
        self.connect(node, plan, values[self.sequence] if self.sequence >= 0 else values)
        return node

    def node_type_for(self, values: tuple):
        """The class of the node for these arguments: torch names overloads for numbers in the place of tensors."""
        name = self.rule.node if self.rule.node_for is None else self.rule.node_for(*values)
        for input, own in self.rule.nodes_with_number.items():
            value = values[self.names.index(input)]
            if value is not None and not isinstance(value, TensorBase):
                name = own
                break
        node_type = self.node_types.get(name)
        if node_type is None:
            doc = f"Recorded by {self.name}()."
            node_type = self.node_types[name] = type(name, (OpNode,), {"__doc__": doc})
        if not self.rule.nodes_with_number and self.rule.node_for is None:
            self.node_type = node_type
        return node_type

    def ranked_type(self, x, y):
        """The class of the node for two Tensors of at most two axes, where it depends on nothing but their number."""
        rank: cython.int = 3 * ndim_of(cython.cast(TensorBase, x)._array) + ndim_of(cython.cast(TensorBase, y)._array)
        node_type = self.ranked_types[rank]
        if node_type is None:
            node_type = self.ranked_types[rank] = self.node_type_for((x, y))
        return node_type

    def named(self, tensors):
        """Several results under their names."""
        return tuple.__new__(self.results_type(), tensors)

    def results_type(self):
        """The class of several results."""
        if self.results is None:
            self.results = results_type(self.name, self.rule.outputs)
        return self.results

    def connect(self, node: OpNode, plan: Plan, values: tuple):
        """Point a node to the nodes of the inputs that need a gradient, and note which outputs of theirs these are."""
        flags: tuple = plan.mask
        n: cython.Py_ssize_t = len(flags)
        tensor: TensorBase
        if n <= 2 and self.sequence < 0:
            nr: cython.int = 0
            node._ad_n_edges = n
            if flags[0]:
                tensor = values[self.first_input]
                node._ad_first = gradient_edge(tensor)
                nr = tensor._output_nr
            if n == 2 and flags[1]:
                tensor = values[self.inputs[1]]
                node._ad_second = gradient_edge(tensor)
                nr |= tensor._output_nr
            if nr == 0:
                return
        found: list = []
        numbers: list = [0] * n
        for k in range(n):
            if not flags[k]:
                found.append(None)
                continue
            tensor = values[k] if self.sequence >= 0 else values[self.inputs[k]]
            found.append(gradient_edge(tensor))
            numbers[k] = tensor._output_nr
        node._ad_set_edges(tuple(found))
        if any(numbers):
            node._ad_output_nrs = tuple(numbers)

    # views ------------------------------------------------------------------------------------------------------------

    def note_view(self, values, result: TensorBase, nr):
        """Let a result that shares its input's memory share its version counter and know its base."""
        source: TensorBase = values[0]
        outer: View = source._view
        separate = False
        if not shares_memory(source._array, result._array):
            if has_views(source._array):
                return
            separate = True
        state: ThreadState = current()
        counter = counter_of(source)
        view: View = View.__new__(View)
        view.base = source if outer is None else outer.base
        step = (self, tuple(values[1:]), nr)
        view.replay = (step,) if outer is None else (*outer.replay, step)
        view.layout = source._array if outer is None else outer.layout
        view.version = counter.value
        if separate:
            view.origin = errors.SEPARATE
        elif state.inference:
            view.origin = "inference"
        elif not state.grad_enabled:
            view.origin = "no_grad"
        elif nr is not None:
            view.origin = "multi_output"
        elif outer is not None:
            view.origin = outer.origin
        result._counter = counter
        result._view = view
        # a view of what was made outside of a differentiated function is not made inside
        result._level = source._level

    def as_step(self, base, array):
        """How `as_strided`, which this must be, leads from the array of a base to that of a view."""
        size = base.itemsize
        offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        stride, own = [tuple([k // size for k in a.strides]) for a in (array, base)]
        return self, (array.shape, stride, offset // size, own), None

    def replay(self, array, others, nr):
        """The same view of another tensor or raw array."""
        if isinstance(array, TensorBase):
            result = self.apply([array, *others])
        else:
            result = self.run([array, *others], None)
        return result if nr is None else result[nr]

    # out= and in place ------------------------------------------------------------------------------------------------

    def into(self, out, values):
        """The operation with `out=`: the result is written into a given Tensor."""
        if out is None:
            return self.apply(values)
        targets = out if isinstance(out, (tuple, list)) and self.rule.outputs is not None else (out,)
        for target in targets:
            if not isinstance(target, TensorBase):
                raise TypeError(f"{self.name}(): argument 'out' must be Tensor, not {type(target).__name__}")
        members = values[self.sequence] if self.sequence >= 0 else ()
        involved = [v for v in (*values, *members) if isinstance(v, TensorBase)]
        state: ThreadState = current()
        watched = [*targets, *involved] if self.differentiable else targets
        if state.grad_enabled and any([needs_grad(t) for t in watched]):
            raise RuntimeError(errors.out_requires_grad(self.name))
        if state.dual_stack and any([registry.has_tangent(t) for t in [*targets, *involved]]):
            raise NotImplementedError(
                f"Trying to use forward AD with {self.name}_out that does not support it because it is an out= function"
            )
        results = self.apply(values)
        if self.rule.outputs is None:
            results = (results,)
        target: TensorBase
        for target, result in zip(targets, results):
            check_out_dtype(self.name, result._array.dtype, target._array.dtype)
            errors.check_batch(self.name, target._array, result._array)
            check_writable(target)
            self.check_memory(target._array, [t._array for t in involved] if self.elementwise else (), False)
        for target, result in zip(targets, results):
            if target._array.shape != result._array.shape:
                if target._array.size:
                    shapes = {"given": list(target._array.shape), "wanted": list(result._array.shape)}
                    warn_once(errors.RESIZED_OUTPUT.format(**shapes), key="resized output")
                target._array = astype(result._array, target._array.dtype)
            else:
                target._array[...] = result._array
            bump_version(target)
        return type(results)(*targets) if targets is out and hasattr(results, "_fields") else out

    def inplace(self, args, kwargs):
        """The operation in place: its result is written into its first argument, whose history goes on from here."""
        bound = self.bind(args, kwargs)
        tensor: TensorBase = bound[0]
        state: ThreadState = current()
        if state.level is not None:
            errors.check_captured(tensor, self.name + "_")
        # whether it may be written to at all is said before what is wrong with the other arguments
        if state.grad_enabled and (tensor._requires or tensor._view is not None):
            errors.check_in_place(tensor, 0)
        values = self.prepared(bound)
        if state.volatile and registry.volatile_in_place(self, values):
            return values[0]
        if not (state.dual_stack and not state.forward_off and registry.dual_in_place(self, values)):
            if state.profiler is not None:
                cython.cast(Noter, state.profiler).call(self.name + "_", self.run_in_place, values)
            else:
                self.run_in_place(values)
        return values[0]

    def run_in_place(self, values):
        """Write the result of prepared arguments into the first of them, and record that."""
        tensor: TensorBase = values[0]
        state: ThreadState = current()
        mask = self.mask(values) if state.grad_enabled and self.differentiable_in_place else 0
        check_writable(tensor)
        if state.grad_enabled:
            errors.check_in_place(tensor, mask)
        raw, half, is_complex = self.unwrapped(values)
        array = tensor._array
        # elements that meet may all be given one value, but its gradient would count them several times
        self.check_memory(array, raw[1:] if self.elementwise else (), self.rule.repeats and not mask & 2)
        out = self.run(raw, half)
        if state.inspector is not None:
            state.inspector(self, raw, out)
        if type(out) is not _ndarray:
            errors.check_batch(self.name, array, out)
        errors.check_in_place_result(self.name, array, out)
        # what has no derivative in place either leaves the history as it is, as in torch
        if mask or (self.differentiable_in_place and state.grad_enabled and needs_grad(tensor)):
            self.record_in_place(tensor, values, mask or 0, is_complex, half is not None, out)
        else:
            array[...] = out
            bump_version(tensor)
        return tensor

    def check_memory(self, array, sources, repeats):
        """Raise if elements of an array to be written meet (unless `repeats`), or sources lie partly where they do."""
        if type(array) is not _ndarray:
            errors.check_overlap(array)
            return
        if array.base is not None and not repeats:
            errors.check_overlap(array)
        for source in sources:
            if type(source) is _ndarray and (source.base is not None or array.base is not None):
                errors.check_sources(array, (source,))

    def record_in_place(self, tensor: TensorBase, values, mask, is_complex, half, out):
        """Write the result and make the node that stands for the tensor from now on."""
        node: OpNode = self.new_node(tuple(values), self.plan(mask, is_complex), half)
        array = tensor._array
        if node.plan.saves(tensor, values):
            before = overwritten(tensor)
            values = [before if value is tensor else value for value in values]
        if type(array) is not _ndarray and registry.cross is not None:
            self.cross(node, values)
        # inputs are saved with the version that they have before they are overwritten, the result with the one after
        node.save(tuple(values), tensor, None)
        array[...] = out
        bump_version(tensor)
        node.version = version_of(tensor)
        node._ad_n_outputs = 1
        node._ad_shape = array.shape
        node._ad_dtype = numpy_dtype(array.dtype)
        node._ad_sequence_nr = next_sequence_nr()
        if current().unusual:
            # forward mode writes the tangent of the result next
            if tensor._tangents is None:
                tensor._tangents = Tangents()
            node.note_tangents(0, tensor._tangents)
            rebase(tensor, node)
            node.finish(tuple(values))
        else:
            rebase(tensor, node)


# arguments and results ------------------------------------------------------------------------------------------------


def alias_of(name, kwargs, names):
    """The keyword that stands for `name` under NumPy's name for it (axis for dim), or None."""
    for keyword in kwargs:
        if keyword not in names and _ALIASES.get(keyword) == name:
            return keyword
    return None


def unexpected_keyword(operation, names, n_given, kwargs):
    """What is wrong with keywords that could not all be used."""
    for keyword in kwargs:
        if keyword in names and names.index(keyword) < n_given:
            return f"{operation}() got multiple values for argument '{keyword}'"
    for keyword in kwargs:
        if keyword not in names and _ALIASES.get(keyword) not in names[n_given:]:
            return f"{operation}() got an unexpected keyword argument '{keyword}'; it takes {', '.join(names)}"
    return f"{operation}() got one argument under two names: {', '.join(kwargs)}"


def finished(out, xp, half):
    """A kernel's result as an array of the right type."""
    if type(out) is not _ndarray and not is_array(out):
        out = xp.asarray(out)
    if half is not None and numpy_dtype(out.dtype) == _FLOAT32:
        out = astype(out, half)
    return out


def is_inexact(dtype):
    """True for types that gradients have: floating point and complex."""
    if dtype is _FLOAT32 or dtype is _FLOAT64:
        return True
    return dtype.kind in "fc" or is_half(dtype)


def recorded_shape(out, node: OpNode):
    """The shape of a result; where an input's node has the same, its tuple is shared, which saves memory and time."""
    if type(out) is not _ndarray:
        return out.shape
    source: Node
    for i in range(node._ad_n_edges):
        source = node._ad_edge(i)
        if source is not None and source._ad_n_outputs == 1 and has_shape(out, source._ad_shape):
            return source._ad_shape
    return shape_of(out)


def shares_memory(source, result):
    """True if a view operation really gave a view (reshape may copy)."""
    if type(source) is not _ndarray or type(result) is not _ndarray:
        source, result = underlying(source), underlying(result)
    if type(source) is not _ndarray:
        return share_memory(source, result)
    base = result.base
    if base is None:
        return result is source
    return base is source or base is source.base or numpy.may_share_memory(source, result)
