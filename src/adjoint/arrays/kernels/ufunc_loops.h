/* Inner loops of NumPy's ufuncs, to be called without the ufunc. */
#ifndef ADJOINT_UFUNC_LOOPS_H
#define ADJOINT_UFUNC_LOOPS_H

#include <fenv.h>
#if defined(__x86_64__) && defined(__SSE2__) && defined(__GNUC__)
#include <xmmintrin.h>
#define ADJ_FLAGS_IN_ONE_REGISTER
#endif
#include "numpy_arrays.h"
#include <numpy/ufuncobject.h>

/* The flags of floating point errors that NumPy reports. */
#define ADJ_REPORTED_FLAGS (FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID)

/* Which of these flags are set. No loop uses x87 arithmetic: on x86-64 one register holds all flags, and to read it
   takes a tenth of fetestexcept(), which a small operation would notice. The empty statements keep results that are
   stored before on the right side. */
static inline int adj_flags(int which) {
#ifdef ADJ_FLAGS_IN_ONE_REGISTER
    __asm__ volatile("" ::: "memory");
    return (int)_mm_getcsr() & which;
#else
    return fetestexcept(which);
#endif
}

/* Clears these flags if they are set. */
static inline void adj_clear_flags(int which) {
#ifdef ADJ_FLAGS_IN_ONE_REGISTER
    unsigned int before = _mm_getcsr();
    if (before & (unsigned int)which) _mm_setcsr(before & ~(unsigned int)which);
    __asm__ volatile("" ::: "memory");
#else
    if (fetestexcept(which)) feclearexcept(which);
#endif
}

/* An inner loop and its data argument. */
typedef struct {
    PyUFuncGenericFunction function;
    void *data;
} adj_loop;

/* Gets NumPy's tables of functions, of arrays and of ufuncs; -1 with an exception if that fails. */
static int adj_import_ufuncs(void) {
    import_array1(-1);
    import_umath1(-1);
    return 0;
}

/* The loop with this place among a ufunc's types; 0 if the ufunc has none there. */
static int adj_loop_at(PyUFuncObject *ufunc, int place, adj_loop *loop) {
    if (ufunc->functions == NULL || place >= ufunc->ntypes) return 0;
    loop->function = ufunc->functions[place];
    loop->data = ufunc->data == NULL ? NULL : (void *)ufunc->data[place];
    return loop->function != NULL;
}

/* 1 if all operands and results of the loop with this place have one type. */
static int adj_all_of_type(PyUFuncObject *ufunc, int place, int type_num) {
    for (int k = 0; k < ufunc->nargs; k++)
        if (ufunc->types[place * ufunc->nargs + k] != type_num) return 0;
    return 1;
}

/* The loop whose operands and results all have one type; 0 if the ufunc has none. */
static int adj_loop_of_type(PyUFuncObject *ufunc, int type_num, adj_loop *loop) {
    for (int place = 0; place < ufunc->ntypes; place++)
        if (adj_all_of_type(ufunc, place, type_num)) return adj_loop_at(ufunc, place, loop);
    return 0;
}

#endif
