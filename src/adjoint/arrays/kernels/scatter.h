/* Scatter: sums of values at places of arrays. The arrays have elements of `size` 4 (float) or 8 (double). */
#ifndef ADJOINT_SCATTER_H
#define ADJOINT_SCATTER_H

#include <fenv.h>
#include <stdint.h>
#include "numpy_arrays.h"
#include "optimized_begin.h"

/* For each image, a number of `values_per_image` values are added to the elements of `out` that `places` names. Several
   values may have the same place. */
#define ADJ_DEFINE_ADD_ELEMENTS(name, type)                                                                            \
    static void name(const type *values, const int64_t *places, npy_intp images, npy_intp values_per_image,            \
                     npy_intp image_size, type *out) {                                                                 \
        for (npy_intp image = 0; image < images; image++, out += image_size)                                           \
            for (npy_intp k = 0; k < values_per_image; k++) out[*places++] += *values++;                               \
    }
ADJ_DEFINE_ADD_ELEMENTS(adj_add_elements_4, float)
ADJ_DEFINE_ADD_ELEMENTS(adj_add_elements_8, double)

/* Adds elements to images of zeros. */
static void adj_add_elements(int size, char *values, char *places, Py_ssize_t images, Py_ssize_t values_per_image,
                             Py_ssize_t image_size, char *out) {
    const int64_t *at = (const int64_t *)places;
    if (size == 4)
        adj_add_elements_4((const float *)values, at, images, values_per_image, image_size, (float *)out);
    else
        adj_add_elements_8((const double *)values, at, images, values_per_image, image_size, (double *)out);
}

/* Adds n rows of `width` elements to the rows of `out` whose numbers are in `rows`. */
#define ADJ_DEFINE_ADD_ROWS(name, type)                                                                                \
    static void name(const type *values, const int64_t *rows, npy_intp n, npy_intp width, type *out) {                 \
        for (npy_intp i = 0; i < n; i++, values += width) {                                                            \
            type *row = out + rows[i] * width;                                                                         \
            for (npy_intp j = 0; j < width; j++) row[j] += values[j];                                                  \
        }                                                                                                              \
    }
ADJ_DEFINE_ADD_ROWS(adj_add_rows_4, float)
ADJ_DEFINE_ADD_ROWS(adj_add_rows_8, double)

/* Adds rows to an array of zeros. */
static void adj_add_rows(int size, char *values, char *rows, Py_ssize_t n, Py_ssize_t width, char *out) {
    if (size == 4)
        adj_add_rows_4((const float *)values, (const int64_t *)rows, n, width, (float *)out);
    else
        adj_add_rows_8((const double *)values, (const int64_t *)rows, n, width, (double *)out);
}

/* Whether all of n numbers are at least `least` and below `limit`. The sign bit of a difference decides, since vectors
   have subtraction on all processors. If one difference overflows, the other has the bit. */
ADJ_CLONES int adj_all_within(const char *numbers, Py_ssize_t n, int64_t least, int64_t limit) {
    const uint64_t *at = (const uint64_t *)numbers;
    uint64_t first = (uint64_t)least, last = (uint64_t)limit - 1, outside = 0;
    for (Py_ssize_t i = 0; i < n; i++) outside |= (at[i] - first) | (last - at[i]);
    return !(outside >> 63);
}

/* Elements at indices along one axis: arrays (outer, n, inner) of elements of `size` bytes, indices (outer, m, inner).
   The values (outer, m, inner) are read from the array, written to it, or added to it. */
enum { ADJ_TAKE, ADJ_PUT, ADJ_ADD };
#define ADJ_FOR_EACH_PLACE(type, statement)                                                                            \
    {                                                                                                                  \
        type *at = (type *)array, *v = (type *)values;                                                                 \
        for (Py_ssize_t o = 0; o < outer; o++, at += n * inner)                                                        \
            for (Py_ssize_t i = 0; i < m; i++)                                                                         \
                for (Py_ssize_t j = 0; j < inner; j++, v++, p++) statement;                                            \
    }
static void adj_along_axis(int what, int size, char *array, const char *places, char *values, Py_ssize_t outer,
                           Py_ssize_t n, Py_ssize_t m, Py_ssize_t inner) {
    const int64_t *p = (const int64_t *)places;
    if (what == ADJ_ADD && size == 4) ADJ_FOR_EACH_PLACE(float, at[*p * inner + j] += *v)
    else if (what == ADJ_ADD) ADJ_FOR_EACH_PLACE(double, at[*p * inner + j] += *v)
    else if (what == ADJ_PUT && size == 4) ADJ_FOR_EACH_PLACE(int32_t, at[*p * inner + j] = *v)
    else if (what == ADJ_PUT) ADJ_FOR_EACH_PLACE(int64_t, at[*p * inner + j] = *v)
    else if (size == 4) ADJ_FOR_EACH_PLACE(int32_t, *v = at[*p * inner + j])
    else ADJ_FOR_EACH_PLACE(int64_t, *v = at[*p * inner + j])
}

/* The same for arrays; values that are not there (NULL) are made. 0 where there is no loop for them, -1 with an
   exception. */
static int adj_run_along(int what, PyObject *array, PyObject *index, int axis, PyObject **values) {
    if (!PyArray_CheckExact(array) || !PyArray_CheckExact(index)) return 0;
    if (*values != NULL && !PyArray_CheckExact(*values)) return 0;
    PyArrayObject *a = (PyArrayObject *)array, *places = (PyArrayObject *)index;
    int type = PyArray_TYPE(a), size = (int)PyArray_ITEMSIZE(a), ndim = PyArray_NDIM(a);
    if (!PyArray_IS_C_CONTIGUOUS(a) || !PyArray_ISBEHAVED_RO(a) || (size != 4 && size != 8)) return 0;
    if (!PyTypeNum_ISFLOAT(type) && (what == ADJ_ADD || !PyTypeNum_ISINTEGER(type))) return 0;
    if (PyArray_TYPE(places) != NPY_INT64 || !PyArray_ISNOTSWAPPED(places)) return 0;
    if (PyArray_NDIM(places) != ndim || axis < 0 || axis >= ndim) return 0;
    npy_intp outer = 1, inner = 1, n = PyArray_DIM(a, axis), m = PyArray_DIM(places, axis);
    for (int i = 0; i < ndim; i++) {
        if (i == axis) continue;
        if (PyArray_DIM(a, i) != PyArray_DIM(places, i)) return 0;
        if (i < axis) outer *= PyArray_DIM(a, i);
        else inner *= PyArray_DIM(a, i);
    }
    PyArrayObject *v = (PyArrayObject *)*values;
    if (v != NULL) {
        if (PyArray_TYPE(v) != type || !PyArray_ISNOTSWAPPED(v) || !PyArray_SAMESHAPE(v, places)) return 0;
        v = PyArray_GETCONTIGUOUS(v);
    } else {
        v = (PyArrayObject *)PyArray_SimpleNew(ndim, PyArray_DIMS(places), type);
    }
    if (v == NULL) return -1;
    /* indices are often expanded */
    places = PyArray_GETCONTIGUOUS(places);
    if (places == NULL) {
        Py_DECREF(v);
        return -1;
    }
    int done = adj_all_within(PyArray_BYTES(places), PyArray_SIZE(places), 0, n);
    if (done) {
        Py_BEGIN_ALLOW_THREADS
        adj_along_axis(what, size, PyArray_BYTES(a), PyArray_BYTES(places), PyArray_BYTES(v), outer, n, m, inner);
        Py_END_ALLOW_THREADS
    }
    Py_DECREF(places);
    if (done && *values == NULL) *values = (PyObject *)v;
    else Py_DECREF(v);
    return done;
}

/* The elements that an index names along one axis, or None. */
static PyObject *adj_take_along(PyObject *array, PyObject *index, int axis) {
    PyObject *values = NULL;
    int done = adj_run_along(ADJ_TAKE, array, index, axis, &values);
    if (done < 0) return NULL;
    if (!done) Py_RETURN_NONE;
    return values;
}

/* Writes values to the places, or adds them there; 0 where there is no loop for them. */
static int adj_write_along(int what, PyObject *array, PyObject *index, int axis, PyObject *values) {
    return adj_run_along(what, array, index, axis, &values);
}

/* A linear map along one axis: (outer, n, inner) to (outer, m, inner). Summands of result i are those from starts[i]
   to starts[i + 1]: the elements of these numbers, times weights or as they are, added in this order. */
typedef struct {
    Py_ssize_t outer, n, m, inner;
    const int64_t *starts, *elements;
    const char *weights;
    int from_zero; /* each sum begins with zero, which makes zero of a negative one */
} adj_axis_map;

/* Whether each result is one element as it is. */
static int adj_is_gather(const adj_axis_map *map) {
    if (map->weights || map->from_zero) return 0;
    for (Py_ssize_t i = 0; i <= map->m; i++)
        if (map->starts[i] != i) return 0;
    return 1;
}

/* One summand of a row of sums. */
#define ADJ_ROW(op)                                                                                                    \
    if (w) for (Py_ssize_t j = 0; j < inner; j++) out[j] op w[k] * row[j];                                             \
    else for (Py_ssize_t j = 0; j < inner; j++) out[j] op row[j];
#define ADJ_DEFINE_AXIS_SUMS(name, type)                                                                               \
    static void name(const adj_axis_map *map, const type *x, type *out) {                                              \
        const Py_ssize_t inner = map->inner;                                                                           \
        const type *w = (const type *)map->weights;                                                                    \
        if (adj_is_gather(map)) {                                                                                      \
            for (Py_ssize_t o = 0; o < map->outer; o++, x += map->n * inner)                                           \
                for (Py_ssize_t i = 0; i < map->m; i++, out += inner) {                                                \
                    const type *row = x + map->elements[i] * inner;                                                    \
                    if (inner == 1) *out = *row;                                                                       \
                    else memcpy(out, row, inner * sizeof *out);                                                        \
                }                                                                                                      \
            return;                                                                                                    \
        }                                                                                                              \
        for (Py_ssize_t o = 0; o < map->outer; o++, x += map->n * inner)                                               \
            for (Py_ssize_t i = 0; i < map->m; i++, out += inner) {                                                    \
                int64_t k = map->starts[i], end = map->starts[i + 1];                                                  \
                if (inner == 1) {                                                                                      \
                    type sum = 0;                                                                                      \
                    if (k < end && !map->from_zero) {                                                                  \
                        sum = w ? w[k] * x[map->elements[k]] : x[map->elements[k]];                                    \
                        k++;                                                                                           \
                    }                                                                                                  \
                    if (w) for (; k < end; k++) sum += w[k] * x[map->elements[k]];                                     \
                    else for (; k < end; k++) sum += x[map->elements[k]];                                              \
                    *out = sum;                                                                                        \
                    continue;                                                                                          \
                }                                                                                                      \
                if (k < end && !map->from_zero) {                                                                      \
                    const type *row = x + map->elements[k] * inner;                                                    \
                    ADJ_ROW(=)                                                                                         \
                    k++;                                                                                               \
                } else for (Py_ssize_t j = 0; j < inner; j++) out[j] = 0;                                              \
                for (; k < end; k++) {                                                                                 \
                    const type *row = x + map->elements[k] * inner;                                                    \
                    ADJ_ROW(+=)                                                                                        \
                }                                                                                                      \
            }                                                                                                          \
    }
ADJ_DEFINE_AXIS_SUMS(adj_axis_sums_4, float)
ADJ_DEFINE_AXIS_SUMS(adj_axis_sums_8, double)

/* Runs a map; returns whether there was a floating point error that NumPy may have to report. */
static int adj_axis_sums(int size, const adj_axis_map *map, const char *x, char *out) {
    feclearexcept(FE_ALL_EXCEPT);
    if (size == 4) adj_axis_sums_4(map, (const float *)x, (float *)out);
    else adj_axis_sums_8(map, (const double *)x, (double *)out);
    int flags = fetestexcept(FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID);
    if (flags) feclearexcept(FE_ALL_EXCEPT);
    return flags != 0;
}

#include "optimized_end.h"
#endif
