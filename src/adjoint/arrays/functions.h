/* Loops of ufuncs by vectors of the processor, each for several kinds of processor; functions.py says what for.

   `functions_loops.h` has a formula for each function, which holds within a domain. Elements are taken in blocks; a block
   with an element outside of the domain is left to the loop of the ufunc that is replaced. */

#ifndef ADJOINT_FUNCTIONS_H
#define ADJOINT_FUNCTIONS_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#include "functions_tables.h"

/* n elements, a multiple of any vector's width; returns 0, and has done nothing, if one is outside of the domain */
typedef int (*adj_formula)(const double *x, const double *y, double *out, int64_t n);

#define ADJ_KIND_LIMIT 3
typedef struct {
    adj_formula formulas[ADJ_KIND_LIMIT];
    int n_inputs;
} adj_function;

#define ADJ_BLOCK 128

#if defined(__GNUC__) && !defined(_MSC_VER)
#define ADJ_INLINE static inline __attribute__((always_inline, unused))
#define ADJ_JOIN_(a, b) a##_##b
#define ADJ_JOIN(a, b) ADJ_JOIN_(a, b)
#define ADJ_NAME(name) ADJ_JOIN(name, ADJ_KIND)
#define ADJ_DOUBLE
#define ADJ_T double

#define ADJ_KIND plain
#define ADJ_TARGET
#define ADJ_BYTES 16
#define ADJ_FUSED 0  /* instructions for a product and a sum with one rounding */
#include "functions_loops.h"
#undef ADJ_KIND
#undef ADJ_TARGET
#undef ADJ_BYTES

#if defined(__x86_64__)
#undef ADJ_FUSED
#define ADJ_FUSED 1
#define ADJ_KIND avx2
#define ADJ_TARGET __attribute__((target("avx2,fma")))
#define ADJ_BYTES 32
#include "functions_loops.h"
#undef ADJ_KIND
#undef ADJ_TARGET
#undef ADJ_BYTES

#define ADJ_KIND avx512
#define ADJ_TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")))
#define ADJ_BYTES 64
#include "functions_loops.h"
#undef ADJ_KIND
#undef ADJ_TARGET
#undef ADJ_BYTES
#define ADJ_FORMULAS(name) {name##_plain, name##_avx2, name##_avx512}
#else
#define ADJ_FORMULAS(name) {name##_plain, NULL, NULL}
#endif

/* in the order of the numbers in functions.py */
static adj_function adj_functions[] = {
    {ADJ_FORMULAS(adj_sin), 1},       {ADJ_FORMULAS(adj_cos), 1},       {ADJ_FORMULAS(adj_hypot), 2},
    {ADJ_FORMULAS(adj_nextafter), 2}, {ADJ_FORMULAS(adj_fmod), 2},      {ADJ_FORMULAS(adj_remainder), 2},
    {ADJ_FORMULAS(adj_floor_divide), 2}, {ADJ_FORMULAS(adj_ndtr), 1},   {ADJ_FORMULAS(adj_i0), 1},
    {ADJ_FORMULAS(adj_i0e), 1},       {ADJ_FORMULAS(adj_i1), 1},        {ADJ_FORMULAS(adj_i1e), 1},
    {ADJ_FORMULAS(adj_erfinv), 1},
};

static int adj_best_function_kind(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("fma"))
        return 2;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 1;
#endif
    return 0;
}
#else
static adj_function adj_functions[16];
static int adj_best_function_kind(void) { return -1; }
#endif

static int adj_function_kind = 0;

/* What a loop finds as its data: the formula, and the loop and its data that are replaced. */
typedef struct {
    adj_function *function;
    PyUFuncGenericFunction loop;
    void *data;
    int single;  /* elements are of single precision: computed in double precision, and rounded */
} adj_replaced;

/* a block of an argument as doubles without gaps, filled up to n with the last one */
static void adj_gather(const char *from, npy_intp step, int single, int64_t count, int64_t n, double *to) {
    if (single)
        for (int64_t i = 0; i < count; i++) to[i] = *(const float *)(from + i * step);
    else
        for (int64_t i = 0; i < count; i++) to[i] = *(const double *)(from + i * step);
    for (int64_t i = count; i < n; i++) to[i] = to[count - 1];
}

static void adj_run_function(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) {
    const adj_replaced *replaced = (const adj_replaced *)data;
    int n_inputs = replaced->function->n_inputs, single = replaced->single;
    adj_formula formula = replaced->function->formulas[adj_function_kind];
    double gathered[2][ADJ_BLOCK], results[ADJ_BLOCK];
    for (npy_intp start = 0; start < dimensions[0]; start += ADJ_BLOCK) {
        npy_intp count = dimensions[0] - start < ADJ_BLOCK ? dimensions[0] - start : ADJ_BLOCK, n = (count + 7) / 8 * 8;
        const double *inputs[2] = {NULL, NULL};
        char *here[3];
        for (int k = 0; k <= n_inputs; k++) here[k] = args[k] + start * steps[k];
        for (int k = 0; k < n_inputs; k++) {
            int plain = !single && steps[k] == sizeof(double) && n == count;
            if (!plain) adj_gather(here[k], steps[k], single, count, n, gathered[k]);
            inputs[k] = plain ? (const double *)here[k] : gathered[k];
        }
        int direct = !single && steps[n_inputs] == sizeof(double) && n == count;
        if (!formula(inputs[0], inputs[1], direct ? (double *)here[n_inputs] : results, n)) {
            replaced->loop(here, &count, steps, replaced->data);
            continue;
        }
        if (single)
            for (npy_intp i = 0; i < count; i++) *(float *)(here[n_inputs] + i * steps[n_inputs]) = (float)results[i];
        else if (!direct)
            for (npy_intp i = 0; i < count; i++) *(double *)(here[n_inputs] + i * steps[n_inputs]) = results[i];
    }
}

/* A copy of a ufunc in which the loops for double, and single if asked for, are replaced. What it needs is never freed,
   as ufuncs are not. */
static PyObject *adj_with_formula(PyObject *ufunc, int number, int single) {
    PyUFuncObject *u = (PyUFuncObject *)ufunc;
    int nargs = u->nargs, n = u->ntypes;
    PyUFuncGenericFunction *loops = (PyUFuncGenericFunction *)malloc(n * sizeof(PyUFuncGenericFunction));
    void **data = (void **)malloc(n * sizeof(void *));
    adj_replaced *replaced = (adj_replaced *)malloc(n * sizeof(adj_replaced));
    char *types = (char *)malloc((size_t)n * nargs), *name = strdup(u->name);
    if (!loops || !data || !replaced || !types || !name) {
        free(loops); free(data); free(replaced); free(types); free(name);
        return PyErr_NoMemory();
    }
    memcpy(types, u->types, (size_t)n * nargs);
    for (int i = 0; i < n; i++) {
        int all_double = 1, all_single = single;
        loops[i] = u->functions[i];
        data[i] = u->data ? (void *)u->data[i] : NULL;
        for (int k = 0; k < nargs; k++) {
            all_double &= types[i * nargs + k] == NPY_DOUBLE;
            all_single &= types[i * nargs + k] == NPY_FLOAT;
        }
        if (!all_double && !all_single) continue;
        replaced[i].function = adj_functions + number;
        replaced[i].loop = loops[i];
        replaced[i].data = data[i];
        replaced[i].single = all_single;
        loops[i] = adj_run_function;
        data[i] = replaced + i;
    }
    PyObject *made = PyUFunc_FromFuncAndData(loops, data, types, n, u->nin, u->nout, PyUFunc_None, name, u->doc, 0);
    /* loops for types that other packages brought (bfloat16) */
    PyObject *type, *chain;
    Py_ssize_t place = 0;
    while (made && u->userloops && PyDict_Next(u->userloops, &place, &type, &chain)) {
        for (PyUFunc_Loop1d *l = (PyUFunc_Loop1d *)PyCapsule_GetPointer(chain, NULL); l; l = l->next) {
            int number_of_type = (int)PyLong_AsLong(type);
            if (PyUFunc_RegisterLoopForType((PyUFuncObject *)made, number_of_type, l->func, l->arg_types, l->data) < 0) {
                Py_CLEAR(made);
                break;
            }
        }
    }
    return made;
}
#endif
