cimport cython

cdef extern from "numpy_arrays.h":
    char *adj_bytes(object array)

cdef extern from "max_pooling.h":
    ctypedef long long int64_t
    void adj_maxima(
        int size, char *x, Py_ssize_t images, int64_t *rows, Py_ssize_t *of_rows, int64_t *columns,
        Py_ssize_t *of_columns, char *tops, char *places,
    ) nogil


cdef object numpy, _FLOATS

@cython.locals(
    of_rows=Py_ssize_t[3], of_columns=Py_ssize_t[3], images=Py_ssize_t, size=cython.int, source=cython.p_char,
    rows=cython.p_char, columns=cython.p_char, first=cython.p_char, second=cython.p_char,
)
cpdef object largest(object x, list tables, bint with_places)
