cimport cython

cdef extern from "Python.h":
    ctypedef struct PyObject
    PyObject* PyThreadState_GetDict()
    ctypedef struct PyThreadState
    PyThreadState* PyThreadState_Get()
    unsigned long long PyThreadState_GetID(PyThreadState*)


cdef class Level:
    cdef public long long number
    cdef public bint alive


cdef class ThreadState:
    cdef public bint grad_enabled
    cdef public int unusual
    cdef public tuple dual_stack
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
    cdef public object evaluating
    cdef public object run
    cdef public tuple node_hooks
    cdef public tuple saved_hooks
    cdef public object saved_hooks_refused
    cdef public object saving
    cdef public object runner
    cdef public object inspector
    cdef public object profiler
    cdef public int volatile
    cdef public tuple before_write
    cdef public tuple transforms
    cdef public tuple differentiated
    cdef public Level level
    cdef public bint replaying
    cdef object __weakref__


cdef unsigned long long _last_number
cdef ThreadState _last_state
cdef int _inferring
cdef object _states

@cython.locals(table=dict)
cpdef ThreadState current()
cpdef bint is_grad_enabled()
cpdef bint set_grad(bint enabled)
cpdef tuple set_inference(bint enabled)
cpdef object restore_inference(tuple modes)
cpdef object set_level(object level)
cpdef tuple set_anomaly(bint enabled, bint check_nan)
cpdef object count_volatile(int more)
cpdef bint thread_is_inferring()
