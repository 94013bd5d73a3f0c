/* Views and copies of plain arrays by NumPy's C functions, without Python code around them: parts, other shapes and
   orders of axes, and the sums of their transposes. They return None for cases that Python must handle, such as errors.
   */
#ifndef ADJOINT_MOVES_H
#define ADJOINT_MOVES_H

#include "broadcast.h"
#include "reductions.h"

/* The numbers follow on those of sums. */
enum {
    ADJ_READ = ADJ_SPREAD_MEAN + 1,
    ADJ_EMBED,
    ADJ_VIEW,
    ADJ_RESHAPE,
    ADJ_PERMUTE,
    ADJ_PERMUTE_BACK,
    ADJ_SWAP,
    ADJ_EXPAND,
    ADJ_SUM_TO,
    ADJ_SUM_AXES,
    ADJ_SUM_AXES_BACK,
    ADJ_COPY,
    ADJ_UNSQUEEZE,
    ADJ_SQUEEZE,
    ADJ_DIAGONAL,
    ADJ_WINDOWS,
    ADJ_AS_STRIDED,
    ADJ_JOIN,
    ADJ_STACK
};

/* From this number of bytes on, NumPy joins arrays, since it lets other threads run meanwhile. */
#define ADJ_MANY_BYTES (1 << 18)

/* None in the place of an error, which the Python code meets again. */
static PyObject *adj_or_none(PyObject *result) {
    if (result != NULL) return result;
    PyErr_Clear();
    Py_RETURN_NONE;
}

/* Reads a tuple of ints, each at least `least`; returns their number, -1 for other objects. */
static int adj_lengths(PyObject *tuple, npy_intp least, npy_intp *lengths) {
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) > NPY_MAXDIMS) return -1;
    int n = (int)PyTuple_GET_SIZE(tuple);
    for (int i = 0; i < n; i++) {
        PyObject *length = PyTuple_GET_ITEM(tuple, i);
        if (!PyLong_CheckExact(length)) return -1;
        lengths[i] = PyLong_AsSsize_t(length);
        if (lengths[i] < least) {
            PyErr_Clear();
            return -1;
        }
    }
    return n;
}

/* Zeros of a shape with an array at a basic index. */
static PyObject *adj_embed(PyArrayObject *a, PyObject *shape, PyObject *index) {
    npy_intp lengths[NPY_MAXDIMS];
    int n = adj_lengths(shape, 0, lengths);
    if (n < 0) Py_RETURN_NONE;
    PyArray_Descr *descr = PyArray_DESCR(a);
    Py_INCREF(descr);
    PyObject *out = PyArray_Zeros(n, lengths, descr, 0);
    if (out == NULL || PyObject_SetItem(out, index, (PyObject *)a) == 0) return adj_or_none(out);
    Py_DECREF(out);
    return adj_or_none(NULL);
}

/* The elements in another shape, a copy if they do not lie row by row; one length may be -1. */
static PyObject *adj_reshape(PyArrayObject *a, PyObject *shape, int may_copy) {
    npy_intp lengths[NPY_MAXDIMS];
    PyArray_Dims to = {lengths, adj_lengths(shape, -1, lengths)};
    if (to.len < 0 || !(may_copy || PyArray_IS_C_CONTIGUOUS(a))) Py_RETURN_NONE;
    return adj_or_none(PyArray_Newshape(a, &to, NPY_CORDER));
}

/* The axes in another order; back: in the order before it. */
static PyObject *adj_permute(PyArrayObject *a, PyObject *order, int back) {
    npy_intp places[NPY_MAXDIMS], inverse[NPY_MAXDIMS];
    PyArray_Dims to = {back ? inverse : places, adj_lengths(order, 0, places)};
    if (to.len != PyArray_NDIM(a)) Py_RETURN_NONE;
    for (int i = 0; back && i < to.len; i++) {
        if (places[i] >= to.len) Py_RETURN_NONE;
        inverse[places[i]] = i;
    }
    return adj_or_none(PyArray_Transpose(a, &to));
}

/* A view with two axes exchanged. */
static PyObject *adj_swap(PyArrayObject *a, PyObject *first, PyObject *second) {
    if (!PyLong_CheckExact(first) || !PyLong_CheckExact(second)) Py_RETURN_NONE;
    long i = PyLong_AsLong(first), j = PyLong_AsLong(second);
    if (i == j || i < 0 || j < 0 || i >= PyArray_NDIM(a) || j >= PyArray_NDIM(a)) return adj_or_none(NULL);
    return adj_or_none(PyArray_SwapAxes(a, (int)i, (int)j));
}

/* A view of the sums over axes, repeated to the shape before the sum; None for axes of length one. */
static PyObject *adj_repeat(PyArrayObject *sums, PyObject *shape, PyObject *axes, int keepdims) {
    npy_intp lengths[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    char reduced[NPY_MAXDIMS];
    int n = adj_lengths(shape, 2, lengths), axis = 0;
    if (n < 1 || adj_named_axes(axes, n, reduced) < 1) Py_RETURN_NONE;
    for (int i = 0; i < n; i++) {
        strides[i] = 0;
        if (reduced[i] && !keepdims) continue;
        if (axis >= PyArray_NDIM(sums) || PyArray_DIM(sums, axis) != (reduced[i] ? 1 : lengths[i])) Py_RETURN_NONE;
        if (!reduced[i]) strides[i] = PyArray_STRIDE(sums, axis);
        axis++;
    }
    return axis == PyArray_NDIM(sums) ? adj_strided(sums, n, lengths, strides) : adj_or_none(NULL);
}

/* A copy with the same order of axes in memory; None for repeated elements. */
static PyObject *adj_copy(PyArrayObject *a) {
    for (int i = 0; i < PyArray_NDIM(a); i++)
        if (!PyArray_STRIDE(a, i)) Py_RETURN_NONE;
    return PyArray_NewCopy(a, NPY_KEEPORDER);
}

/* Reads an int that is not negative; returns it, -1 for other objects. */
static npy_intp adj_natural(PyObject *number) {
    npy_intp n = PyLong_CheckExact(number) ? PyLong_AsSsize_t(number) : -1;
    if (n < 0) PyErr_Clear();
    return n;
}

/* A view without the axes of length one among those named, or with a new axis (`dim`). */
static PyObject *adj_with_other_axes(PyArrayObject *a, PyObject *dim, int is_new) {
    npy_intp lengths[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    char named[NPY_MAXDIMS] = {0};
    int n = PyArray_NDIM(a), count = 0;
    npy_intp axis = is_new ? adj_natural(dim) : 0;
    if (axis < 0 || axis > n || n == NPY_MAXDIMS || (!is_new && n && adj_named_axes(dim, n, named) < 0)) Py_RETURN_NONE;
    for (int i = 0; i < n + is_new; i++) {
        if (is_new && i == axis) {
            lengths[count] = 1;
            strides[count++] = 0;
        } else {
            int from = i - (is_new && i > axis);
            if (!is_new && named[from] && PyArray_DIM(a, from) == 1) continue;
            lengths[count] = PyArray_DIM(a, from);
            strides[count++] = PyArray_STRIDE(a, from);
        }
    }
    return adj_or_none(adj_strided(a, count, lengths, strides));
}

/* A view of a diagonal of the planes of two axes, as the last axis. */
static PyObject *adj_diagonal(PyArrayObject *a, PyObject *offset, PyObject *first, PyObject *second) {
    npy_intp lengths[NPY_MAXDIMS], strides[NPY_MAXDIMS], i = adj_natural(first), j = adj_natural(second);
    int n = PyArray_NDIM(a), count = 0;
    if (i < 0 || j < 0 || i == j || i >= n || j >= n || !PyLong_CheckExact(offset)) Py_RETURN_NONE;
    npy_intp k = PyLong_AsSsize_t(offset), down = k < 0 ? -k : 0, right = k < 0 ? 0 : k;
    npy_intp length = ADJ_MIN(PyArray_DIM(a, i) - down, PyArray_DIM(a, j) - right);
    if (PyErr_Occurred() || length < 1) return adj_or_none(NULL);
    for (int axis = 0; axis < n; axis++) {
        if (axis == i || axis == j) continue;
        lengths[count] = PyArray_DIM(a, axis);
        strides[count++] = PyArray_STRIDE(a, axis);
    }
    lengths[count] = length;
    strides[count++] = PyArray_STRIDE(a, i) + PyArray_STRIDE(a, j);
    npy_intp start = down * PyArray_STRIDE(a, i) + right * PyArray_STRIDE(a, j);
    return adj_or_none(adj_strided_from(a, start, count, lengths, strides));
}

/* A view of the windows of a size along an axis, each `step` further; the places in a window are the last axis. */
static PyObject *adj_windows(PyArrayObject *a, PyObject *along, PyObject *of_size, PyObject *by_step) {
    npy_intp lengths[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    npy_intp axis = adj_natural(along), size = adj_natural(of_size), step = adj_natural(by_step);
    int n = PyArray_NDIM(a);
    if (axis < 0 || axis >= n || n == NPY_MAXDIMS) Py_RETURN_NONE;
    if (size < 1 || step < 1 || size > PyArray_DIM(a, axis)) Py_RETURN_NONE;
    for (int i = 0; i < n; i++) {
        lengths[i] = i == axis ? (PyArray_DIM(a, i) - size) / step + 1 : PyArray_DIM(a, i);
        strides[i] = PyArray_STRIDE(a, i) * (i == axis ? step : 1);
    }
    lengths[n] = size;
    strides[n] = PyArray_STRIDE(a, axis);
    return adj_or_none(adj_strided(a, n + 1, lengths, strides));
}

/* A view with lengths, strides and an offset, which count elements, of elements that lie row by row with the strides
   `own`. */
static PyObject *adj_within(PyArrayObject *a, PyObject *shape, PyObject *steps, PyObject *offset, PyObject *own) {
    npy_intp lengths[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    npy_intp size = PyArray_ITEMSIZE(a), start = adj_natural(offset), left = PyArray_SIZE(a) - start - 1;
    int n = adj_lengths(shape, 1, lengths);
    if (start < 0 || left < 0 || !PyArray_IS_C_CONTIGUOUS(a) || adj_lengths(own, 0, strides) != PyArray_NDIM(a))
        Py_RETURN_NONE;
    for (int i = 0; i < PyArray_NDIM(a); i++)
        if (strides[i] * size != PyArray_STRIDE(a, i)) Py_RETURN_NONE;
    if (n < 0 || adj_lengths(steps, 0, strides) != n) Py_RETURN_NONE;
    for (int i = 0; i < n; i++) {
        if (lengths[i] > 1 && strides[i] > left / (lengths[i] - 1)) Py_RETURN_NONE;
        left -= (lengths[i] - 1) * strides[i];
        strides[i] *= size;
    }
    return adj_or_none(adj_strided_from(a, start * size, n, lengths, strides));
}

/* Joins arrays of one type without references along an axis, or along a new axis if they have one shape. */
static PyObject *adj_join(PyObject *list, PyObject *along, int is_new) {
    if (!PyList_CheckExact(list) || !PyList_GET_SIZE(list) || !PyLong_CheckExact(along)) Py_RETURN_NONE;
    PyObject *first = PyList_GET_ITEM(list, 0);
    if (!PyArray_CheckExact(first)) Py_RETURN_NONE;
    PyArrayObject *model = (PyArrayObject *)first;
    npy_intp dims[NPY_MAXDIMS], size = PyArray_ITEMSIZE(model), outer = 1, total = 0, inner = size, at = 0;
    int ndim = PyArray_NDIM(model), axis = (int)PyLong_AsLong(along);
    if (axis < 0 || axis >= ndim + is_new || ndim + is_new > 32 || PyDataType_REFCHK(PyArray_DESCR(model)))
        return adj_or_none(NULL);
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(list); k++) {
        PyObject *member = PyList_GET_ITEM(list, k);
        if (!PyArray_CheckExact(member)) Py_RETURN_NONE;
        PyArrayObject *a = (PyArrayObject *)member;
        if (PyArray_DESCR(a) != PyArray_DESCR(model) || PyArray_NDIM(a) != ndim) Py_RETURN_NONE;
        for (int i = 0; i < ndim; i++)
            if (PyArray_DIM(a, i) != PyArray_DIM(model, i) && (is_new || i != axis)) Py_RETURN_NONE;
        total += is_new ? 1 : PyArray_DIM(a, axis);
    }
    for (int i = 0; i < ndim + is_new; i++) dims[i] = i == axis ? total : PyArray_DIM(model, i - (is_new && i > axis));
    for (int i = 0; i < axis; i++) outer *= dims[i];
    for (int i = axis + 1; i < ndim + is_new; i++) inner *= dims[i];
    if (total < 1 || outer < 1 || inner < 1 || outer * total * inner >= ADJ_MANY_BYTES) Py_RETURN_NONE;
    PyArrayObject *out = adj_new_array(model, ndim + is_new, dims);
    for (Py_ssize_t k = 0; out != NULL && k < PyList_GET_SIZE(list); k++) {
        PyArrayObject *rows = (PyArrayObject *)PyArray_GETCONTIGUOUS((PyArrayObject *)PyList_GET_ITEM(list, k));
        if (rows == NULL) {
            Py_DECREF(out);
            return NULL;
        }
        npy_intp n = inner * (is_new ? 1 : PyArray_DIM(rows, axis));
        for (npy_intp i = 0; i < outer; i++)
            memcpy(PyArray_BYTES(out) + i * total * inner + at, PyArray_BYTES(rows) + i * n, n);
        at += n;
        Py_DECREF(rows);
    }
    return (PyObject *)out;
}

/* One of these functions of an array and parameters. */
static PyObject *adj_move(int kind, PyObject *values) {
    Py_ssize_t n = PyList_GET_SIZE(values);
    PyObject *first = PyList_GET_ITEM(values, 0), *second = n > 1 ? PyList_GET_ITEM(values, 1) : NULL;
    PyObject *third = n > 2 ? PyList_GET_ITEM(values, 2) : NULL;
    if (kind >= ADJ_JOIN && n > 1) return adj_join(first, second, kind == ADJ_STACK);
    if (!PyArray_CheckExact(first) || (n < 2 && kind != ADJ_COPY)) Py_RETURN_NONE;
    PyArrayObject *a = (PyArrayObject *)first;
    switch (kind) {
    case ADJ_READ: return adj_or_none(PyObject_GetItem(first, second));
    case ADJ_EMBED: return adj_embed(a, second, third);
    case ADJ_VIEW: return adj_reshape(a, second, 0);
    case ADJ_RESHAPE: return adj_reshape(a, second, 1);
    case ADJ_PERMUTE: return adj_permute(a, second, 0);
    case ADJ_PERMUTE_BACK: return adj_permute(a, second, 1);
    case ADJ_SWAP: return adj_swap(a, second, third);
    case ADJ_EXPAND: {
        npy_intp lengths[NPY_MAXDIMS];
        int rank = adj_lengths(second, 0, lengths);
        for (int i = 0; i < rank; i++)
            if (lengths[i] == 1) rank = -1;
        if (rank < 0) Py_RETURN_NONE;
        return adj_expand(first, second);
    }
    case ADJ_SUM_TO: /* the third one are batch axes, which stay */
        return third == NULL || PyObject_Not(third) ? adj_summed_to(first, second) : adj_or_none(NULL);
    case ADJ_COPY: return adj_copy(a);
    case ADJ_UNSQUEEZE: return adj_with_other_axes(a, second, 1);
    case ADJ_SQUEEZE: return adj_with_other_axes(a, second, 0);
    case ADJ_DIAGONAL: return adj_diagonal(a, second, third, PyList_GET_ITEM(values, 3));
    case ADJ_WINDOWS: return adj_windows(a, second, third, PyList_GET_ITEM(values, 3));
    case ADJ_AS_STRIDED:
        return adj_within(a, second, third, PyList_GET_ITEM(values, 3), PyList_GET_ITEM(values, 4));
    case ADJ_SUM_AXES: return adj_reduce(ADJ_REDUCE_SUM, first, second, third == Py_True);
    default: return adj_repeat(a, second, third, PyList_GET_ITEM(values, 3) == Py_True);
    }
}

#endif
