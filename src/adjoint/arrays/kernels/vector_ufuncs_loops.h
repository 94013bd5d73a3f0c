/* The formulas of vector_ufuncs.h in double precision for one kind of processor. */

#define ADJ_DOUBLE
#define T double
#include "vector_ufuncs_vectors.h"

#define ADJ_MAGIC 6755399441055744.0  /* 1.5 * 2 ** 52: a number added to it is rounded to an integer */

/* sine and cosine: the nearest multiple n of pi / 2 is subtracted in three parts; the products of n with the first two
   are exact. Polynomials of fdlibm (Sun Microsystems, 1993), corrected by the rounding error of the rest */

ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_turned)(const V *of, int64_t quarter, V *result) {
    V x = *of, shifted = ADJ_FMA(x, ADJ_ALL(6.36619772367581382433e-01), ADJ_ALL(ADJ_MAGIC)), n = shifted - ADJ_MAGIC;
    V near = ADJ_FMA(n, ADJ_ALL(-1.57079632673412561417e+00), x);
    V part = n * 6.07710050630396597660e-11, rest = near - part;
    V lost = ADJ_FMA(n, ADJ_ALL(2.02226624879595063154e-21), part - (near - rest));
    V r = rest - lost, lower = (rest - r) - lost;
    V z = r * r, v = z * r;
    V s = ADJ_FMA(z, ADJ_ALL(1.58969099521155010221e-10), ADJ_ALL(-2.50507602534068634195e-08));
    s = ADJ_FMA(s, z, ADJ_ALL(2.75573137070700676789e-06));
    s = ADJ_FMA(s, z, ADJ_ALL(-1.98412698298579493134e-04));
    s = ADJ_FMA(s, z, ADJ_ALL(8.33333333332248946124e-03));
    V sine = r - ADJ_FMA(v, ADJ_ALL(1.66666666666666324348e-01), z * ADJ_FMA(-v, s, 0.5 * lower) - lower);
    V c = ADJ_FMA(z, ADJ_ALL(-1.13596475577881948265e-11), ADJ_ALL(2.08757232129817482790e-09));
    c = ADJ_FMA(c, z, ADJ_ALL(-2.75573143513906633035e-07));
    c = ADJ_FMA(c, z, ADJ_ALL(2.48015872894767294178e-05));
    c = ADJ_FMA(c, z, ADJ_ALL(-1.38888888888741095749e-03));
    c = ADJ_FMA(c, z, ADJ_ALL(4.16666666666666019037e-02));
    V half = 0.5 * z, w = 1 - half;
    V cosine = w + (((1 - w) - half) + ADJ_FMA(z, z * c, -(r * lower)));
    W turns = ADJ_BITS(shifted) + quarter, odd = -(turns & 1), sign = (turns & 2) << 62, zero = x == 0;
    ADJ_NAME(adj_choose)(&odd, &cosine, &sine, result);
    *(W *)result ^= sign;
    zero &= -(W){0} + (quarter ? 0 : -1);
    ADJ_NAME(adj_choose)(&zero, &x, result, result);
}
ADJ_TARGET static int ADJ_NAME(adj_sin)(ADJ_ARGUMENTS) {
    ADJ_DOMAIN(a < ADJ_BITS_OF(1e5))
    ADJ_EACH ADJ_NAME(adj_turned)((const V *)((const T *)x + i), 0, (V *)((T *)out + i));
    return 1;
}
ADJ_TARGET static int ADJ_NAME(adj_cos)(ADJ_ARGUMENTS) {
    ADJ_DOMAIN(a < ADJ_BITS_OF(1e5))
    ADJ_EACH ADJ_NAME(adj_turned)((const V *)((const T *)x + i), 1, (V *)((T *)out + i));
    return 1;
}

/* two numbers ------------------------------------------------------------------------------------------------------ */

ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_root)(const V *x, V *result) {
    for (int k = 0; k < WIDTH; k++) (*result)[k] = __builtin_sqrt((*x)[k]);
}
ADJ_TARGET static int ADJ_NAME(adj_hypot)(ADJ_ARGUMENTS) {
    const ADJ_INTEGER high = ADJ_BITS_OF(1e150), low = ADJ_BITS_OF(1e-140);
    ADJ_DOMAIN((a < high) & (b < high) & ((a > low) | (b > low)))
    ADJ_EACH ADJ_PUT(ADJ_FMA(ADJ_AT(x), ADJ_AT(x), ADJ_AT(y) * ADJ_AT(y)))
    /* the processor's instruction: the compiler calls a function only for negative numbers, which do not occur */
    for (int64_t i = 0; i < n; i++) ((T *)out)[i] = __builtin_sqrt(((T *)out)[i]);
    return 1;
}

/* The remainder of a quotient rounded to an integer is exact if the product is not rounded before the subtraction. So
   both are fused; without an instruction for that the domain is empty. The quotient rounded down may be one less. */
#define ADJ_QUOTIENT \
    V first = ADJ_AT(x), second = ADJ_AT(y), quotient = first / second; \
    V times = (quotient + ADJ_MAGIC) - ADJ_MAGIC, rest = ADJ_FMA(-times, second, first); \
    W none = rest == 0, beyond;
#define ADJ_QUOTIENT_DOMAIN \
    const ADJ_INTEGER least = ADJ_BITS_OF(1e-290), most = ADJ_BITS_OF(1e290), times = (ADJ_INTEGER)30 << 52; \
    ADJ_DOMAIN(ADJ_FUSED & (a < ADJ_BITS_OF(1e300)) & (b > least) & (b < most) & (a < b + times))

ADJ_TARGET static int ADJ_NAME(adj_fmod)(ADJ_ARGUMENTS) {
    ADJ_QUOTIENT_DOMAIN
    ADJ_EACH {
        ADJ_QUOTIENT
        /* the sign of the first operand, also for zero */
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
ADJ_TARGET static int ADJ_NAME(adj_remainder)(ADJ_ARGUMENTS) {
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
ADJ_TARGET static int ADJ_NAME(adj_floor_divide)(ADJ_ARGUMENTS) {
    ADJ_QUOTIENT_DOMAIN
    ADJ_EACH {
        ADJ_QUOTIENT
        V below = times - 1;
        beyond = ((ADJ_BITS(rest) ^ ADJ_BITS(second)) < 0) & ~none;
        ADJ_NAME(adj_choose)(&beyond, &below, &times, &below);
        /* a zero is positive so far, and gets the sign of the quotient */
        none = below == 0;
        *(W *)&below |= none & ADJ_BITS(quotient) & ADJ_SIGN;
        ADJ_PUT(below)
    }
    return 1;
}

/* the normal distribution ------------------------------------------------------------------------------------------ */

/* the exponential of a size's square times 1, -1 or -1 / 2 */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_exp_of_square)(const V *a, const double times, V *result) {
    V power, lost;
    ADJ_NAME(adj_square)(a, 30, &power, &lost);
    power *= -2 * times;
    lost *= -2 * times;
    ADJ_NAME(adj_exp)(&power, &power);
    V more = ADJ_FMA(lost, ADJ_FMA(lost, ADJ_ALL(1.0 / 6), ADJ_ALL(0.5)), ADJ_ALL(1)) * lost;
    *result = ADJ_FMA(power, more, power);
}
ADJ_TARGET static int ADJ_NAME(adj_ndtr)(ADJ_ARGUMENTS) {
    ADJ_DOMAIN(a < ADJ_BITS_OF(8.0))
    ADJ_EACH {
        V of = ADJ_AT(x), a;
        ADJ_NAME(adj_size)(&of, &a);
        /* (a - 5) / (a + 5), brought from [-1, 3 / 13] to [-1, 1] */
        V s = ADJ_FMA((a - 5) / (a + 5) + 1, ADJ_ALL(1.625), ADJ_ALL(-1)), sum = {0};
        #pragma GCC unroll 24
        for (int k = sizeof(adj_tail) / sizeof(double) - 1; k >= 0; k--) sum = ADJ_FMA(sum, s, ADJ_ALL(adj_tail[k]));
        V tail;
        ADJ_NAME(adj_exp_of_square)(&a, -0.5, &tail);
        tail *= sum;
        W right = of > 0;
        V rest = 1 - tail;
        ADJ_NAME(adj_choose)(&right, &rest, &tail, &tail);
        ADJ_PUT(tail)
    }
    return 1;
}

/* erfcx of sizes a from 0 to 6 */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_scaled_tail)(const V *a, V *result) {
    /* (a - 3) / (a + 3), brought from [-1, 1 / 3] to [-1, 1] */
    V s = (2 * *a - 3) / (*a + 3);
    ADJ_POLYNOMIAL(sum, adj_erfc_scaled, s)
    *result = sum / (1 + *a);
}
/* the error function of sizes a up to 1, and from 0 to 6 its complement */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_erf_parts)(const V *size, V *small, V *tail) {
    V a = *size, z = a * a;
    ADJ_POLYNOMIAL(below, adj_erf_small, z)
    *small = ADJ_FMA(below, a, a);
    V power;
    ADJ_NAME(adj_exp_of_square)(&a, -1, &power);
    ADJ_NAME(adj_scaled_tail)(&a, tail);
    *tail *= power;
}
ADJ_TARGET ADJ_UNUSED static int ADJ_NAME(adj_erf)(ADJ_ARGUMENTS) {
    ADJ_DOMAIN(a < ADJ_BITS_OF(1e300))
    ADJ_EACH {
        /* from 6 on, the result is 1 */
        const V most = ADJ_ALL(6);
        V of = ADJ_AT(x), a, below, above;
        ADJ_NAME(adj_size)(&of, &a);
        W small = a < 1, beyond = a > most;
        ADJ_NAME(adj_choose)(&beyond, &most, &a, &a);
        ADJ_NAME(adj_erf_parts)(&a, &below, &above);
        above = 1 - above;
        ADJ_NAME(adj_choose)(&small, &below, &above, &above);
        ADJ_NAME(adj_signed)(&above, &of, &above);
        ADJ_PUT(above)
    }
    return 1;
}
ADJ_TARGET ADJ_UNUSED static int ADJ_NAME(adj_erfc)(ADJ_ARGUMENTS) {
    ADJ_DOMAIN(a < ADJ_BITS_OF(6.0))
    ADJ_EACH {
        V of = ADJ_AT(x), a, below, above;
        ADJ_NAME(adj_size)(&of, &a);
        ADJ_NAME(adj_erf_parts)(&a, &below, &above);
        W small = a < 0.5, left = of < 0;
        V beside = 2 - above;
        ADJ_NAME(adj_choose)(&left, &beside, &above, &above);
        ADJ_NAME(adj_signed)(&below, &of, &below);
        below = 1 - below;
        ADJ_NAME(adj_choose)(&small, &below, &above, &above);
        ADJ_PUT(above)
    }
    return 1;
}

ADJ_TARGET ADJ_UNUSED static int ADJ_NAME(adj_erfcx)(ADJ_ARGUMENTS) {
    ADJ_DOMAIN(a < ADJ_BITS_OF(6.0))
    ADJ_EACH {
        V of = ADJ_AT(x), a, tail, power;
        ADJ_NAME(adj_size)(&of, &a);
        ADJ_NAME(adj_scaled_tail)(&a, &tail);
        ADJ_NAME(adj_exp_of_square)(&a, 1, &power);
        W left = of < 0;
        power = 2 * power - tail;
        ADJ_NAME(adj_choose)(&left, &power, &tail, &tail);
        ADJ_PUT(tail)
    }
    return 1;
}

/* the logarithm of normal numbers: of a power of two, plus the logarithm of the rest by the series of artanh */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_log)(const V *x, V *result) {
    const int64_t half_root = 0x3fe6a09e667f3bcd;  /* the square root of 1 / 2 */
    W power = (ADJ_BITS(*x) - half_root) >> 52, bits = ADJ_BITS(*x) - (power << 52);
    V m = *(V *)&bits, s = (m - 1) / (m + 1), z = s * s, sum = {0};
    #pragma GCC unroll 12
    for (int k = 23; k > 1; k -= 2) sum = ADJ_FMA(sum, z, z * (1.0 / k));
    /* an integer as a number: its bits behind those of 1.5 * 2 ** 52 */
    W number = power + 0x4338000000000000;
    V n = *(V *)&number - ADJ_MAGIC;
    V below = ADJ_FMA(2 * s, sum, ADJ_FMA(n, ADJ_ALL(1.90821492927058770002e-10), 2 * s));
    *result = ADJ_FMA(n, ADJ_ALL(6.93147180369123816490e-01), below);
}

/* the gamma function ----------------------------------------------------------------------------------------------- */

/* C's function, which has digits near 1, 2 and the zeros of negative numbers, where SciPy's has few; not at poles */
ADJ_TARGET static int ADJ_NAME(adj_lgamma)(ADJ_ARGUMENTS) {
    const ADJ_INTEGER high = ADJ_BITS_OF(1e300), low = ADJ_BITS_OF(1e5);
    ADJ_DOMAIN(((ADJ_BITS(first) > 0) & (a < high)) | ((a < low) & (W)((first + ADJ_MAGIC) - ADJ_MAGIC != first)))
    int sign;
    for (int64_t i = 0; i < n; i++) ((T *)out)[i] = lgamma_r(((const T *)x)[i], &sign);
    return 1;
}

/* The next two are for results in single precision: below 8 a positive number is raised by 8, which takes away the
   product of x + k, k < 8, or its logarithmic derivative; then Stirling's series (DLMF 5.11.1-2). */
#define ADJ_RAISED \
    V of = ADJ_AT(x), product = ADJ_ALL(1), slope = ADJ_ALL(0), raised = of + 8, log; \
    const V one = ADJ_ALL(1), none = ADJ_ALL(0); \
    W small = of < 8; \
    _Pragma("GCC unroll 8") \
    for (int k = 0; k < 8; k++) { \
        slope = ADJ_FMA(slope, of + k, product); \
        product *= of + k; \
    } \
    ADJ_NAME(adj_choose)(&small, &product, &one, &product); \
    ADJ_NAME(adj_choose)(&small, &slope, &none, &slope); \
    ADJ_NAME(adj_choose)(&small, &raised, &of, &raised); \
    ADJ_NAME(adj_log)(&raised, &log); \
    V w = 1 / raised, z = w * w;

ADJ_TARGET static int ADJ_NAME(adj_lgamma_rounded)(ADJ_ARGUMENTS) {
    static const double c[] = {
        1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156,
    };
    ADJ_DOMAIN((ADJ_BITS(first) > 0) & (a < ADJ_BITS_OF(1e300)))
    ADJ_EACH {
        ADJ_RAISED
        ADJ_POLYNOMIAL(sum, c, z)
        V taken;
        ADJ_NAME(adj_log)(&product, &taken);
        V sized = (((raised - 0.5) * log - raised) + (0.91893853320467274178 - taken)) + w * sum;
        W zero = (of == 1) | (of == 2);
        ADJ_NAME(adj_choose)(&zero, &none, &sized, &sized);
        ADJ_PUT(sized)
    }
    return 1;
}
ADJ_TARGET static int ADJ_NAME(adj_psi_rounded)(ADJ_ARGUMENTS) {
    static const double c[] = {
        -1.0 / 12, 1.0 / 120, -1.0 / 252, 1.0 / 240, -1.0 / 132, 691.0 / 32760, -1.0 / 12,
    };
    ADJ_DOMAIN((ADJ_BITS(first) > 0) & (a < ADJ_BITS_OF(1e300)))
    ADJ_EACH {
        ADJ_RAISED
        ADJ_POLYNOMIAL(sum, c, z)
        ADJ_PUT((log - slope / product) + ADJ_FMA(z, sum, -0.5 * w))
    }
    return 1;
}
#undef ADJ_RAISED

ADJ_TARGET static int ADJ_NAME(adj_erfinv)(ADJ_ARGUMENTS) {
    /* up to 1 - exp(-8) in the square */
    ADJ_DOMAIN(a < ADJ_BITS_OF(0.9998))
    ADJ_EACH {
        V of = ADJ_AT(x), s = (1 - of) * (1 + of), sum = {0};
        ADJ_NAME(adj_log)(&s, &s);
        s = ADJ_FMA(s, ADJ_ALL(-0.25), ADJ_ALL(-1));
        #pragma GCC unroll 40
        for (int k = sizeof(adj_inverse) / sizeof(double) - 1; k >= 0; k--)
            sum = ADJ_FMA(sum, s, ADJ_ALL(adj_inverse[k]));
        ADJ_PUT(sum * of)
    }
    return 1;
}

/* modified Bessel functions, by Clenshaw's recurrence -------------------------------------------------------------- */

ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_clenshaw)(const V *s, const double *c, const int n, V *result) {
    V now = {0}, before = {0}, twice = 2 * *s;
    #pragma GCC unroll 32
    for (int k = 0; k < n - 1; k++) {
        V after = ADJ_FMA(twice, now, c[k] - before);
        before = now;
        now = after;
    }
    *result = ADJ_FMA(*s, now, c[n - 1] - before);
}

/* I0 or I1 of a block, times exp(-|x|) unless `scale` */
ADJ_TARGET ADJ_INLINE int ADJ_NAME(adj_bessel_i)(const void *x, void *out, int64_t n, const int order,
                                                 const int scale) {
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
            V s = ADJ_FMA(a, ADJ_ALL(0.25), ADJ_ALL(-1));
            if (order) {
                ADJ_NAME(adj_clenshaw)(&s, adj_bessel_i1_small, sizeof(adj_bessel_i1_small) / sizeof(double), &below);
                below *= a;
            } else
                ADJ_NAME(adj_clenshaw)(&s, adj_bessel_i0_small, sizeof(adj_bessel_i0_small) / sizeof(double), &below);
        }
        if (large) {
            /* for small arguments the value at 8, to avoid a division by zero */
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
        if (order) *(W *)&above ^= ADJ_BITS(of) & ADJ_SIGN;
        ADJ_PUT(above)
    }
    return 1;
}
ADJ_TARGET static int ADJ_NAME(adj_i0)(ADJ_ARGUMENTS) {
    ADJ_DOMAIN(a < ADJ_BITS_OF(700.0))
    return ADJ_NAME(adj_bessel_i)(x, out, n, 0, 1);
}
ADJ_TARGET static int ADJ_NAME(adj_i0e)(ADJ_ARGUMENTS) {
    ADJ_DOMAIN(a < ADJ_BITS_OF(1e300))
    return ADJ_NAME(adj_bessel_i)(x, out, n, 0, 0);
}
ADJ_TARGET static int ADJ_NAME(adj_i1)(ADJ_ARGUMENTS) {
    ADJ_DOMAIN((a < ADJ_BITS_OF(700.0)) & ((a > ADJ_BITS_OF(1e-300)) | (a == 0)))
    return ADJ_NAME(adj_bessel_i)(x, out, n, 1, 1);
}
ADJ_TARGET static int ADJ_NAME(adj_i1e)(ADJ_ARGUMENTS) {
    ADJ_DOMAIN((a < ADJ_BITS_OF(1e300)) & ((a > ADJ_BITS_OF(1e-300)) | (a == 0)))
    return ADJ_NAME(adj_bessel_i)(x, out, n, 1, 0);
}

#undef ADJ_MAGIC
#undef ADJ_QUOTIENT
#undef ADJ_QUOTIENT_DOMAIN
#undef ADJ_DOUBLE
#include "vector_ufuncs_end.h"
