cimport cython

from adjoint.runtime.memory cimport PyArray_Descr, new_kept_array
from adjoint.runtime.threads cimport share


cdef extern from "Python.h":
    ctypedef struct PyObject

cdef extern from "numpy_arrays.h":
    char *adj_bytes(object array)
    bint adj_is_plain(object array)
    object adj_new_of(object dtype, tuple shape)

cdef extern from "ufunc_loops.h":
    int adj_import_ufuncs() except -1

cdef extern from "machine.h":
    ctypedef struct adj_step:
        int way
        int n_operands
        int registers[4]
    ctypedef struct adj_register:
        char *base
        Py_ssize_t row
        Py_ssize_t column
        Py_ssize_t offset
    ctypedef struct adj_place:
        int where
        int value
        Py_ssize_t row
        Py_ssize_t column
    ctypedef struct adj_job:
        const adj_step *steps
        const adj_register *registers
        int n_steps
        int flags
        Py_ssize_t n_rows
        Py_ssize_t n_columns
        Py_ssize_t tile
        Py_ssize_t group
        Py_ssize_t scratch
        Py_ssize_t n_pieces
        Py_ssize_t next
        char *totals
        Py_ssize_t total_size
    ctypedef struct adj_elementwise:
        int n_inputs
        int n_constants
        int n_steps
        int n_slots
        int type_num
        int size
        adj_step *steps
        int input_types[8]
    int FE_DIVBYZERO, FE_OVERFLOW, FE_UNDERFLOW, FE_INVALID
    int ADJ_MOST_INPUTS, ADJ_MOST_STEPS, ADJ_MOST_REGISTERS, ADJ_STACK_SCRATCH, ADJ_NO_MEMORY, ADJ_TILE, ADJ_TILES
    bint adj_set_loop(adj_step *step, object ufunc, int place)
    void adj_set_own_loop(adj_step *step, int which)
    int adj_make_elementwise(adj_elementwise *p) except -1
    void adj_free_elementwise(adj_elementwise *p)
    void adj_set_constant(adj_elementwise *p, int k, int size, double value)
    void adj_set_result(adj_elementwise *p, int step, int size, int slot)
    ctypedef object (*adj_array_maker)(PyArray_Descr *descr, int ndim, Py_ssize_t *shape, bint fortran)
    int adj_bind(const adj_elementwise *p, PyObject **given, adj_job *job, adj_register *registers, double *numbers,
                 PyObject **made, adj_array_maker maker, Py_ssize_t large, bint flat_only) except -1
    void adj_add_totals(const adj_job *job, int step, Py_ssize_t n, char *result)
    void adj_set_pieces(adj_job *job, int n_tiles)
    void adj_work(void *job) noexcept nogil
    void adj_work_here(adj_job *job, bint quiet) noexcept
    PyObject **adj_items(list items)

cdef extern from *:
    void release "Py_DECREF"(PyObject *o)


cdef object _ndarray, _DOUBLE
cdef Py_ssize_t _UNLOCKED, _THREADED, _LARGE


cdef class Elementwise:
    cdef adj_elementwise code
    cdef public list parameters
    cdef Py_ssize_t cost
    cdef object one(self, object x, bint quiet)
    cdef object two(self, object x, object y, bint quiet, bint flat_only)
    cdef object several(self, list values, bint quiet, bint flat_only)
    cdef bint fits(self, list values) except -1
    cdef bint takes_two(self) noexcept

cdef object run_elementwise(Elementwise program, PyObject **operands, bint quiet, bint flat_only)

cdef int set_step(adj_step *step, int way, object loop, object position, object registers) except -1


cdef class Machine:
    cdef adj_step steps[64]
    cdef adj_register registers[96]
    cdef adj_place places[96]
    cdef int n_steps, n_registers, n_places, total, total_step
    cdef bint is_threaded
    cdef Py_ssize_t n_rows, n_columns, n_totals, scratch, tile, group, total_size
    cdef list rest, before, after, new
    cdef object results, strides_of
    @cython.locals(job=adj_job, registers=adj_register[96], value=int)
    cpdef object run(self, list arrays, bint quiet)
    @cython.locals(register="adj_register *")
    cdef bint place(self, adj_register *registers, list values) except -1

@cython.locals(value=int)
cdef int run_apart(tuple step, list values) except -1


cpdef bint would_tell(int flags) except -1
