/* Steps of optimizers for one type of elements and one kind of processor: the formulas of
   optim/elementwise/optimizers.py, rounded as those are, in one pass over the arrays. */

#define ADJ_NUMBER(k) ((T)job->numbers[k])
#define ADJ_LOAD(name, from) V name; ADJ_NAME(adj_load)((from) + i, left, &name);
#define ADJ_STORE(to, name) ADJ_NAME(adj_store)((to) + i, left, &name);

/* The parameter after weight decay, and the gradient with its sign and what decay adds. */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_decayed)(const adj_updates_job *job, V *p, V *g) {
    if (job->maximize) *g = -*g;
    if (job->decay != 0) *g = *g + (T)job->decay * *p;
    if (job->shrink != 1) *p *= (T)job->shrink;
}

/* numbers: lr, momentum, the factor of the gradient; state: the buffer if there is a momentum */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_descend)(const adj_updates_job *job, const adj_update *row) {
    T *parameter = (T *)row->at[0], *buffer = (T *)row->at[2];
    const T *gradient = (const T *)row->at[1], lr = ADJ_NUMBER(0), momentum = ADJ_NUMBER(1), taken = ADJ_NUMBER(2);
    for (int64_t i = 0; i < row->n; i += WIDTH) {
        int64_t left = row->n - i;
        ADJ_LOAD(p, parameter) ADJ_LOAD(g, gradient)
        ADJ_NAME(adj_decayed)(job, &p, &g);
        if (buffer) {
            ADJ_LOAD(b, buffer)
            b *= momentum;
            b += taken * g;
            ADJ_STORE(buffer, b)
            if (job->nesterov)
                g += momentum * b;
            else
                g = b;
        }
        p -= lr * g;
        ADJ_STORE(parameter, p)
    }
}

/* numbers: the step's size, 1 - b1, b2, 1 - b2, the least divisor; state: the means, and the largest of the second */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_adapt)(const adj_updates_job *job, const adj_update *row) {
    T *parameter = (T *)row->at[0], *first = (T *)row->at[2], *second = (T *)row->at[3], *largest = (T *)row->at[4];
    const T *gradient = (const T *)row->at[1], size = ADJ_NUMBER(0), new_first = ADJ_NUMBER(1), decay = ADJ_NUMBER(2);
    const T new_second = ADJ_NUMBER(3), least = ADJ_NUMBER(4);
    for (int64_t i = 0; i < row->n; i += WIDTH) {
        int64_t left = row->n - i;
        ADJ_LOAD(p, parameter) ADJ_LOAD(g, gradient) ADJ_LOAD(m, first) ADJ_LOAD(v, second)
        ADJ_NAME(adj_decayed)(job, &p, &g);
        m += new_first * (g - m);
        v *= decay;
        v += new_second * (g * g);
        ADJ_STORE(first, m)
        ADJ_STORE(second, v)
        if (largest) {
            ADJ_LOAD(top, largest)
            /* a NaN stays */
            W above = (top >= v) | (top != top);
            ADJ_NAME(adj_choose)(&above, &top, &v, &v);
            ADJ_STORE(largest, v)
        }
        V root = ADJ_SQRT(v);
        p -= size * (m / (root + least));
        ADJ_STORE(parameter, p)
    }
}

ADJ_TARGET static void ADJ_NAME(adj_update_all)(void *of) {
    adj_updates_job *job = (adj_updates_job *)of;
    int64_t number;
    while ((number = adj_next(job)) < job->n_rows)
        if (job->rule == ADJ_DESCEND)
            ADJ_NAME(adj_descend)(job, job->rows + number);
        else
            ADJ_NAME(adj_adapt)(job, job->rows + number);
}

#undef ADJ_NUMBER
#undef ADJ_LOAD
#undef ADJ_STORE
