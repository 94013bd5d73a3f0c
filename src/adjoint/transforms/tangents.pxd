cimport cython

from adjoint.core.graph cimport TensorBase, dtype_of, first_tangents, needs_grad, new_tensor, version_of
from adjoint.core.modes.interceptors cimport Interceptor
from adjoint.core.modes.state cimport ThreadState, current
from adjoint.core.operations.operation cimport Operation, plain_operand

cdef extern from "numpy_arrays.h":
    bint adj_is_stack_of(object arrays, object array)

cdef extern from "python_objects.h":
    object adj_instantiate(object type, object native, object no_arguments)

cdef object Tangents
cdef dict OF_ONE, OF_TWO


cdef inline object new_tangents():
    """A new `Tangents`, without a call of the class."""
    return adj_instantiate(Tangents, dict, ())


cdef inline bint is_series_of(object series, object value):
    return adj_is_stack_of(series, value)


cdef dict _holders, _propagations, _series_levels
cdef object _ndarray, _numbers

cpdef object new_level(object propagation=*)
cpdef object forget_level(object number)
cpdef object set_tangent(TensorBase tensor, object number, object tangent)


cpdef bint is_alone(TensorBase tensor)
cpdef object with_series(object array, object counter, object number, object series)
cpdef object own_series(object result, object number)
cpdef object taken_series(TensorBase tensor, object number)


cdef class QuickSeries(Interceptor):
    cdef dict __dict__
    @cython.locals(grad_enabled=bint)
    cdef object quick(self, object operation, list operands)


cdef object plain_tangent(object operand, object value, object number, bint grad_enabled)
cdef object plain_series(object operand, object value, object number, bint grad_enabled)
