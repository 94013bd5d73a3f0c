/* Scatter: sums of values at places of arrays. The arrays have elements of `size` 4 (float) or 8 (double). */
#ifndef ADJOINT_SCATTER_H
#define ADJOINT_SCATTER_H

#include <stdint.h>
#include "numpy_arrays.h"

/* For each image, a number of `values_per_image` values are added to the elements of `out` that `places` names. Several
   values may have the same place. */
#define ADJ_DEFINE_ADD_ELEMENTS(name, type)                                                                            \
    static void name(const type *values, const int64_t *places, npy_intp images, npy_intp values_per_image,            \
                     npy_intp image_size, type *out) {                                                                 \
        for (npy_intp image = 0; image < images; image++, out += image_size)                                           \
            for (npy_intp k = 0; k < values_per_image; k++) out[*places++] += *values++;                               \
    }
ADJ_DEFINE_ADD_ELEMENTS(adj_add_elements_4, float)
ADJ_DEFINE_ADD_ELEMENTS(adj_add_elements_8, double)

/* Adds elements to images of zeros. */
static void adj_add_elements(int size, char *values, char *places, Py_ssize_t images, Py_ssize_t values_per_image,
                             Py_ssize_t image_size, char *out) {
    const int64_t *at = (const int64_t *)places;
    if (size == 4)
        adj_add_elements_4((const float *)values, at, images, values_per_image, image_size, (float *)out);
    else
        adj_add_elements_8((const double *)values, at, images, values_per_image, image_size, (double *)out);
}

/* Adds n rows of `width` elements to the rows of `out` whose numbers are in `rows`. */
#define ADJ_DEFINE_ADD_ROWS(name, type)                                                                                \
    static void name(const type *values, const int64_t *rows, npy_intp n, npy_intp width, type *out) {                 \
        for (npy_intp i = 0; i < n; i++, values += width) {                                                            \
            type *row = out + rows[i] * width;                                                                         \
            for (npy_intp j = 0; j < width; j++) row[j] += values[j];                                                  \
        }                                                                                                              \
    }
ADJ_DEFINE_ADD_ROWS(adj_add_rows_4, float)
ADJ_DEFINE_ADD_ROWS(adj_add_rows_8, double)

/* Adds rows to an array of zeros. */
static void adj_add_rows(int size, char *values, char *rows, Py_ssize_t n, Py_ssize_t width, char *out) {
    if (size == 4)
        adj_add_rows_4((const float *)values, (const int64_t *)rows, n, width, (float *)out);
    else
        adj_add_rows_8((const double *)values, (const int64_t *)rows, n, width, (double *)out);
}

#endif
