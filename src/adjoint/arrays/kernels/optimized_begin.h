/* From here to optimized_end.h gcc compiles for speed, in modules that setup.py has compiled for size: the loops, and
   not the calls around them. Other compilers get one option for the whole module. Each pair opens and closes: no
   guard. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3", "no-tree-loop-distribute-patterns")
#endif
