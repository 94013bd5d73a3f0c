/* The elementwise part of one step of gated recurrent networks: all gates of a sample in one pass. */
#ifndef ADJOINT_GATES_H
#define ADJOINT_GATES_H

#include "ufunc_loops.h"
#include "optimized_begin.h"

/* The loops of the sigmoid and of tanh for double and single precision, which adj_find_gate_loops() finds. */
static adj_loop adj_sigmoid_loops[2], adj_tanh_loops[2];

/* Finds the loops; returns 0 if a ufunc lacks one in this form. */
static int adj_find_gate_loops(PyObject *sigmoid, PyObject *tanh) {
    PyUFuncObject *first = (PyUFuncObject *)sigmoid, *second = (PyUFuncObject *)tanh;
    return adj_loop_of_type(first, NPY_DOUBLE, adj_sigmoid_loops) &&
           adj_loop_of_type(first, NPY_FLOAT, adj_sigmoid_loops + 1) &&
           adj_loop_of_type(second, NPY_DOUBLE, adj_tanh_loops) &&
           adj_loop_of_type(second, NPY_FLOAT, adj_tanh_loops + 1);
}

/* A function of n elements in their place. */
static inline void adj_in_place(const adj_loop *loop, void *x, npy_intp n, npy_intp size) {
    char *args[2] = {(char *)x, (char *)x};
    npy_intp steps[2] = {size, size};
    loop->function(args, &n, steps, loop->data);
}

/* A step of a long short-term memory. `input_part` and `before` are the input's and the state's parts of the gates; the
   gates are input, forget, candidate and output. Arrays are (rows, n), gates (rows, 4 n). */
#define ADJ_DEFINE_REMEMBER(name, type, which)                                                                         \
    static void name(const type *input_part, const type *before, const type *memory, npy_intp rows, npy_intp n,        \
                     type *hidden, type *next, type *gates) {                                                          \
        const npy_intp size = sizeof(type);                                                                            \
        for (npy_intp row = 0; row < rows; row++) {                                                                    \
            for (npy_intp i = 0; i < 4 * n; i++) gates[i] = input_part[i] + before[i];                                 \
            adj_in_place(adj_sigmoid_loops + which, gates, 2 * n, size);                                               \
            adj_in_place(adj_tanh_loops + which, gates + 2 * n, n, size);                                              \
            adj_in_place(adj_sigmoid_loops + which, gates + 3 * n, n, size);                                           \
            for (npy_intp i = 0; i < n; i++)                                                                           \
                hidden[i] = next[i] = gates[n + i] * memory[i] + gates[i] * gates[2 * n + i];                          \
            adj_in_place(adj_tanh_loops + which, hidden, n, size);                                                     \
            for (npy_intp i = 0; i < n; i++) hidden[i] *= gates[3 * n + i];                                            \
            input_part += 4 * n, before += 4 * n, gates += 4 * n;                                                      \
            memory += n, hidden += n, next += n;                                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    /* the cotangents of the gates before their functions, and of the memory before */                                 \
    static void name##_back(const type *of_hidden, const type *of_next, const type *memory, const type *next,          \
                            const type *gates, npy_intp rows, npy_intp n, type *of_gates, type *of_memory) {           \
        for (npy_intp row = 0; row < rows; row++) {                                                                    \
            const type *in = gates, *forget = gates + n, *candidate = gates + 2 * n, *out = gates + 3 * n;             \
            for (npy_intp i = 0; i < n; i++) of_memory[i] = next[i];                                                   \
            adj_in_place(adj_tanh_loops + which, of_memory, n, sizeof(type));                                          \
            for (npy_intp i = 0; i < n; i++) {                                                                         \
                type shown = of_memory[i];                                                                             \
                type passed = of_next[i] + of_hidden[i] * out[i] * (1 - shown * shown);                                \
                of_gates[i] = passed * candidate[i] * (in[i] * (1 - in[i]));                                           \
                of_gates[n + i] = passed * memory[i] * (forget[i] * (1 - forget[i]));                                  \
                of_gates[2 * n + i] = passed * in[i] * (1 - candidate[i] * candidate[i]);                              \
                of_gates[3 * n + i] = of_hidden[i] * shown * (out[i] * (1 - out[i]));                                  \
                of_memory[i] = passed * forget[i];                                                                     \
            }                                                                                                          \
            gates += 4 * n, of_gates += 4 * n;                                                                         \
            of_hidden += n, of_next += n, memory += n, next += n, of_memory += n;                                      \
        }                                                                                                              \
    }
ADJ_DEFINE_REMEMBER(adj_remember_8, double, 0)
ADJ_DEFINE_REMEMBER(adj_remember_4, float, 1)

/* A step of a gated recurrent unit; the gates are reset, update and candidate. */
#define ADJ_DEFINE_UPDATE(name, type, which)                                                                           \
    static void name(const type *input_part, const type *before, const type *state, npy_intp rows, npy_intp n,         \
                     type *next, type *gates) {                                                                        \
        const npy_intp size = sizeof(type);                                                                            \
        for (npy_intp row = 0; row < rows; row++) {                                                                    \
            for (npy_intp i = 0; i < 2 * n; i++) gates[i] = input_part[i] + before[i];                                 \
            adj_in_place(adj_sigmoid_loops + which, gates, 2 * n, size);                                               \
            for (npy_intp i = 2 * n; i < 3 * n; i++) gates[i] = input_part[i] + gates[i - 2 * n] * before[i];          \
            adj_in_place(adj_tanh_loops + which, gates + 2 * n, n, size);                                              \
            for (npy_intp i = 0; i < n; i++)                                                                           \
                next[i] = gates[2 * n + i] + gates[n + i] * (state[i] - gates[2 * n + i]);                             \
            input_part += 3 * n, before += 3 * n, gates += 3 * n;                                                      \
            state += n, next += n;                                                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_back(const type *of_next, const type *before, const type *state, const type *gates,             \
                            npy_intp rows, npy_intp n, type *of_input_part, type *of_before, type *of_state) {         \
        for (npy_intp row = 0; row < rows; row++) {                                                                    \
            const type *reset = gates, *update = gates + n, *candidate = gates + 2 * n;                                \
            for (npy_intp i = 0; i < n; i++) {                                                                         \
                type passed = of_next[i] * (1 - update[i]) * (1 - candidate[i] * candidate[i]);                        \
                of_input_part[i] = of_before[i] = passed * before[2 * n + i] * (reset[i] * (1 - reset[i]));            \
                of_input_part[n + i] = of_before[n + i] =                                                              \
                    of_next[i] * (state[i] - candidate[i]) * (update[i] * (1 - update[i]));                            \
                of_input_part[2 * n + i] = passed;                                                                     \
                of_before[2 * n + i] = passed * reset[i];                                                              \
                of_state[i] = of_next[i] * update[i];                                                                  \
            }                                                                                                          \
            gates += 3 * n, before += 3 * n, of_input_part += 3 * n, of_before += 3 * n;                               \
            state += n, of_next += n, of_state += n;                                                                   \
        }                                                                                                              \
    }
ADJ_DEFINE_UPDATE(adj_update_8, double, 0)
ADJ_DEFINE_UPDATE(adj_update_4, float, 1)

/* One step of a long short-term memory: forward from (input_part, before, memory), backward from (g of hidden, g of
   memory, memory, next memory, gates). One of a gated unit: forward from (input_part, before, state), backward from
   (g, before, state, gates). None for arrays that are not plain. */
enum { ADJ_REMEMBER, ADJ_REMEMBER_BACK, ADJ_UPDATE, ADJ_UPDATE_BACK };

/* Which arrays of a step are gates, as bits; how many gates there are. */
static const int adj_are_gates[4] = {3, 16, 3, 10}, adj_n_gates[4] = {4, 4, 3, 3};

/* The plain arrays of a step, of one precision, in rows and of shapes that fit; the precision, or -1 for others. */
static int adj_plain_rows(int kind, PyObject *arrays, char **data) {
    PyObject *state = PyTuple_GET_ITEM(arrays, 2);
    int precision = adj_precision(state), ndim = precision < 0 ? 0 : adj_ndim(state);
    if (ndim < 1) return -1;
    npy_intp *shape = PyArray_DIMS((PyArrayObject *)state);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arrays); i++) {
        PyArrayObject *array = (PyArrayObject *)PyTuple_GET_ITEM(arrays, i);
        if (adj_precision((PyObject *)array) != precision || PyArray_NDIM(array) != ndim) return -1;
        if (!PyArray_IS_C_CONTIGUOUS(array)) return -1;
        for (int k = 0; k < ndim - 1; k++)
            if (PyArray_DIM(array, k) != shape[k]) return -1;
        npy_intp times = adj_are_gates[kind] >> i & 1 ? adj_n_gates[kind] : 1;
        if (PyArray_DIM(array, ndim - 1) != times * shape[ndim - 1]) return -1;
        data[i] = PyArray_BYTES(array);
    }
    return precision;
}

/* New arrays, one like each model, in a tuple; NULL with an exception if there is no memory. */
static PyObject *adj_new_like(Py_ssize_t n, PyObject **models, char **data) {
    PyObject *results = PyTuple_New(n);
    for (Py_ssize_t i = 0; results != NULL && i < n; i++) {
        PyArrayObject *model = (PyArrayObject *)models[i];
        PyArrayObject *array = adj_new_array(model, PyArray_NDIM(model), PyArray_DIMS(model));
        if (array == NULL) {
            Py_CLEAR(results);
            break;
        }
        data[i] = PyArray_BYTES(array);
        PyTuple_SET_ITEM(results, i, (PyObject *)array);
    }
    return results;
}

static PyObject *adj_gated_step(int kind, PyObject *arrays) {
    char *x[5], *y[3];
    int precision = adj_plain_rows(kind, arrays, x);
    if (precision < 0) Py_RETURN_NONE;
    PyObject **a = &PyTuple_GET_ITEM(arrays, 0);
    /* a state, the gates, and the results like them */
    PyObject *models[4][3] = {{a[2], a[2], a[0]}, {a[4 % PyTuple_GET_SIZE(arrays)], a[2]}, {a[2], a[0]},
                              {a[1], a[1], a[2]}};
    static const int counts[4] = {3, 2, 2, 3};
    PyObject *results = adj_new_like(counts[kind], models[kind], y);
    if (results == NULL) return NULL;
    PyArrayObject *state = (PyArrayObject *)a[2];
    npy_intp n = PyArray_DIM(state, PyArray_NDIM(state) - 1), rows = n ? adj_n_elements(a[2]) / n : 0;
    switch (kind) {
        case ADJ_REMEMBER:
            if (precision)
                adj_remember_4((float *)x[0], (float *)x[1], (float *)x[2], rows, n, (float *)y[0], (float *)y[1],
                               (float *)y[2]);
            else
                adj_remember_8((double *)x[0], (double *)x[1], (double *)x[2], rows, n, (double *)y[0],
                               (double *)y[1], (double *)y[2]);
            break;
        case ADJ_REMEMBER_BACK:
            if (precision)
                adj_remember_4_back((float *)x[0], (float *)x[1], (float *)x[2], (float *)x[3], (float *)x[4], rows, n,
                                    (float *)y[0], (float *)y[1]);
            else
                adj_remember_8_back((double *)x[0], (double *)x[1], (double *)x[2], (double *)x[3], (double *)x[4],
                                    rows, n, (double *)y[0], (double *)y[1]);
            break;
        case ADJ_UPDATE:
            if (precision)
                adj_update_4((float *)x[0], (float *)x[1], (float *)x[2], rows, n, (float *)y[0], (float *)y[1]);
            else
                adj_update_8((double *)x[0], (double *)x[1], (double *)x[2], rows, n, (double *)y[0], (double *)y[1]);
            break;
        default:
            if (precision)
                adj_update_4_back((float *)x[0], (float *)x[1], (float *)x[2], (float *)x[3], rows, n, (float *)y[0],
                                  (float *)y[1], (float *)y[2]);
            else
                adj_update_8_back((double *)x[0], (double *)x[1], (double *)x[2], (double *)x[3], rows, n,
                                  (double *)y[0], (double *)y[1], (double *)y[2]);
    }
    return results;
}

#include "optimized_end.h"
#endif
