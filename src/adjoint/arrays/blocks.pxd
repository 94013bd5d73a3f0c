cimport cython

cdef extern from *:
    """
    #define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
    #include <fenv.h>
    #include <stdint.h>
    #include <stdlib.h>
    #include <string.h>
    #include <pythread.h>
    #include <numpy/arrayobject.h>
    #include <numpy/ufuncobject.h>

    #define ADJ_MOST_INPUTS 3
    #define ADJ_MOST_WORKERS 7
    enum { ADJ_EACH, ADJ_PER_ROW, ADJ_ROW_SUM, ADJ_ROW_FOLD, ADJ_TOTAL };

    /* one step: an inner loop of a ufunc on registers; the last register is that of the result */
    typedef struct {
        PyUFuncGenericFunction loop;
        void *data;
        int way, n_inputs, registers[ADJ_MOST_INPUTS + 1];
    } adj_step;

    /* Where a register lies: in an array, with strides of rows and columns, or (base NULL) at an offset in the memory
       that each thread has for the blocks at work. */
    typedef struct {
        char *base;
        npy_intp row, column, offset;
    } adj_register;

    typedef struct {
        int n_steps, flags;
        const adj_step *steps;
        const adj_register *registers;
        npy_intp n_rows, n_columns, block, group, piece, n_pieces, scratch;
        char *totals;
        npy_intp total_size;
        npy_intp next;
    } adj_job;

    #ifdef __GNUC__
    #define adj_claim(counter) __atomic_fetch_add(counter, 1, __ATOMIC_ACQ_REL)
    #define adj_join(flags, more) __atomic_fetch_or(flags, more, __ATOMIC_ACQ_REL)
    #define ADJ_THREADS 1
    #else
    #define adj_claim(counter) ((*(counter))++)
    #define adj_join(flags, more) (*(flags) |= (more))
    #define ADJ_THREADS 0
    #endif

    /* one step on some rows, from some column on */
    static void adj_run_step(const adj_job *job, const adj_step *step, char *scratch, npy_intp row, npy_intp n_rows,
                             npy_intp column, npy_intp n) {
        char *at[ADJ_MOST_INPUTS + 1];
        npy_intp strides[ADJ_MOST_INPUTS + 1], down[ADJ_MOST_INPUTS + 1];
        int flat = 1, last = step->n_inputs;
        for (int i = 0; i <= last; i++) {
            const adj_register *r = &job->registers[step->registers[i]];
            at[i] = r->base ? r->base + row * r->row + column * r->column : scratch + r->offset;
            strides[i] = r->column;
            down[i] = r->row;
            flat &= r->row == n * r->column;
        }
        if (step->way == ADJ_PER_ROW) { step->loop(at, &n_rows, down, step->data); return; }
        if (step->way == ADJ_EACH) {
            if (flat) { n *= n_rows; n_rows = 1; }
            for (npy_intp k = 0; k < n_rows; k++) {
                char *here[ADJ_MOST_INPUTS + 1];
                for (int i = 0; i <= last; i++) here[i] = at[i] + k * down[i];
                step->loop(here, &n, strides, step->data);
            }
            return;
        }
        npy_intp per_row = (job->n_columns + job->block - 1) / job->block, size = job->total_size;
        for (npy_intp k = 0; k < n_rows; k++) {
            /* the loop with its result as first input is a reduction, which NumPy's loops recognise */
            char *source = at[0] + k * down[0], *result = at[1] + k * down[1];
            npy_intp length = n, steps[3] = {0, strides[0], 0};
            if (step->way == ADJ_TOTAL) result = job->totals + ((row + k) * per_row + column / job->block) * size;
            if (step->way == ADJ_ROW_FOLD) {
                memcpy(result, source, size);
                source += strides[0];
                length--;
            } else memset(result, 0, size);
            char *here[3] = {result, source, result};
            if (length) step->loop(here, &length, steps, step->data);
        }
    }

    /* a piece is a range of rows, or of the columns of the only row; several short rows are one block */
    static void adj_run_piece(const adj_job *job, npy_intp piece, char *scratch) {
        npy_intp first = piece * job->piece, row_begin = first, row_end = first + job->piece;
        npy_intp column_begin = 0, column_end = job->n_columns;
        if (job->n_rows == 1) {
            row_begin = 0; row_end = 1;
            column_begin = first; column_end = first + job->piece;
            if (column_end > job->n_columns) column_end = job->n_columns;
        } else if (row_end > job->n_rows) row_end = job->n_rows;
        for (npy_intp row = row_begin; row < row_end; row += job->group) {
            npy_intp rows = row_end - row < job->group ? row_end - row : job->group;
            for (npy_intp column = column_begin; column < column_end; column += job->block) {
                npy_intp n = column_end - column < job->block ? column_end - column : job->block;
                for (int s = 0; s < job->n_steps; s++)
                    adj_run_step(job, &job->steps[s], scratch, row, rows, column, n);
            }
        }
    }

    static CYTHON_UNUSED void adj_work(void *of) {
        adj_job *job = (adj_job *)of;
        char *memory = (char *)malloc(job->scratch + 64);
        if (memory == NULL) { adj_join(&job->flags, 1 << 30); return; }
        char *scratch = (char *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
        feclearexcept(FE_ALL_EXCEPT);
        npy_intp piece;
        while ((piece = adj_claim(&job->next)) < job->n_pieces) adj_run_piece(job, piece, scratch);
        int flags = fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID);
        feclearexcept(FE_ALL_EXCEPT);
        free(memory);
        if (flags) adj_join(&job->flags, flags);
    }

    /* A worker sleeps on `start`. A job is offered (1), taken up by the worker (2) or withdrawn (0), if the worker has not
       woken up when all pieces are done: so a worker that gets no processor delays nobody. */
    typedef struct {
        PyThread_type_lock start, done;
        void (*work)(void *);
        void *job;
        int state, woken;
    } adj_worker;

    static adj_worker adj_workers[ADJ_MOST_WORKERS];
    /* adj_busy: the workers belong to a call. adj_process: so many forks lead to this process. */
    static CYTHON_UNUSED int adj_n_workers, adj_busy, adj_process = 1;

    #if ADJ_THREADS
    /* What a thread that helps does all its life. Python does not know of it, so that it starts without the help of an
       interpreter that may be coming to its end, and waits for no lock of it. */
    static void adj_worker_loop(void *of) {
        adj_worker *w = (adj_worker *)of;
        for (;;) {
            PyThread_acquire_lock(w->start, 1);
            __atomic_store_n(&w->woken, 0, __ATOMIC_RELEASE);
            int offered = 1;
            if (__atomic_compare_exchange_n(&w->state, &offered, 2, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
                w->work(w->job);
                PyThread_release_lock(w->done);
            }
        }
    }

    /* starts one more worker; 0 if the system has no thread or memory for it */
    static int adj_new_worker(void) {
        adj_worker *w = &adj_workers[adj_n_workers];
        w->state = w->woken = 0;
        w->start = PyThread_allocate_lock();
        w->done = PyThread_allocate_lock();
        if (w->start != NULL && w->done != NULL) {
            PyThread_acquire_lock(w->start, 1);
            PyThread_acquire_lock(w->done, 1);
            if (PyThread_start_new_thread(adj_worker_loop, w) != PYTHREAD_INVALID_THREAD_ID) {
                adj_n_workers++;
                return 1;
            }
            PyThread_release_lock(w->start);
            PyThread_release_lock(w->done);
        }
        if (w->start != NULL) PyThread_free_lock(w->start);
        if (w->done != NULL) PyThread_free_lock(w->done);
        return 0;
    }
    #endif

    /* Claims the workers for a call, and starts those that are missing; returns how many there are to help, 0 if another
       call has them. The caller holds Python's lock; the claim comes first and is undone by adj_run_job. */
    static CYTHON_UNUSED int adj_claim_helpers(int wanted) {
    #if ADJ_THREADS
        if (wanted > ADJ_MOST_WORKERS) wanted = ADJ_MOST_WORKERS;
        if (wanted < 1 || __atomic_exchange_n(&adj_busy, 1, __ATOMIC_ACQ_REL)) return 0;
        while (adj_n_workers < wanted && adj_new_worker()) { }
        if (adj_n_workers < wanted) wanted = adj_n_workers;
        if (wanted == 0) __atomic_store_n(&adj_busy, 0, __ATOMIC_RELEASE);
        return wanted;
    #else
        (void)wanted;
        return 0;
    #endif
    }

    /* In a child process: threads are not inherited, and who had claimed them is not there. */
    static CYTHON_UNUSED void adj_forget_workers(void) {
        adj_n_workers = adj_busy = 0;
        adj_process++;
    }

    /* work(job) in this thread and in as many helpers, which were claimed; what is to be done they deal out */
    static CYTHON_UNUSED void adj_run_job(void (*work)(void *), void *job, int helpers) {
    #if ADJ_THREADS
        for (int i = 0; i < helpers; i++) {
            adj_worker *w = &adj_workers[i];
            int asleep = 0;
            w->work = work;
            w->job = job;
            __atomic_store_n(&w->state, 1, __ATOMIC_RELEASE);
            if (__atomic_compare_exchange_n(&w->woken, &asleep, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                PyThread_release_lock(w->start);
        }
        work(job);
        for (int i = 0; i < helpers; i++) {
            adj_worker *w = &adj_workers[i];
            int offered = 1;
            if (!__atomic_compare_exchange_n(&w->state, &offered, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
                PyThread_acquire_lock(w->done, 1);
                __atomic_store_n(&w->state, 0, __ATOMIC_RELEASE);
            }
        }
        if (helpers) __atomic_store_n(&adj_busy, 0, __ATOMIC_RELEASE);
    #else
        (void)helpers;
        work(job);
    #endif
    }

    /* loops that NumPy has no ufunc for, without branches, which random conditions make slow */
    #define ADJ_CHOOSE(name, type) \\
        static CYTHON_INLINE void name##_strided(char **at, npy_intp n, npy_intp a, npy_intp b) { \\
            const npy_bool *condition = (npy_bool *)at[0]; \\
            type *out = (type *)at[3]; \\
            for (npy_intp i = 0; i < n; i++) { \\
                type mask = (type)0 - (type)(condition[i] != 0); \\
                out[i] = (*(type *)(at[1] + i * a) & mask) | (*(type *)(at[2] + i * b) & ~mask); \\
            } \\
        } \\
        static void name(char **at, npy_intp const *n, npy_intp const *s, void *data) { \\
            const npy_intp size = sizeof(type); \\
            (void)data; \\
            if (s[0] == 1 && s[3] == size) { \\
                if (s[1] == size && s[2] == size) { name##_strided(at, *n, sizeof(type), sizeof(type)); return; } \\
                if (s[1] == size && s[2] == 0) { name##_strided(at, *n, sizeof(type), 0); return; } \\
                if (s[1] == 0 && s[2] == size) { name##_strided(at, *n, 0, sizeof(type)); return; } \\
            } \\
            for (npy_intp i = 0; i < *n; i++) { \\
                type x = *(type *)(at[1] + i * s[1]), y = *(type *)(at[2] + i * s[2]); \\
                *(type *)(at[3] + i * s[3]) = *(npy_bool *)(at[0] + i * s[0]) ? x : y; \\
            } \\
        }
    ADJ_CHOOSE(adj_choose_4, uint32_t)
    ADJ_CHOOSE(adj_choose_8, uint64_t)
    ADJ_CHOOSE(adj_choose_1, uint8_t)
    #define ADJ_NUMBER(name, type) \\
        static void name(char **at, npy_intp const *n, npy_intp const *s, void *data) { \\
            const npy_bool *condition = (npy_bool *)at[0]; \\
            type *out = (type *)at[1]; \\
            (void)data; \\
            if (s[0] == 1 && s[1] == sizeof(type)) \\
                for (npy_intp i = 0; i < *n; i++) out[i] = (type)(condition[i] != 0); \\
            else \\
                for (npy_intp i = 0; i < *n; i++) *(type *)(at[1] + i * s[1]) = (type)(condition[i * s[0]] != 0); \\
        }
    ADJ_NUMBER(adj_number_4, float)
    ADJ_NUMBER(adj_number_8, double)

    static CYTHON_UNUSED int adj_set_loop(adj_step *step, PyObject *ufunc, int place) {
        PyUFuncObject *u = (PyUFuncObject *)ufunc;
        step->loop = u->functions[place];
        step->data = u->data ? (void *)u->data[place] : NULL;
        return 0;
    }
    static CYTHON_UNUSED int adj_set_own_loop(adj_step *step, int which) {
        PyUFuncGenericFunction own[] = {adj_choose_1, adj_choose_4, adj_choose_8, adj_number_4, adj_number_8};
        step->loop = own[which];
        step->data = NULL;
        return 0;
    }
    static CYTHON_UNUSED char *adj_data(PyObject *array) { return PyArray_BYTES((PyArrayObject *)array); }
    """
    ctypedef struct adj_step:
        int way
        int n_inputs
        int registers[4]
    ctypedef struct adj_register:
        char *base
        Py_ssize_t row
        Py_ssize_t column
        Py_ssize_t offset
    ctypedef struct adj_job:
        int n_steps
        int flags
        const adj_step *steps
        const adj_register *registers
        Py_ssize_t n_rows
        Py_ssize_t n_columns
        Py_ssize_t block
        Py_ssize_t group
        Py_ssize_t piece
        Py_ssize_t n_pieces
        Py_ssize_t scratch
        char *totals
        Py_ssize_t total_size
        Py_ssize_t next
    int FE_DIVBYZERO, FE_OVERFLOW, FE_UNDERFLOW, FE_INVALID
    int adj_n_workers, adj_process
    int adj_claim_helpers(int wanted)
    void adj_forget_workers()
    void adj_work(void *job) noexcept nogil
    void adj_run_job(void (*work)(void *) noexcept nogil, void *job, int helpers) nogil
    int adj_set_loop(adj_step *step, object ufunc, int place)
    int adj_set_own_loop(adj_step *step, int which)
    char *adj_data(object array)


ctypedef void (*work_function)(void *) noexcept nogil

@cython.locals(helpers=cython.int)
cdef int share(work_function work, void *job, int threads) except -1


cdef class Machine:
    cdef adj_step steps[64]
    cdef adj_register registers[96]
    cdef int n_steps
    cdef int n_registers
    cdef public Py_ssize_t scratch
    cdef public Py_ssize_t block
    cdef public Py_ssize_t group
    cdef public Py_ssize_t total_size
    cdef int in_use

    @cython.locals(job=adj_job, n_pieces=Py_ssize_t, piece=Py_ssize_t)
    cpdef int run(self, list places, Py_ssize_t n_rows, Py_ssize_t n_columns, object totals, int threads) except -1
