cimport cython

from adjoint.runtime.crossovers cimport is_large
from adjoint.program.machine cimport Elementwise

cdef extern from "numpy_arrays.h":
    int adj_type_num(object array)
    int NPY_DOUBLE, NPY_FLOAT

cdef object _ndarray


cdef class Program:
    cdef public object form
    cdef readonly Elementwise flat
    cdef dict schedules
    cpdef object run(self, list values, bint quiet)
    cdef object run_schedule(self, list values, bint quiet)


cdef class Fused:
    cdef public object function
    cdef public tuple keywords
    cdef public bint numbers
    cdef public dict programs
    cdef public str reason
    cdef public int level
    cdef public bint is_traceable
    cdef object __weakref__
    cdef Elementwise double
    cdef Elementwise single
    cdef object one(self, object x, bint quiet)
    cdef object two(self, object x, object y, bint quiet, bint large)
    cpdef object reset(self)
    cpdef object attempt(self, list values, bint quiet)
    cdef Program find(self, list values)
    cpdef object call(self, list values, bint quiet)
    cpdef object run(self, list values, bint quiet)
