cimport cython
from adjoint.core.graph cimport TensorBase
from adjoint.core.operation cimport Operation, PyObject, PyVectorcall_NARGS, adj_call_through, call_operation

cdef extern from *:
    """
    /* Python finds the operators of a subclass by name at every use; the compiled functions can be called directly */
    static void adj_inherit_operators(PyObject *subclass, PyObject *native) {
        PyNumberMethods *to = ((PyTypeObject *)subclass)->tp_as_number;
        PyNumberMethods *from = ((PyTypeObject *)native)->tp_as_number;
        to->nb_add = from->nb_add;
        to->nb_subtract = from->nb_subtract;
        to->nb_multiply = from->nb_multiply;
        to->nb_true_divide = from->nb_true_divide;
        to->nb_power = from->nb_power;
        to->nb_matrix_multiply = from->nb_matrix_multiply;
        to->nb_negative = from->nb_negative;
    }
    """
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
    cdef Method own = <Method>method
    cdef Py_ssize_t n = PyVectorcall_NARGS(nargsf)
    cdef Py_ssize_t k
    cdef dict keywords = {}
    if not own.in_place:
        return call_operation(own.operation, args, n, names)
    cdef list values = []
    for k in range(n):
        values.append(<object>args[k])
    if names != NULL:
        for name in <tuple>names:
            keywords[name] = <object>args[n]
            n += 1
    return own.operation.inplace(values, keywords)


cdef inline object let_method_be_called(Method method):
    adj_call_through(method, &method.called_through, <void*>vectorcall_method, True)


cpdef bint is_operand(object value)
cpdef bint is_fast(object other)
cpdef bint is_tensor(object value)
