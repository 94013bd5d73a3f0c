/* Comparisons of whole arrays: whether all elements are equal, which are among others, and which come first. */
#ifndef ADJOINT_COMPARISONS_H
#define ADJOINT_COMPARISONS_H

#include <stdint.h>
#include "numpy_arrays.h"
#include "optimized_begin.h"

/* Elements are compared as floating-point numbers, or as integers of `size` bytes, whose signs do not count. */
#define ADJ_FOR_EACH_KIND(statement)                                                                                   \
    if (is_floating && size == 4) statement(float)                                                                     \
    else if (is_floating) statement(double)                                                                            \
    else if (size == 1) statement(int8_t)                                                                              \
    else if (size == 2) statement(int16_t)                                                                             \
    else if (size == 4) statement(int32_t)                                                                             \
    else statement(int64_t)

/* So many elements are compared before the differences among them are counted. */
#define ADJ_COMPARED_AT_ONCE 64

#define ADJ_SAME(type)                                                                                                 \
    {                                                                                                                  \
        const type *x = (const type *)first, *y = (const type *)second;                                                \
        Py_ssize_t i = 0;                                                                                              \
        for (; i + ADJ_COMPARED_AT_ONCE <= n; i += ADJ_COMPARED_AT_ONCE) {                                             \
            int same = 1;                                                                                              \
            for (int k = 0; k < ADJ_COMPARED_AT_ONCE; k++) same &= x[i + k] == y[i + k];                               \
            if (!same) return 0;                                                                                       \
        }                                                                                                              \
        for (; i < n; i++)                                                                                             \
            if (!(x[i] == y[i])) return 0;                                                                             \
        return 1;                                                                                                      \
    }
/* Whether n elements of two arrays are equal; NaN differs from itself. */
static int adj_same(int is_floating, int size, const char *first, const char *second, Py_ssize_t n) {
    ADJ_FOR_EACH_KIND(ADJ_SAME)
}

#define ADJ_AMONG(type)                                                                                                \
    {                                                                                                                  \
        const type *x = (const type *)elements, *y = (const type *)tests;                                              \
        for (Py_ssize_t i = 0; i < n; i++) {                                                                           \
            int same = 0;                                                                                              \
            for (Py_ssize_t k = 0; k < m; k++) same |= x[i] == y[k];                                                   \
            out[i] = (char)(same != inverted);                                                                         \
        }                                                                                                              \
    }
/* For each of n elements whether it equals one of m test elements (or none, if `inverted`), as a truth value. */
static void adj_among(int is_floating, int size, const char *elements, Py_ssize_t n, const char *tests, Py_ssize_t m,
                      int inverted, char *out) {
    ADJ_FOR_EACH_KIND(ADJ_AMONG)
}

#include "optimized_end.h"

/* The largest k for which insertion finds the k elements of a row. */
#define ADJ_MOST_FIRST 16

/* NaN is the largest number. */
#define ADJ_IS_LARGER(a, b) ((a) > (b) || ((a) != (a) && (b) == (b)))
#define ADJ_GOES_BEFORE(a, b) (largest ? ADJ_IS_LARGER(a, b) : ADJ_IS_LARGER(b, a))
#define ADJ_FIRST(type)                                                                                                \
    {                                                                                                                  \
        for (Py_ssize_t row = 0; row < n_rows; row++) {                                                                \
            const type *x = (const type *)elements + row * n;                                                          \
            int64_t *index = places + row * k;                                                                         \
            type first[ADJ_MOST_FIRST];                                                                                \
            int taken = 0;                                                                                             \
            for (Py_ssize_t i = 0; i < n; i++) {                                                                       \
                if (taken == k && !ADJ_GOES_BEFORE(x[i], first[k - 1])) continue;                                      \
                int at = taken < k ? taken++ : k - 1;                                                                  \
                for (; at > 0 && ADJ_GOES_BEFORE(x[i], first[at - 1]); at--) {                                         \
                    first[at] = first[at - 1];                                                                         \
                    index[at] = index[at - 1];                                                                         \
                }                                                                                                      \
                first[at] = x[i];                                                                                      \
                index[at] = i;                                                                                         \
            }                                                                                                          \
        }                                                                                                              \
    }
/* For each row of n elements the indices of the k largest (or smallest), in order; equal elements keep their order. */
static void adj_first(int is_floating, int size, const char *elements, Py_ssize_t n_rows, Py_ssize_t n, int k,
                      int largest, int64_t *places) {
    ADJ_FOR_EACH_KIND(ADJ_FIRST)
}
#endif
