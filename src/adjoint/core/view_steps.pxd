from adjoint.core.graph cimport NO_VERSION, TensorBase, View, counter_of, new_tensor
from adjoint.core.modes.state cimport ThreadState, current

cdef object _ndarray

cpdef object note_view(object operation, list values, TensorBase result, object nr)
cdef TensorBase base_of(TensorBase source)
cpdef tuple basic_index(object index)
cdef object check_step(slice item)
cpdef int last_step(tuple basic)
cdef bint is_everything(slice item)
cpdef bint shares_memory(object source, object result) except -1
