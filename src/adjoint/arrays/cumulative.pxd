cimport cython

cdef extern from *:
    """
    #define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
    #include <stdint.h>
    #include <numpy/arrayobject.h>

    /* Arrays are (outer, n, inner), and the axis is the one in the middle. */
    #define ADJ_EXTREMA(name, type, better) \\
        static void name(const type *x, npy_intp outer, npy_intp n, npy_intp inner, type *tops, int64_t *places) { \\
            for (npy_intp i = 0; i < outer; i++) \\
                for (npy_intp k = 0; k < n; k++, x += inner, tops += inner, places += inner) \\
                    for (npy_intp j = 0; j < inner; j++) { \\
                        type here = x[j], top = k ? tops[j - inner] : here; \\
                        int moves = (here better top) | (here != here) | !k; \\
                        tops[j] = moves ? here : top; \\
                        places[j] = moves ? k : places[j - inner]; \\
                    } \\
        }
    /* the same where the axis is the last one: nothing is read again */
    #define ADJ_EXTREMA_OF_ROWS(name, type, better) \\
        static void name(const type *x, npy_intp rows, npy_intp n, type *tops, int64_t *places) { \\
            for (npy_intp i = 0; i < rows; i++, x += n, tops += n, places += n) { \\
                type top = x[0]; \\
                int64_t place = 0; \\
                for (npy_intp k = 0; k < n; k++) { \\
                    type here = x[k]; \\
                    int moves = (here better top) | (here != here); \\
                    top = moves ? here : top; \\
                    place = moves ? k : place; \\
                    tops[k] = top; \\
                    places[k] = place; \\
                } \\
            } \\
        }
    #define ADJ_RECURRENCE(name, type) \\
        static void name(const type *links, npy_intp outer, npy_intp n, npy_intp inner, int reverse, type *y) { \\
            for (npy_intp i = 0; i < outer; i++, links += (n - 1) * inner, y += n * inner) \\
                for (npy_intp k = 1; k < n; k++) { \\
                    npy_intp at = reverse ? n - 1 - k : k; \\
                    type *to = y + at * inner, *from = reverse ? to + inner : to - inner; \\
                    const type *link = links + (reverse ? at : at - 1) * inner; \\
                    for (npy_intp j = 0; j < inner; j++) to[j] += link[j] * from[j]; \\
                } \\
        }
    /* the same where the axis is the last one, several rows beside each other: each waits for its own results only */
    #define ADJ_ROWS 8
    #define ADJ_RECURRENCE_OF_ROWS(name, type) \\
        static void name(const type *links, npy_intp rows, npy_intp n, int reverse, type *y) { \\
            for (npy_intp i = 0; i < rows; i += ADJ_ROWS) { \\
                npy_intp beside = rows - i < ADJ_ROWS ? rows - i : ADJ_ROWS; \\
                type last[ADJ_ROWS]; \\
                for (npy_intp r = 0; r < beside; r++) last[r] = y[(i + r) * n + (reverse ? n - 1 : 0)]; \\
                for (npy_intp k = 1; k < n; k++) { \\
                    npy_intp at = reverse ? n - 1 - k : k, link = reverse ? at : at - 1; \\
                    for (npy_intp r = 0; r < beside; r++) { \\
                        last[r] = y[(i + r) * n + at] + links[(i + r) * (n - 1) + link] * last[r]; \\
                        y[(i + r) * n + at] = last[r]; \\
                    } \\
                } \\
            } \\
        }
    /* sums or products so far */
    #define ADJ_RUNNING_OF_ROWS(name, type, joined) \
        static void name(const type *x, npy_intp rows, npy_intp n, type *y) { \
            for (npy_intp i = 0; i < rows; i += ADJ_ROWS) { \
                npy_intp beside = rows - i < ADJ_ROWS ? rows - i : ADJ_ROWS; \
                type last[ADJ_ROWS]; \
                for (npy_intp r = 0; r < beside; r++) y[(i + r) * n] = last[r] = x[(i + r) * n]; \
                for (npy_intp k = 1; k < n; k++) \
                    for (npy_intp r = 0; r < beside; r++) \
                        y[(i + r) * n + k] = last[r] = last[r] joined x[(i + r) * n + k]; \
            } \
        }
    ADJ_RUNNING_OF_ROWS(adj_sums_of_rows_4, float, +)
    ADJ_RUNNING_OF_ROWS(adj_sums_of_rows_8, double, +)
    ADJ_RUNNING_OF_ROWS(adj_products_of_rows_4, float, *)
    ADJ_RUNNING_OF_ROWS(adj_products_of_rows_8, double, *)
    static void adj_running(int size, char *x, Py_ssize_t rows, Py_ssize_t n, int products, char *y) {
        if (size == 4)
            (products ? adj_products_of_rows_4 : adj_sums_of_rows_4)((const float *)x, rows, n, (float *)y);
        else
            (products ? adj_products_of_rows_8 : adj_sums_of_rows_8)((const double *)x, rows, n, (double *)y);
    }

    ADJ_EXTREMA(adj_largest_4, float, >=)
    ADJ_EXTREMA(adj_largest_8, double, >=)
    ADJ_EXTREMA(adj_smallest_4, float, <=)
    ADJ_EXTREMA(adj_smallest_8, double, <=)
    ADJ_EXTREMA_OF_ROWS(adj_largest_of_rows_4, float, >=)
    ADJ_EXTREMA_OF_ROWS(adj_largest_of_rows_8, double, >=)
    ADJ_EXTREMA_OF_ROWS(adj_smallest_of_rows_4, float, <=)
    ADJ_EXTREMA_OF_ROWS(adj_smallest_of_rows_8, double, <=)
    ADJ_RECURRENCE(adj_recurrence_4, float)
    ADJ_RECURRENCE(adj_recurrence_8, double)
    ADJ_RECURRENCE_OF_ROWS(adj_recurrence_of_rows_4, float)
    ADJ_RECURRENCE_OF_ROWS(adj_recurrence_of_rows_8, double)

    #define ADJ_OF_SIZE(type, number) { \\
        const type *from = (const type *)x; \\
        type *to = (type *)tops; \\
        int64_t *where = (int64_t *)places; \\
        if (inner > 1) (largest ? adj_largest_##number : adj_smallest_##number)(from, outer, n, inner, to, where); \\
        else (largest ? adj_largest_of_rows_##number : adj_smallest_of_rows_##number)(from, outer, n, to, where); }
    static void adj_extrema(int size, char *x, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner, int largest, char *tops,
                            char *places) {
        if (size == 4) ADJ_OF_SIZE(float, 4) else ADJ_OF_SIZE(double, 8)
    }
    static void adj_recurrence(int size, char *links, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner, int reverse,
                               char *y) {
        if (size == 4 && inner > 1) adj_recurrence_4((float *)links, outer, n, inner, reverse, (float *)y);
        else if (size == 4) adj_recurrence_of_rows_4((float *)links, outer, n, reverse, (float *)y);
        else if (inner > 1) adj_recurrence_8((double *)links, outer, n, inner, reverse, (double *)y);
        else adj_recurrence_of_rows_8((double *)links, outer, n, reverse, (double *)y);
    }
    static char *adj_bytes(PyObject *array) { return PyArray_BYTES((PyArrayObject *)array); }
    """
    char *adj_bytes(object array)
    void adj_extrema(
        int size, char *x, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner, int largest, char *tops, char *places,
    ) nogil
    void adj_running(int size, char *x, Py_ssize_t rows, Py_ssize_t n, int products, char *y) nogil
    void adj_recurrence(
        int size, char *links, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner, int reverse, char *y,
    ) nogil

cdef object numpy, _FLOATS

@cython.locals(
    size=cython.int, outer=Py_ssize_t, n=Py_ssize_t, inner=Py_ssize_t, source=cython.p_char, first=cython.p_char,
    second=cython.p_char,
)
cpdef object extrema(object x, Py_ssize_t axis, bint largest)

@cython.locals(
    size=cython.int, rows=Py_ssize_t, n=Py_ssize_t, source=cython.p_char, first=cython.p_char,
)
cpdef object running(object x, bint products)

@cython.locals(
    size=cython.int, outer=Py_ssize_t, n=Py_ssize_t, inner=Py_ssize_t, source=cython.p_char, first=cython.p_char,
)
cpdef object recurrence(object links, object x, Py_ssize_t axis, bint reverse)
