/* The processors' instructions that vectors_fused.h names, and which kinds of them this processor has. */

#ifndef ADJOINT_VECTORS_INTRINSICS_H
#define ADJOINT_VECTORS_INTRINSICS_H

#if defined(__GNUC__) && !defined(_MSC_VER)
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
#endif

/* The best kind of vectors that this processor has: 0 what every one has, 1 AVX2, 2 AVX-512; -1 where the compiler has
   no vectors. */
static int adj_processor_kind(void) {
#if !defined(__GNUC__) || defined(_MSC_VER)
    return -1;
#elif defined(__x86_64__)
    __builtin_cpu_init();
    int fma = __builtin_cpu_supports("fma");
    if (fma && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        return 2;
    return fma && __builtin_cpu_supports("avx2") ? 1 : 0;
#else
    return 0;
#endif
}

#endif
