cimport cython

cdef extern from "kept_memory.h":
    object adj_make_handler()
    object PyDataMem_SetHandler(object handler)
    size_t adj_live, adj_idle, adj_peak, adj_limit
    unsigned long long adj_hits, adj_misses, adj_returned
    void adj_give_back(size_t)
    ctypedef struct PyArray_Descr:
        pass
    object adj_new_kept_array(PyArray_Descr *descr, int ndim, Py_ssize_t *shape, bint fortran, object handler)

cdef extern from "numpy_arrays.h":
    int adj_import_arrays() except -1


cdef object _handler

cdef object new_kept_array(PyArray_Descr *descr, int ndim, Py_ssize_t *shape, bint fortran)

@cython.locals(before=object)
cpdef object with_kept_memory(object function, object arguments, object keywords=*)
