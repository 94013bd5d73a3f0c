/* Weighted sums of elements at places of images, and their transposes. A place of -1 is none. */
#ifndef ADJOINT_SAMPLING_H
#define ADJOINT_SAMPLING_H

#include <stdint.h>
#include "numpy_arrays.h"
#include "optimized_begin.h"

/* Which array is the result: that of images, of weights, or of results. */
enum { ADJ_SAMPLES, ADJ_SAMPLED_WEIGHTS, ADJ_SAMPLED_IMAGES };

/* How many there are of images, channels, elements of an image, results of an image, and places of a result. */
typedef struct {
    npy_intp images, channels, size, results, places;
} adj_sampling;

/* images (images, channels, size), weights and places (images, results, places), results (images, channels, results) */
#define ADJ_DEFINE_SAMPLE(name, type)                                                                                  \
    static void name(int which, adj_sampling n, const int64_t *places, type *image, type *weights, type *results) {    \
        npy_intp step = n.results * n.places;                                                                          \
        for (npy_intp i = 0; i < n.images; i++, places += step, weights += step)                                       \
            for (npy_intp c = 0; c < n.channels; c++, image += n.size, results += n.results) {                         \
                const int64_t *at = places;                                                                            \
                type *weight = weights;                                                                                \
                for (npy_intp p = 0; p < n.results; p++) {                                                             \
                    type total = 0, g = results[p];                                                                    \
                    for (npy_intp t = 0; t < n.places; t++, at++, weight++) {                                          \
                        if (*at < 0) continue;                                                                         \
                        if (which == ADJ_SAMPLES)                                                                      \
                            total += image[*at] * *weight;                                                             \
                        else if (which == ADJ_SAMPLED_WEIGHTS)                                                         \
                            *weight += g * image[*at];                                                                 \
                        else                                                                                           \
                            image[*at] += g * *weight;                                                                 \
                    }                                                                                                  \
                    if (which == ADJ_SAMPLES) results[p] = total;                                                      \
                }                                                                                                      \
            }                                                                                                          \
    }

ADJ_DEFINE_SAMPLE(adj_sample_4, float)
ADJ_DEFINE_SAMPLE(adj_sample_8, double)

/* Fills one of the three arrays from the others; it holds zeros unless it is the results. */
static void adj_sample(int item, int which, adj_sampling n, char *places, char *image, char *weights, char *results) {
    const int64_t *at = (const int64_t *)places;
    if (item == 4)
        adj_sample_4(which, n, at, (float *)image, (float *)weights, (float *)results);
    else
        adj_sample_8(which, n, at, (double *)image, (double *)weights, (double *)results);
}

/* For each of n points, given by whole numbers along each axis (n, ndim), the places in a flat image of the points
   that lie `steps` (n_steps, ndim) beside them: (n, n_steps), -1 outside of the image. */
static void adj_corner_places(const double *wholes, npy_intp n, int ndim, const int64_t *lengths, const int64_t *steps,
                              npy_intp n_steps, int64_t *out) {
    for (npy_intp p = 0; p < n; p++)
        for (npy_intp t = 0; t < n_steps; t++) {
            int64_t flat = 0;
            int inside = 1;
            for (int axis = 0; axis < ndim; axis++) {
                double whole = wholes[p * ndim + axis] + (double)steps[t * ndim + axis];
                int there = whole >= 0 && whole < (double)lengths[axis];
                inside &= there;
                flat = flat * lengths[axis] + (there ? (int64_t)whole : 0);
            }
            *out++ = inside ? flat : -1;
        }
}

#include "optimized_end.h"
#endif
