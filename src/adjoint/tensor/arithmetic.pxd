cimport cython
from adjoint.core.graph cimport TensorBase
from adjoint.core.operations.operation cimport (
    Operation,
    PyObject,
    PyVectorcall_NARGS,
    adj_call_through,
    call_operation,
    keyword_arguments,
    positional_arguments,
)

cdef extern from "python_objects.h":
    void adj_inherit_operators(object subclass, object native)


cdef Operation _add, _sub, _mul, _div, _pow, _matmul, _neg, _abs, _remainder, _floor_divide, _reciprocal


cdef class ArithmeticTensor(TensorBase):
    pass


cdef class Method:
    cdef void* called_through
    cdef Operation operation
    cdef str name
    cdef bint in_place
    cdef dict __dict__


cdef inline object vectorcall_method(object method, PyObject** args, size_t nargsf, PyObject* names):
    cdef Method typed_method = <Method>method
    cdef Py_ssize_t n = PyVectorcall_NARGS(nargsf)
    if not typed_method.in_place:
        return call_operation(typed_method.operation, args, n, names)
    return typed_method.operation.inplace(positional_arguments(args, n), keyword_arguments(args, n, names))


cdef inline object let_method_be_called(Method method):
    adj_call_through(method, &method.called_through, <void*>vectorcall_method, True)


cpdef bint is_operand(object value)
cpdef bint is_fast(object other)
cpdef bint is_tensor(object value)
