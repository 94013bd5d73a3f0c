/* Threads that help with large arrays: they need no Python, sleep until there is work, and share the pieces of a job.
   */
#ifndef ADJOINT_THREADS_H
#define ADJOINT_THREADS_H

#include <Python.h>
#include <pythread.h>

#ifdef __GNUC__
/* every module that includes this uses a part of it */
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

#define ADJ_MOST_WORKERS 7
#ifdef __GNUC__
#define ADJ_THREADS 1
#else
#define ADJ_THREADS 0
#endif

/* A worker sleeps on `start`. A job is offered (1), then accepted by the worker (2), or withdrawn (0) if all pieces are
   done before the worker wakes up. So a worker without a processor delays no call. */
typedef struct {
    PyThread_type_lock start, done;
    void (*work)(void *);
    void *job;
    int state, woken;
} adj_worker;

static adj_worker adj_workers[ADJ_MOST_WORKERS];
/* adj_busy: the workers belong to a call. */
static int adj_n_workers, adj_busy;

#if ADJ_THREADS
/* The main loop of a helper thread. Python does not know the thread, so it needs no interpreter, which may be shutting
   down, and waits for none of its locks. */
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

/* Claims the workers for a call, and starts missing ones; returns their number, 0 if another call has them. The caller
   holds Python's lock. The claim comes first; adj_run_job undoes it. */
static int adj_claim_helpers(int wanted) {
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
static void adj_forget_workers(void) {
    adj_n_workers = adj_busy = 0;
}

/* runs work(job) in this thread and in the claimed helpers, which share the pieces among them */
static void adj_run_job(void (*work)(void *), void *job, int helpers) {
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

#endif
