"""Views: the memory and version counter that they share, the steps that repeat them, and the indices that give them."""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

from operator import index as as_int

import numpy

from adjoint.arrays.namespace import address, has_views, in_memory, share_memory, underlying
from adjoint.core import errors

if not cython.compiled:
    # the compiled form has them from the .pxd
    from adjoint.core.graph import NO_VERSION, TensorBase, View, counter_of, new_tensor
    from adjoint.core.modes.state import ThreadState, current

_ndarray = numpy.ndarray


def note_view(operation, values, result: TensorBase, nr):
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
    view.base = base_of(source) if outer is None else outer.base
    others = (values[1],) if len(values) == 2 else tuple(values[1:])
    view.replay = (() if outer is None else outer.replay, (operation, others, nr))
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
    # a view of an outer tensor stays outside of a differentiated function
    result._level = source._level


def base_of(source: TensorBase) -> TensorBase:
    """The base for a view of a tensor; an inference tensor has no views, so that only the memory is shared."""
    if source._counter is not NO_VERSION:
        return source
    memory: TensorBase = new_tensor(source._array)
    memory._counter = NO_VERSION
    return memory


def basic_index(index):
    """A basic index as a tuple that gives a view, recognised by types alone; None where types are not enough.

    Raises ValueError for a slice with a step of 0.
    """
    if index is None or type(index) is int:
        return (index, ...)
    if type(index) is slice:
        check_step(index)
        return (index,)
    if type(index) is not tuple or not index:
        return None
    has_ellipsis: cython.bint = False
    for item in cython.cast(tuple, index):
        if type(item) is slice:
            check_step(item)
        elif item is Ellipsis:
            if has_ellipsis:
                return None
            has_ellipsis = True
        elif item is not None and type(item) is not int:
            return None
    # without an ellipsis NumPy would give a scalar if no axis is left
    return index if has_ellipsis else (*index, ...)


def check_step(item):
    """Refuse a step of 0. Negative steps are allowed, as in NumPy; torch has none."""
    if item.step is not None and as_int(item.step) == 0:
        raise ValueError("step must be greater than zero")


def last_step(basic: tuple):
    """The kind of the last step of a basic index: all (0), a part (1) or an element (2) of an axis, or a new axis
    (3)."""
    last: cython.int = 0
    for item in basic:
        if item is None:
            last = 3
        elif type(item) is int:
            last = 2
        elif type(item) is slice and (last == 0 or not is_everything(item)):
            last = 1
    return last


def is_everything(item):
    """True for the slice that picks a whole axis."""
    return item.start is None and item.stop is None and item.step is None


def as_strided_step(operation, base, array):
    """The arguments with which `as_strided` makes the array of a view from its base."""
    base, array = in_memory(base), in_memory(array)
    size = base.itemsize
    # the batch axes of base and view are the same, so that the members of a batch lie at the same distance
    start, begin = [address(in_memory(underlying(a))) for a in (array, base)]
    offset = start - begin
    stride, base_stride = [tuple([k // size for k in a.strides]) for a in (array, base)]
    return operation, (array.shape, stride, offset // size, base_stride), None


def shares_memory(source, result):
    """True if a view operation really gave a view (reshape may copy)."""
    if type(source) is not _ndarray or type(result) is not _ndarray:
        source, result = underlying(source), underlying(result)
    if type(source) is not _ndarray:
        return share_memory(source, result)
    base = result.base
    if base is None:
        return result is source
    if base is source or base is source.base:
        return True
    # an array without a base has memory of its own
    return not (type(base) is _ndarray and base.base is None) and numpy.may_share_memory(source, result)
