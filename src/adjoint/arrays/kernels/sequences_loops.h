/* Recurrent networks over whole sequences, for one type of elements and one kind of processor; see vectors.h and
   rules/recurrent.py. All samples of a piece advance together, so that a weight is read once for a moment. */

/* 1 / (1 + exp(-x)), by the exponential of minus the size of x */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_sigmoid_of)(const V *x, V *result) {
    const V one = ADJ_ALL(1);
    V power, above;
    *(W *)&power = *(const W *)x | ADJ_SIGN;
    ADJ_NAME(adj_exp)(&power, &power);
    W right = *(const W *)x >= 0;
    ADJ_NAME(adj_choose)(&right, &one, &power, &above);
    *result = above / (1 + power);
}

/* m / (m + 2) for m = exp(2 |x|) - 1 = 2 ** n * (exp(r) - 1) + (2 ** n - 1), with the sign of x */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_tanh_of)(const V *x, V *result) {
    const V most = ADJ_ALL(ADJ_C(20.0f, 44.0));
    V twice = *x + *x, rest, scale;
    *(W *)&twice &= ~ADJ_SIGN;
    W beyond = twice > most, power;
    ADJ_NAME(adj_choose)(&beyond, &most, &twice, &twice);
    ADJ_NAME(adj_exp_parts)(&twice, &power, &rest);
    ADJ_NAME(adj_power_of_two)(&power, &scale);
    rest = ADJ_FMA(scale, rest, scale - 1);
    rest = rest / (rest + 2);
    *(W *)result = (*(W *)&rest & ~ADJ_SIGN) | (*(const W *)x & ADJ_SIGN);
}

/* a vector of n elements, filled up with 0 */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_load)(const T *from, int64_t n, V *result) {
    if (n >= WIDTH)
        *result = *(const V *)from;
    else {
        *result = (V){0};
        memcpy(result, from, n * sizeof(T));
    }
}
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_store)(T *to, int64_t n, const V *values) {
    if (n >= WIDTH)
        *(V *)to = *values;
    else
        memcpy(to, values, n * sizeof(T));
}

/* products -------------------------------------------------------------------------------------------------------- */

#define ADJ_PANEL (2 * WIDTH)

/* panels[block][k][u]: element (k, u) of a matrix with these steps, 0 for u beyond `columns` */
ADJ_TARGET static void ADJ_NAME(adj_pack)(const T *matrix, int64_t k_step, int64_t u_step, int64_t length,
                                          int64_t columns, T *panels) {
    for (int64_t first = 0; first < columns; first += ADJ_PANEL)
        for (int64_t k = 0; k < length; k++)
            for (int64_t u = first; u < first + ADJ_PANEL; u++)
                *panels++ = u < columns ? matrix[k * k_step + u * u_step] : 0;
}

/* out[r, u] += sum over k of left[r, k] * panel[k, u] for rows r and `vectors` vectors of u */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_multiply_tile)(const int rows, const int vectors, const T *left,
                                                       int64_t left_step, int64_t length, const T *panel, T *out,
                                                       int64_t out_step) {
    V sums[ADJ_TILE][2];
    #pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
        #pragma GCC unroll 2
        for (int c = 0; c < vectors; c++) sums[r][c] = *(const V *)(out + r * out_step + c * WIDTH);
    for (int64_t k = 0; k < length; k++, panel += ADJ_PANEL) {
        V seen[2];
        #pragma GCC unroll 2
        for (int c = 0; c < vectors; c++) seen[c] = *(const V *)(panel + c * WIDTH);
        #pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            V factor = ADJ_ALL(left[r * left_step + k]);
            #pragma GCC unroll 2
            for (int c = 0; c < vectors; c++) sums[r][c] = ADJ_FMA(factor, seen[c], sums[r][c]);
        }
    }
    #pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
        #pragma GCC unroll 2
        for (int c = 0; c < vectors; c++) *(V *)(out + r * out_step + c * WIDTH) = sums[r][c];
}

#define ADJ_MULTIPLY_ROWS(n, vectors) \
    case n: ADJ_NAME(adj_multiply_tile)(n, vectors, left, left_step, length, panel, out, out_step); break;

/* as above, for any number of rows */
ADJ_TARGET static void ADJ_NAME(adj_multiply_rows)(int64_t rows, int vectors, const T *left, int64_t left_step,
                                                   int64_t length, const T *panel, T *out, int64_t out_step) {
    for (; rows > 0; rows -= ADJ_TILE, left += ADJ_TILE * left_step, out += ADJ_TILE * out_step) {
        int64_t n = ADJ_MIN(rows, ADJ_TILE);
        if (vectors == 2) switch (n) {
#if ADJ_TILE == 8
            ADJ_MULTIPLY_ROWS(8, 2) ADJ_MULTIPLY_ROWS(7, 2) ADJ_MULTIPLY_ROWS(6, 2) ADJ_MULTIPLY_ROWS(5, 2)
#endif
            ADJ_MULTIPLY_ROWS(4, 2) ADJ_MULTIPLY_ROWS(3, 2) ADJ_MULTIPLY_ROWS(2, 2) ADJ_MULTIPLY_ROWS(1, 2)
        } else switch (n) {
#if ADJ_TILE == 8
            ADJ_MULTIPLY_ROWS(8, 1) ADJ_MULTIPLY_ROWS(7, 1) ADJ_MULTIPLY_ROWS(6, 1) ADJ_MULTIPLY_ROWS(5, 1)
#endif
            ADJ_MULTIPLY_ROWS(4, 1) ADJ_MULTIPLY_ROWS(3, 1) ADJ_MULTIPLY_ROWS(2, 1) ADJ_MULTIPLY_ROWS(1, 1)
        }
    }
}

/* out (rows, with padding) += left (rows, length) @ the matrix of these panels, of so many columns */
ADJ_TARGET static void ADJ_NAME(adj_multiply)(int64_t rows, const T *left, int64_t left_step, int64_t length,
                                              const T *panels, int64_t columns, T *out, int64_t out_step) {
    for (int64_t first = 0; first < columns; first += ADJ_PANEL, panels += length * ADJ_PANEL)
        ADJ_NAME(adj_multiply_rows)(rows, columns - first > WIDTH ? 2 : 1, left, left_step, length, panels, out + first,
                                    out_step);
}

/* moments --------------------------------------------------------------------------------------------------------- */

/* The memory of a thread: panels, and rows of the piece at work, each gate with padding. */
typedef struct {
    T *panels, *sums, *of_memory;
    int64_t pitch, panel;
} ADJ_NAME(adj_work);

/* Where samples of one moment lie: `first` of the piece, `n` of them, their first row of all, and the states before. */
typedef struct {
    int64_t first, n, row;
    const T *hidden, *memory;
} ADJ_NAME(adj_run);

/* The runs of samples of a time step between two samples: those whose states continue, then those that begin. */
ADJ_TARGET static int ADJ_NAME(adj_runs_of)(const adj_sequence_job *job, int64_t moment, int64_t low, int64_t high,
                                            ADJ_NAME(adj_run) *runs) {
    int64_t n = job->units, place = job->reverse ? job->moments - 1 - moment : moment;
    int64_t before = job->reverse ? place + 1 : place - 1, count = 0;
    int64_t size = job->ends[place + 1] - job->ends[place];
    int64_t went_on = moment ? job->ends[before + 1] - job->ends[before] : 0;
    for (int begins = 0; begins < 2; begins++) {
        int64_t from = begins ? ADJ_MAX(low, went_on) : low, to = ADJ_MIN(high, begins ? size : ADJ_MIN(size, went_on));
        if (from >= to) continue;
        int64_t at = begins ? from : job->ends[before] + from;
        const T *hidden = (const T *)(begins ? job->hidden : job->hiddens) + at * n;
        const T *memory = (const T *)(begins ? job->memory : job->memories);
        if (memory) memory += at * n;
        ADJ_NAME(adj_run) run = {from - low, to - from, job->ends[place] + from, hidden, memory};
        runs[count++] = run;
    }
    return (int)count;
}

#define ADJ_GATE(number) (*(const V *)(sums + (number) * work->pitch))
#define ADJ_KEEP(number, value) ADJ_NAME(adj_store)(gates + (number) * n, left, &(value))

/* One vector of units of a sample: the states and gates from the sums of the gates' parts. */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_step_of)(const int cell, const ADJ_NAME(adj_work) *work, const T *sums,
                                                 const T *input_part, const T *hidden, const T *memory, int64_t n,
                                                 int64_t left, T *next_hidden, T *next_memory, T *gates) {
    V result;
    if (cell == ADJ_LSTM) {
        V i = ADJ_GATE(0), f = ADJ_GATE(1), c = ADJ_GATE(2), o = ADJ_GATE(3), before;
        ADJ_NAME(adj_sigmoid_of)(&i, &i);
        ADJ_NAME(adj_sigmoid_of)(&f, &f);
        ADJ_NAME(adj_tanh_of)(&c, &c);
        ADJ_NAME(adj_sigmoid_of)(&o, &o);
        ADJ_NAME(adj_load)(memory, left, &before);
        before = f * before + i * c;
        ADJ_NAME(adj_store)(next_memory, left, &before);
        ADJ_NAME(adj_tanh_of)(&before, &result);
        result *= o;
        ADJ_KEEP(0, i); ADJ_KEEP(1, f); ADJ_KEEP(2, c); ADJ_KEEP(3, o);
    } else if (cell == ADJ_GRU) {
        V reset = ADJ_GATE(0), update = ADJ_GATE(1), part = ADJ_GATE(2), candidate, before;
        ADJ_NAME(adj_sigmoid_of)(&reset, &reset);
        ADJ_NAME(adj_sigmoid_of)(&update, &update);
        ADJ_NAME(adj_load)(input_part + 2 * n, left, &candidate);
        candidate += reset * part;
        ADJ_NAME(adj_tanh_of)(&candidate, &candidate);
        ADJ_NAME(adj_load)(hidden, left, &before);
        result = candidate + update * (before - candidate);
        ADJ_KEEP(0, reset); ADJ_KEEP(1, update); ADJ_KEEP(2, candidate); ADJ_KEEP(3, part);
    } else {
        V sum = ADJ_GATE(0);
        if (cell == ADJ_TANH)
            ADJ_NAME(adj_tanh_of)(&sum, &result);
        else {
            const V zero = {0};
            W none = sum <= 0;
            ADJ_NAME(adj_choose)(&none, &zero, &sum, &result);
        }
    }
    ADJ_NAME(adj_store)(next_hidden, left, &result);
}

/* All units of a run of samples: the states and gates from the sums in work->sums. */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_steps_of)(const int cell, const adj_sequence_job *job,
                                                  const ADJ_NAME(adj_work) *work, const ADJ_NAME(adj_run) *run) {
    const int parts = adj_cells[cell].parts, saved_gates = adj_cells[cell].saved_gates;
    const int64_t n = job->units, wide = parts * work->pitch;
    const T *input_part = (const T *)job->input_part + run->row * parts * n;
    T *hiddens = (T *)job->hiddens + run->row * n, *gates = (T *)job->gates + run->row * saved_gates * n;
    T *memories = (T *)job->memories + run->row * n;
    for (int64_t row = 0; row < run->n; row++)
        for (int64_t i = 0; i < n; i += WIDTH)
            ADJ_NAME(adj_step_of)(cell, work, work->sums + row * wide + i, input_part + row * parts * n + i,
                                  run->hidden + row * n + i, cell == ADJ_LSTM ? run->memory + row * n + i : NULL, n,
                                  n - i, hiddens + row * n + i, memories + row * n + i,
                                  gates + row * saved_gates * n + i);
}

/* A function of the elements, compiled once for each cell; code that does not depend on the cell is outside of it. */
#define ADJ_BY_CELL(function) \
    switch (job->cell) { \
        case ADJ_LSTM: ADJ_NAME(function)(ADJ_LSTM, job, work, run); break; \
        case ADJ_GRU: ADJ_NAME(function)(ADJ_GRU, job, work, run); break; \
        case ADJ_TANH: ADJ_NAME(function)(ADJ_TANH, job, work, run); break; \
        default: ADJ_NAME(function)(ADJ_RELU, job, work, run); \
    }

/* One moment of a run of samples. */
ADJ_TARGET static void ADJ_NAME(adj_advance_run)(const adj_sequence_job *job, const ADJ_NAME(adj_work) *work,
                                                 const ADJ_NAME(adj_run) *run) {
    const int cell = job->cell, parts = adj_cells[cell].parts;
    const int64_t n = job->units, wide = parts * work->pitch;
    const T *input_part = (const T *)job->input_part + run->row * parts * n, *bias = (const T *)job->bias;
    for (int64_t row = 0; row < run->n; row++)
        for (int part = 0; part < parts; part++) {
            T *sums = work->sums + row * wide + part * work->pitch;
            const T *from = input_part + (row * parts + part) * n, *more = bias ? bias + part * n : NULL;
            /* the candidate of a gated unit takes the state's part alone */
            if (cell == ADJ_GRU && part == 2) {
                for (int64_t i = 0; i < n; i++) sums[i] = more ? more[i] : 0;
            } else
                for (int64_t i = 0; i < n; i++) sums[i] = more ? from[i] + more[i] : from[i];
        }
    for (int part = 0; part < parts; part++)
        ADJ_NAME(adj_multiply)(run->n, run->hidden, n, n, work->panels + part * work->panel, n,
                               work->sums + part * work->pitch, wide);
    ADJ_BY_CELL(adj_steps_of)
}

#undef ADJ_GATE
#undef ADJ_KEEP
#define ADJ_PART(number, value) { \
    V adj_part = (value); \
    ADJ_NAME(adj_store)(of_input_part + (number) * n, left, &adj_part); }
#define ADJ_LOAD(name, from) V name; ADJ_NAME(adj_load)(from, left, &name);

/* One vector of units of a sample, back: the cotangents of the gates' parts and of the states before, from those of
   the states (`of`, and `of_memory` in memory, which is replaced). The result: what is passed on to the state besides
   the product. */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_back_of)(const int cell, const V *of, T *of_memory, const T *hidden,
                                                 const T *memory, const T *next_hidden, const T *next_memory,
                                                 const T *gates, int64_t n, int64_t left, T *of_input_part,
                                                 T *of_before, V *direct) {
    *direct = (V){0};
    if (cell == ADJ_LSTM) {
        ADJ_LOAD(i, gates) ADJ_LOAD(f, gates + n) ADJ_LOAD(c, gates + 2 * n) ADJ_LOAD(o, gates + 3 * n)
        ADJ_LOAD(before, memory) ADJ_LOAD(shown, next_memory)
        ADJ_NAME(adj_tanh_of)(&shown, &shown);
        V passed = *(V *)of_memory + *of * o * (1 - shown * shown);
        ADJ_PART(0, passed * c * (i * (1 - i)))
        ADJ_PART(1, passed * before * (f * (1 - f)))
        ADJ_PART(2, passed * i * (1 - c * c))
        ADJ_PART(3, *of * shown * (o * (1 - o)))
        *(V *)of_memory = passed * f;
    } else if (cell == ADJ_GRU) {
        ADJ_LOAD(reset, gates) ADJ_LOAD(update, gates + n) ADJ_LOAD(candidate, gates + 2 * n)
        ADJ_LOAD(part, gates + 3 * n) ADJ_LOAD(before, hidden)
        V passed = *of * (1 - update) * (1 - candidate * candidate);
        V first = passed * part * (reset * (1 - reset)), second = *of * (before - candidate) * (update * (1 - update));
        ADJ_PART(0, first)
        ADJ_PART(1, second)
        ADJ_PART(2, passed)
        of_input_part = of_before;
        ADJ_PART(0, first)
        ADJ_PART(1, second)
        ADJ_PART(2, passed * reset)
        *direct = *of * update;
    } else {
        ADJ_LOAD(y, next_hidden)
        if (cell == ADJ_TANH)
            ADJ_PART(0, *of * (1 - y * y))
        else {
            const V one = ADJ_ALL(1), zero = {0};
            V slope;
            W above = y > 0;
            ADJ_NAME(adj_choose)(&above, &one, &zero, &slope);
            ADJ_PART(0, *of * slope)
        }
    }
}

/* All units of a run of samples, back; work->sums holds the cotangents of the piece's states. */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_steps_back)(const int cell, const adj_sequence_job *job,
                                                    const ADJ_NAME(adj_work) *work, const ADJ_NAME(adj_run) *run) {
    const int parts = adj_cells[cell].parts, saved_gates = adj_cells[cell].saved_gates;
    const int64_t n = job->units, pitch = work->pitch;
    T *sums = work->sums + run->first * pitch, *of_memory = work->of_memory + run->first * pitch;
    T *of_input_part = (T *)job->of_input_part + run->row * parts * n;
    T *of_before = (T *)job->of_before + run->row * parts * n;
    const T *hiddens = (const T *)job->hiddens + run->row * n, *memories = (const T *)job->memories + run->row * n;
    const T *gates = (const T *)job->gates + run->row * saved_gates * n;
    const T *of_hiddens = job->of_hiddens ? (const T *)job->of_hiddens + run->row * n : NULL;
    const T *of_memories = job->of_memories ? (const T *)job->of_memories + run->row * n : NULL;
    for (int64_t row = 0; row < run->n; row++)
        for (int64_t i = 0; i < n; i += WIDTH) {
            int64_t at = row * n + i, left = n - i;
            V of = *(V *)(sums + row * pitch + i), more, direct;
            if (of_hiddens) {
                ADJ_NAME(adj_load)(of_hiddens + at, left, &more);
                of += more;
            }
            if (cell == ADJ_LSTM && of_memories) {
                ADJ_NAME(adj_load)(of_memories + at, left, &more);
                *(V *)(of_memory + row * pitch + i) += more;
            }
            ADJ_NAME(adj_back_of)(cell, &of, of_memory + row * pitch + i, run->hidden + at,
                                  cell == ADJ_LSTM ? run->memory + at : NULL, hiddens + at, memories + at,
                                  gates + row * saved_gates * n + i, n, left, of_input_part + row * parts * n + i,
                                  of_before + row * parts * n + i, &direct);
            *(V *)(sums + row * pitch + i) = direct;
        }
}

/* One moment of a run of samples, back. */
ADJ_TARGET static void ADJ_NAME(adj_retreat_run)(const adj_sequence_job *job, const ADJ_NAME(adj_work) *work,
                                                 const ADJ_NAME(adj_run) *run) {
    const int64_t n = job->units, wide = adj_cells[job->cell].parts * n;
    const void *of_parts = job->cell == ADJ_GRU ? job->of_before : job->of_input_part;
    memcpy((T *)job->befores + run->row * n, run->hidden, run->n * n * sizeof(T));
    ADJ_BY_CELL(adj_steps_back)
    ADJ_NAME(adj_multiply)(run->n, (const T *)of_parts + run->row * wide, wide, wide, work->panels, n,
                           work->sums + run->first * work->pitch, work->pitch);
}

#undef ADJ_BY_CELL
#undef ADJ_PART
#undef ADJ_LOAD

/* all moments of a piece of samples, forward or back */
ADJ_TARGET static void ADJ_NAME(adj_sequence)(void *of) {
    adj_sequence_job *job = (adj_sequence_job *)of;
    const int parts = adj_cells[job->cell].parts;
    const int64_t n = job->units, columns = (n + ADJ_PANEL - 1) / ADJ_PANEL * ADJ_PANEL;
    ADJ_NAME(adj_work) work;
    work.pitch = columns;
    work.panel = n * columns;
    const int64_t rows = job->piece, all = parts * work.panel, sums = rows * columns * (job->is_back ? 1 : parts);
    char *memory = (char *)malloc((all + sums + rows * columns) * sizeof(T) + 64);
    if (memory == NULL) { __atomic_store_n(&job->failed, 1, __ATOMIC_RELEASE); return; }
    work.panels = (T *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
    work.sums = work.panels + all;
    work.of_memory = work.sums + sums;
    if (job->is_back)
        ADJ_NAME(adj_pack)((const T *)job->weight, n, 1, parts * n, n, work.panels);
    else
        for (int part = 0; part < parts; part++)
            ADJ_NAME(adj_pack)((const T *)job->weight + part * n * n, 1, n, n, n, work.panels + part * work.panel);
    memset(work.sums, 0, (sums + rows * columns) * sizeof(T));
    ADJ_NAME(adj_run) runs[2];
    int64_t number;
    while ((number = adj_next(job)) * rows < job->samples) {
        int64_t low = number * rows, high = ADJ_MIN(low + rows, job->samples);
        if (job->is_back) memset(work.sums, 0, (sums + rows * columns) * sizeof(T));
        for (int64_t k = 0; k < job->moments; k++) {
            int64_t moment = job->is_back ? job->moments - 1 - k : k;
            int count = ADJ_NAME(adj_runs_of)(job, moment, low, high, runs);
            for (int i = 0; i < count; i++)
                if (job->is_back)
                    ADJ_NAME(adj_retreat_run)(job, &work, runs + i);
                else
                    ADJ_NAME(adj_advance_run)(job, &work, runs + i);
        }
        for (int64_t row = low; job->is_back && row < high; row++) {
            memcpy((T *)job->of_hidden + row * n, work.sums + (row - low) * columns, n * sizeof(T));
            if (job->cell == ADJ_LSTM)
                memcpy((T *)job->of_memory + row * n, work.of_memory + (row - low) * columns, n * sizeof(T));
        }
    }
    free(memory);
}

#undef ADJ_PANEL
#undef ADJ_MULTIPLY_ROWS
