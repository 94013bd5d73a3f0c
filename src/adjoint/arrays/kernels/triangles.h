/* Matrices without the elements on one side of a diagonal: rows are copied and filled, where NumPy makes a mask. */
#ifndef ADJOINT_TRIANGLES_H
#define ADJOINT_TRIANGLES_H

#include <string.h>
#include "numpy_arrays.h"

/* The upper triangles from diagonal k on, or the lower ones up to it; None unless the array is plain, numeric and
   row-major. */
static PyObject *adj_triangle(PyObject *object, Py_ssize_t k, int upper) {
    if (!PyArray_CheckExact(object)) Py_RETURN_NONE;
    PyArrayObject *a = (PyArrayObject *)object;
    int ndim = PyArray_NDIM(a);
    if (ndim < 2 || !PyArray_IS_C_CONTIGUOUS(a) || !PyArray_ISNOTSWAPPED(a)) Py_RETURN_NONE;
    if (!PyArray_ISNUMBER(a) && !PyArray_ISBOOL(a)) Py_RETURN_NONE;
    PyArrayObject *out = (PyArrayObject *)PyArray_SimpleNew(ndim, PyArray_DIMS(a), PyArray_TYPE(a));
    if (out == NULL) return NULL;
    npy_intp n = PyArray_DIM(a, ndim - 2), m = PyArray_DIM(a, ndim - 1), size = PyArray_ITEMSIZE(a);
    npy_intp rows = m ? PyArray_SIZE(a) / m : 0;
    const char *from = PyArray_BYTES(a);
    char *to = PyArray_BYTES(out);
    for (npy_intp row = 0; row < rows; row++, from += m * size, to += m * size) {
        npy_intp i = row % n, left = ADJ_MIN(ADJ_MAX(i + k + !upper, 0), m);
        npy_intp first = upper ? left : 0, last = upper ? m : left;
        memset(to, 0, first * size);
        memcpy(to + first * size, from + first * size, (last - first) * size);
        memset(to + last * size, 0, (m - last) * size);
    }
    return (PyObject *)out;
}

#endif
