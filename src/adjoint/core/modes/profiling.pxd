cimport cython
from adjoint.core.graph cimport AccumulateGrad, Node, TensorBase, new_tensor
from adjoint.core.modes.interceptors cimport Interceptor, interceptor_at
from adjoint.core.modes.state cimport ThreadState, change_modes, current
from adjoint.core.in_place cimport CopySlices
from adjoint.core.recorded cimport OpNode

cdef extern from "Python.h":
    unsigned long PyThread_get_thread_ident()


cdef class ProfilerHook(Interceptor):
    cdef public list notes
    cdef public bint detailed
    cdef public object before
    cdef dict __dict__
    cdef object __weakref__
    cpdef object call(self, object name, object function, list values, object scope=*)
    cpdef object note(self, object name, object start, object result, object scope=*)
    cpdef list pull(self, Node node, object cotangent, long long edges)


cpdef object current_profiler()
cpdef ProfilerHook sole_profiler(ThreadState state)
cpdef object thread_ident()
cpdef long long number_of_result(object result)
