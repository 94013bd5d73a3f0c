cimport cython

from adjoint.arrays.kernels.products_and_sums cimport NativeKernel
from adjoint.core.operations.binding cimport Arguments
from adjoint.core.graph cimport (
    NO_VERSION,
    Node,
    TensorBase,
    counter_of,
    dtype_of,
    edge_of,
    gradient_edge,
    has_shape,
    ndim_of,
    needs_grad,
    new_node,
    next_sequence_nr,
    shape_of,
    version_of,
)
from adjoint.core.modes.state cimport current
from adjoint.core.recorded cimport OpNode, Plan

cdef extern from "free_threading.h":
    object member_of "adj_member"(list members, Py_ssize_t i)

cdef int _RANKS
cdef object _ndarray, _FLOAT32, _FLOAT64, registry


cdef class Recorder:
    cdef public object rule
    cdef public str name
    cdef Arguments arguments
    cdef tuple tail
    cdef NativeKernel native
    cdef dict plans
    cdef list real_plans
    cdef object node_type, node, node_for
    cdef list numbered
    cdef dict node_types
    cdef list ranked_types
    cdef object results
    cpdef object mask(self, list values)
    cdef bint is_left_out(self, list values)
    cpdef Plan plan(self, object mask, bint is_complex)
    cdef Plan real_plan(self, int mask)
    cdef object record(self, tuple values, Plan plan, bint half, object out, TensorBase result)
    cdef object record_quick(self, object x, object y, Plan plan, object out, TensorBase result)
    cdef object quick_entry(self, OpNode node, int position, object x, object y, TensorBase result, int k)
    cdef object record_several(self, tuple values, Plan plan, bint half, object outs, list tensors)
    cdef OpNode new_node(self, tuple values, Plan plan, bint half)
    cdef object node_type_for(self, tuple values)
    cdef object ranked_type(self, object x, object y)
    cdef object connect(self, OpNode node, Plan plan, tuple values)
    cdef object cross(self, OpNode node, object values)
    cdef object named_results(self, list tensors)


cpdef bint is_inexact(object dtype)
cdef object recorded_shape(object out, OpNode node)
cdef object set_once(list members, Py_ssize_t i, object value)
