cimport cython

from adjoint.runtime.crossovers cimport is_large
from adjoint.arrays.kernels.products_and_sums cimport NativeKernel, meet_in_short_rows
from adjoint.core.operations.binding cimport Arguments, is_whole
from adjoint.core.graph cimport TensorBase, dtype_of, ndim_of
from adjoint.core.in_place cimport check_current
from adjoint.program.fused cimport Fused, inputs_among
from adjoint.program.machine cimport Elementwise

cdef extern from "numpy_arrays.h":
    bint adj_lies_in_rows(object array)


cdef object _ndarray, _asarray, _FLOAT32, _FLOAT64
cdef set _array_types


cdef class Kernel:
    cdef public object rule
    cdef public str name
    cdef Arguments arguments
    cdef bint keeps_dtype, is_view, has_one_result, lies_in_rows
    cdef NativeKernel native
    cdef dict kernels
    cdef object on_numpy
    cdef readonly object quick
    cdef object small
    cdef bint keeps_whole
    cdef bint fuses, is_ufunc
    cdef readonly Fused fused
    cdef readonly Fused fused_call
    cdef Fused plain
    cdef bint repeats
    cdef list parameters
    cdef set uncast
    cdef dict casts
    cdef object by_program(self, list raw)
    cdef object one(self, object array)
    cdef object two(self, object left, object right)
    cdef object of_whole(self, object left, object right)
    cdef bint is_kept(self, object dtype)
    cdef bint overwrites(self, object array, list raw)
    cdef object unwrap(self, list values)
    cdef object promote(self, list raw)
    cdef object keep_cast(self, tuple kinds, list raw, list before)
    cdef object cast_arrays(self, list raw, object target)
    cdef tuple kinds(self, list raw)
    cpdef object run(self, list raw, object half)
    cdef object lay_out(self, object outs)
    cdef bint has_large(self, list raw)
    cdef object other_than_numpy(self, list raw)
    cdef object on_one_device(self, list raw, object xp, object model)


cdef object result_array(object out, object xp, object half)
cdef object in_rows(object array)
cdef bint same_members(list values, list others, Py_ssize_t sequence)
