/* Choices between vectors and their exponential, for vectors V of WIDTH elements T; see vectors_loops.h. */

#include "vectors_fused.h"

/* integers of the size of the elements */
#define W ADJ_NAME(adj_integers)
#if defined(ADJ_DOUBLE)
#define ADJ_INTEGER int64_t
#define ADJ_C(single, twice) twice
#else
#define ADJ_INTEGER int32_t
#define ADJ_C(single, twice) single
#endif
typedef ADJ_INTEGER W __attribute__((vector_size(ADJ_BYTES), aligned(sizeof(T)), may_alias));

/* the first vector's elements where all bits of `where` are set, the second's where none is */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_choose)(const W *where, const V *first, const V *second, V *result) {
    *(W *)result = (*where & *(const W *)first) | (~*where & *(const W *)second);
}

/* x = n log 2 + r: the integer n, and exp(r) - 1 by a polynomial */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_exp_parts)(const V *of, W *power, V *rest) {
    const T magic = ADJ_C(12582912.0f, 6755399441055744.0);
    V x = *of, shifted = ADJ_FMA(x, ADJ_ALL(ADJ_C(1.44269504f, 1.4426950408889634)), ADJ_ALL(magic));
    V n = shifted - magic, r = ADJ_FMA(n, ADJ_ALL(-ADJ_C(0.693359375f, 0.693145751953125)), x);
    r = ADJ_FMA(n, ADJ_ALL(-ADJ_C(-2.12194440e-4f, 1.42860682030941723212e-6)), r);
    static const T c[] = {
#if defined(ADJ_DOUBLE)
        1.6059043836821613e-10, 2.0876756987868100e-9, 2.5052108385441720e-8, 2.7557319223985888e-7,
        2.7557319223985893e-6, 2.4801587301587302e-5, 1.9841269841269841e-4, 1.3888888888888889e-3,
        8.3333333333333332e-3, 4.1666666666666664e-2, 1.6666666666666666e-1, 0.5,
#else
        1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f,
#endif
    };
    V sum = ADJ_ALL(c[0]);
    #pragma GCC unroll 12
    for (int k = 1; k < (int)(sizeof(c) / sizeof(T)); k++) sum = ADJ_FMA(sum, r, ADJ_ALL(c[k]));
    *rest = ADJ_FMA(sum * r, r, r);
    const V as_number = ADJ_ALL(magic);
    *power = *(W *)&shifted - *(const W *)&as_number;
}

/* 2 ** n for integers n, the exponents of normal numbers */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_power_of_two)(const W *n, V *result) {
    *(W *)result = (*n + ADJ_C(127, 1023)) << ADJ_C(23, 52);
}

/* The exponential, with 2^n in two factors, as the result may be subnormal. */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_exp)(const V *of, V *result) {
    const V zero = {0}, low = zero + ADJ_C(-105.0f, -746.0), high = zero + ADJ_C(89.0f, 710.0);
    V x = *of, sum, first, second;
    W above = x > high, below = x < low, power;
    ADJ_NAME(adj_choose)(&above, &high, &x, &x);
    ADJ_NAME(adj_choose)(&below, &low, &x, &x);
    ADJ_NAME(adj_exp_parts)(&x, &power, &sum);
    sum += 1;
    W half = power >> 1, rest = power - half;
    ADJ_NAME(adj_power_of_two)(&half, &first);
    ADJ_NAME(adj_power_of_two)(&rest, &second);
    *result = sum * first * second;
}
