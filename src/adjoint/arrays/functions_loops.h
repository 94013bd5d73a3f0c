/* The formulas of functions.h for one kind of processor. */

#define V ADJ_NAME(adj_vector)
#define T ADJ_T
#define WIDTH ((int)(ADJ_BYTES / sizeof(T)))
typedef T V __attribute__((vector_size(ADJ_BYTES), aligned(sizeof(T)), may_alias));
#include "vectors_exp.h"

#define ADJ_MAGIC 6755399441055744.0  /* 1.5 * 2 ** 52: what is added to it is rounded to an integer */
#define ADJ_SIGN ((int64_t)1 << 63)
#define ADJ_BITS(v) (*(const W *)&(v))
#define ADJ_EACH for (int64_t i = 0; i < n; i += WIDTH)
#define ADJ_AT(place) (*(const V *)((place) + i))
#define ADJ_PUT(value) { V adj_put = (value); *(V *)(out + i) = adj_put; }

ADJ_TARGET ADJ_INLINE int ADJ_NAME(adj_all)(const W *where) {
    int64_t all = -1;
    for (int k = 0; k < WIDTH; k++) all &= (*where)[k];
    return all != 0;
}
ADJ_TARGET ADJ_INLINE int ADJ_NAME(adj_any)(const W *where) {
    int64_t any = 0;
    for (int k = 0; k < WIDTH; k++) any |= (*where)[k];
    return any != 0;
}
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_size)(const V *x, V *result) { *(W *)result = ADJ_BITS(*x) & ~ADJ_SIGN; }
/* the size of one number and the sign of another */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_signed)(const V *size, const V *sign, V *result) {
    *(W *)result = (ADJ_BITS(*size) & ~ADJ_SIGN) | (ADJ_BITS(*sign) & ADJ_SIGN);
}
/* returns 0 from a formula unless a condition, in terms of the sizes a and b, holds for all elements */
#define ADJ_DOMAIN(condition) { \
    W inside = ~(W){0}; \
    ADJ_EACH { \
        V a = ADJ_AT(x), b = ADJ_AT(y ? y : x); \
        ADJ_NAME(adj_size)(&a, &a); \
        ADJ_NAME(adj_size)(&b, &b); \
        (void)b; \
        inside &= (condition); \
    } \
    if (!ADJ_NAME(adj_all)(&inside)) return 0; }

/* sine and cosine: the nearest multiple n of pi / 2 is taken away in three parts, of which the first two times n are
   exact; polynomials of fdlibm (Sun Microsystems, 1993), which take along what rounding the rest has lost */

ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_turned)(const V *of, int64_t quarter, V *result) {
    V x = *of, shifted = x * 6.36619772367581382433e-01 + ADJ_MAGIC, n = shifted - ADJ_MAGIC;
    V near = x - n * 1.57079632673412561417e+00;
    V part = n * 6.07710050630396597660e-11, rest = near - part;
    V lost = n * 2.02226624879595063154e-21 - ((near - rest) - part);
    V r = rest - lost, lower = (rest - r) - lost;
    V z = r * r, v = z * r;
    V s = z * 1.58969099521155010221e-10 - 2.50507602534068634195e-08;
    s = s * z + 2.75573137070700676789e-06;
    s = s * z - 1.98412698298579493134e-04;
    s = s * z + 8.33333333332248946124e-03;
    V sine = r - ((z * (0.5 * lower - v * s) - lower) + v * 1.66666666666666324348e-01);
    V c = z * -1.13596475577881948265e-11 + 2.08757232129817482790e-09;
    c = c * z - 2.75573143513906633035e-07;
    c = c * z + 2.48015872894767294178e-05;
    c = c * z - 1.38888888888741095749e-03;
    c = c * z + 4.16666666666666019037e-02;
    V half = 0.5 * z, w = 1 - half;
    V cosine = w + (((1 - w) - half) + (z * (z * c) - r * lower));
    W turns = ADJ_BITS(shifted) + quarter, odd = -(turns & 1), sign = (turns & 2) << 62, zero = x == 0;
    ADJ_NAME(adj_choose)(&odd, &cosine, &sine, result);
    *(W *)result ^= sign;
    zero &= -(W){0} + (quarter ? 0 : -1);
    ADJ_NAME(adj_choose)(&zero, &x, result, result);
}
ADJ_TARGET static int ADJ_NAME(adj_sin)(const double *x, const double *y, double *out, int64_t n) {
    ADJ_DOMAIN(a < 1e5)
    ADJ_EACH ADJ_NAME(adj_turned)((const V *)(x + i), 0, (V *)(out + i));
    return 1;
}
ADJ_TARGET static int ADJ_NAME(adj_cos)(const double *x, const double *y, double *out, int64_t n) {
    ADJ_DOMAIN(a < 1e5)
    ADJ_EACH ADJ_NAME(adj_turned)((const V *)(x + i), 1, (V *)(out + i));
    return 1;
}

/* two numbers ------------------------------------------------------------------------------------------------------ */

ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_root)(const V *x, V *result) {
    for (int k = 0; k < WIDTH; k++) (*result)[k] = __builtin_sqrt((*x)[k]);
}
ADJ_TARGET static int ADJ_NAME(adj_hypot)(const double *x, const double *y, double *out, int64_t n) {
    ADJ_DOMAIN((a < 1e150) & (b < 1e150) & ((a > 1e-140) | (b > 1e-140)))
    ADJ_EACH ADJ_PUT(ADJ_AT(x) * ADJ_AT(x) + ADJ_AT(y) * ADJ_AT(y))
    /* by the processor's instruction: a call is made for negative numbers only, of which there are none */
    for (int64_t i = 0; i < n; i++) out[i] = __builtin_sqrt(out[i]);
    return 1;
}

/* numbers of one sign follow each other as the integers that their bits are */
ADJ_TARGET static int ADJ_NAME(adj_nextafter)(const double *x, const double *y, double *out, int64_t n) {
    ADJ_DOMAIN((a > 1e-300) & (a < 1e300) & (b < 1e300))
    ADJ_EACH {
        V from = ADJ_AT(x), to = ADJ_AT(y);
        W step = (W)(to < from) - (W)(to > from), negative = from < 0;
        step = (step ^ negative) - negative;
        V moved;
        *(W *)&moved = ADJ_BITS(from) + step;
        ADJ_PUT(moved)
    }
    return 1;
}

/* What a quotient that is rounded to an integer leaves is exact if the product is not rounded before it is taken away, so
   that this needs instructions which do both at once. The quotient rounded down may be one less. */
#define ADJ_QUOTIENT \
    V first = ADJ_AT(x), second = ADJ_AT(y), quotient = first / second; \
    V times = (quotient + ADJ_MAGIC) - ADJ_MAGIC, rest = first - times * second; \
    W none = rest == 0, beyond;
#define ADJ_QUOTIENT_DOMAIN \
    if (!ADJ_FUSED) return 0; \
    ADJ_DOMAIN((a < 1e300) & (b > 1e-290) & (b < 1e290) & (a < b * 1073741824.0))

ADJ_TARGET static int ADJ_NAME(adj_fmod)(const double *x, const double *y, double *out, int64_t n) {
    ADJ_QUOTIENT_DOMAIN
    ADJ_EACH {
        ADJ_QUOTIENT
        /* the sign is that of the first, for zero too */
        V moved;
        ADJ_NAME(adj_signed)(&second, &first, &moved);
        moved += rest;
        beyond = ((ADJ_BITS(rest) ^ ADJ_BITS(first)) < 0) & ~none;
        ADJ_NAME(adj_choose)(&beyond, &moved, &rest, &rest);
        ADJ_NAME(adj_signed)(&rest, &first, &rest);
        ADJ_PUT(rest)
    }
    return 1;
}
ADJ_TARGET static int ADJ_NAME(adj_remainder)(const double *x, const double *y, double *out, int64_t n) {
    ADJ_QUOTIENT_DOMAIN
    ADJ_EACH {
        ADJ_QUOTIENT
        V moved = rest + second;
        beyond = ((ADJ_BITS(rest) ^ ADJ_BITS(second)) < 0) & ~none;
        ADJ_NAME(adj_choose)(&beyond, &moved, &rest, &rest);
        ADJ_NAME(adj_signed)(&rest, &second, &rest);
        ADJ_PUT(rest)
    }
    return 1;
}
ADJ_TARGET static int ADJ_NAME(adj_floor_divide)(const double *x, const double *y, double *out, int64_t n) {
    ADJ_QUOTIENT_DOMAIN
    ADJ_EACH {
        ADJ_QUOTIENT
        V one = {0};
        one += 1;
        beyond = ((ADJ_BITS(rest) ^ ADJ_BITS(second)) < 0) & ~none;
        *(W *)&one &= beyond;
        V below = times - one, signed_zero;
        none = below == 0;
        ADJ_NAME(adj_signed)(&below, &quotient, &signed_zero);
        ADJ_NAME(adj_choose)(&none, &signed_zero, &below, &below);
        ADJ_PUT(below)
    }
    return 1;
}

/* the normal distribution ------------------------------------------------------------------------------------------ */

ADJ_TARGET static int ADJ_NAME(adj_ndtr)(const double *x, const double *y, double *out, int64_t n) {
    ADJ_DOMAIN(a < 8)
    ADJ_EACH {
        V of = ADJ_AT(x), a;
        ADJ_NAME(adj_size)(&of, &a);
        /* (a - 5) / (a + 5), brought from [-1, 3 / 13] to [-1, 1] */
        V s = ((a - 5) / (a + 5) + 1) * 1.625 - 1, sum = {0};
        #pragma GCC unroll 24
        for (int k = sizeof(adj_tail) / sizeof(double) - 1; k >= 0; k--) sum = sum * s + adj_tail[k];
        /* the square in two parts, of which the first is exact */
        V near, power;
        *(W *)&near = ADJ_BITS(a) & ~(((int64_t)1 << 30) - 1);
        V lost = (a - near) * (a + near) * -0.5;
        power = near * near * -0.5;
        ADJ_NAME(adj_exp)(&power, &power);
        V tail = sum * (power + power * (lost * (1 + lost * (0.5 + lost * (1.0 / 6)))));
        W right = of > 0;
        V rest = 1 - tail;
        ADJ_NAME(adj_choose)(&right, &rest, &tail, &tail);
        ADJ_PUT(tail)
    }
    return 1;
}

/* the logarithm of normal numbers: that of a power of two, and of what is left, by the series of artanh */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_log)(const V *x, V *result) {
    const int64_t half_root = 0x3fe6a09e667f3bcd;  /* the square root of 1 / 2 */
    W power = (ADJ_BITS(*x) - half_root) >> 52, bits = ADJ_BITS(*x) - (power << 52);
    V m = *(V *)&bits, s = (m - 1) / (m + 1), z = s * s, sum = {0};
    #pragma GCC unroll 12
    for (int k = 23; k > 1; k -= 2) sum = (sum + 1.0 / k) * z;
    /* an integer as a number: its bits behind those of 1.5 * 2 ** 52 */
    W number = power + 0x4338000000000000;
    V n = *(V *)&number - ADJ_MAGIC;
    *result = n * 6.93147180369123816490e-01 + (2 * s + (2 * s * sum + n * 1.90821492927058770002e-10));
}
ADJ_TARGET static int ADJ_NAME(adj_erfinv)(const double *x, const double *y, double *out, int64_t n) {
    /* up to 1 - exp(-8) in the square */
    ADJ_DOMAIN(a < 0.9998)
    ADJ_EACH {
        V of = ADJ_AT(x), s = (1 - of) * (1 + of), sum = {0};
        ADJ_NAME(adj_log)(&s, &s);
        s = s * -0.25 - 1;
        #pragma GCC unroll 40
        for (int k = sizeof(adj_inverse) / sizeof(double) - 1; k >= 0; k--) sum = sum * s + adj_inverse[k];
        ADJ_PUT(sum * of)
    }
    return 1;
}

/* modified Bessel functions, by Clenshaw's recurrence -------------------------------------------------------------- */

ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_clenshaw)(const V *s, const double *c, const int n, V *result) {
    V now = {0}, before = {0}, twice = 2 * *s;
    #pragma GCC unroll 32
    for (int k = 0; k < n - 1; k++) {
        V after = twice * now - before + c[k];
        before = now;
        now = after;
    }
    *result = *s * now - before + c[n - 1];
}

/* I0 or I1 of a block, times exp(-|x|) unless `scale` */
ADJ_TARGET ADJ_INLINE int ADJ_NAME(adj_bessel_i)(const double *x, double *out, int64_t n, const int order, const int scale) {
    W none = {0}, some_small = none, some_large = none;
    ADJ_EACH {
        V of = ADJ_AT(x), a;
        ADJ_NAME(adj_size)(&of, &a);
        some_small |= (a <= 8);
        some_large |= (a > 8);
    }
    int small = ADJ_NAME(adj_any)(&some_small), large = ADJ_NAME(adj_any)(&some_large);
    ADJ_EACH {
        V of = ADJ_AT(x), a, below = {0}, above = {0};
        ADJ_NAME(adj_size)(&of, &a);
        W where = a <= 8;
        if (small) {
            V s = a * 0.25 - 1;
            if (order) {
                ADJ_NAME(adj_clenshaw)(&s, adj_bessel_i1_small, sizeof(adj_bessel_i1_small) / sizeof(double), &below);
                below *= a;
            } else
                ADJ_NAME(adj_clenshaw)(&s, adj_bessel_i0_small, sizeof(adj_bessel_i0_small) / sizeof(double), &below);
        }
        if (large) {
            /* where the argument is small, of 8, so that nothing divides by zero */
            V eight = {0};
            eight += 8;
            ADJ_NAME(adj_choose)(&where, &eight, &a, &above);
            V s = 16 / above - 1, root;
            ADJ_NAME(adj_root)(&above, &root);
            if (order)
                ADJ_NAME(adj_clenshaw)(&s, adj_bessel_i1_large, sizeof(adj_bessel_i1_large) / sizeof(double), &above);
            else
                ADJ_NAME(adj_clenshaw)(&s, adj_bessel_i0_large, sizeof(adj_bessel_i0_large) / sizeof(double), &above);
            above /= root;
        }
        ADJ_NAME(adj_choose)(&where, &below, &above, &above);
        if (scale) {
            V power;
            ADJ_NAME(adj_exp)(&a, &power);
            above *= power;
        }
        if (order) {
            W negative = of < 0;
            *(W *)&above ^= negative & ADJ_SIGN;
        }
        ADJ_PUT(above)
    }
    return 1;
}
ADJ_TARGET static int ADJ_NAME(adj_i0)(const double *x, const double *y, double *out, int64_t n) {
    ADJ_DOMAIN(a < 700)
    return ADJ_NAME(adj_bessel_i)(x, out, n, 0, 1);
}
ADJ_TARGET static int ADJ_NAME(adj_i0e)(const double *x, const double *y, double *out, int64_t n) {
    ADJ_DOMAIN(a < 1e300)
    return ADJ_NAME(adj_bessel_i)(x, out, n, 0, 0);
}
ADJ_TARGET static int ADJ_NAME(adj_i1)(const double *x, const double *y, double *out, int64_t n) {
    ADJ_DOMAIN(a < 700)
    return ADJ_NAME(adj_bessel_i)(x, out, n, 1, 1);
}
ADJ_TARGET static int ADJ_NAME(adj_i1e)(const double *x, const double *y, double *out, int64_t n) {
    ADJ_DOMAIN(a < 1e300)
    return ADJ_NAME(adj_bessel_i)(x, out, n, 1, 0);
}

#undef ADJ_MAGIC
#undef ADJ_SIGN
#undef ADJ_BITS
#undef ADJ_EACH
#undef ADJ_AT
#undef ADJ_PUT
#undef ADJ_DOMAIN
#undef ADJ_QUOTIENT
#undef ADJ_QUOTIENT_DOMAIN
#undef V
#undef T
#undef WIDTH
#undef W
#undef ADJ_INTEGER
#undef ADJ_C
