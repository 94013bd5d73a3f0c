/* Weighted sums of elements at places of images, and their transposes. A place of -1 is none. */
#ifndef ADJOINT_SAMPLING_H
#define ADJOINT_SAMPLING_H

#include <math.h>
#include <stdint.h>
#include "numpy_arrays.h"
#include "optimized_begin.h"

/* The array to compute: images, weights or results. */
enum { ADJ_SAMPLES, ADJ_SAMPLED_WEIGHTS, ADJ_SAMPLED_IMAGES };

/* How many there are of images, channels, elements of an image, results of an image, and places of a result. */
typedef struct {
    npy_intp images, channels, size, results, places;
} adj_sampling;

/* images (images, channels, size), weights and places (images, results, places), results (images, channels, results) */
#define ADJ_DEFINE_SAMPLE(name, type)                                                                                  \
    static ADJ_ALWAYS_INLINE void name##_of(const int which, adj_sampling n, const int64_t *places, type *image,       \
                                            type *weights, type *results) {                                            \
        npy_intp step = n.results * n.places;                                                                          \
        for (npy_intp i = 0; i < n.images; i++, places += step, weights += step)                                       \
            for (npy_intp c = 0; c < n.channels; c++, image += n.size, results += n.results) {                         \
                const int64_t *at = places;                                                                            \
                type *weight = weights;                                                                                \
                for (npy_intp p = 0; p < n.results; p++) {                                                             \
                    type total = 0, g = which == ADJ_SAMPLES ? 0 : results[p];                                         \
                    for (npy_intp t = 0; t < n.places; t++, at++, weight++) {                                          \
                        if (*at < 0)                                                                                   \
                            continue;                                                                                  \
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
    }                                                                                                                  \
    static void name(int which, adj_sampling n, const int64_t *places, type *image, type *weights, type *results) {    \
        if (which == ADJ_SAMPLES)                                                                                      \
            name##_of(ADJ_SAMPLES, n, places, image, weights, results);                                                \
        else if (which == ADJ_SAMPLED_WEIGHTS)                                                                         \
            name##_of(ADJ_SAMPLED_WEIGHTS, n, places, image, weights, results);                                        \
        else                                                                                                           \
            name##_of(ADJ_SAMPLED_IMAGES, n, places, image, weights, results);                                         \
    }

ADJ_DEFINE_SAMPLE(adj_sample_4, float)
ADJ_DEFINE_SAMPLE(adj_sample_8, double)

/* Computes one of the three arrays from the others; it must hold zeros, except for the results. */
static void adj_sample(int item, int which, adj_sampling n, char *places, char *image, char *weights, char *results) {
    const int64_t *at = (const int64_t *)places;
    if (item == 4)
        adj_sample_4(which, n, at, (float *)image, (float *)weights, (float *)results);
    else
        adj_sample_8(which, n, at, (double *)image, (double *)weights, (double *)results);
}

/* Corners of points; see rules/sampling.py. The modes and the ways beyond the ends of an axis have torch's numbers. */
enum { ADJ_BILINEAR, ADJ_NEAREST, ADJ_BICUBIC };
enum { ADJ_ZEROS, ADJ_BORDER, ADJ_REFLECTION };

typedef struct {
    npy_intp n;
    int ndim, mode, padding, align;
    int64_t lengths[3];
} adj_corners;

/* The largest whole number up to x, of a size below 2 ** 31. */
static inline int64_t adj_whole(double x) {
    int64_t whole = (int64_t)x;
    return whole - (x < (double)whole);
}

/* The nearest whole number, ties to even. */
static inline int64_t adj_nearest(double x) { return (int64_t)((x + 6755399441055744.0) - 6755399441055744.0); }

#define ADJ_DEFINE_CORNERS(suffix, type)                                                       \
    /* the position that replaces one beyond the axis, and its slope */                                                \
    static inline type adj_bounded_##suffix(type x, int64_t n, int padding, int align, type *slope) {                  \
        if (padding == ADJ_REFLECTION) {                                                                               \
            type low = align ? 0 : (type)-0.5, span = (type)(align ? n - 1 : n), away = x - low, turns, rest;          \
            if (span == 0) {                                                                                           \
                x *= 0;                                                                                                \
                *slope = 0;                                                                                            \
            } else {                                                                                                   \
                if (away < 0) away = -away, *slope = -*slope;                                                          \
                turns = away / span;                                                                                   \
                int64_t whole = turns < (type)4e18 ? (int64_t)turns : 0;                                               \
                if (turns < (type)4e18) turns = (type)whole;                                                           \
                rest = away - turns * span;                                                                            \
                if ((whole & 1) == 0)                                                                                  \
                    x = rest + low;                                                                                    \
                else                                                                                                   \
                    x = span - rest + low, *slope = -*slope;                                                           \
            }                                                                                                          \
        }                                                                                                              \
        if (padding != ADJ_ZEROS) {                                                                                    \
            if (!(x > 0 && x < (type)(n - 1))) *slope = 0;                                                             \
            x = x <= 0 ? 0 : x >= (type)(n - 1) ? (type)(n - 1) : x;                                                   \
        }                                                                                                              \
        if (x < (type)2147483648.0 && x > (type)-2147483648.0) return x;                                               \
        *slope = 0;                                                                                                    \
        return -100;                                                                                                   \
    }                                                                                                                  \
                                                                                                                       \
    /* along one axis: the elements around a coordinate, -1 for none, their weights, and the weights' slopes */        \
    static ADJ_ALWAYS_INLINE int adj_factors_##suffix(const adj_corners *job, const int mode, int axis, type x,        \
                                                      int64_t *elements, type *weights, type *slopes) {                \
        int64_t n = job->lengths[axis], low;                                                                           \
        type slope = (type)((job->align ? n - 1 : n) / 2.0), part;                                                     \
        x = job->align ? (x + 1) * (type)((n - 1) / 2.0) : ((x + 1) * (type)n - 1) / 2;                                \
        x = adj_bounded_##suffix(x, n, mode == ADJ_BICUBIC ? ADJ_ZEROS : job->padding, job->align, &slope);            \
        if (mode == ADJ_NEAREST) {                                                                                     \
            elements[0] = adj_nearest(x);                                                                              \
            if (elements[0] >= n || elements[0] < 0) elements[0] = -1;                                                 \
            weights[0] = 1, slopes[0] = 0;                                                                             \
            return 1;                                                                                                  \
        }                                                                                                              \
        low = adj_whole(x);                                                                                            \
        part = x - (type)low;                                                                                          \
        if (mode == ADJ_BILINEAR) {                                                                                    \
            elements[0] = low >= 0 && low < n ? low : -1;                                                              \
            elements[1] = low >= -1 && low < n - 1 ? low + 1 : -1;                                                     \
            weights[0] = 1 - part, weights[1] = part;                                                                  \
            slopes[0] = -slope, slopes[1] = slope;                                                                     \
            return 2;                                                                                                  \
        }                                                                                                              \
        for (int k = 0; k < 4; k++) {                                                                                  \
            type unused = 0, at = adj_bounded_##suffix((type)(low + k - 1), n, job->padding, job->align, &unused);     \
            elements[k] = adj_nearest(at);                                                                             \
            if (elements[k] >= n || elements[k] < 0) elements[k] = -1;                                                 \
            type away = k == 0 ? part + 1 : k == 1 ? part : k == 2 ? 1 - part : 2 - part;                              \
            if (k == 1 || k == 2) {                                                                                    \
                weights[k] = ((type)1.25 * away - (type)2.25) * away * away + 1;                                       \
                slopes[k] = ((type)3.75 * away - (type)4.5) * away;                                                    \
            } else {                                                                                                   \
                weights[k] = (((type)-0.75 * away + (type)3.75) * away - 6) * away + 3;                                \
                slopes[k] = ((type)-2.25 * away + (type)7.5) * away - 6;                                               \
            }                                                                                                          \
            slopes[k] *= k < 2 ? slope : -slope;                                                                       \
        }                                                                                                              \
        return 4;                                                                                                      \
    }                                                                                                                  \
                                                                                                                       \
    /* All points; the grid names the last axis first. A place for an axis that is not there counts nothing. */        \
    static ADJ_ALWAYS_INLINE void adj_corners_of_##suffix(const adj_corners *job, const int ndim, const int mode,      \
                                                          const type *points, const type *g, type *out,                \
                                                          int64_t *places) {                                           \
        for (npy_intp p = 0; p < job->n; p++, points += ndim) {                                                        \
            int64_t elements[3][4] = {{0}};                                                                            \
            type w[3][4] = {{1}, {1}, {1}}, d[3][4], of[3] = {0, 0, 0};                                                \
            int count[3] = {1, 1, 1};                                                                                  \
            for (int axis = 0; axis < ndim; axis++)                                                                    \
                count[axis] = adj_factors_##suffix(job, mode, axis, points[ndim - 1 - axis], elements[axis], w[axis],  \
                                                   d[axis]);                                                           \
            const int64_t last = ndim > 1 ? job->lengths[1] : 1, depth = ndim > 2 ? job->lengths[2] : 1;               \
            for (int i = 0; i < count[0]; i++)                                                                         \
                for (int j = 0; j < count[1]; j++)                                                                     \
                    for (int k = 0; k < count[2]; k++) {                                                               \
                        int64_t a = elements[0][i], b = elements[1][j], c = elements[2][k];                            \
                        if (g == NULL) {                                                                               \
                            *out++ = ndim > 2 ? w[0][i] * w[1][j] * w[2][k] : ndim > 1 ? w[0][i] * w[1][j] : w[0][i];  \
                            *places++ = (a | b | c) < 0 ? -1 : (a * last + b) * depth + c;                             \
                            continue;                                                                                  \
                        }                                                                                              \
                        type of_weight = *g++;                                                                         \
                        of[0] += d[0][i] * w[1][j] * w[2][k] * of_weight;                                              \
                        if (ndim > 1) of[1] += w[0][i] * d[1][j] * w[2][k] * of_weight;                                \
                        if (ndim > 2) of[2] += w[0][i] * w[1][j] * d[2][k] * of_weight;                                \
                    }                                                                                                  \
            for (int axis = 0; g != NULL && axis < ndim; axis++) *out++ = of[ndim - 1 - axis];                         \
        }                                                                                                              \
    }                                                                                                                  \
    /* with constants of images of two axes, for the compiler */                                                       \
    static void adj_all_corners_##suffix(const adj_corners *job, const type *points, const type *g, type *out,         \
                                         int64_t *places) {                                                            \
        if (job->ndim != 2)                                                                                            \
            adj_corners_of_##suffix(job, job->ndim, job->mode, points, g, out, places);                                \
        else if (job->mode == ADJ_BILINEAR && g == NULL)                                                               \
            adj_corners_of_##suffix(job, 2, ADJ_BILINEAR, points, NULL, out, places);                                  \
        else if (job->mode == ADJ_BILINEAR)                                                                            \
            adj_corners_of_##suffix(job, 2, ADJ_BILINEAR, points, g, out, NULL);                                       \
        else if (job->mode == ADJ_NEAREST)                                                                             \
            adj_corners_of_##suffix(job, 2, ADJ_NEAREST, points, g, out, places);                                      \
        else                                                                                                           \
            adj_corners_of_##suffix(job, 2, ADJ_BICUBIC, points, g, out, places);                                      \
    }

ADJ_DEFINE_CORNERS(4, float)
ADJ_DEFINE_CORNERS(8, double)

/* The weights and places of the corners of points, or with the cotangents of the weights those of the points. */
static void adj_grid_corners(int item, const adj_corners *job, char *points, char *g, char *out, char *places) {
    if (item == 4)
        adj_all_corners_4(job, (const float *)points, (const float *)g, (float *)out, (int64_t *)places);
    else
        adj_all_corners_8(job, (const double *)points, (const double *)g, (double *)out, (int64_t *)places);
}

#include "optimized_end.h"
#endif
