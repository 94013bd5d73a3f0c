/* Regions of a recorded program: steps that run tile by tile on memory whose addresses are known when they run. */
#ifndef ADJOINT_REGION_H
#define ADJOINT_REGION_H

#include "machine.h"

/* Axes outside of rows and columns. */
#define ADJ_MOST_OUTER 8

/* sources: for each register the number of the memory block that it lies in, or -1 for one in scratch memory. offsets:
   where it begins there. outer_strides: n_outer strides for each register. */
typedef struct {
    adj_job job;
    adj_step *steps;
    adj_register *registers;
    int *sources;
    npy_intp *offsets, *outer_strides;
    npy_intp outer_shape[ADJ_MOST_OUTER];
    npy_intp work;
    int n_registers, n_outer;
} adj_region;

/* Allocates the tables of a region; -1 with an exception. */
static int adj_make_region(adj_region *r, int n_steps, int n_registers, int n_outer) {
    r->n_registers = n_registers;
    r->n_outer = n_outer;
    r->steps = (adj_step *)PyMem_Calloc(n_steps + 1, sizeof(adj_step));
    r->registers = (adj_register *)PyMem_Calloc(n_registers + 1, sizeof(adj_register));
    r->sources = (int *)PyMem_Calloc(n_registers + 1, sizeof(int));
    r->offsets = (npy_intp *)PyMem_Calloc(n_registers + 1, sizeof(npy_intp));
    r->outer_strides = (npy_intp *)PyMem_Calloc(n_registers * n_outer + 1, sizeof(npy_intp));
    if (!r->steps || !r->registers || !r->sources || !r->offsets || !r->outer_strides) { PyErr_NoMemory(); return -1; }
    r->job.steps = r->steps;
    r->job.registers = r->registers;
    r->job.n_steps = n_steps;
    return 0;
}

/* Frees what adj_make_region() allocated. */
static void adj_free_region(adj_region *r) {
    PyMem_Free(r->steps);
    PyMem_Free(r->registers);
    PyMem_Free(r->sources);
    PyMem_Free(r->offsets);
    PyMem_Free(r->outer_strides);
}

/* Finds the addresses of all registers, given those of the memory blocks. */
static void adj_place_registers(adj_region *r, char *const *blocks) {
    for (int k = 0; k < r->n_registers; k++)
        r->registers[k].base = r->sources[k] < 0 ? NULL : blocks[r->sources[k]] + r->offsets[k];
}

/* Moves the registers to the next place along the outer axes; 0 after the last one. */
static int adj_next_place(adj_region *r, npy_intp *at) {
    for (int axis = r->n_outer - 1; axis >= 0; axis--) {
        int is_last = ++at[axis] == r->outer_shape[axis];
        npy_intp times = is_last ? 1 - r->outer_shape[axis] : 1;
        for (int k = 0; k < r->n_registers; k++)
            if (r->sources[k] >= 0) r->registers[k].base += times * r->outer_strides[k * r->n_outer + axis];
        if (!is_last) return 1;
        at[axis] = 0;
    }
    return 0;
}

#endif
