/* The allocator of the arrays that adjoint makes: freed blocks are kept, sorted by size, and reused. memory.py explains
the reason. The static variables are the allocator's state: only memory.py may include this file. Their lock is
Python's, with which NumPy calls all of these functions, or a mutex in free-threaded CPython. */
#ifndef ADJOINT_KEPT_MEMORY_H
#define ADJOINT_KEPT_MEMORY_H

/* NumPy's handlers of memory came with 1.22 */
#undef NPY_TARGET_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "free_threading.h"
#include "numpy_arrays.h"
#ifdef __linux__
#include <sys/mman.h>
#endif

/* AddressSanitizer knows only the blocks of malloc. These macros tell it about the blocks here: idle memory, and the
   bytes that rounding adds to a requested size, must not be accessed. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define ADJ_ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ADJ_ASAN
#endif
#ifdef ADJ_ASAN
#include <sanitizer/asan_interface.h>
#define adj_forbid(data, size) __asan_poison_memory_region(data, size)
#define adj_permit(data, size) __asan_unpoison_memory_region(data, size)
#else
#define adj_forbid(data, size) ((void)(data), (void)(size))
#define adj_permit(data, size) ((void)(data), (void)(size))
#endif

/* The header of a block, in the 64 bytes before NumPy's memory. Blocks that are too small to be kept have class -1. */
typedef struct adj_block {
    struct adj_block *next;
    void *start;
    size_t size;
    int of_class;
} adj_block;

#define ADJ_HEADER 64
/* blocks from the first size on are kept; from the second size on, Linux is asked for huge pages */
#define ADJ_SMALLEST ((size_t)1 << 12)
#define ADJ_HUGE ((size_t)1 << 22)
#define ADJ_PAGE ((uintptr_t)4096)
#define ADJ_CLASSES 400

/* held while the variables below are used */
ADJ_MUTEX(adj_mutex)
/* the blocks that lie idle, one list for each class of sizes */
static adj_block *adj_idle_blocks[ADJ_CLASSES];
/* Bytes in use, idle, the most that was ever in use, and how many may lie idle; how many blocks were handed out again,
   how many were new, and how many bytes went back to the system. */
typedef struct {
    size_t live, idle, peak, limit;
    unsigned long long hits, misses, returned;
} adj_memory_counts;
static adj_memory_counts adj_counts;
/* 1 while no byte may lie idle; read without the lock */
static long long adj_no_limit = 1;

/* The class of a size; there are eight classes for each power of two. Rounds the size up to the size of its class. */
static int adj_class_of(size_t *size) {
    int power = 11;
    while ((*size - 1) >> (power + 1)) power++;
    size_t step = (size_t)1 << (power - 3);
    *size = (*size + step - 1) & ~(step - 1);
    return (power - 11) * 8 + (int)((*size - 1) >> (power - 3)) - 8;
}

/* Returns idle blocks to the system, large ones first, until at most this number of bytes is idle. */
static void adj_give_back(size_t at_most_idle) {
    for (int i = ADJ_CLASSES - 1; i >= 0 && adj_counts.idle > at_most_idle; i--)
        while (adj_idle_blocks[i] != NULL && adj_counts.idle > at_most_idle) {
            adj_block *block = adj_idle_blocks[i];
            adj_idle_blocks[i] = block->next;
            adj_counts.idle -= block->size;
            adj_counts.returned += block->size;
            free(block->start);
        }
}

/* The same for a caller without the lock. */
static void adj_give_back_idle(size_t at_most_idle) {
    ADJ_LOCK(adj_mutex);
    adj_give_back(at_most_idle);
    ADJ_UNLOCK(adj_mutex);
}

/* Sets how many bytes may lie idle. */
static void adj_set_limit(size_t limit) {
    ADJ_LOCK(adj_mutex);
    adj_counts.limit = limit;
    adj_set_counted(&adj_no_limit, limit == 0);
    adj_give_back(limit);
    ADJ_UNLOCK(adj_mutex);
}

/* True if no memory is kept. */
static int adj_keeps_nothing(void) {
    return adj_counted(&adj_no_limit) != 0;
}

/* The numbers of now. */
static adj_memory_counts adj_memory_counted(void) {
    ADJ_LOCK(adj_mutex);
    adj_memory_counts counts = adj_counts;
    ADJ_UNLOCK(adj_mutex);
    return counts;
}

/* Returns all idle blocks to the system, and forgets how much was once in use; returns how many bytes were idle. */
static size_t adj_forget_peak(void) {
    ADJ_LOCK(adj_mutex);
    size_t idle = adj_counts.idle;
    adj_give_back(0);
    adj_counts.peak = adj_counts.live;
    ADJ_UNLOCK(adj_mutex);
    return idle;
}

/* In a child process, where no other thread holds the lock. */
static void adj_renew_mutex(void) {
    ADJ_NEW_MUTEX(adj_mutex);
}

/* Memory from the system; if it has none, the idle blocks go back first. */
static void *adj_system_memory(size_t size, int zeroed) {
    void *start = zeroed ? calloc(1, size) : malloc(size);
    if (start != NULL) return start;
    adj_give_back_idle(0);
    return zeroed ? calloc(1, size) : malloc(size);
}

/* A new block; returns what NumPy gets, or NULL. */
static void *adj_new_block(size_t size, int of_class, int zeroed) {
    size_t whole = size + 2 * ADJ_HEADER;
    void *start = adj_system_memory(whole, zeroed);
    if (start == NULL) return NULL;
#ifdef MADV_HUGEPAGE
    if (size >= ADJ_HUGE) {  /* as NumPy does: a page fault for each 2 MiB, not for each 4 KiB */
        uintptr_t first = ((uintptr_t)start + ADJ_PAGE - 1) & ~(ADJ_PAGE - 1);
        madvise((void *)first, ((uintptr_t)start + whole - first) & ~(ADJ_PAGE - 1), MADV_HUGEPAGE);
    }
#endif
    char *data = (char *)(((uintptr_t)start + 2 * ADJ_HEADER - 1) & ~(uintptr_t)(ADJ_HEADER - 1));
    adj_block *block = (adj_block *)(data - ADJ_HEADER);
    block->start = start;
    block->size = size;
    block->of_class = of_class;
    return data;
}

/* Takes the first idle block of a class, and counts a block of this size as in use; NULL if the class has none. */
static void *adj_take_idle(int of_class, size_t size) {
    ADJ_LOCK(adj_mutex);
    adj_block *block = adj_idle_blocks[of_class];
    adj_counts.live += size;
    if (block != NULL) {
        adj_counts.hits++;
        adj_counts.idle -= size;
        adj_idle_blocks[of_class] = block->next;
    } else {
        adj_counts.misses++;
        /* what lies idle in other classes makes room first, so that no more is held than was once in use */
        if (adj_counts.live + adj_counts.idle > adj_counts.peak)
            adj_give_back(adj_counts.peak > adj_counts.live ? adj_counts.peak - adj_counts.live : 0);
    }
    if (block != NULL && adj_counts.live > adj_counts.peak) adj_counts.peak = adj_counts.live;
    ADJ_UNLOCK(adj_mutex);
    return block == NULL ? NULL : (char *)block + ADJ_HEADER;
}

/* Counts what came of the attempt to get a new block of a size. */
static void adj_count_new(size_t size, int failed) {
    ADJ_LOCK(adj_mutex);
    if (failed) adj_counts.live -= size;
    if (adj_counts.live > adj_counts.peak) adj_counts.peak = adj_counts.live;
    ADJ_UNLOCK(adj_mutex);
}

/* Memory for an array: an idle block of the class of its size, or a new one. */
static void *adj_allocate(size_t size, int zeroed) {
    if (size < ADJ_SMALLEST) return adj_new_block(size, -1, zeroed);
    if (size > SIZE_MAX / 4) return NULL;
    size_t wanted = size;
    int of_class = adj_class_of(&size);
    void *data = adj_take_idle(of_class, size);
    if (data != NULL) {
        adj_permit(data, size);
        if (zeroed) memset(data, 0, size);
    } else {
        data = adj_new_block(size, of_class, zeroed);
        adj_count_new(size, data == NULL);
    }
    if (data != NULL) adj_forbid((char *)data + wanted, size - wanted);
    return data;
}

/* The functions of NumPy's handler (NEP 49), which needs no context. */

static void *adj_malloc(void *context, size_t size) {
    (void)context;
    return adj_allocate(size, 0);
}

static void *adj_calloc(void *context, size_t n, size_t each) {
    (void)context;
    if (each && n > SIZE_MAX / each) return NULL;
    return adj_allocate(n * each, 1);
}

static void adj_free(void *context, void *data, size_t size) {
    (void)context;
    (void)size;
    if (data == NULL) return;
    adj_block *block = (adj_block *)((char *)data - ADJ_HEADER);
    if (block->of_class < 0) {
        free(block->start);
        return;
    }
    adj_forbid(data, block->size);
    ADJ_LOCK(adj_mutex);
    adj_counts.live -= block->size;
    adj_counts.idle += block->size;
    block->next = adj_idle_blocks[block->of_class];
    adj_idle_blocks[block->of_class] = block;
    if (adj_counts.idle > adj_counts.limit) adj_give_back(adj_counts.limit);
    ADJ_UNLOCK(adj_mutex);
}

static void *adj_realloc(void *context, void *data, size_t size) {
    if (data == NULL) return adj_allocate(size, 0);
    size_t before = ((adj_block *)((char *)data - ADJ_HEADER))->size;
    void *moved = adj_allocate(size, 0);
    if (moved == NULL) return NULL;
    adj_permit(data, before);
    memcpy(moved, data, ADJ_MIN(size, before));
    adj_free(context, data, before);
    return moved;
}

static PyDataMem_Handler adj_handler = {"adjoint", 1, {NULL, adj_malloc, adj_calloc, adj_realloc, adj_free}};

/* The handler as NumPy takes it. */
static PyObject *adj_make_handler(void) {
    return PyCapsule_New(&adj_handler, "mem_handler", NULL);
}

/* A new array in memory from here: what PyArray_NewFromDescr makes while the handler is set, in a tenth of the time. It
   takes over the reference to `descr`. */
static PyObject *adj_new_kept_array(PyArray_Descr *descr, int ndim, npy_intp *shape, int fortran, PyObject *handler) {
    if (adj_keeps_nothing())
        return PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, NULL, NULL,
                                    fortran ? NPY_ARRAY_F_CONTIGUOUS : 0, NULL);
    size_t size = (size_t)PyDataType_ELSIZE(descr);
    for (int i = 0; i < ndim; i++) size *= (size_t)shape[i];
    void *data = adj_allocate(size, 0);
    if (data == NULL) {
        Py_DECREF(descr);
        return PyErr_NoMemory();
    }
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, NULL, data,
                                           fortran ? NPY_ARRAY_FARRAY : NPY_ARRAY_CARRAY, NULL);
    if (array == NULL) {
        adj_free(NULL, data, size);
        return NULL;
    }
    Py_INCREF(handler);
    ((PyArrayObject_fields *)array)->mem_handler = handler;
    PyArray_ENABLEFLAGS((PyArrayObject *)array, NPY_ARRAY_OWNDATA);
    return array;
}

#endif
