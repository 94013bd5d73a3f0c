"""The memory that is kept for the arrays of operations, and the threads that work on large ones.

Memory of large results (from about 8,000 elements on) that is no longer used is kept for later ones, since getting it
anew from the operating system takes longer than most arithmetic. Only arrays that operations and backward passes make
are concerned. No more is held than was once in use, and what lies idle has a limit.
"""

from adjoint.runtime import batch_budget as _batch_budget
from adjoint.runtime import memory as _memory
from adjoint.runtime.threads import get_num_threads, set_num_threads

__all__ = [
    "empty_cache",
    "get_batch_budget",
    "get_cache_limit",
    "get_num_threads",
    "memory_stats",
    "set_batch_budget",
    "set_cache_limit",
    "set_num_threads",
]


def memory_stats() -> dict[str, int]:
    """Memory in use and idle, and counts of events.

    Returns the bytes `live` in arrays, `idle` for later ones, the `peak` of live bytes, and `returned` to the system;
    `hits` and `misses` count arrays that got kept memory, and new one. All are 0 where adjoint is not compiled.

    >>> import adjoint
    >>> sorted(adjoint.memory.memory_stats())
    ['hits', 'idle', 'live', 'misses', 'peak', 'returned']
    """
    return _memory.statistics()


def empty_cache() -> int:
    """Give all idle memory back to the operating system; returns how many bytes.

    >>> import adjoint
    >>> freed = adjoint.memory.empty_cache()
    >>> adjoint.memory.memory_stats()["idle"]
    0
    """
    return _memory.give_back()


def get_cache_limit() -> int:
    """The number of bytes that freed arrays may keep for later ones.

    The default is an eighth of the memory and at most 1 GiB; `set_cache_limit` changes it.

    >>> import adjoint
    >>> adjoint.memory.get_cache_limit() >= 0
    True
    """
    return _memory.get_limit()


def set_cache_limit(n_bytes: int) -> int:
    """Set the limit of idle memory in bytes; 0 keeps none, and NumPy allocates its own. Returns the earlier limit.

    Raises ValueError for a negative number.

    >>> import adjoint
    >>> before = adjoint.memory.set_cache_limit(0)
    >>> adjoint.memory.get_cache_limit()
    0
    >>> _ = adjoint.memory.set_cache_limit(before)
    """
    if n_bytes < 0:
        raise ValueError(f"set_cache_limit(): expected a number of bytes of at least 0, got {n_bytes}")
    return _memory.set_limit(n_bytes)


def get_batch_budget() -> int:
    """The bytes that members of a batch which run at a time may take, where `jacrev`, `jacfwd`, `hessian`, `laplacian`
    or `vmap(chunk_size="auto")` chooses how many.

    >>> import adjoint
    >>> adjoint.memory.get_batch_budget()
    33554432
    """
    return _batch_budget.get()


def set_batch_budget(n_bytes: int) -> int:
    """Set the budget in bytes; one member runs at a time where no more fit. Returns the earlier budget.

    Raises ValueError unless the number is positive.

    >>> import adjoint
    >>> before = adjoint.memory.set_batch_budget(2**20)
    >>> square = adjoint.vmap(lambda x: x * x, chunk_size="auto")
    >>> square(adjoint.arange(4))
    tensor([0, 1, 4, 9])
    >>> _ = adjoint.memory.set_batch_budget(before)
    """
    if n_bytes <= 0:
        raise ValueError(f"set_batch_budget(): expected a positive number of bytes, got {n_bytes}")
    return _batch_budget.set(n_bytes)
