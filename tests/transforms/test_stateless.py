"""Objects as functions of their parameters, patterns of axes, and functions that unwrap tensors of transforms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint
from adjoint.func import debug_unwrap, functional_call, functionalize, grad, rearrange, stack_module_state, vmap
from adjoint.transforms.rearrange import DimensionBindError


class Part:
    """The smallest object that is supported: it has named tensors, which are also attributes."""

    def __init__(self) -> None:
        self.weight = adjoint.tensor([1.0, 2.0], requires_grad=True)

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        yield "weight", self.weight

    def named_buffers(self) -> Iterator[tuple[str, Any]]:
        yield from ()

    def __call__(self, x: Any, k: float = 1.0) -> Any:
        return k * self.weight * x


class Whole(Part):
    """An object with a part, tied weights, and a buffer that its call replaces."""

    def __init__(self) -> None:
        super().__init__()
        self.tied = self.weight
        self.part = Part()
        self.count = adjoint.zeros(())

    def named_parameters(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        yield "weight", self.weight
        if not remove_duplicate:
            yield "tied", self.tied
        yield "part.weight", self.part.weight

    def named_buffers(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        yield "count", self.count

    def __call__(self, x: Any, k: float = 1.0) -> Any:
        self.count = self.count + 1
        return k * (self.weight + self.tied) * self.part(x) + self.count


def state(module: Whole) -> tuple[int, ...]:
    return tuple(id(t) for t in (module.weight, module.tied, module.part.weight))


X = adjoint.tensor([3.0, 4.0])
W = adjoint.tensor([5.0, 6.0])


@pytest.mark.parametrize(
    ("values", "options", "expected"),
    [
        ({}, {}, [2 * 3 + 1, 4 * 8 + 1]),
        ({"weight": W}, {}, [10 * 3 + 1, 12 * 8 + 1]),
        ({"tied": W}, {}, [10 * 3 + 1, 12 * 8 + 1]),
        ({"weight": W}, {"tie_weights": False}, [6 * 3 + 1, 8 * 8 + 1]),
        ({"weight": W, "tied": W}, {}, [10 * 3 + 1, 12 * 8 + 1]),
        ({"part.weight": W}, {}, [2 * 15 + 1, 4 * 24 + 1]),
        ({"count": X}, {}, [2 * 3 + 4, 4 * 8 + 5]),
        (({"weight": W}, {"part.weight": W}), {}, [10 * 15 + 1, 12 * 24 + 1]),
        ([{"weight": W}], {}, [10 * 3 + 1, 12 * 8 + 1]),
        ({"unknown": W}, {}, [2 * 3 + 1, 4 * 8 + 1]),
        ({"weight": W, "part.weight": W, "count": adjoint.zeros(())}, {"strict": True}, [10 * 15 + 1, 12 * 24 + 1]),
    ],
)
def test_functional_call(values: Any, options: dict[str, Any], expected: list[float]) -> None:
    module = Whole()
    before = state(module)
    result = functional_call(module, values, X, **options)
    assert result.tolist() == expected
    assert state(module) == before
    assert not hasattr(module, "unknown")


def test_arguments() -> None:
    module = Part()
    assert functional_call(module, {}, (X, 2.0)).tolist() == [6, 16]
    assert functional_call(module, {}, X, {"k": 2.0}).tolist() == [6, 16]
    assert functional_call(module, {}, kwargs={"x": X}).tolist() == [3, 8]


def test_what_the_object_assigns_is_found_in_the_one_dictionary() -> None:
    module, values = Whole(), {"count": adjoint.tensor(5.0)}
    functional_call(module, values, X)
    assert values["count"].item() == 6
    assert module.count.item() == 0
    several = ({"count": adjoint.tensor(5.0)}, {})
    functional_call(module, several, X)
    assert several[0]["count"].item() == 5


@pytest.mark.parametrize(
    ("values", "options", "error", "message"),
    [
        (3, {}, ValueError, "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got"),
        ((3,), {}, ValueError, "Expected all elements of parameter_and_buffer_dicts to be dictionaries"),
        ([{"weight": W}, {"weight": W}], {}, ValueError, "'weight'. appeared in multiple dictionaries"),
        ({"weight": W, "tied": X}, {}, ValueError, "multiple values for keys .'tied', 'weight'., which are tied"),
        ({"weight": 3}, {}, TypeError, "3 is not an instance of adjoint.Tensor"),
        ({"__call__": W}, {}, TypeError, "attribute `__call__`"),
        ({"": W}, {}, KeyError, "be empty string"),
        ({"no.weight": W}, {}, AttributeError, "Whole has no attribute `no`"),
        ({"weight": W}, {"strict": True}, RuntimeError, r"Missing key\(s\): 'count', 'part.weight'"),
        ({"extra": W}, {"strict": True}, RuntimeError, r"Unexpected key\(s\): 'extra'"),
    ],
)
def test_bad_values_change_nothing(values: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    module = Whole()
    before = state(module)
    with pytest.raises(error, match=message):
        functional_call(module, values, X, **options)
    assert state(module) == before


def test_an_error_inside_puts_all_back() -> None:
    module = Whole()
    before = state(module)
    with pytest.raises(RuntimeError):
        functional_call(module, {"weight": W, "part.weight": W}, adjoint.ones(7))
    assert state(module) == before


def test_gradients_by_parameters() -> None:
    module = Part()
    values = {"weight": W}
    gradients = grad(lambda values: functional_call(module, values, X).sum())(values)
    assert gradients["weight"].tolist() == X.tolist()
    assert module.weight.grad is None


def test_stack_module_state() -> None:
    modules = [Whole() for _ in range(3)]
    for i, module in enumerate(modules):
        with adjoint.no_grad():
            module.part.weight.add_(i)
    parameters, buffers = stack_module_state(modules)
    assert parameters.keys() == {"weight", "part.weight"}
    assert buffers.keys() == {"count"}
    assert all(p.is_leaf and p.requires_grad and p.shape == (3, 2) for p in parameters.values())
    assert not buffers["count"].requires_grad
    mapped = vmap(lambda p, b: functional_call(modules[0], (p, b), X))(parameters, buffers)
    expected = [module(X).tolist() for module in modules]
    assert mapped.tolist() == expected
    mapped.sum().backward()
    assert parameters["part.weight"].grad.shape == (3, 2)
    assert modules[0].part.weight.grad is None


def test_objects_that_do_not_stack() -> None:
    with pytest.raises(RuntimeError, match="Expected at least one model, got 0"):
        stack_module_state([])
    with pytest.raises(RuntimeError, match="Expected all models to be of the same class"):
        stack_module_state([Part(), Whole()])
    first, second = Part(), Part()
    second.training = True
    with pytest.raises(RuntimeError, match="the same training/eval mode"):
        stack_module_state([first, second])
    second = Part()
    second.weight.requires_grad_(False)
    with pytest.raises(RuntimeError, match=r"Expected weight from each model to have the same \.requires_grad"):
        stack_module_state([first, second])


# patterns of axes -----------------------------------------------------------------------------------------------------


@st.composite
def patterns(draw: Any) -> tuple[str, tuple[int, ...], tuple[int, ...], dict[str, int], list[int]]:
    """A pattern, the shape of its operand, its elementary axes, their lengths, and their order on the right side."""
    n = draw(st.integers(1, 5))
    names, lengths = [f"x{i}" for i in range(n)], [draw(st.integers(1, 3)) for _ in range(n)]
    order = draw(st.permutations(range(n)))

    def group(places: Any) -> list[list[int]]:
        groups: list[list[int]] = []
        for position in places:
            if groups and draw(st.booleans()):
                groups[-1].append(position)
            else:
                groups.append([position])
        return groups

    def text(groups: list[list[int]]) -> str:
        return " ".join(names[g[0]] if len(g) == 1 else "(" + " ".join(names[i] for i in g) + ")" for g in groups)

    left, right = group(range(n)), group(order)
    shape = tuple(int(numpy.prod([lengths[i] for i in g])) for g in left)
    result = tuple(int(numpy.prod([lengths[i] for i in g])) for g in right)
    lengths_by_name = {names[i]: lengths[i] for g in left for i in g[draw(st.integers(0, 1)) :]}
    return f"{text(left)} -> {text(right)}", shape, result, lengths_by_name, [*lengths, *order]


@settings(max_examples=200, deadline=None)
@given(patterns())
def test_rearrange_is_reshape_and_permute(case: Any) -> None:
    pattern, shape, result, lengths_by_name, rest = case
    lengths, order = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    values = numpy.arange(float(numpy.prod(shape))).reshape(shape)
    expected = values.reshape(lengths).transpose(order).reshape(result)
    assert rearrange(adjoint.tensor(values), pattern, **lengths_by_name).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("pattern", "shape", "lengths", "result"),
    [
        ("... -> ...", (2, 3), {}, (2, 3)),
        ("a ... -> ... a", (2, 3, 4), {}, (3, 4, 2)),
        ("a b ... -> (a b) ...", (2, 3), {}, (6,)),
        ("... (b c) -> b ... c", (4, 6), {"b": 2}, (2, 4, 3)),
        ("a ... b -> (... a) b", (2, 3, 4, 5), {}, (24, 5)),
        ("a b -> a 1 b", (2, 3), {}, (2, 1, 3)),
        ("a b -> a (b 1) 1", (2, 3), {}, (2, 3, 1)),
        ("1 a b -> b a", (1, 2, 3), {}, (3, 2)),
        ("() a -> a", (1, 2), {}, (2,)),
        ("a -> () a", (2,), {}, (1, 2)),
        ("-> 1", (), {}, (1,)),
    ],
)
def test_shapes(pattern: str, shape: tuple[int, ...], lengths: dict[str, int], result: tuple[int, ...]) -> None:
    assert rearrange(adjoint.ones(shape), pattern, **lengths).shape == result


def test_rearrange_takes_several_and_has_derivatives() -> None:
    parts = [adjoint.ones(2), adjoint.zeros(2)]
    assert rearrange(parts, "a b -> b a").tolist() == [[1, 0], [1, 0]]
    x = adjoint.ones(4, requires_grad=True)
    (rearrange(x, "(a b) -> b a", a=2) * adjoint.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert x.grad.tolist() == [1, 3, 2, 4]


@pytest.mark.parametrize(
    ("pattern", "lengths", "message"),
    [
        ("a b", {}, "single '->'"),
        ("a b -> b -> a", {}, "single '->'"),
        ("a b -> a c", {}, r"only on one side .*\['b', 'c'\]"),
        ("a b ->", {}, "only on one side"),
        ("a -> a", {}, r"dimensions in pattern \(1\) must be equal"),
        ("a b c -> a b c", {}, r"dimensions in pattern \(3\) must be equal"),
        ("a a -> a", {}, "duplicate dimension 'a'"),
        ("a b -> a b", {"z": 2}, "not found in rearrange expression"),
        ("a b -> a b", {"a": 5}, r"Dimension sizes to do not match \(2 != 5\) when matching dimension pack \(a,\)"),
        ("(a c) b -> a c b", {"a": 4}, r"does not evenly fit into larger dimension: 2 vs \(4, '\?'\)"),
        ("(a c) b -> a c b", {}, "cannot infer the sizes of two dimensions at once a and c"),
        ("1 b -> b", {}, r"Dimension sizes to do not match \(2 != 1\)"),
        ("(a c) b -> a c b", {"a": 1, "c": 3}, r"Dimension sizes to do not match \(2 != 3\) when .* pack \(a, c\)"),
        ("(a c) b -> a c b", {"a": 0}, "does not evenly fit"),
        ("(a c) b -> a c b", {"a": -2}, "does not evenly fit"),
        ("a 2 -> a", {}, "only supports unnamed axes of size 1, got 2"),
        ("a _ -> a _", {}, "Invalid axis identifier: _"),
        ("a 2 -> a 2", {}, "only supports unnamed axes of size 1"),
        ("a 2b -> a 2b", {}, "Invalid axis identifier: 2b not a valid python identifier"),
        ("a b -> ((a) b)", {}, "one-level"),
        ("a b -> (a b", {}, "Imbalanced"),
        ("a b -> a) b", {}, "Imbalanced"),
        ("a b -> a b ...", {}, "Ellipsis found in right side"),
        ("(... a) b -> a b ...", {}, "Ellipsis is parenthesis"),
    ],
)
def test_bad_patterns(pattern: str, lengths: dict[str, int], message: str) -> None:
    of_lengths = any(part in message for part in ("do not match", "evenly", "infer"))
    with pytest.raises(ValueError, match=message) as caught:
        rearrange(adjoint.ones(2, 3), pattern, **lengths)
    assert type(caught.value) is (DimensionBindError if of_lengths else ValueError)


@pytest.mark.parametrize("length", [2.0, "2", True, None, numpy.int64(2)])
@pytest.mark.parametrize("pattern", ["(a b) c -> a b c", "a c -> c a", "a b c d -> a"])
def test_lengths_are_ints(pattern: str, length: Any) -> None:
    with pytest.raises(TypeError, match=r"rearrange axis lengths must be integers, got: <class '\w+"):
        rearrange(adjoint.ones(2, 3), pattern, a=length)


# values inside of transforms ------------------------------------------------------------------------------------------


def test_debug_unwrap() -> None:
    notes: list[Any] = []

    def inner(x: Any) -> Any:
        notes.extend([debug_unwrap(x), debug_unwrap(x, recurse=False)])
        return x

    x = adjoint.arange(6.0).reshape(2, 3)
    vmap(vmap(inner, in_dims=0), in_dims=1)(x)
    assert notes[0].tolist() == x.T.tolist()
    assert notes[1].shape == (2,)
    assert debug_unwrap(x).tolist() == x.tolist()
    grad(lambda x: (notes.append(debug_unwrap(x)), x.sum())[1])(x)
    assert not notes[-1].requires_grad
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        debug_unwrap(3)


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
def test_functionalize(remove: str) -> None:
    x = adjoint.zeros(2, 2)
    result = functionalize(lambda x: x.add_(1).view(-1), remove=remove)(x)
    assert result.tolist() == [1, 1, 1, 1]
    assert x.tolist() == [[1, 1], [1, 1]]
    result.add_(1)
    assert (x[0, 0].item() == 2) == (remove == "mutations")
    assert functionalize(lambda x: 3, remove=remove)(x) == 3
    with pytest.raises(RuntimeError, match="invalid argument for remove=zz"):
        functionalize(lambda x: x, remove="zz")
