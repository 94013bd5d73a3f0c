"""Nodes have the names, the sharing, the lifetime and the saved values of nodes in PyTorch 2.13.

PyTorch's answers are in tests/data/torch_nodes.json. For samples of `agreement` the file has the node of each result as
[name, number of the node, number of its result]. It also has the end of a second backward pass (it runs, or the graph
is freed) and the _saved_ attributes of the first node, by kind. The entry "adjoint" lists the names that differ from
PyTorch's: functions that adjoint composes of other operations.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.autograd import graph

sys.path.append(str(Path(__file__).parents[2]))  # the package of samples is not installed

from agreement.inputs import Dtypes, Scope
from agreement.observe import Library, flatten
from agreement.samples import Sample

ROOT = Path(__file__).parents[2]
ANSWERS: dict[str, Any] = json.loads((ROOT / "tests" / "data" / "torch_nodes.json").read_text())
ADJOINT = Library("adjoint")


def results_of(sample: str) -> list[adjoint.Tensor]:
    """The result tensors of a sample whose inputs require gradients."""
    _, text, dtype = sample.split(" | ")
    scope = Scope(ADJOINT.module, Sample(text, (dtype,)), Dtypes(dtype), lambda tensor, number: tensor.requires_grad_())
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return [actual for actual in flatten(scope.result()) if isinstance(actual, adjoint.Tensor)]


def kind_of(value: Any) -> str:
    """The kind of a saved value: dtype and shape of a tensor, type and value of a number."""
    if isinstance(value, adjoint.Tensor):
        return f"T{str(value.dtype).rpartition('.')[2]}{list(value.shape)}"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}({','.join(map(kind_of, value))})"
    if isinstance(value, float):
        return f"float:{value:.4g}"
    return "None" if value is None else f"{type(value).__name__}:{value}"


def name_of(node: Any) -> str:
    return str(node.name()).replace("torch::autograd::", "")


@pytest.mark.parametrize("sample", ANSWERS)
def test_nodes_of_results(sample: str) -> None:
    answer = ANSWERS[sample]
    results = results_of(sample)
    nodes: dict[int, int] = {}
    actual = []
    for tensor in results:
        node = tensor.grad_fn
        actual.append(node and [name_of(node), nodes.setdefault(id(node), len(nodes)), tensor.output_nr])
    if "adjoint" in answer:
        assert list(dict.fromkeys(entry[0] for entry in actual if entry)) == answer["adjoint"]
        actual = [entry and entry[1:] for entry in actual]
        assert actual == [entry and entry[1:] for entry in answer["results"]]
    else:
        assert actual == answer["results"]


@pytest.mark.parametrize("sample", [sample for sample, answer in ANSWERS.items() if "saved" in answer])
def test_saved_attributes(sample: str) -> None:
    node = next(tensor.grad_fn for tensor in results_of(sample) if tensor.grad_fn is not None)
    saved = {name: kind_of(getattr(node, f"_saved_{name}")) for name in ANSWERS[sample]["saved"]}
    assert saved == ANSWERS[sample]["saved"]
    assert {f"_saved_{name}" for name in saved} <= set(dir(node))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sample", ANSWERS)
def test_second_backward_pass(sample: str) -> None:
    results = [tensor for tensor in results_of(sample) if tensor.requires_grad]
    cotangents = [adjoint.ones_like(tensor) for tensor in results]
    with np.errstate(all="ignore"):
        adjoint.autograd.backward(results, cotangents)
        if ANSWERS[sample]["again"] == "freed":
            with pytest.raises(RuntimeError, match=r"^Trying to backward through the graph a second time"):
                adjoint.autograd.backward(results, cotangents)
        else:
            adjoint.autograd.backward(results, cotangents)


# indices are saved values ---------------------------------------------------------------------------------------------

INDEXED = {
    "an array": lambda x, i, m: x[i],
    "behind a slice": lambda x, i, m: x[:, i],
    "a mask": lambda x, i, m: x[m],
    "written": lambda x, i, m: x.index_put((i,), adjoint.tensor(1.0)),
    "written in place": lambda x, i, m: x.clone().index_put_((i,), adjoint.tensor(1.0)),
    "assigned": lambda x, i, m: assign(x.clone(), i),
    "gathered": lambda x, i, m: x.gather(0, i[:, None]),
    "selected": lambda x, i, m: x.index_select(0, i),
    "taken": lambda x, i, m: x.take(i),
    "filled": lambda x, i, m: x.masked_fill(m, 1.0),
}


def assign(x: adjoint.Tensor, i: adjoint.Tensor) -> adjoint.Tensor:
    x[i] = 2.0
    return x


@pytest.mark.parametrize("function", INDEXED.values(), ids=INDEXED)
def test_hooks_see_indices(function: Any) -> None:
    i, m = adjoint.tensor([1, 0]), adjoint.tensor([[True, False], [True, True]])
    x = adjoint.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    (plain,) = adjoint.autograd.grad(function(x, i, m).sum(), x)
    grads = []

    def pack(tensor: adjoint.Tensor) -> Any:
        grads.append(tensor)
        return tensor.numpy().copy()

    with graph.saved_tensors_hooks(pack, adjoint.from_numpy):
        y = function(x, i, m)
    indices = [tensor for tensor in grads if not tensor.dtype.is_floating_point]
    assert indices and all(tensor.tolist() in (i.tolist(), i[:, None].tolist(), m.tolist()) for tensor in indices)
    (unpacked,) = adjoint.autograd.grad(y.sum(), x)
    assert unpacked.tolist() == plain.tolist()


def test_hooks_on_the_indices_of_a_node() -> None:
    x = adjoint.arange(3.0).requires_grad_()
    y = x[adjoint.tensor([2, 2])]
    (saved,) = y.grad_fn._raw_saved_indices
    saved.register_hooks(lambda index: index * 0, lambda packed: packed)
    y.sum().backward()
    assert x.grad.tolist() == [2, 0, 0]


# several results, one of which gets a cotangent -----------------------------------------------------------------------


def test_results_without_a_cotangent_add_nothing() -> None:
    one = adjoint.ones(1, requires_grad=True)
    with np.errstate(all="ignore"):
        variance, mean = adjoint.var_mean(one)
    mean.backward()
    assert variance.isnan() and one.grad.tolist() == [1]
    x = adjoint.tensor([1.0, 3.0, 3.0], requires_grad=True)
    least, largest = adjoint.aminmax(x)
    assert adjoint.autograd.grad(least, x, retain_graph=True)[0].tolist() == [1, 0, 0]
    assert adjoint.autograd.grad(largest, x)[0].tolist() == [0, 0.5, 0.5]
