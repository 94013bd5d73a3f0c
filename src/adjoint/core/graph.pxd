cimport cython
from adjoint.arrays.kernels.products_and_sums cimport add_into, summed_to
from adjoint.core.modes.state cimport Level, ThreadState, counted_inferring, current, thread_is_inferring

cdef extern from "free_threading.h":
    long long adj_count(long long *number, long long more)
    long long adj_counted(long long *number)
    void adj_publish()
    void adj_retire(object o)

cdef extern from "Python.h":
    ctypedef struct PyObject:
        Py_ssize_t ob_refcnt
    ctypedef struct PyTypeObject:
        object (*tp_new)(PyTypeObject*, PyObject*, PyObject*)

cdef extern from "numpy_arrays.h":
    bint adj_has_shape(object array, object shape)
    bint adj_has_layout(object array, object shape, object dtype)
    object adj_dtype(object array)
    object adj_shape(object array)
    object adj_shape_as(object tuple_type, object array)
    int adj_ndim(object array)

cdef extern from "python_objects.h":
    object adj_instantiate(object type, object native, object no_arguments)
    Py_ssize_t adj_owner_count(object o)
    object adj_weak(object referent)
    object adj_referent(object reference)
    Py_ssize_t adj_address(object o)
    int adj_slice_by_c(object tuple_type) except -1


cdef inline object instantiate(object type, object native):
    return adj_instantiate(type, native, ())


cdef inline bint has_layout(object array, object shape, object dtype):
    return adj_has_layout(array, shape, dtype)


cdef inline bint has_shape(object array, object shape):
    return adj_has_shape(array, shape)


cdef inline Py_ssize_t owner_count(object o):
    return adj_owner_count(o)


cdef inline object weak(object referent):
    """A weak reference."""
    return adj_weak(referent)


cdef inline object referent_of(object reference):
    """What a weak reference leads to, or None."""
    return adj_referent(reference)


cdef inline object dtype_of(object array):
    """The dtype of an ndarray."""
    return adj_dtype(array)


cdef inline int ndim_of(object array):
    """How many axes an ndarray has."""
    return adj_ndim(array)


cdef inline object shape_of(object array):
    """The shape of an ndarray."""
    return adj_shape(array)


cdef inline object size_of(object array):
    """The shape of an ndarray as a Size."""
    return adj_shape_as(Size, array)


cdef class VersionCounter:
    cdef public long long value
    cdef public dict lines
    cdef public object storage


cdef class View:
    cdef public TensorBase base
    cdef public tuple replay
    cdef public long version
    cdef public object origin
    cdef public object layout
    cdef public Node rewritten
    cdef public long rewritten_at


# instances have no dictionary of their own here: Cython would make one for each, where classes in Python make it when the
# first attribute is set
cdef class TensorBase:
    cdef public object _array
    cdef public Node _node
    cdef public int _output_nr
    cdef public bint _requires
    cdef public object _grad
    cdef public object _accumulator
    cdef public VersionCounter _counter
    cdef public View _view
    cdef public object _tangents
    cdef public object _hooks
    cdef public object _post_hooks
    cdef public object _retain
    cdef public object _grad_dtype
    cdef public Level _level
    cdef object __weakref__


# attributes that several threads may read and set at once; their plain form is in graph.py
cdef extern from "graph_slots.h":
    TensorBase gradient_of "adj_gradient_of"(TensorBase tensor)
    void set_gradient "adj_set_gradient"(TensorBase tensor, TensorBase value)
    VersionCounter adj_enter_counter(TensorBase tensor, VersionCounter counter)
    object first_tangents "adj_enter_tangents"(TensorBase tensor, object tangents)
    object adj_enter_lines(VersionCounter counter, object lines)
    object accumulator_at "adj_accumulator_at"(TensorBase leaf)
    object enter_accumulator "adj_enter_accumulator"(TensorBase leaf, Node accumulator)


cdef inline long long count_write(VersionCounter counter):
    """Count one more modification of the memory; returns the version."""
    return adj_count(&counter.value, 1)


cdef inline VersionCounter first_counter(TensorBase tensor):
    """The version counter of a tensor that has none yet."""
    return adj_enter_counter(tensor, VersionCounter.__new__(VersionCounter))


cdef inline dict lines_of(VersionCounter counter):
    """The source lines of a counter, made at the first use."""
    return counter.lines if counter.lines is not None else <dict>adj_enter_lines(counter, {})


cdef inline bint is_stale(TensorBase tensor, View view):
    """True for a view whose history has to be recomputed."""
    with cython.critical_section(view):
        return view.version != version_of(tensor)


cdef inline Node node_of_view(TensorBase tensor, View view):
    """The node of a tensor that is a view."""
    with cython.critical_section(view):
        return tensor._node


cdef inline Node rewritten_history(View view, long long version):
    """The history that the base of a view got when this view was modified, if that made a version; else None."""
    with cython.critical_section(view):
        return view.rewritten if view.rewritten_at == version else None


cdef inline object forget_rewritten(View view):
    """Forget the history that the base of a view got."""
    with cython.critical_section(view):
        before = view.rewritten
        view.rewritten = None


cdef inline bint renew_view(TensorBase tensor, View view, TensorBase again, long long version):
    """Give a view the history of another tensor; False if another thread was quicker."""
    with cython.critical_section(view):
        if view.version == version:
            return False
        before = tensor._node
        rewritten = view.rewritten
        tensor._node = again._node
        tensor._output_nr = again._output_nr
        if tensor._requires:
            tensor._requires = False
        view.rewritten = None
        # set last: until then every reader recomputes the history
        view.version = version
    return True


cdef inline bint has_base(View view, object array):
    """True if the replay of a view begins with this array of its base."""
    with cython.critical_section(view):
        return view.layout is array


cdef inline object set_base(View view, object array, tuple replay):
    """Let the replay of a view begin with another array of its base."""
    with cython.critical_section(view):
        adj_retire(view.layout)
        adj_retire(view.replay)
        view.layout = array
        view.replay = replay


cdef inline object drop_view(TensorBase tensor):
    """Let a tensor be a view no longer."""
    with cython.critical_section(tensor):
        if tensor._view is not None:
            adj_retire(tensor._view)
            tensor._view = None


cdef class SavedTensor:
    cdef public object array
    cdef public VersionCounter counter
    cdef public long version
    cdef public Node node
    cdef public int output_nr
    cdef public bint from_input
    cdef public object tangents
    cdef public TensorBase original
    cdef public object packed
    cdef public object unpack_hook
    cdef public bint freed


cdef extern from "graph_slots.h":
    object array_in "adj_array_in"(SavedTensor saved)
    TensorBase original_in "adj_original_in"(SavedTensor saved)
    object packed_value_in "adj_packed_in"(SavedTensor saved)


cdef inline object empty_saved(SavedTensor saved):
    """Let go of a saved value."""
    with cython.critical_section(saved):
        array, packed, original = saved.array, saved.packed, saved.original
        saved.freed = True
        saved.array = saved.packed = saved.original = None


cdef class Slot:
    cdef long long _ad_run
    cdef object _ad_buffer
    cdef int _ad_pending
    cdef unsigned char _ad_owned
    cdef unsigned char _ad_marks


cdef class Extras:
    cdef dict notes
    cdef dict tensor_hooks
    cdef object pre_hooks
    cdef object post_hooks
    cdef object owner
    cdef dict tangents
    cdef unsigned long long number


cdef class Node(Slot):
    cdef int _ad_n_edges
    cdef public int _ad_n_outputs
    cdef Node _ad_first
    cdef Node _ad_second
    cdef tuple _ad_others
    cdef public tuple _ad_output_nrs
    cdef public object _ad_shape
    cdef public object _ad_dtype
    cdef public unsigned long long _ad_sequence_nr
    cdef Extras _ad_extras
    cdef object __weakref__
    cdef Extras _ad_own_extras(self)
    cpdef object _ad_set_edges(self, tuple nodes)
    cdef list _ad_pull(self, object cotangent, bint create_graph, long long edges)
    cdef object _ad_release(self)


cdef inline Node edge_of(Node node, Py_ssize_t i):
    """The node of one input."""
    if i == 0:
        return node._ad_first
    return node._ad_second if i == 1 else <Node>node._ad_others[i - 2]


cdef enum:
    # all edges of a node, as bits, and the number of edges that have bits
    ALL_EDGES = -1
    MOST_BITS = 62


cdef inline bint has_edge(long long edges, Py_ssize_t i):
    """True for an edge whose bit is set, and for those that have none."""
    return i >= MOST_BITS or edges >> i & 1


cdef class FunctionNode(Node):
    cdef dict __dict__
    cdef public object function


cdef class ContextNode(Node):
    cdef public object to_save
    cdef public object saved_for_forward
    cdef public object dirty_tensors
    cdef public object non_differentiable
    cdef public object needs_input_grad
    cdef public tuple _ad_saved
    cdef public bint _ad_freed
    cdef public bint _ad_cleared
    cdef public tuple _ad_places
    cdef public Py_ssize_t _ad_n_arguments
    cdef public bint _ad_keeps_undefined
    cdef public bint _ad_undefined_integers
    cdef public object _ad_grad_dtypes
    cdef public object _ad_model
    cdef public dict _ad_tangents
    cdef public object _ad_owner
    cdef public bint _ad_in_jvp


cdef class AccumulateGrad(Node):
    cdef public TensorBase variable
    cdef unsigned long long since


cdef long long _sequence
cdef unsigned long long _LAST
cdef VersionCounter NO_VERSION
cpdef object pack_saved(SavedTensor saved, TensorBase tensor, object pack_hook, object unpack_hook)
cdef int _overriding
cpdef object count_overriding()
cpdef bint overrides(object value)
cpdef bint any_overrides(list values)
cdef int _composing
cpdef object compose(object operation, object values, bint in_place)
cdef object _tensor_type, _native_tensor, _ndarray, _accumulation, _FLOAT64, Size, float64
cdef SavedTensor make_saved(object array, VersionCounter counter, Node node, int output_nr, bint from_input)
cpdef long long next_sequence_nr()
cpdef long long upcoming_sequence_nr()
cpdef TensorBase new_tensor(object array)
cpdef TensorBase twin(TensorBase tensor)
cpdef TensorBase twin_outside(TensorBase tensor)
cpdef Node new_node(object node_type, object native)
cpdef object hooks_of(TensorBase tensor)
cpdef object hook_table(Node node, int number)
cpdef bint is_hooked(Node node)
cpdef bint needs_grad(TensorBase tensor)
cpdef bint is_leaf_tensor(TensorBase tensor)
cpdef Node node_of(TensorBase tensor)
cpdef object renew_history(TensorBase tensor, View view)
cpdef View view_of_base(TensorBase tensor)
cdef TensorBase earlier_base(View view)
cpdef object carry_retained(TensorBase tensor, Node before, int number)
cpdef object replay_view(tuple steps, object array)
cpdef long version_of(TensorBase tensor)
cpdef VersionCounter counter_of(TensorBase tensor)
cpdef object bump_version(TensorBase tensor)
cpdef Node accumulator_of(TensorBase leaf)
cpdef Node gradient_edge(TensorBase tensor)
cpdef connect_inputs(Node node, list inputs)
cpdef connect_outputs(Node node, list outputs)
cpdef list nodes_behind(list waiting, unsigned long long since=?)
cpdef object cut_edges(list roots, set ends, unsigned long long since)
cdef bint cut_edges_of(Node node, dict leads)
cdef unsigned long long age_of(Node node)
cpdef unsigned long long oldest_of(list nodes)
cpdef bint is_older(Node node, unsigned long long since)
cpdef int output_number(Node node, Py_ssize_t i)
cpdef list shown_edges(Node node)
cpdef object output_shape(Node node, int nr)
cpdef object output_dtype(Node node, int nr)
cpdef object project(object cotangent, object shape, object dtype)
cpdef TensorBase project_tensor(TensorBase cotangent, object shape, object dtype)
cpdef object dtype_of_grad(TensorBase leaf)
cpdef object fit_layout(object cotangent, object array)
cpdef object fits(object cotangent, object array)
cpdef object gradient_strides(object array)
cdef object _foreign_layouts
cpdef object add_in_place(TensorBase tensor, object cotangent)
