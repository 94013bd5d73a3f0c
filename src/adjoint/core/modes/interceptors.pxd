cimport cython


cdef class Interceptor:
    cdef readonly int position
    cdef bint has_quick
    cdef readonly bint has_operation
    cdef readonly bint has_in_place
    cdef readonly bint has_kernel
    cdef readonly bint has_node
    cdef readonly bint has_draw
    cdef bint defines(self, str name)
    cdef object quick(self, object operation, list operands)
    cpdef object operation(self, object operation, list values)
    cpdef object in_place(self, object operation, list values)
    cpdef object kernel(self, object operation, list raw, object half)
    cpdef object node(self, object run, object node)
    cpdef object draw(self, object function, object args, object kwargs)


cpdef tuple with_interceptor(tuple chain, int position, object interceptor)
cpdef object interceptor_at(tuple chain, int position)
