cdef extern from "numpy_arrays.h":
    Py_ssize_t adj_n_elements(object array)

cdef object _ndarray
cdef Py_ssize_t _LARGE

cpdef bint is_large(object array)
