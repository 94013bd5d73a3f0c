/* The loops of vectors.h for one type of elements ADJ_T and one kind of processor. */

#define V ADJ_NAME(adj_vector)
#define T ADJ_T
#define WIDTH ((int)(ADJ_BYTES / sizeof(T)))
#define ADJ_ROUNDED(n) (((n) + WIDTH - 1) / WIDTH * WIDTH)

/* a vector anywhere in memory */
typedef T V __attribute__((vector_size(ADJ_BYTES), aligned(sizeof(T)), may_alias));
#include "vectors_fused.h"

/* a quarter of the widest: what every kind has */
#define Q ADJ_NAME(adj_quarter)
typedef T Q __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));

/* the sum of a vector's elements, in a fixed order */
ADJ_TARGET ADJ_INLINE T ADJ_NAME(adj_total)(const V *vector) {
    const Q *parts = (const Q *)vector;
    Q sum = parts[0];
    #pragma GCC unroll 4
    for (int i = 1; i < ADJ_BYTES / 16; i++) sum += parts[i];
    if (sizeof(T) == 8) return sum[0] + sum[1];
    return (sum[0] + sum[1]) + (sum[2 % (16 / sizeof(T))] + sum[3 % (16 / sizeof(T))]);
}

/* windows -------------------------------------------------------------------------------------------------------- */

/* What lies where in the memory of a thread: grids[phase][channel][plane], then rows of results. */
typedef struct {
    int64_t sample, n_samples, row, n_rows, inner, pitch, positions, plane;
} ADJ_NAME(adj_piece);

/* the piece with this number */
ADJ_TARGET ADJ_INLINE ADJ_NAME(adj_piece) ADJ_NAME(adj_piece_of)(const adj_windows_job *job, int64_t number) {
    const adj_stack *stack = job->stack;
    ADJ_NAME(adj_piece) p;
    p.inner = stack->lengths[1] * stack->lengths[2];
    p.pitch = stack->lengths[0] * p.inner;
    p.sample = number / job->n_bands * job->at_once;
    p.n_samples = ADJ_MIN(job->at_once, job->samples - p.sample);
    p.row = number % job->n_bands * job->band;
    p.n_rows = ADJ_MIN(job->band, stack->results[0] - p.row);
    p.positions = (p.n_samples - 1) * p.pitch + p.n_rows * p.inner;
    p.plane = p.positions + stack->reach + 2 * WIDTH;
    return p;
}

/* one row with any strides, plus a number */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_copy)(const T *from, int64_t step, T *to, int64_t to_step, int64_t n, T more) {
    if (step == 1 && to_step == 1)
        for (int64_t i = 0; i < n; i++) to[i] = from[i] + more;
    else
        for (int64_t i = 0; i < n; i++) to[i * to_step] = from[i * step] + more;
}

/* writes a piece's part of the images to the grids of all phases and channels */
ADJ_TARGET static void ADJ_NAME(adj_fill_grids)(const adj_windows_job *job, const ADJ_NAME(adj_piece) *p, T *grids) {
    const adj_stack *stack = job->stack;
    const int64_t *s = job->source_strides, *lengths = stack->lengths;
    int64_t channels = job->groups * job->channels;
    memset(grids, 0, stack->n_phases * channels * p->plane * sizeof(T));
    for (int64_t phase = 0; phase < stack->n_phases; phase++) {
        const int64_t *a = stack->table + 12 * phase, *b = a + 4, *c = a + 8;
        int64_t begin = ADJ_MAX(a[0], p->row), end = a[0] + a[3];
        /* no further than the rows of results read, which is `reach` beyond them */
        end = ADJ_MIN(end, p->row + p->n_rows + stack->reach / p->inner);
        for (int64_t channel = 0; channel < channels; channel++, grids += p->plane)
            for (int64_t k = 0; k < p->n_samples; k++) {
                const T *image = (const T *)job->source + (p->sample + k) * s[0] + channel * s[1];
                for (int64_t i = begin; i < end; i++)
                    for (int64_t j = b[0]; j < b[0] + b[3]; j++) {
                        const T *row = image + (a[1] + (i - a[0]) * a[2]) * s[2] + (b[1] + (j - b[0]) * b[2]) * s[3];
                        T *grid = grids + k * p->pitch + (i - p->row) * p->inner + j * lengths[2];
                        ADJ_NAME(adj_copy)(row + c[1] * s[4], c[2] * s[4], grid + c[0], 1, c[3], 0);
                    }
            }
    }
}

/* results[r, p] = sum over k of weights[k, r] * source[offsets[k] + p] for rows r and vectors of positions p */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_tile)(const int rows, const int columns, const T *source,
                                              const int64_t *offsets, int64_t n, const T *weights, T *results,
                                              int64_t step) {
    V sums[ADJ_TILE][4];
    #pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
        #pragma GCC unroll 4
        for (int c = 0; c < columns; c++) sums[r][c] = (V){0};
    for (int64_t k = 0; k < n; k++, weights += rows) {
        const T *here = source + offsets[k];
        V seen[4];
        #pragma GCC unroll 4
        for (int c = 0; c < columns; c++) seen[c] = *(const V *)(here + c * WIDTH);
        #pragma GCC unroll 8
        for (int r = 0; r < rows; r++)
            #pragma GCC unroll 4
            for (int c = 0; c < columns; c++) sums[r][c] = ADJ_FMA(ADJ_ALL(weights[r]), seen[c], sums[r][c]);
    }
    #pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
        #pragma GCC unroll 4
        for (int c = 0; c < columns; c++) *(V *)(results + r * step + c * WIDTH) = sums[r][c];
}

#define ADJ_ROWS_OF_TILE(rows, columns) \
    case rows: ADJ_NAME(adj_tile)(rows, columns, source, offsets, n, weights, results, step); break;

/* adj_tile with numbers of rows and columns that the compiler knows */
ADJ_TARGET static void ADJ_NAME(adj_tiles)(int64_t rows, int64_t columns, const T *source, const int64_t *offsets,
                                           int64_t n, const T *weights, T *results, int64_t step) {
    if (columns == 2) switch (rows) {
#if ADJ_TILE == 8
        ADJ_ROWS_OF_TILE(8, 2) ADJ_ROWS_OF_TILE(7, 2) ADJ_ROWS_OF_TILE(6, 2) ADJ_ROWS_OF_TILE(5, 2)
#endif
        ADJ_ROWS_OF_TILE(4, 2) ADJ_ROWS_OF_TILE(3, 2) ADJ_ROWS_OF_TILE(2, 2) ADJ_ROWS_OF_TILE(1, 2)
    } else switch (rows) {
#if ADJ_TILE == 8
        ADJ_ROWS_OF_TILE(8, 1) ADJ_ROWS_OF_TILE(7, 1) ADJ_ROWS_OF_TILE(6, 1) ADJ_ROWS_OF_TILE(5, 1)
#endif
        ADJ_ROWS_OF_TILE(4, 1) ADJ_ROWS_OF_TILE(3, 1) ADJ_ROWS_OF_TILE(2, 1) ADJ_ROWS_OF_TILE(1, 1)
    }
}

/* where each channel and element reads, from the first channel of a group on */
ADJ_TARGET static void ADJ_NAME(adj_offsets)(const adj_windows_job *job, int64_t plane, int64_t *offsets) {
    const adj_stack *stack = job->stack;
    const int64_t *element = stack->table + 12 * stack->n_phases;
    for (int64_t c = 0; c < job->channels; c++)
        for (int64_t e = 0; e < stack->n_elements; e++)
            *offsets++ = (element[2 * e] * job->groups * job->channels + c) * plane + element[2 * e + 1];
}

/* writes a row of a piece's results, plus a bias, to the target */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_write)(const adj_windows_job *job, const ADJ_NAME(adj_piece) *p,
                                               const T *results, int64_t row, T bias) {
    const int64_t *lengths = job->stack->lengths, *n = job->stack->results, *t = job->target_strides;
    for (int64_t k = 0; k < p->n_samples; k++) {
        T *image = (T *)job->target + (p->sample + k) * t[0] + row * t[1] + p->row * t[2];
        for (int64_t i = 0; i < p->n_rows; i++)
            for (int64_t j = 0; j < n[1]; j++)
                ADJ_NAME(adj_copy)(results + k * p->pitch + i * p->inner + j * lengths[2], 1,
                                   image + i * t[2] + j * t[3], t[4], n[2], bias);
    }
}

/* The memory of a thread, from a multiple of 64 on. */
#define ADJ_MEMORY(size) \
    char *memory = (char *)malloc((size) + 64); \
    if (memory == NULL) { __atomic_store_n(&job->failed, 1, __ATOMIC_RELEASE); return; } \
    T *grids = (T *)(((uintptr_t)memory + 63) & ~(uintptr_t)63)

/* Weights lie as [group][tile of rows][channel][element][row]. */
ADJ_TARGET static void ADJ_NAME(adj_convolve)(void *of) {
    adj_windows_job *job = (adj_windows_job *)of;
    const adj_stack *stack = job->stack;
    ADJ_NAME(adj_piece) p = ADJ_NAME(adj_piece_of)(job, 0);
    int64_t n = job->channels * stack->n_elements, channels = job->groups * job->channels;
    int64_t step = ADJ_ROUNDED(p.positions + 2 * WIDTH), size = ADJ_ROUNDED(stack->n_phases * channels * p.plane);
    int64_t plane = 0, number;
    ADJ_MEMORY((size + job->rows * step) * sizeof(T) + n * sizeof(int64_t) + 64);
    T *results = grids + size;
    int64_t *offsets = (int64_t *)(((uintptr_t)(results + job->rows * step) + 7) & ~(uintptr_t)7);
    while ((number = adj_next(job)) < job->n_pieces) {
        p = ADJ_NAME(adj_piece_of)(job, number);
        if (p.plane != plane) ADJ_NAME(adj_offsets)(job, plane = p.plane, offsets);
        ADJ_NAME(adj_fill_grids)(job, &p, grids);
        for (int64_t group = 0; group < job->groups; group++) {
            const T *source = grids + group * job->channels * p.plane;
            const T *weights = (const T *)job->weights + group * job->rows * n;
            for (int64_t at = 0; at < p.positions; at += 2 * WIDTH)
                for (int64_t row = 0; row < job->rows; row += ADJ_TILE)
                    ADJ_NAME(adj_tiles)(ADJ_MIN(ADJ_TILE, job->rows - row), p.positions - at > WIDTH ? 2 : 1,
                                        source + at, offsets, n, weights + row * n, results + row * step + at, step);
            for (int64_t row = 0; row < job->rows; row++) {
                int64_t of_all = group * job->rows + row;
                T bias = job->bias ? ((const T *)job->bias)[of_all] : 0;
                ADJ_NAME(adj_write)(job, &p, results + row * step, of_all, bias);
            }
        }
    }
    free(memory);
}

/* totals[r, k] += sum over p of rows[r, p] * source[offsets[k] + p], for `n_rows` rows and three k */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_moments)(const int n_rows, const T *rows, int64_t step, const T *source,
                                                 const int64_t *offsets, int64_t positions, T *totals, int64_t width) {
    V sums[ADJ_TILE][3];
    const T *of[3] = {source + offsets[0], source + offsets[1], source + offsets[2]};
    #pragma GCC unroll 8
    for (int r = 0; r < n_rows; r++)
        #pragma GCC unroll 3
        for (int k = 0; k < 3; k++) sums[r][k] = (V){0};
    for (int64_t at = 0; at < positions; at += WIDTH) {
        V seen[3];
        #pragma GCC unroll 3
        for (int k = 0; k < 3; k++) seen[k] = *(const V *)(of[k] + at);
        #pragma GCC unroll 8
        for (int r = 0; r < n_rows; r++) {
            V row = *(const V *)(rows + r * step + at);
            #pragma GCC unroll 3
            for (int k = 0; k < 3; k++) sums[r][k] = ADJ_FMA(row, seen[k], sums[r][k]);
        }
    }
    #pragma GCC unroll 8
    for (int r = 0; r < n_rows; r++)
        #pragma GCC unroll 3
        for (int k = 0; k < 3; k++) totals[r * width + k] += ADJ_NAME(adj_total)(&sums[r][k]);
}

#define ADJ_ROWS_OF_MOMENTS(n) \
    case n: ADJ_NAME(adj_moments)(n, rows, step, source, offsets, positions, totals, width); break;

/* adj_moments with a number of rows that the compiler knows */
ADJ_TARGET static void ADJ_NAME(adj_all_moments)(int64_t n, const T *rows, int64_t step, const T *source,
                                                 const int64_t *offsets, int64_t positions, T *totals, int64_t width) {
    switch (n) {
#if ADJ_TILE == 8
        ADJ_ROWS_OF_MOMENTS(8) ADJ_ROWS_OF_MOMENTS(7) ADJ_ROWS_OF_MOMENTS(6) ADJ_ROWS_OF_MOMENTS(5)
#endif
        ADJ_ROWS_OF_MOMENTS(4) ADJ_ROWS_OF_MOMENTS(3) ADJ_ROWS_OF_MOMENTS(2) ADJ_ROWS_OF_MOMENTS(1)
    }
}

/* The products of target (rows of a group, at each position of the windows) with the windows of source, summed over the
   positions: totals[part][group][row][channel][element], where the last two together are padded to a multiple of three.
   Pieces are distributed in `parts` with separate totals, so that sums do not depend on the speed of threads. */
ADJ_TARGET static void ADJ_NAME(adj_correlate)(void *of) {
    adj_windows_job *job = (adj_windows_job *)of;
    const adj_stack *stack = job->stack;
    const int64_t *lengths = stack->lengths, *t = job->target_strides;
    ADJ_NAME(adj_piece) p = ADJ_NAME(adj_piece_of)(job, 0);
    int64_t n = job->channels * stack->n_elements, width = (n + 2) / 3 * 3, channels = job->groups * job->channels;
    int64_t step = ADJ_ROUNDED(p.positions + 2 * WIDTH), size = ADJ_ROUNDED(stack->n_phases * channels * p.plane);
    int64_t plane = 0, part;
    ADJ_MEMORY((size + job->rows * step) * sizeof(T) + width * sizeof(int64_t) + 64);
    T *rows = grids + size;
    int64_t *offsets = (int64_t *)(((uintptr_t)(rows + job->rows * step) + 7) & ~(uintptr_t)7);
    for (int64_t k = n; k < width; k++) offsets[k] = 0;
    while ((part = adj_next(job)) < job->parts) {
        int64_t end = job->n_pieces * (part + 1) / job->parts;
        for (int64_t number = job->n_pieces * part / job->parts; number < end; number++) {
            p = ADJ_NAME(adj_piece_of)(job, number);
            if (p.plane != plane) ADJ_NAME(adj_offsets)(job, plane = p.plane, offsets);
            ADJ_NAME(adj_fill_grids)(job, &p, grids);
            for (int64_t group = 0; group < job->groups; group++) {
                memset(rows, 0, job->rows * step * sizeof(T));
                for (int64_t row = 0; row < job->rows; row++)
                    for (int64_t k = 0; k < p.n_samples; k++) {
                        const T *image = (const T *)job->target + (p.sample + k) * t[0];
                        image += (group * job->rows + row) * t[1] + p.row * t[2];
                        for (int64_t i = 0; i < p.n_rows; i++)
                            for (int64_t j = 0; j < stack->results[1]; j++)
                                ADJ_NAME(adj_copy)(image + i * t[2] + j * t[3], t[4],
                                                   rows + row * step + k * p.pitch + i * p.inner + j * lengths[2], 1,
                                                   stack->results[2], 0);
                    }
                const T *source = grids + group * job->channels * p.plane;
                T *totals = (T *)job->totals + (part * job->groups + group) * job->rows * width;
                for (int64_t row = 0; row < job->rows; row += ADJ_TILE)
                    for (int64_t k = 0; k < width; k += 3)
                        ADJ_NAME(adj_all_moments)(ADJ_MIN(ADJ_TILE, job->rows - row), rows + row * step, step, source,
                                                  offsets + k, p.positions, totals + row * width + k, width);
            }
        }
    }
    free(memory);
}

/* rows ------------------------------------------------------------------------------------------------------------ */

#include "vectors_exp.h"
#include "vectors_log.h"

/* the elements of a row that fill no vector, with others behind them */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_rest)(const T *from, int64_t n, T others, V *result) {
    T all[WIDTH];
    for (int i = 0; i < WIDTH; i++) all[i] = i < n ? from[i] : others;
    *result = *(V *)all;
}
/* stores the first n elements of a vector */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_store_rest)(T *to, int64_t n, const V *values) {
    for (int64_t i = 0; i < n; i++) to[i] = ((const T *)values)[i];
}

/* the sum of exp(x - top) of n elements, which are written to `powers` unless it is NULL */
ADJ_TARGET ADJ_APART T ADJ_NAME(adj_powers)(const T *x, int64_t n, T top, T *powers) {
    double total = 0;
    int64_t i = 0;
    V e;
    while (i + WIDTH <= n) {
        int64_t end = ADJ_MIN(n, i + 64 * WIDTH);
        V sum = {0};
        for (; i + WIDTH <= end; i += WIDTH) {
            e = *(const V *)(x + i) - top;
            ADJ_NAME(adj_exp)(&e, &e);
            if (powers) *(V *)(powers + i) = e;
            sum += e;
        }
        total += ADJ_NAME(adj_total)(&sum);
    }
    if (i < n) {
        ADJ_NAME(adj_rest)(x + i, n - i, (T)-INFINITY, &e);
        e -= top;
        ADJ_NAME(adj_exp)(&e, &e);
        if (powers) ADJ_NAME(adj_store_rest)(powers + i, n - i, &e);
        for (int64_t k = 0; k < n - i; k++) total += e[k];
    }
    return (T)total;
}

/* the largest element of a row */
ADJ_TARGET ADJ_INLINE T ADJ_NAME(adj_top)(const T *x, int64_t n) {
    T top = x[0];
    int64_t i = 0;
    if (n >= WIDTH) {
        V tops = *(const V *)x;
        for (i = WIDTH; i + WIDTH <= n; i += WIDTH) {
            V here = *(const V *)(x + i);
            W larger = here > tops;
            ADJ_NAME(adj_choose)(&larger, &here, &tops, &tops);
        }
        for (int k = 0; k < WIDTH; k++) top = tops[k] > top ? tops[k] : top;
    }
    for (; i < n; i++) top = x[i] > top ? x[i] : top;
    return top;
}

/* exp(x - top) over its sum, or x - top - log of that */
ADJ_TARGET static void ADJ_NAME(adj_softmax)(void *of) {
    adj_rows_job *job = (adj_rows_job *)of;
    int64_t n = job->length, part;
    while ((part = adj_next(job)) < job->parts)
        for (int64_t row = job->rows * part / job->parts; row < job->rows * (part + 1) / job->parts; row++) {
            const T *x = (const T *)job->x + row * n;
            T *out = (T *)job->out + row * n, top = ADJ_NAME(adj_top)(x, n);
            if (job->mode) {
                T sum = ADJ_C(logf, log)(ADJ_NAME(adj_powers)(x, n, top, NULL));
                for (int64_t i = 0; i < n; i++) out[i] = (x[i] - top) - sum;
            } else {
                T sum = ADJ_NAME(adj_powers)(x, n, top, out);
                for (int64_t i = 0; i < n; i++) out[i] /= sum;
            }
        }
}

/* with y = softmax: y * (g - sum(g * y)); with y = log_softmax: g - exp(y) * sum(g) */
ADJ_TARGET static void ADJ_NAME(adj_softmax_back)(void *of) {
    adj_rows_job *job = (adj_rows_job *)of;
    int64_t n = job->length, part;
    while ((part = adj_next(job)) < job->parts)
        for (int64_t row = job->rows * part / job->parts; row < job->rows * (part + 1) / job->parts; row++) {
            const T *g = (const T *)job->g + row * n, *y = (const T *)job->x + row * n;
            T *out = (T *)job->out + row * n, total = 0;
            V sums[2] = {{0}, {0}}, e;
            int64_t i = 0;
            if (job->mode) {
                for (; i + 2 * WIDTH <= n; i += 2 * WIDTH) {
                    sums[0] += *(const V *)(g + i);
                    sums[1] += *(const V *)(g + i + WIDTH);
                }
                for (; i < n; i++) total += g[i];
                sums[0] += sums[1];
                total += ADJ_NAME(adj_total)(sums);
                for (i = 0; i + WIDTH <= n; i += WIDTH) {
                    e = *(const V *)(y + i);
                    ADJ_NAME(adj_exp)(&e, &e);
                    *(V *)(out + i) = *(const V *)(g + i) - e * total;
                }
                if (i < n) {
                    ADJ_NAME(adj_rest)(y + i, n - i, 0, &e);
                    ADJ_NAME(adj_exp)(&e, &e);
                    for (int64_t k = 0; i + k < n; k++) out[i + k] = g[i + k] - e[k] * total;
                }
            } else {
                for (; i + 2 * WIDTH <= n; i += 2 * WIDTH) {
                    sums[0] = ADJ_FMA(*(const V *)(g + i), *(const V *)(y + i), sums[0]);
                    sums[1] = ADJ_FMA(*(const V *)(g + i + WIDTH), *(const V *)(y + i + WIDTH), sums[1]);
                }
                for (; i < n; i++) total += g[i] * y[i];
                sums[0] += sums[1];
                total += ADJ_NAME(adj_total)(sums);
                for (i = 0; i < n; i++) out[i] = g[i] * y[i] - y[i] * total;
            }
        }
}

/* The elements of n columns, at most a vector, and others behind them: what follows in memory, which has `rest`
   elements from here on, or zeros. */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_columns_at)(const T *from, int64_t n, int64_t rest, V *result) {
    if (rest >= WIDTH) *result = *(const V *)from;
    else ADJ_NAME(adj_rest)(from, n, 0, result);
}
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_put_columns)(T *to, int64_t n, const V *values) {
    if (n >= WIDTH) *(V *)to = *values;
    else memcpy(to, values, n * sizeof(T));
}

/* The columns of a part, a vector at a time: `left` are at x, g and out, and `rest` elements from there on. A part has
   ADJ_COLUMNS columns of one of the matrices (runs, rows), which are row_step apart. */
#define ADJ_EACH_COLUMN                                                                                                \
    const int64_t blocks = (job->rows + ADJ_COLUMNS - 1) / ADJ_COLUMNS, step = job->run_step, runs = job->runs;        \
    const int64_t all = job->parts / blocks * job->row_step;                                                           \
    for (int64_t part; (part = adj_next(job)) < job->parts;)                                                           \
        for (int64_t i = part % blocks * ADJ_COLUMNS, end = ADJ_MIN(i + ADJ_COLUMNS, job->rows),                       \
                     at = part / blocks * job->row_step + i, left; (left = end - i) > 0; i += WIDTH, at += WIDTH)
#define ADJ_READ_RUN(from, result) ADJ_NAME(adj_columns_at)(from + run * step, left, all - at - run * step, result)

/* Adds a vector to sums, which are widened after ADJ_FEW_RUNS runs. */
#define ADJ_ADD_RUN(value)                                                                                             \
    few += (value);                                                                                                    \
    if (run % ADJ_FEW_RUNS == ADJ_FEW_RUNS - 1 || run == runs - 1) {                                                   \
        for (int k = 0; k < WIDTH; k++) wide[k] += few[k];                                                             \
        few = (V){0};                                                                                                  \
    }

/* adj_softmax along columns. Few runs are kept near, since runs far from each other compete for places in the cache. */
ADJ_TARGET static void ADJ_NAME(adj_softmax_columns)(void *of) {
    adj_rows_job *job = (adj_rows_job *)of;
    V near[ADJ_COLUMNS];
    ADJ_EACH_COLUMN {
        const T *x = (const T *)job->x + at;
        T *out = (T *)job->out + at;
        const int keeps = runs <= ADJ_COLUMNS;
        V top, here, few = {0};
        double wide[WIDTH] = {0};
        for (int64_t run = 0; run < runs; run++) {
            ADJ_READ_RUN(x, &here);
            if (run == 0) top = here;
            W larger = here > top;
            ADJ_NAME(adj_choose)(&larger, &here, &top, &top);
            if (keeps) near[run] = here;
        }
        for (int64_t run = 0; run < runs; run++) {
            if (keeps) here = near[run];
            else ADJ_READ_RUN(x, &here);
            here -= top;
            if (keeps && job->mode) near[run] = here;
            ADJ_NAME(adj_exp)(&here, &here);
            if (keeps && !job->mode) near[run] = here;
            ADJ_ADD_RUN(here)
        }
        for (int k = 0; k < WIDTH; k++) few[k] = (T)wide[k];
        if (job->mode) {
            /* at least 1, or NaN, which the difference keeps */
            V undefined = few - few;
            few -= 1;
            ADJ_NAME(adj_log_of_sum)(&few, &few);
            few += undefined;
        }
        for (int64_t run = 0; run < runs; run++) {
            if (keeps) here = near[run];
            else {
                ADJ_READ_RUN(x, &here);
                here -= top;
                if (!job->mode) ADJ_NAME(adj_exp)(&here, &here);
            }
            if (job->mode) here -= few;
            else here /= few;
            ADJ_NAME(adj_put_columns)(out + run * step, left, &here);
        }
    }
}

/* adj_softmax_back along columns */
ADJ_TARGET static void ADJ_NAME(adj_softmax_columns_back)(void *of) {
    adj_rows_job *job = (adj_rows_job *)of;
    ADJ_EACH_COLUMN {
        const T *g = (const T *)job->g + at, *y = (const T *)job->x + at;
        T *out = (T *)job->out + at;
        V few = {0}, passed, e;
        double wide[WIDTH] = {0};
        for (int64_t run = 0; run < runs; run++) {
            ADJ_READ_RUN(g, &passed);
            if (!job->mode) {
                ADJ_READ_RUN(y, &e);
                passed *= e;
            }
            ADJ_ADD_RUN(passed)
        }
        for (int k = 0; k < WIDTH; k++) few[k] = (T)wide[k];
        for (int64_t run = 0; run < runs; run++) {
            ADJ_READ_RUN(g, &passed);
            ADJ_READ_RUN(y, &e);
            if (job->mode) ADJ_NAME(adj_exp)(&e, &e);
            else passed *= e;
            passed -= e * few;
            ADJ_NAME(adj_put_columns)(out + run * step, left, &passed);
        }
    }
}
#undef ADJ_READ_RUN
#undef ADJ_ADD_RUN
#undef ADJ_EACH_COLUMN

/* the sum of n elements, in single precision of no more than a few hundred at once */
ADJ_TARGET ADJ_APART double ADJ_NAME(adj_sum)(const T *x, int64_t n) {
    double total = 0;
    while (n > 0) {
        int64_t here = ADJ_MIN(n, 64 * WIDTH), i = 0;
        V sums[4] = {{0}, {0}, {0}, {0}};
        for (; i + 4 * WIDTH <= here; i += 4 * WIDTH)
            #pragma GCC unroll 4
            for (int k = 0; k < 4; k++) sums[k] += *(const V *)(x + i + k * WIDTH);
        for (; i + WIDTH <= here; i += WIDTH) sums[0] += *(const V *)(x + i);
        for (; i < here; i++) total += x[i];
        sums[0] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        total += ADJ_NAME(adj_total)(sums);
        x += here;
        n -= here;
    }
    return total;
}

/* the sum of squares of the differences from the mean */
ADJ_TARGET ADJ_APART double ADJ_NAME(adj_squares)(const T *x, int64_t n, T mean) {
    double total = 0;
    while (n > 0) {
        int64_t here = ADJ_MIN(n, 64 * WIDTH), i = 0;
        V sums[4] = {{0}, {0}, {0}, {0}};
        for (; i + 4 * WIDTH <= here; i += 4 * WIDTH)
            #pragma GCC unroll 4
            for (int k = 0; k < 4; k++) {
                V offset = *(const V *)(x + i + k * WIDTH) - mean;
                sums[k] = ADJ_FMA(offset, offset, sums[k]);
            }
        for (; i + WIDTH <= here; i += WIDTH) {
            V offset = *(const V *)(x + i) - mean;
            sums[0] = ADJ_FMA(offset, offset, sums[0]);
        }
        for (; i < here; i++) total += (x[i] - mean) * (x[i] - mean);
        sums[0] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        total += ADJ_NAME(adj_total)(sums);
        x += here;
        n -= here;
    }
    return total;
}

/* Rows brought to mean 0 and variance 1, times weight and plus bias. A row is some runs of elements. Weights are one
   number for each element of a row, or (weight_row, weight_run) one for each run. */
ADJ_TARGET static void ADJ_NAME(adj_standardize)(void *of) {
    adj_rows_job *job = (adj_rows_job *)of;
    const T *weights = (const T *)job->weight, *biases = (const T *)job->bias;
    int64_t n = job->length, step = job->run_step, part;
    while ((part = adj_next(job)) < job->parts)
        for (int64_t row = job->rows * part / job->parts; row < job->rows * (part + 1) / job->parts; row++) {
            const T *x = (const T *)job->x + row * job->row_step;
            T *out = (T *)job->out + row * job->row_step;
            double total = 0, squares = 0;
            for (int64_t run = 0; run < job->runs; run++) total += ADJ_NAME(adj_sum)(x + run * step, n);
            T mean = (T)(total / (job->runs * n));
            for (int64_t run = 0; run < job->runs; run++) squares += ADJ_NAME(adj_squares)(x + run * step, n, mean);
            T var = (T)(squares / (job->runs * n)), factor = 1 / ADJ_C(sqrtf, sqrt)(var + (T)job->eps);
            ((T *)job->mean)[row] = mean;
            ((T *)job->var)[row] = var;
            if (job->per_element) {
                if (weights && biases)
                    for (int64_t i = 0; i < n; i++) out[i] = (x[i] - mean) * factor * weights[i] + biases[i];
                else if (weights)
                    for (int64_t i = 0; i < n; i++) out[i] = (x[i] - mean) * factor * weights[i];
                else
                    for (int64_t i = 0; i < n; i++) out[i] = (x[i] - mean) * factor + biases[i];
                continue;
            }
            for (int64_t run = 0; run < job->runs; run++) {
                int64_t place = row % job->period * job->weight_row + run * job->weight_run;
                T scale = weights ? factor * weights[place] : factor, shift = biases ? biases[place] : 0;
                const T *from = x + run * step;
                T *to = out + run * step;
                for (int64_t i = 0; i < n; i++) to[i] = (from[i] - mean) * scale + shift;
            }
        }
}

/* The sum of the squared distances of n numbers, `step` apart, from their mean. It uses distances from the first
   number, so equal numbers give 0. */
ADJ_TARGET ADJ_APART double ADJ_NAME(adj_distances_from_first)(const T *x, int64_t n, int64_t step) {
    double total = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) total += x[i * step] - x[0];
    T mean = (T)(total / n);
    for (int64_t i = 0; i < n; i++) {
        T distance = (x[i * step] - x[0]) - mean;
        squares += distance * distance;
    }
    return squares;
}

/* whether a sum of squared distances of n numbers may be all rounding errors of their mean */
ADJ_TARGET ADJ_INLINE int ADJ_NAME(adj_is_rounding)(double squares, double mean, int64_t n) {
    double error = n * sqrt((double)n) * (sizeof(T) == 4 ? 0x1p-23 : 0x1p-52) * fabs(mean);
    return squares <= error * error;
}

/* For each row the sum of the squared distances of its elements from their mean. */
ADJ_TARGET static void ADJ_NAME(adj_distances)(void *of) {
    adj_rows_job *job = (adj_rows_job *)of;
    int64_t n = job->length, part;
    while ((part = adj_next(job)) < job->parts)
        for (int64_t row = job->rows * part / job->parts; row < job->rows * (part + 1) / job->parts; row++) {
            const T *x = (const T *)job->x + row * job->row_step;
            T mean = (T)(ADJ_NAME(adj_sum)(x, n) / n);
            double squares = ADJ_NAME(adj_squares)(x, n, mean);
            if (ADJ_NAME(adj_is_rounding)(squares, mean, n)) squares = ADJ_NAME(adj_distances_from_first)(x, n, 1);
            ((T *)job->out)[row] = (T)squares;
        }
}

/* sums of g * weight and g * weight * (x - mean); weight NULL stands for ones */
ADJ_TARGET ADJ_APART void ADJ_NAME(adj_sums_back)(const T *g, const T *x, const T *weight, int64_t n, T mean,
                                                   double *total, double *moment) {
    while (n > 0) {
        int64_t here = ADJ_MIN(n, 64 * WIDTH), i = 0;
        V totals[2] = {{0}, {0}}, moments[2] = {{0}, {0}};
        for (; i + 2 * WIDTH <= here; i += 2 * WIDTH)
            #pragma GCC unroll 2
            for (int k = 0; k < 2; k++) {
                V passed = *(const V *)(g + i + k * WIDTH);
                if (weight) passed *= *(const V *)(weight + i + k * WIDTH);
                totals[k] += passed;
                moments[k] = ADJ_FMA(passed, *(const V *)(x + i + k * WIDTH) - mean, moments[k]);
            }
        for (; i < here; i++) {
            T passed = weight ? g[i] * weight[i] : g[i];
            *total += passed;
            *moment += passed * (x[i] - mean);
        }
        totals[0] += totals[1];
        moments[0] += moments[1];
        *total += ADJ_NAME(adj_total)(totals);
        *moment += ADJ_NAME(adj_total)(moments);
        g += here;
        x += here;
        if (weight) weight += here;
        n -= here;
    }
}

/* The way back: `out` unless it is NULL; sums of g and of g times the standardised input, for each part and element, or
   for each row and run. */
ADJ_TARGET static void ADJ_NAME(adj_standardize_back)(void *of) {
    adj_rows_job *job = (adj_rows_job *)of;
    const T *weights = (const T *)job->weight;
    int64_t n = job->length, step = job->run_step, all = n * job->runs, part;
    while ((part = adj_next(job)) < job->parts)
        for (int64_t row = job->rows * part / job->parts; row < job->rows * (part + 1) / job->parts; row++) {
            const T *x = (const T *)job->x + row * job->row_step, *g = (const T *)job->g + row * job->row_step;
            T *out = job->out ? (T *)job->out + row * job->row_step : NULL;
            T mean = ((const T *)job->mean)[row];
            T factor = 1 / ADJ_C(sqrtf, sqrt)(((const T *)job->var)[row] + (T)job->eps);
            double total = 0, moment = 0;
            if (job->per_element) {
                T *of_weight = (T *)job->moments + part * n, *of_bias = (T *)job->totals + part * n;
                ADJ_NAME(adj_sums_back)(g, x, weights, n, mean, &total, &moment);
                for (int64_t i = 0; i < n; i++) {
                    of_weight[i] += g[i] * ((x[i] - mean) * factor);
                    of_bias[i] += g[i];
                }
            } else
                for (int64_t run = 0; run < job->runs; run++) {
                    double t = 0, m = 0;
                    int64_t place = row % job->period * job->weight_row + run * job->weight_run;
                    ADJ_NAME(adj_sums_back)(g + run * step, x + run * step, NULL, n, mean, &t, &m);
                    ((T *)job->totals)[row * job->runs + run] = (T)t;
                    ((T *)job->moments)[row * job->runs + run] = (T)(m * factor);
                    total += weights ? t * weights[place] : t;
                    moment += weights ? m * weights[place] : m;
                }
            if (out == NULL) continue;
            /* slope and shift as in rules/normalization.py, the slope for x - mean */
            T slope = (T)((2 * ((const T *)job->of_var)[row] / factor - factor * (moment * factor)) / all) * factor;
            T shift = (T)((((const T *)job->of_mean)[row] - factor * total) / all);
            for (int64_t run = 0; run < job->runs; run++) {
                int64_t place = row % job->period * job->weight_row + run * job->weight_run;
                const T *from = g + run * step, *at = x + run * step;
                T *to = out + run * step;
                if (job->per_element && weights)
                    for (int64_t i = 0; i < n; i++)
                        to[i] = from[i] * (factor * weights[i]) + ((at[i] - mean) * slope + shift);
                else {
                    T scale = weights && !job->per_element ? factor * weights[place] : factor;
                    for (int64_t i = 0; i < n; i++) to[i] = from[i] * scale + ((at[i] - mean) * slope + shift);
                }
            }
        }
}

/* Statements for n columns: for whole vectors first, then for single columns. The empty assembler statement keeps the
   compiler from making vectors of the single columns, which would make the function ten times as long. */
#define ADJ_GIVEN(at) (*(const V *)((at) + i))
#define ADJ_PART(at) (*(V *)((at) + i))
#define ADJ_ONE_BY_ONE(...) { __asm__ volatile(""); __VA_ARGS__; }
#define ADJ_COLUMNS_OF(n, of_vector, ...)                                                                              \
    {                                                                                                                  \
        int64_t i = 0;                                                                                                 \
        for (; i + WIDTH <= n; i += WIDTH) { of_vector; }                                                              \
        for (; i < n; i++) ADJ_ONE_BY_ONE(__VA_ARGS__)                                                                 \
    }

/* The means of n columns of `runs` elements, `step` apart, and the sums of the squared distances from them. */
ADJ_TARGET ADJ_APART void ADJ_NAME(adj_moments_of_columns)(const T *restrict x, int64_t n, int64_t runs, int64_t step,
                                                           T *restrict mean, double *restrict squares) {
    double totals[ADJ_COLUMNS] = {0};
    for (int64_t begin = 0; begin < runs; begin += ADJ_FEW_RUNS) {
        T sums[ADJ_COLUMNS] = {0};
        for (int64_t run = begin; run < ADJ_MIN(begin + ADJ_FEW_RUNS, runs); run++)
            ADJ_COLUMNS_OF(n, ADJ_PART(sums) += ADJ_GIVEN(x + run * step), sums[i] += x[run * step + i])
        for (int64_t i = 0; i < n; i++) ADJ_ONE_BY_ONE(totals[i] += sums[i])
    }
    for (int64_t i = 0; i < n; i++) ADJ_ONE_BY_ONE(mean[i] = (T)(totals[i] / runs), squares[i] = 0)
    for (int64_t begin = 0; begin < runs; begin += ADJ_FEW_RUNS) {
        T sums[ADJ_COLUMNS] = {0};
        for (int64_t run = begin; run < ADJ_MIN(begin + ADJ_FEW_RUNS, runs); run++)
            ADJ_COLUMNS_OF(n, V offset = ADJ_GIVEN(x + run * step) - ADJ_GIVEN(mean); ADJ_PART(sums) += offset * offset,
                           T offset = x[run * step + i] - mean[i]; sums[i] += offset * offset)
        for (int64_t i = 0; i < n; i++) ADJ_ONE_BY_ONE(squares[i] += sums[i])
    }
}

/* adj_distances for rows that are columns of x: each run has one element of each. */
ADJ_TARGET static void ADJ_NAME(adj_distances_of_columns)(void *of) {
    adj_rows_job *job = (adj_rows_job *)of;
    int64_t step = job->run_step, runs = job->runs, part;
    while ((part = adj_next(job)) < job->parts) {
        int64_t first = part * ADJ_COLUMNS, n = ADJ_MIN(job->rows - first, ADJ_COLUMNS);
        const T *x = (const T *)job->x + first;
        T mean[ADJ_COLUMNS];
        double squares[ADJ_COLUMNS];
        ADJ_NAME(adj_moments_of_columns)(x, n, runs, step, mean, squares);
        for (int64_t i = 0; i < n; i++) {
            if (ADJ_NAME(adj_is_rounding)(squares[i], mean[i], runs))
                squares[i] = ADJ_NAME(adj_distances_from_first)(x + i, runs, step);
            ((T *)job->out)[first + i] = (T)squares[i];
        }
    }
}

/* adj_standardize for rows that are columns of x. */
ADJ_TARGET static void ADJ_NAME(adj_standardize_columns)(void *of) {
    adj_rows_job *job = (adj_rows_job *)of;
    const T *weights = (const T *)job->weight, *biases = (const T *)job->bias;
    int64_t step = job->run_step, runs = job->runs, part;
    while ((part = adj_next(job)) < job->parts) {
        int64_t first = part * ADJ_COLUMNS, n = ADJ_MIN(job->rows - first, ADJ_COLUMNS);
        const T *restrict x = (const T *)job->x + first;
        T *restrict out = (T *)job->out + first;
        T mean[ADJ_COLUMNS], scale[ADJ_COLUMNS], shift[ADJ_COLUMNS];
        double squares[ADJ_COLUMNS];
        ADJ_NAME(adj_moments_of_columns)(x, n, runs, step, mean, squares);
        for (int64_t i = 0; i < n; i++) {
            __asm__ volatile("");
            T var = (T)(squares[i] / runs), factor = 1 / ADJ_C(sqrtf, sqrt)(var + (T)job->eps);
            ((T *)job->mean)[first + i] = mean[i];
            ((T *)job->var)[first + i] = var;
            scale[i] = weights ? factor * weights[first + i] : factor;
            shift[i] = biases ? biases[first + i] : 0;
        }
        for (int64_t run = 0, at = 0; run < runs; run++, at += step)
            ADJ_COLUMNS_OF(
                n, ADJ_PART(out + at) = (ADJ_GIVEN(x + at) - ADJ_GIVEN(mean)) * ADJ_GIVEN(scale) + ADJ_GIVEN(shift),
                out[at + i] = (x[at + i] - mean[i]) * scale[i] + shift[i])
    }
}

/* The way back: `out` unless it is NULL; for each column the sums of g and of g times the standardised input. */
ADJ_TARGET static void ADJ_NAME(adj_standardize_columns_back)(void *of) {
    adj_rows_job *job = (adj_rows_job *)of;
    const T *weights = (const T *)job->weight;
    int64_t step = job->run_step, runs = job->runs, part;
    while ((part = adj_next(job)) < job->parts) {
        int64_t first = part * ADJ_COLUMNS, n = ADJ_MIN(job->rows - first, ADJ_COLUMNS);
        const T *restrict x = (const T *)job->x + first, *restrict g = (const T *)job->g + first;
        const T *restrict mean = (const T *)job->mean + first;
        T scale[ADJ_COLUMNS], slope[ADJ_COLUMNS], shift[ADJ_COLUMNS];
        double totals[ADJ_COLUMNS] = {0}, moments[ADJ_COLUMNS] = {0};
        for (int64_t begin = 0; begin < runs; begin += ADJ_FEW_RUNS) {
            T sums[ADJ_COLUMNS] = {0}, products[ADJ_COLUMNS] = {0};
            for (int64_t run = begin; run < ADJ_MIN(begin + ADJ_FEW_RUNS, runs); run++)
                ADJ_COLUMNS_OF(
                    n,
                    V passed = ADJ_GIVEN(g + run * step);
                    ADJ_PART(sums) += passed;
                    ADJ_PART(products) += passed * (ADJ_GIVEN(x + run * step) - ADJ_GIVEN(mean)),
                    sums[i] += g[run * step + i];
                    products[i] += g[run * step + i] * (x[run * step + i] - mean[i]))
            for (int64_t i = 0; i < n; i++) ADJ_ONE_BY_ONE(totals[i] += sums[i], moments[i] += products[i])
        }
        for (int64_t i = 0; i < n; i++) {
            __asm__ volatile("");
            T factor = 1 / ADJ_C(sqrtf, sqrt)(((const T *)job->var)[first + i] + (T)job->eps);
            double weight = weights ? weights[first + i] : 1, moment = weight * moments[i] * factor;
            ((T *)job->totals)[first + i] = (T)totals[i];
            ((T *)job->moments)[first + i] = (T)(moments[i] * factor);
            /* as in adj_standardize_back */
            scale[i] = (T)(factor * weight);
            slope[i] = (T)((2 * ((const T *)job->of_var)[first + i] / factor - factor * moment) / runs) * factor;
            shift[i] = (T)((((const T *)job->of_mean)[first + i] - factor * weight * totals[i]) / runs);
        }
        if (job->out == NULL) continue;
        T *restrict out = (T *)job->out + first;
        for (int64_t run = 0; run < runs; run++)
            ADJ_COLUMNS_OF(
                n,
                V change = (ADJ_GIVEN(x + run * step) - ADJ_GIVEN(mean)) * ADJ_GIVEN(slope) + ADJ_GIVEN(shift);
                ADJ_PART(out + run * step) = ADJ_GIVEN(g + run * step) * ADJ_GIVEN(scale) + change,
                T change = (x[run * step + i] - mean[i]) * slope[i] + shift[i];
                out[run * step + i] = g[run * step + i] * scale[i] + change)
    }
}

#undef ADJ_GIVEN
#undef ADJ_PART
#undef ADJ_ONE_BY_ONE
#undef ADJ_COLUMNS_OF

#include "sequences_loops.h"
#include "paths_loops.h"
#include "updates_loops.h"
#include "pairs_loops.h"

#undef ADJ_SIGN
#undef ADJ_BITS
#undef ADJ_LENGTH
#undef ADJ_POLYNOMIAL
#undef W
#undef ADJ_INTEGER
#undef ADJ_C
#undef ADJ_ROWS_OF_TILE
#undef ADJ_ROWS_OF_MOMENTS
#undef Q
#undef ADJ_MEMORY
#undef V
#undef T
#undef WIDTH
#undef ADJ_ROUNDED
