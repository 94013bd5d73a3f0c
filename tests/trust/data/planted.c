/* Faults for the sanitizers to find: fault(n) has that of number n, and fault(4) has none. */
#include <Python.h>
#include <stdlib.h>

static PyObject *fault(PyObject *self, PyObject *argument) {
    long number = PyLong_AsLong(argument);
    char *volatile block = malloc(64);
    volatile int most = 0x7fffffff;
    volatile double large = 1e30;
    (void)self;
    switch (number) {
    case 0: number = block[64]; break;
    case 1: number = most + (int)number; break;
    case 2: number = (int)large; break;
    case 3: block = NULL; break;
    }
    free(block);
    return PyLong_FromLong(number);
}

static PyMethodDef methods[] = {{"fault", fault, METH_O, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "planted", "", -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_planted(void) { return PyModule_Create(&module); }
