/* Cumulative sums, products and extrema along an axis, and linear recurrences.

   Arrays are (outer, n, inner) with elements of `size` 4 (float) or 8 (double), and the axis is the one in the middle.
   If it is the last one (inner is 1), the elements are rows of n. */
#ifndef ADJOINT_CUMULATIVE_H
#define ADJOINT_CUMULATIVE_H

#include <stdint.h>
#include "numpy_arrays.h"
#include "optimized_begin.h"

/* The number of rows processed together: each step of a row waits for the previous step, but not for other rows. */
#define ADJ_ROWS 8

/* sums and products ------------------------------------------------------------------------------------------------ */

/* y[k] = x[first] joined ... joined x[k], where `joined` is + or *, of rows; `step` is 1, or -1 in reverse. If it is
   `exclusive`, y[k] leaves x[k] out and begins with `none`. */
#define ADJ_DEFINE_RUNNING_OF_ROWS(name, type, joined, none)                                                           \
    static void name(const type *x, npy_intp rows, npy_intp n, npy_intp step, int exclusive, type *y) {                \
        npy_intp ahead = exclusive ? 0 : step;                                                                         \
        for (npy_intp i = 0; i < rows; i += ADJ_ROWS) {                                                                \
            npy_intp together = ADJ_MIN(rows - i, ADJ_ROWS), at = i * n + (step < 0 ? n - 1 : 0);                      \
            type last[ADJ_ROWS];                                                                                       \
            for (npy_intp r = 0; r < together; r++) y[at + r * n] = last[r] = exclusive ? none : x[at + r * n];        \
            for (npy_intp k = 1; k < n; k++, at += step)                                                               \
                for (npy_intp r = 0; r < together; r++)                                                                \
                    y[at + step + r * n] = last[r] = last[r] joined x[at + ahead + r * n];                             \
        }                                                                                                              \
    }
/* The same along an axis before others, whose `inner` elements are worked on together. */
#define ADJ_DEFINE_RUNNING(name, type, joined, none)                                                                   \
    ADJ_DEFINE_RUNNING_OF_ROWS(name##_of_rows, type, joined, none)                                                     \
    static void name(const type *x, npy_intp outer, npy_intp n, npy_intp inner, npy_intp step, int exclusive,          \
                     type *y) {                                                                                        \
        if (inner == 1) {                                                                                              \
            name##_of_rows(x, outer, n, step, exclusive, y);                                                           \
            return;                                                                                                    \
        }                                                                                                              \
        for (npy_intp i = 0; i < outer; i++) {                                                                         \
            npy_intp first = (i * n + (step < 0 ? n - 1 : 0)) * inner, next = step * inner;                            \
            const type *from = x + first;                                                                              \
            type *to = y + first;                                                                                      \
            for (npy_intp j = 0; j < inner; j++) to[j] = exclusive ? none : from[j];                                   \
            if (!exclusive) from += next;                                                                              \
            for (npy_intp k = 1; k < n; k++, from += next, to += next)                                                 \
                for (npy_intp j = 0; j < inner; j++) to[next + j] = to[j] joined from[j];                              \
        }                                                                                                              \
    }
ADJ_DEFINE_RUNNING(adj_sums_4, float, +, 0)
ADJ_DEFINE_RUNNING(adj_sums_8, double, +, 0)
ADJ_DEFINE_RUNNING(adj_products_4, float, *, 1)
ADJ_DEFINE_RUNNING(adj_products_8, double, *, 1)

/* Cumulative sums, or products. */
static void adj_running(int size, char *x, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner, int products, int reverse,
                        int exclusive, char *y) {
    npy_intp step = reverse ? -1 : 1;
    if (size == 4)
        (products ? adj_products_4 : adj_sums_4)((const float *)x, outer, n, inner, step, exclusive, (float *)y);
    else
        (products ? adj_products_8 : adj_sums_8)((const double *)x, outer, n, inner, step, exclusive, (double *)y);
}

/* extrema ---------------------------------------------------------------------------------------------------------- */

/* The best element so far and its index; `better` is >= or <=. Of equal elements the last is taken, and the last NaN.
   */
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
