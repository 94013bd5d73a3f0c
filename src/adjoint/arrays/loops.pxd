cdef extern from *:
    """
    #define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
    #include <numpy/arrayobject.h>
    #include <numpy/ufuncobject.h>
    #include <fenv.h>
    #include <math.h>

    #define ADJ_MAX_INPUTS 8
    #define ADJ_MAX_CONSTANTS 12
    #define ADJ_MAX_STEPS 24
    /* temporaries of one block lie on the stack: 12 * 512 * 8 bytes */
    #define ADJ_MAX_TEMPORARIES 12
    #define ADJ_BLOCK 512
    #define ADJ_MAX_REGISTERS (ADJ_MAX_INPUTS + ADJ_MAX_CONSTANTS + ADJ_MAX_STEPS)
    /* from here on other threads may run meanwhile */
    #define ADJ_LONG 40000
    #define ADJ_FLAGS (FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID)

    typedef struct {
        PyUFuncGenericFunction loop[2];    /* for double and float; NULL: pick by a truth value */
        void *data[2];
        int n_in;
        int in[3];
        int truth;                         /* the result is of truth values */
        int temporary;                     /* where it lies, -1 for the result of all */
    } adj_step;

    typedef struct {
        int n_inputs, n_constants, n_steps;
        npy_intp limit;                    /* fewer elements than this, 0 for any number */
        double doubles[ADJ_MAX_CONSTANTS];
        float floats[ADJ_MAX_CONSTANTS];
        int single;                        /* the constants fit single precision */
        adj_step steps[ADJ_MAX_STEPS];
    } adj_program;

    CYTHON_UNUSED static int adj_import_numpy(void) {
        import_array1(-1);
        return 0;
    }

    /* the loop of a ufunc for operands all of type `in` and a result of type `out`; 0 if there is none */
    CYTHON_UNUSED static int adj_find_loop(PyObject *object, int in, int out, PyUFuncGenericFunction *loop, void **data) {
        PyUFuncObject *ufunc = (PyUFuncObject *)object;
        if (ufunc->nout != 1 || ufunc->core_enabled || ufunc->functions == NULL) return 0;
        for (int i = 0; i < ufunc->ntypes; i++) {
            const char *types = ufunc->types + i * ufunc->nargs;
            int fits = types[ufunc->nin] == out;
            for (int k = 0; k < ufunc->nin; k++) fits = fits && types[k] == in;
            if (fits) {
                *loop = ufunc->functions[i];
                *data = ufunc->data == NULL ? NULL : ((void **)ufunc->data)[i];
                return *loop != NULL;
            }
        }
        return 0;
    }

    /* one step that calls the ufunc's loops; 0 if it has none for both precisions */
    CYTHON_UNUSED static int adj_set_loop(adj_program *p, int k, PyObject *ufunc, int from_truth, int to_truth) {
        static const int kinds[2] = {NPY_DOUBLE, NPY_FLOAT};
        for (int i = 0; i < 2; i++) {
            int in = from_truth ? NPY_BOOL : kinds[i], out = to_truth ? NPY_BOOL : kinds[i];
            if (!adj_find_loop(ufunc, in, out, &p->steps[k].loop[i], &p->steps[k].data[i])) return 0;
        }
        return 1;
    }

    CYTHON_UNUSED static void adj_pick(char **args, npy_intp n, npy_intp *steps, int size) {
        char *c = args[0], *a = args[1], *b = args[2], *out = args[3];
        if (size == 8)
            for (npy_intp i = 0; i < n; i++, c += steps[0], a += steps[1], b += steps[2])
                ((double *)out)[i] = *c ? *(double *)a : *(double *)b;
        else
            for (npy_intp i = 0; i < n; i++, c += steps[0], a += steps[1], b += steps[2])
                ((float *)out)[i] = *c ? *(float *)a : *(float *)b;
    }

    /* all steps for n elements, block by block; strides 0 for what is one number */
    CYTHON_UNUSED static void adj_run_steps(adj_program *p, int which, npy_intp n, char **inputs, npy_intp *strides, char *result) {
        char memory[ADJ_MAX_TEMPORARIES * ADJ_BLOCK * 8];
        char *at[ADJ_MAX_REGISTERS];
        npy_intp by[ADJ_MAX_REGISTERS];
        int size = which ? 4 : 8, n_fixed = p->n_inputs + p->n_constants;
        for (int k = 0; k < p->n_inputs; k++) by[k] = strides[k];
        for (int k = 0; k < p->n_constants; k++) {
            at[p->n_inputs + k] = which ? (char *)&p->floats[k] : (char *)&p->doubles[k];
            by[p->n_inputs + k] = 0;
        }
        for (int k = 0; k < p->n_steps; k++) by[n_fixed + k] = p->steps[k].truth ? 1 : size;
        for (npy_intp start = 0; start < n; start += ADJ_BLOCK) {
            npy_intp length = n - start < ADJ_BLOCK ? n - start : ADJ_BLOCK;
            for (int k = 0; k < p->n_inputs; k++) at[k] = inputs[k] + start * strides[k];
            for (int k = 0; k < p->n_steps; k++) {
                adj_step *s = &p->steps[k];
                char *args[4];
                npy_intp steps[4], m = length;
                for (int i = 0; i < s->n_in; i++) {
                    args[i] = at[s->in[i]];
                    steps[i] = by[s->in[i]];
                }
                char *out = s->temporary < 0 ? result + start * size : memory + s->temporary * ADJ_BLOCK * 8;
                at[n_fixed + k] = args[s->n_in] = out;
                steps[s->n_in] = by[n_fixed + k];
                if (s->loop[which] == NULL) adj_pick(args, m, steps, size);
                else s->loop[which](args, &m, steps, s->data[which]);
            }
        }
    }

    /* a Python number as a constant of the precision; 0 if it is none or does not fit */
    CYTHON_UNUSED static int adj_read_number(PyObject *o, double *as_double, float *as_float, int which) {
        double d;
        if (PyFloat_CheckExact(o)) d = PyFloat_AS_DOUBLE(o);
        else if (PyLong_CheckExact(o)) {
            int overflow;
            long long whole = PyLong_AsLongLongAndOverflow(o, &overflow);
            long long limit = which ? 1LL << 24 : 1LL << 53;
            if (overflow || whole > limit || whole < -limit) return 0;
            d = (double)whole;
        }
        else return 0;
        *as_double = d;
        *as_float = (float)d;
        return !which || isinf(d) || !isinf(*as_float);
    }

    /* the program on arrays and numbers; None if they are not of the plain kind that it is for, or if flags of floating
       point errors say that NumPy has something to report (unless `quiet`) */
    CYTHON_UNUSED static PyObject *adj_run_program(adj_program *p, PyObject **given, int quiet) {
        PyArrayObject *full = NULL;
        int n_inputs = p->n_inputs;
        for (int k = 0; k < n_inputs; k++) {
            if (!PyArray_CheckExact(given[k])) continue;
            PyArrayObject *a = (PyArrayObject *)given[k];
            if (full == NULL || PyArray_NDIM(a) > PyArray_NDIM(full)) full = a;
        }
        if (full == NULL) Py_RETURN_NONE;
        PyArray_Descr *descr = PyArray_DESCR(full);
        int type = descr->type_num, which = type == NPY_FLOAT;
        if ((type != NPY_DOUBLE && type != NPY_FLOAT) || (which && !p->single)) Py_RETURN_NONE;
        int ndim = PyArray_NDIM(full), size = which ? 4 : 8;
        npy_intp *shape = PyArray_DIMS(full), n = PyArray_SIZE(full), row = n;
        char *inputs[ADJ_MAX_INPUTS];
        npy_intp strides[ADJ_MAX_INPUTS];
        int repeated[ADJ_MAX_INPUTS];
        double doubles[ADJ_MAX_INPUTS];
        float floats[ADJ_MAX_INPUTS];
        for (int k = 0; k < n_inputs; k++) {
            PyObject *o = given[k];
            repeated[k] = 0;
            if (!PyArray_CheckExact(o)) {
                if (!adj_read_number(o, &doubles[k], &floats[k], which)) Py_RETURN_NONE;
                inputs[k] = which ? (char *)&floats[k] : (char *)&doubles[k];
                strides[k] = 0;
                continue;
            }
            PyArrayObject *a = (PyArrayObject *)o;
            int own = PyArray_NDIM(a), one = 1;
            if (PyArray_DESCR(a) != descr || !PyArray_ISALIGNED(a)) Py_RETURN_NONE;
            if (PyArray_IS_C_CONTIGUOUS(a)) one = 0;
            else
                for (int i = 0; i < own; i++)
                    if (PyArray_STRIDE(a, i) != 0 && PyArray_DIM(a, i) != 1) Py_RETURN_NONE;
            for (int i = 0; i < own; i++)
                if (PyArray_DIM(a, i) != shape[ndim - own + i]) Py_RETURN_NONE;
            inputs[k] = PyArray_BYTES(a);
            strides[k] = !one && (own || !ndim) ? size : 0;
            if (own && own < ndim && !one) {
                npy_intp length = PyArray_SIZE(a);
                if (row != n && row != length) Py_RETURN_NONE;
                row = length;
                repeated[k] = 1;
            }
        }
        if (!PyArray_ISNBO(descr->byteorder) || (p->limit && n >= p->limit)) Py_RETURN_NONE;
        Py_INCREF(descr);
        PyObject *result = PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, NULL, NULL, 0, NULL);
        if (result == NULL || n == 0) return result;
        char *out = PyArray_BYTES((PyArrayObject *)result);
        if (!quiet && fetestexcept(ADJ_FLAGS)) feclearexcept(ADJ_FLAGS);
        PyThreadState *saved = n >= ADJ_LONG ? PyEval_SaveThread() : NULL;
        if (row == n) adj_run_steps(p, which, n, inputs, strides, out);
        else
            for (npy_intp start = 0; start < n; start += row) {
                adj_run_steps(p, which, row, inputs, strides, out + start * size);
                for (int k = 0; k < n_inputs; k++)
                    if (!repeated[k]) inputs[k] += row * strides[k];
            }
        if (saved != NULL) PyEval_RestoreThread(saved);
        if (!quiet && fetestexcept(ADJ_FLAGS)) {
            feclearexcept(ADJ_FLAGS);
            Py_DECREF(result);
            Py_RETURN_NONE;
        }
        return result;
    }

    /* an array with axes of length one repeated and new axes in front, as a view; None if it is not of that kind */
    CYTHON_UNUSED static PyObject *adj_expand(PyObject *object, PyObject *shape) {
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
            if (i < extra) strides[i] = 0;
            else if (PyArray_DIM(a, i - extra) == dims[i]) strides[i] = PyArray_STRIDE(a, i - extra);
            else if (PyArray_DIM(a, i - extra) == 1) strides[i] = 0;
            else Py_RETURN_NONE;
        }
        PyArray_Descr *descr = PyArray_DESCR(a);
        Py_INCREF(descr);
        PyObject *view = PyArray_NewFromDescr(&PyArray_Type, descr, ndim, dims, strides, PyArray_DATA(a),
                                              PyArray_FLAGS(a) & (NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED), NULL);
        if (view == NULL) return NULL;
        Py_INCREF(object);
        if (PyArray_SetBaseObject((PyArrayObject *)view, object) < 0) {
            Py_DECREF(view);
            return NULL;
        }
        return view;
    }

    /* 1 in an array of one element of the type and shape of another; None for other arrays */
    CYTHON_UNUSED static PyObject *adj_one_like(PyObject *object) {
        if (!PyArray_CheckExact(object)) Py_RETURN_NONE;
        PyArrayObject *a = (PyArrayObject *)object;
        PyArray_Descr *descr = PyArray_DESCR(a);
        int type = descr->type_num;
        if (PyArray_SIZE(a) != 1 || (type != NPY_DOUBLE && type != NPY_FLOAT)) Py_RETURN_NONE;
        if (!PyArray_ISNBO(descr->byteorder)) Py_RETURN_NONE;
        Py_INCREF(descr);
        PyObject *one = PyArray_NewFromDescr(&PyArray_Type, descr, PyArray_NDIM(a), PyArray_DIMS(a), NULL, NULL, 0, NULL);
        if (one == NULL) return NULL;
        if (type == NPY_DOUBLE) *(double *)PyArray_DATA((PyArrayObject *)one) = 1;
        else *(float *)PyArray_DATA((PyArrayObject *)one) = 1;
        return one;
    }

    CYTHON_UNUSED static PyObject *adj_run_one(adj_program *p, PyObject *x, int quiet) {
        return adj_run_program(p, &x, quiet);
    }
    CYTHON_UNUSED static PyObject *adj_run_two(adj_program *p, PyObject *x, PyObject *y, int quiet) {
        PyObject *given[2] = {x, y};
        return adj_run_program(p, given, quiet);
    }
    CYTHON_UNUSED static PyObject *adj_run_several(adj_program *p, PyObject *list, int quiet) {
        return adj_run_program(p, ((PyListObject *)list)->ob_item, quiet);
    }
    """
    ctypedef struct adj_step:
        int n_in
        int truth
        int temporary

    ctypedef struct adj_program:
        int n_inputs
        int n_constants
        int n_steps
        int single
        Py_ssize_t limit

    int ADJ_MAX_INPUTS, ADJ_MAX_CONSTANTS, ADJ_MAX_STEPS, ADJ_MAX_TEMPORARIES
    int adj_import_numpy() except -1
    int adj_set_loop(adj_program* p, int k, object ufunc, int from_truth, int to_truth)
    object adj_expand(object array, object shape)
    object adj_one_like(object array)
    object adj_run_one(adj_program* p, object x, bint quiet)
    object adj_run_two(adj_program* p, object x, object y, bint quiet)
    object adj_run_several(adj_program* p, object values, bint quiet)
    void adj_set_step "ADJ_SET_STEP"(adj_program p, int k, int i, int place)
    void adj_set_shape "ADJ_SET_SHAPE"(adj_program p, int k, int n_in, int truth, int temporary)
    bint adj_set_constant "ADJ_SET_CONSTANT"(adj_program p, int k, double value)

cdef extern from *:
    """
    #define ADJ_SET_STEP(p, k, i, place) ((p).steps[k].in[i] = (place))
    #define ADJ_SET_SHAPE(p, k, n, t, where) \
        ((p).steps[k].n_in = (n), (p).steps[k].truth = (t), (p).steps[k].temporary = (where))
    #define ADJ_SET_CONSTANT(p, k, value) \
        ((p).doubles[k] = (value), (p).floats[k] = (float)(value), isinf(value) || !isinf((p).floats[k]))
    """


cpdef object expanded(object array, object shape)
cpdef object one_like(object array)


cdef class Program:
    cdef adj_program code
    cdef public tuple steps
    cdef object one(self, object x, bint quiet)
    cdef object two(self, object x, object y, bint quiet)
    cdef object several(self, list values, bint quiet)
