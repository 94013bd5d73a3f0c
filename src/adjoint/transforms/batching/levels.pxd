cimport cython

from adjoint.core.graph cimport dtype_of, instantiate, shape_of
from adjoint.core.modes.state cimport ThreadState, current
from adjoint.core.recorded cimport raw_ops

cdef object _ndarray, _ALL, _ABSENT, numpy_ops, _kind, _batched_ops
cdef frozenset _NUMBERS
cdef int _OTHER, _ALIGNED, _AXES


cdef class BatchedBase:
    cdef public long long level
    cdef public object data


cpdef object batched_array(long long level, object data)
cpdef tuple batches_of(object array)
cpdef object check_alive(object array)
cpdef tuple strip_level(long long level, object value)


cdef class BatchedKernel:
    cdef dict __dict__
    cdef object rule
    cdef str name
    cdef tuple names
    cdef Py_ssize_t n_positional
    cdef tuple defaults
    cdef tuple operands
    cdef frozenset constants
    cdef Py_ssize_t sequence
    cdef tuple axes
    cdef tuple new_axes
    cdef int way
    cdef tuple core
    cdef object form
    cdef tuple needs
    cdef bint returns_one
    cdef object levels
    cdef object others
    cdef bint is_joint
    cdef list bind(self, tuple args, dict kwargs)
    cdef long long level_of(self, list values)
    cdef object ops_of(self, list values)
    cdef object at_level(self, list values, long long level)
    cdef bint is_empty(self, list values, long long level)
    cdef object in_one_run(self, list values, long long level)
    cdef bint align(self, list data, list is_batched)
    cdef bint shift(self, list data, list is_batched, object size, Py_ssize_t ndim)
    cdef object shift_dims(self, object dim, object default, Py_ssize_t n)
    cdef bint reform(self, object ops, list data, object size, Py_ssize_t ndim)


cdef object shifted_axis(object dim, Py_ssize_t n)
cdef object on_all(object array, object size)
cdef object joint(str name, tuple args, dict options)
