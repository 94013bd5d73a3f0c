/* From here to optimized_end.h gcc compiles for size: the loops for processors without AVX2, where others have loops of
   their own. Each pair opens and closes: no guard. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#if defined(__x86_64__)
#pragma GCC optimize("Os")
#endif
#endif
