/* Allocations that fail when asked to: the n-th of one kind in one thread, once.

   The library is preloaded, so that it comes before the C library's own allocator; trust/no_memory.py compiles it and
   says when which allocation fails. */
#include <Python.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

enum { NONE, PYTHON, SYSTEM };

static int kind_armed = NONE, has_failed;
static long left;
static pthread_t thread_armed;

/* Does this allocation fail? */
static int fails(int kind) {
    if (kind_armed != kind || !pthread_equal(thread_armed, pthread_self()) || left-- > 0) return 0;
    kind_armed = NONE;
    has_failed = 1;
    return 1;
}

static void *no_memory(void) {
    errno = ENOMEM;
    return NULL;
}

/* The system's allocator: NumPy's arrays, adjoint's kept memory, and what is too large for Python's own. */

void *malloc(size_t size) { return fails(SYSTEM) ? no_memory() : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails(SYSTEM) ? no_memory() : __libc_calloc(n, size); }
void *realloc(void *at, size_t size) { return fails(SYSTEM) ? no_memory() : __libc_realloc(at, size); }
void *aligned_alloc(size_t step, size_t size) { return fails(SYSTEM) ? no_memory() : __libc_memalign(step, size); }
int posix_memalign(void **at, size_t step, size_t size) {
    if (fails(SYSTEM)) return ENOMEM;
    *at = __libc_memalign(step, size);
    return *at == NULL ? ENOMEM : 0;
}

/* Python's allocator, in the domains that hold its lock. */

static PyMemAllocatorEx own[2];
static const PyMemAllocatorDomain domains[2] = {PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};

static void *python_malloc(void *of, size_t size) {
    PyMemAllocatorEx *a = of;
    return fails(PYTHON) ? NULL : a->malloc(a->ctx, size);
}
static void *python_calloc(void *of, size_t n, size_t size) {
    PyMemAllocatorEx *a = of;
    return fails(PYTHON) ? NULL : a->calloc(a->ctx, n, size);
}
static void *python_realloc(void *of, void *at, size_t size) {
    PyMemAllocatorEx *a = of;
    return fails(PYTHON) ? NULL : a->realloc(a->ctx, at, size);
}
static void python_free(void *of, void *at) {
    PyMemAllocatorEx *a = of;
    a->free(a->ctx, at);
}

/* Puts the wrappers in front of Python's allocators; to be called once. */
void watch_python(void) {
    for (int i = 0; i < 2; i++) {
        PyMem_GetAllocator(domains[i], &own[i]);
        PyMemAllocatorEx wrapper = {&own[i], python_malloc, python_calloc, python_realloc, python_free};
        PyMem_SetAllocator(domains[i], &wrapper);
    }
}

/* From now on the n-th allocation of a kind in this thread fails, counted from 0; NONE: no longer. */
void arm(int kind, long n) {
    thread_armed = pthread_self();
    left = n;
    has_failed = 0;
    kind_armed = kind;
}

/* Ends it; did one fail? */
int disarm(void) {
    kind_armed = NONE;
    return has_failed;
}
