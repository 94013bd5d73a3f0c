cimport cython

from adjoint.arrays.kernels.products_and_sums cimport ReadyProduct
from adjoint.program.machine cimport adj_job, adj_register, adj_step, set_step
from adjoint.runtime.threads cimport share


cdef extern from "Python.h":
    void *PyMem_Calloc(size_t n, size_t size)
    void PyMem_Free(void *p)

cdef extern from "numpy_arrays.h":
    char *adj_bytes(object array)
    bint adj_has_layout(object array, tuple shape, object dtype)
    bint adj_has_strides(object array, tuple strides)
    object adj_view_of(object owner, char *data, object dtype, int ndim, Py_ssize_t *shape, Py_ssize_t *strides)

cdef extern from "ufunc_loops.h":
    int adj_import_ufuncs() except -1

cdef extern from "region.h":
    int ADJ_STACK_SCRATCH, ADJ_NO_MEMORY, ADJ_TILES
    ctypedef struct adj_region:
        adj_job job
        adj_step *steps
        adj_register *registers
        int *sources
        Py_ssize_t *offsets
        Py_ssize_t *outer_strides
        Py_ssize_t outer_shape[8]
        Py_ssize_t work
        int n_outer
    int adj_make_region(adj_region *r, int n_steps, int n_registers, int n_outer) except -1
    void adj_free_region(adj_region *r)
    void adj_place_registers(adj_region *r, char **blocks)
    bint adj_next_place(adj_region *r, Py_ssize_t *at)
    void adj_set_pieces(adj_job *job, int n_tiles)
    void adj_work(void *job) noexcept nogil
    void adj_work_here(adj_job *job, bint quiet) noexcept


cdef Py_ssize_t _UNLOCKED, _THREADED


cdef class Frame:
    cdef char **blocks
    cdef public list arrays
    cpdef int set(self, int number, object array, Py_ssize_t offset) except -1
    cpdef int drop(self, list numbers) except -1


cdef class BlockView:
    cdef readonly int number
    cdef Py_ssize_t offset
    cdef object dtype
    cdef int ndim
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t strides[64]
    cpdef tuple layout(self)
    cdef char *address(self, Frame frame)
    cpdef object of(self, Frame frame)


cdef class Region:
    cdef adj_region code
    @cython.locals(at=cython.Py_ssize_t[8])
    cpdef int run(self, Frame frame) except? -1
    cdef int work(self) except? -1


cdef class Product:
    cdef ReadyProduct code
    cdef BlockView left
    cdef BlockView right
    cdef BlockView out
    cpdef int run(self, Frame frame) except? -1


cdef class Keeper:
    cdef BlockView view
    cdef Py_ssize_t n_bytes
    cdef tuple shape
    cdef tuple strides
    cpdef int keep(self, Frame frame, object result) except -1


cdef class Macro:
    cdef object function
    cdef list arguments
    cdef dict keywords
    cdef object keeper
    cpdef int run(self, Frame frame) except? -1


cdef class Runner:
    cdef Frame frame
    cdef list instructions
    cdef list entries
    cdef list fresh
    cdef list results
    cdef list passing
    cpdef list run(self, list externals)
