/* Sums of plain arrays by the inner loops of numpy.add: of two arrays, of all elements, over leading axes. */
#ifndef ADJOINT_SUMS_H
#define ADJOINT_SUMS_H

#include <string.h>
#include "products.h"
#include "ufunc_loops.h"
#include "optimized_begin.h"

/* From this number of additions on, other threads may run meanwhile, and NumPy handles sums over leading axes. */
#define ADJ_LONG_SUM 40000
/* From so many elements on, NumPy's own function costs little beside the sum: it may divide the elements otherwise. */
#define ADJ_MANY_ELEMENTS 8192

/* The sum and the mean of all elements, and the cotangents of what these were given; the numbers follow on those of
   products. */
enum { ADJ_TOTAL = ADJ_LINEAR_WEIGHT + 1, ADJ_AVERAGE, ADJ_SPREAD, ADJ_SPREAD_MEAN };

/* The loops of numpy.add for double and single precision, which adj_find_sum_loops() finds. */
static adj_loop adj_add_loops[2];

/* Finds the loops; returns 0 if NumPy lacks one in this form. */
static int adj_find_sum_loops(PyObject *add) {
    PyUFuncObject *ufunc = (PyUFuncObject *)add;
    return adj_loop_of_type(ufunc, NPY_DOUBLE, adj_add_loops) && adj_loop_of_type(ufunc, NPY_FLOAT, adj_add_loops + 1);
}

/* adj_precision() of an array that can be added to others by these loops. */
static inline int adj_summable(PyObject *array) {
    int precision = adj_precision(array);
    return precision >= 0 && adj_add_loops[precision].function != NULL ? precision : -1;
}

/* out = x + y for n elements, each `step` bytes after the one before it. */
static inline void adj_add(int precision, npy_intp n, char *x, char *y, npy_intp y_step, char *out, npy_intp step) {
    char *args[3] = {x, y, out};
    npy_intp steps[3] = {step, y_step, step};
    adj_add_loops[precision].function(args, &n, steps, adj_add_loops[precision].data);
}

/* 1 if both arrays are plain, of the same shape and type and in rows. */
static inline int adj_are_alike(PyArrayObject *a, PyArrayObject *b, int precision) {
    return adj_precision((PyObject *)b) == precision && PyArray_IS_C_CONTIGUOUS(a) && PyArray_IS_C_CONTIGUOUS(b) &&
           adj_same_shape(a, b);
}

/* Adds an array to another one in place; 0 if they are not alike. */
static int adj_add_into(PyObject *to, PyObject *from) {
    int precision = adj_summable(to);
    if (precision < 0) return 0;
    PyArrayObject *a = (PyArrayObject *)to, *b = (PyArrayObject *)from;
    if (!adj_are_alike(a, b, precision) || !PyArray_ISWRITEABLE(a)) return 0;
    npy_intp n = adj_n_elements(to), size = PyArray_ITEMSIZE(a);
    if (n == 0) return 1;
    char *x = PyArray_BYTES(a), *y = PyArray_BYTES(b);
    /* the same memory, or none in common: else NumPy must see to the order */
    if (x != y && x < y + n * size && y < x + n * size) return 0;
    PyThreadState *saved = n >= ADJ_LONG_SUM ? PyEval_SaveThread() : NULL;
    adj_add(precision, n, x, y, size, x, size);
    if (saved != NULL) PyEval_RestoreThread(saved);
    return 1;
}

/* The sum of two arrays that are alike and not large; None for others. */
static PyObject *adj_plus(PyObject *first, PyObject *second) {
    int precision = adj_summable(first);
    if (precision < 0) Py_RETURN_NONE;
    PyArrayObject *a = (PyArrayObject *)first, *b = (PyArrayObject *)second;
    if (!adj_are_alike(a, b, precision)) Py_RETURN_NONE;
    npy_intp n = adj_n_elements(first), size = PyArray_ITEMSIZE(a);
    if (n >= ADJ_MANY_ELEMENTS) Py_RETURN_NONE;
    PyArrayObject *out = adj_new_array(a, PyArray_NDIM(a), PyArray_DIMS(a));
    if (out == NULL || n == 0) return (PyObject *)out;
    adj_add(precision, n, PyArray_BYTES(a), PyArray_BYTES(b), size, PyArray_BYTES(out), size);
    return (PyObject *)out;
}

/* The sum (ADJ_TOTAL) or the mean (ADJ_AVERAGE) of all elements in an array without axes; None where NumPy has an error
   to report. */
static PyObject *adj_total(int kind, PyObject *object) {
    int precision = adj_summable(object);
    if (precision < 0) Py_RETURN_NONE;
    PyArrayObject *a = (PyArrayObject *)object;
    npy_intp n = adj_n_elements(object);
    if (!PyArray_IS_C_CONTIGUOUS(a) || n == 0 || n >= ADJ_MANY_ELEMENTS) Py_RETURN_NONE;
    PyArrayObject *out = adj_new_array(a, 0, NULL);
    if (out == NULL) return NULL;
    char *to = PyArray_BYTES(out);
    memset(to, 0, PyArray_ITEMSIZE(a));
    adj_clear_flags(FE_ALL_EXCEPT);
    /* the result is the first operand and has no stride: NumPy's loops know this as a sum, and add in pairs */
    adj_add(precision, n, to, PyArray_BYTES(a), PyArray_ITEMSIZE(a), to, 0);
    if (kind == ADJ_AVERAGE) {
        if (precision)
            *(float *)to /= (float)n;
        else
            *(double *)to /= (double)n;
    }
    if (adj_flags(ADJ_REPORTED_FLAGS)) {
        adj_clear_flags(FE_ALL_EXCEPT);
        Py_DECREF(out);
        Py_RETURN_NONE;
    }
    return (PyObject *)out;
}

/* The sum over the leading axes that an array has beyond a shape; None unless the array is plain, row-major, of this
   kind and small. */
static PyObject *adj_sum_leading(PyObject *object, PyObject *shape) {
    int precision = adj_summable(object);
    if (precision < 0 || !PyTuple_CheckExact(shape)) Py_RETURN_NONE;
    PyArrayObject *a = (PyArrayObject *)object;
    int ndim = (int)PyTuple_GET_SIZE(shape), extra = PyArray_NDIM(a) - ndim;
    if (ndim < 1 || extra < 1 || !PyArray_IS_C_CONTIGUOUS(a)) Py_RETURN_NONE;
    npy_intp dims[NPY_MAXDIMS], n = 1, rows = 1;
    for (int i = 0; i < ndim; i++) {
        dims[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
        if (dims[i] != PyArray_DIM(a, extra + i)) Py_RETURN_NONE;
        n *= dims[i];
    }
    for (int i = 0; i < extra; i++) rows *= PyArray_DIM(a, i);
    /* NumPy sums rows of one element in pairs, and is faster for long rows */
    if (n < 2 || rows < 1 || n * rows >= ADJ_LONG_SUM) Py_RETURN_NONE;
    PyArrayObject *out = adj_new_array(a, ndim, dims);
    if (out == NULL) return NULL;
    npy_intp size = PyArray_ITEMSIZE(a);
    char *to = PyArray_BYTES(out), *from = PyArray_BYTES(a);
    memcpy(to, from, n * size);
    for (npy_intp row = 1; row < rows; row++) adj_add(precision, n, to, from + row * n * size, size, to, size);
    return (PyObject *)out;
}

#include "optimized_end.h"
#endif
