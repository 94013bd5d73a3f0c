cimport cython
from adjoint.core.graph cimport TensorBase
from adjoint.core.operation cimport Operation

cdef Operation _add, _sub, _mul, _div, _pow, _matmul, _neg, _abs, _remainder, _floor_divide


cdef class ArithmeticTensor(TensorBase):
    pass


cpdef bint is_operand(object value)
cpdef bint is_fast(object other)
