/* Arrays that are broadcast against each other in short rows: whether they are; their elements written out. */
#ifndef ADJOINT_SHORT_ROWS_H
#define ADJOINT_SHORT_ROWS_H

#include <string.h>
#include "numpy_arrays.h"
#include "optimized_begin.h"

/* Rows of fewer elements are short, from so many elements of a result on. */
#define ADJ_SHORT_ROW 33
#define ADJ_MANY_SHORT_ROWS 512

/* The length of an array's axis among `ndim` axes of a result: 1 if the array lacks it. */
static inline npy_intp adj_length_among(PyArrayObject *a, int axis, int ndim) {
    int operand_axis = axis - (ndim - PyArray_NDIM(a));
    return operand_axis < 0 ? 1 : PyArray_DIM(a, operand_axis);
}

/* 1 if two plain arrays of one type broadcast against each other so that a ufunc works on short rows. A row ends where
   an array begins or stops to repeat. */
static inline int adj_meet_in_short_rows(PyObject *left, PyObject *right) {
    if (!PyArray_CheckExact(left) || !PyArray_CheckExact(right)) return 0;
    PyArrayObject *a = (PyArrayObject *)left, *b = (PyArrayObject *)right;
    int m = PyArray_NDIM(a), n = PyArray_NDIM(b), ndim = ADJ_MAX(m, n);
    if (ndim < 2 || (m == n && memcmp(PyArray_DIMS(a), PyArray_DIMS(b), n * sizeof(npy_intp)) == 0)) return 0;
    int precision = adj_precision(left), pattern = 0;
    if (precision < 0 || adj_precision(right) != precision) return 0;
    npy_intp row = 1, total = 1;
    for (int axis = ndim - 1; axis >= 0; axis--) {
        npy_intp p = adj_length_among(a, axis, ndim), q = adj_length_among(b, axis, ndim), length = ADJ_MAX(p, q);
        if (p != q && p != 1 && q != 1) return 0;
        if (p == 0 || q == 0) return 0;
        if (length == 1) continue;
        int here = 1 + (p == 1) + 2 * (q == 1);
        if (total == 1) pattern = here;
        if (here == pattern && row == total) row *= length;
        total *= length;
    }
    return row < ADJ_SHORT_ROW && row < total && total >= ADJ_MANY_SHORT_ROWS;
}

#define ADJ_REPEAT(type)                                                                                               \
    for (npy_intp i = 0; i < n; i++, to += each * sizeof(type)) {                                                      \
        type value = *(const type *)(x + i * *strides);                                                                \
        for (npy_intp j = 0; j < each; j++) ((type *)to)[j] = value;                                                   \
    }

/* Writes elements of an array out without gaps; returns the end of the output. Repeated elements are copied in pieces
   of doubling length. */
static char *adj_write_out(const char *x, int ndim, const npy_intp *shape, const npy_intp *strides, int size,
                           char *to) {
    if (ndim == 0) {
        memcpy(to, x, size);
        return to + size;
    }
    npy_intp n = *shape;
    if (ndim == 2 && *strides != 0 && strides[1] == 0) {
        /* each element several times: mostly two or three */
        npy_intp each = shape[1];
        if (size == 8) {
            ADJ_REPEAT(double)
        } else {
            ADJ_REPEAT(float)
        }
        return to;
    }
    if (*strides == 0) {
        char *end = adj_write_out(x, ndim - 1, shape + 1, strides + 1, size, to);
        npy_intp all = n * (end - to), done = end - to;
        while (done < all) {
            npy_intp more = ADJ_MIN(done, all - done);
            memcpy(to + done, to, more);
            done += more;
        }
        return to + all;
    }
    if (ndim == 1 && *strides == size) {
        memcpy(to, x, n * size);
        return to + n * size;
    }
    if (ndim == 1 && size == 8) {
        for (npy_intp i = 0; i < n; i++) ((double *)to)[i] = *(const double *)(x + i * *strides);
        return to + n * size;
    }
    if (ndim == 1 && size == 4) {
        for (npy_intp i = 0; i < n; i++) ((float *)to)[i] = *(const float *)(x + i * *strides);
        return to + n * size;
    }
    for (npy_intp i = 0; i < n; i++) to = adj_write_out(x + i * *strides, ndim - 1, shape + 1, strides + 1, size, to);
    return to;
}

/* A row-major copy of an array of plain numbers. */
static PyObject *adj_contiguous_copy(PyObject *object) {
    PyArrayObject *a = (PyArrayObject *)object;
    PyArrayObject *out = adj_new_array(a, PyArray_NDIM(a), PyArray_DIMS(a));
    if (out == NULL || adj_n_elements(object) == 0) return (PyObject *)out;
    adj_write_out(PyArray_BYTES(a), PyArray_NDIM(a), PyArray_DIMS(a), PyArray_STRIDES(a), (int)PyArray_ITEMSIZE(a),
                  PyArray_BYTES(out));
    return (PyObject *)out;
}

#include "optimized_end.h"
#endif
