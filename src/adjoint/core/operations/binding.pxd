cimport cython

from adjoint.core.graph cimport TensorBase, dtype_of, ndim_of, new_tensor
from adjoint.core.modes.state cimport current

cdef object _ndarray, _FLOAT32, _FLOAT64
cdef double _LARGEST_SINGLE, _INFINITY
cdef long long _EXACT


cdef class Arguments:
    cdef public object rule
    cdef object check
    cdef public str name
    cdef public tuple names
    cdef Py_ssize_t n_names
    cdef public tuple defaults
    cdef public Py_ssize_t n_positional
    cdef public tuple inputs
    cdef public Py_ssize_t n_inputs
    cdef Py_ssize_t first_input
    cdef public tuple array_positions
    cdef public tuple number_positions
    cdef tuple strict_positions
    cdef tuple other_positions
    cdef public Py_ssize_t sequence
    cdef Py_ssize_t spread
    cdef bint takes_numbers
    cdef bint has_axes
    cdef tuple axes
    cdef tuple new_axes
    cdef tuple scalar_positions
    cdef Py_ssize_t n_typed
    cdef bint is_checked_by_type
    cdef public str passed_kinds
    cdef bint needs_types_only
    cpdef list bind(self, object args, dict kwargs)
    cdef list factor_last(self, list values)
    cdef bint plain(self, list values)
    cdef bint passes(self, list values)
    cdef bint whole(self, list values)
    cpdef list prepare(self, list values)
    cdef object number(self, int position, object value)
    cdef tuple sequence_of_tensors(self, object members)


cdef object counted_from_front(object dims, Py_ssize_t ndim)
cpdef bint is_whole(object dtype)
cdef bint is_held(object value, bint single)
