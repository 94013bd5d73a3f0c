cdef extern from "ufunc_loops.h":
    int adj_import_ufuncs() except -1

cdef extern from "broadcast.h":
    object adj_expand(object array, object shape)
    object adj_one_like(object array)
    object adj_share(object g, object shape)

cdef extern from "products.h":
    int ADJ_PRODUCT, ADJ_MATRICES, ADJ_MATRIX_VECTOR, ADJ_VECTORS, ADJ_LEFT, ADJ_RIGHT
    int ADJ_LINEAR, ADJ_LINEAR_INPUT, ADJ_LINEAR_WEIGHT
    ctypedef struct adj_matrix:
        pass
    ctypedef struct adj_ready_product:
        pass
    bint adj_find_product_loops(object matmul)
    object adj_product(int kind, object a, object b)
    object adj_product_of_several(int kind, list values)
    adj_matrix adj_matrix_at(char *data, int ndim, const Py_ssize_t *shape, const Py_ssize_t *strides, bint is_row)
    adj_ready_product adj_prepare_product(int precision, adj_matrix a, adj_matrix b, adj_matrix out)
    void adj_run_product(const adj_ready_product *ready, char *a, char *b, char *out)

cdef extern from "sums.h":
    int ADJ_TOTAL, ADJ_AVERAGE, ADJ_SPREAD, ADJ_SPREAD_MEAN
    bint adj_find_sum_loops(object add)
    bint adj_add_into(object to, object source)
    object adj_plus(object a, object b)
    object adj_total(int kind, object a)

cdef extern from "gates.h":
    bint adj_find_gate_loops(object sigmoid, object tanh)
    object adj_gated_step(int kind, tuple arrays)

cdef extern from "numpy_arrays.h":
    char *adj_bytes(object array)
    size_t adj_address_of(object array)

cdef extern from "small_matrices.h":
    int ADJ_DETERMINANT, ADJ_INVERSE, ADJ_SOLUTION
    object adj_multiply_stacks(object a, object b)
    object adj_solve_stacks(int which, object a, object b)

cdef extern from "short_rows.h":
    bint adj_meet_in_short_rows(object left, object right)
    object adj_contiguous_copy(object array)

cdef extern from "triangles.h":
    object adj_triangle(object array, Py_ssize_t k, bint upper)

cdef extern from "selections.h":
    object adj_select(object condition, object first, object second)

cdef extern from "reductions.h":
    object adj_reduce(int kind, object array, object axes, bint keepdims)
    object adj_summed_to(object array, object shape)


cdef extern from "moves.h":
    int ADJ_READ, ADJ_EMBED, ADJ_VIEW, ADJ_RESHAPE, ADJ_PERMUTE, ADJ_PERMUTE_BACK, ADJ_SWAP, ADJ_EXPAND, ADJ_SUM_TO
    int ADJ_SUM_AXES, ADJ_SUM_AXES_BACK, ADJ_JOIN, ADJ_STACK
    int ADJ_COPY, ADJ_UNSQUEEZE, ADJ_SQUEEZE, ADJ_DIAGONAL, ADJ_WINDOWS, ADJ_AS_STRIDED
    object adj_move(int kind, list values)


cdef class NativeKernel:
    cdef int kind
    cdef readonly bint is_move
    cdef public str name
    cdef object one(self, object a)
    cdef object two(self, object a, object b)
    cpdef object several(self, list values)


cdef extern from "Python.h":
    ctypedef struct PyObject
    Py_ssize_t PyVectorcall_NARGS(size_t nargsf)
    object PyObject_VectorcallMethod(object name, PyObject** args, size_t nargsf, PyObject* names)

cdef extern from "python_objects.h":
    void adj_call_through(object o, void** pointer, void* function, bint is_method)


cdef class ArrayMethod:
    cdef void* called_through
    cdef str name


cdef inline object vectorcall_array_method(object method, PyObject** args, size_t nargsf, PyObject* names):
    if PyVectorcall_NARGS(nargsf) == 0:
        raise TypeError("a method of arrays takes an array")
    return PyObject_VectorcallMethod((<ArrayMethod>method).name, args, nargsf, names)


cdef inline object let_method_be_called(ArrayMethod method):
    adj_call_through(method, &method.called_through, <void*>vectorcall_array_method, False)


cdef class ReadyProduct:
    cdef adj_ready_product code
    cdef int run(self, char *a, char *b, char *out) except -1


cdef adj_matrix _matrix(tuple layout, bint is_row) except *


cdef bint add_into(object to, object source)
cdef object plus(object a, object b)
cdef bint _are_bound
cpdef object expand(object array, object shape)
cpdef object address_of(object array)
cpdef object select(object condition, object first, object second)
cpdef object one_like(object array)
cpdef object summed_to(object array, object shape)
cpdef object reduce(int kind, object array, object axes, bint keepdims)
cdef bint meet_in_short_rows(object left, object right)
cpdef object stacked_products(object a, object b)
cpdef object small_determinants(object matrices)
cpdef object small_inverses(object matrices)
cpdef object small_solutions(object matrices, object sides)
cdef bint _have_gates
cpdef object gated_step(int kind, tuple arrays)
cpdef object fast_sum(object array, object axis=?, object dtype=?, object keepdims=?)
cdef object _add_reduce
cpdef object contiguous_copy(object array)
