/* The options of the module again; see optimized_begin.h. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
