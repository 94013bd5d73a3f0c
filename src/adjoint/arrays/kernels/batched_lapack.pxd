cimport cython

cdef extern from "numpy_arrays.h":
    char *adj_bytes(object array)

cdef extern from "batched_lapack.h":
    int adj_each(void *routine, int n, char **addresses, const Py_ssize_t *steps, Py_ssize_t count) nogil
    void *adj_routine_address(object capsule) except NULL


cdef object numpy

@cython.locals(
    n=cython.int, i=cython.int, is_supported=cython.int, places=cython.p_char[11], strides=Py_ssize_t[11],
    routine=cython.p_void,
)
cdef object _run(object capsule, tuple arrays, tuple steps, Py_ssize_t count)
