cimport cython
from adjoint.arrays.loops cimport Program
from adjoint.core.graph cimport Node, TensorBase, View
from adjoint.core.recorded cimport OpNode, Plan


cdef int _TIMES, _PLUS, _MINUS, _OVER
cdef object _ndarray, _asarray, _FLOAT32, _FLOAT64, registry


cdef class Operation:
    cdef public object rule
    cdef public str name
    cdef public tuple names
    cdef public tuple defaults
    cdef public Py_ssize_t n_positional
    cdef public tuple inputs
    cdef Py_ssize_t first_input
    cdef public tuple array_places
    cdef public Py_ssize_t sequence
    cdef public Py_ssize_t spread
    cdef public bint differentiable
    cdef public bint elementwise
    cdef public bint takes_numbers
    cdef public tuple tail
    cdef public bint keeps_dtype
    cdef public bint has_axes
    cdef public bint is_view
    cdef public bint fast
    cdef public dict kernels
    cdef public object numpy_kernel
    cdef object own_kernel
    cdef tuple axes
    cdef tuple new_axes
    cdef int symbol
    cdef public bint is_ufunc
    cdef public bint traceable
    cdef public Program program
    cdef public dict programs
    cdef public dict plans
    cdef list real_plans
    cdef public object node_type
    cdef dict node_types
    cdef public object results
    cdef dict __dict__
    cdef object __weakref__
    cpdef object unary(self, object x)
    cpdef object binary(self, object x, object y)
    cdef object direct(self, object left, object right)
    cdef object computed(self, object left, object right)
    cpdef object run_in_place(self, list values)
    cpdef list bind(self, tuple args, dict kwargs)
    cdef object noted(self, list given)
    cpdef object apply(self, list values)
    cpdef object carry_out(self, list values)
    cpdef list prepared(self, list values)
    cpdef tuple unwrapped(self, list values)
    cpdef object run(self, list raw, object half)
    cdef bint has_large(self, list raw)
    cpdef object mask(self, list values)
    cpdef Plan plan(self, object mask, bint is_complex)
    cdef Plan real_plan(self, int mask)
    cdef object record(self, tuple values, Plan plan, bint half, object out, TensorBase result)
    cdef object record_quick(self, object x, object y, Plan plan, object out, TensorBase result)
    cdef object quick_entry(self, OpNode node, int place, object x, object y, TensorBase result, int k)
    cdef OpNode new_node(self, tuple values, Plan plan, bint half)
    cdef object node_type_for(self, tuple values)
    cdef object connect(self, OpNode node, Plan plan, tuple values)
    cdef object note_view(self, list values, TensorBase result, object nr)


cpdef object finished(object out, object xp, object half)
cpdef bint is_inexact(object dtype)
cdef object recorded_shape(object out, OpNode node)
