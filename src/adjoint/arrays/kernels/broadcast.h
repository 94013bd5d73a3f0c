/* Arrays made from a shape: views with repeated axes, and an array of one element. */
#ifndef ADJOINT_BROADCAST_H
#define ADJOINT_BROADCAST_H

#include "numpy_arrays.h"

/* A view of an array's memory, from some bytes behind its start, with other lengths and strides of axes. */
static PyObject *adj_strided_from(PyArrayObject *a, npy_intp start, int ndim, npy_intp *dims, npy_intp *strides) {
    PyArray_Descr *descr = PyArray_DESCR(a);
    Py_INCREF(descr);
    int flags = PyArray_FLAGS(a) & (NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED);
    PyObject *view = PyArray_NewFromDescr(&PyArray_Type, descr, ndim, dims, strides, PyArray_BYTES(a) + start, flags,
                                          NULL);
    if (view == NULL) return NULL;
    Py_INCREF(a);
    if (PyArray_SetBaseObject((PyArrayObject *)view, (PyObject *)a) < 0) {
        Py_DECREF(view);
        return NULL;
    }
    return view;
}

/* A view of an array with other lengths and strides of axes. */
static PyObject *adj_strided(PyArrayObject *a, int ndim, npy_intp *dims, npy_intp *strides) {
    return adj_strided_from(a, 0, ndim, dims, strides);
}

/* A view of an array broadcast to a shape: axes of length one are repeated, and new axes come first. None for an object
   that is no plain ndarray, or does not broadcast. */
static PyObject *adj_expand(PyObject *object, PyObject *shape) {
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    if (!PyArray_CheckExact(object) || !PyTuple_CheckExact(shape)) Py_RETURN_NONE;
    PyArrayObject *a = (PyArrayObject *)object;
    int ndim = (int)PyTuple_GET_SIZE(shape), extra = ndim - PyArray_NDIM(a);
    if (extra < 0 || ndim > NPY_MAXDIMS) Py_RETURN_NONE;
    for (int i = 0; i < ndim; i++) {
        PyObject *length = PyTuple_GET_ITEM(shape, i);
        if (!PyLong_CheckExact(length)) Py_RETURN_NONE;
        dims[i] = PyLong_AsSsize_t(length);
        if (dims[i] < 0) {
            PyErr_Clear();
            Py_RETURN_NONE;
        }
        if (i < extra)
            strides[i] = 0;
        else if (PyArray_DIM(a, i - extra) == dims[i])
            strides[i] = PyArray_STRIDE(a, i - extra);
        else if (PyArray_DIM(a, i - extra) == 1)
            strides[i] = 0;
        else
            Py_RETURN_NONE;
    }
    return adj_strided(a, ndim, dims, strides);
}

/* 1 in an array of the type and shape of another one, which has one element; None for other arrays. */
static PyObject *adj_one_like(PyObject *object) {
    if (!PyArray_CheckExact(object)) Py_RETURN_NONE;
    PyArrayObject *a = (PyArrayObject *)object;
    int type = PyArray_TYPE(a);
    if (PyArray_SIZE(a) != 1 || (type != NPY_DOUBLE && type != NPY_FLOAT)) Py_RETURN_NONE;
    if (!PyArray_ISNBO(PyArray_DESCR(a)->byteorder)) Py_RETURN_NONE;
    PyArrayObject *one = adj_new_array(a, PyArray_NDIM(a), PyArray_DIMS(a));
    if (one == NULL) return NULL;
    if (type == NPY_DOUBLE)
        *(double *)PyArray_DATA(one) = 1;
    else
        *(float *)PyArray_DATA(one) = 1;
    return (PyObject *)one;
}

/* A number in an array without axes, divided by the number of elements of a shape; None for others. */
static PyObject *adj_share(PyObject *object, PyObject *shape) {
    int precision = adj_precision(object);
    if (precision < 0 || PyArray_NDIM((PyArrayObject *)object) || !PyTuple_CheckExact(shape)) Py_RETURN_NONE;
    npy_intp n = 1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); i++) n *= PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
    if (n < 1 || n >= 1 << 24) Py_RETURN_NONE;
    PyArrayObject *out = adj_new_array((PyArrayObject *)object, 0, NULL);
    if (out == NULL) return NULL;
    char *to = PyArray_BYTES(out), *from = adj_bytes(object);
    if (precision)
        *(float *)to = *(float *)from / (float)n;
    else
        *(double *)to = *(double *)from / (double)n;
    return (PyObject *)out;
}

#endif
