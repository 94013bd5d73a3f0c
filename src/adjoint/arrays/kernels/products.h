/* Products of plain arrays of one or two axes, by the inner loops of numpy.matmul, and their cotangents. */
#ifndef ADJOINT_PRODUCTS_H
#define ADJOINT_PRODUCTS_H

#include "ufunc_loops.h"
#include "optimized_begin.h"

/* From so many multiplications on, other threads may run meanwhile. */
#define ADJ_LONG_PRODUCT 40000

/* The product of any two arrays, of two matrices, of a matrix and a vector, of two vectors; the cotangent of the left
   factor from g and the right one; that of the right factor from g and the left one. */
enum { ADJ_PRODUCT, ADJ_MATRICES, ADJ_MATRIX_VECTOR, ADJ_VECTORS, ADJ_LEFT, ADJ_RIGHT };

/* The loops of numpy.matmul for double and single precision, which adj_find_product_loops() finds. */
static adj_loop adj_matmul_loops[2];

/* A matrix in memory; an axis that the array does not have has length 1 and stride 0, as in NumPy. */
typedef struct {
    char *data;
    npy_intp rows, columns, row_step, column_step;
} adj_matrix;

/* Finds the loops; 0 where NumPy does not have them in this form. */
static int adj_find_product_loops(PyObject *matmul) {
    PyUFuncObject *ufunc = (PyUFuncObject *)matmul;
    return adj_loop_of_type(ufunc, NPY_DOUBLE, adj_matmul_loops) &&
           adj_loop_of_type(ufunc, NPY_FLOAT, adj_matmul_loops + 1);
}

/* An array of two axes as a matrix, one of one axis as a row or a column, one without axes as one element. */
static inline adj_matrix adj_matrix_at(char *data, int ndim, const npy_intp *shape, const npy_intp *strides,
                                       int is_row) {
    adj_matrix m = {data, 1, 1, 0, 0};
    if (ndim == 2) {
        m.rows = shape[0];
        m.columns = shape[1];
        m.row_step = strides[0];
        m.column_step = strides[1];
    } else if (ndim == 1 && is_row) {
        m.columns = shape[0];
        m.column_step = strides[0];
    } else if (ndim == 1) {
        m.rows = shape[0];
        m.row_step = strides[0];
    }
    return m;
}

static inline adj_matrix adj_as_matrix(PyArrayObject *a, int is_row) {
    return adj_matrix_at(PyArray_BYTES(a), PyArray_NDIM(a), PyArray_DIMS(a), PyArray_STRIDES(a), is_row);
}

/* The transpose of a matrix. */
static inline adj_matrix adj_transposed(adj_matrix m) {
    adj_matrix transposed = {m.data, m.columns, m.rows, m.column_step, m.row_step};
    return transposed;
}

/* A product ready to run: the lengths and strides that NumPy's loop takes, whatever the addresses. */
typedef struct {
    npy_intp sizes[4], steps[9];
    int precision;
} adj_ready_product;

/* The product of two matrices, neither of them empty, into a third one. */
static adj_ready_product adj_prepare_product(int precision, adj_matrix a, adj_matrix b, adj_matrix out) {
    adj_ready_product ready = {
        {1, a.rows, a.columns, b.columns},
        {0, 0, 0, a.row_step, a.column_step, b.row_step, b.column_step, out.row_step, out.column_step},
        precision};
    return ready;
}

/* Computes a product. */
static void adj_run_product(const adj_ready_product *ready, char *a, char *b, char *out) {
    char *args[3] = {a, b, out};
    npy_intp sizes[4], steps[9];
    memcpy(sizes, ready->sizes, sizeof sizes);
    memcpy(steps, ready->steps, sizeof steps);
    PyThreadState *saved = NULL;
    if ((double)sizes[1] * sizes[2] * sizes[3] >= ADJ_LONG_PRODUCT) saved = PyEval_SaveThread();
    const adj_loop *loop = adj_matmul_loops + ready->precision;
    loop->function(args, sizes, steps, loop->data);
    if (saved != NULL) PyEval_RestoreThread(saved);
}

/* The product of two matrices as an array with the axes that are asked for; None if they do not fit or are empty. */
static PyObject *adj_multiply(PyArrayObject *model, int precision, adj_matrix a, adj_matrix b, int keep_rows,
                              int keep_columns) {
    if (a.columns != b.rows || a.rows == 0 || a.columns == 0 || b.columns == 0) Py_RETURN_NONE;
    npy_intp shape[2];
    int ndim = 0;
    if (keep_rows) shape[ndim++] = a.rows;
    if (keep_columns) shape[ndim++] = b.columns;
    PyArrayObject *out = adj_new_array(model, ndim, shape);
    if (out == NULL) return NULL;
    adj_ready_product ready = adj_prepare_product(precision, a, b, adj_as_matrix(out, !keep_rows));
    adj_run_product(&ready, a.data, b.data, PyArray_BYTES(out));
    return (PyObject *)out;
}

/* out[i, j] = x[i] * y[j], where out lies in rows */
#define ADJ_DEFINE_OUTER_LOOP(name, type)                                                                              \
    static void name(const char *x, npy_intp rows, npy_intp x_step, const char *y, npy_intp columns, npy_intp y_step,  \
                     type *out) {                                                                                      \
        for (npy_intp i = 0; i < rows; i++, x += x_step, out += columns) {                                             \
            type factor = *(const type *)x;                                                                            \
            if (y_step == sizeof(type))                                                                                \
                for (npy_intp j = 0; j < columns; j++) out[j] = factor * ((const type *)y)[j];                         \
            else                                                                                                       \
                for (npy_intp j = 0; j < columns; j++) out[j] = factor * *(const type *)(y + j * y_step);              \
        }                                                                                                              \
    }
ADJ_DEFINE_OUTER_LOOP(adj_outer_loop_4, float)
ADJ_DEFINE_OUTER_LOOP(adj_outer_loop_8, double)

/* The outer product of an array of one axis or none and one of one axis. */
static PyObject *adj_outer(int precision, PyArrayObject *left, PyArrayObject *right) {
    int ndim = PyArray_NDIM(left);
    npy_intp rows = ndim ? PyArray_DIM(left, 0) : 1, columns = PyArray_DIM(right, 0);
    npy_intp x_step = ndim ? PyArray_STRIDE(left, 0) : 0, y_step = PyArray_STRIDE(right, 0);
    npy_intp shape[2] = {rows, columns};
    PyArrayObject *out = adj_new_array(left, ndim + 1, ndim ? shape : shape + 1);
    if (out == NULL) return NULL;
    char *x = PyArray_BYTES(left), *y = PyArray_BYTES(right);
    PyThreadState *saved = NULL;
    if ((double)rows * columns >= ADJ_LONG_PRODUCT) saved = PyEval_SaveThread();
    if (precision)
        adj_outer_loop_4(x, rows, x_step, y, columns, y_step, (float *)PyArray_DATA(out));
    else
        adj_outer_loop_8(x, rows, x_step, y, columns, y_step, (double *)PyArray_DATA(out));
    if (saved != NULL) PyEval_RestoreThread(saved);
    return (PyObject *)out;
}

/* The cotangent of a product's left factor from g and the right factor b. */
static PyObject *adj_left_cotangent(int precision, PyArrayObject *g, PyArrayObject *b) {
    int m = PyArray_NDIM(g);
    if (PyArray_NDIM(b) == 1) {
        if (m > 1) Py_RETURN_NONE;
        return adj_outer(precision, g, b);
    }
    if (m == 0) Py_RETURN_NONE;
    if (m == 1) return adj_multiply(g, precision, adj_as_matrix(b, 0), adj_as_matrix(g, 0), 1, 0);
    return adj_multiply(g, precision, adj_as_matrix(g, 1), adj_transposed(adj_as_matrix(b, 0)), 1, 1);
}

/* The cotangent of a product's right factor from g and the left factor a. */
static PyObject *adj_right_cotangent(int precision, PyArrayObject *g, PyArrayObject *a) {
    int m = PyArray_NDIM(g);
    if (PyArray_NDIM(a) == 1) {
        if (m > 1) Py_RETURN_NONE;
        return m == 0 ? adj_outer(precision, g, a) : adj_outer(precision, a, g);
    }
    if (m == 0) Py_RETURN_NONE;
    return adj_multiply(g, precision, adj_transposed(adj_as_matrix(a, 0)), adj_as_matrix(g, 0), 1, m == 2);
}

/* A product, or a cotangent of one, where g without axes is that of a product of two vectors; None for arrays that are
   not plain, or not of the ranks that `kind` says. */
static PyObject *adj_product(int kind, PyObject *first, PyObject *second) {
    int precision = adj_precision(first);
    if (precision < 0 || adj_precision(second) != precision) Py_RETURN_NONE;
    PyArrayObject *a = (PyArrayObject *)first, *b = (PyArrayObject *)second;
    int m = PyArray_NDIM(a), n = PyArray_NDIM(b), fits = m > 0;
    if (m > 2 || n > 2 || n == 0) Py_RETURN_NONE;
    if (kind == ADJ_LEFT) return adj_left_cotangent(precision, a, b);
    if (kind == ADJ_RIGHT) return adj_right_cotangent(precision, a, b);
    if (kind == ADJ_MATRICES) fits = m == 2 && n == 2;
    if (kind == ADJ_MATRIX_VECTOR) fits = m == 2 && n == 1;
    if (kind == ADJ_VECTORS) fits = m == 1 && n == 1;
    if (!fits) Py_RETURN_NONE;
    return adj_multiply(a, precision, adj_as_matrix(a, 1), adj_as_matrix(b, 0), m == 2, n == 2);
}

#include "optimized_end.h"
#endif
