/* A choice between two values for each element: numpy.where of few elements, without its iterator. */
#ifndef ADJOINT_SELECTIONS_H
#define ADJOINT_SELECTIONS_H

#include <math.h>
#include "numpy_arrays.h"

/* NumPy handles more elements. */
#define ADJ_MOST_SELECTED 4096

typedef struct {
    npy_uint64 low, high;
} adj_sixteen_bytes;

/* Where the values are that one operand gives: the first one, the step to the next; a number is in `number`. */
typedef struct {
    const char *at;
    npy_intp step;
    union {
        double doubles[2];
        float floats[2];
        npy_int64 integer;
    } number;
} adj_choice;

/* Writes a number of Python's as an element of a type; 0 if the type may not hold it as it is. */
static int adj_number_as(PyObject *value, int type, adj_choice *choice) {
    double number;
    if (PyFloat_CheckExact(value)) {
        number = PyFloat_AS_DOUBLE(value);
    } else if (PyLong_CheckExact(value)) {
        int overflow;
        long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow) return 0;
        choice->number.integer = whole;
        if (type == NPY_INT64) return 1;
        /* single precision holds these, too */
        if (whole > 1 << 24 || whole < -(1 << 24)) return 0;
        number = (double)whole;
    } else {
        return 0;
    }
    if (type == NPY_DOUBLE || type == NPY_CDOUBLE) {
        choice->number.doubles[0] = number;
        choice->number.doubles[1] = 0;
        return 1;
    }
    if (type != NPY_FLOAT && type != NPY_CFLOAT) return 0;
    float rounded = (float)number;
    if (isinf(rounded) && !isinf(number)) return 0;
    choice->number.floats[0] = rounded;
    choice->number.floats[1] = 0;
    return 1;
}

/* Finds the values of an operand: a number, an array without axes, or one of the condition's shape. */
static int adj_find_choice(PyObject *operand, PyArrayObject *condition, int type, adj_choice *choice) {
    if (!PyArray_CheckExact(operand)) {
        choice->at = (const char *)&choice->number;
        choice->step = 0;
        return adj_number_as(operand, type, choice);
    }
    PyArrayObject *a = (PyArrayObject *)operand;
    if (PyArray_TYPE(a) != type || !PyArray_ISBEHAVED_RO(a)) return 0;
    choice->at = PyArray_BYTES(a);
    choice->step = PyArray_NDIM(a) ? PyArray_ITEMSIZE(a) : 0;
    if (!PyArray_NDIM(a)) return 1;
    return PyArray_IS_C_CONTIGUOUS(a) && PyArray_SAMESHAPE(a, condition);
}

#define ADJ_CHOOSE(type)                                                                                               \
    for (npy_intp i = 0; i < n; i++)                                                                                   \
        ((type *)to)[i] = chooses[i] ? *(const type *)(a.at + i * a.step) : *(const type *)(b.at + i * b.step);

/* Elements of the first operand where a condition holds, of the second elsewhere; None for other operands than plain
   ones of one type and the condition's shape, arrays without axes, and numbers. */
static PyObject *adj_select(PyObject *condition, PyObject *first, PyObject *second) {
    if (!PyArray_CheckExact(condition)) Py_RETURN_NONE;
    PyArrayObject *c = (PyArrayObject *)condition;
    npy_intp n = PyArray_SIZE(c);
    if (PyArray_TYPE(c) != NPY_BOOL || !PyArray_IS_C_CONTIGUOUS(c) || n > ADJ_MOST_SELECTED) Py_RETURN_NONE;
    PyObject *model = PyArray_CheckExact(first) ? first : second;
    if (!PyArray_CheckExact(model)) Py_RETURN_NONE;
    int type = PyArray_TYPE((PyArrayObject *)model);
    adj_choice a, b;
    if (!PyTypeNum_ISNUMBER(type) && type != NPY_BOOL) Py_RETURN_NONE;
    if (!adj_find_choice(first, c, type, &a) || !adj_find_choice(second, c, type, &b)) Py_RETURN_NONE;
    PyArrayObject *out = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(c), PyArray_DIMS(c), type);
    if (out == NULL) return NULL;
    const npy_bool *chooses = (const npy_bool *)PyArray_BYTES(c);
    char *to = PyArray_BYTES(out);
    switch (PyArray_ITEMSIZE(out)) {
        case 1: ADJ_CHOOSE(npy_uint8) break;
        case 2: ADJ_CHOOSE(npy_uint16) break;
        case 4: ADJ_CHOOSE(npy_uint32) break;
        case 8: ADJ_CHOOSE(npy_uint64) break;
        case 16: ADJ_CHOOSE(adj_sixteen_bytes) break;
        default: Py_DECREF(out); Py_RETURN_NONE;
    }
    return (PyObject *)out;
}

#endif
