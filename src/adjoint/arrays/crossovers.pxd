cdef extern from *:
    """
    #define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
    #include <numpy/arrayobject.h>
    static CYTHON_INLINE npy_intp adj_n_elements(PyObject *array) {
        npy_intp n = 1;
        for (int i = 0; i < PyArray_NDIM((PyArrayObject *)array); i++) n *= PyArray_DIM((PyArrayObject *)array, i);
        return n;
    }
    """
    Py_ssize_t adj_n_elements(object array)

cdef object _ndarray
cdef Py_ssize_t _LARGE

cpdef bint is_large(object array)
