/* Takes back what vector_ufuncs_vectors.h defines. */

#undef ADJ_SIGN
#undef ADJ_BITS_OF
#undef ADJ_BITS
#undef ADJ_EACH
#undef ADJ_AT
#undef ADJ_PUT
#undef ADJ_POLYNOMIAL
#undef ADJ_LENGTH
#undef ADJ_DOMAIN
#undef V
#undef T
#undef WIDTH
#undef W
#undef ADJ_INTEGER
#undef ADJ_C
