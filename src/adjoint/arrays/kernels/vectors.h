/* Loops over vectors of the processor, each compiled for several kinds of processor; the best kind is selected at run
   time. `vectors_loops.h` has the loops; `vectors_kind.h` includes it for each type of elements, and is included here
   once for each kind. A kind is a vector width in bytes, and a set of instructions for the compiler. A compiler without
   vector types (MSVC) builds none of these loops, and callers use other methods. */

#ifndef ADJOINT_VECTORS_H
#define ADJOINT_VECTORS_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "numpy_arrays.h"
#include "vectors_intrinsics.h"
#include "vector_ufuncs_tables.h"
#include "optimized_begin.h"

/* Images of channels as grids that a kernel reads at shifts of one flat axis; see convolution.py. All axes are three.
   A phase writes source[start + i * step] to grid[first + i] for i < n along each axis. An element of the kernel reads
   the grid of its phase at its shift. */
typedef struct {
    int64_t n_phases, n_elements, lengths[3], results[3], reach, table[];
} adj_stack;

typedef struct {
    const adj_stack *stack;
    char *source, *target, *weights, *bias, *totals;  /* the elements' type is known to the loop */
    int64_t samples, groups, channels, rows;          /* channels and rows of one group */
    int64_t source_strides[5], target_strides[5];     /* in elements: of samples, channels and three axes */
    int64_t at_once, band, n_bands, n_pieces, parts;  /* samples or rows of an image that are worked on together */
    int64_t next;
    int failed;
} adj_windows_job;

/* Rows of elements: of `runs` pieces of `length` elements each. `mode` says which of two functions. */
typedef struct {
    char *x, *g, *weight, *bias, *out, *mean, *var, *of_mean, *of_var, *moments, *totals;
    int64_t rows, runs, length, row_step, run_step, period, weight_row, weight_run, parts, next;
    int per_element, mode;
    double eps;
} adj_rows_job;

/* A recurrent network over sequences in rows: step k has the rows from ends[k] to ends[k + 1]. `piece` samples are
   processed together. Missing arrays are NULL; `befores` are the states before each row. */
typedef struct {
    char *input_part, *weight, *bias, *hidden, *memory, *hiddens, *memories, *gates;
    char *of_hiddens, *of_memories, *of_input_part, *of_before, *of_hidden, *of_memory, *befores;
    int64_t *ends, moments, samples, units, piece, next;
    int cell, reverse, is_back, failed;
} adj_sequence_job;

/* Scores (moments, samples, classes); states (samples, length) by their classes; where a state may be leapt to, and be
   the last. `out` has the losses, or with g, their cotangents, the cotangents of the scores. */
typedef struct {
    char *log_probs, *skip, *last, *g, *out;
    int64_t *states, *steps, moments, samples, classes, length, next;
    int zero_infinity, failed;
} adj_paths_job;
/* a logarithm whose exponential is 0 */
#define ADJ_NEVER (-1e30)

/* the number of columns processed together, and the number of their elements summed before they are widened */
#define ADJ_COLUMNS 64
#define ADJ_FEW_RUNS 32

/* Arrays of n elements that a step of an optimizer changes: parameter, gradient, and the state, or NULL. */
typedef struct {
    char *at[5];
    int64_t n;
} adj_update;

/* `decay` times the parameter is added to the gradient, which ascends if maximize; the parameter is multiplied by
   `shrink`. */
typedef struct {
    adj_update *rows;
    int64_t n_rows, next;
    double numbers[5], decay, shrink;
    int rule, maximize, nesterov;
} adj_updates_job;
enum { ADJ_DESCEND, ADJ_ADAPT };

/* The distances y of all pairs of points x (points, coordinates), or, given their cotangents g, the points' cotangents.
   */
typedef struct {
    char *x, *y, *g, *out;
    int64_t points, coordinates;
    int norm, failed;
} adj_pairs_job;
enum { ADJ_SQUARES, ADJ_SIZES, ADJ_LARGEST };

/* The cells of rules/recurrent.py: how many parts the gates' sums have, and how many gates the backward pass reads. */
enum { ADJ_LSTM, ADJ_GRU, ADJ_TANH, ADJ_RELU };

#if defined(__GNUC__) && !defined(_MSC_VER)
static const struct { int parts, saved_gates; } adj_cells[] = {{4, 4}, {3, 4}, {1, 0}, {1, 0}};

#define ADJ_INLINE static inline __attribute__((always_inline, unused))
/* Not inlined: copies in each caller would add to the size, and save no time. */
#define ADJ_APART static __attribute__((noinline))
#define ADJ_JOIN_(a, b, c) a##_##b##_##c
#define ADJ_JOIN(a, b, c) ADJ_JOIN_(a, b, c)
#define ADJ_NAME(name) ADJ_JOIN(name, ADJ_T, ADJ_KIND)

#define adj_next(job) __atomic_fetch_add(&(job)->next, 1, __ATOMIC_ACQ_REL)

#if defined(__x86_64__)
#define ADJ_KINDS 3
#else
#define ADJ_KINDS 1
#endif

#define ADJ_KIND plain
#define ADJ_TARGET
#define ADJ_BYTES 16
#define ADJ_TILE 4
#include "small_begin.h"
#include "vectors_kind.h"
#include "optimized_end.h"

#if ADJ_KINDS == 3
#define ADJ_KIND avx2
#define ADJ_TARGET __attribute__((target("avx2,fma")))
#define ADJ_BYTES 32
#define ADJ_TILE 4
#include "vectors_kind.h"

#define ADJ_KIND avx512
#define ADJ_TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")))
#define ADJ_BYTES 64
#define ADJ_TILE 8
#include "vectors_kind.h"

#define ADJ_KINDS_OF(name, type) {name##_##type##_plain, name##_##type##_avx2, name##_##type##_avx512}
#else
#define ADJ_KINDS_OF(name, type) {name##_##type##_plain}
#endif
/* in the order of the loops' numbers: for each, of elements of 4 and 8 bytes, all kinds */
#define ADJ_LOOP(name) {ADJ_KINDS_OF(name, float), ADJ_KINDS_OF(name, double)}
static void (*const adj_loops[][2][ADJ_KINDS])(void *) = {
    ADJ_LOOP(adj_convolve), ADJ_LOOP(adj_correlate), ADJ_LOOP(adj_softmax), ADJ_LOOP(adj_softmax_back),
    ADJ_LOOP(adj_standardize), ADJ_LOOP(adj_standardize_back),
    ADJ_LOOP(adj_sequence), ADJ_LOOP(adj_paths), ADJ_LOOP(adj_update_all), ADJ_LOOP(adj_pairs),
    ADJ_LOOP(adj_standardize_columns), ADJ_LOOP(adj_standardize_columns_back),
    ADJ_LOOP(adj_distances), ADJ_LOOP(adj_distances_of_columns),
    ADJ_LOOP(adj_softmax_columns), ADJ_LOOP(adj_softmax_columns_back),
};

/* the loop with this number, for elements of `size` bytes and a kind of processor */
static void (*adj_loop_of(int number, int size, int kind))(void *) { return adj_loops[number][size == 8][kind]; }

#else
typedef void (*adj_vector_work)(void *);

/* there are no loops */
static adj_vector_work adj_loop_of(int number, int size, int kind) {
    (void)number;
    (void)size;
    (void)kind;
    return NULL;
}
#endif
#include "optimized_end.h"
#endif
