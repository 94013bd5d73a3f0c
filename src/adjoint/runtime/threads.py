"""The threads that share the work on large arrays: how many there are, and how C loops are given to them.

There is no uncompiled form of these loops: NumPy then does their work, in the calling thread. The number of threads
holds for BLAS and Fourier transforms in both forms.
"""

try:
    import cython

    compiled = cython.compiled
except ModuleNotFoundError:
    compiled = False

import os

from adjoint.runtime.forks import renewed_in_child

_MOST_THREADS = 8


def usable_processors() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def get_num_threads() -> int:
    """The largest number of threads that work on one large array: as many as the process has processors, at first.

    >>> import adjoint
    >>> 1 <= adjoint.get_num_threads() <= 8
    True
    """
    return _threads


def set_num_threads(n: int) -> None:
    """Set the largest number of threads that work on one large array.

    It applies to adjoint's own loops, to Fourier transforms, and to the BLAS of NumPy and SciPy. BLAS has one number
    for the whole process, so it affects other users of NumPy too. Before the first call BLAS has its own number, which
    the environment sets (OPENBLAS_NUM_THREADS). On a busy machine one thread is best: threads of BLAS wait for each
    other in busy loops.

    n: from 1 to 8. Raises ValueError for another number.

    >>> import adjoint
    >>> adjoint.set_num_threads(adjoint.get_num_threads())
    """
    global _threads
    if not 1 <= n <= _MOST_THREADS:
        raise ValueError(f"set_num_threads(): expected a number from 1 to {_MOST_THREADS}, got {n}")
    _threads = n
    limit_blas(n)


def limit_blas(n: int) -> None:
    """Set the number of threads of NumPy's BLAS, and of SciPy's, which is a separate one."""
    import scipy.linalg  # noqa: F401  # what is not loaded yet would have its own number
    from threadpoolctl import threadpool_limits

    threadpool_limits(n, user_api="blas")


_threads = min(_MOST_THREADS, usable_processors())

if compiled:

    def n_helpers() -> int:
        """How many threads were started so far to help with large arrays."""
        return adj_n_workers

    @renewed_in_child
    def forget_workers():
        """Threads are not inherited."""
        adj_forget_workers()

    def share(work, job, threads):
        """work(job), a C function, in this thread and at the same time in others, unless these have work already."""
        helpers = adj_claim_helpers(threads - 1)
        with cython.nogil:
            adj_run_job(work, job, helpers)
        return 0
