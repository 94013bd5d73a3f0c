/* The loops of series.h for one type T of elements, included once for each; ADJ_NAME makes the name of a function. */
/* y = -x */
ADJ_CLONES void ADJ_NAME(adj_negatives)(npy_intp n, const T *x, T *y) {
    for (npy_intp i = 0; i < n; i++) y[i] = -x[i];
}

/* y[k] = a[0] b[k] + ... + a[k] b[0] */
ADJ_TILE ADJ_NAME(adj_product_tile)(const int w, npy_intp at, npy_intp n, npy_intp size, const T *a, const T *b, T *y) {
    for (npy_intp k = 0; k < n; k++) {
        T sum[ADJ_SERIES_TILE] = {0};
        for (npy_intp j = 0; j <= k; j++)
            for (int i = 0; i < w; i++) sum[i] += a[j * size + at + i] * b[(k - j) * size + at + i];
        for (int i = 0; i < w; i++) y[k * size + at + i] = sum[i];
    }
}
ADJ_CLONES void ADJ_NAME(adj_series_product)(npy_intp n, npy_intp size, const T *a, const T *b, T *y) {
    ADJ_EACH_TILE(ADJ_SERIES_TILE / 2, size, ADJ_NAME(adj_product_tile), n, size, a, b, y);
}

/* y[k] = g[k] b[0] + ... + g[n - 1] b[n - 1 - k] */
ADJ_TILE ADJ_NAME(adj_correlation_tile)(
    const int w, npy_intp at, npy_intp n, npy_intp size, const T *g, const T *b, T *y
) {
    for (npy_intp k = 0; k < n; k++) {
        T sum[ADJ_SERIES_TILE] = {0};
        for (npy_intp j = k; j < n; j++)
            for (int i = 0; i < w; i++) sum[i] += g[j * size + at + i] * b[(j - k) * size + at + i];
        for (int i = 0; i < w; i++) y[k * size + at + i] = sum[i];
    }
}
ADJ_CLONES void ADJ_NAME(adj_series_correlation)(npy_intp n, npy_intp size, const T *g, const T *b, T *y) {
    ADJ_EACH_TILE(ADJ_SERIES_TILE / 2, size, ADJ_NAME(adj_correlation_tile), n, size, g, b, y);
}

/* y b = a */
ADJ_TILE ADJ_NAME(adj_quotient_tile)(
    const int w, npy_intp at, npy_intp n, npy_intp size, const T *a, const T *b, T *y
) {
    for (npy_intp k = 0; k < n; k++) {
        T sum[ADJ_SERIES_TILE] = {0};
        for (npy_intp j = 1; j <= k; j++)
            for (int i = 0; i < w; i++) sum[i] += b[j * size + at + i] * y[(k - j) * size + at + i];
        for (int i = 0; i < w; i++) y[k * size + at + i] = (a[k * size + at + i] - sum[i]) / b[at + i];
    }
}
ADJ_CLONES void ADJ_NAME(adj_series_quotient)(npy_intp n, npy_intp size, const T *a, const T *b, T *y) {
    ADJ_EACH_TILE(ADJ_SERIES_TILE, size, ADJ_NAME(adj_quotient_tile), n, size, a, b, y);
}

/* y' = (c0 + c1 y + c2 y * y) x' from y[0] on; slope is memory for the factor of x', rates for j x[j]: n tiles each */
ADJ_TILE ADJ_NAME(adj_riccati_tile)(
    const int w, npy_intp at, npy_intp n, npy_intp size, const T *x, T c0, T c1, T c2, T *restrict slope,
    T *restrict rates, T *y
) {
    for (npy_intp k = 0; k < n; k++) {
        if (k) {
            const T share = (T)(1.0 / k);
            for (int i = 0; i < w; i++) rates[k * w + i] = (T)k * x[k * size + at + i];
            T sum[ADJ_SERIES_TILE] = {0};
            for (npy_intp j = 1; j <= k; j++)
                for (int i = 0; i < w; i++) sum[i] += rates[j * w + i] * slope[(k - j) * w + i];
            for (int i = 0; i < w; i++) y[k * size + at + i] = sum[i] * share;
        }
        for (int i = 0; i < w; i++) slope[k * w + i] = (k ? 0 : c0) + c1 * y[k * size + at + i];
        if (c2 == 0) continue;
        T squares[ADJ_SERIES_TILE] = {0};
        for (npy_intp j = 0; j <= k; j++)
            for (int i = 0; i < w; i++) squares[i] += y[j * size + at + i] * y[(k - j) * size + at + i];
        for (int i = 0; i < w; i++) slope[k * w + i] += c2 * squares[i];
    }
}
ADJ_CLONES void ADJ_NAME(adj_series_riccati)(npy_intp n, npy_intp size, const T *x, T c0, T c1, T c2, T *slope, T *y) {
    T *rates = slope + n * ADJ_SERIES_TILE;
    ADJ_EACH_TILE(ADJ_SERIES_TILE / 2, size, ADJ_NAME(adj_riccati_tile), n, size, x, c0, c1, c2, slope, rates, y);
}

/* x y' = exponent y x' from y[0] on */
ADJ_TILE ADJ_NAME(adj_power_tile)(
    const int w, npy_intp at, npy_intp n, npy_intp size, const T *x, double exponent, T *y
) {
    for (npy_intp k = 1; k < n; k++) {
        T sum[ADJ_SERIES_TILE] = {0};
        for (npy_intp j = 1; j <= k; j++) {
            const T factor = (T)(exponent * j - (k - j));
            for (int i = 0; i < w; i++) sum[i] += factor * x[j * size + at + i] * y[(k - j) * size + at + i];
        }
        for (int i = 0; i < w; i++) y[k * size + at + i] = sum[i] / (k * x[at + i]);
    }
}
ADJ_CLONES void ADJ_NAME(adj_series_power)(npy_intp n, npy_intp size, const T *x, double exponent, T *y) {
    ADJ_EACH_TILE(ADJ_SERIES_TILE, size, ADJ_NAME(adj_power_tile), n, size, x, exponent, y);
}

/* x y' = x' from y[0] on */
ADJ_TILE ADJ_NAME(adj_log_tile)(const int w, npy_intp at, npy_intp n, npy_intp size, const T *x, T *y) {
    for (npy_intp k = 1; k < n; k++) {
        T sum[ADJ_SERIES_TILE] = {0};
        for (npy_intp j = 1; j < k; j++)
            for (int i = 0; i < w; i++) sum[i] += (T)j * y[j * size + at + i] * x[(k - j) * size + at + i];
        for (int i = 0; i < w; i++) y[k * size + at + i] = (x[k * size + at + i] - sum[i] / k) / x[at + i];
    }
}
ADJ_CLONES void ADJ_NAME(adj_series_log)(npy_intp n, npy_intp size, const T *x, T *y) {
    ADJ_EACH_TILE(ADJ_SERIES_TILE, size, ADJ_NAME(adj_log_tile), n, size, x, y);
}

/* y' = c x' and c' = sign y x' from y[0] and c[0] = start on; c and rates are memory, n tiles each */
ADJ_TILE ADJ_NAME(adj_wave_tile)(
    const int w, npy_intp at, npy_intp n, npy_intp size, const T *x, T rise, T fall, const T *start, T *restrict c,
    T *restrict rates, T *y
) {
    for (int i = 0; i < w; i++) c[i] = start[at + i];
    for (npy_intp k = 1; k < n; k++) {
        const T share = (T)(1.0 / k);
        for (int i = 0; i < w; i++) rates[k * w + i] = (T)k * x[k * size + at + i];
        T first[ADJ_SERIES_TILE] = {0}, second[ADJ_SERIES_TILE] = {0};
        for (npy_intp j = 1; j <= k; j++)
            for (int i = 0; i < w; i++) {
                first[i] += rates[j * w + i] * c[(k - j) * w + i];
                second[i] += rates[j * w + i] * y[(k - j) * size + at + i];
            }
        for (int i = 0; i < w; i++) {
            y[k * size + at + i] = rise * (first[i] * share);
            c[k * w + i] = fall * (second[i] * share);
        }
    }
}
ADJ_CLONES void ADJ_NAME(adj_series_wave)(
    npy_intp n, npy_intp size, const T *x, T rise, T fall, const T *start, T *c, T *y
) {
    T *rates = c + n * ADJ_SERIES_TILE;
    ADJ_EACH_TILE(ADJ_SERIES_TILE / 2, size, ADJ_NAME(adj_wave_tile), n, size, x, rise, fall, start, c, rates, y);
}
