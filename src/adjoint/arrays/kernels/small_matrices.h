/* Products, solutions, inverses and determinants of stacks of small matrices, in one loop: a call of BLAS or LAPACK
   for each matrix costs more than its arithmetic. */
#ifndef ADJOINT_SMALL_MATRICES_H
#define ADJOINT_SMALL_MATRICES_H

#include <math.h>
#include "ufunc_loops.h"
#include "optimized_begin.h"

/* BLAS and LAPACK handle products of more multiplications, and factorizations of more rows. */
#define ADJ_SMALL_PRODUCT 216
#define ADJ_SMALL_MATRIX 16
#define ADJ_FEW_SIDES 16

/* The operations on a matrix: determinant, inverse, solution for right-hand sides. */
enum { ADJ_DETERMINANT, ADJ_INVERSE, ADJ_SOLUTION };

/* Two stacks that are broadcast: their shape, without the matrices, and the steps of each in bytes. */
typedef struct {
    int ndim;
    npy_intp n, shape[NPY_MAXDIMS], steps[2][NPY_MAXDIMS];
} adj_stacks;

/* Fills in how two arrays of matrices lie; 0 if they do not broadcast. */
static int adj_find_stacks(PyArrayObject *a, PyArrayObject *b, adj_stacks *s) {
    PyArrayObject *arrays[2] = {a, b};
    s->ndim = ADJ_MAX(PyArray_NDIM(a), PyArray_NDIM(b)) - 2;
    s->n = 1;
    for (int i = 0; i < s->ndim; i++) {
        s->shape[i] = 1;
        for (int k = 0; k < 2; k++) {
            int operand_axis = i - (s->ndim + 2 - PyArray_NDIM(arrays[k]));
            npy_intp length = operand_axis < 0 ? 1 : PyArray_DIM(arrays[k], operand_axis);
            s->steps[k][i] = length == 1 ? 0 : PyArray_STRIDE(arrays[k], operand_axis);
            if (length == 1) continue;
            if (s->shape[i] != 1 && s->shape[i] != length) return 0;
            s->shape[i] = length;
        }
        s->n *= s->shape[i];
    }
    return 1;
}

/* Goes on to the next matrices of both stacks. */
static inline void adj_next_matrices(const adj_stacks *s, npy_intp *index, char **a, char **b) {
    for (int i = s->ndim - 1; i >= 0; i--) {
        *a += s->steps[0][i];
        *b += s->steps[1][i];
        if (++index[i] < s->shape[i]) return;
        *a -= s->steps[0][i] * s->shape[i];
        *b -= s->steps[1][i] * s->shape[i];
        index[i] = 0;
    }
}

#define ADJ_DEFINE_SMALL_PRODUCTS(name, type)                                                                          \
    static void name(const adj_stacks *s, char *a, char *b, npy_intp m, npy_intp k, npy_intp n, const npy_intp *of_a,  \
                     const npy_intp *of_b, type *out) {                                                                \
        npy_intp index[NPY_MAXDIMS] = {0};                                                                             \
        for (npy_intp stack = 0; stack < s->n; stack++, adj_next_matrices(s, index, &a, &b))                           \
            for (npy_intp i = 0; i < m; i++)                                                                           \
                for (npy_intp j = 0; j < n; j++) {                                                                     \
                    const char *x = a + i * of_a[0], *y = b + j * of_b[1];                                             \
                    type total = 0;                                                                                    \
                    for (npy_intp l = 0; l < k; l++, x += of_a[1], y += of_b[0])                                       \
                        total += *(const type *)x * *(const type *)y;                                                  \
                    *out++ = total;                                                                                    \
                }                                                                                                      \
    }
ADJ_DEFINE_SMALL_PRODUCTS(adj_small_products_4, float)
ADJ_DEFINE_SMALL_PRODUCTS(adj_small_products_8, double)

/* The products of two stacks of small matrices; None for others. */
static PyObject *adj_multiply_stacks(PyObject *first, PyObject *second) {
    int precision = adj_precision(first);
    if (precision < 0 || adj_precision(second) != precision) Py_RETURN_NONE;
    PyArrayObject *a = (PyArrayObject *)first, *b = (PyArrayObject *)second;
    int p = PyArray_NDIM(a), q = PyArray_NDIM(b);
    if (p < 2 || q < 2 || (p == 2 && q == 2)) Py_RETURN_NONE;
    npy_intp m = PyArray_DIM(a, p - 2), k = PyArray_DIM(a, p - 1), n = PyArray_DIM(b, q - 1);
    adj_stacks stacks;
    if (k != PyArray_DIM(b, q - 2) || m * k * n > ADJ_SMALL_PRODUCT || !adj_find_stacks(a, b, &stacks)) Py_RETURN_NONE;
    stacks.shape[stacks.ndim] = m;
    stacks.shape[stacks.ndim + 1] = n;
    PyArrayObject *out = adj_new_array(a, stacks.ndim + 2, stacks.shape);
    if (out == NULL) return NULL;
    npy_intp *of_a = PyArray_STRIDES(a) + p - 2, *of_b = PyArray_STRIDES(b) + q - 2;
    adj_clear_flags(FE_ALL_EXCEPT);
    if (precision)
        adj_small_products_4(&stacks, PyArray_BYTES(a), PyArray_BYTES(b), m, k, n, of_a, of_b,
                             (float *)PyArray_DATA(out));
    else
        adj_small_products_8(&stacks, PyArray_BYTES(a), PyArray_BYTES(b), m, k, n, of_a, of_b,
                             (double *)PyArray_DATA(out));
    if (adj_flags(ADJ_REPORTED_FLAGS)) {
        adj_clear_flags(FE_ALL_EXCEPT);
        Py_DECREF(out);
        Py_RETURN_NONE;
    }
    return (PyObject *)out;
}

/* Gaussian elimination with the largest pivot of each column: matrices become factors, and sides solutions. Returns the
   determinant. `width` and `n_sides` are constants of the compiler, so that each step works on whole vectors. Elements
   beyond column n, and those left of the diagonal, take part and are never read. */
static ADJ_ALWAYS_INLINE double adj_eliminate_rows(double *a, int n, double *sides, const int width,
                                                   const int n_sides) {
    double determinant = 1, row[ADJ_SMALL_MATRIX], side[ADJ_FEW_SIDES];
    for (int c = 0; c < n; c++) {
        int pivot = c;
        for (int i = c + 1; i < n; i++)
            if (fabs(a[i * width + c]) > fabs(a[pivot * width + c])) pivot = i;
        double *other = a + pivot * width, *other_side = sides + pivot * n_sides;
        for (int j = 0; j < width; j++) row[j] = other[j];
        for (int j = 0; j < n_sides; j++) side[j] = other_side[j];
        if (pivot != c) {
            determinant = -determinant;
            for (int j = 0; j < width; j++) other[j] = a[c * width + j];
            for (int j = 0; j < width; j++) a[c * width + j] = row[j];
            for (int j = 0; j < n_sides; j++) other_side[j] = sides[c * n_sides + j];
            for (int j = 0; j < n_sides; j++) sides[c * n_sides + j] = side[j];
        }
        double head = row[c];
        determinant *= head;
        if (head == 0) return 0;
        for (int i = c + 1; i < n; i++) {
            double factor = a[i * width + c] / head;
            for (int j = 0; j < width; j++) a[i * width + j] -= factor * row[j];
            for (int j = 0; j < n_sides; j++) sides[i * n_sides + j] -= factor * side[j];
        }
    }
    for (int c = n_sides ? n - 1 : -1; c >= 0; c--) {
        for (int j = 0; j < n_sides; j++) side[j] = sides[c * n_sides + j];
        for (int i = c + 1; i < n; i++)
            for (int j = 0; j < n_sides; j++) side[j] -= a[c * width + i] * sides[i * n_sides + j];
        for (int j = 0; j < n_sides; j++) sides[c * n_sides + j] = side[j] / a[c * width + c];
    }
    return determinant;
}

typedef double (*adj_elimination)(double *a, int n, double *sides);
#define ADJ_DEFINE_ELIMINATION(width, n_sides)                                                                         \
    ADJ_CLONES double adj_eliminate_##width##_##n_sides(double *a, int n, double *sides) {                             \
        return adj_eliminate_rows(a, n, sides, width, n_sides);                                                        \
    }
ADJ_DEFINE_ELIMINATION(4, 0)
ADJ_DEFINE_ELIMINATION(4, 4)
ADJ_DEFINE_ELIMINATION(8, 0)
ADJ_DEFINE_ELIMINATION(8, 8)
ADJ_DEFINE_ELIMINATION(16, 0)
ADJ_DEFINE_ELIMINATION(16, 4)
ADJ_DEFINE_ELIMINATION(16, 16)

/* The loop for matrices and sides of some width, and the widths that it has. */
typedef struct {
    int width, n_sides;
    adj_elimination run;
} adj_eliminations;

static const adj_eliminations *adj_elimination_for(npy_intp n, npy_intp n_sides) {
    static const adj_eliminations all[] = {
        {4, 0, adj_eliminate_4_0},   {4, 4, adj_eliminate_4_4},   {8, 0, adj_eliminate_8_0},
        {8, 8, adj_eliminate_8_8},   {16, 0, adj_eliminate_16_0}, {16, 4, adj_eliminate_16_4},
        {16, 16, adj_eliminate_16_16},
    };
    const adj_eliminations *each = all;
    while (each->width < n || each->n_sides < n_sides) each++;
    return each;
}

/* An element of either precision. */
static inline double adj_element(const char *at, int precision) {
    return precision ? *(const float *)at : *(const double *)at;
}
static inline void adj_put_element(char *out, npy_intp i, int precision, double value) {
    if (precision) ((float *)out)[i] = (float)value;
    else ((double *)out)[i] = value;
}

/* The determinants or inverses of small square matrices, or solutions for right-hand sides, computed in double
   precision; None for others, if one is singular, and where there are floating point errors. */
static PyObject *adj_solve_stacks(int which, PyObject *first, PyObject *second) {
    int precision = adj_precision(first);
    if (precision < 0 || adj_precision(second) != precision) Py_RETURN_NONE;
    PyArrayObject *a = (PyArrayObject *)first, *b = (PyArrayObject *)second;
    int p = PyArray_NDIM(a), q = PyArray_NDIM(b);
    adj_stacks stacks;
    if (p < 2 || q < 2) Py_RETURN_NONE;
    npy_intp n = PyArray_DIM(a, p - 1), k = which == ADJ_DETERMINANT ? 0 : PyArray_DIM(b, q - 1);
    if (n < 1 || n > ADJ_SMALL_MATRIX || PyArray_DIM(a, p - 2) != n || PyArray_DIM(b, q - 2) != n) Py_RETURN_NONE;
    if (k > ADJ_FEW_SIDES || !adj_find_stacks(a, b, &stacks)) Py_RETURN_NONE;
    stacks.shape[stacks.ndim] = n;
    stacks.shape[stacks.ndim + 1] = k;
    PyArrayObject *result = adj_new_array(a, which == ADJ_DETERMINANT ? stacks.ndim : stacks.ndim + 2, stacks.shape);
    if (result == NULL) return NULL;
    npy_intp *of_a = PyArray_STRIDES(a) + p - 2, *of_b = PyArray_STRIDES(b) + q - 2, index[NPY_MAXDIMS] = {0};
    char *x = PyArray_BYTES(a), *y = PyArray_BYTES(b), *out = PyArray_BYTES(result);
    double matrix[ADJ_SMALL_MATRIX * ADJ_SMALL_MATRIX] = {0}, sides[ADJ_SMALL_MATRIX * ADJ_FEW_SIDES] = {0};
    const adj_eliminations *elimination = adj_elimination_for(n, k);
    int regular = 1, width = elimination->width, n_sides = elimination->n_sides;
    adj_clear_flags(FE_ALL_EXCEPT);
    for (npy_intp stack = 0; stack < stacks.n && regular; stack++, adj_next_matrices(&stacks, index, &x, &y)) {
        for (npy_intp i = 0; i < n; i++) {
            for (npy_intp j = 0; j < n; j++)
                matrix[i * width + j] = adj_element(x + i * of_a[0] + j * of_a[1], precision);
            for (npy_intp j = 0; j < k; j++)
                sides[i * n_sides + j] =
                    which == ADJ_INVERSE ? i == j : adj_element(y + i * of_b[0] + j * of_b[1], precision);
        }
        double determinant = elimination->run(matrix, (int)n, sides);
        if (which == ADJ_DETERMINANT)
            adj_put_element(out, stack, precision, determinant);
        else {
            regular = determinant != 0;
            for (npy_intp i = 0; i < n; i++)
                for (npy_intp j = 0; j < k; j++)
                    adj_put_element(out, (stack * n + i) * k + j, precision, sides[i * n_sides + j]);
        }
    }
    if (!regular || adj_flags(ADJ_REPORTED_FLAGS)) {
        adj_clear_flags(FE_ALL_EXCEPT);
        Py_DECREF(result);
        Py_RETURN_NONE;
    }
    return (PyObject *)result;
}

#include "optimized_end.h"
#endif
