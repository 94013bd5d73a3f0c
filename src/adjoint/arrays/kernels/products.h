/* Products of plain arrays, by the inner loops of numpy.matmul, and their cotangents. */
#ifndef ADJOINT_PRODUCTS_H
#define ADJOINT_PRODUCTS_H

#include "broadcast.h"
#include "small_matrices.h"
#include "ufunc_loops.h"
#include "optimized_begin.h"

/* From so many multiplications on, other threads may run meanwhile. */
#define ADJ_LONG_PRODUCT 40000

/* The product of any two arrays, of two matrices, of a matrix and a vector, of two vectors; the cotangent of the left
   factor from g and the right one; that of the right factor from g and the left one. A linear map of rows by a matrix,
   plus a vector; the cotangent of its rows from g and the matrix; that of its matrix from g, the rows and its shape. */
enum {
    ADJ_PRODUCT, ADJ_MATRICES, ADJ_MATRIX_VECTOR, ADJ_VECTORS, ADJ_LEFT, ADJ_RIGHT,
    ADJ_LINEAR, ADJ_LINEAR_INPUT, ADJ_LINEAR_WEIGHT
};

/* The loops of numpy.matmul for double and single precision, which adj_find_product_loops() finds. */
static adj_loop adj_matmul_loops[2];
static PyObject *adj_matmul;

/* A matrix in memory; an axis that the array does not have has length 1 and stride 0, as in NumPy. */
typedef struct {
    char *data;
    npy_intp rows, columns, row_step, column_step;
} adj_matrix;

/* Finds the loops; returns 0 if NumPy lacks one in this form. */
static int adj_find_product_loops(PyObject *matmul) {
    PyUFuncObject *ufunc = (PyUFuncObject *)matmul;
    Py_INCREF(matmul);
    adj_matmul = matmul;
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

/* The product of two matrices as an array with the requested axes; None if they do not fit or are empty. */
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

/* The product of stacks of matrices by numpy.matmul; None where it refuses, which the kernel is to say. */
static PyObject *adj_by_matmul(PyObject *a, PyObject *b) {
    PyObject *out = PyObject_CallFunctionObjArgs(adj_matmul, a, b, NULL);
    if (out != NULL) return out;
    PyErr_Clear();
    Py_RETURN_NONE;
}

/* A view of a stack of matrices with the last two axes exchanged. */
static PyObject *adj_transposed_stack(PyArrayObject *a) {
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    int ndim = PyArray_NDIM(a), order[2] = {ndim - 1, ndim - 2};
    for (int i = 0; i < ndim; i++) {
        int from = i < ndim - 2 ? i : order[i - (ndim - 2)];
        dims[i] = PyArray_DIM(a, from);
        strides[i] = PyArray_STRIDE(a, from);
    }
    return adj_strided(a, ndim, dims, strides);
}

/* The product of two arrays, one with more than two axes, as the kernel computes it. */
static PyObject *adj_product_of_stacks(PyArrayObject *a, PyArrayObject *b) {
    int m = PyArray_NDIM(a), n = PyArray_NDIM(b);
    if (m > 1 && n > 1) {
        if (PyArray_DIM(a, m - 1) == 1 && PyArray_DIM(b, n - 2) == 1) Py_RETURN_NONE;
        PyObject *out = adj_multiply_stacks((PyObject *)a, (PyObject *)b);
        if (out != Py_None) return out;
        Py_DECREF(out);
    }
    return adj_by_matmul((PyObject *)a, (PyObject *)b);
}

/* The product of one array and the transposed matrices of another; which of them come first. */
static PyObject *adj_product_with_transposed(PyArrayObject *a, PyArrayObject *factor, int transposed_first) {
    PyObject *view = adj_transposed_stack(factor), *out;
    if (view == NULL) return NULL;
    out = transposed_first ? adj_by_matmul(view, (PyObject *)a) : adj_by_matmul((PyObject *)a, view);
    Py_DECREF(view);
    return out;
}

/* All rows of a stack of matrices under each other. */
static PyArrayObject *adj_rows_of_stack(PyArrayObject *a) {
    npy_intp dims[2] = {1, PyArray_DIM(a, PyArray_NDIM(a) - 1)};
    PyArray_Dims shape = {dims, 2};
    for (int i = 0; i < PyArray_NDIM(a) - 1; i++) dims[0] *= PyArray_DIM(a, i);
    return (PyArrayObject *)PyArray_Newshape(a, &shape, NPY_CORDER);
}

/* The product of the transposed rows of one stack and the rows of another. */
static PyObject *adj_rows_by_rows(int precision, PyArrayObject *first, PyArrayObject *second) {
    PyArrayObject *a = adj_rows_of_stack(first), *b = a == NULL ? NULL : adj_rows_of_stack(second);
    PyObject *out = NULL;
    if (b != NULL) out = adj_multiply(first, precision, adj_transposed(adj_as_matrix(a, 0)), adj_as_matrix(b, 0), 1, 1);
    Py_XDECREF(a);
    Py_XDECREF(b);
    return out;
}

/* The cotangent of a product's right factor, of this shape, from g and the left factor, a stack of matrices. */
static PyObject *adj_right_of_stacks(PyObject *cotangent, PyObject *left, PyObject *shape) {
    int precision = adj_precision(cotangent);
    if (precision < 0 || adj_precision(left) != precision || !PyTuple_CheckExact(shape)) Py_RETURN_NONE;
    PyArrayObject *g = (PyArrayObject *)cotangent, *a = (PyArrayObject *)left;
    Py_ssize_t rank = PyTuple_GET_SIZE(shape);
    if (PyArray_NDIM(a) < 3 || PyArray_NDIM(g) < 2 || rank < 2) Py_RETURN_NONE;
    if (rank > 2) return adj_product_with_transposed(g, a, 1);
    return adj_rows_by_rows(precision, a, g);
}

/* All rows of an array times a matrix, with the array's number of axes. None if they do not fit, are empty, or do not
   lie in separate rows. The kernel handles rows of one element. */
static PyObject *adj_rows_times(int precision, PyArrayObject *x, adj_matrix b) {
    int ndim = PyArray_NDIM(x);
    if (ndim == 0 || PyArray_DIM(x, ndim - 1) != b.rows || b.rows < 2) Py_RETURN_NONE;
    if (ndim < 3) return adj_multiply(x, precision, adj_as_matrix(x, 1), b, ndim == 2, 1);
    if (!PyArray_IS_C_CONTIGUOUS(x) || PyArray_SIZE(x) == 0 || b.columns == 0) Py_RETURN_NONE;
    npy_intp dims[NPY_MAXDIMS], size = PyArray_ITEMSIZE(x), rows = PyArray_SIZE(x) / b.rows;
    memcpy(dims, PyArray_DIMS(x), ndim * sizeof *dims);
    dims[ndim - 1] = b.columns;
    PyArrayObject *out = adj_new_array(x, ndim, dims);
    if (out == NULL) return NULL;
    adj_matrix a = {PyArray_BYTES(x), rows, b.rows, b.rows * size, size};
    adj_matrix result = {PyArray_BYTES(out), rows, b.columns, b.columns * size, size};
    adj_ready_product ready = adj_prepare_product(precision, a, b, result);
    adj_run_product(&ready, a.data, b.data, result.data);
    return (PyObject *)out;
}

#define ADJ_ADD_TO_ROWS(type)                                                                                          \
    for (npy_intp i = 0; i < rows; i++, to += n * sizeof(type))                                                        \
        for (npy_intp j = 0; j < n; j++) ((type *)to)[j] += *(const type *)(from + j * step);

/* x @ weight^T + bias; None for other arrays, and where NumPy is to report an error. */
static PyObject *adj_linear(PyObject *input, PyObject *matrix, PyObject *vector) {
    int precision = adj_precision(input);
    if (precision < 0 || adj_precision(matrix) != precision) Py_RETURN_NONE;
    if (PyArray_NDIM((PyArrayObject *)matrix) != 2) Py_RETURN_NONE;
    adj_matrix weight = adj_transposed(adj_as_matrix((PyArrayObject *)matrix, 0));
    PyArrayObject *b = vector == Py_None ? NULL : (PyArrayObject *)vector;
    if (b && (adj_precision(vector) != precision || PyArray_NDIM(b) != 1 || PyArray_DIM(b, 0) != weight.columns))
        Py_RETURN_NONE;
    PyObject *out = adj_rows_times(precision, (PyArrayObject *)input, weight);
    if (out == NULL || out == Py_None || b == NULL) return out;
    npy_intp n = weight.columns, rows = PyArray_SIZE((PyArrayObject *)out) / n, step = PyArray_STRIDE(b, 0);
    char *to = PyArray_BYTES((PyArrayObject *)out);
    const char *from = PyArray_BYTES(b);
    adj_clear_flags(FE_ALL_EXCEPT);
    if (precision) {
        ADJ_ADD_TO_ROWS(float)
    } else {
        ADJ_ADD_TO_ROWS(double)
    }
    if (!adj_flags(ADJ_REPORTED_FLAGS)) return out;
    adj_clear_flags(FE_ALL_EXCEPT);
    Py_DECREF(out);
    Py_RETURN_NONE;
}

/* The cotangent of the matrix of a linear map, of this shape, from g and the rows. */
static PyObject *adj_linear_weight(PyObject *cotangent, PyObject *input, PyObject *shape) {
    int precision = adj_precision(cotangent);
    if (precision < 0 || adj_precision(input) != precision || !PyTuple_CheckExact(shape)) Py_RETURN_NONE;
    PyArrayObject *g = (PyArrayObject *)cotangent, *x = (PyArrayObject *)input;
    if (PyTuple_GET_SIZE(shape) != 2 || PyArray_NDIM(g) != PyArray_NDIM(x) || PyArray_NDIM(x) < 1) Py_RETURN_NONE;
    return adj_rows_by_rows(precision, g, x);
}

/* Operations on a list of more than two values; None for others. */
static PyObject *adj_product_of_several(int kind, PyObject *values) {
    if (PyList_GET_SIZE(values) != 3) Py_RETURN_NONE;
    PyObject *a = PyList_GET_ITEM(values, 0), *b = PyList_GET_ITEM(values, 1), *c = PyList_GET_ITEM(values, 2);
    if (kind == ADJ_RIGHT) return adj_right_of_stacks(a, b, c);
    if (kind == ADJ_LINEAR_WEIGHT) return adj_linear_weight(a, b, c);
    if (kind == ADJ_LINEAR) return adj_linear(a, b, c);
    Py_RETURN_NONE;
}

/* A product, or a cotangent of a product; g without axes belongs to a product of two vectors. None for arrays that are
   not plain, or whose ranks differ from `kind`. */
static PyObject *adj_product(int kind, PyObject *first, PyObject *second) {
    int precision = adj_precision(first);
    if (precision < 0 || adj_precision(second) != precision) Py_RETURN_NONE;
    PyArrayObject *a = (PyArrayObject *)first, *b = (PyArrayObject *)second;
    int m = PyArray_NDIM(a), n = PyArray_NDIM(b), fits = m > 0;
    if (kind == ADJ_LINEAR) return adj_linear(first, second, Py_None);
    if (kind == ADJ_LINEAR_INPUT && n == 2) return adj_rows_times(precision, a, adj_as_matrix(b, 0));
    if (kind > ADJ_RIGHT) Py_RETURN_NONE;
    if (m > 2 || n > 2) {
        if (m == 0 || n == 0) Py_RETURN_NONE;
        if (kind == ADJ_PRODUCT) return adj_product_of_stacks(a, b);
        /* with fewer axes g is the cotangent of a product with a vector */
        if (kind == ADJ_LEFT && n > 1 && m >= n) return adj_product_with_transposed(a, b, 0);
        Py_RETURN_NONE;
    }
    if (n == 0) Py_RETURN_NONE;
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
