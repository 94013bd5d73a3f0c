/* Max pooling over one or two axes. The arrays have elements of `size` 4 (float) or 8 (double). */
#ifndef ADJOINT_MAX_POOLING_H
#define ADJOINT_MAX_POOLING_H

#include <math.h>
#include <stdint.h>
#include "numpy_arrays.h"
#include "optimized_begin.h"

/* The windows along one axis of n elements: how many there are (`results`), and one range for each place in a window
   (`passes` of them). A range is four numbers: the first window that has an element at this place, the end of these
   windows, where the first one has it, and the step from one window to the next. */
typedef struct {
    const int64_t *ranges;
    npy_intp n, results, passes;
} adj_axis;

/* One more element for each of n neighbouring windows: the larger one stays, or the later NaN. */
#define ADJ_COMPARE(step)                                                                                              \
    for (npy_intp j = 0; j < n; j++) {                                                                                 \
        value = source[j * (step)];                                                                                    \
        better = (value > top[j]) | (value != value) | (place[j] < 0);                                                 \
        top[j] = better ? value : top[j];                                                                              \
        place[j] = better ? here + (int32_t)(j * (step)) : place[j];                                                   \
    }

/* The largest element of each window and its place in the flat image: the first of several equal ones, the last NaN.
   The loops have no branches inside, and known steps, so that the compiler makes vector instructions of them. */
#define ADJ_DEFINE_MAXIMA(name, type)                                                                                  \
    static void name(const type *x, npy_intp images, adj_axis rows, adj_axis columns, type *tops, int32_t *places) {   \
        npy_intp n_results = columns.results;                                                                          \
        for (npy_intp image = 0; image < images; image++, x += rows.n * columns.n)                                     \
            for (npy_intp i = 0; i < rows.results; i++, tops += n_results, places += n_results) {                      \
                for (npy_intp j = 0; j < n_results; j++) {                                                             \
                    tops[j] = (type)-INFINITY;                                                                         \
                    places[j] = -1;                                                                                    \
                }                                                                                                      \
                for (npy_intp k = 0; k < rows.passes; k++) {                                                           \
                    const int64_t *r = rows.ranges + 4 * k;                                                            \
                    if (i < r[0] || i >= r[1]) continue;                                                               \
                    npy_intp row = r[2] + (i - r[0]) * r[3];                                                           \
                    for (npy_intp l = 0; l < columns.passes; l++) {                                                    \
                        const int64_t *c = columns.ranges + 4 * l;                                                     \
                        npy_intp n = c[1] - c[0], step = c[3];                                                         \
                        const type *source = x + row * columns.n + c[2];                                               \
                        type *top = tops + c[0], value;                                                                \
                        int32_t *place = places + c[0], here = (int32_t)(row * columns.n + c[2]), better;              \
                        if (step == 1) { ADJ_COMPARE(1) }                                                              \
                        else if (step == 2) { ADJ_COMPARE(2) }                                                         \
                        else { ADJ_COMPARE(step) }                                                                     \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
    }
ADJ_DEFINE_MAXIMA(adj_maxima_4, float)
ADJ_DEFINE_MAXIMA(adj_maxima_8, double)

/* Max pooling of images. of_rows, of_columns: the length of the axis, the number of windows, the number of ranges. */
static void adj_maxima(int size, char *x, Py_ssize_t images, int64_t *rows, Py_ssize_t *of_rows, int64_t *columns,
                       Py_ssize_t *of_columns, char *tops, char *places) {
    adj_axis r = {rows, of_rows[0], of_rows[1], of_rows[2]};
    adj_axis c = {columns, of_columns[0], of_columns[1], of_columns[2]};
    if (size == 4)
        adj_maxima_4((const float *)x, images, r, c, (float *)tops, (int32_t *)places);
    else
        adj_maxima_8((const double *)x, images, r, c, (double *)tops, (int32_t *)places);
}

#include "optimized_end.h"
#endif
