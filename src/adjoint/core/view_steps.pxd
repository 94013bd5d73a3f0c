from adjoint.core.graph cimport TensorBase, View, counter_of
from adjoint.core.modes cimport ThreadState, current

cdef object _ndarray

cpdef object note_view(object operation, list values, TensorBase result, object nr)
