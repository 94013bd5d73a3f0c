"""Levels of forward mode, the tangents of tensors at them, and the fast path of series through operations.

In Taylor mode most operations have one or two plain arrays with series, and no other mode is on. For them `QuickSeries`
computes the value and the series on raw arrays, by the functions in `arrays/kernels/series/elementwise.py`.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

from itertools import count

import numpy

from adjoint.arrays.kernels.series.elementwise import OF_ONE, OF_TWO
from adjoint.core.graph import Tangents

if not cython.compiled:
    # the compiled form has them from the .pxd
    from adjoint.core.graph import TensorBase, dtype_of, first_tangents, needs_grad, new_tensor, version_of
    from adjoint.core.modes.interceptors import Interceptor
    from adjoint.core.modes.state import ThreadState, current
    from adjoint.core.operations.operation import Operation, plain_operand

from weakref import ref

_ndarray = numpy.ndarray
_numbers = count(1)
#: Holders of tangents of a level, by the level's number: the end of the level removes the tangents.
holders = _holders = {}
#: How tangents pass through operations (`forward.Propagation`), for the levels that are not of the usual kind.
propagations = _propagations = {}
#: The propagations of levels whose tangents are Taylor series.
series_levels = _series_levels = {}


def new_level(propagation=None) -> int:
    """The number of a derivation that is going to begin."""
    number = next(_numbers)
    _holders[number] = set()
    if propagation is not None:
        propagation.number = number
        _propagations[number] = propagation
        if propagation.of_series:
            _series_levels[number] = propagation
    return number


def forget_level(number) -> None:
    """Drop the tangents of a derivation that has ended, everywhere."""
    _propagations.pop(number, None)
    _series_levels.pop(number, None)
    of_level: set = _holders.pop(number)
    if not of_level:
        return
    for holder in list(of_level):
        tangents = holder()
        if tangents is not None:
            tangents.pop(number, None)
            if hasattr(tangents, "origins"):
                tangents.origins.pop(number, None)


def set_tangent(tensor: TensorBase, number, tangent) -> None:
    """Set the tangent of a tensor at a level; None hides the tangent of a view's base."""
    tangents = tensor._tangents
    if tangents is None:
        tangents = first_tangents(tensor, Tangents())
    if number not in tangents:
        of_level: set = _holders[number]
        of_level.add(ref(tangents, of_level.discard))
    tangents[number] = tangent


def is_alone(tensor: TensorBase):
    """True for a Tensor of a NumPy array that is no view and has neither history nor tangents."""
    if type(tensor._array) is not _ndarray or tensor._tangents is not None or tensor._view is not None:
        return False
    return not tensor._requires and tensor._node is None and not current().dual_stack


def with_series(array, counter, number, series):
    """A Tensor of an array that has a series at a level; who makes it takes the series away, by `taken_series`."""
    tensor: TensorBase = new_tensor(array)
    tensor._counter = counter
    tensor._tangents = Tangents()
    tensor._tangents[number] = series
    return tensor


def own_series(result, number):
    """The series that a Tensor has itself at a level, in an array of NumPy's; else None."""
    if not isinstance(result, TensorBase):
        return None
    tensor: TensorBase = result
    series: TensorBase = None if tensor._tangents is None else tensor._tangents.get(number)
    if series is None or type(series._array) is not _ndarray:
        return None
    return series


def taken_series(tensor: TensorBase, number):
    """Take the series of a Tensor at a level from it; None if it has none."""
    return None if tensor._tangents is None else tensor._tangents.pop(number, None)


def plain_tangent(operand, value, number, grad_enabled):
    """The array of an operand's tangent (or series); None for a constant, `value` if the general path must handle it.

    value: the array of the operand, or the number itself.
    """
    if not isinstance(operand, TensorBase):
        return None
    tensor: TensorBase = operand
    if grad_enabled and needs_grad(tensor):
        return value
    if tensor._tangents is None:
        return None if tensor._view is None else value
    series: TensorBase = cython.cast(dict, tensor._tangents).get(number)
    if series is None:
        return value
    array = series._array
    if type(array) is not _ndarray or dtype_of(array) is not dtype_of(value) or (grad_enabled and needs_grad(series)):
        return value
    return array


def plain_series(operand, value, number, grad_enabled):
    """`plain_tangent` of a level of series, whose first coefficient is the operand."""
    series = plain_tangent(operand, value, number, grad_enabled)
    if series is None or series is value or not version_of(operand):
        return series
    # an alias without series may have modified it
    return series if numpy.array_equal(series[0], value) else value


@cython.cclass
class QuickSeries(Interceptor):
    """Passes series of plain arrays through elementwise operations."""

    def __init__(self, position) -> None:
        Interceptor.__init__(self, position)
        self.has_quick = bool(OF_ONE)

    def quick(self, operation, operands: list):
        """The operation on one or two Tensors or numbers, with a series at the only level."""
        state: ThreadState = current()
        op: Operation = operation
        if len(state.dual_stack) != 1 or state.forward_off:
            return NotImplemented
        number = state.dual_stack[0]
        if number not in _series_levels:
            return NotImplemented
        grad_enabled = state.grad_enabled
        if len(operands) == 1:
            function = OF_ONE.get(op.name)
            left = None if function is None else plain_operand(operands[0], False)
            a = None if left is None else plain_series(operands[0], left, number, grad_enabled)
            if a is None or a is left:
                return NotImplemented
            value = op.kernel.one(left)
            series = function(a, left, value)
        else:
            function = OF_TWO.get(op.name)
            if function is None:
                return NotImplemented
            left = plain_operand(operands[0], True)
            right = plain_operand(operands[1], True)
            if left is None or right is None:
                return NotImplemented
            a = plain_series(operands[0], left, number, grad_enabled)
            b = plain_series(operands[1], right, number, grad_enabled)
            if a is left or b is right or (a is None and b is None):
                return NotImplemented
            if type(left) is type(right) is _ndarray and dtype_of(left) is not dtype_of(right):
                return NotImplemented
            value = op.kernel.two(left, right)
            series = None if value is None else function(a, b, left, right, value)
        if series is None or not is_series_of(series, value):
            return NotImplemented
        result: TensorBase = new_tensor(value)
        # not among the holders, which costs a third of the operation: what leaves the function is cleared there
        result._tangents = tangents = new_tangents()
        cython.cast(dict, tangents)[number] = new_tensor(series)
        return result


if not cython.compiled:
    # the compiled form has these from the .pxd
    new_tangents = Tangents

    def is_series_of(series, value):
        """True if a series is of the dtype of a value and, but for the axis of orders, of its shape."""
        return series.dtype == value.dtype and series.shape[1:] == value.shape
