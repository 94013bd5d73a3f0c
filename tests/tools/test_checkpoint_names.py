"""Names of torch.utils besides checkpoint: groups of passes, states of devices, trees, DLPack."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, namedtuple
from typing import Any

import numpy
import pytest

import adjoint
from adjoint.utils import _pytree as tree
from adjoint.utils.checkpoint import SAC_IGNORED_OPS, GraphExecGroup, checkpoint, create_selective_checkpoint_contexts

Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize("grouped", [False, True])
def test_passes_of_a_group_recompute_once(grouped: bool) -> None:
    x, runs = adjoint.tensor([0.5, 2.0], requires_grad=True), []

    def function(x: Any) -> Any:
        runs.append(1)
        return x.exp(), (x * x).sin()

    a, b = checkpoint(function, x, use_reentrant=False, early_stop=False)
    if grouped:
        with GraphExecGroup():
            a.sum().backward()
            b.sum().backward()
    else:
        a.sum().backward()
        b.sum().backward()
    assert len(runs) == (2 if grouped else 3)
    expected = x.detach().exp() + (x.detach() ** 2).cos() * 2 * x.detach()
    assert adjoint.allclose(x.grad, expected)


def test_groups_end_and_do_not_nest() -> None:
    with GraphExecGroup(), pytest.raises(RuntimeError, match="cannot be nested"):
        GraphExecGroup().__enter__()
    with pytest.raises(KeyError), GraphExecGroup():
        raise KeyError
    with GraphExecGroup():
        pass
    x, runs = adjoint.ones(2, requires_grad=True), []
    y = checkpoint(lambda x: (runs.append(1), x.exp())[1], x, use_reentrant=False)
    for _ in range(2):
        y.sum().backward(retain_graph=True)
    assert len(runs) == 3


def test_ignored_operations_are_not_asked_about() -> None:
    names: list[str] = []

    def policy(context: Any, operation: Any, *arguments: Any) -> bool:
        names.append(operation.name)
        return False

    x = adjoint.ones(2, requires_grad=True)
    checkpoint(
        lambda x: x.detach() * x.exp(), x, use_reentrant=False,
        context_fn=lambda: create_selective_checkpoint_contexts(policy),  # type: ignore[arg-type]
    ).sum().backward()  # fmt: skip
    assert {"exp", "mul"} <= set(names)
    assert not SAC_IGNORED_OPS & set(names)


def test_states_of_devices() -> None:
    assert adjoint.utils.checkpoint.get_device_states([adjoint.ones(1)], 3) == ([], [])
    adjoint.utils.checkpoint.set_device_states([], [])


TREES: list[tuple[Any, list[Any]]] = [
    (3, [3]),
    (None, [None]),
    ([1, (2, None)], [1, 2, None]),
    ({"b": 1, "a": [2]}, [1, 2]),
    (OrderedDict(x=1, y=()), [1]),
    (Pair(1, [2, 3]), [1, 2, 3]),
]


@pytest.mark.parametrize(("value", "leaves"), TREES, ids=repr)
def test_trees(value: Any, leaves: list[Any]) -> None:
    result, structure = tree.tree_flatten(value)
    assert result == leaves == tree.tree_leaves(value) == list(tree.tree_iter(value))
    assert structure == tree.tree_structure(value)
    assert tree.tree_unflatten(result, structure) == value
    assert tree.tree_map(lambda leaf: leaf, value) == value
    doubled = tree.tree_map_only(int, lambda leaf: 2 * leaf, value)
    assert tree.tree_leaves(doubled) == [None if leaf is None else 2 * leaf for leaf in leaves]
    assert tree.tree_any(lambda leaf: leaf is None, value) == (None in leaves)
    assert tree.tree_all(lambda leaf: leaf is not None, value) == (None not in leaves)
    with pytest.raises(TypeError, match="instance of TreeSpec"):
        tree.tree_unflatten(result, 3)  # type: ignore[arg-type]


def test_classes_become_containers() -> None:
    class Box:
        def __init__(self, content: Any, label: str) -> None:
            self.content, self.label = content, label

    @dataclasses.dataclass
    class Record:
        x: Any

    box = Box(adjoint.tensor(2.0), "a")
    assert tree.tree_leaves(box) == [box]
    assert len(tree.tree_leaves(Record(1))) == 1
    assert isinstance(tree.tree_leaves(Record(1))[0], Record)
    tree.register_pytree_node(Box, lambda b: ([b.content], b.label), lambda c, label: Box(next(iter(c)), label))
    assert tree.tree_map(lambda leaf: leaf * 3, box).content.item() == 6
    assert tree.tree_map(lambda leaf: leaf, box).label == "a"
    assert adjoint.func.grad(lambda box: box.content**2)(box).content.item() == 4
    assert tree.tree_structure(box) != tree.tree_structure(Box(1, "b"))
    with pytest.raises(ValueError, match="already registered"):
        tree.register_pytree_node(Box, lambda b: ([], None), lambda c, context: Box(1, ""))


def test_capsules() -> None:
    x = adjoint.arange(3.0)
    twin = adjoint.utils.dlpack.from_dlpack(adjoint.utils.dlpack.to_dlpack(x))
    # older versions of NumPy make arrays of capsules read-only
    x[0] = 7
    assert twin[0].item() == 7
    assert adjoint.from_dlpack(adjoint.to_dlpack(x)).tolist() == x.tolist()
    assert x.__dlpack_device__()[0] == adjoint.utils.dlpack.DLDeviceType.kDLCPU
    with pytest.raises(BufferError, match="require gradient"):
        adjoint.to_dlpack(adjoint.ones(1, requires_grad=True))
    with pytest.raises(TypeError, match="must be Tensor, not ndarray"):
        adjoint.to_dlpack(numpy.ones(2))


def test_switches_without_effect() -> None:
    adjoint.autograd.graph.set_override_stale_capture_stream(True)
    adjoint.autograd.graph.set_override_stale_capture_stream(False)
    with pytest.raises(TypeError, match="got int"):
        adjoint.autograd.graph.set_override_stale_capture_stream(1)  # type: ignore[arg-type]
    assert adjoint.autograd.is_view_replay_enabled() is True
