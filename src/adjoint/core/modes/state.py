"""Modes of the calling thread: is gradient recording on, and is anything unusual on.

Every mode lives in one `ThreadState`, so that the hot path makes one look-up and reads two C fields of it.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

from adjoint.core.modes.interceptors import DUAL_LEVELS
from adjoint.runtime.forks import new_rlock

if not cython.compiled:
    # the compiled form has them from the .pxd
    from adjoint.core.modes.interceptors import interceptor_at, with_interceptor
    from adjoint.runtime.forks import local

    _local = local()

_KEY, _END = "adjoint.core.modes.state", "adjoint.core.modes.state.end"
# counts the changes of modes that belong to all threads. Each thread follows them when it next looks at its state:
# no thread may write to the state of another one
_epoch = 0
_last_number = 0
_last_state = None
# anomaly mode holds for all threads, also for new ones: (is it on, does it check for NaN)
_anomaly = (False, True)
# interceptors in the chains of all threads, also of new ones, and the number of objects that need each, by position
_shared_interceptors: tuple = ()
_users: dict = {}
# gives the results of operations their tangents
_dual_levels = None
# held while threads count users of a shared interceptor
_sharing = new_rlock()


class Mode:
    """A row of the table of modes. initial: the value in a new thread."""

    __slots__ = ("initial", "meaning")

    def __init__(self, initial, meaning):
        self.initial, self.meaning = initial, meaning


#: The table of modes. A thread that works for another one takes over all of them, and a backward pass restores all of
#: them when it ends, whatever its hooks have changed. state.pxd declares the types.
MODES = {
    "grad_enabled": Mode(True, "Operations on tensors that require a gradient are recorded."),
    "unusual": Mode(
        0,
        "The number of active features that the fast paths do not handle: interceptors, hooks on saved tensors and on "
        "nodes, source lines. It follows from the other modes, see `recount`.",
    ),
    "dual_stack": Mode(
        (), "The numbers of the forward-mode levels at which operations compute tangents, innermost last."
    ),
    "open_levels": Mode(
        (),
        "The numbers of all open forward-mode levels. An operation at an inner level runs with only the outer ones in "
        "dual_stack.",
    ),
    "public_level": Mode(-1, "The number of the level that forward_ad has open; -1 for none."),
    "forward_off": Mode(False, "Results get no tangents."),
    "batches": Mode((), "The batches that vmap runs, innermost last."),
    "backward_depth": Mode(0, "The number of backward passes that run in this thread, one inside the other."),
    "inference": Mode(False, "New tensors are inference tensors: they are not recorded and count no versions."),
    "multithreading": Mode(
        True, "The value that the user set. A backward pass runs in the thread that called it in any case."
    ),
    "enforce_layout": Mode(
        True, "A leaf takes over a gradient's buffer as .grad only if its memory layout is that of the leaf."
    ),
    "anomaly": Mode(False, "Anomaly mode: nodes save the traceback of the operation that made them."),
    "check_nan": Mode(True, "Backward passes in anomaly mode look for NaN."),
    "locations": Mode(
        0,
        "Positive if nodes and version counters save source lines; follows from anomaly and locators, see `recount`.",
    ),
    "locators": Mode((), "The blocks that ask for source lines."),
    "evaluating": Mode(None, "The node that a backward pass in anomaly mode is evaluating."),
    "run": Mode(None, "The innermost backward pass."),
    "node_hooks": Mode((), "Functions that are called with every new node."),
    "saved_hooks": Mode((), "Pairs of functions that pack and unpack saved values, innermost last."),
    "saving": Mode(None, "The node whose saved value a pack hook receives; None if it is unknown."),
    "saved_hooks_refused": Mode(None, "The reason why hooks on saved tensors are refused, or None."),
    "interceptors": Mode((), "The chain of interceptors, outermost first (interceptors.py)."),
    "bypassed": Mode((), "Positions of shared interceptors that let operations of this thread pass."),
    "before_write": Mode((), "Functions that are called with every tensor before it is modified in place."),
    "transforms": Mode(
        (), 'The transformations of functions that run in this thread, innermost last: ("grad", 0), ("vmap", level) ...'
    ),
    "differentiated": Mode(
        (), "For each function that adjoint differentiates backward in this thread: the tensors it differentiates by."
    ),
    "level": Mode(
        None, "The innermost transformation that differentiates, as a `Level`, or None. It marks new tensors."
    ),
    "replaying": Mode(False, "The history of a view is computed again, perhaps after the batch in which it was made."),
    "function_modes": Mode((), "The blocks of `TorchFunctionMode` that are asked for functions, innermost last."),
    "plain_results": Mode(False, "Results of operations are plain Tensors, whatever the classes of the arguments are."),
}
__doc__ = f"{__doc__}\n" + "".join([f"\n{name}: {mode.meaning}" for name, mode in MODES.items()])
#: The kinds of change that a block makes to a mode.
#: SET: give it a value. EXCHANGE: the same, given as (value, value to restore). PUSH: append a member to a tuple.
#: ATTRIBUTE: set an attribute of another object, given as (object, value); ABSENT for the value deletes it.
#: MEMORY: write values to the memory of an array, given as (array, values).
#: INTERCEPT: insert an interceptor, or None, into the chain, as (position, interceptor).
#: ALL_THREADS: switch anomaly mode in all threads, given as (setting, setting to restore), each a pair of arguments of
#: `set_anomaly`.
SET, EXCHANGE, PUSH, ATTRIBUTE, MEMORY, INTERCEPT, ALL_THREADS = range(7)
# the same as C integers; UNCHANGED in an entry of `undo_modes`: the change was not made
_EXCHANGE, _PUSH, _ATTRIBUTE, _MEMORY, _INTERCEPT, _ALL_THREADS = range(1, 7)
_UNCHANGED = -1
ABSENT = object()
# how many threads are in inference mode or inside a transformation, so that new tensors are marked
_inferring = 0


@cython.final
@cython.cclass
class Level:
    """One run of a function under a transformation that differentiates it.

    number: later runs have larger numbers. alive: the run is not over. A tensor of the run that outlives it has
    escaped. since: nodes with smaller sequence numbers are older than the run. outer: the level around it, or None.
    """

    def __init__(self, number, since):
        self.number, self.since = number, since
        self.alive = True
        self.outer = None


@cython.final
@cython.cclass
class ThreadState:
    """The modes of one thread, see `MODES`.

    outer: the modes that `keep` saved last. epoch, followed: the changes of modes of all threads that this one has
    followed, and the shared interceptors that it has.
    """

    def __init__(self):
        for name, mode in MODES.items():
            setattr(self, name, mode.initial)
        self.outer = None
        self.followed = ()
        self.follow_process()

    def follow_process(self):
        """Take over the modes that belong to all threads."""
        # first: what changes meanwhile is followed once more
        epoch = all_changes()
        before: tuple = self.followed
        after: tuple = _shared_interceptors
        state: ThreadState = self
        # the states that passes will restore change, too
        while state is not None:
            state.anomaly, state.check_nan = _anomaly
            if before is not after:
                state.follow(before, after)
            state.recount()
            state = state.outer
        self.followed = after
        self.epoch = epoch

    def follow(self, before: tuple, after: tuple):
        """Change the shared interceptors in the chain from some to others."""
        for interceptor in before:
            if interceptor_at(after, interceptor.position) is None:
                self.interceptors = with_interceptor(self.interceptors, interceptor.position, None)
        for interceptor in after:
            if interceptor_at(before, interceptor.position) is not interceptor:
                self.interceptors = with_interceptor(self.interceptors, interceptor.position, interceptor)

    def recount(self):
        """Recompute `unusual`; to be called after a change of one of these modes."""
        interceptor = _dual_levels if self.dual_stack else None
        if interceptor_at(self.interceptors, DUAL_LEVELS) is not interceptor:
            self.interceptors = with_interceptor(self.interceptors, DUAL_LEVELS, interceptor)
        self.locations = self.anomaly + len(self.locators)
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
        self.bypassed = other.bypassed
        self.before_write = other.before_write
        self.transforms = other.transforms
        self.differentiated = other.differentiated
        self.level = other.level
        self.replaying = other.replaying
        self.function_modes = other.function_modes
        self.plain_results = other.plain_results

    def keep(self):
        """Save the present modes, as those of `outer`, until `restore`."""
        saved: ThreadState = ThreadState.__new__(ThreadState)
        saved.take(self)
        saved.outer = self.outer
        self.outer = saved

    def restore(self):
        """Restore the modes that `keep` saved last, except later changes of modes of all threads."""
        saved: ThreadState = self.outer
        self.outer = saved.outer
        more: cython.int = saved.inference - self.inference + (saved.level is not None) - (self.level is not None)
        if more:
            count_inferring(more)
        self.take(saved)


def current() -> ThreadState:
    """The state of the calling thread, created at first use."""
    global _last_number, _last_state, adj_own_state
    state: ThreadState
    if not cython.compiled:
        table = _local.__dict__
    elif ADJ_FREE_THREADED:
        if adj_own_state is not cython.NULL:
            state = cython.cast(ThreadState, adj_own_state)
            if state.epoch == all_changes():
                return state
        table = cython.cast(dict, cython.cast(object, PyThreadState_GetDict()))
    else:
        # the numbers of threads are never used again, so the last answer holds as long as the thread is the same
        number: cython.ulonglong = PyThreadState_GetID(PyThreadState_Get())
        if number == _last_number and _last_state is not None:
            return _last_state
        table = cython.cast(dict, cython.cast(object, PyThreadState_GetDict()))
    state = table.get(_KEY)
    if state is None:
        if cython.compiled and ADJ_FREE_THREADED:
            adj_watch_end(table, _END)
        state = table[_KEY] = ThreadState()
    if state.epoch != all_changes():
        state.follow_process()
    if cython.compiled:
        if ADJ_FREE_THREADED:
            adj_own_state = cython.cast(cython.pointer(PyObject), state)
        else:
            _last_number = number
            _last_state = state
    return state


def all_changes() -> cython.longlong:
    """How many changes of modes that belong to all threads there were."""
    if cython.compiled:
        return adj_counted(cython.address(_epoch))
    return _epoch


def let_all_follow():
    """Let all threads follow a change of the modes that belong to all of them, this one at once. It takes no memory."""
    global _last_number, _epoch
    if cython.compiled:
        adj_count(cython.address(_epoch), 1)
        # the last answer of `current` holds no longer
        _last_number = 0
    else:
        _epoch += 1
    current()


if not cython.compiled:
    # the compiled form has it from the .pxd
    def counted_inferring():
        """How many threads are in inference mode, or inside a transformation."""
        return _inferring


def count_inferring(more: cython.longlong):
    """Count so many more threads that are in inference mode, or inside a transformation."""
    global _inferring
    if cython.compiled:
        adj_count(cython.address(_inferring), more)
    else:
        _inferring += more


def adopt(modes: ThreadState):
    """Give the calling thread the modes of another one, which waits for it."""
    state: ThreadState = current()
    state.take(modes)
    state.epoch, state.followed = modes.epoch, modes.followed


def is_grad_enabled() -> bool:
    """True if operations are recorded in the calling thread.

    `no_grad`, `enable_grad`, `set_grad_enabled` and `inference_mode` switch it.

    >>> import adjoint
    >>> with adjoint.no_grad():
    ...     adjoint.is_grad_enabled()
    False
    """
    return current().grad_enabled


def set_anomaly(enabled: bool, check_nan: bool) -> tuple:
    """Switch anomaly mode on or off in all threads; returns the earlier setting."""
    before = _anomaly
    give_anomaly((enabled, check_nan))
    return before


def give_anomaly(setting: tuple):
    """Have a setting of anomaly mode in all threads. It takes no memory."""
    global _anomaly
    _anomaly = setting
    let_all_follow()


def intercept_everywhere(interceptor, more):
    """Count, for all threads at once, so many more objects that need an interceptor.

    While their number is positive, the interceptor is in the chain of every thread.
    """
    global _shared_interceptors
    position: cython.int = interceptor.position
    with _sharing:
        users: cython.int = _users.get(position, 0) + more
        _users[position] = users
        installed = interceptor if users else None
        if interceptor_at(_shared_interceptors, position) is not installed:
            _shared_interceptors = with_interceptor(_shared_interceptors, position, installed)
    let_all_follow()


def heed_levels_by(interceptor):
    """Declare the interceptor for the chain while levels of forward mode are active."""
    global _dual_levels
    _dual_levels = interceptor


def thread_is_inferring() -> bool:
    """True in inference mode; quick where no thread is in it."""
    return counted_inferring() > 0 and current().inference


# blocks ---------------------------------------------------------------------------------------------------------------


def change(state: ThreadState, how, name, value, entry: list):
    """Change one mode, and complete its entry of `undo_modes`, [how, name, previous value, value].

    `recount` comes later.

    All memory is allocated first, so a failure changes nothing.
    """
    if how == _ATTRIBUTE:
        entry[2] = value[0], getattr(value[0], name, ABSENT)
        give_attribute(value[0], name, value[1])
    elif how == _MEMORY:
        array, value = value
        entry[2] = array, array.copy()
        array[...] = value
    elif how == _ALL_THREADS:
        value, entry[2] = value
        # it goes through the states of all threads, and may end in between
        entry[0] = how
        give_anomaly((value[0], value[1]))
    else:
        before = getattr(state, name)
        entry[2] = before
        if how == _PUSH:
            # Cython makes a list of the members of (*before, value) first
            value = before + (value,)
        elif how == _INTERCEPT:
            entry[2] = value[0], interceptor_at(before, value[0])
            value = with_interceptor(before, value[0], value[1])
        elif how == _EXCHANGE:
            value, entry[2] = value
        entry[3] = value
        give(state, name, value)
    entry[0] = how


def give(state: ThreadState, name, value):
    """Give a mode of one thread a value, without `recount`."""
    if state.inference and name == "grad_enabled":
        value = False
    before: cython.int = state.inference + (state.level is not None)
    setattr(state, name, value)
    more: cython.int = state.inference + (state.level is not None) - before
    if more:
        count_inferring(more)


def give_attribute(owner, name, value):
    """Set an attribute, or delete it for the value ABSENT."""
    if value is not ABSENT:
        setattr(owner, name, value)
    elif hasattr(owner, name):
        delattr(owner, name)


def undo(state: ThreadState, how, name, previous, value):
    """Undo one change, without `recount`. It takes no memory if the mode still has the value that it got."""
    if how == _ATTRIBUTE:
        give_attribute(previous[0], name, previous[1])
    elif how == _MEMORY:
        previous[0][...] = previous[1]
    elif how == _ALL_THREADS:
        give_anomaly(previous)
    elif how == _PUSH:
        take_out(state, name, previous, value)
    elif how == _INTERCEPT:
        if interceptor_at(state.interceptors, previous[0]) is not previous[1]:
            state.interceptors = with_interceptor(state.interceptors, previous[0], previous[1])
    else:
        give(state, name, previous)


def take_out(state: ThreadState, name, before: tuple, value: tuple):
    """Take the last member of the value that a tuple got out of it, if it is still there."""
    members: tuple = getattr(state, name)
    if members is value:
        setattr(state, name, before)
        return
    member = value[len(value) - 1]
    for i in range(len(members) - 1, -1, -1):
        if members[i] is member:
            setattr(state, name, members[:i] + members[i + 1 :])
            return


def change_modes(changes) -> list:
    """Change modes of the calling thread in one step; returns the list that `undo_modes` takes.

    changes: (how, name, value) for each mode. If one change fails, all are undone.
    """
    undo_list: list = [current(), None, None]
    change_noting(changes, undo_list)
    return undo_list


def change_noting(changes, undo_list: list):
    """`change_modes` with a list that has room: the state of the thread, its interceptors before and after."""
    state: ThreadState = undo_list[0]
    undo_list[1] = state.interceptors
    try:
        for how, name, value in changes:
            entry: list = [_UNCHANGED, name, None, None]
            undo_list.append(entry)
            change(state, how, name, value, entry)
        state.recount()
    except BaseException:
        undo_list[2] = state.interceptors
        undo_modes(undo_list)
        raise
    undo_list[2] = state.interceptors


def undo_modes(undo_list: list):
    """Undo the changes of `change_modes` in one step, in the thread that made them.

    It allocates nothing if the modes still have the values set by the change.
    """
    state: ThreadState = undo_list[0]
    entry: list
    if state.interceptors is undo_list[2]:
        state.interceptors = undo_list[1]
    for i in range(3, len(undo_list)):
        entry = undo_list[i]
        how: cython.int = entry[0]
        if how != _UNCHANGED:
            undo(state, how, entry[1], entry[2], entry[3])
    state.recount()


def with_modes(changes, function, arguments):
    """Call a function in other modes, like a `ModeBlock` but faster."""
    undo_list = change_modes(changes)
    try:
        return function(*arguments)
    finally:
        undo_modes(undo_list)


def set_mode(name: str, value):
    """Set a mode of the calling thread; returns its earlier value."""
    state: ThreadState = current()
    before = getattr(state, name)
    change_modes(((SET, name, value),))
    return before


if not cython.compiled:
    # the compiled form has these from the .pxd
    _listing = new_rlock()

    def add_undo_list(block, undo_list):
        """Add a list to those of a block."""
        with _listing:
            block._undo_lists = [*(block._undo_lists or ()), undo_list]

    def undo_list_of(block, state):
        """The last list of a thread in a block; the last of all if it has none."""
        with _listing:
            lists = [undo_list for undo_list in block._undo_lists if undo_list[0] is state]
            return (lists or block._undo_lists)[-1]

    def drop_undo_list(block, undo_list):
        """Remove a list, compared by identity, from those of a block."""
        with _listing:
            block._undo_lists = [other for other in block._undo_lists if other is not undo_list]


@cython.cclass
class ModeBlock:
    """A with block in which the calling thread has other modes. Each exit restores the earlier ones.

    Python looks for signals, and so raises KeyboardInterrupt, between the steps of its own code. A subclass therefore
    describes its changes as data. `_changes` returns (how, name of the mode, value) for each mode. It may raise, since
    nothing has changed yet. `_entry_value` returns the value that `with ... as` binds. `_after_exit` is called with the
    error that ends the block, after everything is undone. The compiled form makes all changes in one step, and undoes
    them in one step. In the plain form a signal can come between them; so it can when a mode is set by a call.
    """

    if not cython.compiled:
        _undo_lists = None

    def _changes(self):
        """The changes, as (how, name of the mode, value)."""
        return ()

    def _entry_value(self):
        """The value that `with ... as` binds, computed before any change."""
        return None

    def _after_exit(self, error):
        """Further work after the changes are undone; `error` ended the block, or is None."""

    def __enter__(self):
        changes = self._changes()
        value = self._entry_value()
        undo_list: list = [current(), None, None]
        # allocated before any change, since memory may run out
        add_undo_list(self, undo_list)
        try:
            change_noting(changes, undo_list)
        except BaseException:
            drop_undo_list(self, undo_list)
            raise
        return value

    def __exit__(self, kind, error, trace):
        # one object may serve several threads at a time
        undo_list: list = undo_list_of(self, current())
        undo_modes(undo_list)
        drop_undo_list(self, undo_list)
        self._after_exit(error)


def set_plain_results(plain):
    """Let operations of this thread give plain Tensors, or not; returns what held before."""
    state: ThreadState = current()
    before = state.plain_results
    state.plain_results = plain
    return before


def with_plain_results(function, arguments):
    """Call a function whose operations give plain Tensors, whatever the classes of their arguments are."""
    state: ThreadState = current()
    before = state.plain_results
    state.plain_results = True
    try:
        return function(*arguments)
    finally:
        state.plain_results = before
