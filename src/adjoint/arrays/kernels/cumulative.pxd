cimport cython

cdef extern from "numpy_arrays.h":
    int adj_import_arrays() except -1
    char *adj_bytes(object array)
    int adj_precision(object array)
    bint adj_is_row_major(object array)
    object adj_new_alike(object array)
    void adj_lengths_around(
        object array, Py_ssize_t axis, Py_ssize_t *before, Py_ssize_t *along, Py_ssize_t *behind,
    )

cdef extern from "cumulative.h":
    void adj_extrema(
        int size, char *x, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner, int largest, char *tops, char *places,
    ) nogil
    void adj_running(
        int size, char *x, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner, int products, int reverse, int exclusive,
        char *y,
    ) nogil
    void adj_recurrence(
        int size, char *links, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner, int reverse, char *y,
    ) nogil

cdef object numpy, _INT64

@cython.locals(
    size=cython.int, outer=Py_ssize_t, n=Py_ssize_t, inner=Py_ssize_t, source=cython.p_char, first=cython.p_char,
    second=cython.p_char,
)
cpdef object extrema(object x, Py_ssize_t axis, bint largest)

@cython.locals(
    size=cython.int, outer=Py_ssize_t, n=Py_ssize_t, inner=Py_ssize_t, source=cython.p_char, first=cython.p_char,
    reverse=bint,
)
cpdef object running(object x, Py_ssize_t axis, bint products, bint backwards, bint exclusive)

@cython.locals(
    size=cython.int, outer=Py_ssize_t, n=Py_ssize_t, inner=Py_ssize_t, source=cython.p_char, first=cython.p_char,
)
cpdef object recurrence(object links, object x, Py_ssize_t axis, bint reverse)
