cimport cython
from adjoint.runtime.crossovers cimport is_large
from adjoint.arrays.kernels.products_and_sums cimport add_into, plus
from adjoint.core.graph cimport (
    ALL_EDGES,
    MOST_BITS,
    AccumulateGrad,
    ContextNode,
    Extras,
    Node,
    Slot,
    TensorBase,
    dtype_of,
    edge_of,
    gradient_edge,
    has_layout,
    is_older,
    needs_grad,
    new_tensor,
    next_sequence_nr,
    oldest_of,
    output_number,
    shape_of,
    shown_edges,
)
from adjoint.core.modes.interceptors cimport Interceptor, interceptor_at
from adjoint.core.modes.state cimport ThreadState, current
from adjoint.core.modes.profiling cimport ProfilerHook


cdef extern from "free_threading.h":
    long long adj_counted(long long *number)
    void adj_set_counted(long long *number, long long value)


cdef inline long long run_of(Node node) noexcept:
    """The number of the pass whose notes about a node are in its own fields; passes read it while others set it."""
    return adj_counted(&node._ad_run)


cdef inline void set_run(Node node, long long number) noexcept:
    """Give the fields of a node to a pass."""
    adj_set_counted(&node._ad_run, number)


cdef int _NEEDED, _CAPTURED, _OPEN, _DONE, _COUNTED


cdef class Run:
    cdef long long number
    cdef readonly bint retain_graph
    cdef bint create_graph
    cdef object captures
    cdef bint accumulate
    cdef list captured
    cdef dict foreign
    cdef list ready
    cdef Node following
    cdef tuple interceptors
    cdef ProfilerHook profiler
    cdef list callbacks
    cdef object called_at
    cdef unsigned long long oldest
    cdef Slot slot(self, Node node)
    cdef bint claim(self, Node node)
    cdef bint first_visit(self, Node node)
    cdef object find_needed(self, list roots)
    cdef object push_unsearched(self, Node node, list stack)
    cdef bint is_needed(self, Node node)
    cdef object count_consumers(self, list roots)
    cdef object deliver(self, Node target, int nr, object cotangent)
    cdef object enqueue(self, Node node)
    cdef object go(self, list roots)
    cdef object go_quietly(self, list roots)
    cdef object process(self, Node node)
    cdef object sum(self, object first, object second)
    cpdef object proceed(self, Node node, int position)
    cpdef object cotangents_at(self, Node node)
    cpdef object end_at(self, Node node, object cotangents)
    cpdef list evaluate(self, Node node)
    cdef object before(self, Node node, object cotangent)
    cdef object after(self, Node node, list pulled, object cotangent)
    cdef list pull(self, Node node, object cotangent)
    cdef long long needed_edges(self, Node node)
    cdef object accumulate_into(self, AccumulateGrad node, object cotangent)
    cdef object pass_on(self, Node node, list pulled)
    cdef bint is_end(self, Node node)
    cdef object capture(self, Node node, object cotangent)
    cdef object end_early(self, list roots)
    cdef object forget(self, list roots)


cpdef object sum_of_cotangents(object first, object second, bint create_graph)
cpdef list run_backward(
    list roots, list cotangents, bint retain_graph, bint create_graph, object captures, int n_captures, bint accumulate
)
cdef object _ndarray
cdef object set_errors(object handling)
cpdef object root_of(TensorBase tensor, object grad_output, bint create_graph)
cpdef bint backward_from(TensorBase tensor)
cpdef list gradients_of(object outputs, object inputs, object cotangents, bint retain_graph, bint create_graph)
cpdef tuple as_results(list gradients)
cpdef long long run_number()
cpdef bint accumulates()
cpdef object call_at_end(object callback)
cpdef bint will_run(Node node)
cpdef object as_tensor(object cotangent, bint create_graph)
cpdef object as_cotangent(object replacement, object before, bint create_graph, object hook)
cpdef object run_tensor_hooks(object hooks, object cotangent, bint create_graph)
cpdef object output_values(Node node, object cotangent)
cpdef object run_output_hooks(Node node, dict hooks_by_number, object cotangent, bint create_graph)
cpdef object run_pre_hooks(Node node, object hooks, object cotangent, bint create_graph)
cpdef list hook_replacements(object replacement, object values, bint create_graph, object hook)
cpdef object run_post_hooks(object hooks, object pulled, object received, bint create_graph)
