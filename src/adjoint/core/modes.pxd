cimport cython

cdef extern from "Python.h":
    ctypedef struct PyObject
    PyObject* PyThreadState_GetDict()
    ctypedef struct PyThreadState
    PyThreadState* PyThreadState_Get()
    unsigned long long PyThreadState_GetID(PyThreadState*)


cdef class ThreadState:
    cdef public bint grad_enabled
    cdef public int unusual
    cdef public tuple dual_stack
    cdef public long long public_level
    cdef public bint forward_off
    cdef public tuple batches
    cdef public int backward_depth


cdef unsigned long long _last_number
cdef ThreadState _last_state

@cython.locals(table=dict)
cpdef ThreadState current()
cpdef bint is_grad_enabled()
cpdef bint set_grad(bint enabled)
