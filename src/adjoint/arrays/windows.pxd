cimport cython

cdef extern from *:
    """
    #define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
    #include <math.h>
    #include <stdint.h>
    #include <numpy/arrayobject.h>

    /* The windows along one axis: their length, how many there are, how many elements each has, and for each of these
       elements the windows from begin to end that have it, where the first of them has it, and the step to the next. */
    typedef struct { const int64_t *ranges; npy_intp n, results, passes; } adj_axis;

    /* the better of what was found so far and one more element, for a row of windows */
    #define ADJ_COMPARE(step) \\
        for (npy_intp j = 0; j < n; j++) { \\
            value = source[j * (step)]; \\
            better = (value > top[j]) | (value != value) | (mark[j] < 0); \\
            top[j] = better ? value : top[j]; \\
            mark[j] = better ? here + (int32_t)(j * (step)) : mark[j]; \\
        }

    /* the largest element of each window and its place in the flat image: the first of several, the last NaN */
    #define ADJ_MAXIMA(name, type) \\
        static void name(const type *x, npy_intp images, adj_axis rows, adj_axis columns, type *tops, int32_t *marks) { \\
            for (npy_intp image = 0; image < images; image++, x += rows.n * columns.n) \\
                for (npy_intp i = 0; i < rows.results; i++, tops += columns.results, marks += columns.results) { \\
                    for (npy_intp j = 0; j < columns.results; j++) { tops[j] = (type)-INFINITY; marks[j] = -1; } \\
                    for (npy_intp k = 0; k < rows.passes; k++) { \\
                        const int64_t *r = rows.ranges + 4 * k; \\
                        if (i < r[0] || i >= r[1]) continue; \\
                        npy_intp row = r[2] + (i - r[0]) * r[3]; \\
                        for (npy_intp l = 0; l < columns.passes; l++) { \\
                            const int64_t *c = columns.ranges + 4 * l; \\
                            npy_intp n = c[1] - c[0], step = c[3]; \\
                            const type *source = x + row * columns.n + c[2]; \\
                            type *top = tops + c[0], value; \\
                            int32_t *mark = marks + c[0], here = (int32_t)(row * columns.n + c[2]), better; \\
                            if (step == 1) { ADJ_COMPARE(1) } \\
                            else if (step == 2) { ADJ_COMPARE(2) } \\
                            else { ADJ_COMPARE(step) } \\
                        } \\
                    } \\
                } \\
        }
    ADJ_MAXIMA(adj_maxima_4, float)
    ADJ_MAXIMA(adj_maxima_8, double)

    #define ADJ_SPREAD(name, type) \\
        static void name(const type *g, const int64_t *places, npy_intp images, npy_intp each, npy_intp size, type *out) { \\
            for (npy_intp image = 0; image < images; image++, out += size) \\
                for (npy_intp k = 0; k < each; k++) out[*places++] += *g++; \\
        }
    ADJ_SPREAD(adj_spread_4, float)
    ADJ_SPREAD(adj_spread_8, double)

    #define ADJ_ADD_ROWS(name, type) \\
        static void name(const type *values, const int64_t *rows, npy_intp n, npy_intp width, type *out) { \\
            for (npy_intp i = 0; i < n; i++, values += width) { \\
                type *row = out + rows[i] * width; \\
                for (npy_intp j = 0; j < width; j++) row[j] += values[j]; \\
            } \\
        }
    ADJ_ADD_ROWS(adj_add_rows_4, float)
    ADJ_ADD_ROWS(adj_add_rows_8, double)

    static void adj_add_rows(int size, char *values, char *rows, Py_ssize_t n, Py_ssize_t width, char *out) {
        if (size == 4) adj_add_rows_4((float *)values, (int64_t *)rows, n, width, (float *)out);
        else adj_add_rows_8((double *)values, (int64_t *)rows, n, width, (double *)out);
    }
    static void adj_maxima(int size, char *x, Py_ssize_t images, int64_t *rows, Py_ssize_t *of_rows, int64_t *columns,
                           Py_ssize_t *of_columns, char *tops, char *places) {
        adj_axis r = {rows, of_rows[0], of_rows[1], of_rows[2]};
        adj_axis c = {columns, of_columns[0], of_columns[1], of_columns[2]};
        if (size == 4) adj_maxima_4((float *)x, images, r, c, (float *)tops, (int32_t *)places);
        else adj_maxima_8((double *)x, images, r, c, (double *)tops, (int32_t *)places);
    }
    static void adj_spread(int size, char *g, char *places, Py_ssize_t images, Py_ssize_t each, Py_ssize_t n, char *out) {
        if (size == 4) adj_spread_4((float *)g, (int64_t *)places, images, each, n, (float *)out);
        else adj_spread_8((double *)g, (int64_t *)places, images, each, n, (double *)out);
    }
    static char *adj_bytes(PyObject *array) { return PyArray_BYTES((PyArrayObject *)array); }
    """
    ctypedef long long int64_t
    char *adj_bytes(object array)
    void adj_maxima(
        int size, char *x, Py_ssize_t images, int64_t *rows, Py_ssize_t *of_rows, int64_t *columns,
        Py_ssize_t *of_columns, char *tops, char *places,
    ) nogil
    void adj_spread(int size, char *g, char *places, Py_ssize_t images, Py_ssize_t each, Py_ssize_t n, char *out) nogil

    void adj_add_rows(int size, char *values, char *rows, Py_ssize_t n, Py_ssize_t width, char *out) nogil


cdef object numpy, _FLOATS

@cython.locals(
    of_rows=Py_ssize_t[3], of_columns=Py_ssize_t[3], images=Py_ssize_t, size=cython.int, source=cython.p_char,
    rows=cython.p_char, columns=cython.p_char, first=cython.p_char, second=cython.p_char,
)
cpdef object largest(object x, list tables, bint with_places)

@cython.locals(
    images=Py_ssize_t, size=cython.int, each=Py_ssize_t, length=Py_ssize_t, source=cython.p_char,
    first=cython.p_char, second=cython.p_char,
)
cpdef object spread(object g, object places, Py_ssize_t n_images, Py_ssize_t n)

@cython.locals(
    size=cython.int, length=Py_ssize_t, width=Py_ssize_t, source=cython.p_char, first=cython.p_char,
    second=cython.p_char,
)
cpdef object add_rows(object values, object rows, Py_ssize_t n)
