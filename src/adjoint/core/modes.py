"""Modes of the calling thread: is gradient recording on, and is anything unusual on.

Every mode lives in one `ThreadState`, so that the hot path makes one look-up and reads two C fields of it.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.core import _cython_shim as cython

import threading

if not cython.compiled:
    _local = threading.local()

_KEY = "adjoint.core.modes"
_last_number = 0
_last_state = None


@cython.final
@cython.cclass
class ThreadState:
    """The modes of one thread.

    grad_enabled: operations on tensors that require a gradient are recorded.
    unusual: how many things that the fast paths do not know of are on (dual levels, vmap, saved-tensor hooks ...).
    dual_stack: the numbers of the forward-mode levels that are open, the innermost last.
    public_level: the number of the level that forward_ad has open, -1 for none.
    forward_off: results get no tangents.
    batches: the batches that vmap is running, the innermost last.
    backward_depth: how many backward passes are running in this thread, one inside the other.
    """

    def __init__(self):
        self.grad_enabled = True
        self.unusual = 0
        self.dual_stack = ()
        self.public_level = -1
        self.forward_off = False
        self.batches = ()
        self.backward_depth = 0


def current() -> ThreadState:
    """The state of the calling thread, made when first asked for."""
    global _last_number, _last_state
    if cython.compiled:
        # the numbers of threads are never used again, so the last answer holds as long as the thread is the same
        number: cython.ulonglong = PyThreadState_GetID(PyThreadState_Get())
        if number == _last_number and _last_state is not None:
            return _last_state
        table = cython.cast(dict, cython.cast(object, PyThreadState_GetDict()))
    else:
        table = _local.__dict__
    state = table.get(_KEY)
    if state is None:
        state = table[_KEY] = ThreadState()
    if cython.compiled:
        _last_number = number
        _last_state = state
    return state


def is_grad_enabled() -> bool:
    """True if operations are recorded in the calling thread."""
    return current().grad_enabled


def set_grad(enabled: bool) -> bool:
    """Switch recording on or off in the calling thread; returns what it was."""
    state: ThreadState = current()
    before = state.grad_enabled
    state.grad_enabled = enabled
    return before
