/* The machine that runs programs: each step is an inner loop of a ufunc on registers, one tile after the other.

   Arrays are viewed as rows and columns. All steps run on one tile before the next tile begins, so intermediate values
   stay in the processor's cache and never become arrays. The loops need no Python, so several threads share the tiles.
   */
#ifndef ADJOINT_MACHINE_H
#define ADJOINT_MACHINE_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "ufunc_loops.h"

#define ADJ_MOST_OPERANDS 3
#define ADJ_MOST_INPUTS 8
#define ADJ_MOST_STEPS 64
#define ADJ_MOST_REGISTERS 96
/* scratch memory of this size lies on the stack */
#define ADJ_STACK_SCRATCH 49152
#define ADJ_ALIGNMENT 64
/* the length of a tile where few intermediate values share the cache, and how many tiles a piece has */
#define ADJ_TILE 2048
#define ADJ_TILES 8
/* rows of so many elements cost more in calls than strides cost along columns */
#define ADJ_FEW_COLUMNS 4
#define ADJ_NO_MEMORY (1 << 30)

/* the kind of a step: on each element; on one number for each row; a reduction of rows, or of everything; or on each
   element by a loop whose values do not depend on strides, so that it may run along short rows or along columns */
enum { ADJ_EACH, ADJ_PER_ROW, ADJ_ROW_SUM, ADJ_ROW_FOLD, ADJ_SUM_OF_ALL, ADJ_EACH_ALONG_ANY };

/* the last register of a step holds its result */
typedef struct {
    adj_loop loop;
    int way, n_operands, registers[ADJ_MOST_OPERANDS + 1];
} adj_step;

/* Where a register lies: in an array, with strides of rows and columns, or (base NULL) at an offset in the scratch
   memory of a thread. */
typedef struct {
    char *base;
    npy_intp row, column, offset;
} adj_register;

/* A register that lies in an array: the number of its value, and its strides where the array is contiguous. */
typedef struct {
    int where, value;
    npy_intp row, column;
} adj_place;

/* One run. `group` rows, or `tile` columns of one row, are worked on together; a thread takes up one piece at once. */
typedef struct {
    const adj_step *steps;
    const adj_register *registers;
    int n_steps, flags;
    npy_intp n_rows, n_columns, tile, group, piece, n_pieces, scratch;
    char *totals;
    npy_intp total_size, next;
} adj_job;

#ifdef __GNUC__
#define ADJ_CLAIM(counter) __atomic_fetch_add(counter, 1, __ATOMIC_ACQ_REL)
#define ADJ_JOIN(flags, more) __atomic_fetch_or(flags, more, __ATOMIC_ACQ_REL)
#else
#define ADJ_CLAIM(counter) ((*(counter))++)
#define ADJ_JOIN(flags, more) (*(flags) |= (more))
#endif

/* running ---------------------------------------------------------------------------------------------------------- */

/* a reduction of some rows, from some column on: the loop with its result as first operand, which NumPy's loops know */
static void adj_reduce_rows(const adj_job *job, const adj_step *step, char **at, const npy_intp *down, npy_intp stride,
                            npy_intp row, npy_intp n_rows, npy_intp column, npy_intp n) {
    npy_intp tiles_per_row = (job->n_columns + job->tile - 1) / job->tile, size = job->total_size;
    for (npy_intp k = 0; k < n_rows; k++) {
        char *source = at[0] + k * down[0], *result = at[1] + k * down[1];
        npy_intp length = n, strides[3] = {0, stride, 0};
        if (step->way == ADJ_SUM_OF_ALL) result = job->totals + ((row + k) * tiles_per_row + column / job->tile) * size;
        if (step->way == ADJ_ROW_FOLD) {
            memcpy(result, source, size);
            source += stride;
            length--;
        } else memset(result, 0, size);
        char *operands[3] = {result, source, result};
        if (length) step->loop.function(operands, &length, strides, step->loop.data);
    }
}

/* whether a step adds to its result, as a reduction in a region does: the result is its first operand, too */
static int adj_accumulates(const adj_step *step) { return step->registers[0] == step->registers[step->n_operands]; }

/* one step on some rows, from some column on */
static void adj_run_step(const adj_job *job, const adj_step *step, char *scratch, npy_intp row, npy_intp n_rows,
                         npy_intp column, npy_intp n) {
    char *at[ADJ_MOST_OPERANDS + 1];
    npy_intp strides[ADJ_MOST_OPERANDS + 1], down[ADJ_MOST_OPERANDS + 1];
    int contiguous = 1, last = step->n_operands, is_each = step->way == ADJ_EACH || step->way == ADJ_EACH_ALONG_ANY;
    for (int i = 0; i <= last; i++) {
        const adj_register *r = &job->registers[step->registers[i]];
        at[i] = r->base ? r->base + row * r->row + column * r->column : scratch + r->offset;
        strides[i] = r->column;
        down[i] = r->row;
        contiguous &= r->row == n * r->column;
    }
    if (step->way == ADJ_PER_ROW) { step->loop.function(at, &n_rows, down, step->loop.data); return; }
    /* a value that is the same for all elements is computed once */
    if (strides[last] == 0 && down[last] == 0 && is_each && !adj_accumulates(step)) n = n_rows = 1;
    if (!is_each) {
        adj_reduce_rows(job, step, at, down, strides[0], row, n_rows, column, n);
        return;
    }
    if (contiguous || n_rows == 1) {
        n *= n_rows;
        step->loop.function(at, &n, strides, step->loop.data);
        return;
    }
    int along_columns = step->way == ADJ_EACH_ALONG_ANY && n <= ADJ_FEW_COLUMNS && n < n_rows;
    const npy_intp *inner = along_columns ? down : strides, *outer = along_columns ? strides : down;
    npy_intp n_outer = along_columns ? n : n_rows, n_inner = along_columns ? n_rows : n;
    for (npy_intp k = 0; k < n_outer; k++) {
        char *here[ADJ_MOST_OPERANDS + 1];
        for (int i = 0; i <= last; i++) here[i] = at[i] + k * outer[i];
        step->loop.function(here, &n_inner, inner, step->loop.data);
    }
}

/* a piece is a range of rows, or of the columns of the only row */
static void adj_run_piece(const adj_job *job, npy_intp piece, char *scratch) {
    npy_intp first = piece * job->piece, row_begin = first, row_end = first + job->piece;
    npy_intp column_begin = 0, column_end = job->n_columns;
    if (job->n_rows == 1) {
        row_begin = 0;
        row_end = 1;
        column_begin = first;
        if (first + job->piece < column_end) column_end = first + job->piece;
    } else if (row_end > job->n_rows) row_end = job->n_rows;
    for (npy_intp row = row_begin; row < row_end; row += job->group) {
        npy_intp rows = row_end - row < job->group ? row_end - row : job->group;
        for (npy_intp column = column_begin; column < column_end; column += job->tile) {
            npy_intp n = column_end - column < job->tile ? column_end - column : job->tile;
            for (int s = 0; s < job->n_steps; s++) adj_run_step(job, &job->steps[s], scratch, row, rows, column, n);
        }
    }
}

/* what each thread of a job does: take up pieces while there are any */
static void adj_work(void *of) {
    adj_job *job = (adj_job *)of;
    char *memory = (char *)malloc((size_t)job->scratch + ADJ_ALIGNMENT);
    if (memory == NULL) { ADJ_JOIN(&job->flags, ADJ_NO_MEMORY); return; }
    char *scratch = (char *)(((uintptr_t)memory + ADJ_ALIGNMENT - 1) & ~(uintptr_t)(ADJ_ALIGNMENT - 1));
    adj_clear_flags(FE_ALL_EXCEPT);
    npy_intp piece;
    while ((piece = ADJ_CLAIM(&job->next)) < job->n_pieces) adj_run_piece(job, piece, scratch);
    int flags = adj_flags(ADJ_REPORTED_FLAGS);
    adj_clear_flags(FE_ALL_EXCEPT);
    free(memory);
    if (flags) ADJ_JOIN(&job->flags, flags);
}

/* the sum of the sums of tiles, as NumPy adds them up */
static void adj_add_totals(const adj_job *job, int step, npy_intp n, char *result) {
    const adj_loop *loop = &job->steps[step].loop;
    npy_intp size = job->total_size, length = n - 1, strides[3] = {0, size, 0};
    char *operands[3] = {result, job->totals + size, result};
    if (n) memcpy(result, job->totals, size);
    else memset(result, 0, size);
    if (length > 0) loop->function(operands, &length, strides, loop->data);
}

/* steps on a single row that is one tile: the same without the questions that several tiles ask */
static void adj_run_row(const adj_job *job, char *scratch) {
    const npy_intp one = 1;
    for (int s = 0; s < job->n_steps; s++) {
        const adj_step *step = &job->steps[s];
        char *at[ADJ_MOST_OPERANDS + 1];
        npy_intp strides[ADJ_MOST_OPERANDS + 1];
        for (int i = 0; i <= step->n_operands; i++) {
            const adj_register *r = &job->registers[step->registers[i]];
            at[i] = r->base ? r->base : scratch + r->offset;
            strides[i] = r->column;
        }
        int once = step->way == ADJ_PER_ROW || (strides[step->n_operands] == 0 && !adj_accumulates(step));
        step->loop.function(at, once ? &one : &job->n_columns, strides, step->loop.data);
    }
}

/* what `adj_work` does, in the calling thread alone, for elementwise jobs whose scratch memory fits on the stack */
static void adj_work_here(adj_job *job, int quiet) {
    char memory[ADJ_STACK_SCRATCH + ADJ_ALIGNMENT];
    char *scratch = (char *)(((uintptr_t)memory + ADJ_ALIGNMENT - 1) & ~(uintptr_t)(ADJ_ALIGNMENT - 1));
    if (!quiet) adj_clear_flags(ADJ_REPORTED_FLAGS);
    if (job->n_rows == 1 && job->tile == job->n_columns) adj_run_row(job, scratch);
    else
        for (npy_intp piece = 0; piece < job->n_pieces; piece++) adj_run_piece(job, piece, scratch);
    if (!quiet && (job->flags = adj_flags(ADJ_REPORTED_FLAGS))) adj_clear_flags(ADJ_REPORTED_FLAGS);
}

/* A piece is several tiles: distribution costs little then, and an interrupted thread delays the others little. */
static void adj_set_pieces(adj_job *job, int n_tiles) {
    job->piece = n_tiles * (job->n_rows == 1 ? job->tile : job->group);
    if (job->piece < 1) job->piece = 1; /* of no elements, or of no tiles, there are no pieces to be counted by size */
    job->n_pieces = ((job->n_rows == 1 ? job->n_columns : job->n_rows) + job->piece - 1) / job->piece;
    job->next = 0;
}

/* the loops that are no ufunc's ------------------------------------------------------------------------------------ */

/* selections, without branches, which random conditions make slow */
#define ADJ_CHOOSE(name, type)                                                                                         \
    static ADJ_ALWAYS_INLINE void name##_strided(char **at, npy_intp n, npy_intp a, npy_intp b) {                      \
        const npy_bool *condition = (npy_bool *)at[0];                                                                 \
        type *out = (type *)at[3];                                                                                     \
        for (npy_intp i = 0; i < n; i++) {                                                                             \
            type mask = (type)0 - (type)(condition[i] != 0);                                                           \
            out[i] = (*(type *)(at[1] + i * a) & mask) | (*(type *)(at[2] + i * b) & ~mask);                           \
        }                                                                                                              \
    }                                                                                                                  \
    ADJ_CLONES void name(char **at, npy_intp const *n, npy_intp const *s, void *data) {                                \
        const npy_intp size = sizeof(type);                                                                            \
        (void)data;                                                                                                    \
        if (s[0] == 1 && s[3] == size) {                                                                               \
            if (s[1] == size && s[2] == size) { name##_strided(at, *n, sizeof(type), sizeof(type)); return; }          \
            if (s[1] == size && s[2] == 0) { name##_strided(at, *n, sizeof(type), 0); return; }                        \
            if (s[1] == 0 && s[2] == size) { name##_strided(at, *n, 0, sizeof(type)); return; }                        \
            if (s[1] == 0 && s[2] == 0) { name##_strided(at, *n, 0, 0); return; }                                      \
        }                                                                                                              \
        for (npy_intp i = 0; i < *n; i++) {                                                                            \
            type mask = (type)0 - (type)(*(npy_bool *)(at[0] + i * s[0]) != 0);                                        \
            type x = *(type *)(at[1] + i * s[1]), y = *(type *)(at[2] + i * s[2]);                                     \
            *(type *)(at[3] + i * s[3]) = (x & mask) | (y & ~mask);                                                    \
        }                                                                                                              \
    }
ADJ_CHOOSE(adj_choose_1, uint8_t)
ADJ_CHOOSE(adj_choose_4, uint32_t)
ADJ_CHOOSE(adj_choose_8, uint64_t)

/* booleans as numbers */
#define ADJ_CAST(name, type)                                                                                           \
    ADJ_CLONES void name(char **at, npy_intp const *n, npy_intp const *s, void *data) {                                \
        (void)data;                                                                                                    \
        if (s[0] == 1 && s[1] == sizeof(type))                                                                         \
            for (npy_intp i = 0; i < *n; i++) ((type *)at[1])[i] = (type)(((npy_bool *)at[0])[i] != 0);                \
        else                                                                                                           \
            for (npy_intp i = 0; i < *n; i++)                                                                          \
                *(type *)(at[1] + i * s[1]) = (type)(*(npy_bool *)(at[0] + i * s[0]) != 0);                            \
    }
ADJ_CAST(adj_cast_4, float)
ADJ_CAST(adj_cast_8, double)

/* copies of elements, and single as double precision and back */
#define ADJ_COPY(name, source, type)                                                                                   \
    ADJ_CLONES void name(char **at, npy_intp const *n, npy_intp const *s, void *data) {                                \
        (void)data;                                                                                                    \
        if (s[0] == sizeof(source) && s[1] == sizeof(type))                                                            \
            for (npy_intp i = 0; i < *n; i++) ((type *)at[1])[i] = (type)((source *)at[0])[i];                         \
        else                                                                                                           \
            for (npy_intp i = 0; i < *n; i++) *(type *)(at[1] + i * s[1]) = (type) * (source *)(at[0] + i * s[0]);     \
    }
typedef struct { uint64_t parts[2]; } adj_16_bytes;
ADJ_COPY(adj_copy_1, uint8_t, uint8_t)
ADJ_COPY(adj_copy_2, uint16_t, uint16_t)
ADJ_COPY(adj_copy_4, uint32_t, uint32_t)
ADJ_COPY(adj_copy_8, uint64_t, uint64_t)
ADJ_COPY(adj_copy_16, adj_16_bytes, adj_16_bytes)
ADJ_COPY(adj_widen, float, double)
ADJ_COPY(adj_narrow, double, float)

/* Ufuncs of one operand whose loops write wrong values where the result has strides: NumPy 2.2 to 2.4, x86-64. */
static const char *const adj_dense_ufuncs[] = {"negative", "isfinite", "isinf", "isnan", "signbit"};
enum { ADJ_N_DENSE = 5, ADJ_MOST_TYPES = 32, ADJ_DENSE_BYTES = 4096 };

/* a loop, and the size of its result's elements */
typedef struct {
    adj_loop loop;
    npy_intp size;
    PyUFuncGenericFunction copy;
} adj_dense_loop;

/* Runs a loop into memory without gaps, and copies the result to where it belongs. */
static void adj_run_dense(char **at, npy_intp const *n, npy_intp const *strides, void *of) {
    const adj_dense_loop *dense = (const adj_dense_loop *)of;
    if (strides[1] == dense->size) { dense->loop.function(at, n, strides, dense->loop.data); return; }
    char memory[ADJ_DENSE_BYTES];
    npy_intp most = ADJ_DENSE_BYTES / dense->size;
    npy_intp inward[2] = {strides[0], dense->size}, outward[2] = {dense->size, strides[1]};
    for (npy_intp begin = 0; begin < *n; begin += most) {
        npy_intp length = *n - begin < most ? *n - begin : most;
        char *from[2] = {at[0] + begin * strides[0], memory}, *to[2] = {memory, at[1] + begin * strides[1]};
        dense->loop.function(from, &length, inward, dense->loop.data);
        dense->copy(to, &length, outward, NULL);
    }
}

/* the copying loop for elements of a size; NULL if there is none */
static PyUFuncGenericFunction adj_copy_of_size(npy_intp size) {
    return size == 1 ? adj_copy_1 : size == 2 ? adj_copy_2 : size == 4 ? adj_copy_4 : size == 8 ? adj_copy_8
         : size == 16 ? adj_copy_16 : NULL;
}

/* A ufunc's loop by its place among the ufunc's types; 0 if the ufunc has none there. The entries of `dense` are
   written with the same values each time, so that threads may do so together. */
static int adj_set_loop(adj_step *step, PyObject *of, int place) {
    static adj_dense_loop dense[ADJ_N_DENSE][ADJ_MOST_TYPES];
    PyUFuncObject *ufunc = (PyUFuncObject *)of;
    if (!adj_loop_at(ufunc, place, &step->loop)) return 0;
    for (int k = 0; k < ADJ_N_DENSE; k++) {
        if (strcmp(ufunc->name, adj_dense_ufuncs[k])) continue;
        PyArray_Descr *descr = PyArray_DescrFromType(ufunc->types[place * ufunc->nargs + 1]);
        npy_intp size = PyDataType_ELSIZE(descr);
        Py_DECREF(descr);
        if (place >= ADJ_MOST_TYPES || adj_copy_of_size(size) == NULL) return 0;
        dense[k][place] = (adj_dense_loop){step->loop, size, adj_copy_of_size(size)};
        step->loop = (adj_loop){adj_run_dense, &dense[k][place]};
    }
    return 1;
}

/* a loop of our own by its number, which OWN_LOOPS of machine.py knows too */
static void adj_set_own_loop(adj_step *step, int which) {
    const PyUFuncGenericFunction loops[] = {
        adj_choose_1, adj_choose_4, adj_choose_8, adj_cast_4, adj_cast_8,
        adj_copy_1, adj_copy_2, adj_copy_4, adj_copy_8, adj_copy_16, adj_widen, adj_narrow,
    };
    step->loop.function = loops[which];
    step->loop.data = NULL;
}

/* elementwise programs on arrays of any shape ---------------------------------------------------------------------- */

/* Steps and registers of an elementwise program: the inputs, the constants and the steps' results. The last result is
   the program's. slots: the number of intermediate values alive at once. */
typedef struct {
    int n_inputs, n_constants, n_steps, n_registers, n_slots, type_num, size;
    npy_intp tile;
    adj_step *steps;
    adj_register *registers;
    char *constants;
    PyArray_Descr *descr;
    int input_types[ADJ_MOST_INPUTS];
} adj_elementwise;

/* Allocates the steps, registers and constants of a program whose numbers are set; -1 with an exception. */
static int adj_make_elementwise(adj_elementwise *p) {
    p->n_registers = p->n_inputs + p->n_constants + p->n_steps;
    p->steps = (adj_step *)PyMem_Calloc(p->n_steps, sizeof(adj_step));
    p->registers = (adj_register *)PyMem_Calloc(p->n_registers, sizeof(adj_register));
    p->constants = (char *)PyMem_Calloc(p->n_constants + 1, sizeof(double));
    p->descr = PyArray_DescrFromType(p->type_num);
    if (p->steps == NULL || p->registers == NULL || p->constants == NULL) { PyErr_NoMemory(); return -1; }
    /* the largest power of two, at least 512, for which all intermediate values fit on the stack */
    p->tile = ADJ_TILE;
    while (p->tile > 512 && p->n_slots * p->tile * 8 > ADJ_STACK_SCRATCH) p->tile /= 2;
    return 0;
}

/* Frees what adj_make_elementwise() allocated. */
static void adj_free_elementwise(adj_elementwise *p) {
    Py_XDECREF(p->descr);
    PyMem_Free(p->steps);
    PyMem_Free(p->registers);
    PyMem_Free(p->constants);
}

/* Sets constant k of a program, of so many bytes. */
static void adj_set_constant(adj_elementwise *p, int k, int size, double value) {
    char *at = p->constants + k * sizeof(double);
    if (size == 4) *(float *)at = (float)value;
    else *(double *)at = value;
    p->registers[p->n_inputs + k].base = at;
}

/* Says where the result of a step lies: in a slot of the scratch memory, with elements of this size. */
static void adj_set_result(adj_elementwise *p, int step, int size, int slot) {
    adj_register *r = &p->registers[p->n_inputs + p->n_constants + step];
    r->column = size;
    r->offset = slot * p->tile * 8;
}

/* a Python number in the program's type; 0 if it is none, or does not fit */
static int adj_read_number(PyObject *o, int single, double *value) {
    double d;
    if (PyFloat_CheckExact(o)) d = PyFloat_AS_DOUBLE(o);
    else if (PyLong_CheckExact(o)) {
        int overflow;
        long long whole = PyLong_AsLongLongAndOverflow(o, &overflow);
        long long limit = single ? 1LL << 24 : 1LL << 53;
        if (overflow || whole > limit || whole < -limit) return 0;
        d = (double)whole;
    } else return 0;
    if (!single) { *value = d; return 1; }
    float f = (float)d;
    memcpy(value, &f, sizeof f);
    return isinf(d) || !isinf(f);
}

/* Rows and columns of arrays that broadcast: neighbouring axes that every array steps through alike are one. 0 if that
   leaves more than two, or if NumPy would lay the result out in another order. */
static int adj_collapse(int n_inputs, PyArrayObject **arrays, adj_register *registers, int ndim, npy_intp *shape,
                        npy_intp *n_rows, npy_intp *n_columns) {
    npy_intp dims[2] = {1, 1}, strides[2][ADJ_MOST_INPUTS];
    int n_groups = 0;
    memset(strides, 0, sizeof strides);
    for (int axis = 0; axis < ndim; axis++) {
        npy_intp here[ADJ_MOST_INPUTS];
        if (shape[axis] == 1) continue;
        int merges = n_groups > 0;
        for (int k = 0; k < n_inputs; k++) {
            here[k] = 0;
            if (arrays[k] == NULL) continue;
            int operand_axis = axis - (ndim - PyArray_NDIM(arrays[k]));
            if (operand_axis >= 0 && PyArray_DIM(arrays[k], operand_axis) != 1)
                here[k] = PyArray_STRIDE(arrays[k], operand_axis);
            for (int g = 0; g < n_groups; g++)
                if (strides[g][k] && llabs(here[k]) > llabs(strides[g][k])) return 0;
            if (merges && strides[n_groups - 1][k] != here[k] * shape[axis]) merges = 0;
        }
        if (!merges && n_groups == 2) return 0;
        if (!merges) n_groups++;
        dims[n_groups - 1] *= shape[axis];
        for (int k = 0; k < n_inputs; k++) strides[n_groups - 1][k] = here[k];
    }
    int rows = n_groups == 2 ? 0 : -1, columns = n_groups == 2 ? 1 : 0;
    *n_rows = rows < 0 ? 1 : dims[rows];
    *n_columns = dims[columns];
    for (int k = 0; k < n_inputs; k++) {
        registers[k].row = rows < 0 ? strides[columns][k] * *n_columns : strides[rows][k];
        registers[k].column = strides[columns][k];
    }
    return 1;
}

/* Makes an array in reused memory; steals the reference to the descriptor. */
typedef PyObject *(*adj_array_maker)(PyArray_Descr *descr, int ndim, npy_intp *shape, int fortran);

/* Steps of numbers alone, and of arrays of one element, give one value: their registers have no strides. */
static void adj_find_uniform(const adj_elementwise *p, adj_register *registers) {
    for (int s = 0; s < p->n_steps - 1; s++) {
        const adj_step *step = &p->steps[s];
        int varies = 0;
        for (int i = 0; i < step->n_operands; i++)
            varies |= registers[step->registers[i]].column != 0 || registers[step->registers[i]].row != 0;
        if (!varies) registers[step->registers[step->n_operands]].column = 0;
    }
}

/* Set a program's registers to arrays and numbers, and make the result; `maker` makes results of `large` elements or
   more. Returns 1 if the job can run, and -1 if an exception is set. Returns 0 if the program does not fit the
   arguments, or, with `flat_only`, if their shapes differ; then NumPy computes the result. */
static int adj_bind(const adj_elementwise *p, PyObject **given, adj_job *job, adj_register *registers, double *numbers,
                    PyObject **made, adj_array_maker maker, npy_intp large, int flat_only) {
    PyArrayObject *arrays[ADJ_MOST_INPUTS], *full = NULL;
    int same = 1, c_order = 1, fortran = 1, n = p->n_inputs, single = p->size == 4;
    job->n_rows = job->n_columns = job->n_pieces = job->scratch = 0;
    job->flags = 0;
    for (int k = n; k < p->n_registers; k++) registers[k] = p->registers[k];
    for (int k = 0; k < n; k++) {
        PyObject *o = given[k];
        arrays[k] = NULL;
        registers[k].row = registers[k].column = 0;
        if (!PyArray_CheckExact(o)) {
            if (p->input_types[k] != p->type_num || !adj_read_number(o, single, &numbers[k])) return 0;
            registers[k].base = (char *)&numbers[k];
            continue;
        }
        PyArrayObject *a = arrays[k] = (PyArrayObject *)o;
        PyArray_Descr *descr = PyArray_DESCR(a);
        if (descr != p->descr && (descr->type_num != p->input_types[k] || !PyArray_ISNBO(descr->byteorder))) return 0;
        if (descr == p->descr && p->input_types[k] != p->type_num) return 0;
        if (!PyArray_ISALIGNED(a)) return 0;
        registers[k].base = PyArray_BYTES(a);
        if (PyArray_NDIM(a) == 0) { if (full == NULL) full = a; continue; }
        if (full == NULL || PyArray_NDIM(full) == 0) full = a;
        else same = same && adj_same_shape(a, full);
        c_order = c_order && PyArray_IS_C_CONTIGUOUS(a);
        fortran = fortran && PyArray_IS_F_CONTIGUOUS(a);
    }
    if (full == NULL) return 0;
    npy_intp broadcast[NPY_MAXDIMS], *shape = broadcast, size;
    int ndim = PyArray_NDIM(full);
    fortran = fortran && !c_order;
    if (same && (c_order || fortran)) {
        shape = PyArray_DIMS(full);
        size = 1;
        for (int i = 0; i < ndim; i++) size *= shape[i];
        job->n_rows = 1;
        job->n_columns = size;
        for (int k = 0; k < n; k++) {
            if (arrays[k] == NULL || (ndim && !PyArray_NDIM(arrays[k]))) continue;
            registers[k].column = PyArray_ITEMSIZE(arrays[k]);
        }
    } else if (flat_only) return 0;
    else {
        for (int k = 0; k < n; k++)
            if (arrays[k] != NULL && PyArray_NDIM(arrays[k]) > ndim) ndim = PyArray_NDIM(arrays[k]);
        for (int i = 0; i < ndim; i++) shape[i] = 1;
        for (int k = 0; k < n; k++) {
            if (arrays[k] == NULL) continue;
            int missing = ndim - PyArray_NDIM(arrays[k]);
            for (int i = missing; i < ndim; i++) {
                npy_intp length = PyArray_DIM(arrays[k], i - missing);
                if (length == shape[i] || length == 1) continue;
                if (shape[i] != 1) return 0;
                shape[i] = length;
            }
        }
        size = 1;
        for (int i = 0; i < ndim; i++) size *= shape[i];
        if (size && !adj_collapse(n, arrays, registers, ndim, shape, &job->n_rows, &job->n_columns)) return 0;
    }
    Py_INCREF(p->descr);
    fortran = fortran && same;
    PyObject *result;
    if (size >= large) result = maker(p->descr, ndim, shape, fortran);
    else
        result = PyArray_NewFromDescr(&PyArray_Type, p->descr, ndim, shape, NULL, NULL,
                                      fortran ? NPY_ARRAY_F_CONTIGUOUS : 0, NULL);
    if (result == NULL) return -1;
    *made = result;
    if (size == 0) { job->n_rows = 0; return 1; }
    /* without intermediate values a tile needs no room in the cache */
    int n_tiles = p->n_slots ? ADJ_TILES : 1;
    npy_intp tile = p->tile * (ADJ_TILES / n_tiles), n_columns = job->n_columns;
    if (tile > n_columns) tile = n_columns;
    job->tile = tile;
    job->group = job->n_rows > 1 && tile == n_columns && tile < p->tile ? p->tile / tile : 1;
    job->steps = p->steps;
    job->registers = registers;
    job->n_steps = p->n_steps;
    job->scratch = p->n_slots * p->tile * 8;
    job->totals = NULL;
    adj_find_uniform(p, registers);
    for (int k = p->n_inputs + p->n_constants; k < p->n_registers; k++) registers[k].row = tile * registers[k].column;
    adj_register *last = &registers[p->n_registers - 1];
    last->base = PyArray_BYTES((PyArrayObject *)result);
    last->row = n_columns * p->size;
    if (job->n_rows > 1 || tile < n_columns) adj_set_pieces(job, n_tiles);
    else job->piece = tile, job->n_pieces = 1, job->next = 0;
    return 1;
}

/* The items of a list in a C array. */
static inline PyObject **adj_items(PyObject *list) {
    return ((PyListObject *)list)->ob_item;
}

#endif
