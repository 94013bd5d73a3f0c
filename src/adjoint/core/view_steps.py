"""Views among results of operations: the memory and version counter that they share, and the steps that repeat them."""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

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
    view.replay = (() if outer is None else outer.replay, (operation, tuple(values[1:]), nr))
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


def as_strided_step(operation, base, array):
    """How the operation `as_strided` leads from the array of a base to that of a view."""
    base, array = in_memory(base), in_memory(array)
    size = base.itemsize
    # the batch axes of base and view are the same, so that the members of a batch lie at the same distance
    start, begin = [address(in_memory(underlying(a))) for a in (array, base)]
    offset = start - begin
    stride, own = [tuple([k // size for k in a.strides]) for a in (array, base)]
    return operation, (array.shape, stride, offset // size, own), None


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
