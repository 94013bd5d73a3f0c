/* The formulas of vector_ufuncs.h in single precision for one kind of processor. */

#define T float
#include "vector_ufuncs_vectors.h"

/* the tail of the normal distribution over exp(-x * x / 2) is t * p(t) with t = 3 / (3 + x), for x from 0 to 15 to
   7e-8: a least squares fit, weighted towards equal relative errors, of the scaled complementary error function */
ADJ_TARGET static int ADJ_NAME(adj_normal_cdf)(ADJ_ARGUMENTS) {
    static const float c[] = {
        -0.011551915520879027f, 0.03605081695797176f, 0.0008010586111230019f, -0.11251558428384276f,
        0.09790008239312693f, 0.005668425105379933f, 0.1015466819192886f, 0.11592631190089739f,
        0.13320243685451147f, 0.13297165000669342f,
    };
    ADJ_DOMAIN(a < ADJ_BITS_OF(12.5f))
    ADJ_EACH {
        V of = ADJ_AT(x), a, power, lost;
        ADJ_NAME(adj_size)(&of, &a);
        V t = 3 / (a + 3), sum = {0};
        #pragma GCC unroll 10
        for (int k = 0; k < (int)(sizeof(c) / sizeof(float)); k++) sum = ADJ_FMA(sum, t, ADJ_ALL(c[k]));
        ADJ_NAME(adj_square)(&a, 12, &power, &lost);
        ADJ_NAME(adj_exp)(&power, &power);
        V more = ADJ_FMA(lost, ADJ_FMA(lost, ADJ_ALL(1.0f / 6), ADJ_ALL(0.5f)), ADJ_ALL(1)) * lost;
        V tail = sum * t * ADJ_FMA(power, more, power), rest = 1 - tail;
        W right = ADJ_BITS(of) > 0;
        ADJ_NAME(adj_choose)(&right, &rest, &tail, &tail);
        ADJ_PUT(tail)
    }
    return 1;
}

/* from 1 on, 1 - erf(x) is the exponential of a polynomial; from 4 on it is negligible beside 1 */
ADJ_TARGET static int ADJ_NAME(adj_erf)(ADJ_ARGUMENTS) {
    ADJ_DOMAIN(a < ADJ_BITS_OF(1e37f))
    ADJ_EACH {
        const V most = ADJ_ALL(4);
        V of = ADJ_AT(x), a;
        ADJ_NAME(adj_size)(&of, &a);
        W small = a < 1, beyond = a > most;
        ADJ_NAME(adj_choose)(&beyond, &most, &a, &a);
        V z = a * a;
        ADJ_POLYNOMIAL(below, adj_erf_small_single, z)
        ADJ_POLYNOMIAL(above, adj_erfc_log_single, a)
        ADJ_NAME(adj_exp)(&above, &above);
        below = ADJ_FMA(below, a, a);
        above = 1 - above;
        ADJ_NAME(adj_choose)(&small, &below, &above, &above);
        ADJ_NAME(adj_signed)(&above, &of, &above);
        ADJ_PUT(above)
    }
    return 1;
}

#include "vector_ufuncs_end.h"
