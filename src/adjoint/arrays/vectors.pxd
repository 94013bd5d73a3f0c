cimport cython
from adjoint.arrays.blocks cimport share, work_function

cdef extern from *:
    """
    #define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
    #include <numpy/arrayobject.h>
    """

cdef extern from "vectors.h":
    ctypedef long long int64_t
    ctypedef struct adj_stack:
        pass
    ctypedef struct adj_windows_job:
        const adj_stack *stack
        char *source
        char *target
        char *weights
        char *bias
        char *totals
        int64_t samples, groups, channels, rows
        int64_t source_strides[5]
        int64_t target_strides[5]
        int64_t at_once, band, n_bands, n_pieces, parts, next
        int failed
    int adj_best_kind()
    work_function adj_convolve_of(int size, int kind)
    work_function adj_correlate_of(int size, int kind)

cdef extern from *:
    """
    static char *adj_place(PyObject *array) { return PyArray_BYTES((PyArrayObject *)array); }
    """
    char *adj_place(object array)

cdef object numpy, _FLOATS

@cython.locals(job=adj_windows_job, size=cython.int, i=cython.int, work=work_function)
cdef object _run(
    bint correlate, object source, object target, object weights, object bias, object totals, object table, tuple sizes,
    int threads,
)
