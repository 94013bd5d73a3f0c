cimport cython

cdef extern from *:
    """
    #define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
    #include <numpy/arrayobject.h>

    #define A(i) at[i]
    #define ADJ_CALLS(n, types, ...) case n: for (; count > 0; count--) { \\
        ((void (*) types)routine)(__VA_ARGS__); \\
        for (int i = 0; i < n; i++) at[i] += steps[i]; } break;

    /* Fortran's arguments are addresses: each call has them `steps` bytes further on */
    static int adj_each(void *routine, int n, char **at, const Py_ssize_t *steps, Py_ssize_t count) {
        typedef char *P;
        switch (n) {
            ADJ_CALLS(5, (P, P, P, P, P), A(0), A(1), A(2), A(3), A(4))
            ADJ_CALLS(6, (P, P, P, P, P, P), A(0), A(1), A(2), A(3), A(4), A(5))
            ADJ_CALLS(8, (P, P, P, P, P, P, P, P), A(0), A(1), A(2), A(3), A(4), A(5), A(6), A(7))
            ADJ_CALLS(11, (P, P, P, P, P, P, P, P, P, P, P),
                      A(0), A(1), A(2), A(3), A(4), A(5), A(6), A(7), A(8), A(9), A(10))
            default: return 0;
        }
        return 1;
    }
    #undef A
    static void *adj_address(PyObject *capsule) {
        return PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
    }
    static char *adj_place(PyObject *array) { return PyArray_BYTES((PyArrayObject *)array); }
    """
    int adj_each(void *routine, int n, char **at, const Py_ssize_t *steps, Py_ssize_t count) nogil
    void *adj_address(object capsule) except NULL
    char *adj_place(object array)

cdef object numpy

@cython.locals(
    n=cython.int, i=cython.int, known=cython.int, places=cython.p_char[11], strides=Py_ssize_t[11],
    routine=cython.p_void,
)
cdef object _run(object capsule, tuple arrays, tuple steps, Py_ssize_t count)
