/* Loops of ufuncs over vectors of the processor, each for several kinds of processor; vector_ufuncs.py explains their
use. `vector_ufuncs_loops.h` and `vector_ufuncs_single.h` have a formula for each function, which holds within a domain.
The loop of the original ufunc computes elements outside of it. Elements are processed in blocks without gaps, where the
value of an element does not depend on its neighbours, nor on strides, number or position of elements. Only ADJ_FMA
fuses products and sums; see vectors_fused.h. */

#ifndef ADJOINT_VECTOR_UFUNCS_H
#define ADJOINT_VECTOR_UFUNCS_H

#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "ufunc_loops.h"
#include "vectors_intrinsics.h"
#include "vector_ufuncs_tables.h"
#include "optimized_begin.h"

/* NumPy's builds for Linux have AVX-512 loops for log1p and expm1, which are as fast as these formulas. With vectors of
   two numbers, without FMA, the formulas of erf and erfc in double precision gain nothing. */
#if defined(__linux__)
#define ADJ_UNLESS_LINUX(formula) NULL
#else
#define ADJ_UNLESS_LINUX(formula) formula
#endif

/* n elements, a multiple of any vector's width. Returns 0 without an effect if an element is outside of the domain. If
   `inside` is given, it only stores there, for each element, whether it is inside. */
#define ADJ_ARGUMENTS const void *x, const void *y, void *out, int64_t n, char *inside
typedef int (*adj_formula)(ADJ_ARGUMENTS);

#define ADJ_KIND_LIMIT 3
typedef struct {
    adj_formula formulas[ADJ_KIND_LIMIT];
    int n_inputs;
} adj_function;

#define ADJ_BLOCK 512

#if defined(__GNUC__) && !defined(_MSC_VER)
#define ADJ_INLINE static inline __attribute__((always_inline, unused))
#define ADJ_UNUSED __attribute__((unused))
#define ADJ_JOIN_(a, b) a##_##b
#define ADJ_JOIN(a, b) ADJ_JOIN_(a, b)
#define ADJ_NAME(name) ADJ_JOIN(name, ADJ_KIND)

ADJ_INLINE int64_t adj_bits_of_double(double number) {
    int64_t bits;
    memcpy(&bits, &number, sizeof(bits));
    return bits;
}
ADJ_INLINE int32_t adj_bits_of_single(float number) {
    int32_t bits;
    memcpy(&bits, &number, sizeof(bits));
    return bits;
}

#define ADJ_TARGET
#define ADJ_BYTES 16
#define ADJ_KIND plain
#include "vector_ufuncs_loops.h"
#undef ADJ_KIND
#define ADJ_KIND plain_single
#include "vector_ufuncs_single.h"
#undef ADJ_KIND
#undef ADJ_TARGET
#undef ADJ_BYTES

#if defined(__x86_64__)
#define ADJ_TARGET __attribute__((target("avx2,fma")))
#define ADJ_BYTES 32
#define ADJ_KIND avx2
#include "vector_ufuncs_loops.h"
#undef ADJ_KIND
#define ADJ_KIND avx2_single
#include "vector_ufuncs_single.h"
#undef ADJ_KIND
#undef ADJ_TARGET
#undef ADJ_BYTES

#define ADJ_TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")))
#define ADJ_BYTES 64
#define ADJ_KIND avx512
#include "vector_ufuncs_loops.h"
#undef ADJ_KIND
#define ADJ_KIND avx512_single
#include "vector_ufuncs_single.h"
#undef ADJ_KIND
#undef ADJ_TARGET
#undef ADJ_BYTES
#define ADJ_FORMULAS(name) {name##_plain, name##_avx2, name##_avx512}
#define ADJ_SINGLE_FORMULAS(name) {name##_plain_single, name##_avx2_single, name##_avx512_single}
#define ADJ_FORMULAS_BELOW_AVX512(name) {name##_plain, name##_avx2, ADJ_UNLESS_LINUX(name##_avx512)}
#define ADJ_SINGLE_FORMULAS_BELOW_AVX512(name) \
    {name##_plain_single, name##_avx2_single, ADJ_UNLESS_LINUX(name##_avx512_single)}
#define ADJ_FORMULAS_FROM_AVX2(name) {NULL, name##_avx2, name##_avx512}
#else
#define ADJ_FORMULAS(name) {name##_plain, NULL, NULL}
#define ADJ_SINGLE_FORMULAS(name) {name##_plain_single, NULL, NULL}
#define ADJ_FORMULAS_BELOW_AVX512 ADJ_FORMULAS
#define ADJ_SINGLE_FORMULAS_BELOW_AVX512 ADJ_SINGLE_FORMULAS
#define ADJ_FORMULAS_FROM_AVX2 ADJ_FORMULAS
#endif

/* in the order of the numbers in vector_ufuncs.py */
static adj_function adj_functions[] = {
    {ADJ_FORMULAS(adj_sin), 1},       {ADJ_FORMULAS(adj_cos), 1},       {ADJ_FORMULAS(adj_hypot), 2},
    {ADJ_FORMULAS(adj_nextafter), 2}, {ADJ_FORMULAS(adj_fmod), 2},      {ADJ_FORMULAS(adj_remainder), 2},
    {ADJ_FORMULAS(adj_floor_divide), 2}, {ADJ_FORMULAS(adj_ndtr), 1},   {ADJ_FORMULAS(adj_i0), 1},
    {ADJ_FORMULAS(adj_i0e), 1},       {ADJ_FORMULAS(adj_i1), 1},        {ADJ_FORMULAS(adj_i1e), 1},
    {ADJ_FORMULAS(adj_erfinv), 1},    {ADJ_FORMULAS(adj_expit), 1},     {ADJ_SINGLE_FORMULAS(adj_expit), 1},
    {ADJ_SINGLE_FORMULAS(adj_normal_cdf), 1},
    {ADJ_FORMULAS_BELOW_AVX512(adj_log1p), 1}, {ADJ_SINGLE_FORMULAS_BELOW_AVX512(adj_log1p), 1},
    {ADJ_FORMULAS_BELOW_AVX512(adj_expm1), 1}, {ADJ_SINGLE_FORMULAS_BELOW_AVX512(adj_expm1), 1},
    {ADJ_FORMULAS_FROM_AVX2(adj_erf), 1},      {ADJ_SINGLE_FORMULAS(adj_erf), 1},
    {ADJ_FORMULAS_FROM_AVX2(adj_erfc), 1},
    {ADJ_FORMULAS(adj_lgamma), 1},    {ADJ_FORMULAS(adj_lgamma_rounded), 1}, {ADJ_FORMULAS(adj_psi_rounded), 1},
    {ADJ_FORMULAS(adj_logaddexp), 2}, {ADJ_SINGLE_FORMULAS(adj_logaddexp), 2},
    {ADJ_FORMULAS_FROM_AVX2(adj_erfcx), 1},    {ADJ_SINGLE_FORMULAS(adj_nextafter), 2},
};
#else
static adj_function adj_functions[30];
#endif

static int adj_function_kind = 0;

/* What a loop finds as its data: the formulas, if there are any, and the loop and its data that are replaced. */
typedef struct {
    adj_function *function;
    adj_loop loop;
    int n_inputs;
    int size;     /* of an element */
    int widened;  /* elements are of single precision: computed in double precision, and rounded */
} adj_replaced;

typedef union {
    double doubles[ADJ_BLOCK];
    float singles[ADJ_BLOCK];
} adj_block;

/* a block of an argument without gaps; a number has no step */
#define ADJ_GATHER(type, to) \
    if (step) for (npy_intp i = 0; i < count; i++) (to)[i] = *(const type *)(from + i * step); \
    else { \
        const type number = *(const type *)from; \
        for (npy_intp i = 0; i < count; i++) (to)[i] = number; \
    }
static void adj_gather(const char *from, npy_intp step, int size, npy_intp count, adj_block *to) {
    if (size == sizeof(float)) { ADJ_GATHER(float, to->singles) }
    else { ADJ_GATHER(double, to->doubles) }
}
static void adj_scatter(const adj_block *from, int size, npy_intp count, char *to, npy_intp step) {
    if (size == sizeof(float))
        for (npy_intp i = 0; i < count; i++) *(float *)(to + i * step) = from->singles[i];
    else
        for (npy_intp i = 0; i < count; i++) *(double *)(to + i * step) = from->doubles[i];
}
/* element i of a block becomes element k of another one */
static void adj_take(const void *from, npy_intp i, int size, void *to, npy_intp k) {
    if (size == sizeof(float)) ((float *)to)[k] = ((const float *)from)[i];
    else ((double *)to)[k] = ((const double *)from)[i];
}

/* the loop that is replaced, on elements without gaps: its last digits may depend on the strides */
static void adj_run_replaced(const adj_replaced *replaced, const void **inputs, npy_intp count, void *out) {
    char *args[3] = {NULL, NULL, NULL};
    npy_intp steps[3] = {replaced->size, replaced->size, replaced->size};
    for (int k = 0; k < replaced->n_inputs; k++) args[k] = (char *)inputs[k];
    args[replaced->n_inputs] = (char *)out;
    replaced->loop.function(args, &count, steps, replaced->loop.data);
}

/* The formula on a block without gaps. The last element pads the block to a multiple of a vector's width. Elements that
   `inside` excludes are replaced by 0.5, which lies in all domains. */
static int adj_run_formula(const adj_replaced *replaced, const void **inputs, npy_intp count, const char *inside,
                           int ask, void *out) {
    adj_block filled[2], results;
    const void *given[2] = {NULL, NULL};
    int wide = replaced->widened || replaced->size == sizeof(double), size = wide ? sizeof(double) : sizeof(float);
    int width = (16 << adj_function_kind) / size;
    npy_intp n = (count + width - 1) / width * width;
    for (int k = 0; k < replaced->n_inputs; k++) {
        given[k] = inputs[k];
        if (!replaced->widened && n == count && !inside) continue;
        given[k] = filled + k;
        const float *singles = (const float *)inputs[k];
        if (replaced->widened)
            for (npy_intp i = 0; i < count; i++) filled[k].doubles[i] = singles[i];
        else
            memcpy(filled + k, inputs[k], count * size);
        for (npy_intp i = 0; inside && i < count; i++) {
            if (inside[i]) continue;
            if (wide) filled[k].doubles[i] = 0.5;
            else filled[k].singles[i] = 0.5f;
        }
        for (npy_intp i = count; i < n; i++) {
            if (wide) filled[k].doubles[i] = filled[k].doubles[count - 1];
            else filled[k].singles[i] = filled[k].singles[count - 1];
        }
    }
    adj_formula formula = replaced->function->formulas[adj_function_kind];
    if (ask) return formula(given[0], given[1], NULL, n, (char *)out);
    int direct = !replaced->widened && n == count;
    if (!formula(given[0], given[1], direct ? out : &results, n, NULL)) return 0;
    if (replaced->widened)
        for (npy_intp i = 0; i < count; i++) ((float *)out)[i] = (float)results.doubles[i];
    else if (!direct)
        memcpy(out, &results, count * size);
    return 1;
}

/* A block with elements outside of the domain: those get the loop that is replaced, all others the formula. */
static void adj_run_both(const adj_replaced *replaced, const void **inputs, npy_intp count, void *out, int *flags) {
    char inside[ADJ_BLOCK];
    adj_block others[2], results;
    const void *outside[2] = {others, others + 1};
    npy_intp n = 0;
    adj_run_formula(replaced, inputs, count, NULL, 1, inside);
    for (npy_intp i = 0; i < count; i++) {
        if (inside[i]) continue;
        for (int k = 0; k < replaced->n_inputs; k++) adj_take(inputs[k], i, replaced->size, others + k, n);
        n++;
    }
    adj_clear_flags(ADJ_REPORTED_FLAGS);
    adj_run_replaced(replaced, outside, n, &results);
    *flags |= adj_flags(ADJ_REPORTED_FLAGS);
    if (n < count) adj_run_formula(replaced, inputs, count, inside, 0, out);
    n = 0;
    for (npy_intp i = 0; i < count; i++)
        if (!inside[i]) adj_take(&results, n++, replaced->size, out, i);
}

/* 1 if a result may be read as the operand of a later element, as ufunc.reduce and ufunc.accumulate do. */
static int adj_reads_results(const adj_replaced *replaced, char **args, npy_intp n, const npy_intp *steps) {
    const char *out = args[replaced->n_inputs];
    npy_intp step = steps[replaced->n_inputs], last = (n - 1) * step;
    for (int k = 0; k < replaced->n_inputs; k++) {
        npy_intp end = (n - 1) * steps[k], gap = args[k] - out, size = replaced->size;
        if (gap == 0 && steps[k] == step && step) continue;
        int above = gap + ADJ_MIN(end, 0) >= ADJ_MAX(last, 0) + size;
        int below = ADJ_MIN(last, 0) >= gap + ADJ_MAX(end, 0) + size;
        if (!above && !below) return 1;
    }
    return 0;
}

/* Processes elements in blocks; a value is the same as in a block of this single element. */
static void adj_run_function(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) {
    const adj_replaced *replaced = (const adj_replaced *)data;
    int n_inputs = replaced->n_inputs, size = replaced->size, dense = 1;
    int formula = replaced->function && replaced->function->formulas[adj_function_kind];
    for (int k = 0; k <= n_inputs; k++) dense &= steps[k] == size;
    if (dense && !formula) {
        replaced->loop.function(args, dimensions, steps, replaced->loop.data);
        return;
    }
    int flags = adj_flags(ADJ_REPORTED_FLAGS);
    npy_intp block = adj_reads_results(replaced, args, dimensions[0], steps) ? 1 : ADJ_BLOCK;
    adj_block gathered[2], results;
    for (npy_intp start = 0; start < dimensions[0]; start += block) {
        npy_intp count = ADJ_MIN(dimensions[0] - start, block);
        const void *inputs[2] = {NULL, NULL};
        for (int k = 0; k < n_inputs; k++) {
            inputs[k] = args[k] + start * steps[k];
            if (steps[k] == size) continue;
            /* a number is equal in all blocks, and the first block is the longest */
            if (steps[k] || !start || block == 1)
                adj_gather((const char *)inputs[k], steps[k], size, count, gathered + k);
            inputs[k] = gathered + k;
        }
        char *here = args[n_inputs] + start * steps[n_inputs];
        void *out = steps[n_inputs] == size ? (void *)here : (void *)&results;
        if (!formula)
            adj_run_replaced(replaced, inputs, count, out);
        else if (!adj_run_formula(replaced, inputs, count, NULL, 0, out))
            adj_run_both(replaced, inputs, count, out, &flags);
        if (out == &results) adj_scatter(&results, size, count, here, steps[n_inputs]);
    }
    if (!formula) return;
    /* a formula's own steps may raise flags that its result does not deserve */
    if (adj_flags(ADJ_REPORTED_FLAGS) == flags) return;
    adj_clear_flags(ADJ_REPORTED_FLAGS);
    if (flags) feraiseexcept(flags);
}

/* A copy of a ufunc with other loops for double and single precision: the formulas with these numbers, or, for -1, the
   original loop on elements without gaps. `widened`: single precision is computed in double precision. All data lie in
   one block, which NumPy frees with the ufunc. */
static PyObject *adj_with_formula(PyObject *ufunc, PyObject *called, int number, int single, int widened) {
    PyUFuncObject *u = (PyUFuncObject *)ufunc;
    int nargs = u->nargs, n = u->ntypes;
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(called, &length);
    if (text == NULL) return NULL;
    size_t of_types = (size_t)n * nargs, each = sizeof(adj_replaced) + sizeof(PyUFuncGenericFunction) + sizeof(void *);
    adj_replaced *replaced = (adj_replaced *)PyArray_malloc(n * each + of_types + (size_t)length + 1);
    if (replaced == NULL) return PyErr_NoMemory();
    PyUFuncGenericFunction *loops = (PyUFuncGenericFunction *)(replaced + n);
    void **data = (void **)(loops + n);
    char *types = (char *)(data + n), *name = types + of_types;
    memcpy(name, text, (size_t)length + 1);
    memcpy(types, u->types, (size_t)n * nargs);
    for (int i = 0; i < n; i++) {
        int all_double = adj_all_of_type(u, i, NPY_DOUBLE), all_single = adj_all_of_type(u, i, NPY_FLOAT);
        adj_loop_at(u, i, &replaced[i].loop);
        loops[i] = replaced[i].loop.function;
        data[i] = replaced[i].loop.data;
        if (!all_double && !all_single) continue;
        int formula = all_double ? number : single;
        replaced[i].function = formula < 0 ? NULL : adj_functions + formula;
        replaced[i].n_inputs = u->nin;
        replaced[i].size = all_single ? sizeof(float) : sizeof(double);
        replaced[i].widened = all_single && widened;
        loops[i] = adj_run_function;
        data[i] = replaced + i;
    }
    PyObject *made = PyUFunc_FromFuncAndData(loops, data, types, n, u->nin, u->nout, PyUFunc_None, name, u->doc, 0);
    if (made == NULL) {
        PyArray_free(replaced);
        return NULL;
    }
    ((PyUFuncObject *)made)->ptr = replaced;
    /* loops for types that other packages brought (bfloat16) */
    PyObject *type, *chain;
    Py_ssize_t place = 0;
    while (made && u->userloops && PyDict_Next(u->userloops, &place, &type, &chain)) {
        for (PyUFunc_Loop1d *l = (PyUFunc_Loop1d *)PyCapsule_GetPointer(chain, NULL); l; l = l->next) {
            PyUFuncObject *copy = (PyUFuncObject *)made;
            if (PyUFunc_RegisterLoopForType(copy, (int)PyLong_AsLong(type), l->func, l->arg_types, l->data) < 0) {
                Py_CLEAR(made);
                break;
            }
        }
    }
    return made;
}
#include "optimized_end.h"
#endif
