/* Calls of a routine of LAPACK or BLAS, one for each matrix of a batch. */
#ifndef ADJOINT_BATCHED_LAPACK_H
#define ADJOINT_BATCHED_LAPACK_H

#include "numpy_arrays.h"

/* All arguments of Fortran's routines are addresses. */
typedef char *adj_p;
typedef void (*adj_routine_5)(adj_p, adj_p, adj_p, adj_p, adj_p);
typedef void (*adj_routine_6)(adj_p, adj_p, adj_p, adj_p, adj_p, adj_p);
typedef void (*adj_routine_8)(adj_p, adj_p, adj_p, adj_p, adj_p, adj_p, adj_p, adj_p);
typedef void (*adj_routine_11)(adj_p, adj_p, adj_p, adj_p, adj_p, adj_p, adj_p, adj_p, adj_p, adj_p, adj_p);

/* One call with n arguments at the addresses p; 0 if no routine with so many is known. */
static inline int adj_call_routine(void *routine, int n, char **p) {
    switch (n) {
        case 5:
            ((adj_routine_5)routine)(p[0], p[1], p[2], p[3], p[4]);
            return 1;
        case 6:
            ((adj_routine_6)routine)(p[0], p[1], p[2], p[3], p[4], p[5]);
            return 1;
        case 8:
            ((adj_routine_8)routine)(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]);
            return 1;
        case 11:
            ((adj_routine_11)routine)(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10]);
            return 1;
        default:
            return 0;
    }
}

/* `count` calls; after each one argument i lies steps[i] bytes further on. 0 if no routine has n arguments. */
static int adj_each(void *routine, int n, char **addresses, const Py_ssize_t *steps, Py_ssize_t count) {
    for (; count > 0; count--) {
        if (!adj_call_routine(routine, n, addresses)) return 0;
        for (int i = 0; i < n; i++) addresses[i] += steps[i];
    }
    return 1;
}

/* The address of a routine in one of SciPy's capsules. */
static void *adj_routine_address(PyObject *capsule) {
    return PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
}

#endif
