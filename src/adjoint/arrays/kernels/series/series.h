/* Products, quotients and recurrences of truncated power series.

   Arrays are (n, size) with elements of `bytes` 4 (float) or 8 (double): n coefficients, the first one of order 0, of
   `size` series each. The elements are taken in pieces, so that all coefficients of a piece stay in the cache. */
#ifndef ADJOINT_SERIES_H
#define ADJOINT_SERIES_H

#include "numpy_arrays.h"
#include "optimized_begin.h"

/* So many series are worked on together. */
#define ADJ_SERIES_PIECE 128

/* Compiled for processors with wider vectors too, of which one form is picked when the module is loaded. All forms
   give the same numbers, since nothing is fused (setup.py). */
#if defined(__GLIBC__) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define ADJ_LOOP __attribute__((target_clones("avx512f", "avx2", "default"))) static
#else
#define ADJ_LOOP static
#endif
#ifdef __GNUC__
#define ADJ_ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ADJ_ALWAYS_INLINE inline
#endif

/* A loop over the pieces: `at` is the first element of one, `m` how many elements it has. */
#define ADJ_EACH_PIECE(size)                                                                                           \
    for (npy_intp at = 0, m; m = ADJ_MIN((size) - at, ADJ_SERIES_PIECE), at < (size); at += ADJ_SERIES_PIECE)

#define ADJ_DEFINE_SERIES(type, name)                                                                                  \
    /* sum[i] += a[i] * b[i] */                                                                                        \
    static ADJ_ALWAYS_INLINE void adj_add_products_##name(npy_intp m, const type *a, const type *b,                    \
                                                            type *restrict sum) {                                      \
        for (npy_intp i = 0; i < m; i++) sum[i] += a[i] * b[i];                                                        \
    }                                                                                                                  \
    /* sum[i] += factor * a[i] * b[i] */                                                                               \
    static ADJ_ALWAYS_INLINE void adj_add_scaled_##name(npy_intp m, type factor, const type *a, const type *b,         \
                                             type *restrict sum) {                                                     \
        for (npy_intp i = 0; i < m; i++) sum[i] += factor * a[i] * b[i];                                               \
    }                                                                                                                  \
    /* y[k] = a[0] b[k] + ... + a[k] b[0] */                                                                           \
    ADJ_LOOP void adj_series_product_##name(npy_intp n, npy_intp size, const type *a, const type *b, type *y) {        \
        ADJ_EACH_PIECE(size) for (npy_intp k = 0; k < n; k++) {                                                        \
            type sum[ADJ_SERIES_PIECE] = {0};                                                                          \
            for (npy_intp j = 0; j <= k; j++)                                                                          \
                adj_add_products_##name(m, a + j * size + at, b + (k - j) * size + at, sum);                           \
            for (npy_intp i = 0; i < m; i++) y[k * size + at + i] = sum[i];                                            \
        }                                                                                                              \
    }                                                                                                                  \
    /* y[k] = g[k] b[0] + ... + g[n - 1] b[n - 1 - k] */                                                               \
    ADJ_LOOP void adj_series_correlation_##name(npy_intp n, npy_intp size, const type *g, const type *b, type *y) {    \
        ADJ_EACH_PIECE(size) for (npy_intp k = 0; k < n; k++) {                                                        \
            type sum[ADJ_SERIES_PIECE] = {0};                                                                          \
            for (npy_intp j = k; j < n; j++)                                                                           \
                adj_add_products_##name(m, g + j * size + at, b + (j - k) * size + at, sum);                           \
            for (npy_intp i = 0; i < m; i++) y[k * size + at + i] = sum[i];                                            \
        }                                                                                                              \
    }                                                                                                                  \
    /* y b = a */                                                                                                      \
    ADJ_LOOP void adj_series_quotient_##name(npy_intp n, npy_intp size, const type *a, const type *b, type *y) {       \
        ADJ_EACH_PIECE(size) for (npy_intp k = 0; k < n; k++) {                                                        \
            type sum[ADJ_SERIES_PIECE] = {0};                                                                          \
            for (npy_intp j = 1; j <= k; j++)                                                                          \
                adj_add_products_##name(m, b + j * size + at, y + (k - j) * size + at, sum);                           \
            for (npy_intp i = 0; i < m; i++)                                                                           \
                y[k * size + at + i] = (a[k * size + at + i] - sum[i]) / b[at + i];                                    \
        }                                                                                                              \
    }                                                                                                                  \
    /* y' = (c[0] + c[1] y + c[2] y * y) x'; slope (n, a piece) is memory for the factor of x' */                      \
    ADJ_LOOP void adj_series_riccati_##name(npy_intp n, npy_intp size, const type *x, const double *c, type *slope,    \
                                          type *y) {                                                                   \
        ADJ_EACH_PIECE(size) for (npy_intp k = 0; k < n; k++) {                                                        \
            type sum[ADJ_SERIES_PIECE] = {0};                                                                          \
            for (npy_intp j = 1; j <= k; j++)                                                                          \
                adj_add_scaled_##name(m, (type)j, x + j * size + at, slope + (k - j) * ADJ_SERIES_PIECE, sum);         \
            if (k)                                                                                                     \
                for (npy_intp i = 0; i < m; i++) y[k * size + at + i] = sum[i] / k;                                    \
            type squares[ADJ_SERIES_PIECE] = {0};                                                                      \
            for (npy_intp j = 0; c[2] != 0 && j <= k; j++)                                                             \
                adj_add_products_##name(m, y + j * size + at, y + (k - j) * size + at, squares);                       \
            for (npy_intp i = 0; i < m; i++)                                                                           \
                slope[k * ADJ_SERIES_PIECE + i] =                                                                      \
                    (k ? 0 : (type)c[0]) + (type)c[1] * y[k * size + at + i] + (type)c[2] * squares[i];                \
        }                                                                                                              \
    }                                                                                                                  \
    /* x y' = exponent y x' */                                                                                         \
    ADJ_LOOP void adj_series_power_##name(npy_intp n, npy_intp size, const type *x, double exponent, type *y) {        \
        ADJ_EACH_PIECE(size) for (npy_intp k = 1; k < n; k++) {                                                        \
            type sum[ADJ_SERIES_PIECE] = {0};                                                                          \
            for (npy_intp j = 1; j <= k; j++)                                                                          \
                adj_add_scaled_##name(m, (type)(exponent * j - (k - j)), x + j * size + at,                            \
                                      y + (k - j) * size + at, sum);                                                   \
            for (npy_intp i = 0; i < m; i++) y[k * size + at + i] = sum[i] / (k * x[at + i]);                          \
        }                                                                                                              \
    }                                                                                                                  \
    /* s' = c x' and c' = sign s x' */                                                                                 \
    ADJ_LOOP void adj_series_wave_##name(npy_intp n, npy_intp size, const type *x, double sign, type *s, type *c) {    \
        ADJ_EACH_PIECE(size) for (npy_intp k = 1; k < n; k++) {                                                        \
            type sines[ADJ_SERIES_PIECE] = {0}, cosines[ADJ_SERIES_PIECE] = {0};                                       \
            for (npy_intp j = 1; j <= k; j++) {                                                                        \
                adj_add_scaled_##name(m, (type)j, x + j * size + at, c + (k - j) * size + at, sines);                  \
                adj_add_scaled_##name(m, (type)j, x + j * size + at, s + (k - j) * size + at, cosines);                \
            }                                                                                                          \
            for (npy_intp i = 0; i < m; i++) {                                                                         \
                s[k * size + at + i] = sines[i] / k;                                                                   \
                c[k * size + at + i] = (type)sign * cosines[i] / k;                                                    \
            }                                                                                                          \
        }                                                                                                              \
    }
ADJ_DEFINE_SERIES(float, 4)
ADJ_DEFINE_SERIES(double, 8)

/* Products (which is 0), correlations (1) and quotients (2). */
static void adj_series_of_two(int bytes, int which, npy_intp n, npy_intp size, char *a, char *b, char *y) {
    if (bytes == 4)
        (which == 0 ? adj_series_product_4 : which == 1 ? adj_series_correlation_4 : adj_series_quotient_4)(
            n, size, (const float *)a, (const float *)b, (float *)y);
    else
        (which == 0 ? adj_series_product_8 : which == 1 ? adj_series_correlation_8 : adj_series_quotient_8)(
            n, size, (const double *)a, (const double *)b, (double *)y);
}

static void adj_series_riccati(int bytes, npy_intp n, npy_intp size, char *x, double c0, double c1, double c2,
                               char *slope, char *y) {
    double c[3] = {c0, c1, c2};
    if (bytes == 4)
        adj_series_riccati_4(n, size, (const float *)x, c, (float *)slope, (float *)y);
    else
        adj_series_riccati_8(n, size, (const double *)x, c, (double *)slope, (double *)y);
}

static void adj_series_power(int bytes, npy_intp n, npy_intp size, char *x, double exponent, char *y) {
    if (bytes == 4)
        adj_series_power_4(n, size, (const float *)x, exponent, (float *)y);
    else
        adj_series_power_8(n, size, (const double *)x, exponent, (double *)y);
}

static void adj_series_wave(int bytes, npy_intp n, npy_intp size, char *x, double sign, char *s, char *c) {
    if (bytes == 4)
        adj_series_wave_4(n, size, (const float *)x, sign, (float *)s, (float *)c);
    else
        adj_series_wave_8(n, size, (const double *)x, sign, (double *)s, (double *)c);
}

#include "optimized_end.h"
#endif
