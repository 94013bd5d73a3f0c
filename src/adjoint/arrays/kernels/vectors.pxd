cimport cython
from libc.stdlib cimport free, malloc
from adjoint.runtime.threads cimport share, work_function

cdef extern from "numpy_arrays.h":
    int adj_import_arrays() except -1
    char *adj_bytes_or_null(object array)
    int adj_precision(object array)
    bint adj_is_writable_rows(object array)
    Py_ssize_t adj_n_elements(object array)
    bint adj_is_row_major(object array)
    object adj_new_alike(object array)
    void adj_divide_by(object array, double number)

cdef extern from "vectors_intrinsics.h":
    int adj_processor_kind()

cdef extern from "vectors.h":
    ctypedef long long int64_t
    ctypedef struct adj_stack:
        pass
    ctypedef struct adj_windows_job:
        const adj_stack *stack
        char *source
        char *target
        char *weights
        char *bias
        char *totals
        int64_t samples, groups, channels, rows
        int64_t source_strides[5]
        int64_t target_strides[5]
        int64_t at_once, band, n_bands, n_pieces, parts, next
        int failed
    work_function adj_loop_of(int number, int size, int kind)
    ctypedef struct adj_rows_job:
        char *x
        char *g
        char *weight
        char *bias
        char *out
        char *mean
        char *var
        char *of_mean
        char *of_var
        char *moments
        char *totals
        int64_t rows, runs, length, row_step, run_step, period, weight_row, weight_run, parts, next
        int per_element, mode
        double eps
    ctypedef struct adj_sequence_job:
        char *input_part
        char *weight
        char *bias
        char *hidden
        char *memory
        char *hiddens
        char *memories
        char *gates
        char *of_hiddens
        char *of_memories
        char *of_input_part
        char *of_before
        char *of_hidden
        char *of_memory
        char *befores
        int64_t *ends
        int64_t moments, samples, units, piece, next
        int cell, reverse, is_back, failed
    ctypedef struct adj_paths_job:
        char *log_probs
        char *skip
        char *last
        char *g
        char *out
        int64_t *states
        int64_t *steps
        int64_t moments, samples, classes, length, next
        int zero_infinity, failed
    ctypedef struct adj_update:
        char *at[5]
        int64_t n
    ctypedef struct adj_updates_job:
        adj_update *rows
        int64_t n_rows, next
        double numbers[5]
        double decay, shrink
        int rule, maximize, nesterov
    ctypedef struct adj_pairs_job:
        char *x
        char *y
        char *g
        char *out
        int64_t points, coordinates
        int norm, failed

cdef object numpy, _FLOATS
cdef tuple _MISSING

@cython.locals(precision=cython.int)
cdef bint _are_plain(tuple arrays)

cdef bint _row_wise(tuple arrays)

@cython.locals(n=Py_ssize_t, rows=Py_ssize_t)
cdef tuple _plain_rows(object x)
cdef int _threads(Py_ssize_t multiplications)
cdef object _contiguous(object array)
cdef object _new_alike(object array)

@cython.locals(job=adj_windows_job, size=cython.int, i=cython.int, work=work_function)
cdef object _run(
    bint correlate, object source, object target, object weights, object bias, object totals, object table, tuple sizes,
    int threads,
)

@cython.locals(job=adj_rows_job, size=cython.int, work=work_function)
cdef object _run_rows(int number, int mode, tuple arrays, tuple sizes, double eps, int threads)

@cython.locals(job=adj_sequence_job, size=cython.int, work=work_function)
cdef object _run_moments(int cell, bint is_back, bint reverse, tuple arrays, object ends, tuple sizes, int threads)

@cython.locals(job=adj_paths_job, size=cython.int, work=work_function)
cdef object _run_paths(tuple arrays, object states, object steps, object out, bint zero_infinity)

@cython.locals(
    job=adj_updates_job, rows=list, row=list, count=Py_ssize_t, k=cython.int, item=Py_ssize_t,
    n=Py_ssize_t, first=Py_ssize_t, each=Py_ssize_t, most=Py_ssize_t, work=work_function, kind=cython.int, total=Py_ssize_t,
)
cdef bint _run_updates(int rule, tuple numbers, double decay, double shrink, bint maximize, bint nesterov, list rows)

@cython.locals(job=adj_pairs_job, size=cython.int, work=work_function)
cdef object _run_pairs(int norm, object x, object y, object g, object out)
