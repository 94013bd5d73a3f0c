/* What compiled modules need of Python's objects and types beyond what Cython offers. */
#ifndef ADJOINT_PYTHON_OBJECTS_H
#define ADJOINT_PYTHON_OBJECTS_H

#include <Python.h>

#ifdef __GNUC__
/* every module that includes this uses a part of it */
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

/* How many references an object has. */
static inline Py_ssize_t adj_owner_count(PyObject *object) {
    return Py_REFCNT(object);
}

/* A number that tells an object from others that live at the same time. */
static inline Py_ssize_t adj_address(PyObject *object) {
    return (Py_ssize_t)object >> 4;
}

/* A new instance of a Python class, made by the tp_new of its compiled base class. */
static inline PyObject *adj_instantiate(PyObject *type, PyObject *native, PyObject *no_arguments) {
    return ((PyTypeObject *)native)->tp_new((PyTypeObject *)type, no_arguments, NULL);
}

/* A weak reference without a callback. */
static inline PyObject *adj_weak(PyObject *referent) {
    return PyWeakref_NewRef(referent, NULL);
}

/* What a weak reference refers to, or None. */
static inline PyObject *adj_referent(PyObject *reference) {
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *referent;
    if (PyWeakref_GetRef(reference, &referent) < 0) return NULL;
    if (referent == NULL) Py_RETURN_NONE;
#else
    PyObject *referent = PyWeakref_GetObject(reference);
    Py_XINCREF(referent);
#endif
    return referent;
}

/* Has the instances of an object's type called through a pointer in them, with arguments that lie in a C array.
   `pointer` is that of this object. */
static inline void adj_call_through(PyObject *object, void **pointer, void *function, int is_method) {
    PyTypeObject *type = Py_TYPE(object);
    *pointer = function;
    if (type->tp_flags & Py_TPFLAGS_HAVE_VECTORCALL) return;
    type->tp_vectorcall_offset = (char *)pointer - (char *)object;
    type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | (is_method ? Py_TPFLAGS_METHOD_DESCRIPTOR : 0);
    PyType_Modified(type);
}

/* Sets an attribute of a compiled class, which Python lets nobody do. */
static int adj_set_in_type(PyObject *type, const char *name, PyObject *value) {
    int failed = PyDict_SetItemString(((PyTypeObject *)type)->tp_dict, name, value);
    PyType_Modified((PyTypeObject *)type);
    return failed;
}

/* An item of a tuple, or a slice of it as an instance of its own class. */
static PyObject *adj_item_or_slice(PyObject *tuple, PyObject *key) {
    PyObject *part = PyTuple_Type.tp_as_mapping->mp_subscript(tuple, key);
    if (part == NULL || !PyTuple_CheckExact(part)) return part;
    PyTypeObject *type = Py_TYPE(tuple);
    PyObject *result = type->tp_alloc(type, PyTuple_GET_SIZE(part));
    for (Py_ssize_t i = 0; result != NULL && i < PyTuple_GET_SIZE(part); i++)
        PyTuple_SET_ITEM(result, i, Py_NewRef(PyTuple_GET_ITEM(part, i)));
    Py_DECREF(part);
    return result;
}

/* Has a subclass of tuple, whose items are no tuples, take items and slices by the function above. */
static int adj_slice_by_c(PyObject *type) {
    static PyMethodDef method = {"__getitem__", adj_item_or_slice, METH_O | METH_COEXIST, NULL};
    PyObject *descriptor = PyDescr_NewMethod((PyTypeObject *)type, &method);
    if (descriptor == NULL) return -1;
    int failed = adj_set_in_type(type, method.ml_name, descriptor);
    Py_DECREF(descriptor);
    ((PyTypeObject *)type)->tp_as_mapping->mp_subscript = adj_item_or_slice;
    return failed;
}

/* Gives a subclass the compiled functions of its base for operators: Python would look them up by name at every use.
   One that it has is not written again, since other threads may be about to call it. */
static void adj_inherit_operators(PyObject *subclass, PyObject *native) {
    PyNumberMethods *to = ((PyTypeObject *)subclass)->tp_as_number;
    PyNumberMethods *from = ((PyTypeObject *)native)->tp_as_number;
#define ADJ_INHERIT(name) if (to->name != from->name) to->name = from->name
    ADJ_INHERIT(nb_add);
    ADJ_INHERIT(nb_subtract);
    ADJ_INHERIT(nb_multiply);
    ADJ_INHERIT(nb_true_divide);
    ADJ_INHERIT(nb_power);
    ADJ_INHERIT(nb_matrix_multiply);
    ADJ_INHERIT(nb_negative);
#undef ADJ_INHERIT
}

#endif
