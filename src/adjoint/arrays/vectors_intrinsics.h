/* The processors' instructions that vectors_fused.h names. */

#ifndef ADJOINT_VECTORS_INTRINSICS_H
#define ADJOINT_VECTORS_INTRINSICS_H
#if defined(__GNUC__) && !defined(_MSC_VER)
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
#endif
#endif
