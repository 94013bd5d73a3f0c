/* What differs in free-threaded CPython, which has no global lock. With the lock everything here is the plain code of a
   single thread, or nothing.

   Attributes of shared objects are of four kinds. One that is set before other threads see the object needs nothing.
   One that is set once, later, is set by adj_fill() and read as usual. One that changes seldom is read by adj_peek()
   and set by adj_put(), and adj_retire() takes the former object. One that changes often is read by adj_read() and set
   by adj_write(), or in other critical sections of its object. */
#ifndef ADJOINT_FREE_THREADING_H
#define ADJOINT_FREE_THREADING_H

#include <Python.h>
#include <stdint.h>
#include "python_objects.h"

#ifdef __GNUC__
/* every module that includes this uses a part of it */
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

#ifdef Py_GIL_DISABLED
#define ADJ_FREE_THREADED 1
/* A lock of C code that calls no Python, and variables that each thread has for itself. A thread that waits for
   Python's own mutex may get it when the interpreter has begun to end, and then keeps it for ever. */
#ifdef _MSC_VER
#define ADJ_MUTEX(mutex) static PyMutex mutex;
#define ADJ_LOCK(mutex) PyMutex_Lock(&(mutex))
#define ADJ_UNLOCK(mutex) PyMutex_Unlock(&(mutex))
#define ADJ_NEW_MUTEX(mutex) ((void)0)
#define ADJ_OF_THREAD static __declspec(thread)
#else
#include <pthread.h>
#define ADJ_MUTEX(mutex) static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#define ADJ_LOCK(mutex) pthread_mutex_lock(&(mutex))
#define ADJ_UNLOCK(mutex) pthread_mutex_unlock(&(mutex))
#define ADJ_NEW_MUTEX(mutex) pthread_mutex_init(&(mutex), NULL)
#define ADJ_OF_THREAD static __thread
#endif
#else
#define ADJ_FREE_THREADED 0
#define ADJ_LOCK(mutex) ((void)0)
#define ADJ_UNLOCK(mutex) ((void)0)
#define ADJ_MUTEX(mutex)
#define ADJ_NEW_MUTEX(mutex) ((void)0)
#define ADJ_OF_THREAD static
#endif

/* Adds to a number that threads share; returns the sum. */
static inline int64_t adj_count(long long *number, long long more) {
#ifdef Py_GIL_DISABLED
    return _Py_atomic_add_int64((int64_t *)number, more) + more;
#else
    return *number += more;
#endif
}

/* A number that threads share. */
static inline int64_t adj_counted(long long *number) {
#ifdef Py_GIL_DISABLED
    return _Py_atomic_load_int64_relaxed((const int64_t *)number);
#else
    return *number;
#endif
}

/* Sets a number that threads share. */
static inline void adj_set_counted(long long *number, long long value) {
#ifdef Py_GIL_DISABLED
    _Py_atomic_store_int64_relaxed((int64_t *)number, value);
#else
    *number = value;
#endif
}

/* Whoever sees what is written after this call also sees what was written before. */
static inline void adj_publish(void) {
#ifdef Py_GIL_DISABLED
    _Py_atomic_fence_release();
#endif
}

/* Lets go of an object that an attribute, a global variable or a container held, while other threads may be about to
   take a reference to it. It goes with the next garbage collection, for which Python stops them at a safe place. */
static void adj_retire(PyObject *object) {
#ifdef Py_GIL_DISABLED
    if (object == Py_None) return;
    PyObject *cycle = PyList_New(2);
    Py_INCREF(object);
    if (cycle == NULL) {  /* rather kept than freed too early */
        PyErr_Clear();
        return;
    }
    PyList_SET_ITEM(cycle, 0, object);
    PyList_SET_ITEM(cycle, 1, cycle);  /* takes over the only reference */
#else
    (void)object;
#endif
}

/* A member of a list that threads share. */
static inline PyObject *adj_member(PyObject *list, Py_ssize_t i) {
#ifdef Py_GIL_DISABLED
    return PyList_GetItemRef(list, i);
#else
    return Py_NewRef(PyList_GET_ITEM(list, i));
#endif
}

/* An attribute of an object of a compiled class, as the functions below take it. */
#define ADJ_SLOT(object, name) (PyObject *)(object), (PyObject **)&(object)->name

/* A new reference to the value of an attribute. */
static inline PyObject *adj_read(PyObject *owner, PyObject **slot) {
#ifdef Py_GIL_DISABLED
    PyObject *value;
    Py_BEGIN_CRITICAL_SECTION(owner);
    value = Py_NewRef(*slot);
    Py_END_CRITICAL_SECTION();
    return value;
#else
    (void)owner;
    return Py_NewRef(*slot);
#endif
}

/* The same for one that changes seldom. */
static inline PyObject *adj_peek(PyObject *owner, PyObject **slot) {
    (void)owner;
#ifdef Py_GIL_DISABLED
    return Py_NewRef((PyObject *)_Py_atomic_load_ptr_acquire(slot));
#else
    return Py_NewRef(*slot);
#endif
}

/* Sets an attribute that changes seldom. The former object has another owner, or adj_retire() takes it. */
static inline void adj_put(PyObject *owner, PyObject **slot, PyObject *value) {
    (void)owner;
    Py_INCREF(value);
#ifdef Py_GIL_DISABLED
    PyObject *before = (PyObject *)_Py_atomic_exchange_ptr(slot, value);
#else
    PyObject *before = *slot;
    *slot = value;
#endif
    Py_DECREF(before);
}

/* Sets an attribute. */
static inline void adj_write(PyObject *owner, PyObject **slot, PyObject *value) {
    PyObject *before;
    Py_INCREF(value);
#ifdef Py_GIL_DISABLED
    Py_BEGIN_CRITICAL_SECTION(owner);
    before = *slot;
    *slot = value;
    Py_END_CRITICAL_SECTION();
#else
    (void)owner;
    before = *slot;
    *slot = value;
#endif
    Py_DECREF(before);
}

/* Sets an attribute that is None. Returns a new reference to its value, which may be that of another thread. */
static inline PyObject *adj_fill(PyObject *owner, PyObject **slot, PyObject *value) {
#ifdef Py_GIL_DISABLED
    Py_BEGIN_CRITICAL_SECTION(owner);
    if (*slot == Py_None) {
        adj_publish();
        *slot = Py_NewRef(value);
    } else {
        value = *slot;
    }
    Py_INCREF(value);
    Py_END_CRITICAL_SECTION();
    return value;
#else
    (void)owner;
    *slot = Py_NewRef(value);
    return Py_NewRef(value);
#endif
}

#endif
