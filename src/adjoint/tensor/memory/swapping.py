"""The exchange of two tensors: all references to one then lead to the other."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from adjoint.arrays.size import type_name
from adjoint.core.graph import AccumulateGrad, Node, SavedTensor, TensorBase, View

FIELDS = (
    "_array", "_node", "_output_nr", "_requires", "_grad", "_accumulator", "_counter", "_view", "_tangents", "_hooks",
    "_post_hooks", "_retain", "_grad_dtype",
)  # fmt: skip


def swap_tensors(t1: Any, t2: Any) -> None:
    """Exchange class, memory, history, gradient, hooks and attributes of two tensors.

    A graph with one tensor as a leaf then has the other one as that leaf.

    Raises:
        TypeError: an argument is no Tensor.
        RuntimeError: a view, a graph that saved the tensor, or a weak reference holds one of them. Nothing is changed.

    >>> import adjoint
    >>> a, b = adjoint.zeros(2), adjoint.ones(3)
    >>> adjoint.utils.swap_tensors(a, b)
    >>> a, b
    (tensor([1., 1., 1.]), tensor([0., 0.]))
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if not isinstance(tensor, TensorBase):
            raise TypeError(f"swap_tensors(): argument '{name}' must be Tensor, not {type_name(tensor)}")
        check_free(name, tensor)
    if t1 is t2:
        return
    leaves = [(accumulator_of(t1), t2), (accumulator_of(t2), t1)]
    first, second = [{name: getattr(t, name) for name in FIELDS} | {"__class__": type(t)} for t in (t1, t2)]
    attributes = [{k: v for k, v in t.__dict__.items() if k not in FIELDS} for t in (t1, t2)]
    for tensor, values, extra in ((t1, second, attributes[1]), (t2, first, attributes[0])):
        for name in [name for name in tensor.__dict__ if name not in FIELDS]:
            del tensor.__dict__[name]
        for name, value in values.items():
            setattr(tensor, name, value)
        tensor.__dict__.update(extra)
    for accumulator, leaf in leaves:
        if accumulator is not None:
            accumulator.variable = leaf


def accumulator_of(tensor: TensorBase) -> AccumulateGrad | None:
    """The node that adds to the gradient of a leaf, if there is one."""
    return None if tensor._accumulator is None else tensor._accumulator()


def check_free(name: str, tensor: TensorBase) -> None:
    """Raise RuntimeError if a view, a graph or a weak reference holds a tensor, which would then hold another."""
    if weakref.getweakrefcount(tensor):
        raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    if is_held(tensor):
        raise RuntimeError(
            f"Expected use_count of {name} to be 1 or 2 with an AccumulateGrad node: a view or a graph holds it; make "
            "sure you are not holding references to the tensor in other places."
        )


def is_held(tensor: TensorBase) -> bool:
    """True if a view holds a tensor as its base, or a graph saved it."""
    holders = gc.get_referrers(tensor)
    try:
        # the saved values of a node are a tuple of its own
        holders += [holder for each in holders if isinstance(each, tuple) for holder in gc.get_referrers(each)]
        return any(isinstance(each, (Node, SavedTensor, View)) and type(each) is not AccumulateGrad for each in holders)
    finally:
        # this frame may be among them, and would keep all alive
        holders.clear()
