cimport cython
from adjoint.runtime.crossovers cimport is_large
from adjoint.arrays.kernels.products_and_sums cimport NativeKernel
from adjoint.core.graph cimport (
    ALL_EDGES,
    NO_VERSION,
    AccumulateGrad,
    ContextNode,
    Extras,
    Node,
    SavedTensor,
    TensorBase,
    VersionCounter,
    _overriding,
    array_in,
    counter_of,
    edge_of,
    empty_saved,
    gradient_edge,
    has_layout,
    has_edge,
    make_saved,
    needs_grad,
    new_tensor,
    original_in,
    output_dtype,
    output_number,
    output_shape,
    pack_saved,
    packed_value_in,
    project,
    project_tensor,
    version_of,
)
from adjoint.core.modes.state cimport ThreadState, current, with_plain_results
from adjoint.program.fused cimport Fused


cdef int _INPUT, _RESULT, _PARAMETER, _SHAPE, _DTYPE, _NEEDS, _SEQUENCE, _SEQUENCE_SHAPES, _EDGE_SHAPE, _INDICES
cdef object _ndarray, _numpy_ops, registry
cdef Fused _negative


cdef class Term:
    cdef object product
    cdef tuple inputs
    cdef tuple arguments
    cdef Fused fused
    cdef NativeKernel native
    cdef object summed
    cdef bint is_identity
    cdef bint is_elementwise
    cdef int sign
    cdef bint is_for_one
    cdef Py_ssize_t position
    cdef Py_ssize_t input
    cdef bint is_for_any(self, long long edges)
    cdef object pull(self, OpNode node, object ops, object g, bint create_graph, bint large)


cdef class Plan:
    cdef public tuple names
    cdef public tuple public_names
    cdef public tuple unused
    cdef public tuple listed
    cdef public tuple arrays
    cdef public frozenset overloads
    cdef public tuple attributes
    cdef public list kinds
    cdef int kind0
    cdef public list positions
    cdef public tuple terms
    cdef public tuple mask
    cdef public bint holds_tensors
    cdef public object runs_once
    cdef public bint undefined
    cdef public bint saves_inputs
    cdef bint is_simple
    cdef bint saves_result
    cdef bint needs_first
    cdef bint needs_second
    cdef int n_saved
    cdef int position0
    cdef int position1
    cdef public bint mask_is_sequence
    cdef public bint promotes
    cdef public bint several_results
    cdef list input_numbers
    cpdef bint saves(self, object tensor, object values)


cdef class OpNode(Node):
    cdef public Plan plan
    cdef object saved0
    cdef object saved1
    cdef tuple saved_others
    cdef public tuple versions
    cdef VersionCounter counter
    cdef long version
    cdef bint freed
    cdef public bint half
    cdef object base_history(self)
    cpdef list run_formulas(self, object cotangent, bint create_graph, bint large, long long edges)
    cdef object pull_from_batch(self, Term term, object ops, object cotangent, bint create_graph)
    cdef object fit_to_edge(self, list results, Py_ssize_t i, object value, bint create_graph)
    cdef object materialize(self, object cotangents, bint create_graph)
    cdef object save(self, tuple values, TensorBase result, object results)
    cdef object finish(self, tuple values)
    cdef object pack(self, tuple values)
    cdef object replace_entry(self, Py_ssize_t k, object entry)
    cdef SavedTensor saved_result(self, object array)
    cdef object saved_form(self, Py_ssize_t k, tuple values, TensorBase result, object results)
    cdef object entry(self, Py_ssize_t k)
    cdef object value(self, Py_ssize_t k, bint create_graph)
    cdef object edge_shape(self, Py_ssize_t i)
    cdef bint frees_saved(self)
    cdef bint is_spent(self)
    cdef bint holds_any(self)
    cdef dict attributes(self)
    cdef object public_value(self, Py_ssize_t k)
    cdef tuple shown_indices(self, object entry)
    cdef list saved_names(self)
    cdef TensorBase as_recorded(self, TensorBase tensor, Py_ssize_t i)
    cdef object saved_value(self, SavedTensor saved, bint create_graph)
    cdef object widen(self, object value, bint create_graph)
    cdef TensorBase hand_out(self, SavedTensor saved)
    cdef TensorBase result(self, object array)
    cdef object check_result(self, object array)
    cdef object check_version(self, TensorBase tensor, Py_ssize_t k)


# several passes may read and free the saved values of a node at once; the plain form is in recorded.py
cdef extern from "graph_slots.h":
    object adj_first_entry(OpNode node)
    object adj_second_entry(OpNode node)
    tuple adj_other_entries(OpNode node)
    void adj_set_first_entry(OpNode node, object entry)
    void adj_set_second_entry(OpNode node, object entry)
    void adj_set_other_entries(OpNode node, tuple entries)


cdef inline object entry_of(OpNode node, Py_ssize_t k):
    """The saved form of slot k; None once it is freed."""
    cdef tuple others
    if k == 0:
        return adj_first_entry(node)
    if k == 1:
        return adj_second_entry(node)
    others = adj_other_entries(node)
    return None if others is None else others[k - 2]


cdef inline object set_entry(OpNode node, Py_ssize_t k, object entry):
    """Replace the saved form of slot k."""
    cdef tuple others
    if k == 0:
        adj_set_first_entry(node, entry)
    elif k == 1:
        adj_set_second_entry(node, entry)
    else:
        others = adj_other_entries(node)
        adj_set_other_entries(node, (*others[: k - 2], entry, *others[k - 1 :]))


cdef inline object free_entries(OpNode node):
    """Let go of the saved values."""
    cdef int n = node.plan.n_saved
    if n > 0:
        adj_set_first_entry(node, None)
    if n > 1:
        adj_set_second_entry(node, None)
    if n > 2:
        adj_set_other_entries(node, None)


cpdef object raw_ops(object array)
cpdef object pack_by_mode(SavedTensor saved, TensorBase tensor, Node owner)
cpdef TensorBase unpack_saved(SavedTensor saved, Node owner)
cpdef object check_saved(SavedTensor saved, Node owner)
cpdef object drop(object entry)
cpdef object name_in_place(object node)
cpdef object announce(Node node)
cpdef SavedTensor save_input(TensorBase tensor)
cpdef SavedTensor save_result(TensorBase result, int nr)
cdef bint keeps_large(object entry)
cdef bint is_number(object value)
cdef tuple saved_indices(object indices)
