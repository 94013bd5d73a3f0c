"""Further conditions of a recording: modes, hidden Tensors, and random numbers."""

from __future__ import annotations

import gc
import random as python_random
import sys
from collections.abc import Container
from typing import Any

import numpy

from adjoint.arrays.determinism import get_deterministic_debug_mode
from adjoint.arrays.dtypes import get_default_dtype
from adjoint.core.graph import TensorBase, new_tensor, nodes_behind
from adjoint.core.modes.state import MODES, current
from adjoint.runtime.threads import get_num_threads


def has_hidden_tensor(references: list[Any], ids: Container[int], nodes: list[Any]) -> bool:
    """True if a used Tensor is still alive that a replay neither reads nor makes.

    references: weak references to the used Tensors. ids: the ids of the Tensors that a replay knows. nodes: the nodes
    of the results; their graph may hold Tensors, too.
    """
    saved = times_saved(nodes)
    for _ in range(2):
        if not any(is_held(reference(), saved) for reference in references if id(reference()) not in ids):
            return False
        # a reference cycle keeps its objects until it is collected
        gc.collect()
    return True


def times_saved(nodes: list[Any]) -> dict[int, int]:
    """How often the nodes of a graph, and views that they have saved, hold each Tensor, by its id."""
    times: dict[int, int] = {}
    views: dict[int, Any] = {}
    for node in nodes_behind(nodes):
        for _, saved in node._ad_saved_items():
            tensor = getattr(saved, "original", saved)
            times[id(tensor)] = times.get(id(tensor), 0) + 1
            if isinstance(tensor, TensorBase) and tensor._view is not None:
                views[id(tensor._view)] = tensor._view
    for view in views.values():
        times[id(view.base)] = times.get(id(view.base), 0) + 1
    return times


def is_held(tensor: Any, saved: dict[int, int]) -> bool:
    """True if something besides the nodes of a graph holds a Tensor."""
    return _n_holders(tensor) > saved.get(id(tensor), 0) + _OF_A_CALL if tensor is not None else False


def _n_holders(tensor: Any) -> int:
    return sys.getrefcount(tensor)


def _n_holders_of_a_call(tensor: Any) -> int:
    return _n_holders(tensor)


#: The reference count, seen by a function that gets it as an argument, of an object without other owners.
_OF_A_CALL = _n_holders_of_a_call(new_tensor(numpy.empty(0)))


def modes() -> tuple[Any, ...]:
    """All modes that code can change, to be compared."""
    state = current()
    mode_values = [getattr(state, name) for name in MODES]
    return *mode_values, get_default_dtype(), get_deterministic_debug_mode(), get_num_threads()


def random_state() -> Any:
    """The states of the generators of Python and NumPy, to be compared."""
    kind, keys, *rest = numpy.random.get_state()
    return python_random.getstate(), kind, keys.tobytes(), rest
