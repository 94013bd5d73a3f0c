/* Reductions over some axes of a plain array: sums, products, extrema, and counts of truth values.

   NumPy calls an inner loop for each row; for short rows the call costs more than the work. Here one loop handles many
   short rows and columns. Results equal NumPy's to the last bit. Below 8 elements a row is summed in order, otherwise
   in 8 partial sums, as NumPy does up to ADJ_LONGEST_ROW elements. Along an axis that is not the last in memory,
   elements are summed in order. */
#ifndef ADJOINT_REDUCTIONS_H
#define ADJOINT_REDUCTIONS_H

#include <math.h>
#include <string.h>
#include "sums.h"
#include "optimized_begin.h"

/* NumPy handles longer rows, which it divides into halves, and wider groups of columns. */
#define ADJ_LONGEST_ROW 128
#define ADJ_WIDEST_ROW 64
/* From so many elements on, other threads may run meanwhile. */
#define ADJ_LONG_REDUCTION 40000

/* The reductions; the last one counts truth values. */
enum { ADJ_REDUCE_SUM, ADJ_REDUCE_PROD, ADJ_REDUCE_MAX, ADJ_REDUCE_MIN, ADJ_REDUCE_COUNT };

/* An axis: its length, and the steps of the array and of the result in bytes; `to` is 0 for a reduced one. */
typedef struct {
    npy_intp n, step, to;
    int reduced;
} adj_reduced_axis;

/* The loops of one kind: `outer` times `rows` rows of n elements; `outer` times n rows of `columns` elements. */
typedef void (*adj_reduction_loop)(const char *x, adj_reduced_axis outer, adj_reduced_axis of, adj_reduced_axis along,
                                   char *out);

#define ADJ_JOIN_SUM(a, x) (a) += (x)
#define ADJ_JOIN_PROD(a, x) (a) *= (x)
/* a NaN stays; without branches, whatever the order of elements */
#define ADJ_JOIN_MAX(a, x) (a) = (((a) >= (x)) | ((a) != (a))) ? (a) : (x)
#define ADJ_JOIN_MIN(a, x) (a) = (((a) <= (x)) | ((a) != (a))) ? (a) : (x)
#define ADJ_FROM_ZERO(there) 0
#define ADJ_FROM_THERE(there) (there)
#define ADJ_PUT_THERE(there, a) (there) = (a)

/* `width` columns beside each other, each in a register */
#define ADJ_REDUCE_COLUMNS(type, result, join, width)                                                                  \
    for (; left >= width; left -= width, here += width, there += width) {                                              \
        result a[width];                                                                                               \
        for (int j = 0; j < width; j++) a[j] = there[j];                                                               \
        const char *at = (const char *)here;                                                                           \
        for (npy_intp k = 0; k < of.n; k++, at += of.step)                                                             \
            for (int j = 0; j < width; j++) join(a[j], ((const type *)at)[j]);                                         \
        for (int j = 0; j < width; j++) there[j] = a[j];                                                               \
    }

/* The results of columns without gaps, and of rows, four at once since each element waits for the one before it. A
   result begins with `begin` of what is there, and `end` puts it there. */
#define ADJ_DEFINE_REDUCTION(name, type, result, join, begin, end)                                                     \
    static void name##_columns(const char *x, adj_reduced_axis outer, adj_reduced_axis of, adj_reduced_axis along,     \
                               char *out) {                                                                            \
        for (npy_intp i = 0; i < outer.n; i++, x += outer.step, out += outer.to) {                                     \
            const type *here = (const type *)x;                                                                        \
            result *there = (result *)out;                                                                             \
            npy_intp left = along.n;                                                                                   \
            ADJ_REDUCE_COLUMNS(type, result, join, 8)                                                                  \
            ADJ_REDUCE_COLUMNS(type, result, join, 4)                                                                  \
            ADJ_REDUCE_COLUMNS(type, result, join, 3)                                                                  \
            ADJ_REDUCE_COLUMNS(type, result, join, 2)                                                                  \
            ADJ_REDUCE_COLUMNS(type, result, join, 1)                                                                  \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_rows(const char *x, adj_reduced_axis outer, adj_reduced_axis of, adj_reduced_axis along,        \
                            char *out) {                                                                               \
        for (npy_intp i = 0; i < outer.n; i++, x += outer.step, out += outer.to) {                                     \
            npy_intp row = 0, step = along.step;                                                                       \
            const char *here = x;                                                                                      \
            for (result *there = (result *)out; row < along.n; row += 4, here += 4 * step, there += 4) {               \
                npy_intp last = along.n - row - 1, p = ADJ_MIN(1, last), q = ADJ_MIN(2, last), r = ADJ_MIN(3, last);   \
                result a = begin(there[0]), b = begin(there[p]), c = begin(there[q]), d = begin(there[r]);             \
                const char *at = here;                                                                                 \
                for (npy_intp k = 0; k < of.n; k++, at += of.step) {                                                   \
                    join(a, *(const type *)at);                                                                        \
                    join(b, *(const type *)(at + p * step));                                                           \
                    join(c, *(const type *)(at + q * step));                                                           \
                    join(d, *(const type *)(at + r * step));                                                           \
                }                                                                                                      \
                end(there[0], a);                                                                                      \
                if (last > 0) end(there[p], b);                                                                        \
                if (last > 1) end(there[q], c);                                                                        \
                if (last > 2) end(there[r], d);                                                                        \
            }                                                                                                          \
        }                                                                                                              \
    }

/* Sums of rows of 8 elements and more: NumPy's order. */
#define ADJ_DEFINE_SUM_OF_EIGHTS(name, type)                                                                           \
    static void name(const char *x, adj_reduced_axis outer, adj_reduced_axis of, adj_reduced_axis along, char *out) {  \
        for (npy_intp i = 0; i < outer.n; i++, x += outer.step, out += outer.to)                                       \
            for (npy_intp row = 0; row < along.n; row++) {                                                             \
                const char *at = x + row * along.step;                                                                 \
                npy_intp k = 8, step = of.step;                                                                        \
                type r[8], total;                                                                                      \
                for (int j = 0; j < 8; j++) r[j] = *(const type *)(at + j * step);                                     \
                if (step == sizeof(type))                                                                              \
                    for (; k + 8 <= of.n; k += 8)                                                                      \
                        for (int j = 0; j < 8; j++) r[j] += ((const type *)at)[k + j];                                 \
                else                                                                                                   \
                    for (; k + 8 <= of.n; k += 8)                                                                      \
                        for (int j = 0; j < 8; j++) r[j] += *(const type *)(at + (k + j) * step);                      \
                total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));                             \
                for (; k < of.n; k++) total += *(const type *)(at + k * step);                                         \
                *(type *)(out + row * along.to) += total;                                                              \
            }                                                                                                          \
    }

ADJ_DEFINE_SUM_OF_EIGHTS(adj_sum_of_eights_4, float)
ADJ_DEFINE_SUM_OF_EIGHTS(adj_sum_of_eights_8, double)
ADJ_DEFINE_REDUCTION(adj_sum_4, float, float, ADJ_JOIN_SUM, ADJ_FROM_ZERO, ADJ_JOIN_SUM)
ADJ_DEFINE_REDUCTION(adj_sum_8, double, double, ADJ_JOIN_SUM, ADJ_FROM_ZERO, ADJ_JOIN_SUM)
ADJ_DEFINE_REDUCTION(adj_prod_4, float, float, ADJ_JOIN_PROD, ADJ_FROM_THERE, ADJ_PUT_THERE)
ADJ_DEFINE_REDUCTION(adj_prod_8, double, double, ADJ_JOIN_PROD, ADJ_FROM_THERE, ADJ_PUT_THERE)
ADJ_DEFINE_REDUCTION(adj_max_4, float, float, ADJ_JOIN_MAX, ADJ_FROM_THERE, ADJ_PUT_THERE)
ADJ_DEFINE_REDUCTION(adj_max_8, double, double, ADJ_JOIN_MAX, ADJ_FROM_THERE, ADJ_PUT_THERE)
ADJ_DEFINE_REDUCTION(adj_min_4, float, float, ADJ_JOIN_MIN, ADJ_FROM_THERE, ADJ_PUT_THERE)
ADJ_DEFINE_REDUCTION(adj_min_8, double, double, ADJ_JOIN_MIN, ADJ_FROM_THERE, ADJ_PUT_THERE)
ADJ_DEFINE_REDUCTION(adj_count, npy_bool, npy_int64, ADJ_JOIN_SUM, ADJ_FROM_ZERO, ADJ_JOIN_SUM)

/* By kind and precision: the loops of columns and of rows, and the type of the result. */
static const struct {
    adj_reduction_loop columns, rows;
    int type;
} adj_reductions[][2] = {
    {{adj_sum_8_columns, adj_sum_8_rows, NPY_DOUBLE}, {adj_sum_4_columns, adj_sum_4_rows, NPY_FLOAT}},
    {{adj_prod_8_columns, adj_prod_8_rows, NPY_DOUBLE}, {adj_prod_4_columns, adj_prod_4_rows, NPY_FLOAT}},
    {{adj_max_8_columns, adj_max_8_rows, NPY_DOUBLE}, {adj_max_4_columns, adj_max_4_rows, NPY_FLOAT}},
    {{adj_min_8_columns, adj_min_8_rows, NPY_DOUBLE}, {adj_min_4_columns, adj_min_4_rows, NPY_FLOAT}},
    {{adj_count_columns, adj_count_rows, NPY_INT64}},
};

/* Marks the given axes, an int, a tuple of ints, or None for all; returns their number, -1 for other objects. */
static int adj_named_axes(PyObject *axes, int ndim, char *reduced) {
    int is_tuple = PyTuple_CheckExact(axes), n = is_tuple ? (int)PyTuple_GET_SIZE(axes) : 1;
    for (int i = 0; i < ndim; i++) reduced[i] = axes == Py_None;
    if (axes == Py_None) return ndim;
    for (int i = 0; i < n; i++) {
        PyObject *number = is_tuple ? PyTuple_GET_ITEM(axes, i) : axes;
        if (!PyLong_CheckExact(number)) return -1;
        int overflow;
        long axis = PyLong_AsLongAndOverflow(number, &overflow);
        if (axis < 0) axis += ndim;
        if (overflow || axis < 0 || axis >= ndim || reduced[axis]) return -1;
        reduced[axis] = 1;
    }
    return n;
}

/* The axes of more than one element in the order of memory, where neighbours that lie as one are one; how many, -1 if
   an axis has a step that is not positive. */
static int adj_axes_in_memory(PyArrayObject *a, const char *reduced, adj_reduced_axis *axes) {
    int n = 0;
    for (int i = 0; i < PyArray_NDIM(a); i++) {
        adj_reduced_axis axis = {PyArray_DIM(a, i), PyArray_STRIDE(a, i), 0, reduced[i]};
        if (axis.n == 1) continue;
        if (axis.step <= 0) return -1;
        int at = n++;
        for (; at > 0 && axes[at - 1].step < axis.step; at--) axes[at] = axes[at - 1];
        axes[at] = axis;
    }
    int last = 0;
    for (int i = 1; i < n; i++) {
        int joined = axes[last].reduced == axes[i].reduced && axes[last].step == axes[i].n * axes[i].step;
        if (joined) {
            axes[last].n *= axes[i].n;
            axes[last].step = axes[i].step;
        } else
            axes[++last] = axes[i];
    }
    return n ? last + 1 : 0;
}

/* The result's memory, not filled: row-major, or with its axes in the order of the array's; NULL without an exception
   for an array in another order that has axes of length one. */
static PyArrayObject *adj_result_of_reduction(PyArrayObject *a, const char *reduced, int keepdims, int type) {
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS], before = 0;
    int places[NPY_MAXDIMS], n = 0, in_order = 1, has_ones = keepdims;
    for (int i = 0; i < PyArray_NDIM(a); i++) {
        if (PyArray_DIM(a, i) == 1) has_ones = 1;
        else {
            if (before && PyArray_STRIDE(a, i) > before) in_order = 0;
            before = PyArray_STRIDE(a, i);
        }
        if (keepdims || !reduced[i]) {
            places[n] = i;
            shape[n++] = reduced[i] ? 1 : PyArray_DIM(a, i);
        }
    }
    if (in_order) return (PyArrayObject *)PyArray_SimpleNew(n, shape, type);
    if (has_ones) return NULL;
    npy_intp step = type == NPY_FLOAT ? 4 : 8;
    for (int i = 0; i < n; i++) {
        npy_intp mine = PyArray_STRIDE(a, places[i]);
        strides[i] = step;
        for (int j = 0; j < n; j++) {
            npy_intp other = PyArray_STRIDE(a, places[j]);
            if (other < mine || (other == mine && j > i)) strides[i] *= shape[j];
        }
    }
    return (PyArrayObject *)PyArray_New(&PyArray_Type, n, shape, type, strides, NULL, 0, 0, NULL);
}

/* Fills a result with the initial value of the reduction. */
static void adj_fill_neutral(PyArrayObject *out, int kind) {
    npy_intp n = PyArray_SIZE(out);
    char *to = PyArray_BYTES(out);
    static const double values[] = {0, 1, -INFINITY, INFINITY};
    if (kind == ADJ_REDUCE_COUNT)
        memset(to, 0, n * PyArray_ITEMSIZE(out));
    else if (PyArray_TYPE(out) == NPY_FLOAT)
        for (npy_intp i = 0; i < n; i++) ((float *)to)[i] = (float)values[kind];
    else
        for (npy_intp i = 0; i < n; i++) ((double *)to)[i] = values[kind];
}

/* Runs a loop on the last three axes, for all places of those before them. */
static void adj_reduce_axes(adj_reduction_loop loop, const char *x, const adj_reduced_axis *axes, int n, char *out) {
    if (n > 3) {
        for (npy_intp i = 0; i < axes->n; i++, x += axes->step, out += axes->to)
            adj_reduce_axes(loop, x, axes + 1, n - 1, out);
        return;
    }
    int by_rows = axes[2].reduced;
    loop(x, axes[0], axes[by_rows ? 2 : 1], axes[by_rows ? 1 : 2], out);
}

/* An array reduced over axes (an int, a tuple of ints, or None for all); None for what is not plain, where the loops
   gain nothing, and where NumPy has a floating point error to report. */
static PyObject *adj_reduce(int kind, PyObject *object, PyObject *named, int keepdims) {
    if (!PyArray_CheckExact(object)) Py_RETURN_NONE;
    PyArrayObject *a = (PyArrayObject *)object;
    int precision = kind == ADJ_REDUCE_COUNT ? (PyArray_TYPE(a) == NPY_BOOL ? 0 : -1) : adj_precision(object);
    int ndim = PyArray_NDIM(a);
    char reduced[NPY_MAXDIMS];
    adj_reduced_axis all[NPY_MAXDIMS + 3], *axes = all + 3;
    if (precision < 0 || ndim < 1) Py_RETURN_NONE;
    int n_named = adj_named_axes(named, ndim, reduced);
    npy_intp n_elements = PyArray_SIZE(a);
    if (n_named < 1 || n_elements == 0) Py_RETURN_NONE;
    int n = adj_axes_in_memory(a, reduced, axes);
    if (n < 1) Py_RETURN_NONE;
    int by_rows = axes[n - 1].reduced;
    /* NumPy multiplies the factors of a row of any length in order */
    npy_intp most = !by_rows ? ADJ_WIDEST_ROW : kind == ADJ_REDUCE_PROD ? NPY_MAX_INTP : ADJ_LONGEST_ROW;
    if (axes[n - 1].n > most) Py_RETURN_NONE;
    if (!by_rows && axes[n - 1].step != PyArray_ITEMSIZE(a)) Py_RETURN_NONE;
    if (by_rows && n > 1 && axes[n - 2].reduced) Py_RETURN_NONE;
    int type = adj_reductions[kind][precision].type;
    PyArrayObject *out = adj_result_of_reduction(a, reduced, keepdims, type);
    if (out == NULL) {
        if (PyErr_Occurred()) return NULL;
        Py_RETURN_NONE;
    }
    adj_fill_neutral(out, kind);
    npy_intp to = PyArray_ITEMSIZE(out);
    for (int i = n - 1; i >= 0; i--)
        if (!axes[i].reduced) {
            axes[i].to = to;
            to *= axes[i].n;
        }
    /* the last two axes are one of each kind: if they are not, one of length one is put between or before them */
    const adj_reduced_axis once = {1, 0, 0, 0};
    if (n == 1 || axes[n - 2].reduced == by_rows) {
        for (int i = -1; i < n - 2; i++) axes[i] = axes[i + 1];
        axes--;
        n++;
        axes[n - 2] = once;
        axes[n - 2].reduced = !by_rows;
    }
    if (n == 2) {
        *--axes = once;
        n++;
    }
    adj_reduction_loop loop = by_rows ? adj_reductions[kind][precision].rows : adj_reductions[kind][precision].columns;
    if (kind == ADJ_REDUCE_SUM && by_rows && axes[n - 1].n >= 8)
        loop = precision ? adj_sum_of_eights_4 : adj_sum_of_eights_8;
    int is_long = n_elements >= ADJ_LONG_REDUCTION, checks = kind <= ADJ_REDUCE_PROD;
    if (checks) adj_clear_flags(FE_ALL_EXCEPT);
    PyThreadState *saved = is_long ? PyEval_SaveThread() : NULL;
    adj_reduce_axes(loop, PyArray_BYTES(a), axes, n, PyArray_BYTES(out));
    if (saved != NULL) PyEval_RestoreThread(saved);
    if (checks && adj_flags(ADJ_REPORTED_FLAGS)) {
        adj_clear_flags(FE_ALL_EXCEPT);
        Py_DECREF(out);
        Py_RETURN_NONE;
    }
    return (PyObject *)out;
}

#include "optimized_end.h"

/* An array summed over the axes along which broadcasting from a shape repeats elements; None for what is not plain, has
   no such axes, and what these loops leave to NumPy. */
static PyObject *adj_summed_to(PyObject *object, PyObject *shape) {
    if (adj_precision(object) < 0 || !PyTuple_CheckExact(shape)) Py_RETURN_NONE;
    PyArrayObject *a = (PyArrayObject *)object;
    int ndim = PyArray_NDIM(a), n = (int)PyTuple_GET_SIZE(shape), extra = ndim - n, count = 0;
    int named[NPY_MAXDIMS];
    npy_intp dims[NPY_MAXDIMS];
    if (extra < 0) Py_RETURN_NONE;
    for (int i = 0; i < ndim; i++) {
        npy_intp length = i < extra ? 1 : PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i - extra));
        if (i >= extra) dims[i - extra] = length;
        if (i >= extra && length == PyArray_DIM(a, i)) continue;
        if (length != 1) Py_RETURN_NONE;
        named[count++] = i;
    }
    if (!count) Py_RETURN_NONE;
    PyObject *total = Py_None;
    if (count == ndim)
        total = adj_total(ADJ_TOTAL, object);
    else if (count == extra)
        total = adj_sum_leading(object, shape);
    else
        Py_INCREF(total);
    if (total == Py_None && count < ndim) {
        PyObject *axes = PyTuple_New(count);
        if (axes == NULL) return NULL;
        for (int i = 0; i < count; i++) PyTuple_SET_ITEM(axes, i, PyLong_FromLong(named[i]));
        Py_DECREF(total);
        total = adj_reduce(ADJ_REDUCE_SUM, object, axes, 1);
        Py_DECREF(axes);
    }
    if (total == NULL || total == Py_None || PyArray_NDIM((PyArrayObject *)total) == n) return total;
    PyArray_Dims as = {dims, n};
    PyObject *result = PyArray_Newshape((PyArrayObject *)total, &as, NPY_CORDER);
    Py_DECREF(total);
    return result;
}

#endif
