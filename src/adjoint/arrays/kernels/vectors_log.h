/* The logarithm of vectors V of WIDTH elements T, behind vectors_exp.h and vector_ufuncs_tables.h; see vectors_loops.h.
   */

#define ADJ_SIGN ((ADJ_INTEGER)1 << (8 * sizeof(T) - 1))
#define ADJ_BITS(v) (*(const W *)&(v))
#define ADJ_LENGTH(table) ((int)(sizeof(table) / sizeof(*(table))))
/* sum = the polynomial with these coefficients, the lowest power first, of v */
#define ADJ_POLYNOMIAL(sum, coefficients, v) \
    V sum = {0}; \
    _Pragma("GCC unroll 40") \
    for (int k = ADJ_LENGTH(coefficients) - 1; k >= 0; k--) sum = ADJ_FMA(sum, v, ADJ_ALL((coefficients)[k]));

/* the size of one number and the sign of another */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_signed)(const V *size, const V *sign, V *result) {
    *(W *)result = (ADJ_BITS(*size) & ~ADJ_SIGN) | (ADJ_BITS(*sign) & ADJ_SIGN);
}

/* log(1 + x): 1 + x = 2 ** n * (1 + f), where f takes along what rounding 1 + x has lost, and log(1 + f) by the series
   of artanh, summed up as fdlibm does (Sun Microsystems, 1993). Subnormal numbers are their own results, here and of
   expm1, without a report of underflow: as in NumPy's loops by vectors, not as in its others. */
ADJ_TARGET ADJ_INLINE void ADJ_NAME(adj_log_of_sum)(const V *x, V *result) {
    const ADJ_INTEGER half_root = ADJ_C(0x3f3504f3, 0x3fe6a09e667f3bcd);  /* the square root of 1 / 2 */
    const ADJ_INTEGER magic_bits = ADJ_C(0x4b400000, 0x4338000000000000);
    const T magic = ADJ_C(12582912.0f, 6755399441055744.0);
    V of = *x, u = 1 + of, near = u - 1, lost = (of - near) + (1 - (u - near)), scale;
    W power = (ADJ_BITS(u) - half_root) >> ADJ_C(23, 52), bits = ADJ_BITS(u) - (power << ADJ_C(23, 52));
    W inverse = -power, number = power + magic_bits;
    ADJ_NAME(adj_power_of_two)(&inverse, &scale);
    V n = *(V *)&number - magic, f = ADJ_FMA(lost, scale, *(V *)&bits - 1);
    V s = f / (2 + f), z = s * s, half = (T)0.5 * f * f;
    ADJ_POLYNOMIAL(sum, ADJ_C(adj_log_rest_single, adj_log_rest), z)
    V below = ADJ_FMA(s, ADJ_FMA(z, sum, half), n * ADJ_C(9.0580006145e-06f, 1.90821492927058770002e-10));
    V sized = ADJ_FMA(n, ADJ_ALL(ADJ_C(6.9313812256e-01f, 6.93147180369123816490e-01)), f - (half - below));
    ADJ_NAME(adj_signed)(&sized, &of, result);
}
