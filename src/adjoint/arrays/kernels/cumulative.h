/* Cumulative sums, products and extrema along an axis, and linear recurrences.

   Arrays are (outer, n, inner) with elements of `size` 4 (float) or 8 (double), and the axis is the one in the middle.
   If it is the last one (inner is 1), the elements are rows of n. */
#ifndef ADJOINT_CUMULATIVE_H
#define ADJOINT_CUMULATIVE_H

#include <stdint.h>
#include "numpy_arrays.h"
#include "optimized_begin.h"

/* So many rows are worked on together: each step of a row waits for the one before it, but not for the other rows. */
#define ADJ_ROWS 8

/* sums and products ------------------------------------------------------------------------------------------------ */

/* y[i, k] = x[i, 0] joined ... joined x[i, k], where `joined` is + or * */
#define ADJ_DEFINE_RUNNING(name, type, joined)                                                                         \
    static void name(const type *x, npy_intp rows, npy_intp n, type *y) {                                              \
        for (npy_intp i = 0; i < rows; i += ADJ_ROWS) {                                                                \
            npy_intp together = ADJ_MIN(rows - i, ADJ_ROWS);                                                           \
            type last[ADJ_ROWS];                                                                                       \
            for (npy_intp r = 0; r < together; r++) y[(i + r) * n] = last[r] = x[(i + r) * n];                         \
            for (npy_intp k = 1; k < n; k++)                                                                           \
                for (npy_intp r = 0; r < together; r++)                                                                \
                    y[(i + r) * n + k] = last[r] = last[r] joined x[(i + r) * n + k];                                  \
        }                                                                                                              \
    }
ADJ_DEFINE_RUNNING(adj_sums_4, float, +)
ADJ_DEFINE_RUNNING(adj_sums_8, double, +)
ADJ_DEFINE_RUNNING(adj_products_4, float, *)
ADJ_DEFINE_RUNNING(adj_products_8, double, *)

/* Cumulative sums, or products, of rows. */
static void adj_running(int size, char *x, Py_ssize_t rows, Py_ssize_t n, int products, char *y) {
    if (size == 4)
        (products ? adj_products_4 : adj_sums_4)((const float *)x, rows, n, (float *)y);
    else
        (products ? adj_products_8 : adj_sums_8)((const double *)x, rows, n, (double *)y);
}

/* extrema ---------------------------------------------------------------------------------------------------------- */

/* The best element so far and its place, where `better` is >= or <=: the last of equal ones, and the last NaN. */
#define ADJ_DEFINE_EXTREMA(name, type, better)                                                                         \
    static void name(const type *x, npy_intp outer, npy_intp n, npy_intp inner, type *tops, int64_t *places) {         \
        for (npy_intp i = 0; i < outer; i++)                                                                           \
            for (npy_intp k = 0; k < n; k++, x += inner, tops += inner, places += inner)                               \
                for (npy_intp j = 0; j < inner; j++) {                                                                 \
                    type here = x[j], top = k ? tops[j - inner] : here;                                                \
                    int moves = (here better top) | (here != here) | !k;                                               \
                    tops[j] = moves ? here : top;                                                                      \
                    places[j] = moves ? k : places[j - inner];                                                         \
                }                                                                                                      \
    }
ADJ_DEFINE_EXTREMA(adj_largest_4, float, >=)
ADJ_DEFINE_EXTREMA(adj_largest_8, double, >=)
ADJ_DEFINE_EXTREMA(adj_smallest_4, float, <=)
ADJ_DEFINE_EXTREMA(adj_smallest_8, double, <=)

/* The same for rows: results are not read again from memory. */
#define ADJ_DEFINE_EXTREMA_OF_ROWS(name, type, better)                                                                 \
    static void name(const type *x, npy_intp rows, npy_intp n, type *tops, int64_t *places) {                          \
        for (npy_intp i = 0; i < rows; i++, x += n, tops += n, places += n) {                                          \
            type top = x[0];                                                                                           \
            int64_t place = 0;                                                                                         \
            for (npy_intp k = 0; k < n; k++) {                                                                         \
                type here = x[k];                                                                                      \
                int moves = (here better top) | (here != here);                                                        \
                top = moves ? here : top;                                                                              \
                place = moves ? k : place;                                                                             \
                tops[k] = top;                                                                                         \
                places[k] = place;                                                                                     \
            }                                                                                                          \
        }                                                                                                              \
    }
ADJ_DEFINE_EXTREMA_OF_ROWS(adj_largest_of_rows_4, float, >=)
ADJ_DEFINE_EXTREMA_OF_ROWS(adj_largest_of_rows_8, double, >=)
ADJ_DEFINE_EXTREMA_OF_ROWS(adj_smallest_of_rows_4, float, <=)
ADJ_DEFINE_EXTREMA_OF_ROWS(adj_smallest_of_rows_8, double, <=)

/* The loop for an array of elements of one type. */
#define ADJ_DEFINE_EXTREMA_OF_TYPE(type, number)                                                                       \
    static void adj_extrema_##number(const type *x, npy_intp outer, npy_intp n, npy_intp inner, int largest,           \
                                     type *tops, int64_t *places) {                                                    \
        if (inner > 1)                                                                                                 \
            (largest ? adj_largest_##number : adj_smallest_##number)(x, outer, n, inner, tops, places);                \
        else                                                                                                           \
            (largest ? adj_largest_of_rows_##number : adj_smallest_of_rows_##number)(x, outer, n, tops, places);       \
    }
ADJ_DEFINE_EXTREMA_OF_TYPE(float, 4)
ADJ_DEFINE_EXTREMA_OF_TYPE(double, 8)

/* Cumulative maxima, or minima, and their places. */
static void adj_extrema(int size, char *x, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner, int largest, char *tops,
                        char *places) {
    if (size == 4)
        adj_extrema_4((const float *)x, outer, n, inner, largest, (float *)tops, (int64_t *)places);
    else
        adj_extrema_8((const double *)x, outer, n, inner, largest, (double *)tops, (int64_t *)places);
}

/* recurrences ------------------------------------------------------------------------------------------------------ */

/* y[k + 1] += links[k] * y[k] along the axis, or in reverse y[k] += links[k] * y[k + 1] */
#define ADJ_DEFINE_RECURRENCE(name, type)                                                                              \
    static void name(const type *links, npy_intp outer, npy_intp n, npy_intp inner, int reverse, type *y) {            \
        for (npy_intp i = 0; i < outer; i++, links += (n - 1) * inner, y += n * inner)                                 \
            for (npy_intp k = 1; k < n; k++) {                                                                         \
                npy_intp at = reverse ? n - 1 - k : k;                                                                 \
                type *to = y + at * inner, *from = reverse ? to + inner : to - inner;                                  \
                const type *link = links + (reverse ? at : at - 1) * inner;                                            \
                for (npy_intp j = 0; j < inner; j++) to[j] += link[j] * from[j];                                       \
            }                                                                                                          \
    }
ADJ_DEFINE_RECURRENCE(adj_recurrence_4, float)
ADJ_DEFINE_RECURRENCE(adj_recurrence_8, double)

/* The same for rows, several of them together. */
#define ADJ_DEFINE_RECURRENCE_OF_ROWS(name, type)                                                                      \
    static void name(const type *links, npy_intp rows, npy_intp n, int reverse, type *y) {                             \
        for (npy_intp i = 0; i < rows; i += ADJ_ROWS) {                                                                \
            npy_intp together = ADJ_MIN(rows - i, ADJ_ROWS);                                                           \
            type last[ADJ_ROWS];                                                                                       \
            for (npy_intp r = 0; r < together; r++) last[r] = y[(i + r) * n + (reverse ? n - 1 : 0)];                  \
            for (npy_intp k = 1; k < n; k++) {                                                                         \
                npy_intp at = reverse ? n - 1 - k : k, link = reverse ? at : at - 1;                                   \
                for (npy_intp r = 0; r < together; r++) {                                                              \
                    last[r] = y[(i + r) * n + at] + links[(i + r) * (n - 1) + link] * last[r];                         \
                    y[(i + r) * n + at] = last[r];                                                                     \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
ADJ_DEFINE_RECURRENCE_OF_ROWS(adj_recurrence_of_rows_4, float)
ADJ_DEFINE_RECURRENCE_OF_ROWS(adj_recurrence_of_rows_8, double)

/* A linear recurrence in place; links are (outer, n - 1, inner). */
static void adj_recurrence(int size, char *links, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner, int reverse,
                           char *y) {
    if (size == 4 && inner > 1)
        adj_recurrence_4((const float *)links, outer, n, inner, reverse, (float *)y);
    else if (size == 4)
        adj_recurrence_of_rows_4((const float *)links, outer, n, reverse, (float *)y);
    else if (inner > 1)
        adj_recurrence_8((const double *)links, outer, n, inner, reverse, (double *)y);
    else
        adj_recurrence_of_rows_8((const double *)links, outer, n, reverse, (double *)y);
}

#include "optimized_end.h"
#endif
