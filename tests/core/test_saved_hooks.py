"""Hooks on saved tensors, modified saved tensors, and the source lines of their modification."""

from __future__ import annotations

import gc
import re
import weakref
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.autograd import graph


def same(value: Any) -> Any:
    return value


@pytest.fixture
def x() -> adjoint.Tensor:
    return adjoint.tensor([1.0, 2.0, 3.0], requires_grad=True)


def through_numpy() -> graph.saved_tensors_hooks:
    return graph.saved_tensors_hooks(lambda t: t.detach().numpy().copy(), adjoint.from_numpy)


def program(x: adjoint.Tensor) -> adjoint.Tensor:
    """Each way to save: inputs, results, sequences, several results, in-place operations, views."""
    y = adjoint.stack([x.exp(), x * x.sin()])
    values, _ = (y * y[0]).sort(dim=1)
    z = values.tanh().clone()
    z[0].mul_(x)
    _, s, _ = adjoint.linalg.svd(z, full_matrices=False)
    return (z.logsumexp(0) * s.sum()).sum() + adjoint.einsum("ij,j->i", z, x).prod()


def test_gradients_to_second_order_are_those_without_hooks(x: adjoint.Tensor) -> None:
    x = x.detach().double().requires_grad_()

    def derivatives() -> list[np.ndarray]:
        (first,) = adjoint.autograd.grad(program(x), x, create_graph=True)
        (second,) = adjoint.autograd.grad((first * first).sum(), x)
        return [first.detach().numpy(), second.numpy()]

    expected = derivatives()
    for hooks in (through_numpy(), graph.save_on_cpu(), graph.saved_tensors_hooks(same, same)):
        with hooks:
            np.testing.assert_allclose(derivatives(), expected, rtol=1e-10)
    with through_numpy():
        loss = program(x)
    loss.backward()
    np.testing.assert_allclose(x.grad.numpy(), expected[0], rtol=1e-10)


def test_what_hooks_see(x: adjoint.Tensor) -> None:
    packed: list[adjoint.Tensor] = []
    unpacked: list[Any] = []

    def pack(tensor: adjoint.Tensor) -> int:
        assert not adjoint.is_grad_enabled()
        packed.append(tensor)
        return len(packed) - 1

    def unpack(number: int) -> adjoint.Tensor:
        unpacked.append(number)
        return packed[number]

    with graph.saved_tensors_hooks(pack, unpack):
        y = x * x
        z = y.exp()
        w = z * 3  # for a number as operand, nothing is saved
        w.sum()
    assert packed[0] is x and packed[1] is x
    assert len(packed) == 3 and packed[2].grad_fn is z.grad_fn
    w.sum().backward()
    assert unpacked == [2, 0, 1] or unpacked == [2, 1, 0]
    np.testing.assert_allclose(x.grad.numpy(), (6 * x * (x * x).exp()).detach().numpy(), rtol=1e-5)


def test_innermost_pair_counts_and_hooks_end_with_the_block(x: adjoint.Tensor) -> None:
    notes: list[str] = []

    def noting(name: str) -> graph.saved_tensors_hooks:
        return graph.saved_tensors_hooks(lambda t: (notes.append(name), t)[1], same)

    with noting("outer"):
        with noting("inner"):
            x.exp()
        x.exp()
    x.exp()
    assert notes == ["inner", "outer"]


def test_errors_of_hooks(x: adjoint.Tensor) -> None:
    with (
        graph.saved_tensors_hooks(lambda t: t.mul_(2), same),
        pytest.raises(RuntimeError, match="A saved tensor pack hook is modifying its input in place"),
    ):
        adjoint.ones(3) * x
    with graph.saved_tensors_hooks(same, lambda t: 3):
        y = (x * x).sum()
    with pytest.raises(TypeError, match="Output of saved tensor unpack_hook expected to be a Tensor but got result of"):
        y.backward()
    with graph.saved_tensors_hooks(lambda t: 1 / 0, same), pytest.raises(ZeroDivisionError):
        x.exp()
    with pytest.raises(TypeError, match="pack_hook must be a function"), graph.saved_tensors_hooks(3, same):
        x.exp()
    assert (x * x).sum().backward() is None


def test_disabled_hooks(x: adjoint.Tensor) -> None:
    def use() -> None:
        with graph.saved_tensors_hooks(same, same):
            x.exp()

    with graph.disable_saved_tensors_hooks("outer"):
        with graph.disable_saved_tensors_hooks("inner"), pytest.raises(RuntimeError, match=r"^inner$"):
            use()
        with pytest.raises(RuntimeError, match=r"^outer$"):
            use()
    use()
    with (
        graph.saved_tensors_hooks(same, same),
        pytest.raises(RuntimeError, match=r"^no$"),
        graph.disable_saved_tensors_hooks("no"),
    ):
        use()


def test_hooks_on_one_saved_tensor(x: adjoint.Tensor) -> None:
    y = x * x
    saved = y.grad_fn._raw_saved_self
    assert isinstance(saved, adjoint.autograd.SavedTensor) and saved is y.grad_fn._raw_saved_self
    assert y.grad_fn._saved_self is x
    saved.register_hooks(same, lambda t: t * 10)
    y.sum().backward()
    assert x.grad.tolist() == [11, 22, 33]
    y = x.exp()
    saved = y.grad_fn._raw_saved_result
    with pytest.raises(TypeError, match="pack_hook must be a function"):
        saved.register_hooks(3, 4)
    saved.register_hooks(same, same)
    with pytest.raises(RuntimeError, match="hooks have already been set"):
        saved.register_hooks(same, same)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="after it has been freed"):
        saved.register_hooks(same, same)


def test_versions_are_not_checked_where_hooks_packed_a_copy(x: adjoint.Tensor) -> None:
    with through_numpy():
        y = x.exp()
    y.detach().mul_(5)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([1, 2, 3]), rtol=1e-6)


@pytest.mark.parametrize("hooks", [lambda: graph.saved_tensors_hooks(same, same), through_numpy, graph.save_on_cpu])
def test_packing_makes_no_reference_cycle(x: adjoint.Tensor, hooks) -> None:
    gc.disable()
    try:
        with hooks():
            y = (x * x).exp().sum()
        node = weakref.ref(y.grad_fn.next_functions[0][0])
        del y
        assert node() is None
    finally:
        gc.enable()


def test_save_to_disk(x: adjoint.Tensor, tmp_path) -> None:
    with graph.save_to_disk(tmp_path):
        y = program(x)
    files = list(tmp_path.iterdir())
    assert len(files) > 5
    y.backward(retain_graph=True)
    result = x.grad
    x.grad = None
    program(x).backward()
    assert result.tolist() == x.grad.tolist()
    del y
    assert not list(tmp_path.iterdir())
    with graph.save_to_disk(tmp_path, min_bytes=13):
        y = x.exp()
    assert y.requires_grad and not list(tmp_path.iterdir())
    with pytest.raises(NotADirectoryError, match="is not a directory: make it first"):
        graph.save_to_disk(tmp_path / "nowhere")


def test_composed_pairs(x: adjoint.Tensor, tmp_path) -> None:
    halves = graph.saved_tensors_hooks(lambda t: t.half(), lambda t: t.float())
    with graph.composed(halves, graph.save_to_disk(tmp_path)):
        y = x.exp()
    assert [file.stat().st_size for file in tmp_path.iterdir()] == [6]
    y.sum().backward()
    assert x.grad.tolist() == y.half().tolist()


# modified saved tensors --------------------------------------------------------------------------------------------


def test_saved_tensors_may_be_modified_in_the_block(x: adjoint.Tensor) -> None:
    with graph.allow_mutation_on_saved_tensors() as context:
        b = x.clone()
        out = (b**2).sum()
        view = b[:2]
        view.mul_(100)
        b.zero_()
        c = adjoint.ones(3)
        other = (x * c).sum()
        c.fill_(5)
        e = x.exp()
        last = e.sum()
        e[0] = 0
        assert len(context.cloned) >= 3
        (out + other + last).backward()
        assert len(context.cloned) == 0
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.array([1, 2, 3]) + 1 + np.exp([1, 2, 3]), rtol=1e-6)


def test_mutation_errors(x: adjoint.Tensor) -> None:
    with graph.allow_mutation_on_saved_tensors():
        with (
            pytest.raises(RuntimeError, match="contexts cannot be nested"),
            graph.allow_mutation_on_saved_tensors(),
        ):
            x.exp()
        square = (x.clone() ** 2).sum()
    with pytest.raises(AssertionError, match="outside of the 'allow_mutation_on_saved_tensors' context"):
        square.backward()
    y = x.clone()
    outside = (y**2).sum()
    with graph.allow_mutation_on_saved_tensors():
        y.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            outside.backward()


# source lines ------------------------------------------------------------------------------------------------------


def overwrite(x: adjoint.Tensor) -> adjoint.Tensor:
    y = x.exp()  # this line saves
    z = y * 1
    y.add_(1)  # this line modifies
    y.mul_(2)
    return z.sum()


@pytest.mark.parametrize("mode", [graph.record_locations, adjoint.autograd.detect_anomaly])
@pytest.mark.filterwarnings("ignore")
def test_culprits_are_named(x: adjoint.Tensor, mode) -> None:
    with mode():
        loss = overwrite(x)
        with pytest.raises(RuntimeError) as error:
            loss.backward()
    text = str(error.value)
    frame = r'File ".*test_saved_hooks.py", line \d+, in overwrite: '
    assert re.search(rf"saved for the backward pass here: {frame}y = x.exp\(\)  # this line saves", text)
    assert re.search(rf"modified here: {frame}y.add_\(1\)  # this line modifies", text)


def test_without_recording_the_remedy_is_named(x: adjoint.Tensor) -> None:
    loss = overwrite(x)
    with pytest.raises(RuntimeError, match="Hint: enable anomaly detection"):
        loss.backward()


def test_node_creation_hook(x: adjoint.Tensor) -> None:
    names: list[str] = []
    with graph.node_creation_hook(lambda node: names.append(node.name())):
        y = (x * x).sum()
        z = adjoint.zeros(3)
        z.add_(x)
        adjoint.autograd.grad(y, x, create_graph=True)
    x.exp()
    assert names[:3] == ["MulBackward0", "SumBackward0", "AddBackward0"] and len(names) > 3


def test_a_value_is_unpacked_once_by_each_pass() -> None:
    unpacked: list[str] = []
    x = adjoint.ones(3, requires_grad=True)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: (unpacked.append("once"), t)[1]):
        y = x.exp().sin()
    y.sum().backward(retain_graph=True)
    assert unpacked == ["once"] * 2
    y.sum().backward()
    assert unpacked == ["once"] * 4


def test_mutation_copies_a_tensor_once_for_each_version() -> None:
    x = adjoint.ones(2, 3, requires_grad=True)
    with adjoint.autograd.graph.allow_mutation_on_saved_tensors() as context:
        a = x.clone()
        first = a.sin() + a.cos() + a * a
        a.mul_(2)
        assert len(context.cloned) == 1
        second = a.sin() + a.cos()
        a.add_(1)
        assert len(context.cloned) == 2
        (first + second).sum().backward()
        assert x.grad is not None
        t = adjoint.ones(2, 3, requires_grad=True)
        (t.sin() + t.cos() + t * t + (2 * t).sin() + (2 * t).cos()).sum().backward()
        adjoint.testing.assert_close(x.grad, t.grad)
        del first, second
        assert not context.cloned
