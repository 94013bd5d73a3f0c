cimport cython
from adjoint.core.graph cimport (
    MOST_BITS,
    NO_VERSION,
    AccumulateGrad,
    ContextNode,
    Extras,
    Node,
    TensorBase,
    View,
    bump_version,
    carry_retained,
    dtype_of_grad,
    edge_of,
    gradient_edge,
    needs_grad,
    new_tensor,
    next_sequence_nr,
    node_of,
    output_number,
    replay_view,
    view_of_base,
    version_of,
)
from adjoint.core.modes.state cimport ThreadState, current
from adjoint.core.recorded cimport OpNode, name_in_place, raw_ops


cdef class CopySlices(Node):
    cdef dict __dict__
    cdef public tuple replay
    cdef tuple strides
    cdef bint is_shared
    cdef bint freed
    cdef public str label
    cpdef TensorBase part(self)
    cdef public Node inner
    cdef public Py_ssize_t input_index


cpdef object check_writable(TensorBase tensor)
cpdef object check_current(TensorBase tensor)
cpdef TensorBase copy_with_history(TensorBase tensor)
cdef Node successor(TensorBase tensor, Node node, Py_ssize_t input_index)
cdef object succeed(TensorBase tensor, Node node, Node whole, int output_nr)
cpdef object rebase(TensorBase tensor, Node node, Py_ssize_t input_index=*, int output_nr=*)
