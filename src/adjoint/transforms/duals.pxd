cimport cython

from adjoint.core.graph cimport (
    TensorBase,
    dtype_of,
    has_shape,
    needs_grad,
    new_tensor,
    replay_view,
    shape_of,
)
from adjoint.core.modes.state cimport ThreadState, current
from adjoint.core.operations.operation cimport Operation, plain_operand
from adjoint.core.recorded cimport OpNode, raw_ops
from adjoint.program.fused cimport Fused
from adjoint.runtime.crossovers cimport is_large
from adjoint.transforms.batching.levels cimport BatchedBase
from adjoint.transforms.tangents cimport QuickSeries, plain_tangent, set_tangent

cdef dict _propagations, _derivatives
cdef object _ndarray, _FLOAT32, _FLOAT64, ops
cdef int _CONSTANT, _SUM, _LINEAR, _MULTILINEAR

cpdef object tangent_of(TensorBase tensor, object number)
cpdef bint is_hidden(TensorBase tensor, object number)
cpdef tuple origin_of(TensorBase tensor, object number)
cdef object hide_tangents(Operation operation, list values, object number, object result)
cpdef dict tangents_of(Operation operation, list values, object number)


cdef class DualLevels(QuickSeries):
    cdef object write
    @cython.locals(grad_enabled=bint)
    cdef object quick(self, object operation, list operands)
    cpdef object operation(self, object operation, list values)
    cpdef object in_place(self, object operation, list values)


cdef class Partial:
    cdef object product
    cdef str name
    cdef Py_ssize_t position
    cdef tuple places
    cdef Fused fused
    cdef bint is_identity
    cdef bint is_elementwise
    cdef object on_arrays(self, object ops, object t, list values, object result)


cdef class Derivative:
    cdef Operation operation
    cdef int kind
    cdef tuple partials
    cpdef object on_arrays(self, list arrays, list tangents, object result)


cdef bint is_pair(object left, object right)
cdef object quick_tangent(Derivative derivative, TensorBase result, list arrays, list tangents, object number)
cdef bint is_inexact(object array)
cdef object apply(Operation operation, list values)
cdef object give_tangent(TensorBase output, object tangent, dict tangents, object number, bint shares)
cdef bint is_all_plain(list values)
cdef Derivative derivative_of(Operation operation)
cdef object make_derivative(Operation operation)
@cython.locals(derivative=Derivative)
cdef object result_tangent(Operation operation, dict tangents, list values, object result)
cdef object sum_of_replaced(Operation operation, dict tangents, list values)
cdef object sum_of_products(Derivative derivative, dict tangents, list values, object result)
cdef list raw_values(list values, dict tangents, TensorBase result)
cdef bint is_raw(TensorBase tensor, TensorBase result, bint grad_enabled)
cdef object ops_for(list raw, dict tangents)
cdef object linear_jvp(Operation operation, dict tangents, list values)
cpdef object as_tangent_of(object tangent, TensorBase output)
cpdef object in_own_memory(TensorBase tangent, dict tangents)
cpdef object laid_out_like(TensorBase tangent, TensorBase primal)
cpdef tuple steps(object array)
