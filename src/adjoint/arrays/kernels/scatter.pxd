cimport cython

cdef extern from "numpy_arrays.h":
    int adj_import_arrays() except -1
    char *adj_bytes(object array)
    char *adj_bytes_or_null(object array)
    int adj_precision(object array)
    bint adj_is_row_major(object array)
    Py_ssize_t adj_n_elements(object array)

cdef extern from "scatter.h":
    void adj_add_elements(
        int size, char *values, char *places, Py_ssize_t images, Py_ssize_t values_per_image, Py_ssize_t image_size,
        char *out,
    ) nogil
    void adj_add_rows(int size, char *values, char *rows, Py_ssize_t n, Py_ssize_t width, char *out) nogil
    bint adj_all_within(const char *numbers, Py_ssize_t n, Py_ssize_t least, Py_ssize_t limit) nogil
    int ADJ_PUT, ADJ_ADD
    object adj_take_along(object array, object index, int axis)
    bint adj_write_along(int what, object array, object index, int axis, object values) except -1

    ctypedef long long int64_t
    ctypedef struct adj_axis_map:
        Py_ssize_t outer, n, m, inner
        const int64_t *starts
        const int64_t *elements
        const char *weights
        int from_zero
    bint adj_axis_sums(int size, const adj_axis_map *map, const char *x, char *out) nogil

cdef extern from "sampling.h":
    int ADJ_SAMPLES, ADJ_SAMPLED_WEIGHTS, ADJ_SAMPLED_IMAGES
    ctypedef struct adj_sampling:
        Py_ssize_t images, channels, size, results, places
    void adj_sample(
        int item, int which, adj_sampling n, char *places, char *image, char *weights, char *results,
    ) nogil
    ctypedef struct adj_corners:
        Py_ssize_t n
        int ndim, mode, padding, align
        int64_t lengths[3]
    void adj_grid_corners(
        int item, const adj_corners *job, char *points, char *g, char *out, char *places,
    ) nogil


cdef object numpy, _FLOATS, _INT64

@cython.locals(precision=cython.int)
cdef bint _are_of_one_kind(tuple values)

@cython.locals(
    images=Py_ssize_t, size=cython.int, each=Py_ssize_t, length=Py_ssize_t, source=cython.p_char,
    first=cython.p_char, second=cython.p_char,
)
cpdef object add_elements(object g, object indices, Py_ssize_t n_images, Py_ssize_t n)

cpdef object add_rows(object values, object rows, object shape, Py_ssize_t n)
cdef object _check_rows(object values, object rows)

@cython.locals(
    size=cython.int, length=Py_ssize_t, width=Py_ssize_t, source=cython.p_char, first=cython.p_char,
    second=cython.p_char,
)
cpdef bint add_rows_to(object out, object values, object rows, Py_ssize_t n) except -1

cpdef object are_within(object numbers, Py_ssize_t least, Py_ssize_t limit)
cpdef object take_along(object array, object index, int axis)
cpdef bint put_along(object array, object index, int axis, object values)
cpdef bint add_along(object array, object index, int axis, object values)

@cython.locals(
    job=adj_axis_map, size=cython.int, i=cython.int, failed=cython.bint, first=cython.p_char, second=cython.p_char, shape=tuple,
)
cpdef object axis_sums(object x, int axis, object table)

@cython.locals(
    n=adj_sampling, item=cython.int, kind=cython.int, first=cython.p_char, second=cython.p_char, third=cython.p_char,
    fourth=cython.p_char,
)
cdef object _sample(object which, object places, object image, object weights, object results, object shape)

@cython.locals(
    job=adj_corners, i=cython.int, item=cython.int, first=cython.p_char, second=cython.p_char, third=cython.p_char,
    fourth=cython.p_char,
)
cdef object _grid_corners(
    object points, object g, object lengths, int mode, int padding, bint align_corners, object out, object places,
)
