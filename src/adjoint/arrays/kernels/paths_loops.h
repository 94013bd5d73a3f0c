/* The paths of connectionist temporal classification through the states of a sample, for one type of elements and one
   kind of processor; see vectors.h and rules/losses.py. Rows of states have margins that no path reaches. */

/* log(x) for x from 1 to 3: the logarithm of the root of 3, plus 2 artanh(z) of the rest */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_log_to_three)(const V *x, V *result) {
    const T root = ADJ_C(1.7320508075688772f, 1.7320508075688772), of_root = ADJ_C(0.5493061443f, 0.5493061443340549);
    V z = (*x - root) / (*x + root), square = z * z, sum = {0};
    #pragma GCC unroll 14
    for (int k = ADJ_C(6, 13); k >= 0; k--) sum = ADJ_FMA(sum, square, ADJ_ALL((T)2 / (2 * k + 1)));
    *result = ADJ_FMA(z, sum, ADJ_ALL(of_root));
}

/* the logarithm of the sum of three exponentials */
ADJ_TARGET ADJ_APART void ADJ_NAME(adj_log_of_three)(const V *a, const V *b, const V *c, V *result) {
    V top, part, sum;
    W first = *a > *b;
    ADJ_NAME(adj_choose)(&first, a, b, &top);
    first = top > *c;
    ADJ_NAME(adj_choose)(&first, &top, c, &top);
    part = *a - top;
    ADJ_NAME(adj_exp)(&part, &sum);
    part = *b - top;
    ADJ_NAME(adj_exp)(&part, &part);
    sum += part;
    part = *c - top;
    ADJ_NAME(adj_exp)(&part, &part);
    sum += part;
    ADJ_NAME(adj_log_to_three)(&sum, &sum);
    *result = top + sum;
}

/* the logarithms of the probabilities of the states' classes at a moment */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_emit)(const adj_paths_job *job, int64_t moment, int64_t sample, T *row) {
    const int64_t *states = job->states + sample * job->length;
    const T *scores = (const T *)job->log_probs + (moment * job->samples + sample) * job->classes;
    const T never = (T)ADJ_NEVER;
    for (int64_t s = 0; s < job->length; s++) row[s] = scores[states[s]] < never ? never : scores[states[s]];
}

/* the states that a sample has come to at a moment, from those before */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_reach)(const T *before, const T *emitted, const T *skip, int64_t length,
                                               T *after) {
    for (int64_t s = 0; s < length; s += WIDTH) {
        V stay = *(const V *)(before + s), move = *(const V *)(before + s - 1), sum;
        V leap = *(const V *)(before + s - 2) + *(const V *)(skip + s);
        ADJ_NAME(adj_log_of_three)(&stay, &move, &leap, &sum);
        *(V *)(after + s) = sum + *(const V *)(emitted + s);
    }
}

/* the chance to go on from each state before a moment, from that after it and the classes' probabilities: in place */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_go_back)(T *row, const T *emitted, const T *skip, int64_t length, T *onward) {
    for (int64_t s = 0; s < length; s += WIDTH) *(V *)(onward + s) = *(V *)(row + s) + *(const V *)(emitted + s);
    for (int64_t s = 0; s < length; s += WIDTH) {
        V stay = *(const V *)(onward + s), move = *(const V *)(onward + s + 1), sum;
        V leap = *(const V *)(onward + s + 2) + *(const V *)(skip + s + 2);
        ADJ_NAME(adj_log_of_three)(&stay, &move, &leap, &sum);
        *(V *)(row + s) = sum;
    }
}

/* the logarithm of the probability of all paths to a last state */
ADJ_TARGET ADJ_INLINE T ADJ_NAME(adj_total_of_paths)(const T *reached, const T *last, int64_t length) {
    T top = -(T)INFINITY;
    double sum = 0;
    for (int64_t s = 0; s < length; s++) top = ADJ_MAX(top, reached[s] + last[s]);
    for (int64_t s = 0; s < length; s++) sum += ADJ_C(expf, exp)(reached[s] + last[s] - top);
    return (T)(top + log(sum));
}

/* the cotangents of the scores of all classes at a moment, from the shares of the states */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_share_out)(const adj_paths_job *job, int64_t moment, int64_t sample,
                                                   const T *shares, T g) {
    const int64_t at = (moment * job->samples + sample) * job->classes, *states = job->states + sample * job->length;
    const T *scores = (const T *)job->log_probs + at;
    T *out = (T *)job->out + at, counted = 0;
    for (int64_t c = 0; c < job->classes; c++) out[c] = 0;
    for (int64_t s = 0; s < job->length; s++) {
        counted += shares[s];
        out[states[s]] += shares[s];
    }
    for (int64_t c = 0; c < job->classes; c += WIDTH) {
        V score, before;
        int64_t left = job->classes - c;
        ADJ_NAME(adj_load)(scores + c, left, &score);
        ADJ_NAME(adj_load)(out + c, left, &before);
        ADJ_NAME(adj_exp)(&score, &score);
        score = (score * counted - before) * g;
        ADJ_NAME(adj_store)(out + c, left, &score);
    }
}

/* One sample: its loss, or, given a cotangent of the loss, the cotangents of its scores. `rows` then has room for all
   time steps. */
ADJ_TARGET static void ADJ_NAME(adj_paths_of)(const adj_paths_job *job, int64_t sample, T *rows, int64_t pitch) {
    const int64_t length = job->length, steps = job->steps[sample];
    T *skip = rows, *emitted = rows + pitch, *onward = rows + 2 * pitch, *reached = rows + 3 * pitch;
    const T *last = (const T *)job->last + sample * length;
    memcpy(skip, (const T *)job->skip + sample * length, length * sizeof(T));
    for (int64_t s = 0; s < length; s++) reached[s] = (T)ADJ_NEVER;
    if (steps) {
        ADJ_NAME(adj_emit)(job, 0, sample, emitted);
        for (int64_t s = 0; s < ADJ_MIN(2, length); s++) reached[s] = emitted[s];
    } else
        reached[0] = 0;
    for (int64_t t = 1; t < steps; t++) {
        T *after = job->g || t % 2 ? reached + pitch : reached - pitch;
        ADJ_NAME(adj_emit)(job, t, sample, emitted);
        ADJ_NAME(adj_reach)(reached, emitted, skip, length, after);
        reached = after;
    }
    T total = ADJ_NAME(adj_total_of_paths)(reached, last, length);
    int possible = total > (T)(ADJ_NEVER / 2);
    if (!job->g) {
        ((T *)job->out)[sample] = possible ? -total : (T)INFINITY;
        return;
    }
    T g = ((const T *)job->g)[sample], *row = onward + (job->moments + 1) * pitch, *shares = row + pitch;
    memcpy(row, last, length * sizeof(T));
    for (int64_t t = job->moments - 1; t >= 0; t--) {
        for (int64_t s = 0; s < length; s += WIDTH) {
            V share = {0};
            if (t < steps && possible) {
                share = *(V *)(reached + s) + *(V *)(row + s) - total;
                ADJ_NAME(adj_exp)(&share, &share);
            } else if (t < steps && !job->zero_infinity)
                share = ADJ_ALL((T)NAN);
            *(V *)(shares + s) = share;
        }
        ADJ_NAME(adj_share_out)(job, t, sample, shares, g);
        if (t && t < steps) {
            ADJ_NAME(adj_emit)(job, t, sample, emitted);
            ADJ_NAME(adj_go_back)(row, emitted, skip, length, onward);
            reached -= pitch;
        }
    }
}

ADJ_TARGET static void ADJ_NAME(adj_paths)(void *of) {
    adj_paths_job *job = (adj_paths_job *)of;
    const int64_t pitch = ADJ_ROUNDED(job->length) + 2 * WIDTH;
    const int64_t n_rows = job->g ? job->moments + 6 : 5;
    T *memory = (T *)malloc(n_rows * pitch * sizeof(T));
    if (memory == NULL) { __atomic_store_n(&job->failed, 1, __ATOMIC_RELEASE); return; }
    int64_t sample;
    while ((sample = adj_next(job)) < job->samples) {
        for (int64_t i = 0; i < n_rows * pitch; i++) memory[i] = (T)ADJ_NEVER;
        ADJ_NAME(adj_paths_of)(job, sample, memory + WIDTH, pitch);
    }
    free(memory);
}
