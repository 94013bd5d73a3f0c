"""CUDA devices through CuPy, under the names of torch.cuda.

Without CuPy or a device, `is_available` is False and functions that need a device raise AssertionError. Functions for
seeds and caches have no effect then, as in torch.
"""

import typing as _typing

from adjoint.cuda._devices import (
    can_device_access_peer,
    current_device,
    device,
    device_count,
    device_of,
    empty_cache,
    get_device_capability,
    get_device_name,
    get_device_properties,
    init,
    is_available,
    is_bf16_supported,
    is_initialized,
    is_tf32_supported,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    set_device,
    synchronize,
)
from adjoint.cuda._devices import out_of_memory_error as _out_of_memory_error
from adjoint.cuda._graphs import CUDAGraph, graph, graph_pool_handle, is_current_stream_capturing
from adjoint.cuda._numbers import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from adjoint.cuda._streams import Event, Stream, StreamContext, current_stream, default_stream, set_stream, stream
from adjoint.tensor.older.absent import AttributeOf as _AttributeOf

from . import nvtx, profiler

__all__ = [
    "CUDAGraph",
    "Event",
    "Stream",
    "StreamContext",
    "can_device_access_peer",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "graph",
    "graph_pool_handle",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "is_tf32_supported",
    "manual_seed",
    "manual_seed_all",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "nvtx",
    "profiler",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]

if not _typing.TYPE_CHECKING:
    # CuPy's class; this access imports CuPy
    __getattr__ = _AttributeOf(__name__, OutOfMemoryError=_out_of_memory_error)
