/* Distances of all pairs of points, for one type of elements and one kind of processor; see rules/distances.py. The
   points lie side by side, each coordinate in a row of its own, so that one point meets a vector of others. */

/* the size of a difference in one coordinate, and what it adds to the distance */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_add_coordinate)(const int norm, const V *away, V *sum) {
    V size = *away;
    if (norm == ADJ_SQUARES) {
        *sum += size * size;
        return;
    }
    *(W *)&size &= ~ADJ_SIGN;
    if (norm == ADJ_SIZES)
        *sum += size;
    else {
        /* a NaN stays */
        W larger = (size > *sum) | (size != size);
        ADJ_NAME(adj_choose)(&larger, &size, sum, sum);
    }
}

/* the derivative of a distance by the difference in one coordinate, times a number: for squares g over the distance */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_slope_of)(const int norm, const V *away, const V *g, const V *y, V *slope) {
    if (norm == ADJ_SQUARES) {
        *slope = *away * *g;
        return;
    }
    const V zero = {0};
    V size = *away, turned = -*g;
    W above = *away > 0, below = *away < 0;
    ADJ_NAME(adj_choose)(&above, g, &zero, slope);
    ADJ_NAME(adj_choose)(&below, &turned, slope, slope);
    *(W *)&size &= ~ADJ_SIGN;
    W largest = size == *y;
    if (norm == ADJ_LARGEST) ADJ_NAME(adj_choose)(&largest, slope, &zero, slope);
}

ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_pairs_of)(const int norm, adj_pairs_job *job) {
    const int64_t n = job->points, m = job->coordinates, pitch = ADJ_ROUNDED(n) + WIDTH;
    T *turned = (T *)calloc((2 * pitch + WIDTH) * m + 1, sizeof(T)), *of = turned + m * pitch, *totals = of + m * pitch;
    if (turned == NULL) { job->failed = 1; return; }
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < m; c++) turned[c * pitch + i] = ((const T *)job->x)[i * m + c];
    T *y = (T *)job->y;
    const T *g = (const T *)job->g;
    for (int64_t i = 0; i < n; i++) {
        if (g) memset(totals, 0, m * WIDTH * sizeof(T));
        for (int64_t j = i + 1; j < n; j += WIDTH) {
            int64_t left = n - j;
            V sum = {0}, distance, factor, slope;
            if (!g) {
                for (int64_t c = 0; c < m; c++) {
                    V away = turned[c * pitch + i] - *(const V *)(turned + c * pitch + j);
                    ADJ_NAME(adj_add_coordinate)(norm, &away, &sum);
                }
                if (norm == ADJ_SQUARES) sum = ADJ_SQRT(sum);
                ADJ_NAME(adj_store)(y + j - i - 1, left, &sum);
                continue;
            }
            ADJ_NAME(adj_load)(y + j - i - 1, left, &distance);
            ADJ_NAME(adj_load)(g + j - i - 1, left, &factor);
            if (norm == ADJ_SQUARES) {
                const V zero = {0}, one = ADJ_ALL(1);
                W none = distance == 0;
                V divisor;
                ADJ_NAME(adj_choose)(&none, &one, &distance, &divisor);
                factor /= divisor;
                ADJ_NAME(adj_choose)(&none, &zero, &factor, &factor);
            }
            for (int64_t c = 0; c < m; c++) {
                V away = turned[c * pitch + i] - *(const V *)(turned + c * pitch + j);
                ADJ_NAME(adj_slope_of)(norm, &away, &factor, &distance, &slope);
                *(V *)(of + c * pitch + j) -= slope;
                *(V *)(totals + c * WIDTH) += slope;
            }
        }
        for (int64_t c = 0; g && c < m; c++)
            ((T *)job->out)[i * m + c] = of[c * pitch + i] + ADJ_NAME(adj_total)((const V *)(totals + c * WIDTH));
        y += n - i - 1;
        if (g) g += n - i - 1;
    }
    free(turned);
}

ADJ_TARGET static void ADJ_NAME(adj_pairs)(void *of) {
    adj_pairs_job *job = (adj_pairs_job *)of;
    switch (job->norm) {
        case ADJ_SQUARES: ADJ_NAME(adj_pairs_of)(ADJ_SQUARES, job); break;
        case ADJ_SIZES: ADJ_NAME(adj_pairs_of)(ADJ_SIZES, job); break;
        default: ADJ_NAME(adj_pairs_of)(ADJ_LARGEST, job);
    }
}
