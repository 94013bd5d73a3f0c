cimport cython
from adjoint.core.modes.interceptors cimport interceptor_at, with_interceptor

cdef extern from "free_threading.h":
    const bint ADJ_FREE_THREADED
    long long adj_count(long long *number, long long more)
    long long adj_counted(long long *number)

cdef extern from "thread_states.h":
    PyObject *adj_own_state
    int adj_watch_end(dict table, object key) except -1

cdef extern from "Python.h":
    ctypedef struct PyObject
    PyObject* PyThreadState_GetDict()
    ctypedef struct PyThreadState
    PyThreadState* PyThreadState_Get()
    unsigned long long PyThreadState_GetID(PyThreadState*)


cdef class Level:
    cdef public long long number
    cdef public long long since
    cdef public bint alive
    cdef public Level outer


cdef class ThreadState:
    cdef public bint grad_enabled
    cdef public int unusual
    cdef public tuple dual_stack
    cdef public tuple open_levels
    cdef public long long public_level
    cdef public bint forward_off
    cdef public tuple batches
    cdef public int backward_depth
    cdef public bint inference
    cdef public bint multithreading
    cdef public bint enforce_layout
    cdef public bint anomaly
    cdef public bint check_nan
    cdef public int locations
    cdef public tuple locators
    cdef public object evaluating
    cdef public object run
    cdef public tuple node_hooks
    cdef public tuple saved_hooks
    cdef public object saving
    cdef public object saved_hooks_refused
    cdef public tuple interceptors
    cdef public tuple bypassed
    cdef public tuple before_write
    cdef public tuple transforms
    cdef public tuple differentiated
    cdef public Level level
    cdef public bint replaying
    cdef public tuple function_modes
    cdef public bint plain_results
    cdef ThreadState outer
    cdef long long epoch
    cdef tuple followed
    cdef object follow_process(self)
    cdef object follow(self, tuple before, tuple after)
    cpdef object recount(self)
    cpdef object heed(self, tuple levels)
    cpdef object take(self, ThreadState other)
    cpdef object keep(self)
    cpdef object restore(self)


cdef class ModeBlock:
    cdef list _undo_lists


cdef inline object add_undo_list(ModeBlock block, list undo_list):
    """Add a list to those of a block."""
    with cython.critical_section(block):
        if block._undo_lists is None:
            block._undo_lists = []
        block._undo_lists.append(undo_list)


cdef inline list undo_list_of(ModeBlock block, ThreadState state):
    """The last list of a thread in a block; the last of all if it has none."""
    cdef Py_ssize_t i
    with cython.critical_section(block):
        for i in range(len(block._undo_lists) - 1, -1, -1):
            if block._undo_lists[i][0] is state:
                return block._undo_lists[i]
        return block._undo_lists[len(block._undo_lists) - 1]


cdef inline object drop_undo_list(ModeBlock block, list undo_list):
    """Remove a list, compared by identity, from those of a block."""
    cdef Py_ssize_t i
    with cython.critical_section(block):
        for i in range(len(block._undo_lists) - 1, -1, -1):
            if block._undo_lists[i] is undo_list:
                del block._undo_lists[i]
                return


cdef unsigned long long _last_number
cdef ThreadState _last_state
cdef long long _inferring, _epoch


cdef inline long long counted_inferring() noexcept:
    """How many threads are in inference mode, or inside a transformation."""
    return adj_counted(&_inferring)


cdef int _EXCHANGE, _PUSH, _ATTRIBUTE, _MEMORY, _INTERCEPT, _ALL_THREADS, _UNCHANGED

@cython.locals(table=dict)
cpdef ThreadState current()
cpdef bint is_grad_enabled()
cdef object change(ThreadState state, int how, str name, object value, list entry)
cdef object give(ThreadState state, str name, object value)
cdef object give_attribute(object owner, str name, object value)
cdef object undo(ThreadState state, int how, str name, object previous, object value)
cdef object take_out(ThreadState state, str name, tuple before, tuple value)
cpdef list change_modes(object changes)
cdef object change_noting(object changes, list undo_list)
cpdef object undo_modes(list undo_list)
cpdef object with_modes(tuple changes, object function, object arguments)
cpdef object set_mode(str name, object value)
cpdef tuple set_anomaly(bint enabled, bint check_nan)
cdef object give_anomaly(tuple setting)
cdef object count_inferring(long long more)
cdef long long all_changes() noexcept
cdef object let_all_follow()
cpdef object intercept_everywhere(object interceptor, int more)
cpdef bint thread_is_inferring()
cpdef object with_plain_results(object function, tuple arguments)
