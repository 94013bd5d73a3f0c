/* What formulas of all types of elements T share, for one kind of processor; see vector_ufuncs_loops.h. */

#define V ADJ_NAME(adj_vector)
#define WIDTH ((int)(ADJ_BYTES / sizeof(T)))
typedef T V __attribute__((vector_size(ADJ_BYTES), aligned(sizeof(T)), may_alias));
#include "vectors_exp.h"
#include "vectors_log.h"

#define ADJ_BITS_OF(number) ADJ_C(adj_bits_of_single, adj_bits_of_double)(number)
#define ADJ_EACH for (int64_t i = 0; i < n; i += WIDTH)
#define ADJ_AT(place) (*(const V *)((const T *)(place) + i))
#define ADJ_PUT(value) { V adj_put = (value); *(V *)((T *)out + i) = adj_put; }

/* is a condition true for all elements? */
ADJ_TARGET ADJ_INLINE int ADJ_NAME(adj_all)(const W *where) {
    ADJ_INTEGER all = -1;
    for (int k = 0; k < WIDTH; k++) all &= (*where)[k];
    return all != 0;
}
/* is it true for one? */
ADJ_TARGET ADJ_INLINE int ADJ_NAME(adj_any)(const W *where) {
    ADJ_INTEGER any = 0;
    for (int k = 0; k < WIDTH; k++) any |= (*where)[k];
    return any != 0;
}
/* the numbers without their signs */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_size)(const V *x, V *result) { *(W *)result = ADJ_BITS(*x) & ~ADJ_SIGN; }
/* If `inside` is given, stores for each element whether a condition on the sizes a and b holds; otherwise returns 0
   from a formula unless it holds for all. Sizes are compared as integers by their bits, since comparing NaN as a number
   would raise a flag. */
#define ADJ_DOMAIN(condition) { \
    W all = ~(W){0}; \
    ADJ_EACH { \
        V first = ADJ_AT(x), second = ADJ_AT(y ? y : x); \
        W a = ADJ_BITS(first) & ~ADJ_SIGN, b = ADJ_BITS(second) & ~ADJ_SIGN; \
        (void)b; \
        W fits = (condition); \
        all &= fits; \
        if (inside) for (int k = 0; k < WIDTH; k++) inside[i + k] = fits[k] != 0; \
    } \
    if (inside) return 1; \
    if (!ADJ_NAME(adj_all)(&all)) return 0; }

/* numbers of one sign follow each other as the integers that their bits are */
ADJ_TARGET static int ADJ_NAME(adj_nextafter)(ADJ_ARGUMENTS) {
    const ADJ_INTEGER low = ADJ_BITS_OF(ADJ_C(1e-35f, 1e-300)), high = ADJ_BITS_OF(ADJ_C(1e35f, 1e300));
    ADJ_DOMAIN((a > low) & (a < high) & (b < high))
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

/* the distribution function of the logistic distribution */
ADJ_TARGET static int ADJ_NAME(adj_expit)(ADJ_ARGUMENTS) {
    /* of minus the size of x: the exponential cannot overflow, and small results keep their digits */
    ADJ_DOMAIN(a < ADJ_BITS_OF((T)INFINITY))
    ADJ_EACH {
        const V one = ADJ_ALL(1);
        V of = ADJ_AT(x), power, above;
        *(W *)&power = ADJ_BITS(of) | ADJ_SIGN;
        ADJ_NAME(adj_exp)(&power, &power);
        W right = ADJ_BITS(of) >= 0;
        ADJ_NAME(adj_choose)(&right, &one, &power, &above);
        ADJ_PUT(above / (1 + power))
    }
    return 1;
}

/* the square of a size over -2, in two parts; the first is exact. `bits` masks the omitted bits */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_square)(const V *a, const int bits, V *square, V *lost) {
    V near;
    *(W *)&near = ADJ_BITS(*a) & ~(((ADJ_INTEGER)1 << bits) - 1);
    *lost = (*a - near) * (*a + near) * (T)-0.5;
    *square = near * near * (T)-0.5;
}

/* the logarithm of 1 + x */
ADJ_TARGET ADJ_UNUSED static int ADJ_NAME(adj_log1p)(ADJ_ARGUMENTS) {
    ADJ_DOMAIN((a < ADJ_BITS_OF((T)1)) | ((ADJ_BITS(first) > 0) & (a < ADJ_BITS_OF(ADJ_C(1e37f, 1e300)))))
    ADJ_EACH ADJ_NAME(adj_log_of_sum)((const V *)((const T *)x + i), (V *)((T *)out + i));
    return 1;
}

/* log(exp(x) + exp(y)): the larger one, and the rest of the smaller one */
ADJ_TARGET static int ADJ_NAME(adj_logaddexp)(ADJ_ARGUMENTS) {
    const ADJ_INTEGER limit = ADJ_BITS_OF(ADJ_C(1e37f, 1e300));
    ADJ_DOMAIN((a < limit) & (b < limit))
    ADJ_EACH {
        V first = ADJ_AT(x), second = ADJ_AT(y), power = first - second, larger;
        W left = first > second;
        ADJ_NAME(adj_choose)(&left, &first, &second, &larger);
        *(W *)&power |= ADJ_SIGN;
        ADJ_NAME(adj_exp)(&power, &power);
        ADJ_NAME(adj_log_of_sum)(&power, &power);
        ADJ_PUT(larger + power)
    }
    return 1;
}

/* exp(x) - 1 = 2 ** n * (exp(r) - 1) + (2 ** n - 1) */
ADJ_TARGET ADJ_UNUSED static int ADJ_NAME(adj_expm1)(ADJ_ARGUMENTS) {
    const ADJ_INTEGER high = ADJ_BITS_OF(ADJ_C(88.0f, 709.0)), low = ADJ_BITS_OF(ADJ_C(1e37f, 1e300));
    ADJ_DOMAIN((a < high) | ((ADJ_BITS(first) < 0) & (a < low)))
    ADJ_EACH {
        /* below, the result is -1 */
        const V least = ADJ_ALL(ADJ_C(-20.0f, -40.0));
        V of = ADJ_AT(x), held, rest, scale;
        W below = of < least, power;
        ADJ_NAME(adj_choose)(&below, &least, &of, &held);
        ADJ_NAME(adj_exp_parts)(&held, &power, &rest);
        ADJ_NAME(adj_power_of_two)(&power, &scale);
        rest = ADJ_FMA(scale, rest, scale - 1);
        ADJ_NAME(adj_signed)(&rest, &of, &rest);
        ADJ_PUT(rest)
    }
    return 1;
}
