"""Memory that is reused for the arrays that adjoint itself makes.

Large freed blocks go back to the operating system, and every page that is used again costs a page fault. For arrays of
10^4 to 10^6 elements this takes more time than the arithmetic. So results and intermediate values of operations, from 4
KiB on, get their memory from here. A freed block is kept, sorted by size, and reused.

It uses NumPy's interface for allocators (NEP 49), and only while a kernel or a formula of a backward pass runs. Arrays
made by other code, in the same thread or another, are not affected. An array holds its memory as long as it lives, so
memory is never shared by mistake.

The total, in use and idle, stays below the largest amount that was in use. Idle memory has a limit. If the system has
no memory left, idle blocks are freed first.

Without the compiled form nothing is kept: all numbers are then 0.
"""

try:
    import cython

    compiled = cython.compiled
except ModuleNotFoundError:
    compiled = False

import os

from adjoint.runtime.forks import renewed_in_child

#: At most so much lies idle unless the user says otherwise: an eighth of the memory, and no more than this.
_MOST_IDLE = 1 << 30


def default_limit() -> int:
    """The default limit of idle memory in bytes."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return _MOST_IDLE // 4
    return min(_MOST_IDLE, memory // 8)


def get_limit() -> int:
    """The largest number of idle bytes; 0 if no memory is kept."""
    return adj_memory_counted().limit if compiled else 0


def set_limit(n_bytes: int) -> int:
    """Set the limit of idle memory in bytes, 0 to keep none; returns the earlier limit."""
    before = get_limit()
    if compiled:
        adj_set_limit(n_bytes)
    return before


def statistics() -> dict:
    """Memory in use and idle, and counts of events, in bytes and numbers of blocks."""
    if not compiled:
        return dict.fromkeys(("live", "idle", "peak", "hits", "misses", "returned"), 0)
    counts = adj_memory_counted()
    return {
        "live": counts.live,
        "idle": counts.idle,
        "peak": counts.peak,
        "hits": counts.hits,
        "misses": counts.misses,
        "returned": counts.returned,
    }


def give_back() -> int:
    """Give all idle memory back to the system, and forget how much was once in use; returns how much it was."""
    return adj_forget_peak() if compiled else 0


def with_kept_memory(function, arguments, keywords=None):
    """function(*arguments, **keywords), whose arrays get memory from here."""
    keywords = keywords or {}
    if not compiled or adj_keeps_nothing():
        return function(*arguments, **keywords)
    before = PyDataMem_SetHandler(_handler)
    try:
        result = function(*arguments, **keywords)
    finally:
        # it takes memory, and may fail: a `return` in the block would then lose the result
        PyDataMem_SetHandler(before)
    return result


if compiled:

    def new_kept_array(descr, ndim, shape, fortran):
        """A new array of a C descriptor and shape, in memory from here; for the C code of other modules."""
        return adj_new_kept_array(descr, ndim, shape, fortran, _handler)

    @renewed_in_child
    def renew_mutex():
        """A thread of the parent may have held it."""
        adj_renew_mutex()

    adj_import_arrays()
    _handler = adj_make_handler()
    adj_set_limit(default_limit())
