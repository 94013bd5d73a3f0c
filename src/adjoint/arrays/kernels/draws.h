/* Random numbers from the bits of a generator of NumPy's, one after the other as NumPy draws them.

   NumPy's functions look at their arguments for longer than it takes to draw a few numbers. */
#ifndef ADJOINT_DRAWS_H
#define ADJOINT_DRAWS_H

#include "numpy_arrays.h"
#include <numpy/random/bitgen.h>

/* The source of bits in the capsule of a bit generator; NULL with an exception. */
static bitgen_t *adj_source_of_bits(PyObject *capsule) {
    return (bitgen_t *)PyCapsule_GetPointer(capsule, "BitGenerator");
}

/* Fills a new array of single or double precision with numbers from 0 to 1, without 1. -1 with an exception. */
static int adj_draw_uniform(PyObject *capsule, PyObject *out) {
    bitgen_t *bits = adj_source_of_bits(capsule);
    if (bits == NULL) return -1;
    PyArrayObject *a = (PyArrayObject *)out;
    npy_intp n = PyArray_SIZE(a);
    if (PyArray_TYPE(a) == NPY_DOUBLE) {
        double *to = (double *)PyArray_BYTES(a);
        for (npy_intp i = 0; i < n; i++) to[i] = bits->next_double(bits->state);
    } else {
        float *to = (float *)PyArray_BYTES(a);
        for (npy_intp i = 0; i < n; i++) to[i] = (bits->next_uint32(bits->state) >> 8) * (1.0f / 16777216.0f);
    }
    return 0;
}

/* Fills a new array of 64-bit integers with numbers from `low` to `low` + `range`, by Lemire's method (2019), which
   rejects few of them. -1 with an exception. */
static int adj_draw_integers(PyObject *capsule, PyObject *out, int64_t low, uint32_t range) {
    bitgen_t *bits = adj_source_of_bits(capsule);
    if (bits == NULL) return -1;
    PyArrayObject *a = (PyArrayObject *)out;
    npy_intp n = PyArray_SIZE(a);
    int64_t *to = (int64_t *)PyArray_BYTES(a);
    uint32_t count = range + 1, least = (UINT32_MAX - range) % count;
    for (npy_intp i = 0; i < n; i++) {
        uint64_t product = 0;
        if (range) {
            do product = (uint64_t)bits->next_uint32(bits->state) * count;
            while ((uint32_t)product < least);
        }
        to[i] = low + (int64_t)(product >> 32);
    }
    return 0;
}

#endif
