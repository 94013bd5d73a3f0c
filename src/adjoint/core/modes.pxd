cimport cython

cdef extern from "Python.h":
    ctypedef struct PyObject
    PyObject* PyThreadState_GetDict()


cdef class ThreadState:
    cdef public bint grad_enabled
    cdef public int unusual
    cdef public int backward_depth


@cython.locals(table=dict)
cpdef ThreadState current()
cpdef bint is_grad_enabled()
cpdef bint set_grad(bint enabled)
