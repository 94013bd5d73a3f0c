/* The state of the calling thread in free-threaded CPython, where threads cannot share the last answer of `current`. */
#ifndef ADJOINT_THREAD_STATES_H
#define ADJOINT_THREAD_STATES_H

#include "free_threading.h"

/* The `ThreadState` of this thread, which its dictionary owns; NULL before the first use, and after the dictionary. */
ADJ_OF_THREAD PyObject *adj_own_state;

static void adj_note_end(PyObject *capsule) {
    /* another thread may clear the dictionary, at the end of the interpreter */
    if (PyCapsule_GetPointer(capsule, NULL) == (void *)&adj_own_state) adj_own_state = NULL;
}

/* Has the state forgotten when the dictionary of this thread is cleared. This comes before the state itself is entered:
   a dictionary lets go of its members in their order. */
static int adj_watch_end(PyObject *table, PyObject *key) {
    PyObject *capsule = PyCapsule_New((void *)&adj_own_state, NULL, adj_note_end);
    if (capsule == NULL) return -1;
    int failed = PyDict_SetItem(table, key, capsule);
    Py_DECREF(capsule);
    return failed;
}

#endif
