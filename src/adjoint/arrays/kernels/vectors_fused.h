/* Fused operations: ADJ_FMA(a, b, c) is a * b + c with one rounding if ADJ_FUSED is 1, and with two if it is 0. All
   other products and sums of these files are rounded one by one: setup.py forbids the compiler to contract them, so the
   last digits are the same for every element and every compiler. ADJ_ALL(a) is a number in all elements, ADJ_SQRT(a)
   the roots of all elements.

   For vectors V of WIDTH elements T; see vectors_loops.h and vector_ufuncs_loops.h. */

#undef ADJ_FUSED
#undef ADJ_FMA
#undef ADJ_ALL
#undef ADJ_SQRT
#define ADJ_ALL(a) ((T)(a) - (V){0})
#if ADJ_BYTES == 64
#define ADJ_FUSED 1
#if defined(ADJ_DOUBLE)
#define ADJ_FMA(a, b, c) ((V)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define ADJ_SQRT(a) ((V)_mm512_sqrt_pd((__m512d)(a)))
#else
#define ADJ_FMA(a, b, c) ((V)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define ADJ_SQRT(a) ((V)_mm512_sqrt_ps((__m512)(a)))
#endif
#elif ADJ_BYTES == 32
#define ADJ_FUSED 1
#if defined(ADJ_DOUBLE)
#define ADJ_FMA(a, b, c) ((V)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define ADJ_SQRT(a) ((V)_mm256_sqrt_pd((__m256d)(a)))
#else
#define ADJ_FMA(a, b, c) ((V)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define ADJ_SQRT(a) ((V)_mm256_sqrt_ps((__m256)(a)))
#endif
#elif defined(__aarch64__)
#define ADJ_FUSED 1
#if defined(ADJ_DOUBLE)
#define ADJ_FMA(a, b, c) ((V)vfmaq_f64((float64x2_t)(c), (float64x2_t)(a), (float64x2_t)(b)))
#define ADJ_SQRT(a) ((V)vsqrtq_f64((float64x2_t)(a)))
#else
#define ADJ_FMA(a, b, c) ((V)vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b)))
#define ADJ_SQRT(a) ((V)vsqrtq_f32((float32x4_t)(a)))
#endif
#else
#define ADJ_FUSED 0
#define ADJ_FMA(a, b, c) ((a) * (b) + (c))
#if defined(__SSE2__) && defined(ADJ_DOUBLE)
#define ADJ_SQRT(a) ((V)_mm_sqrt_pd((__m128d)(a)))
#elif defined(__SSE2__)
#define ADJ_SQRT(a) ((V)_mm_sqrt_ps((__m128)(a)))
#elif defined(ADJ_DOUBLE)
#define ADJ_SQRT(a) ((V){sqrt((a)[0]), sqrt((a)[1])})
#else
#define ADJ_SQRT(a) ((V){sqrtf((a)[0]), sqrtf((a)[1]), sqrtf((a)[2]), sqrtf((a)[3])})
#endif
#endif
