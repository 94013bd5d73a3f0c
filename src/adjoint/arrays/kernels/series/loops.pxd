cimport cython

cdef extern from "numpy_arrays.h":
    char *adj_bytes(object array)

cdef extern from "series.h":
    void adj_series_of_two(int bytes, int which, Py_ssize_t n, Py_ssize_t size, char *a, char *b, char *y) nogil
    void adj_series_riccati(
        int bytes, Py_ssize_t n, Py_ssize_t size, char *x, double c0, double c1, double c2, char *slope, char *y,
    ) nogil
    void adj_series_power(int bytes, Py_ssize_t n, Py_ssize_t size, char *x, double exponent, char *y) nogil
    void adj_series_wave(
        int bytes, Py_ssize_t n, Py_ssize_t size, char *x, double sign, char *s, char *c,
    ) nogil

cdef object numpy, _FLOATS

@cython.locals(
    bytes=cython.int, n=Py_ssize_t, size=Py_ssize_t, first=cython.p_char, second=cython.p_char, result=cython.p_char,
)
cpdef object of_two(int which, object a, object b)

@cython.locals(
    bytes=cython.int, n=Py_ssize_t, size=Py_ssize_t, source=cython.p_char, slope=cython.p_char, result=cython.p_char,
)
cpdef object riccati(object x, object start, double c0, double c1, double c2)

@cython.locals(bytes=cython.int, n=Py_ssize_t, size=Py_ssize_t, source=cython.p_char, result=cython.p_char)
cpdef object power(object x, object start, double exponent)

@cython.locals(
    bytes=cython.int, n=Py_ssize_t, size=Py_ssize_t, source=cython.p_char, first=cython.p_char, second=cython.p_char,
)
cpdef object wave(object x, object sine, object cosine, double sign)
