cimport cython
from adjoint.core.graph cimport Node, Saved, TensorBase, VersionCounter, View


cdef int _INPUT, _RESULT, _PARAMETER, _SHAPE, _DTYPE, _NEEDS, _SEQUENCE, _SEQUENCE_SHAPES
cdef int _FORMULA, _PARTIAL, _SAVED_FACTOR, _UNCHANGED, _NEGATED, _SCALED, _ZERO, _PRODUCT
cdef int _TIMES, _PLUS, _MINUS, _OVER
cdef object _ndarray, _asarray, _FLOAT32, _FLOAT64, _numpy_ops, registry


cdef class Term:
    cdef int way
    cdef object body
    cdef tuple inputs
    cdef tuple arguments
    cdef bint takes_ops
    cdef bint takes_g
    cdef bint conjugate
    cdef object scale
    cdef Py_ssize_t place
    cdef bint is_simple
    cdef object pull(self, OpNode node, object ops, object g, bint create_graph)


cdef class Plan:
    cdef public tuple names
    cdef public list kinds
    cdef int kind0
    cdef public list places
    cdef public tuple terms
    cdef public tuple mask
    cdef public bint holds_tensors
    cdef public bint saves_inputs
    cdef bint is_simple
    cdef bint saves_result
    cdef bint needs_first
    cdef bint needs_second
    cdef int n_saved
    cdef int place0
    cdef int place1
    cdef public bint mask_is_sequence
    cdef public bint promotes
    cdef public bint several_results
    cdef list input_numbers


cdef class OpNode(Node):
    cdef public Plan plan
    cdef object saved0
    cdef object saved1
    cdef tuple saved_others
    cdef bint freed
    cdef public tuple versions
    cdef public bint half
    cdef VersionCounter counter
    cdef object owner
    cdef dict tangents
    cdef long version
    cdef object materialize(self, object cotangents, bint create_graph)
    cdef object entry(self, Py_ssize_t k)
    cdef object value(self, Py_ssize_t k, bint create_graph)
    cdef TensorBase as_recorded(self, TensorBase tensor, Py_ssize_t i)
    cdef object kept(self, Saved saved, bint create_graph)
    cdef object widened(self, object value, bint create_graph)
    cdef TensorBase tensor_of(self, Saved saved)
    cdef TensorBase result(self, object array)
    cdef object check_result(self, object array)
    cdef object check_version(self, TensorBase tensor, Py_ssize_t k)
    cdef object check_saved(self, Saved saved)


cdef class CopySlices(Node):
    cdef public tuple replay
    cdef tuple order
    cdef TensorBase part(self)
    cdef public OpNode inner


cdef class Operation:
    cdef public object rule
    cdef public str name
    cdef public tuple names
    cdef public tuple defaults
    cdef public Py_ssize_t n_positional
    cdef public tuple inputs
    cdef Py_ssize_t first_input
    cdef public tuple array_places
    cdef public Py_ssize_t sequence
    cdef public Py_ssize_t spread
    cdef public bint differentiable
    cdef public bint elementwise
    cdef public bint takes_numbers
    cdef public tuple tail
    cdef public bint keeps_dtype
    cdef public bint has_axes
    cdef public bint is_view
    cdef public bint fast
    cdef public dict kernels
    cdef public object numpy_kernel
    cdef object own_kernel
    cdef tuple axes
    cdef tuple new_axes
    cdef int symbol
    cdef public dict plans
    cdef list real_plans
    cdef public object node_type
    cdef public object results
    cdef dict __dict__
    cdef object __weakref__
    cpdef object unary(self, object x)
    cpdef object binary(self, object x, object y)
    cpdef object run_in_place(self, list values)
    cpdef list bind(self, tuple args, dict kwargs)
    cpdef object apply(self, list values)
    cpdef list prepared(self, list values)
    cpdef tuple unwrapped(self, list values)
    cpdef object run(self, list raw, object half)
    cpdef object mask(self, list values)
    cpdef Plan plan(self, object mask, bint is_complex)
    cdef Plan real_plan(self, int mask)
    cdef object record(self, tuple values, Plan plan, bint half, object out, TensorBase result)
    cdef object record_quick(self, object x, object y, Plan plan, object out, TensorBase result)
    cdef object quick_entry(self, OpNode node, int place, object x, object y, TensorBase result, int k)
    cdef OpNode new_node(self, tuple values, Plan plan, bint half)
    cdef object save(self, OpNode node, tuple values, TensorBase result, object results)
    cdef object entry(self, OpNode node, Plan plan, Py_ssize_t k, tuple values, TensorBase result, object results)
    cdef object connect(self, OpNode node, Plan plan, tuple values)
    cdef object note_view(self, list values, TensorBase result, object nr)


cpdef object finished(object out, object xp, object half)
cpdef bint is_inexact(object dtype)
cpdef object raw_ops(object array)
cdef object recorded_shape(object out, OpNode node)
