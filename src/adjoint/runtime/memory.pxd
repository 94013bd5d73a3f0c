cimport cython

cdef extern from "kept_memory.h":
    object adj_make_handler()
    object PyDataMem_SetHandler(object handler)
    ctypedef struct adj_memory_counts:
        size_t live
        size_t idle
        size_t peak
        size_t limit
        unsigned long long hits
        unsigned long long misses
        unsigned long long returned
    adj_memory_counts adj_memory_counted()
    void adj_set_limit(size_t)
    size_t adj_forget_peak()
    void adj_renew_mutex()
    bint adj_keeps_nothing()
    ctypedef struct PyArray_Descr:
        pass
    object adj_new_kept_array(PyArray_Descr *descr, int ndim, Py_ssize_t *shape, bint fortran, object handler)

cdef extern from "numpy_arrays.h":
    int adj_import_arrays() except -1


cdef object _handler

@cython.locals(counts=adj_memory_counts)
cpdef dict statistics()
cdef object new_kept_array(PyArray_Descr *descr, int ndim, Py_ssize_t *shape, bint fortran)

@cython.locals(before=object)
cpdef object with_kept_memory(object function, object arguments, object keywords=*)
