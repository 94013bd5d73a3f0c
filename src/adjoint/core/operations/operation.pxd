cimport cython
from adjoint.core.operations.binding cimport Arguments
from adjoint.core.graph cimport (
    Node,
    TensorBase,
    _composing,
    _overriding,
    any_overrides,
    compose,
    bump_version,
    counter_of,
    dtype_of,
    first_tangents,
    has_shape,
    needs_grad,
    new_tensor,
    next_sequence_nr,
    overrides,
    shape_of,
    version_of,
)
from adjoint.core.in_place cimport check_writable, copy_with_history, succeed, successor
from adjoint.core.modes.interceptors cimport Interceptor
from adjoint.core.operations.kernel cimport Kernel
from adjoint.core.modes.state cimport ThreadState, current
from adjoint.core.modes.profiling cimport ProfilerHook, sole_profiler
from adjoint.core.recorded cimport OpNode, name_in_place
from adjoint.core.operations.recorder cimport Recorder, is_inexact
from adjoint.core.view_steps cimport note_view
from adjoint.runtime.crossovers cimport is_large


cdef object _ndarray, _FLOAT32, _FLOAT64, registry, _DEFAULT, _REFUSALS, _refusal_of, call_public
cdef dict _NO_KEYWORDS


cdef extern from "Python.h":
    ctypedef struct PyObject
    Py_ssize_t PyVectorcall_NARGS(size_t nargsf)
    object PyObject_Vectorcall(object function, PyObject** args, size_t nargsf, PyObject* names)

cdef extern from "numpy_arrays.h":
    bint adj_copy_array(object to, object source)

cdef extern from "python_objects.h":
    void adj_call_through(object o, void** pointer, void* function, bint is_method)
    int adj_set_in_type(object type, const char *name, object value) except -1


cdef class Operation:
    cdef void* called_through
    cdef Py_ssize_t n_inputs
    cdef public object rule
    cdef public str name
    cdef readonly Arguments arguments
    cdef readonly Kernel kernel
    cdef readonly Recorder recorder
    cdef public bint differentiable
    cdef public bint differentiable_in_place
    cdef public bint is_elementwise
    cdef public bint is_view
    cdef bint has_one_result
    cdef public bint fast
    cdef public tuple tail
    cdef str whole_kinds
    cdef bint takes_floats, takes_numbers
    cdef dict __dict__
    cdef object __weakref__
    cpdef object unary(self, object x)
    cpdef object binary(self, object x, object y)
    cpdef object run_in_place(self, list values)
    cpdef object call(self, list args, dict kwargs)
    cdef object whole_operand(self, object value)
    cdef object run_under_interceptors(self, list operands)
    cdef object run_under_profiler(self, list operands)
    cpdef object apply(self, list values)
    cpdef object proceed(self, list values, int position)
    cdef object carry_out(self, list values)
    cpdef object proceed_to_kernel(self, list raw, object half, int position)
    cpdef object proceed_in_place(self, list values, int position)
    cdef object record_in_place(self, TensorBase tensor, list values, object mask, bint is_complex, bint half, object out)


cpdef object plain_operand(object value, bint takes_numbers)


cdef inline list positional_arguments(PyObject** args, Py_ssize_t n):
    """The first n arguments of a C array."""
    cdef list values = []
    cdef Py_ssize_t k
    for k in range(n):
        values.append(<object>args[k])
    return values


cdef inline dict keyword_arguments(PyObject** args, Py_ssize_t n, PyObject* names):
    """The arguments behind the first n by their names; None without names."""
    if names == NULL:
        return None
    cdef dict keywords = {}
    for name in <tuple>names:
        keywords[name] = <object>args[n]
        n += 1
    return keywords


cdef inline object call_operation(Operation operation, PyObject** args, Py_ssize_t n, PyObject* names):
    """Call an operation with n arguments from a C array, and behind them those for the keywords in a tuple of names."""
    if names == NULL and operation.fast and n == operation.n_inputs:
        if n == 1:
            return operation.unary(<object>args[0])
        if n == 2:
            return operation.binary(<object>args[0], <object>args[1])
    return operation.call(positional_arguments(args, n), keyword_arguments(args, n, names))


cdef inline object vectorcall_operation(object operation, PyObject** args, size_t nargsf, PyObject* names):
    return call_operation(<Operation>operation, args, PyVectorcall_NARGS(nargsf), names)


cdef inline object let_be_called(Operation operation):
    """Let Python call an operation without making a tuple of the arguments."""
    adj_call_through(operation, &operation.called_through, <void*>vectorcall_operation, False)


cdef class PublicFunction:
    cdef void* called_through
    cdef readonly object function
    cdef public object quick
    cdef public frozenset names
    cdef readonly str name
    cdef readonly bint is_overridable
    cdef public bint of_tensor
    cdef public bint follows
    cdef dict __dict__
    cdef object __weakref__
    cpdef object target(self, object first, tuple names)


cdef inline object vectorcall_function(object instance, PyObject** args, size_t nargsf, PyObject* names):
    """As `call_public`; objects of Python that hold all arguments are made only where they are needed."""
    cdef PublicFunction function = <PublicFunction>instance
    cdef Py_ssize_t n = PyVectorcall_NARGS(nargsf)
    if function.is_overridable and _overriding:
        return call_public(function, tuple(positional_arguments(args, n)), keyword_arguments(args, n, names) or {})
    target = function.target(<object>args[0] if n else None, <tuple>names if names != NULL else ())
    try:
        return PyObject_Vectorcall(target, args, nargsf, names)
    except _REFUSALS as refusal:
        if not function.is_overridable:
            raise
        error = refusal
    values, keywords = tuple(positional_arguments(args, n)), keyword_arguments(args, n, names) or {}
    return _refusal_of(function, error, values, keywords)


cdef inline object let_function_be_called(PublicFunction function):
    adj_call_through(function, &function.called_through, <void*>vectorcall_function, True)


cdef object assign(object array, object result)
