/* What formulas of all types of elements T share, for one kind of processor; see vector_ufuncs_loops.h. */

#define V ADJ_NAME(adj_vector)
#define WIDTH ((int)(ADJ_BYTES / sizeof(T)))
typedef T V __attribute__((vector_size(ADJ_BYTES), aligned(sizeof(T)), may_alias));
#include "vectors_exp.h"

#define ADJ_SIGN ((ADJ_INTEGER)1 << (8 * sizeof(T) - 1))
#define ADJ_BITS_OF(number) ADJ_C(adj_bits_of_single, adj_bits_of_double)(number)
#define ADJ_BITS(v) (*(const W *)&(v))
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
/* the size of one number and the sign of another */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_signed)(const V *size, const V *sign, V *result) {
    *(W *)result = (ADJ_BITS(*size) & ~ADJ_SIGN) | (ADJ_BITS(*sign) & ADJ_SIGN);
}
/* Notes for each element whether a condition, in terms of the sizes a and b, holds, if that is asked for; otherwise
   returns 0 from a formula unless it holds for all. Sizes are compared as the integers that their bits are: a
   comparison of NaN as a number would raise a flag. */
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

/* the distribution function of the logistic distribution */
ADJ_TARGET static int ADJ_NAME(adj_expit)(ADJ_ARGUMENTS) {
    ADJ_DOMAIN(a < ADJ_BITS_OF(ADJ_C(87.0f, 700.0)))
    ADJ_EACH {
        V power = -ADJ_AT(x);
        ADJ_NAME(adj_exp)(&power, &power);
        ADJ_PUT(1 / (1 + power))
    }
    return 1;
}

/* the square of a size over -2, in two parts, of which the first is exact: `bits` are those that are left out */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_square)(const V *a, const int bits, V *square, V *lost) {
    V near;
    *(W *)&near = ADJ_BITS(*a) & ~(((ADJ_INTEGER)1 << bits) - 1);
    *lost = (*a - near) * (*a + near) * (T)-0.5;
    *square = near * near * (T)-0.5;
}
