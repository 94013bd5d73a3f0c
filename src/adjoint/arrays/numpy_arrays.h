/* What all C code here needs of NumPy's arrays.

   Most functions use only macros and inline functions of NumPy's headers. The others need adj_import_arrays() first, in
   each compiled module that calls them: NumPy's table of functions is a static variable. */
#ifndef ADJOINT_NUMPY_ARRAYS_H
#define ADJOINT_NUMPY_ARRAYS_H

#include <Python.h>
#include <numpy/arrayobject.h>

#ifdef __GNUC__
/* every module that includes this uses a part of it */
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

/* The first byte of an ndarray's data. */
static inline char *adj_bytes(PyObject *array) {
    return PyArray_BYTES((PyArrayObject *)array);
}

#endif
