"""Metadata of kernels and collectives in traces of devices, under the names of torch.autograd.profiler_util."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class EventMetadata(NamedTuple):
    """The properties of an event on a device, from its trace.

    A field is None where the trace has no value for it.
    """

    registers_per_thread: int | None
    shared_memory: int | None
    grid: list[int] | None
    block: list[int] | None
    priority: int | None
    blocks_per_sm: float | None
    warps_per_sm: float | None
    occupancy: dict[str, Any] | None
    est_occupancy_pct: float | None
    queued: int | None
    graph_id: int | None
    graph_node_id: int | None
    stream: int | None
    context: int | None
    channel: int | None
    channel_type: int | None
    bytes: int | None
    bandwidth_gb_s: float | None
    collective_name: str | None
    dtype: str | None
    in_msg_nelems: int | None
    out_msg_nelems: int | None
    in_split_size: str | None
    out_split_size: str | None
    global_rank_start: int | None
    global_rank_stride: int | None
    group_size: int | None
    process_group_name: str | None
    process_group_desc: str | None
    group_ranks: str | None
    rank: int | None
    src_rank: int | None
    dst_rank: int | None
    seq: int | None
    is_async: bool | None


def unquote(text: str) -> str:
    """A string as traces write it, without its quotes."""
    return text.strip('"')


def is_true(text: str) -> bool:
    """True for the word true, however it is written."""
    return text.strip('"') == "true"


#: The names of entries in a trace, for the fields whose entries have other names.
ENTRIES = {
    "registers_per_thread": "registers per thread",
    "shared_memory": "shared memory",
    "blocks_per_sm": "blocks per SM",
    "warps_per_sm": "warps per SM",
    "est_occupancy_pct": "est. achieved occupancy %",
    "graph_id": "graph id",
    "graph_node_id": "graph node id",
    "bandwidth_gb_s": "memory bandwidth (GB/s)",
    "collective_name": "Collective name",
    "in_msg_nelems": "In msg nelems",
    "out_msg_nelems": "Out msg nelems",
    "in_split_size": "In split size",
    "out_split_size": "Out split size",
    "global_rank_start": "Global rank start",
    "global_rank_stride": "Global rank stride",
    "group_size": "Group size",
    "process_group_name": "Process Group Name",
    "process_group_desc": "Process Group Description",
    "group_ranks": "Process Group Ranks",
    "rank": "Rank",
    "src_rank": "Src Rank",
    "dst_rank": "Dst Rank",
    "seq": "Seq",
    "is_async": "Is asynchronized op",
}
#: How an entry is read, by the type of its field.
READERS: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "str": unquote,
    "bool": is_true,
    "list[int]": json.loads,
    "dict[str, Any]": json.loads,
}


def build_metadata(entries: Mapping[str, str]) -> EventMetadata | None:
    """The metadata that entries of a trace, given as text, hold; None if there is none.

    >>> from adjoint.autograd.profiler_util import _build_metadata
    >>> _build_metadata({"stream": "7", "grid": "[1, 2, 3]"}).grid
    [1, 2, 3]
    """
    fields: dict[str, Any] = dict.fromkeys(EventMetadata._fields)
    for field, kind in EventMetadata.__annotations__.items():
        text = entries.get(ENTRIES.get(field, field))
        if text is not None:
            fields[field] = READERS[str(getattr(kind, "__forward_arg__", kind)).removesuffix(" | None")](text)
    if all(value is None for value in fields.values()):
        return None
    return EventMetadata(**fields)
