cdef extern from "threads.h":
    int ADJ_MOST_WORKERS
    int adj_n_workers
    int adj_claim_helpers(int wanted)
    void adj_forget_workers()
    void adj_run_job(void (*work)(void *) noexcept nogil, void *job, int helpers) nogil


ctypedef void (*work_function)(void *) noexcept nogil

cdef int share(work_function work, void *job, int threads) except -1
