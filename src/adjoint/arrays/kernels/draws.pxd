cimport cython

cdef extern from "numpy_arrays.h":
    int adj_import_arrays() except -1

cdef extern from "draws.h":
    int adj_draw_uniform(object capsule, object out) except -1
    int adj_draw_integers(object capsule, object out, long long low, unsigned int range) except -1

cdef object numpy, _INT64
cdef long long _MOST

cpdef object uniform(object bits, object shape, object dtype)
cpdef object integers(object bits, object shape, object dtype, object low, object high)
