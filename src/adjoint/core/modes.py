"""Modes of the calling thread: is gradient recording on, and is anything unusual on.

Every mode lives in one `ThreadState`, so that the hot path makes one look-up and reads two C fields of it.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.arrays import _cython_shim as cython

import threading
import weakref

if not cython.compiled:
    _local = threading.local()

_KEY = "adjoint.core.modes"
_states = weakref.WeakSet()
# anomaly mode belongs to all threads, those to come too: (is it on, does it look for NaN)
_anomaly = (False, True)
# how many volatile tensors there are; they too belong to all threads
_volatile = 0
_last_number = 0
_last_state = None
# what a thread that works for another one takes over from it
_FIELDS = ("grad_enabled", "unusual", "dual_stack", "public_level", "forward_off", "batches", "backward_depth")
_FIELDS += ("inference", "multithreading", "anomaly", "check_nan", "locations", "evaluating", "node_hooks")
_FIELDS += ("saved_hooks", "saving", "saved_hooks_refused", "runner", "before_write", "transforms", "run")
_FIELDS += ("enforce_layout", "inspector", "volatile", "profiler", "differentiated", "level")
# how many threads are in inference mode or inside a transformation, so that new tensors are marked
_inferring = 0


@cython.final
@cython.cclass
class Level:
    """One run of a function under a transformation that differentiates it.

    number: later ones have larger numbers. alive: the run is not over; tensors that were made in it and are still there
    afterwards have escaped.
    """

    def __init__(self, number):
        self.number = number
        self.alive = True


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
    inference: new tensors are inference tensors, which take no part in recording and count no versions.
    multithreading: as the user set it; a backward pass runs in the thread that asked for it in any case.
    enforce_layout: a gradient's buffer is kept as .grad only where it lies in memory as the leaf does.
    anomaly, check_nan: nodes remember the traceback of their making; backward passes look for NaN.
    locations: if not 0, nodes and version counters remember the source lines of saving and modifying.
    evaluating: the node that a backward pass in anomaly mode is running.
    run: the innermost backward pass.
    node_hooks: functions that are called with every node that is made.
    saved_hooks: pairs of functions that pack and unpack what is saved, the innermost last.
    saving: the node whose saved tensor a pack hook is looking at, None if it is not known.
    saved_hooks_refused: why such pairs may not be used now, or None.
    runner: what runs kernels instead of `Operation.run`, as runner(operation, raw arguments, half), or None.
    inspector: what looks at the results of kernels, as inspector(operation, raw arguments, results), or None.
    profiler: what runs operations and watches backward passes to note what they cost (see tools/profiler), or None.
    volatile: how many volatile tensors there are in the process (see tools/legacy.py).
    before_write: functions that are called with every tensor that is going to be modified in place.
    transforms: the transformations of functions inside of which this thread is, the innermost last, as ("grad", 0),
        ("jvp", 0), ("vmap", level).
    differentiated: for each function inside of which this thread is and that adjoint differentiates backward, the
        tensors by which it does.
    replaying: the history of a view is being made again, perhaps after a batch in which it was made.
    level: the innermost of these that differentiates, as a `Level`, or None; new tensors are marked with it.
    """

    def __init__(self):
        self.grad_enabled = True
        self.dual_stack = ()
        self.public_level = -1
        self.forward_off = False
        self.batches = ()
        self.backward_depth = 0
        self.inference = False
        self.multithreading = True
        self.enforce_layout = True
        self.anomaly, self.check_nan = _anomaly
        self.locations = int(self.anomaly)
        self.volatile = _volatile
        self.unusual = int(self.anomaly) + _volatile
        self.evaluating = self.run = None
        self.node_hooks = self.saved_hooks = self.before_write = ()
        self.saved_hooks_refused = self.saving = self.runner = self.inspector = self.profiler = None
        self.transforms = self.differentiated = ()
        self.level = None
        self.replaying = False
        _states.add(self)


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


def adopt(modes: ThreadState):
    """Give the calling thread the modes of another one, which waits for it."""
    state: ThreadState = current()
    for name in _FIELDS:
        setattr(state, name, getattr(modes, name))


def is_grad_enabled() -> bool:
    """True if operations are recorded in the calling thread."""
    return current().grad_enabled


def set_grad(enabled: bool) -> bool:
    """Switch recording on or off in the calling thread; returns what it was."""
    state: ThreadState = current()
    before = state.grad_enabled
    state.grad_enabled = enabled and not state.inference
    return before


def set_inference(enabled: bool) -> tuple:
    """Switch inference mode on or off in the calling thread; returns what it, recording and forward mode were."""
    state: ThreadState = current()
    before = (state.inference, state.grad_enabled, state.forward_off)
    restore_inference((enabled, not enabled, enabled))
    return before


def restore_inference(modes: tuple):
    """Set what `set_inference` returned."""
    global _inferring
    state: ThreadState = current()
    _inferring += modes[0] - state.inference
    state.inference, state.grad_enabled, state.forward_off = modes


def set_level(level):
    """Say inside which differentiated function the calling thread is (None: in none); returns what was said before."""
    global _inferring
    state: ThreadState = current()
    before = state.level
    _inferring += (level is not None) - (before is not None)
    state.level = level
    return before


def set_anomaly(enabled: bool, check_nan: bool) -> tuple:
    """Switch anomaly mode on or off in all threads; returns what it was."""
    global _anomaly
    before = _anomaly
    _anomaly = (enabled, check_nan)
    state: ThreadState
    for state in list(_states):
        state.unusual += enabled - state.anomaly
        state.locations += enabled - state.anomaly
        state.anomaly, state.check_nan = _anomaly
    return before


def count_volatile(more):
    """Note, in all threads, that there are so many more volatile tensors."""
    global _volatile
    _volatile += more
    state: ThreadState
    for state in list(_states):
        state.unusual += more
        state.volatile += more


def thread_is_inferring() -> bool:
    """True in inference mode; quick where no thread is in it."""
    return _inferring > 0 and current().inference
