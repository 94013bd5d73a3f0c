cimport cython

from adjoint.runtime.crossovers cimport is_large
from adjoint.program.machine cimport Elementwise, Machine

cdef extern from "numpy_arrays.h":
    object adj_dtype(object array)
    int adj_type_num(object array)
    int NPY_DOUBLE, NPY_FLOAT

cdef extern from "free_threading.h":
    void adj_retire(object o)

cdef object _ndarray, _FLOAT64, _ABSENT
cdef bint _enabled


cdef class Program:
    cdef public object form
    cdef readonly Elementwise flat
    cdef dict machines
    cpdef object run(self, list values, bint quiet)
    @cython.locals(machine=Machine)
    cdef object run_schedule(self, list values, bint quiet)


cdef class Fused:
    cdef public object function
    cdef public tuple keywords
    cdef public bint numbers
    cdef public dict programs
    cdef public dict kernels
    cdef public str reason
    cdef public int level
    cdef public bint is_traceable
    cdef object __weakref__
    cdef Elementwise of_double
    cdef Elementwise of_single
    cdef object one(self, object x, bint quiet)
    cdef object two(self, object x, object y, bint quiet, bint large)
    cdef object several(self, list values, bint quiet, bint large)
    cdef Elementwise last_program(self, list values)
    cdef Elementwise flat_for(self, object x)
    cpdef object reset(self)
    cpdef object attempt(self, list values, bint quiet)
    cdef Program find(self, list values)
    cpdef object on_device(self, list values)
    cpdef object call(self, list values, bint quiet)
    cpdef object run(self, list values, bint quiet)


cdef extern from "program_slots.h":
    Elementwise adj_double_program(Fused fused)
    Elementwise adj_single_program(Fused fused)
    void put_double "adj_put_double"(Fused fused, Elementwise program)
    void put_single "adj_put_single"(Fused fused, Elementwise program)


cdef bint several_shapes(list values)
cdef object drop_first(dict table)
cdef object part_of_key(object value, int level, bint numbers)
cdef list inputs_among(object values, bint numbers)
