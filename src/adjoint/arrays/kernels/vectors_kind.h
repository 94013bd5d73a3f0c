/* The loops of vectors.h for all types of elements and one kind of processor, which ADJ_KIND, ADJ_TARGET, ADJ_BYTES and
   ADJ_TILE describe. */

#define ADJ_T float
#include "vectors_loops.h"
#undef ADJ_T
#define ADJ_T double
#define ADJ_DOUBLE
#include "vectors_loops.h"
#undef ADJ_T
#undef ADJ_DOUBLE
#undef ADJ_KIND
#undef ADJ_TARGET
#undef ADJ_BYTES
#undef ADJ_TILE
