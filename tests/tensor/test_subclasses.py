"""Subclasses of Tensor: results have the arguments' most derived class, or a class that the subclass selects."""

from collections.abc import Callable
from typing import Any

import pytest

import adjoint
import adjoint.autograd.forward_ad as fw
from adjoint import Tensor
from adjoint.autograd import grad
from adjoint.nn import Parameter


class Base(Tensor):
    pass


class Derived(Base):
    pass


class Other(Tensor):
    pass


class Weight(Parameter):
    pass


def of(cls: type, *shape: int) -> Any:
    return adjoint.ones(*(shape or (3,))).as_subclass(cls)


def classes(result: Any) -> list[type]:
    members = result if isinstance(result, (tuple, list)) else [result]
    return [type(member) for member in members]


UNARY: dict[str, Callable[[Any], Any]] = {
    "number on the right": lambda t: t * 2,
    "number on the left": lambda t: 2 - t,
    "quotient of a number": lambda t: 1 / t,
    "power": lambda t: 2**t,
    "negation": lambda t: -t,
    "array": lambda t: t + adjoint.ones(3).numpy(),
    "function": adjoint.sin,
    "keywords": lambda t: adjoint.sum(t, dim=0, keepdim=True),
    "view": lambda t: t.view(1, 3),
    "T": lambda t: t.reshape(1, 3).T,
    "index": lambda t: t[0],
    "iteration": list,
    "several results": lambda t: adjoint.topk(t, 2),
    "split": lambda t: t.split(1),
    "svd": lambda t: adjoint.linalg.svd(t.reshape(1, 3)),
    "composite": lambda t: adjoint.nn.functional.softmax(t, 0),
    "comparison": lambda t: t == 1,
    "detach": lambda t: t.detach(),
    "data": lambda t: t.data,
    "to": lambda t: t.to(adjoint.float64),
    "clone": lambda t: t.clone(),
    **{name: getattr(adjoint, name) for name in ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like")},
    "full_like": lambda t: adjoint.full_like(t, 2),
    "randint_like": lambda t: adjoint.randint_like(t, 3),
    "new_zeros": lambda t: t.new_zeros(2),
    "new_ones": lambda t: t.new_ones(2),
    "new_empty": lambda t: t.new_empty(2),
    "new_full": lambda t: t.new_full((2,), 3),
    "new_tensor": lambda t: t.new_tensor([1.0]),
    "new_empty_strided": lambda t: t.new_empty_strided((2,), (1,)),
}


@pytest.mark.parametrize("cls", [Base, Derived])
@pytest.mark.parametrize("name", UNARY)
def test_results_are_of_the_class(name: str, cls: type) -> None:
    assert set(classes(UNARY[name](of(cls)))) == {cls}


@pytest.mark.parametrize("name", UNARY)
def test_results_of_parameters_are_plain(name: str) -> None:
    for weight in (Parameter(adjoint.ones(3)), Weight(adjoint.ones(3))):
        assert set(classes(UNARY[name](weight.requires_grad_(False)))) == {Tensor}


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "operator": lambda a, b: a * b,
    "function": adjoint.add,
    "keyword": lambda a, b: adjoint.add(a, other=b),
    "comparison": lambda a, b: a < b,
    "matmul": lambda a, b: a @ b,
    "three": lambda a, b: adjoint.where(adjoint.ones(3) > 0, a, b),
    "sequence": lambda a, b: adjoint.cat([a, b]),
    "stack": lambda a, b: adjoint.stack((a, b)),
    "equation": lambda a, b: adjoint.einsum("i,i->", a, b),
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(
    ("first", "second", "result"),
    [(Base, Tensor, Base), (Base, Derived, Derived), (Parameter, Tensor, Tensor), (Parameter, Base, Base)],
)
def test_the_most_derived_class_decides(name: str, first: type, second: type, result: type) -> None:
    a, b = of(first), of(second)
    assert classes(BINARY[name](a, b)) == classes(BINARY[name](b, a)) == [result]
    assert type(a) is first and type(b) is second


@pytest.mark.parametrize("name", BINARY)
def test_unrelated_classes(name: str) -> None:
    with pytest.raises(TypeError, match="all __torch_function__ handlers returned NotImplemented"):
        BINARY[name](of(Base), of(Other))


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients(create_graph: bool) -> None:
    x = of(Derived).requires_grad_()
    cotangent = adjoint.ones(3)
    gradients = grad(x.exp() * x, x, cotangent, create_graph=create_graph)
    assert classes(gradients) == [Derived] and type(cotangent) is Tensor
    assert classes(grad(x * 1, x, cotangent)) == [Derived] and type(cotangent) is Tensor
    (x.exp() * x).sum().backward(create_graph=create_graph)
    assert type(x.grad) is Tensor
    x.grad = None
    plain = adjoint.ones(3, requires_grad=True)
    types: list[type] = []
    y = plain * of(Base)
    y.register_hook(lambda g: types.append(type(g)))
    y.sum().backward(create_graph=create_graph)
    assert type(plain.grad) is Tensor and types == [Tensor]
    plain.grad = None


def test_what_is_plain() -> None:
    x = of(Base)
    assert type(adjoint.tensor(x)) is Tensor and type(x.as_subclass(Tensor)) is Tensor
    assert type(x.sum().item()) is float and type(x.numpy()).__name__ == "ndarray"
    assert type(x[1:]._base) is Tensor
    assert type(adjoint.func.grad(lambda v: (v * v).sum())(x)) is Tensor
    assert type(adjoint.func.grad(lambda v: (v * v).sum())(x.requires_grad_())) is Tensor
    x = of(Base)
    assert type(adjoint.func.vmap(lambda v: v * 2)(x)) is Tensor
    assert classes(adjoint.func.jvp(lambda v: v * v, (x,), (adjoint.ones(3),))) == [Tensor, Tensor]
    with fw.dual_level():
        assert type(fw.make_dual(x, adjoint.ones(3)) * 2) is Base


def test_in_place_keeps_the_object() -> None:
    x, plain = of(Base), adjoint.ones(3)
    assert x.mul_(2) is x and type(x) is Base and x.tolist() == [2, 2, 2]
    assert plain.add_(x) is plain and type(plain) is Tensor and plain.tolist() == [3, 3, 3]
    x[0] = 5
    assert type(x) is Base and x.tolist() == [5, 2, 2]
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'adjoint\.add_'"):
        x.add_(of(Other))


def test_results_have_a_history() -> None:
    leaf = adjoint.ones(3, requires_grad=True)
    y = (leaf.as_subclass(Base) * 2).exp()
    assert y.grad_fn.name() == "ExpBackward0"
    y.sum().backward()
    assert leaf.grad.tolist() == pytest.approx([2 * 2.718281828**2] * 3)


class Logged(Tensor):
    """A subclass that notes the called functions, and has a unit."""

    calls: list[Any] = []
    unit = ""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.calls.append((func, types, args, kwargs))
        if func is adjoint.cos:
            return "cosine"
        result = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(result, Logged) and isinstance(args[0], Logged):
            result.unit = args[0].unit
        return result


def test_a_class_says_what_operations_give() -> None:
    x = of(Logged)
    x.unit = "m"
    Logged.calls.clear()
    y = adjoint.sum(x * 2, dim=0)
    assert type(y) is Logged and y.unit == "m" and y.item() == 6
    assert [call[0].__name__ for call in Logged.calls] == ["mul", "sum"]
    assert Logged.calls[0] == (adjoint.mul, (Logged,), (x, 2), {})
    assert adjoint.cos(x) == "cosine"
    Logged.calls.clear()
    x.mul_(3)
    assert [call[0].__name__ for call in Logged.calls] == ["mul_"] and x.tolist() == [3, 3, 3]


def test_formulas_ask_no_class() -> None:
    x = of(Logged).requires_grad_()
    y = (x * x).exp().sum()
    Logged.calls.clear()
    y.backward(create_graph=True)
    assert [call[0] for call in Logged.calls] == [Logged.__mro__[1].backward]
    x.grad = None


def test_an_error_leaves_no_mode_behind() -> None:
    with pytest.raises(RuntimeError):
        of(Base) + adjoint.ones(4)
    assert type(of(Base) * 2) is Base
