cimport cython

cdef extern from "numpy_arrays.h":
    char *adj_bytes(object array)

cdef extern from "colouring.h":
    void adj_colour_apart(
        Py_ssize_t n, char *set_starts, char *set_members, char *vertex_starts, char *vertex_sets, char *order,
        char *colours, char *forbidden,
    ) nogil
    void adj_colour_stars(
        Py_ssize_t n, char *starts, char *indices, char *order, char *colours, char *forbidden
    ) nogil


cdef object numpy

@cython.locals(
    n=Py_ssize_t, first=cython.p_char, second=cython.p_char, third=cython.p_char, fourth=cython.p_char,
    ordered=cython.p_char, out=cython.p_char, marks=cython.p_char,
)
cpdef object colours_apart(object sets, object memberships, object order)

@cython.locals(
    n=Py_ssize_t, first=cython.p_char, second=cython.p_char, ordered=cython.p_char, out=cython.p_char,
    marks=cython.p_char,
)
cpdef object star_colours(object graph, object order)
cpdef object working_arrays(object n)
cpdef object whole(object array)
