"""Modes of the calling thread: is gradient recording on, and is anything unusual on.

Every mode lives in one `ThreadState`, so that the hot path makes one look-up and reads two C fields of it.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

import threading
import weakref

from adjoint.core.interceptors import DUAL_LEVELS

if not cython.compiled:
    # the compiled form has them from the .pxd
    from adjoint.core.interceptors import interceptor_at, with_interceptor

    _local = threading.local()

_KEY = "adjoint.core.modes"
# weak references to the states of all threads
_states: list = []
# anomaly mode belongs to all threads, those to come too: (is it on, does it look for NaN)
_anomaly = (False, True)
# how many volatile tensors there are, and what looks for them; they too belong to all threads
_volatile = 0
_volatile_interceptor = None
# what gives the results of operations their tangents
_dual_levels = None
_last_number = 0
_last_state = None
#: The modes of a thread, each with its value in a new one: what is here is handed over to threads that work for
#: another, and is as before when a backward pass is over, whatever its hooks have left behind. modes.pxd has the types.
MODES = {
    "grad_enabled": True,
    "unusual": 0,
    "dual_stack": (),
    "open_levels": (),
    "public_level": -1,
    "forward_off": False,
    "batches": (),
    "backward_depth": 0,
    "inference": False,
    "multithreading": True,
    "enforce_layout": True,
    "anomaly": False,
    "check_nan": True,
    "locations": 0,
    "locators": (),
    "evaluating": None,
    "run": None,
    "node_hooks": (),
    "saved_hooks": (),
    "saving": None,
    "saved_hooks_refused": None,
    "interceptors": (),
    "volatile": 0,
    "before_write": (),
    "transforms": (),
    "differentiated": (),
    "level": None,
    "replaying": False,
    "plain_results": False,
}
#: What a block does to a mode: give it a value; the same, to restore another value than it has now; put a member at the
#: end of a tuple; add to a number, which others may add to meanwhile; give an attribute of another object, as (object,
#: value), a value, or take it away, as (object, ABSENT); write values to the memory of an array, as (array, values);
#: put an interceptor, or none, in its place of the chain, as (place, interceptor). Under the name "anomaly" the value
#: is what `set_anomaly` takes.
SET, EXCHANGE, PUSH, ADD, ATTRIBUTE, MEMORY, INTERCEPT = range(7)
ABSENT = object()
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
    unusual: how many things that the fast paths do not know of are on (interceptors, saved-tensor hooks ...). This and
        `locations` follow from the others, see `recount`. So does the interceptor of `dual_stack`.
    dual_stack: the numbers of the forward-mode levels that operations are to heed, the innermost last.
    open_levels: those of all levels that are open; an operation at an inner one is run with only the outer ones heeded.
    public_level: the number of the level that forward_ad has open, -1 for none.
    forward_off: results get no tangents.
    batches: the batches that vmap is running, the innermost last.
    backward_depth: how many backward passes are running in this thread, one inside the other.
    inference: new tensors are inference tensors, which take no part in recording and count no versions.
    multithreading: as the user set it; a backward pass runs in the thread that asked for it in any case.
    enforce_layout: a gradient's buffer is kept as .grad only where it lies in memory as the leaf does.
    anomaly, check_nan: nodes remember the traceback of their making; backward passes look for NaN.
    locations: if not 0, nodes and version counters remember the source lines of saving and modifying. locators: the
        blocks that ask for it; anomaly mode does, too.
    evaluating: the node that a backward pass in anomaly mode is running.
    run: the innermost backward pass.
    node_hooks: functions that are called with every node that is made.
    saved_hooks: pairs of functions that pack and unpack what is saved, the innermost last.
    saving: the node whose saved tensor a pack hook is looking at, None if it is not known.
    saved_hooks_refused: why such pairs may not be used now, or None.
    interceptors: what stands in between, around operations, kernels and nodes, the outermost first (interceptors.py).
    volatile: how many volatile tensors there are in the process (see tools/legacy.py).
    before_write: functions that are called with every tensor that is going to be modified in place.
    outer: what `keep` kept last.
    transforms: the transformations of functions inside of which this thread is, the innermost last, as ("grad", 0),
        ("jvp", 0), ("vmap", level).
    differentiated: for each function inside of which this thread is and that adjoint differentiates backward, the
        tensors by which it does.
    plain_results: results of operations are plain Tensors, whatever the classes of the arguments are.
    replaying: the history of a view is being made again, perhaps after a batch in which it was made.
    level: the innermost of these that differentiates, as a `Level`, or None; new tensors are marked with it.
    """

    def __init__(self):
        for name, value in MODES.items():
            setattr(self, name, value)
        self.outer = None
        self.follow_process()
        # the references of threads that are over take themselves out of the list
        _states.append(weakref.ref(self, _states.remove))

    def follow_process(self):
        """Take over the modes that belong to all threads; all of them are off in this one."""
        self.anomaly, self.check_nan = _anomaly
        self.volatile = _volatile
        self.interceptors = (_volatile_interceptor,) if _volatile else ()
        self.recount()

    def recount(self):
        """Count anew what is unusual; to be called when one of these modes has changed."""
        self.locations = self.anomaly + len(self.locators)
        interceptor = _dual_levels if self.dual_stack else None
        if interceptor_at(self.interceptors, DUAL_LEVELS) is not interceptor:
            self.interceptors = with_interceptor(self.interceptors, DUAL_LEVELS, interceptor)
        self.unusual = len(self.interceptors) + len(self.saved_hooks) + len(self.node_hooks) + self.locations

    def heed(self, levels: tuple):
        """Let operations heed these levels of forward mode."""
        self.dual_stack = levels
        self.recount()

    def take(self, other):
        """Have the modes of another state; no signal comes in between."""
        if not cython.compiled:
            for name in MODES:
                setattr(self, name, getattr(other, name))
            return
        self.grad_enabled = other.grad_enabled
        self.unusual = other.unusual
        self.dual_stack = other.dual_stack
        self.open_levels = other.open_levels
        self.public_level = other.public_level
        self.forward_off = other.forward_off
        self.batches = other.batches
        self.backward_depth = other.backward_depth
        self.inference = other.inference
        self.multithreading = other.multithreading
        self.enforce_layout = other.enforce_layout
        self.anomaly = other.anomaly
        self.check_nan = other.check_nan
        self.locations = other.locations
        self.locators = other.locators
        self.evaluating = other.evaluating
        self.run = other.run
        self.node_hooks = other.node_hooks
        self.saved_hooks = other.saved_hooks
        self.saving = other.saving
        self.saved_hooks_refused = other.saved_hooks_refused
        self.interceptors = other.interceptors
        self.volatile = other.volatile
        self.before_write = other.before_write
        self.transforms = other.transforms
        self.differentiated = other.differentiated
        self.level = other.level
        self.replaying = other.replaying
        self.plain_results = other.plain_results

    def keep(self):
        """Keep the modes as they are now, until `restore`, as those of `outer`."""
        kept: ThreadState = ThreadState.__new__(ThreadState)
        kept.take(self)
        kept.outer = self.outer
        self.outer = kept

    def restore(self):
        """Have the modes again that `keep` kept last; those of all threads that were switched since stay so."""
        global _inferring
        kept: ThreadState = self.outer
        self.outer = kept.outer
        _inferring += kept.inference - self.inference + (kept.level is not None) - (self.level is not None)
        self.take(kept)


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
    state.take(modes)


def is_grad_enabled() -> bool:
    """True if operations are recorded in the calling thread."""
    return current().grad_enabled


def set_grad(enabled: bool) -> bool:
    """Switch recording on or off in the calling thread; returns what it was."""
    return set_mode("grad_enabled", enabled)


def set_anomaly(enabled: bool, check_nan: bool) -> tuple:
    """Switch anomaly mode on or off in all threads; returns what it was."""
    global _anomaly
    before = _anomaly
    _anomaly = (enabled, check_nan)
    state: ThreadState
    for reference in list(_states):
        state = reference()
        # what will be restored follows, too
        while state is not None:
            state.anomaly, state.check_nan = _anomaly
            state.recount()
            state = state.outer
    return before


def count_volatile(more, interceptor):
    """Note, in all threads, that there are so many more volatile tensors; where there are any, this looks for them."""
    global _volatile, _volatile_interceptor
    _volatile += more
    _volatile_interceptor = interceptor
    place: cython.int = interceptor.place
    wanted = interceptor if _volatile else None
    state: ThreadState
    for reference in list(_states):
        state = reference()
        while state is not None:
            state.volatile += more
            state.interceptors = with_interceptor(state.interceptors, place, wanted)
            state.recount()
            state = state.outer


def heed_levels_by(interceptor):
    """Declare the interceptor that stands in the chain while levels of forward mode are heeded."""
    global _dual_levels
    _dual_levels = interceptor


def thread_is_inferring() -> bool:
    """True in inference mode; quick where no thread is in it."""
    return _inferring > 0 and current().inference


# blocks ---------------------------------------------------------------------------------------------------------------


def change(state: ThreadState, how, name, value):
    """Change one mode; returns what `undo` needs."""
    global _inferring
    if how == PUSH:
        setattr(state, name, (*getattr(state, name), value))
        state.recount()
        return value
    if how == ADD:
        setattr(state, name, getattr(state, name) + value)
        state.recount()
        return value
    if how == ATTRIBUTE:
        owner, value = value
        before = owner, getattr(owner, name, ABSENT)
        if value is not ABSENT:
            setattr(owner, name, value)
        elif before[1] is not ABSENT:
            delattr(owner, name)
        return before
    if how == MEMORY:
        array, value = value
        before = array, array.copy()
        array[...] = value
        return before
    if how == INTERCEPT:
        place, interceptor = value
        before = place, interceptor_at(state.interceptors, place)
        state.interceptors = with_interceptor(state.interceptors, place, interceptor)
        state.recount()
        return before
    before = getattr(state, name)
    if how == EXCHANGE:
        value, before = value
    if name == "anomaly":
        enabled, check_nan = value
        was = set_anomaly(enabled, check_nan)
        return before if how == EXCHANGE else was
    if name == "inference":
        _inferring += bool(value) - state.inference
    elif name == "level":
        _inferring += (value is not None) - (state.level is not None)
    elif name == "grad_enabled":
        value = value and not state.inference
    setattr(state, name, value)
    state.recount()
    return before


def undo(state: ThreadState, how, name, kept):
    """Undo one change; a member of a tuple is taken out if it is still there."""
    if how == MEMORY:
        array, value = kept
        array[...] = value
        return
    if how != PUSH:
        change(state, SET if how == EXCHANGE else how, name, -kept if how == ADD else kept)
        return
    members: tuple = getattr(state, name)
    for i in range(len(members) - 1, -1, -1):
        if members[i] is kept:
            setattr(state, name, members[:i] + members[i + 1 :])
            state.recount()
            return


def change_modes(wanted) -> list:
    """Change modes of the calling thread, given as (how, name, value), in one step; returns what `undo_modes` needs.

    If one cannot be changed, none is.
    """
    state: ThreadState = current()
    done: list = [state]
    try:
        for how, name, value in wanted:
            done.append((how, name, change(state, how, name, value)))
    except BaseException:
        undo_modes(done)
        raise
    return done


def undo_modes(done: list):
    """Undo, in one step, what `change_modes` has done, in the thread in which it did."""
    state: ThreadState = done[0]
    for i in range(1, len(done)):
        how, name, kept = done[i]
        undo(state, how, name, kept)


def set_mode(name: str, value):
    """Give a mode of the calling thread a value; returns what it was."""
    return change(current(), SET, name, value)


@cython.cclass
class ModeBlock:
    """A with block in which the calling thread has other modes; they are as before however it ends.

    Python looks for signals, and so raises KeyboardInterrupt, between the steps of its own code. A subclass therefore
    says what is changed as data: `changes` gives (how, name of the mode, value) for each mode, and may raise, since
    nothing has happened yet; `given` is what the block gives; `left` is called, with the error that ends the block,
    when all was undone. The changes, and undoing them, are one step each in the compiled form. The plain form, and a
    mode that is set by a call instead of a block, have no such step.
    """

    if not cython.compiled:
        _entered = None

    def changes(self):
        """What the block changes."""
        return ()

    def given(self):
        """What the block gives, asked for before anything is changed."""
        return None

    def left(self, error):
        """What else is to be done when the block was left, by an error or, where that is None, without."""

    def __enter__(self):
        wanted = self.changes()
        given = self.given()
        done: list = change_modes(wanted)
        if self._entered is None:
            self._entered = []
        self._entered.append(done)
        return given

    def __exit__(self, kind, error, trace):
        entered: list = self._entered
        state: ThreadState = current()
        # one object may serve several threads at a time
        place = len(entered) - 1
        for i in range(len(entered) - 1, -1, -1):
            if entered[i][0] is state:
                place = i
                break
        undo_modes(entered.pop(place))
        self.left(error)


def with_plain_results(function, arguments):
    """Call a function whose operations give plain Tensors, whatever the classes of their arguments are."""
    state: ThreadState = current()
    before = state.plain_results
    state.plain_results = True
    try:
        return function(*arguments)
    finally:
        state.plain_results = before
