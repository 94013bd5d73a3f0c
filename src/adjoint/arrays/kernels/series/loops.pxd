cimport cython
from adjoint.runtime.memory cimport PyArray_Descr, new_kept_array, with_kept_memory

cdef extern from "numpy_arrays.h":
    int adj_import_arrays() except -1
    char *adj_bytes(object array)
    int adj_precision(object array)
    int adj_ndim(object array)
    Py_ssize_t adj_n_elements(object array)
    bint adj_is_stack_of(object arrays, object array)

cdef extern from "series.h":
    object adj_without_gaps(object array)
    PyArray_Descr *adj_descr(object array)
    Py_ssize_t *adj_lengths(object array)
    bint adj_are_alike(object a, object b)
    bint adj_is_coefficient(object array, object series)
    void adj_set_coefficient(object series, Py_ssize_t k, object coefficient)
    int adj_itemsize(object array)
    void adj_fill_line(object x, object series)
    Py_ssize_t adj_order(object series)
    void adj_series_negate(int bytes, Py_ssize_t n, char *x, char *y)
    void adj_series_of_two(int bytes, int which, Py_ssize_t n, Py_ssize_t size, char *a, char *b, char *y)
    int adj_series_riccati(
        int bytes, Py_ssize_t n, Py_ssize_t size, char *x, double c0, double c1, double c2, char *y,
    )
    void adj_series_power(int bytes, Py_ssize_t n, Py_ssize_t size, char *x, double exponent, char *y)
    void adj_series_log(int bytes, Py_ssize_t n, Py_ssize_t size, char *x, char *y)
    int adj_series_wave(
        int bytes, Py_ssize_t n, Py_ssize_t size, char *x, double rise, double fall, char *start, char *y,
    )

    void *adj_release_lock(bint is_long)
    void adj_take_lock(void *state)

cdef object numpy, _FLOATS
cdef Py_ssize_t _UNLOCKED


cdef inline object without_gaps(object array):
    return adj_without_gaps(array)


cdef inline object series_like(object model):
    """A new array, not filled, with the shape and the dtype of another one."""
    return new_kept_array(adj_descr(model), adj_ndim(model), adj_lengths(model), False)


cdef inline object line_like(object x, Py_ssize_t n):
    """A new array, not filled, of n coefficients like x."""
    cdef Py_ssize_t shape[65]
    cdef int i, ndim = adj_ndim(x)
    shape[0] = n
    for i in range(ndim):
        shape[i + 1] = adj_lengths(x)[i]
    return new_kept_array(adj_descr(x), ndim + 1, shape, False)


cpdef object line(object x, Py_ssize_t n)
cpdef object negative(object x)
cpdef object constant(object model, object value)
cdef object series_from(object x, object start)
cpdef object of_alike(int which, object a, object b)

@cython.locals(bytes=cython.int, n=Py_ssize_t, size=Py_ssize_t, state=cython.p_void)
cpdef object of_two(int which, object a, object b)

@cython.locals(bytes=cython.int, n=Py_ssize_t, size=Py_ssize_t, state=cython.p_void, missing=cython.int)
cpdef object riccati(object x, object start, double c0, double c1, double c2)

@cython.locals(bytes=cython.int, n=Py_ssize_t, size=Py_ssize_t, state=cython.p_void)
cpdef object power(object x, object start, double exponent)

@cython.locals(bytes=cython.int, n=Py_ssize_t, size=Py_ssize_t, state=cython.p_void)
cpdef object log(object x, object start)

@cython.locals(bytes=cython.int, n=Py_ssize_t, size=Py_ssize_t, state=cython.p_void, missing=cython.int)
cpdef object wave(object x, object start, object other, double rise, double fall)
