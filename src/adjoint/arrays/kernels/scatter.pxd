cimport cython

cdef extern from "numpy_arrays.h":
    char *adj_bytes(object array)

cdef extern from "scatter.h":
    void adj_add_elements(
        int size, char *values, char *places, Py_ssize_t images, Py_ssize_t values_per_image, Py_ssize_t image_size,
        char *out,
    ) nogil
    void adj_add_rows(int size, char *values, char *rows, Py_ssize_t n, Py_ssize_t width, char *out) nogil


cdef object numpy, _FLOATS

@cython.locals(
    images=Py_ssize_t, size=cython.int, each=Py_ssize_t, length=Py_ssize_t, source=cython.p_char,
    first=cython.p_char, second=cython.p_char,
)
cpdef object add_elements(object g, object indices, Py_ssize_t n_images, Py_ssize_t n)

@cython.locals(
    size=cython.int, length=Py_ssize_t, width=Py_ssize_t, source=cython.p_char, first=cython.p_char,
    second=cython.p_char,
)
cpdef object add_rows(object values, object rows, Py_ssize_t n)
