cimport cython
from adjoint.arrays.crossovers cimport is_large
from adjoint.arrays.products_and_sums cimport NativeKernel
from adjoint.core.graph cimport (
    Node,
    TensorBase,
    View,
    bump_version,
    counter_of,
    dtype_of,
    gradient_edge,
    has_shape,
    ndim_of,
    needs_grad,
    new_node,
    new_tensor,
    next_sequence_nr,
    shape_of,
    version_of,
)
from adjoint.core.in_place cimport check_current, check_writable, overwritten, rebase
from adjoint.core.modes cimport ThreadState, current
from adjoint.core.noting cimport Noter
from adjoint.core.recorded cimport OpNode, Plan
from adjoint.program.fused cimport Fused


cdef int _TIMES, _PLUS, _MINUS, _OVER
cdef object _ndarray, _asarray, _FLOAT32, _FLOAT64, registry


cdef extern from "Python.h":
    ctypedef struct PyObject
    Py_ssize_t PyVectorcall_NARGS(size_t nargsf)

cdef extern from *:
    """
    /* instances of a type are called through a pointer in them, with arguments that lie in a C array */
    static CYTHON_INLINE void adj_call_through(PyObject *object, void **pointer, void *function, int is_method) {
        PyTypeObject *type = Py_TYPE(object);
        *pointer = function;
        if (!(type->tp_flags & Py_TPFLAGS_HAVE_VECTORCALL)) {
            type->tp_vectorcall_offset = (char *)pointer - (char *)object;
            type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | (is_method ? Py_TPFLAGS_METHOD_DESCRIPTOR : 0);
            PyType_Modified(type);
        }
    }
    """
    void adj_call_through(object o, void** pointer, void* function, bint is_method)


cdef class Operation:
    cdef void* called_through
    cdef Py_ssize_t n_inputs
    cdef Py_ssize_t n_names
    cdef public object rule
    cdef public str name
    cdef public tuple names
    cdef public tuple defaults
    cdef public Py_ssize_t n_positional
    cdef public tuple inputs
    cdef Py_ssize_t first_input
    cdef public tuple array_places
    cdef public tuple number_places
    cdef public tuple other_places
    cdef public Py_ssize_t sequence
    cdef public Py_ssize_t spread
    cdef public bint differentiable
    cdef public bint differentiable_in_place
    cdef public bint elementwise
    cdef public bint takes_numbers
    cdef public tuple tail
    cdef public bint keeps_dtype
    cdef public bint has_axes
    cdef public bint is_view
    cdef public bint fast
    cdef public dict kernels
    cdef public object numpy_kernel
    cdef object own_kernel
    cdef NativeKernel native
    cdef tuple axes
    cdef tuple new_axes
    cdef int symbol
    cdef public bint is_ufunc
    cdef bint fuses
    cdef public Fused fused
    cdef public Fused fused_call
    cdef public dict plans
    cdef list real_plans
    cdef public object node_type
    cdef dict node_types
    cdef list ranked_types
    cdef public object results
    cdef dict __dict__
    cdef object __weakref__
    cpdef object unary(self, object x)
    cpdef object binary(self, object x, object y)
    cpdef object compute_one(self, object array)
    cpdef object compute_two(self, object left, object right)
    cpdef object run_in_place(self, list values)
    cpdef object call(self, list args, dict kwargs)
    cpdef list bind(self, object args, dict kwargs)
    cdef list factor_last(self, list values)
    cdef object noted(self, list given)
    cpdef object apply(self, list values)
    cpdef object carry_out(self, list values)
    cpdef list prepared(self, list values)
    cpdef object number(self, int place, object value)
    cpdef tuple unwrapped(self, list values)
    cpdef object run(self, list raw, object half)
    cdef bint has_large(self, list raw)
    cpdef object mask(self, list values)
    cpdef Plan plan(self, object mask, bint is_complex)
    cdef Plan real_plan(self, int mask)
    cdef object record(self, tuple values, Plan plan, bint half, object out, TensorBase result)
    cdef object record_quick(self, object x, object y, Plan plan, object out, TensorBase result)
    cdef object quick_entry(self, OpNode node, int place, object x, object y, TensorBase result, int k)
    cdef OpNode new_node(self, tuple values, Plan plan, bint half)
    cdef object node_type_for(self, tuple values)
    cdef object ranked_type(self, object x, object y)
    cdef object connect(self, OpNode node, Plan plan, tuple values)
    cdef object note_view(self, list values, TensorBase result, object nr)


cpdef object finished(object out, object xp, object half)
cpdef bint is_inexact(object dtype)
cdef object recorded_shape(object out, OpNode node)


cdef inline object call_operation(Operation operation, PyObject** args, Py_ssize_t n, PyObject* names):
    """Call an operation with n arguments from a C array, and behind them those for the keywords in a tuple of names."""
    if names == NULL and operation.fast and n == operation.n_inputs:
        if n == 1:
            return operation.unary(<object>args[0])
        if n == 2:
            return operation.binary(<object>args[0], <object>args[1])
    cdef list values = []
    cdef dict keywords = None
    cdef Py_ssize_t k
    for k in range(n):
        values.append(<object>args[k])
    if names != NULL:
        keywords = {}
        for name in <tuple>names:
            keywords[name] = <object>args[n]
            n += 1
    return operation.call(values, keywords)


cdef inline object vectorcall_operation(object operation, PyObject** args, size_t nargsf, PyObject* names):
    return call_operation(<Operation>operation, args, PyVectorcall_NARGS(nargsf), names)


cdef inline object let_be_called(Operation operation):
    """Let Python call an operation without making a tuple of the arguments."""
    adj_call_through(operation, &operation.called_through, <void*>vectorcall_operation, False)
