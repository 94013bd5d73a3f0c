cimport cython

from adjoint.core.graph cimport TensorBase, gradient_of, version_of
from adjoint.core.modes.state cimport ThreadState, current


cdef extern from "numpy_arrays.h":
    bint adj_has_layout(object array, tuple shape, object dtype)
    bint adj_has_strides(object array, tuple strides)


cpdef bint is_plain_thread()
cpdef object read_slot(int kind, object owner, object key)
cpdef bint same_value(object value, object expected)
cpdef list identical_pairs(leaves)
cpdef list versions_of(list tensors)


cdef class Layout:
    cdef object type
    cdef object device
    cdef object dtype
    cdef tuple shape
    cdef tuple strides
    cpdef bint fits(self, object array)


cdef class TensorKind:
    cdef object type
    cdef object layout
    cdef bint requires
    cdef bint is_leaf
    cdef bint has_hooks
    cdef object grad_layout
    cpdef bint fits(self, object value)


cdef class Matcher:
    cdef Py_ssize_t n_leaves
    cdef list kinds
    cdef list values
    cdef list visible
    cdef list visible_kinds
    cdef public list slots
    cdef list fixed
    cdef list externals
    cdef list with_grad
    cdef list pairs
    cdef bint several
    cdef bint grad_enabled
    cdef object default_dtype
    cdef bint is_deterministic
    cpdef bint fits(self, list leaves)
    cpdef bint holds(self, list leaves)
    cpdef list tensors(self, list leaves)
    cpdef list arrays(self, list tensors)
