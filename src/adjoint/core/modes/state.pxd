cimport cython
from adjoint.core.modes.interceptors cimport interceptor_at, with_interceptor

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
    cdef object __weakref__
    cdef object follow_process(self)
    cpdef object recount(self)
    cpdef object heed(self, tuple levels)
    cpdef object take(self, ThreadState other)
    cpdef object keep(self)
    cpdef object restore(self)


cdef class ModeBlock:
    cdef list _undo_lists


cdef unsigned long long _last_number
cdef ThreadState _last_state
cdef int _inferring
cdef int _EXCHANGE, _PUSH, _ATTRIBUTE, _MEMORY, _INTERCEPT, _ALL_THREADS, _UNCHANGED
cdef list _states

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
cpdef object intercept_everywhere(object interceptor, int more)
cpdef bint thread_is_inferring()
cpdef object with_plain_results(object function, tuple arguments)
