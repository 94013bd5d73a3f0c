"""Forward mode at each operation: it computes the value as usual, and then the tangent.

Most operations have one or two plain arrays without history, at a single level. For them `DualLevels.quick` computes
value and tangent on raw arrays. All others go through `apply`. It runs the same derivatives on Tensors if they are
recorded, and on raw arrays otherwise.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

import numpy

from adjoint.arrays.dtypes import from_numpy_dtype, kind_of
from adjoint.core.in_place import own_strides
from adjoint.core.modes.interceptors import DUAL_LEVELS
from adjoint.core.view_steps import shares_memory
from adjoint.program.fused import Fused
from adjoint.rules.derive import jvp, tangent_or_zero
from adjoint.runtime.memory import with_kept_memory
from adjoint.tensor.table import ops
from adjoint.tensor.transposed_jvp import transposed_jvp
from adjoint.transforms.tangents import propagations as _propagations

if not cython.compiled:
    # the compiled form has them from the .pxd
    from adjoint.core.graph import TensorBase, dtype_of, has_shape, needs_grad, new_tensor, replay_view, shape_of
    from adjoint.core.modes.state import ThreadState, current
    from adjoint.core.operations.operation import Operation, plain_operand
    from adjoint.core.recorded import OpNode, raw_ops
    from adjoint.runtime.crossovers import is_large
    from adjoint.transforms.batching.levels import BatchedBase
    from adjoint.transforms.tangents import QuickSeries, plain_tangent, set_tangent

_ndarray = numpy.ndarray
_FLOAT32, _FLOAT64 = numpy.dtype("float32"), numpy.dtype("float64")

# tangents of tensors --------------------------------------------------------------------------------------------------


def tangent_of(tensor: TensorBase, number):
    """The tangent of a tensor at a level; a view shares the tangent of its base. None while forward mode is off."""
    if tensor._tangents is None and tensor._view is None:
        return None
    if cython.cast(ThreadState, current()).forward_off:
        return None
    if tensor._tangents is not None and number in tensor._tangents:
        tangent = tensor._tangents[number]
        if tangent is not None:
            return tangent
        base, steps = origin_of(tensor, number)
    else:
        view = tensor._view
        base, steps = (None, ()) if view is None else (view.base, view.replay)
    of_base = None if base is None or base._tangents is None else base._tangents.get(number)
    if of_base is None:
        return None
    propagation = _propagations.get(number)
    tangent = replay_view(steps, of_base) if propagation is None else propagation.of_view(steps, of_base)
    set_tangent(tensor, number, tangent)
    return tangent


def origin_of(tensor: TensorBase, number):
    """The primal without its tangent that a tensor is a view of, and the steps from it; (None, ()) for the primal."""
    return getattr(tensor._tangents, "origins", {}).get(number, (None, ()))


def hide_tangents(operation: Operation, values: list, number, result):
    """Let views of a primal without its tangent have none either; they share the tangent that the primal gets later."""
    source = values[0]
    primal, steps = origin_of(source, number)
    is_one: cython.bint = isinstance(result, TensorBase)
    for nr, view in enumerate((result,) if is_one else result):
        if cython.cast(TensorBase, view)._view is None:
            continue
        set_tangent(view, number, None)
        tangents = view._tangents
        if not hasattr(tangents, "origins"):
            tangents.origins = {}
        step = (operation, tuple(values[1:]), None if is_one else nr)
        tangents.origins[number] = (source if primal is None else primal, (steps, step))


def is_hidden(tensor: TensorBase, number):
    """True if a tensor does not share the tangent of its base: the primal unpacked from a dual."""
    return tensor._tangents is not None and number in tensor._tangents and tensor._tangents[number] is None


def tangents_of(operation: Operation, values: list, number):
    """The tangents of inputs by name, of those that have one (for a sequence a list, None for members without)."""
    tangents: dict = {}
    for position in operation.arguments.inputs:
        value = values[position]
        if isinstance(value, TensorBase):
            t = tangent_of(value, number)
            if t is not None:
                tangents[operation.arguments.names[position]] = t
        elif isinstance(value, tuple) and position == operation.arguments.sequence:
            members = [tangent_of(member, number) for member in value]
            if any([t is not None for t in members]):
                tangents[operation.arguments.names[position]] = members
    return tangents


# derivatives ----------------------------------------------------------------------------------------------------------

_CONSTANT, _SUM, _LINEAR, _MULTILINEAR = range(4)


@cython.final
@cython.cclass
class Partial:
    """One partial derivative: a function of (ops, tangent, *values).

    name, place: the input, and its position among all arguments. places: the positions of the needed arguments, -1 for
    the result.
    fused: the partial as programs on NumPy's arrays. is_elementwise: a program is faster for small arrays too.
    """

    def __init__(self, rule, formula, name, position, places) -> None:
        self.product = product = formula.call
        self.name = name
        self.position = position
        self.places = places
        has_partials: cython.bint = rule.kind == "elementwise"
        self.is_identity = has_partials and formula.is_identity
        self.is_elementwise = rule.is_elementwise
        numpy_ops = raw_ops(numpy.zeros(0))

        def on_numpy(*values):
            return product(numpy_ops, *values)

        self.fused = Fused(on_numpy, (), has_partials and formula.takes_numbers)

    def on_arrays(self, ops, t, values: list, result):
        """The product with a tangent on raw arrays; ops: the operations for them."""
        if self.is_identity:
            return t
        needed: list = [t]
        position: cython.Py_ssize_t
        for position in self.places:
            needed.append(result if position < 0 else values[position])
        large: cython.bint = is_large(t)
        if type(t) is _ndarray and (self.is_elementwise or large) and is_all_plain(needed):
            n: cython.Py_ssize_t = len(needed)
            if n == 1:
                out = self.fused.one(t, True)
            elif n == 2:
                out = self.fused.two(t, needed[1], True, large)
            else:
                out = self.fused.several(needed, True, large)
            if out is not None:
                return out
        return self.product(ops, *needed)


def is_all_plain(values: list):
    """True if no value is an array of another kind than NumPy's."""
    return not any([isinstance(value, BatchedBase) for value in values])


@cython.final
@cython.cclass
class Derivative:
    """The tangent of an operation with one result from its inputs' tangents, by positions.

    kind: none, a sum of products with partial derivatives, the operation on the tangent, or a sum of these over inputs.
    """

    def __init__(self, operation: Operation, kind, partials) -> None:
        self.operation = operation
        self.kind = kind
        self.partials = partials

    def on_arrays(self, arrays: list, tangents: list, result):
        """The tangent from the tangents of the first inputs, or None each; all are plain arrays or numbers."""
        operation: Operation = self.operation
        a = tangents[0]
        b = tangents[1]
        if self.kind == _LINEAR:
            return operation.kernel.one(a)
        total = None
        if self.kind == _MULTILINEAR:
            if a is not None:
                total = operation.kernel.two(a, arrays[1])
            if b is not None:
                term = operation.kernel.two(arrays[0], b)
                total = term if total is None else total + term
            return total
        partial: Partial
        values: list = [*arrays, *operation.tail]
        for partial in self.partials:
            t = tangents[partial.position]
            if t is not None:
                term = partial.on_arrays(raw_ops(t), t, values, result)
                total = term if total is None else total + term
        return total


_derivatives: dict = {}


def derivative_of(operation: Operation) -> Derivative:
    """The derivative of an operation by positions, or None if it has none such."""
    if operation in _derivatives:
        return _derivatives[operation]
    derivative = _derivatives[operation] = make_derivative(operation)
    return derivative


def make_derivative(operation: Operation):
    """The work of `derivative_of`."""
    rule = operation.rule
    names: tuple = operation.arguments.names
    if rule.outputs is not None or rule.sequence is not None:
        return None
    kind = {"constant": _CONSTANT, "linear": _LINEAR, "multilinear": _MULTILINEAR}.get(rule.kind, _SUM)
    if kind == _LINEAR and len(rule.inputs) > 1:
        return None
    if kind != _SUM:
        return Derivative(operation, kind, ())
    places = {"y": -1} | {name: position for position, name in enumerate(names)}
    formulas = {f.inputs[0]: f for f in rule.vjps} if rule.kind == "elementwise" else rule.jvps
    needs = [name for formula in formulas.values() for name in formula.needs]
    if set(formulas) != set(rule.inputs) or any([name not in places for name in needs]):
        return None
    partials = [
        Partial(rule, f, name, places[name], tuple([places[need] for need in f.needs])) for name, f in formulas.items()
    ]
    return Derivative(operation, kind, tuple(partials))


def result_tangent(operation: Operation, tangents: dict, values: list, result):
    """The tangent of the result (a tuple for several), of the result's dtype."""
    derivative = derivative_of(operation)
    if operation.rule.kind == "linear":
        tangent = linear_jvp(operation, tangents, values)
    elif derivative is None:
        by_name = dict(zip(operation.arguments.names, values, strict=True))
        tangent = jvp(operation.rule, ops, tangents, by_name, result, transposed_jvp)
    elif derivative.kind == _CONSTANT:
        return None
    elif derivative.kind == _MULTILINEAR:
        tangent = sum_of_replaced(operation, tangents, values)
    else:
        tangent = sum_of_products(derivative, tangents, values, result)
    if operation.rule.outputs is None:
        return as_tangent_of(tangent, result)
    if tangent is None:
        return None
    return tuple([as_tangent_of(t, output) for t, output in zip(tangent, result, strict=True)])


def sum_of_replaced(operation: Operation, tangents: dict, values: list):
    """The jvp of a multilinear operation: the sum over inputs of the operation on the tangent instead of the input."""
    total = None
    for position in operation.arguments.inputs:
        t = tangents.get(operation.arguments.names[position])
        if t is not None:
            replaced: list = list(values)
            replaced[position] = t
            term = operation.proceed(replaced, -1)
            total = term if total is None else total + term
    return total


def sum_of_products(derivative: Derivative, tangents: dict, values: list, result):
    """The jvp as a sum of products with partial derivatives, on raw arrays unless it is recorded."""
    raw = raw_values(values, tangents, result)
    ops_of_raw = None if raw is None else ops_for(raw, tangents)
    total = None
    partial: Partial
    for partial in derivative.partials:
        t = tangents.get(partial.name)
        if t is None:
            continue
        if raw is not None:
            array = cython.cast(TensorBase, t)._array
            term = partial.on_arrays(ops_of_raw, array, raw, cython.cast(TensorBase, result)._array)
        else:
            term = partial.product(
                ops, t, *[result if position < 0 else values[position] for position in partial.places]
            )
        total = term if total is None else total + term
    if isinstance(total, numpy.generic):
        return new_tensor(numpy.asarray(total))
    return total if raw is None or total is None else new_tensor(total)


def raw_values(values: list, tangents: dict, result: TensorBase):
    """The arguments with arrays instead of Tensors, or None if the jvp must run on Tensors.

    Arrays must be NumPy's, perhaps batched, and of one floating dtype. None may have a recorded history, and no other
    mode may be on.
    """
    state: ThreadState = current()
    if state.unusual or not is_raw(result, result, state.grad_enabled):
        return None
    for t in tangents.values():
        if not is_raw(t, result, state.grad_enabled):
            return None
    raw: list = []
    for value in values:
        if isinstance(value, TensorBase):
            if not is_raw(value, result, state.grad_enabled):
                return None
            raw.append(cython.cast(TensorBase, value)._array)
        else:
            raw.append(value)
    return raw


def is_raw(tensor: TensorBase, result: TensorBase, grad_enabled):
    """True if the derivative may be computed with the array of a tensor in place of it."""
    if grad_enabled and needs_grad(tensor):
        return False
    array = tensor._array
    while isinstance(array, BatchedBase):
        array = cython.cast(BatchedBase, array).data
    if type(array) is not _ndarray or not is_inexact(array):
        return False
    return tensor is result or array.dtype == result._array.dtype


def ops_for(raw: list, tangents: dict):
    """The operations on raw arrays, some of them batched."""
    model = None
    for t in tangents.values():
        model = cython.cast(TensorBase, t)._array
        if isinstance(model, BatchedBase):
            return raw_ops(model)
    for value in raw:
        if isinstance(value, BatchedBase):
            return raw_ops(value)
    return raw_ops(model)


def linear_jvp(operation: Operation, tangents: dict, values: list):
    """The jvp of a linear operation, by the positions of arguments instead of names, for speed."""
    operands: list = list(values)
    is_prepared: cython.bint = True
    for position in operation.arguments.inputs:
        t = tangent_or_zero(ops, tangents.get(operation.arguments.names[position]), values[position])
        is_prepared = is_prepared and isinstance(t, (TensorBase, list))
        operands[position] = tuple(t) if isinstance(t, list) else t
    return operation.proceed(operands, -1) if is_prepared else operation.apply(operands)


# fit for its output ---------------------------------------------------------------------------------------------------


def as_tangent_of(tangent, output: TensorBase):
    """A tangent as a Tensor of the output's shape, dtype and layout."""
    if tangent is None:
        return None
    tensor: TensorBase = tangent
    array, target = tensor._array, output._array
    if type(array) is type(target) is _ndarray and dtype_of(array) is dtype_of(target):
        is_dense: cython.bint = array.flags.c_contiguous and target.flags.c_contiguous
        if is_dense and has_shape(array, shape_of(target)):
            return tangent
    if array.dtype != target.dtype:
        if kind_of(array) == "c" and kind_of(target.dtype) != "c":
            tangent = ops.real(tangent)
        tangent = ops.cast(tangent, from_numpy_dtype(target.dtype))
    tensor = tangent
    if tensor._array.shape != target.shape:
        tangent = ops.expand(tangent, target.shape)
    return tangent if output._view is not None else laid_out_like(tangent, output)


def in_own_memory(tangent: TensorBase, tangents: dict):
    """The tangent, copied if it shares memory with another: a write in place changes one tangent alone."""
    array = tangent._array
    # an array that is no view is one of the given arrays, or has memory of its own
    is_whole: cython.bint = type(array) is _ndarray and array.base is None
    for value in tangents.values():
        for t in value if isinstance(value, list) else (value,):
            if t is None:
                continue
            other = cython.cast(TensorBase, t)._array
            if other is array if is_whole else shares_memory(other, array):
                return ops.clone_with_strides(tangent, own_strides(array))
    return tangent


def laid_out_like(tangent: TensorBase, primal: TensorBase):
    """The tangent with the strides of the primal, copied if needed, so that views of both have equal indices."""
    if steps(tangent._array) == steps(primal._array):
        return tangent
    return ops.clone_with_strides(tangent, own_strides(primal._array))


def steps(array):
    """The strides, counted in elements, of the axes longer than 1."""
    strides = getattr(array, "strides", ())
    return tuple([step // array.itemsize for step, n in zip(strides, array.shape, strict=False) if n > 1])


# the interceptor ------------------------------------------------------------------------------------------------------


@cython.cclass
class DualLevels(QuickSeries):
    """Gives the results of operations their tangents. write: runs an operation in place, set by the module above."""

    def __init__(self, write) -> None:
        QuickSeries.__init__(self, DUAL_LEVELS)
        self.has_quick = True
        self.write = write

    def quick(self, operation, operands: list):
        """The operation on one or two plain arrays or numbers without history, at the only level."""
        state: ThreadState = current()
        if len(state.dual_stack) != 1 or state.forward_off:
            return NotImplemented
        number = state.dual_stack[0]
        if number in _propagations:
            return QuickSeries.quick(self, operation, operands)
        op: Operation = operation
        grad_enabled = state.grad_enabled
        left = plain_operand(operands[0], op.arguments.takes_numbers)
        if left is None:
            return NotImplemented
        a = plain_tangent(operands[0], left, number, grad_enabled)
        if a is left:
            return NotImplemented
        right = b = None
        if len(operands) == 2:
            right = plain_operand(operands[1], op.arguments.takes_numbers)
            if right is None or not is_pair(left, right):
                return NotImplemented
            b = plain_tangent(operands[1], right, number, grad_enabled)
            if b is right:
                return NotImplemented
        derivative = None
        if a is not None or b is not None:
            derivative = derivative_of(op)
            if derivative is None:
                return NotImplemented
        value = op.kernel.one(left) if right is None else op.kernel.two(left, right)
        if value is None:
            return NotImplemented
        result: TensorBase = new_tensor(value)
        if derivative is not None:
            quick_tangent(derivative, result, [left] if right is None else [left, right], [a, b], number)
        return result

    def operation(self, operation, values: list):
        """Run an operation whose arguments may have tangents."""
        op: Operation = operation
        if not cython.cast(ThreadState, current()).forward_off:
            result = apply(op, values)
            if result is not None:
                return result
        return op.proceed(values, self.position)

    def in_place(self, operation, values: list):
        """As `apply`, for an operation in place: it writes value and tangent."""
        op: Operation = operation
        if cython.cast(ThreadState, current()).forward_off:
            return op.proceed_in_place(values, self.position)
        self.write(op, values)
        return values[0]


def is_pair(left, right):
    """True for two plain arrays of one dtype, or one and a number."""
    if type(left) is _ndarray:
        return type(right) is not _ndarray or dtype_of(left) is dtype_of(right)
    return type(right) is _ndarray


def quick_tangent(derivative: Derivative, result: TensorBase, arrays: list, tangents: list, number):
    """Give the result of an operation on plain arrays its tangent."""
    value = result._array
    if derivative.kind == _CONSTANT or kind_of(value) in "biu":
        return
    if is_large(value) or is_large(arrays[0]):
        tangent = with_kept_memory(derivative.on_arrays, (arrays, tangents, value))
    else:
        tangent = derivative.on_arrays(arrays, tangents, value)
    if type(tangent) is not _ndarray:
        tangent = numpy.asarray(tangent)
    elif tangent is tangents[0] or tangent is tangents[1] or tangent.base is not None:
        tangent = tangent.copy(order="K")
    set_tangent(result, number, as_tangent_of(new_tensor(tangent), result))


def is_inexact(array):
    """True for an array of floating point in single or double precision."""
    dtype = dtype_of(array)
    return dtype is _FLOAT64 or dtype is _FLOAT32


def apply(operation: Operation, values: list):
    """Run an operation whose arguments may have tangents; None if none has one at the innermost level."""
    state: ThreadState = current()
    stack: tuple = state.dual_stack
    number = stack[len(stack) - 1]
    outer: tuple = stack[: len(stack) - 1]
    is_one: cython.bint = operation.rule.outputs is None
    state.heed(outer)
    try:
        tangents = tangents_of(operation, values, number)
        if not tangents:
            hidden: cython.bint = operation.is_view and is_hidden(values[0], number)
            # an outer level may still be concerned
            result = operation.apply(list(values)) if outer or hidden else None
            if hidden:
                hide_tangents(operation, values, number, result)
            return result
        result = operation.apply(list(values)) if outer else operation.proceed(values, DUAL_LEVELS)
        propagation = _propagations.get(number)
        if propagation is None:
            tangent = result_tangent(operation, tangents, values, result)
        else:
            tangent = propagation.result_tangent(operation, tangents, values, result)
    finally:
        state.heed(stack)
    if is_one:
        give_tangent(result, tangent, tangents, number, propagation is not None)
    elif tangent is not None:
        for output, t in zip(result, tangent, strict=True):
            give_tangent(output, t, tangents, number, propagation is not None)
    return result


def give_tangent(output: TensorBase, tangent, tangents: dict, number, shares):
    """Set the tangent of an output, in memory of its own unless it is to share memory with others."""
    if tangent is None or kind_of(output._array) in "biu":
        return
    set_tangent(output, number, tangent if shares or output._view is not None else in_own_memory(tangent, tangents))
    if isinstance(output._node, OpNode):
        # so that the result still has its tangents when it is unpacked
        node: OpNode = output._node
        node.note_tangents(output._output_nr, output._tangents)
