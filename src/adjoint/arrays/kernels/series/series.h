/* Products, quotients and recurrences of truncated power series.

   Arrays are (n, size) with elements of `bytes` 4 (float) or 8 (double): n coefficients, the first one of order 0, of
   `size` series each. The series are taken in tiles, whose sums stay in registers. */
#ifndef ADJOINT_SERIES_H
#define ADJOINT_SERIES_H

#include "numpy_arrays.h"
#include "optimized_begin.h"

/* The numbers of series processed together: tiles, then short tiles, then single series. Half a tile is faster if sums
   dominate: they stay in AVX2's registers. A whole tile is faster if each row waits for a quotient. */
#define ADJ_SERIES_TILE 32
#define ADJ_SERIES_SHORT 4
/* So many coefficients of a tile have room on the stack. */
#define ADJ_STACK_LENGTH 17

#ifdef __GNUC__
#define ADJ_TILE static inline __attribute__((always_inline)) void
#else
#define ADJ_TILE static inline void
#endif

#define ADJ_JOINED_(a, b) a##b
#define ADJ_JOINED(a, b) ADJ_JOINED_(a, b)

/* A loop over tiles of `width`: `tile` is called with the width, a constant, and the place `at` of the first series. */
#define ADJ_EACH_TILE(width, size, tile, ...)                                                                          \
    do {                                                                                                               \
        npy_intp at = 0;                                                                                               \
        for (; at + (width) <= (size); at += (width)) tile(width, at, __VA_ARGS__);                                    \
        for (; at + ADJ_SERIES_SHORT <= (size); at += ADJ_SERIES_SHORT) tile(ADJ_SERIES_SHORT, at, __VA_ARGS__);       \
        for (; at < (size); at++) tile(1, at, __VA_ARGS__);                                                            \
    } while (0)

#define T float
#define ADJ_NAME(name) ADJ_JOINED(name, _4)
#include "series_loops.h"
#undef T
#undef ADJ_NAME
#define T double
#define ADJ_NAME(name) ADJ_JOINED(name, _8)
#include "series_loops.h"
#undef T
#undef ADJ_NAME

/* Releases the interpreter's lock for a long loop, and takes it back. */
static inline void *adj_release_lock(int is_long) {
    return is_long ? PyEval_SaveThread() : NULL;
}
static inline void adj_take_lock(void *state) {
    if (state) PyEval_RestoreThread((PyThreadState *)state);
}

/* The bytes of an element, and the number of coefficients. */
static inline int adj_itemsize(PyObject *array) {
    return (int)PyArray_ITEMSIZE((PyArrayObject *)array);
}
static inline npy_intp adj_order(PyObject *series) {
    return PyArray_DIM((PyArrayObject *)series, 0);
}

/* An array without gaps: the array itself, or a copy. */
static PyObject *adj_without_gaps(PyObject *array) {
    /* NumPy's conversion takes longer than a short loop, also where it gives the array back. */
    if (PyArray_CheckExact(array) && PyArray_ISCARRAY_RO((PyArrayObject *)array)) {
        Py_INCREF(array);
        return array;
    }
    return PyArray_FROM_OF(array, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED);
}

/* The dtype and the shape of an array. */
static inline PyArray_Descr *adj_descr(PyObject *array) {
    PyArray_Descr *descr = PyArray_DESCR((PyArrayObject *)array);
    Py_INCREF(descr);
    return descr;
}
static inline npy_intp *adj_lengths(PyObject *array) {
    return PyArray_DIMS((PyArrayObject *)array);
}

/* 1 if two arrays have the same shape. */
static inline int adj_are_alike(PyObject *a, PyObject *b) {
    return PyArray_SAMESHAPE((PyArrayObject *)a, (PyArrayObject *)b);
}

/* 1 if an array has the dtype of another one, as many elements as a coefficient of it, and no gaps. */
static int adj_is_coefficient(PyObject *object, PyObject *series) {
    if (!PyArray_CheckExact(object)) return 0;
    PyArrayObject *a = (PyArrayObject *)object, *y = (PyArrayObject *)series;
    return PyArray_TYPE(a) == PyArray_TYPE(y) && PyArray_ISCARRAY_RO(a) &&
           adj_n_elements(object) * PyArray_DIM(y, 0) == adj_n_elements(series);
}

/* Copies a coefficient. */
static void adj_set_coefficient(PyObject *series, npy_intp k, PyObject *coefficient) {
    size_t bytes = PyArray_NBYTES((PyArrayObject *)coefficient);
    memcpy(adj_bytes(series) + k * bytes, adj_bytes(coefficient), bytes);
}

/* Writes the series of x + t, with float or double elements. */
static void adj_fill_line(PyObject *array, PyObject *series) {
    PyArrayObject *x = (PyArrayObject *)array, *y = (PyArrayObject *)series;
    npy_intp size = adj_n_elements(array), n = adj_order(series);
    char *data = PyArray_BYTES(y);
    memcpy(data, PyArray_BYTES(x), PyArray_NBYTES(x));
    memset(data + PyArray_NBYTES(x), 0, PyArray_NBYTES(y) - PyArray_NBYTES(x));
    if (n < 2) return;
    if (PyArray_TYPE(x) == NPY_DOUBLE)
        for (npy_intp i = size; i < 2 * size; i++) ((double *)data)[i] = 1;
    else
        for (npy_intp i = size; i < 2 * size; i++) ((float *)data)[i] = 1;
}

/* The negative of all elements. */
static void adj_series_negate(int bytes, npy_intp n, char *x, char *y) {
    if (bytes == 4)
        adj_negatives_4(n, (const float *)x, (float *)y);
    else
        adj_negatives_8(n, (const double *)x, (double *)y);
}

/* Products (which is 0), correlations (1) and quotients (2). */
static void adj_series_of_two(int bytes, int which, npy_intp n, npy_intp size, char *a, char *b, char *y) {
    if (bytes == 4)
        (which == 0 ? adj_series_product_4 : which == 1 ? adj_series_correlation_4 : adj_series_quotient_4)(
            n, size, (const float *)a, (const float *)b, (float *)y);
    else
        (which == 0 ? adj_series_product_8 : which == 1 ? adj_series_correlation_8 : adj_series_quotient_8)(
            n, size, (const double *)a, (const double *)b, (double *)y);
}

/* Memory for two series of a tile: the caller's `buffer` for short ones, else new memory; NULL if there is none. */
static void *adj_tile_memory(npy_intp n, double *buffer) {
    return n <= ADJ_STACK_LENGTH ? buffer : malloc(2 * n * ADJ_SERIES_TILE * sizeof(double));
}
#define ADJ_TILE_BUFFER(name) double name[2 * ADJ_STACK_LENGTH * ADJ_SERIES_TILE]

/* Riccati's equations and those of pairs; -1 if there is no memory. */
static int adj_series_riccati(int bytes, npy_intp n, npy_intp size, char *x, double c0, double c1, double c2, char *y) {
    ADJ_TILE_BUFFER(buffer);
    void *slope = adj_tile_memory(n, buffer);
    if (!slope) return -1;
    if (bytes == 4)
        adj_series_riccati_4(n, size, (const float *)x, (float)c0, (float)c1, (float)c2, (float *)slope, (float *)y);
    else
        adj_series_riccati_8(n, size, (const double *)x, c0, c1, c2, (double *)slope, (double *)y);
    if (slope != buffer) free(slope);
    return 0;
}

static void adj_series_power(int bytes, npy_intp n, npy_intp size, char *x, double exponent, char *y) {
    if (bytes == 4)
        adj_series_power_4(n, size, (const float *)x, exponent, (float *)y);
    else
        adj_series_power_8(n, size, (const double *)x, exponent, (double *)y);
}

static void adj_series_log(int bytes, npy_intp n, npy_intp size, char *x, char *y) {
    if (bytes == 4)
        adj_series_log_4(n, size, (const float *)x, (float *)y);
    else
        adj_series_log_8(n, size, (const double *)x, (double *)y);
}

static int adj_series_wave(int bytes, npy_intp n, npy_intp size, char *x, double rise, double fall, char *start,
                           char *y) {
    ADJ_TILE_BUFFER(buffer);
    void *c = adj_tile_memory(n, buffer);
    if (!c) return -1;
    if (bytes == 4)
        adj_series_wave_4(n, size, (const float *)x, (float)rise, (float)fall, (const float *)start, (float *)c,
                          (float *)y);
    else
        adj_series_wave_8(n, size, (const double *)x, rise, fall, (const double *)start, (double *)c, (double *)y);
    if (c != buffer) free(c);
    return 0;
}

#include "optimized_end.h"
#endif
