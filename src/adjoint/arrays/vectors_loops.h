/* The loops of vectors.h for one type of elements ADJ_T and one kind of processor. */

#define V ADJ_NAME(adj_vector)
#define T ADJ_T
#define WIDTH ((int)(ADJ_BYTES / sizeof(T)))
#define ADJ_ROUNDED(n) (((n) + WIDTH - 1) / WIDTH * WIDTH)

/* a vector anywhere in memory */
typedef T V __attribute__((vector_size(ADJ_BYTES), aligned(sizeof(T)), may_alias));

/* a quarter of the widest: what every kind has */
#define Q ADJ_NAME(adj_quarter)
typedef T Q __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));

ADJ_TARGET ADJ_INLINE T ADJ_NAME(adj_total)(const V *vector) {
    const Q *parts = (const Q *)vector;
    Q sum = parts[0];
    #pragma GCC unroll 4
    for (int i = 1; i < ADJ_BYTES / 16; i++) sum += parts[i];
    return sizeof(T) == 4 ? (sum[0] + sum[1]) + (sum[2 % (16 / sizeof(T))] + sum[3 % (16 / sizeof(T))]) : sum[0] + sum[1];
}

/* windows -------------------------------------------------------------------------------------------------------- */

/* What lies where in the memory of a thread: grids[phase][channel][plane], then rows of results. */
typedef struct {
    int64_t sample, n_samples, row, n_rows, inner, pitch, positions, plane;
} ADJ_NAME(adj_piece);

ADJ_TARGET ADJ_INLINE ADJ_NAME(adj_piece) ADJ_NAME(adj_piece_of)(const adj_windows_job *job, int64_t number) {
    const adj_stack *stack = job->stack;
    ADJ_NAME(adj_piece) p;
    p.inner = stack->lengths[1] * stack->lengths[2];
    p.pitch = stack->lengths[0] * p.inner;
    p.sample = number / job->n_bands * job->at_once;
    p.n_samples = ADJ_SMALLER(job->at_once, job->samples - p.sample);
    p.row = number % job->n_bands * job->band;
    p.n_rows = ADJ_SMALLER(job->band, stack->results[0] - p.row);
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

ADJ_TARGET static void ADJ_NAME(adj_fill_grids)(const adj_windows_job *job, const ADJ_NAME(adj_piece) *p, T *grids) {
    const adj_stack *stack = job->stack;
    const int64_t *s = job->source_strides, *lengths = stack->lengths;
    int64_t channels = job->groups * job->channels;
    memset(grids, 0, stack->n_phases * channels * p->plane * sizeof(T));
    for (int64_t phase = 0; phase < stack->n_phases; phase++) {
        const int64_t *a = stack->table + 12 * phase, *b = a + 4, *c = a + 8;
        int64_t begin = ADJ_LARGER(a[0], p->row), end = a[0] + a[3];
        /* no further than what the rows of results read, which is `reach` behind them */
        end = ADJ_SMALLER(end, p->row + p->n_rows + stack->reach / p->inner);
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
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_tile)(const int rows, const int columns, const T *source, const int64_t *offsets,
                                              int64_t n, const T *weights, T *results, int64_t step) {
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
            for (int c = 0; c < columns; c++) sums[r][c] += weights[r] * seen[c];
    }
    #pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
        #pragma GCC unroll 4
        for (int c = 0; c < columns; c++) *(V *)(results + r * step + c * WIDTH) = sums[r][c];
}

#define ADJ_ROWS_OF_TILE(rows, columns) \
    case rows: ADJ_NAME(adj_tile)(rows, columns, source, offsets, n, weights, results, step); break;

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

ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_write)(const adj_windows_job *job, const ADJ_NAME(adj_piece) *p, const T *results,
                                               int64_t row, T bias) {
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
                    ADJ_NAME(adj_tiles)(ADJ_SMALLER(ADJ_TILE, job->rows - row), p.positions - at > WIDTH ? 2 : 1,
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
            for (int k = 0; k < 3; k++) sums[r][k] += row * seen[k];
        }
    }
    #pragma GCC unroll 8
    for (int r = 0; r < n_rows; r++)
        #pragma GCC unroll 3
        for (int k = 0; k < 3; k++) totals[r * width + k] += ADJ_NAME(adj_total)(&sums[r][k]);
}

#define ADJ_ROWS_OF_MOMENTS(n) \
    case n: ADJ_NAME(adj_moments)(n, rows, step, source, offsets, positions, totals, width); break;

ADJ_TARGET static void ADJ_NAME(adj_all_moments)(int64_t n, const T *rows, int64_t step, const T *source,
                                                 const int64_t *offsets, int64_t positions, T *totals, int64_t width) {
    switch (n) {
#if ADJ_TILE == 8
        ADJ_ROWS_OF_MOMENTS(8) ADJ_ROWS_OF_MOMENTS(7) ADJ_ROWS_OF_MOMENTS(6) ADJ_ROWS_OF_MOMENTS(5)
#endif
        ADJ_ROWS_OF_MOMENTS(4) ADJ_ROWS_OF_MOMENTS(3) ADJ_ROWS_OF_MOMENTS(2) ADJ_ROWS_OF_MOMENTS(1)
    }
}

/* The products of target (rows of a group, at each position of the windows) with what the windows see of source, summed
   over the positions: totals[part][group][row][channel][element], with the last two together made a multiple of three.
   Pieces are dealt out in `parts`, each of which has totals of its own, so that sums do not depend on who was quicker. */
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
    while ((part = adj_next(job)) < job->parts)
        for (int64_t number = job->n_pieces * part / job->parts; number < job->n_pieces * (part + 1) / job->parts; number++) {
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
                        ADJ_NAME(adj_all_moments)(ADJ_SMALLER(ADJ_TILE, job->rows - row), rows + row * step, step, source,
                                                  offsets + k, p.positions, totals + row * width + k, width);
            }
        }
    free(memory);
}

#undef ADJ_ROWS_OF_TILE
#undef ADJ_ROWS_OF_MOMENTS
#undef Q
#undef ADJ_MEMORY
#undef V
#undef T
#undef WIDTH
#undef ADJ_ROUNDED
