/* Attributes of tensors and saved values that several threads may read and set at once, by the functions of
free_threading.h. The pointers are untyped, since only Cython knows the types. */
#ifndef ADJOINT_GRAPH_SLOTS_H
#define ADJOINT_GRAPH_SLOTS_H

#include "free_threading.h"

#define adj_gradient_of(tensor) ((void *)adj_read(ADJ_SLOT(tensor, _grad)))
#define adj_set_gradient(tensor, value) adj_write(ADJ_SLOT(tensor, _grad), (PyObject *)(value))
#define adj_enter_counter(tensor, counter) ((void *)adj_fill(ADJ_SLOT(tensor, _counter), (PyObject *)(counter)))
#define adj_enter_tangents(tensor, tangents) adj_fill(ADJ_SLOT(tensor, _tangents), tangents)
#define adj_enter_lines(counter, dict) adj_fill(ADJ_SLOT(counter, lines), dict)
#define adj_accumulator_at(tensor) adj_referent_at(ADJ_SLOT(tensor, _accumulator))
#define adj_enter_accumulator(tensor, node) adj_enter_weakly(ADJ_SLOT(tensor, _accumulator), (PyObject *)(node))
#define adj_array_in(saved) adj_read(ADJ_SLOT(saved, array))
#define adj_original_in(saved) ((void *)adj_read(ADJ_SLOT(saved, original)))
#define adj_packed_in(saved) adj_read(ADJ_SLOT(saved, packed))
#define adj_first_entry(node) adj_read(ADJ_SLOT(node, saved0))
#define adj_second_entry(node) adj_read(ADJ_SLOT(node, saved1))
#define adj_other_entries(node) ((void *)adj_read(ADJ_SLOT(node, saved_others)))
#define adj_set_first_entry(node, value) adj_write(ADJ_SLOT(node, saved0), value)
#define adj_set_second_entry(node, value) adj_write(ADJ_SLOT(node, saved1), value)
#define adj_set_other_entries(node, value) adj_write(ADJ_SLOT(node, saved_others), (PyObject *)(value))

/* What the weak reference in an attribute refers to; None if it is gone, and for None. */
static inline PyObject *adj_referent_at(PyObject *owner, PyObject **slot) {
    if (*slot == Py_None) Py_RETURN_NONE;
#ifdef Py_GIL_DISABLED
    PyObject *reference = adj_read(owner, slot);
    PyObject *referent = reference == Py_None ? Py_NewRef(Py_None) : adj_referent(reference);
    Py_DECREF(reference);
    return referent;
#else
    (void)owner;
    return adj_referent(*slot);
#endif
}

/* Sets an attribute to a weak reference, unless another thread has set it to one that is alive. Returns a new reference
   to what it then refers to. */
static PyObject *adj_enter_weakly(PyObject *owner, PyObject **slot, PyObject *object) {
    PyObject *before, *reference = adj_weak(object);
    if (reference == NULL) return NULL;
#ifdef Py_GIL_DISABLED
    PyObject *other;
    Py_BEGIN_CRITICAL_SECTION(owner);
    before = Py_NewRef(*slot);
    other = before == Py_None ? Py_NewRef(Py_None) : adj_referent(before);
    if (other == Py_None) {
        *slot = reference;
        Py_DECREF(before);  /* the attribute's own reference; the other one is below */
    }
    Py_END_CRITICAL_SECTION();
    if (other != Py_None) {
        Py_DECREF(before);
        Py_DECREF(reference);
        return other;
    }
#else
    (void)owner;
    before = *slot;
    *slot = reference;
#endif
    Py_DECREF(before);
    return Py_NewRef(object);
}

#endif
