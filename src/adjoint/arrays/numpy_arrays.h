/* Access to NumPy's arrays for the C code of this package. Most functions use only macros and inline functions of
NumPy's headers. A compiled module that calls NumPy's functions must call adj_import_arrays() first: NumPy's table of
functions is a static variable of each module. NPY_NO_DEPRECATED_API comes from setup.py. */
#ifndef ADJOINT_NUMPY_ARRAYS_H
#define ADJOINT_NUMPY_ARRAYS_H

#include <Python.h>
#include <stdint.h>
#include <string.h>
#include <numpy/arrayobject.h>

#ifdef __GNUC__
/* every module that includes this uses a part of it */
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

#define ADJ_MIN(a, b) ((a) < (b) ? (a) : (b))
#define ADJ_MAX(a, b) ((a) > (b) ? (a) : (b))

/* Also compiled for processors with wider vectors; the form is selected when the module is loaded. All forms give the
   same numbers, since no operations are fused (setup.py). */
#if defined(__GLIBC__) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define ADJ_CLONES __attribute__((target_clones("avx512f", "avx2", "default"))) static
#else
#define ADJ_CLONES static
#endif
#ifdef __GNUC__
#define ADJ_ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ADJ_ALWAYS_INLINE inline
#endif

/* Gets NumPy's table of functions; -1 with an exception if that fails. */
static int adj_import_arrays(void) {
    import_array1(-1);
    return 0;
}

/* The first byte of an ndarray's data. */
static inline char *adj_bytes(PyObject *array) {
    return PyArray_BYTES((PyArrayObject *)array);
}

/* The address of an ndarray's first byte. */
static inline size_t adj_address_of(PyObject *array) {
    return (size_t)PyArray_BYTES((PyArrayObject *)array);
}

/* The first byte of an ndarray's data, NULL for None. */
static inline char *adj_bytes_or_null(PyObject *array) {
    return array == Py_None ? NULL : adj_bytes(array);
}

/* The number of axes of an ndarray. */
static inline int adj_ndim(PyObject *array) {
    return PyArray_NDIM((PyArrayObject *)array);
}

/* The number of elements of an ndarray. */
static inline npy_intp adj_n_elements(PyObject *array) {
    PyArrayObject *a = (PyArrayObject *)array;
    npy_intp n = 1;
    for (int i = 0; i < PyArray_NDIM(a); i++) n *= PyArray_DIM(a, i);
    return n;
}

/* Whether the elements of an ndarray lie row by row, one after the other. */
static inline int adj_lies_in_rows(PyObject *array) {
    return PyArray_IS_C_CONTIGUOUS((PyArrayObject *)array);
}

/* Whether an object is an ndarray whose elements lie row by row, one after the other. */
static inline int adj_is_row_major(PyObject *object) {
    return PyArray_CheckExact(object) && adj_lies_in_rows(object);
}

/* Memory for an ndarray of the shape and type of another one, row by row. */
static inline PyObject *adj_new_alike(PyObject *array) {
    PyArrayObject *a = (PyArrayObject *)array;
    return PyArray_SimpleNew(PyArray_NDIM(a), PyArray_DIMS(a), PyArray_TYPE(a));
}

/* The number of elements of an ndarray before an axis, along it, and behind it. */
static inline void adj_lengths_around(PyObject *array, Py_ssize_t axis, Py_ssize_t *before, Py_ssize_t *along,
                                      Py_ssize_t *behind) {
    PyArrayObject *a = (PyArrayObject *)array;
    *before = *behind = 1;
    for (int i = 0; i < PyArray_NDIM(a); i++) {
        if (i < axis) *before *= PyArray_DIM(a, i);
        if (i > axis) *behind *= PyArray_DIM(a, i);
    }
    *along = PyArray_DIM(a, (int)axis);
}

/* The number of an ndarray's element type. */
static inline int adj_type_num(PyObject *array) {
    return PyArray_TYPE((PyArrayObject *)array);
}

/* The dtype of an ndarray, without a look-up of the attribute. */
static inline PyObject *adj_dtype(PyObject *array) {
    PyObject *dtype = (PyObject *)PyArray_DESCR((PyArrayObject *)array);
    Py_INCREF(dtype);
    return dtype;
}

/* The lengths of an ndarray's axes in a new tuple, which may be NULL. */
static inline PyObject *adj_with_lengths(PyObject *shape, PyObject *array) {
    PyArrayObject *a = (PyArrayObject *)array;
    for (int i = 0; shape != NULL && i < PyArray_NDIM(a); i++) {
        PyObject *length = PyLong_FromSsize_t(PyArray_DIM(a, i));
        if (length == NULL) {
            Py_DECREF(shape);
            return NULL;
        }
        PyTuple_SET_ITEM(shape, i, length);
    }
    return shape;
}

/* The shape of an ndarray as a tuple, without a look-up of the attribute. */
static inline PyObject *adj_shape(PyObject *array) {
    return adj_with_lengths(PyTuple_New(adj_ndim(array)), array);
}

/* The shape of an ndarray as an instance of a subclass of tuple. */
static inline PyObject *adj_shape_as(PyObject *type, PyObject *array) {
    return adj_with_lengths(((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, adj_ndim(array)), array);
}

/* 1 if an ndarray has this shape, a tuple of ints. */
static inline int adj_has_shape(PyObject *array, PyObject *shape) {
    PyArrayObject *a = (PyArrayObject *)array;
    int n = PyArray_NDIM(a);
    if (PyTuple_GET_SIZE(shape) != n) return 0;
    for (int i = 0; i < n; i++)
        if (PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i)) != PyArray_DIM(a, i)) return 0;
    return 1;
}

/* 1 if an ndarray has this shape and this very dtype object. */
static inline int adj_has_layout(PyObject *array, PyObject *shape, PyObject *dtype) {
    return (PyObject *)PyArray_DESCR((PyArrayObject *)array) == dtype && adj_has_shape(array, shape);
}

/* 1 if an ndarray has these strides, a tuple of ints. */
static inline int adj_has_strides(PyObject *array, PyObject *strides) {
    PyArrayObject *a = (PyArrayObject *)array;
    for (int i = 0; i < PyArray_NDIM(a); i++)
        if (PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, i)) != PyArray_STRIDE(a, i)) return 0;
    return 1;
}

/* 1 if two ndarrays have the same shape. */
static inline int adj_same_shape(PyArrayObject *a, PyArrayObject *b) {
    int n = PyArray_NDIM(a);
    if (n != PyArray_NDIM(b)) return 0;
    for (int i = 0; i < n; i++)
        if (PyArray_DIM(a, i) != PyArray_DIM(b, i)) return 0;
    return 1;
}

/* Copies an ndarray into another one of its dtype and shape, if both have no gaps and are not long; 0 where NumPy must
   do it. */
#define ADJ_LONG_COPY (1 << 20)
static inline int adj_copy_array(PyObject *to, PyObject *from) {
    PyArrayObject *a = (PyArrayObject *)to, *b = (PyArrayObject *)from;
    if (PyArray_DESCR(a) != PyArray_DESCR(b) || !adj_same_shape(a, b)) return 0;
    if (!PyArray_ISCARRAY(a) || !PyArray_ISCARRAY_RO(b)) return 0;
    size_t bytes = (size_t)adj_n_elements(to) * PyArray_ITEMSIZE(a);
    if (bytes >= ADJ_LONG_COPY) return 0;
    memmove(PyArray_BYTES(a), PyArray_BYTES(b), bytes);
    return 1;
}

/* 1 if an ndarray has the dtype of another one and, behind a first axis of its own, its shape. */
static inline int adj_is_stack_of(PyObject *arrays, PyObject *array) {
    PyArrayObject *a = (PyArrayObject *)arrays, *b = (PyArrayObject *)array;
    int n = PyArray_NDIM(b);
    if (PyArray_DESCR(a) != PyArray_DESCR(b) || PyArray_NDIM(a) != n + 1) return 0;
    for (int i = 0; i < n; i++)
        if (PyArray_DIM(a, i + 1) != PyArray_DIM(b, i)) return 0;
    return 1;
}

/* 0 for an array of double precision, 1 for single precision; -1 for others, and for elements that are not aligned or
   have foreign byte order. */
static inline int adj_precision(PyObject *object) {
    if (!PyArray_CheckExact(object)) return -1;
    PyArrayObject *a = (PyArrayObject *)object;
    int type = PyArray_TYPE(a);
    if ((type != NPY_DOUBLE && type != NPY_FLOAT) || !PyArray_ISALIGNED(a)) return -1;
    return PyArray_ISNBO(PyArray_DESCR(a)->byteorder) ? type == NPY_FLOAT : -1;
}

/* Divides the elements of a row-major array of single or double precision by a number. */
static inline void adj_divide_by(PyObject *array, double number) {
    PyArrayObject *a = (PyArrayObject *)array;
    npy_intp n = adj_n_elements(array);
    char *at = PyArray_BYTES(a);
    if (PyArray_TYPE(a) == NPY_DOUBLE)
        for (npy_intp i = 0; i < n; i++) ((double *)at)[i] /= number;
    else
        for (npy_intp i = 0; i < n; i++) ((float *)at)[i] /= (float)number;
}

/* 1 if the elements of an ndarray lie in memory in their order, and may be written to. */
static inline int adj_is_writable_rows(PyObject *array) {
    return PyArray_IS_C_CONTIGUOUS((PyArrayObject *)array) && PyArray_ISWRITEABLE((PyArrayObject *)array);
}

/* A new array, not filled, with the dtype of `model`. */
static inline PyArrayObject *adj_new_array(PyArrayObject *model, int ndim, npy_intp *shape) {
    PyArray_Descr *descr = PyArray_DESCR(model);
    Py_INCREF(descr);
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, NULL, NULL, 0, NULL);
}

/* A new array, not filled, of a dtype and a shape, which is a tuple of ints. */
static inline PyObject *adj_new_of(PyObject *dtype, PyObject *shape) {
    npy_intp dims[NPY_MAXDIMS];
    int ndim = (int)PyTuple_GET_SIZE(shape);
    for (int i = 0; i < ndim; i++) dims[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
    Py_INCREF(dtype);
    return PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)dtype, ndim, dims, NULL, NULL, 0, NULL);
}

/* 1 if the elements of an array lie in memory in their order, where the processor expects them. */
static inline int adj_is_plain(PyObject *array) {
    return PyArray_IS_C_CONTIGUOUS((PyArrayObject *)array) && PyArray_ISALIGNED((PyArrayObject *)array);
}

/* An array of a dtype in memory that another object owns; its strides are in bytes. */
static inline PyObject *adj_view_of(PyObject *owner, char *data, PyObject *dtype, int ndim, npy_intp *shape,
                                    npy_intp *strides) {
    Py_INCREF(dtype);
    PyObject *view = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)dtype, ndim, shape, strides, data,
                                          NPY_ARRAY_WRITEABLE, NULL);
    if (view == NULL) return NULL;
    Py_INCREF(owner);
    if (PyArray_SetBaseObject((PyArrayObject *)view, owner) < 0) { Py_DECREF(view); return NULL; }
    return view;
}

#endif
