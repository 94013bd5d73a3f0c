cimport cython

cdef extern from "ufunc_loops.h":
    int adj_import_ufuncs() except -1

cdef extern from "vectors_intrinsics.h":
    int adj_processor_kind()

cdef extern from "vector_ufuncs.h":
    int adj_function_kind
    object adj_with_formula(object ufunc, object called, int number, int single, int widened)

@cython.locals(before=cython.int)
cpdef object use_kind(int number)
