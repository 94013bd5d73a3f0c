/* The programs that ran last, which other threads may replace; see free_threading.h. */
#ifndef ADJOINT_PROGRAM_SLOTS_H
#define ADJOINT_PROGRAM_SLOTS_H

#include "free_threading.h"

#define adj_double_program(fused) ((void *)adj_peek(ADJ_SLOT(fused, of_double)))
#define adj_single_program(fused) ((void *)adj_peek(ADJ_SLOT(fused, of_single)))
#define adj_put_double(fused, program) adj_put(ADJ_SLOT(fused, of_double), (PyObject *)(program))
#define adj_put_single(fused, program) adj_put(ADJ_SLOT(fused, of_single), (PyObject *)(program))

#endif
