cdef extern from *:
    """
    #define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
    #include <numpy/arrayobject.h>
    #include <numpy/ufuncobject.h>
    #include <fenv.h>

    CYTHON_UNUSED static int adj_import_numpy(void) {
        import_array1(-1);
        return 0;
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

    /* from so many multiplications on other threads may run meanwhile */
    #define ADJ_LONG_PRODUCT 40000
    #define ADJ_MIN(a, b) ((a) < (b) ? (a) : (b))

    /* inner loops for double and float */
    typedef struct {
        PyUFuncGenericFunction loop[2];
        void *data[2];
    } adj_loops;
    static adj_loops adj_matmul_loops, adj_add_loops;

    typedef struct {
        char *data;
        npy_intp rows, columns, row_step, column_step;
    } adj_matrix;

    CYTHON_UNUSED static int adj_read_loops(PyObject *object, adj_loops *found) {
        static const int kinds[2] = {NPY_DOUBLE, NPY_FLOAT};
        PyUFuncObject *ufunc = (PyUFuncObject *)object;
        if (ufunc->functions == NULL || ufunc->nin != 2 || ufunc->nout != 1) return 0;
        for (int which = 0; which < 2; which++) {
            int k = 0;
            for (; k < ufunc->ntypes; k++) {
                const char *types = ufunc->types + 3 * k;
                if (types[0] == kinds[which] && types[1] == kinds[which] && types[2] == kinds[which]) break;
            }
            if (k == ufunc->ntypes || ufunc->functions[k] == NULL) return 0;
            found->loop[which] = ufunc->functions[k];
            found->data[which] = ufunc->data == NULL ? NULL : ((void **)ufunc->data)[k];
        }
        return 1;
    }

    /* find the loops; 0 where NumPy does not have them in this form */
    CYTHON_UNUSED static int adj_find_loops(PyObject *matmul, PyObject *add) {
        return adj_read_loops(matmul, &adj_matmul_loops) && adj_read_loops(add, &adj_add_loops);
    }

    /* 0 or 1 for an array of double or single precision whose elements can be read as they are, -1 for others */
    static CYTHON_INLINE int adj_precision(PyObject *object) {
        if (!PyArray_CheckExact(object)) return -1;
        PyArrayObject *a = (PyArrayObject *)object;
        int type = PyArray_TYPE(a);
        if ((type != NPY_DOUBLE && type != NPY_FLOAT) || !PyArray_ISALIGNED(a)) return -1;
        return PyArray_ISNBO(PyArray_DESCR(a)->byteorder) ? type == NPY_FLOAT : -1;
    }

    static CYTHON_INLINE PyArrayObject *adj_empty(PyArrayObject *model, int ndim, npy_intp *shape) {
        PyArray_Descr *descr = PyArray_DESCR(model);
        Py_INCREF(descr);
        return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, NULL, NULL, 0, NULL);
    }

    /* an array of two axes, or of one as a row or a column: the axis that it does not have has stride 0, as in NumPy */
    static CYTHON_INLINE adj_matrix adj_as_matrix(PyArrayObject *a, int is_row) {
        adj_matrix m;
        npy_intp *shape = PyArray_DIMS(a), *strides = PyArray_STRIDES(a);
        m.data = PyArray_BYTES(a);
        m.rows = m.columns = 1;
        m.row_step = m.column_step = 0;
        if (PyArray_NDIM(a) == 2) {
            m.rows = shape[0]; m.columns = shape[1];
            m.row_step = strides[0]; m.column_step = strides[1];
        }
        else if (is_row) { m.columns = shape[0]; m.column_step = strides[0]; }
        else { m.rows = shape[0]; m.row_step = strides[0]; }
        return m;
    }

    static CYTHON_INLINE adj_matrix adj_turned(adj_matrix m) {
        adj_matrix turned = {m.data, m.columns, m.rows, m.column_step, m.row_step};
        return turned;
    }

    /* the product of two matrices as an array with the axes that are asked for; None if they do not fit or are empty */
    CYTHON_UNUSED static PyObject *adj_multiply(PyArrayObject *model, int which, adj_matrix a, adj_matrix b, int keep_rows, int keep_columns) {
        if (a.columns != b.rows || a.rows == 0 || a.columns == 0 || b.columns == 0) Py_RETURN_NONE;
        npy_intp shape[2], size = which ? 4 : 8;
        int ndim = 0;
        if (keep_rows) shape[ndim++] = a.rows;
        if (keep_columns) shape[ndim++] = b.columns;
        PyArrayObject *out = adj_empty(model, ndim, shape);
        if (out == NULL) return NULL;
        char *args[3] = {a.data, b.data, PyArray_BYTES(out)};
        npy_intp sizes[4] = {1, a.rows, a.columns, b.columns};
        npy_intp row_step = keep_rows ? (keep_columns ? b.columns * size : size) : 0;
        npy_intp steps[9] = {0, 0, 0, a.row_step, a.column_step, b.row_step, b.column_step,
                             row_step, keep_columns ? size : 0};
        PyThreadState *saved = NULL;
        if ((double)a.rows * a.columns * b.columns >= ADJ_LONG_PRODUCT) saved = PyEval_SaveThread();
        adj_matmul_loops.loop[which](args, sizes, steps, adj_matmul_loops.data[which]);
        if (saved != NULL) PyEval_RestoreThread(saved);
        return (PyObject *)out;
    }

    #define ADJ_OUTER(type)                                                                                            \
        for (npy_intp i = 0; i < rows; i++, x += x_step) {                                                            \
            type factor = *(type *)x, *row = (type *)to + i * columns;                                                \
            if (y_step == sizeof(type)) for (npy_intp j = 0; j < columns; j++) row[j] = factor * ((type *)y)[j];      \
            else for (npy_intp j = 0; j < columns; j++) row[j] = factor * *(type *)(y + j * y_step);                  \
        }

    /* x[i] * y[j], x having one axis or none, and y one */
    CYTHON_UNUSED static PyObject *adj_outer(int which, PyArrayObject *left, PyArrayObject *right) {
        int ndim = PyArray_NDIM(left);
        npy_intp rows = ndim ? PyArray_DIM(left, 0) : 1, columns = PyArray_DIM(right, 0);
        npy_intp x_step = ndim ? PyArray_STRIDE(left, 0) : 0, y_step = PyArray_STRIDE(right, 0);
        npy_intp shape[2] = {rows, columns};
        PyArrayObject *out = adj_empty(left, ndim + 1, ndim ? shape : shape + 1);
        if (out == NULL) return NULL;
        char *x = PyArray_BYTES(left), *y = PyArray_BYTES(right), *to = PyArray_BYTES(out);
        PyThreadState *saved = (double)rows * columns >= ADJ_LONG_PRODUCT ? PyEval_SaveThread() : NULL;
        if (which) { ADJ_OUTER(float) }
        else { ADJ_OUTER(double) }
        if (saved != NULL) PyEval_RestoreThread(saved);
        return (PyObject *)out;
    }

    /* products of arrays of one or two axes. Cotangents: that of the left factor from g and the right one, and that of
       the right factor from g and the left one. With no axis g stands for the product of two vectors. */
    enum { ADJ_PRODUCT, ADJ_MATRICES, ADJ_MATRIX_VECTOR, ADJ_VECTORS, ADJ_LEFT, ADJ_RIGHT };

    CYTHON_UNUSED static PyObject *adj_product(int kind, PyObject *first, PyObject *second) {
        int which = adj_precision(first);
        if (which < 0 || adj_precision(second) != which) Py_RETURN_NONE;
        PyArrayObject *a = (PyArrayObject *)first, *b = (PyArrayObject *)second;
        int m = PyArray_NDIM(a), n = PyArray_NDIM(b);
        if (m > 2 || n > 2 || n == 0) Py_RETURN_NONE;
        switch (kind) {
            case ADJ_LEFT:
                if (n == 1) {
                    if (m > 1) Py_RETURN_NONE;
                    return adj_outer(which, a, b);
                }
                if (m == 2) return adj_multiply(a, which, adj_as_matrix(a, 1), adj_turned(adj_as_matrix(b, 0)), 1, 1);
                if (m == 1) return adj_multiply(a, which, adj_as_matrix(b, 0), adj_as_matrix(a, 0), 1, 0);
                Py_RETURN_NONE;
            case ADJ_RIGHT:
                if (n == 1) {
                    if (m == 0) return adj_outer(which, a, b);
                    if (m == 1) return adj_outer(which, b, a);
                    Py_RETURN_NONE;
                }
                if (m == 0) Py_RETURN_NONE;
                return adj_multiply(a, which, adj_turned(adj_as_matrix(b, 0)), adj_as_matrix(a, 0), 1, m == 2);
            case ADJ_MATRICES:
                if (m != 2 || n != 2) Py_RETURN_NONE;
                break;
            case ADJ_MATRIX_VECTOR:
                if (m != 2 || n != 1) Py_RETURN_NONE;
                break;
            case ADJ_VECTORS:
                if (m != 1 || n != 1) Py_RETURN_NONE;
                break;
        }
        if (m == 0) Py_RETURN_NONE;
        return adj_multiply(a, which, adj_as_matrix(a, 1), adj_as_matrix(b, 0), m == 2, n == 2);
    }

    /* add an array to another one in place; 0 if they are not both plain, of the same shape and in rows */
    CYTHON_UNUSED static int adj_add_into(PyObject *to, PyObject *from) {
        int which = adj_precision(to);
        if (which < 0 || adj_add_loops.loop[0] == NULL || adj_precision(from) != which) return 0;
        PyArrayObject *a = (PyArrayObject *)to, *b = (PyArrayObject *)from;
        if (PyArray_NDIM(a) != PyArray_NDIM(b) || !PyArray_ISWRITEABLE(a)) return 0;
        if (!PyArray_IS_C_CONTIGUOUS(a) || !PyArray_IS_C_CONTIGUOUS(b)) return 0;
        npy_intp n = 1;
        for (int i = 0; i < PyArray_NDIM(a); i++) {
            if (PyArray_DIM(a, i) != PyArray_DIM(b, i)) return 0;
            n *= PyArray_DIM(a, i);
        }
        if (n == 0) return 1;
        npy_intp size = which ? 4 : 8, steps[3] = {size, size, size};
        char *x = PyArray_BYTES(a), *y = PyArray_BYTES(b);
        /* the same memory, or none in common: else NumPy must see to the order */
        if (x != y && x < y + n * size && y < x + n * size) return 0;
        char *args[3] = {x, y, x};
        PyThreadState *saved = n >= ADJ_LONG_PRODUCT ? PyEval_SaveThread() : NULL;
        adj_add_loops.loop[which](args, &n, steps, adj_add_loops.data[which]);
        if (saved != NULL) PyEval_RestoreThread(saved);
        return 1;
    }

    /* the sum of two arrays that are both plain, of the same shape and in rows; None for others */
    CYTHON_UNUSED static PyObject *adj_plus(PyObject *first, PyObject *second) {
        int which = adj_precision(first);
        if (which < 0 || adj_add_loops.loop[0] == NULL || adj_precision(second) != which) Py_RETURN_NONE;
        PyArrayObject *a = (PyArrayObject *)first, *b = (PyArrayObject *)second;
        int ndim = PyArray_NDIM(a);
        if (ndim != PyArray_NDIM(b) || !PyArray_IS_C_CONTIGUOUS(a) || !PyArray_IS_C_CONTIGUOUS(b)) Py_RETURN_NONE;
        npy_intp n = 1;
        for (int i = 0; i < ndim; i++) {
            if (PyArray_DIM(a, i) != PyArray_DIM(b, i)) Py_RETURN_NONE;
            n *= PyArray_DIM(a, i);
        }
        if (n >= 8192) Py_RETURN_NONE;
        PyArrayObject *out = adj_empty(a, ndim, PyArray_DIMS(a));
        if (out == NULL || n == 0) return (PyObject *)out;
        npy_intp size = which ? 4 : 8, steps[3] = {size, size, size};
        char *args[3] = {PyArray_BYTES(a), PyArray_BYTES(b), PyArray_BYTES(out)};
        adj_add_loops.loop[which](args, &n, steps, adj_add_loops.data[which]);
        return (PyObject *)out;
    }

    /* the sum or the mean of all elements in an array of no axes; None where NumPy has an error to report */
    enum { ADJ_TOTAL = ADJ_RIGHT + 1, ADJ_AVERAGE, ADJ_SPREAD, ADJ_SPREAD_MEAN };

    CYTHON_UNUSED static PyObject *adj_total(int kind, PyObject *object) {
        int which = adj_precision(object);
        if (which < 0 || adj_add_loops.loop[0] == NULL) Py_RETURN_NONE;
        PyArrayObject *a = (PyArrayObject *)object;
        if (!PyArray_IS_C_CONTIGUOUS(a)) Py_RETURN_NONE;
        npy_intp n = PyArray_SIZE(a), steps[3] = {0, which ? 4 : 8, 0};
        if (n == 0 || n >= 8192) Py_RETURN_NONE;
        PyArrayObject *out = adj_empty(a, 0, NULL);
        if (out == NULL) return NULL;
        char *to = PyArray_BYTES(out), *args[3] = {to, PyArray_BYTES(a), to};
        if (which) *(float *)to = 0;
        else *(double *)to = 0;
        if (fetestexcept(FE_ALL_EXCEPT)) feclearexcept(FE_ALL_EXCEPT);
        adj_add_loops.loop[which](args, &n, steps, adj_add_loops.data[which]);
        if (kind == ADJ_AVERAGE) {
            if (which) *(float *)to /= (float)n;
            else *(double *)to /= (double)n;
        }
        if (fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID)) {
            feclearexcept(FE_ALL_EXCEPT);
            Py_DECREF(out);
            Py_RETURN_NONE;
        }
        return (PyObject *)out;
    }

    /* a number in an array of no axes, divided by how many elements a shape has; None for others */
    CYTHON_UNUSED static PyObject *adj_share(PyObject *object, PyObject *shape) {
        int which = adj_precision(object);
        if (which < 0 || PyArray_NDIM((PyArrayObject *)object) || !PyTuple_CheckExact(shape)) Py_RETURN_NONE;
        npy_intp n = 1;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); i++) n *= PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
        if (n < 1 || n >= 1 << 24) Py_RETURN_NONE;
        PyArrayObject *out = adj_empty((PyArrayObject *)object, 0, NULL);
        if (out == NULL) return NULL;
        char *to = PyArray_BYTES(out), *from = PyArray_BYTES((PyArrayObject *)object);
        if (which) *(float *)to = *(float *)from / (float)n;
        else *(double *)to = *(double *)from / (double)n;
        return (PyObject *)out;
    }

    /* the sum over leading axes that an array has beyond a shape; None for what is not plain, in rows and of that kind */
    CYTHON_UNUSED static PyObject *adj_sum_leading(PyObject *object, PyObject *shape) {
        int which = adj_precision(object);
        if (which < 0 || adj_add_loops.loop[0] == NULL || !PyTuple_CheckExact(shape)) Py_RETURN_NONE;
        PyArrayObject *a = (PyArrayObject *)object;
        int ndim = (int)PyTuple_GET_SIZE(shape), extra = PyArray_NDIM(a) - ndim;
        if (ndim < 1 || extra < 1 || !PyArray_IS_C_CONTIGUOUS(a)) Py_RETURN_NONE;
        npy_intp dims[NPY_MAXDIMS], n = 1, rows = 1;
        for (int i = 0; i < ndim; i++) {
            dims[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
            if (dims[i] != PyArray_DIM(a, extra + i)) Py_RETURN_NONE;
            n *= dims[i];
        }
        for (int i = 0; i < extra; i++) rows *= PyArray_DIM(a, i);
        /* a row of one element is summed in pairs by NumPy; and long ones are better left to it */
        if (n < 2 || rows < 1 || n * rows >= ADJ_LONG_PRODUCT) Py_RETURN_NONE;
        PyArrayObject *out = adj_empty(a, ndim, dims);
        if (out == NULL) return NULL;
        npy_intp size = which ? 4 : 8, steps[3] = {size, size, size};
        char *to = PyArray_BYTES(out), *from = PyArray_BYTES(a);
        memcpy(to, from, n * size);
        for (npy_intp row = 1; row < rows; row++) {
            char *args[3] = {to, from + row * n * size, to};
            adj_add_loops.loop[which](args, &n, steps, adj_add_loops.data[which]);
        }
        return (PyObject *)out;
    }
    """
    int adj_import_numpy() except -1
    object adj_expand(object array, object shape)
    object adj_one_like(object array)
    int ADJ_PRODUCT, ADJ_MATRICES, ADJ_MATRIX_VECTOR, ADJ_VECTORS, ADJ_LEFT, ADJ_RIGHT
    bint adj_find_loops(object matmul, object add)
    object adj_product(int kind, object a, object b)
    bint adj_add_into(object to, object source)
    object adj_sum_leading(object array, object shape)
    int ADJ_TOTAL, ADJ_AVERAGE, ADJ_SPREAD, ADJ_SPREAD_MEAN
    object adj_plus(object a, object b)
    object adj_total(int kind, object a)
    object adj_share(object g, object shape)


cdef class NativeKernel:
    cdef int kind
    cdef public str name
    cdef object one(self, object a)
    cdef object two(self, object a, object b)


cdef bint added(object to, object source)
cdef object plus(object a, object b)
cdef object sum_leading(object array, object shape)
cdef bint _found
cpdef object expanded(object array, object shape)
cpdef object one_like(object array)
