cimport cython

cdef extern from *:
    """
    #define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
    #include <numpy/arrayobject.h>
    #include <numpy/ufuncobject.h>
    #include "vector_ufuncs.h"
    static int adj_import_numpy(void) {
        import_array1(-1);
        import_umath1(-1);
        return 0;
    }
    """
    int adj_import_numpy() except -1

cdef extern from "vector_ufuncs.h":
    int adj_function_kind
    int adj_best_function_kind()
    object adj_with_formula(object ufunc, object called, int number, int single, int widened)

@cython.locals(before=cython.int)
cpdef object use_kind(int number)
