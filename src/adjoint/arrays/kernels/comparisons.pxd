cimport cython

cdef extern from "numpy_arrays.h":
    char *adj_bytes(object array)
    Py_ssize_t adj_n_elements(object array)

cdef extern from "comparisons.h":
    bint adj_same(bint is_floating, int size, const char *first, const char *second, Py_ssize_t n) nogil
    void adj_among(
        bint is_floating, int size, const char *elements, Py_ssize_t n, const char *tests, Py_ssize_t m, bint inverted,
        char *out,
    ) nogil
    ctypedef long long int64_t
    int ADJ_MOST_FIRST
    void adj_first(
        bint is_floating, int size, const char *elements, Py_ssize_t n_rows, Py_ssize_t n, int k, bint largest,
        int64_t *places,
    ) nogil


cdef object numpy, _ndarray, _BOOL, _INT64
cdef dict _KINDS
cdef Py_ssize_t _MANY

@cython.locals(
    n=Py_ssize_t, first=cython.p_char, second=cython.p_char, size=cython.int, floating=cython.bint, result=cython.bint,
)
cpdef object are_same(object array, object other)

@cython.locals(
    n=Py_ssize_t, m=Py_ssize_t, first=cython.p_char, second=cython.p_char, third=cython.p_char, size=cython.int,
    floating=cython.bint,
)
cpdef object are_among(object elements, object tests, bint inverted)

@cython.locals(elements=cython.p_char, numbers="int64_t *", size=cython.int, floating=cython.bint)
cpdef object places_of_first(object array, int k, bint largest)

cdef object _kind(object array, object other)
