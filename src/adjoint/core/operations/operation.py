"""Operations: the path from `x * y` to a node in the graph.

An `Operation` is created from a declared rule. It has three parts, each in a file of its own: `Arguments` binds and
checks the arguments of a call, `Kernel` computes on raw arrays, `Recorder` creates the node. This file combines them:
the fast path for one or two plain tensors, the general path, and results that are written into a passed tensor.
Public functions that are no operations are called through C, too.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

from functools import update_wrapper
from inspect import Parameter
from time import perf_counter_ns
from types import MethodType

import numpy

from adjoint.arrays.dtypes import numpy_dtype
from adjoint.arrays.size import DEFAULT
from adjoint.core import errors
from adjoint.runtime.lazy import LateModule

if not cython.compiled:
    # the compiled form has them from the .pxd
    from adjoint.core.graph import (
        Node,
        TensorBase,
        any_overrides,
        bump_version,
        compose,
        counter_of,
        dtype_of,
        first_tangents,
        has_shape,
        needs_grad,
        new_tensor,
        next_sequence_nr,
        overrides,
        shape_of,
        version_of,
    )
    from adjoint.core.in_place import check_writable, copy_with_history, succeed, successor
    from adjoint.core.modes.interceptors import Interceptor
    from adjoint.core.modes.profiling import ProfilerHook, sole_profiler
    from adjoint.core.modes.state import ThreadState, current
    from adjoint.core.operations.binding import Arguments
    from adjoint.core.operations.kernel import Kernel
    from adjoint.core.operations.recorder import Recorder, is_inexact
    from adjoint.core.recorded import OpNode, name_in_place
    from adjoint.core.view_steps import note_view
    from adjoint.runtime.crossovers import is_large
from adjoint.core.graph import Tangents, registry
from adjoint.core.operations.arguments import REFUSALS, call_public, refusal_of
from adjoint.core.view_steps import as_strided_step

out_dtypes = LateModule("adjoint.core.operations.out_dtypes")
_ndarray = numpy.ndarray
if not cython.compiled:
    _overriding = _composing = True  # `overrides` and `compose` look for themselves
_NO_KEYWORDS: dict = {}
# for the .pxd
_DEFAULT, _REFUSALS, _refusal_of = DEFAULT, REFUSALS, refusal_of
_FLOAT32, _FLOAT64 = numpy.dtype("float32"), numpy.dtype("float64")


@cython.final
@cython.cclass
class Operation:
    """A declared operation that can be called on Tensors.

    The arguments are those of the rule's kernel after the namespace, under torch's names. Python numbers and raw arrays
    may replace Tensors; they are constants. tail: the default arguments of calls with one or two tensors.
    fast: such calls need only `unary` and `binary`. They are allowed for floating dtypes (takes_floats), for numbers
    beside tensors (takes_numbers), and for small arrays of one integer or bool dtype (whole_kinds, letters).
    """

    def __init__(self, rule):
        self.rule = rule
        self.name = rule.name
        self.arguments = Arguments(rule)
        self.differentiable = rule.has_derivative
        self.differentiable_in_place = bool(rule.vjps)
        self.is_elementwise = rule.is_elementwise
        self.is_view = rule.view
        self.has_one_result = rule.outputs is None
        n = len(rule.inputs)
        self.n_inputs = n
        self.tail = self.arguments.defaults[n:]
        passed_kinds = self.arguments.passed_kinds
        is_unchecked = rule.check is None or rule.fast is not None or rule.native is not None
        self.takes_floats = is_unchecked or "f" in passed_kinds
        # a check may refuse numbers that a type does not hold
        self.takes_numbers = is_unchecked and self.arguments.takes_numbers
        self.fast = (
            n <= 2
            and rule.names[:n] == rule.inputs
            and (not self.tail or rule.fast is not None or self.has_defaults())
            and rule.sequence is None
            and rule.outputs is None
            and not rule.view
            and (is_unchecked or passed_kinds)
        )
        # not where they are promoted, or where another function than the kernel is the quick one
        keeps_whole = rule.dtypes != "float" and rule.native is None and rule.has_one_kernel
        self.whole_kinds = (
            "".join([kind for kind in "biu" if kind in passed_kinds]) if self.fast and keeps_whole else ""
        )
        self.kernel = Kernel(self.arguments, self.fast and self.is_elementwise)
        self.recorder = Recorder(self.arguments, self.tail)
        self.__name__ = self.__qualname__ = self.name
        if cython.compiled:
            let_be_called(self)

    def has_defaults(self):
        """True if the kernel's own defaults replace the arguments that calls of one or two tensors omit.

        They must equal the values that the call would pass, and the name of the node must not depend on them.
        Elementwise operations run as programs of all their arguments.
        """
        rule = self.rule
        if rule.is_elementwise:
            return False
        names = (*rule.axes, *rule.new_axes)
        if any([value is Parameter.empty for value in self.tail]) or rule.node_for is not None:
            return False
        return all([self.arguments.defaults[rule.names.index(name)] is None for name in names]) and not rule.new_axes

    @property
    def __signature__(self):
        # computed at first use, which saves time at import
        return registry.signature_of(self.rule)

    @property
    def __annotations__(self):
        # for typing.get_type_hints()
        return registry.hints_of(self, self.__signature__)

    def __repr__(self):
        return f"<operation {self.name}({', '.join(self.arguments.names)})>"

    # one or two plain arguments ---------------------------------------------------------------------------------------

    def unary(self, x):
        """The operation on one Tensor: no look-ups if it is a plain real one, else the general way."""
        state: ThreadState = current()
        if state.unusual and isinstance(x, TensorBase):
            return self.run_under_interceptors([x])
        array = plain_operand(x, False) if self.takes_floats else None
        if array is None:
            array = self.whole_operand(x)
            if array is not None:
                return new_tensor(self.kernel.of_whole(array, None))
            return self.apply([x, *self.tail])
        out = self.kernel.one(array)
        result: TensorBase = new_tensor(out)
        if self.differentiable and state.grad_enabled and needs_grad(x):
            self.recorder.record_quick(x, None, self.recorder.real_plan(1), out, result)
        return result

    def binary(self, x, y):
        """The operation on two Tensors of the same plain type, or one and a number; else the general way."""
        state: ThreadState = current()
        if state.unusual:
            return self.run_under_interceptors([x, y])
        left = plain_operand(x, self.takes_numbers) if self.takes_floats else None
        right = plain_operand(y, self.takes_numbers) if self.takes_floats else None
        has_left: cython.bint = type(left) is _ndarray
        has_right: cython.bint = type(right) is _ndarray
        if left is None or right is None or not (has_left or has_right):
            if left is None and right is None:
                left = self.whole_operand(x)
                right = None if left is None else self.whole_operand(y)
                if right is not None and dtype_of(left) is dtype_of(right):
                    return new_tensor(self.kernel.of_whole(left, right))
            return self.apply([x, y, *self.tail])
        if has_left and has_right and dtype_of(left) is not dtype_of(right):
            return self.apply([x, y, *self.tail])
        out = self.kernel.two(left, right)
        if out is None:
            return self.apply([x, y, *self.tail])
        result: TensorBase = new_tensor(out)
        if self.differentiable and state.grad_enabled:
            mask: cython.int = (has_left and needs_grad(x)) | ((has_right and needs_grad(y)) << 1)
            if mask:
                self.recorder.record_quick(x, y, self.recorder.real_plan(mask), out, result)
        return result

    def whole_operand(self, value):
        """The array of a Tensor for the quick way of integers and bools, or None."""
        if self.whole_kinds and isinstance(value, TensorBase):
            array = cython.cast(TensorBase, value)._array
            if type(array) is _ndarray and not is_large(array) and not (_overriding and overrides(value)):
                kind: str = dtype_of(array).kind
                if kind in self.whole_kinds:
                    return array
        return None

    def run_under_interceptors(self, operands: list):
        """The operation on one or two arguments where something unusual is on: the quick way of it, if it has one."""
        state: ThreadState = current()
        if state.unusual == 1 and state.interceptors:
            interceptor: Interceptor = state.interceptors[0]
            if interceptor.has_quick:
                result = interceptor.quick(self, operands)
                if result is not NotImplemented:
                    return result
        return self.run_under_profiler(operands)

    def run_under_profiler(self, operands: list):
        """The operation on one or two arguments where something unusual is on: the quick way if it is but a profiler.

        The profiler steps aside meanwhile, and notes the result.
        """
        state: ThreadState = current()
        profiler: ProfilerHook = sole_profiler(state)
        if profiler is None or profiler.detailed:
            return self.apply([*operands, *self.tail])
        result = None
        state.unusual = 0
        start = perf_counter_ns()
        try:
            result = self.unary(operands[0]) if len(operands) == 1 else self.binary(operands[0], operands[1])
        finally:
            state.recount()
            profiler.note(self.name, start, result)
        return result

    # the general way --------------------------------------------------------------------------------------------------

    def __call__(self, /, *args, **kwargs):
        # the compiled form is called as `let_be_called` says, without a tuple of arguments
        return self.call(list(args), kwargs)

    def call(self, args: list, kwargs: dict):
        """The operation on arguments as they are given."""
        if kwargs is None:
            kwargs = _NO_KEYWORDS
        if not kwargs and self.fast:
            if len(args) == 1 and self.n_inputs == 1:
                return self.unary(args[0])
            if len(args) == 2 and self.n_inputs == 2:
                return self.binary(args[0], args[1])
        if kwargs and "out" in kwargs and "out" not in self.arguments.names:
            return self.into(kwargs.pop("out"), self.arguments.bind(args, kwargs))
        return self.apply(self.arguments.bind(args, kwargs))

    def apply(self, values):
        """Run the operation on bound arguments and record it if a gradient is needed."""
        if _overriding and any_overrides(values):
            return registry.override(self, values, False)
        if _composing:
            result = compose(self, values, False)
            if result is not NotImplemented:
                return result
        try:
            values = self.arguments.prepare(values)
        except TypeError:
            if not registry.is_public(self) or not registry.has_foreign(values):
                raise
            return registry.override(self, values, False)
        state: ThreadState = current()
        return self.proceed(values, -1) if state.unusual else self.carry_out(values)

    def proceed(self, values, position):
        """Run the interceptors after a position on prepared arguments, then the operation."""
        chain: tuple = cython.cast(ThreadState, current()).interceptors
        interceptor: Interceptor
        for interceptor in chain:
            if interceptor.position > position and interceptor.has_operation:
                return interceptor.operation(self, values)
        return self.carry_out(values)

    def carry_out(self, values):
        """Run the operation on prepared arguments and record it if a gradient is needed."""
        state: ThreadState = current()
        raw = self.kernel.unwrap(values)
        half, is_complex = None, False
        if type(raw) is tuple:
            raw, half, is_complex = raw
        outs = self.proceed_to_kernel(raw, half, -1) if state.interceptors else self.kernel.run(raw, half)
        mask = self.recorder.mask(values) if state.grad_enabled and self.differentiable else 0
        if self.has_one_result:
            result: TensorBase = new_tensor(outs)
            if mask:
                plan = self.recorder.plan(mask, is_complex)
                self.recorder.record(tuple(values), plan, half is not None, outs, result)
            if self.is_view:
                note_view(self, values, result, None)
            return result
        tensors = [new_tensor(out) for out in outs]
        if mask:
            plan = self.recorder.plan(mask, is_complex)
            self.recorder.record_several(tuple(values), plan, half is not None, outs, tensors)
        if self.is_view:
            for nr, tensor in enumerate(tensors):
                note_view(self, values, tensor, nr)
        return self.recorder.named_results(tensors) if self.rule.outputs else tuple(tensors)

    def proceed_to_kernel(self, raw, half, position):
        """Run the interceptors after a position on raw arguments, then the kernel."""
        chain: tuple = cython.cast(ThreadState, current()).interceptors
        interceptor: Interceptor
        for interceptor in chain:
            if interceptor.position > position and interceptor.has_kernel:
                return interceptor.kernel(self, raw, half)
        return self.kernel.run(raw, half)

    def run(self, raw, half):
        """Call the kernel on raw arguments; see `Kernel.run`."""
        return self.kernel.run(raw, half)

    def plan(self, mask, is_complex):
        """The saved values and formulas for the inputs in `mask` that need a gradient."""
        return self.recorder.plan(mask, is_complex)

    def results_type(self):
        """The class of several results."""
        return self.recorder.results_type()

    def as_step(self, base, array):
        """The arguments with which this operation, `as_strided`, makes the array of a view from its base."""
        return as_strided_step(self, base, array)

    def replay(self, array, others, nr):
        """Apply the steps of a view to another tensor or raw array."""
        if isinstance(array, TensorBase):
            result = self.apply([array, *others])
        else:
            result = self.kernel.run([array, *others], None)
        return result if nr is None else result[nr]

    # out= and in place ------------------------------------------------------------------------------------------------

    def into(self, out, values):
        """The operation with `out=`: the result is written into a given Tensor."""
        return out_dtypes.into(self, out, values)

    def inplace(self, args, kwargs):
        """The operation in place: its result is written into its first argument, whose history goes on from here."""
        bound = self.arguments.bind(args, kwargs)
        if _overriding and any_overrides(bound):
            return registry.override(self, bound, True)
        if _composing:
            result = compose(self, bound, True)
            if result is not NotImplemented:
                return result
        tensor: TensorBase = bound[0]
        state: ThreadState = current()
        if state.level is not None:
            errors.check_captured(tensor, self.name + "_")
        # errors about the target come before errors about the other arguments
        if state.grad_enabled and (tensor._requires or tensor._view is not None):
            errors.check_in_place(tensor, 0)
        values = self.arguments.prepare(bound)
        if state.unusual:
            self.proceed_in_place(values, -1)
        else:
            self.run_in_place(values)
        return values[0]

    def proceed_in_place(self, values, position):
        """As `proceed`, for the operation in place; returns the tensor that it modified."""
        chain: tuple = cython.cast(ThreadState, current()).interceptors
        interceptor: Interceptor
        for interceptor in chain:
            if interceptor.position > position and interceptor.has_in_place:
                return interceptor.in_place(self, values)
        return self.run_in_place(values)

    def run_in_place(self, values):
        """Write the result of prepared arguments into the first of them, and record that."""
        tensor: TensorBase = values[0]
        state: ThreadState = current()
        mask = self.recorder.mask(values) if state.grad_enabled and self.differentiable_in_place else 0
        if mask and not is_inexact(tensor._array.dtype):
            # whole numbers have no gradient, whatever was written to them
            mask = 0
        check_writable(tensor)
        if state.grad_enabled and (tensor._view is not None or needs_grad(tensor)):
            errors.check_in_place(tensor, mask)
        raw = self.kernel.unwrap(values)
        half, is_complex = None, False
        if type(raw) is tuple:
            raw, half, is_complex = raw
        array = tensor._array
        # overlapping elements may all receive one value, but its gradient would count them several times
        check_memory(array, raw[1:] if self.is_elementwise else (), self.rule.repeats and not mask & 2)
        if not mask and not state.interceptors and self.kernel.overwrites(array, raw):
            counter_of(tensor)
            self.kernel.quick(*raw, out=array)
            bump_version(tensor)
            return tensor
        out = self.proceed_to_kernel(raw, half, -1) if state.interceptors else self.kernel.run(raw, half)
        if type(out) is not _ndarray:
            errors.check_batch(self.name, array, out)
        if type(out) is not _ndarray or dtype_of(out) is not dtype_of(array) or not has_shape(out, shape_of(array)):
            errors.check_in_place_result(self.name, array, out)
        # an operation without a derivative in place leaves the history unchanged, as in torch
        if mask or (self.differentiable_in_place and state.grad_enabled and needs_grad(tensor)):
            self.record_in_place(tensor, values, mask or 0, is_complex, half is not None, out)
        else:
            counter_of(tensor)
            assign(array, out)
            bump_version(tensor)
        return tensor

    def record_in_place(self, tensor: TensorBase, values, mask, is_complex, half, out):
        """Write the result and create the node that represents the tensor from now on."""
        node: OpNode = self.recorder.new_node(tuple(values), self.recorder.plan(mask, is_complex), half)
        name_in_place(node)
        array = tensor._array
        if node.plan.saves(tensor, values):
            before = copy_with_history(tensor)
            values = [before if value is tensor else value for value in values]
        if type(array) is not _ndarray and registry.cross is not None:
            self.recorder.cross(node, values)
        # inputs are saved with their version before the write, the result with the version after it
        node.save(tuple(values), tensor, None)
        node._ad_n_outputs = 1
        node._ad_shape = array.shape
        node._ad_dtype = dtype_of(array) if type(array) is _ndarray else numpy_dtype(array.dtype)
        node._ad_sequence_nr = next_sequence_nr()
        state: ThreadState = current()
        if state.open_levels:
            # forward mode writes the tangent of the result next
            node.note_tangents(0, first_tangents(tensor, Tangents()) if tensor._tangents is None else tensor._tangents)
        # all memory is allocated before the write, so that a modified tensor always gets its new version and history
        whole: Node = successor(tensor, node, 0)
        counter_of(tensor)
        assign(array, out)
        bump_version(tensor)
        node.version = version_of(tensor)
        succeed(tensor, node, whole, 0)
        if state.unusual:
            node.finish(tuple(values))


@cython.final
@cython.cclass
class PublicFunction:
    """A public function that is no operation, in place of the function that it calls. Python binds it as a method.

    asks: classes of the arguments may override the call, and errors name the argument to blame (`call_public`). A
    function that is one operation leaves both to it.
    quick: what is called instead if no keywords but those in `names` are given.
    of_tensor: and if the first argument is a Tensor. follows: and if new tensors go to the device that they say.
    """

    def __init__(self, function, name, is_overridable):
        # first, since the plain form has its fields among the attributes, which are copied
        update_wrapper(self, function)
        self.function, self.name, self.is_overridable = function, name, is_overridable
        self.quick = self.names = None
        self.of_tensor = self.follows = False
        if isinstance(function, PublicFunction):
            self.function, self.quick, self.names = function.function, function.quick, function.names
            self.of_tensor, self.follows = function.of_tensor, function.follows
        if cython.compiled:
            let_function_be_called(self)

    def target(self, first, names: tuple):
        """The function that a call runs, by the first argument by position (None without one) and names of keywords."""
        if self.quick is None:
            return self.function
        for name in names:
            if name not in self.names:
                return self.function
        if self.of_tensor and not isinstance(first, TensorBase):
            return self.function
        if self.follows and ((_overriding and registry.overriding) or _DEFAULT.device is not None):
            return self.function
        return self.quick

    def __get__(self, instance, owner):
        return self if instance is None else MethodType(self, instance)

    def __call__(self, /, *args, **kwargs):
        # the compiled form is called as `let_function_be_called` says
        return call_public(self, args, kwargs)

    def __repr__(self):
        return f"<function {self.__qualname__}>"

    def __reduce__(self):
        # like a function, it is pickled by its public name and is its own copy
        return self.__qualname__


def assign(array, result):
    """Write a result into an array of its shape."""
    if not (cython.compiled and type(array) is type(result) is _ndarray and adj_copy_array(array, result)):
        array[...] = result


def plain_operand(value, takes_numbers):
    """The operand of the fast path: the array of a Tensor, or a number if numbers are taken; None for all others."""
    if isinstance(value, TensorBase):
        array = cython.cast(TensorBase, value)._array
        if type(array) is _ndarray and not (_overriding and overrides(value)):
            dtype = dtype_of(array)
            if dtype is _FLOAT64 or dtype is _FLOAT32:
                return array
    elif takes_numbers and (type(value) is float or type(value) is int):
        return value
    return None


def document_instances(own_type, help_of):
    """Give the instances of a class docstrings that are composed at first use."""
    if cython.compiled:
        adj_set_in_type(own_type, "__doc__", property(help_of))
    else:
        own_type.__doc__ = property(help_of)


document_instances(Operation, lambda operation: registry.help_of(operation.rule))


def check_memory(array, sources, repeats):
    """Raise if elements of an array to be written overlap (unless `repeats`), or sources overlap it partly."""
    if type(array) is not _ndarray:
        if not repeats:
            errors.check_overlap(array)
        errors.check_sources(array, sources)
        return
    if array.base is not None and not repeats:
        errors.check_overlap(array)
    for source in sources:
        if type(source) is _ndarray and (source.base is not None or array.base is not None):
            errors.check_sources(array, (source,))
