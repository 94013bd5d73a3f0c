"""`__torch_function__`: other classes, the functions that they get, and adjoint.overrides."""

from __future__ import annotations

from typing import Any

import pytest

import adjoint
from adjoint import Tensor, overrides
from adjoint.nn import functional as F


class Foreign:
    """A class that is not a Tensor. It returns the function that was called."""

    shape = (2, 2)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func


class Silent:
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented


class Sub(Tensor):
    """A subclass that notes the functions that it gets."""

    calls: list[Any] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.calls.append(func)
        return super().__torch_function__(func, types, args, kwargs or {})


CALLS: dict[str, Any] = {
    "add": (lambda f, t: adjoint.add(t, f), adjoint.add),
    "sum": (lambda f, t: adjoint.sum(f), adjoint.sum),
    "sum along": (lambda f, t: adjoint.sum(f, dim=0), adjoint.sum),
    "mean": (lambda f, t: adjoint.mean(f), adjoint.mean),
    "prod": (lambda f, t: adjoint.prod(f), adjoint.prod),
    "clone": (lambda f, t: adjoint.clone(f), adjoint.clone),
    "matmul": (lambda f, t: adjoint.matmul(t, f), adjoint.matmul),
    "div": (lambda f, t: adjoint.div(t, f), adjoint.div),
    "cat": (lambda f, t: adjoint.cat([t, f]), adjoint.cat),
    "stack": (lambda f, t: adjoint.stack([t, f]), adjoint.stack),
    "keyword": (lambda f, t: adjoint.add(t, other=f), adjoint.add),
    "softmax": (lambda f, t: F.softmax(f, 0), F.softmax),
    "linear": (lambda f, t: F.linear(t, f), F.linear),
    "cholesky": (lambda f, t: adjoint.linalg.cholesky(f), adjoint.linalg.cholesky),
    "zeros_like": (lambda f, t: adjoint.zeros_like(f), adjoint.zeros_like),
    "randn_like": (lambda f, t: adjoint.randn_like(f), adjoint.randn_like),
    "numel": (lambda f, t: adjoint.numel(f), adjoint.numel),
    "is_complex": (lambda f, t: adjoint.is_complex(f), adjoint.is_complex),
    "is_same_size": (lambda f, t: adjoint.is_same_size(t, f), adjoint.is_same_size),
    "result_type": (lambda f, t: adjoint.result_type(f, 3), adjoint.result_type),
    "method": (lambda f, t: t.add(f), adjoint.add),
    "operator": (lambda f, t: t + f, adjoint.add),
    "matrix operator": (lambda f, t: t @ f, adjoint.matmul),
}


@pytest.mark.parametrize("name", CALLS)
def test_foreign_classes_are_asked(name: str) -> None:
    call, function = CALLS[name]
    assert call(Foreign(), adjoint.ones(2, 2)) is function


def test_foreign_classes_that_decline() -> None:
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'adjoint\.exp'"):
        adjoint.exp(Silent())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be Tensor, not object"):
        adjoint.exp(object())  # type: ignore[arg-type]


def of_sub() -> Any:
    Sub.calls.clear()
    return adjoint.ones(2, 2).as_subclass(Sub)


@pytest.mark.parametrize(
    ("call", "function"),
    [
        (lambda x: x.sum(), adjoint.sum),
        (lambda x: x.mean(0), adjoint.mean),
        (lambda x: x / x, adjoint.div),
        (lambda x: x.double(), Tensor.double),
        (lambda x: x.to(adjoint.float64), Tensor.to),
        (lambda x: x.detach(), Tensor.detach),
        (lambda x: x.requires_grad_(), Tensor.requires_grad_),
        (lambda x: x.new_zeros(2), Tensor.new_zeros),
        (lambda x: adjoint.ones_like(x), adjoint.ones_like),
        (lambda x: x[0], Tensor.__getitem__),
        (lambda x: F.softmax(x, 0), F.softmax),
        (lambda x: F.linear(x, x), F.linear),
        (lambda x: adjoint.linalg.norm(x), adjoint.linalg.norm),
        (lambda x: adjoint.isclose(x, x), adjoint.isclose),
        (lambda x: adjoint.unique(x), adjoint.unique),
    ],
)
def test_subclasses_get_the_functions_that_users_call(call: Any, function: Any) -> None:
    result = call(of_sub())
    assert Sub.calls == [function]
    assert type(result) is Sub


def test_functions_in_place_keep_the_object() -> None:
    x, plain = of_sub(), adjoint.ones(2, 2)
    assert plain.clamp_(max=x) is plain and type(plain) is Tensor
    assert x.clamp_(max=0.5) is x


def test_questions() -> None:
    x = of_sub()
    assert overrides.has_torch_function((x,)) and overrides.has_torch_function((Foreign(),))
    assert overrides.has_torch_function_unary(x) and not overrides.has_torch_function_unary(3)
    assert overrides.has_torch_function_variadic(3, x) and not overrides.has_torch_function_variadic(3, 4)
    assert not overrides.has_torch_function((adjoint.ones(2), adjoint.nn.Parameter(adjoint.ones(2)), 3))
    assert overrides.is_tensor_like(Foreign()) and not overrides.is_tensor_like(3)
    assert overrides.is_tensor_method_or_property(Tensor.reshape)
    assert not overrides.is_tensor_method_or_property(F.softmax)
    assert overrides.resolve_name(Tensor.add) == "torch.Tensor.add"
    assert overrides.resolve_name(adjoint.add) == "torch.add"
    assert overrides.resolve_name(len) is None
    assert overrides.get_default_nowrap_functions() == set()
    table = overrides.get_overridable_functions()
    assert F.softmax in table[F] and Tensor.reshape in table[Tensor]


def test_functions_of_users() -> None:
    def double(x: Any) -> Any:
        if overrides.has_torch_function((x,)):
            return overrides.handle_torch_function(double, (x,), x)
        return 2 * x

    @overrides.wrap_torch_function(lambda x: (x,))
    def triple(x: Any) -> Any:
        return 3 * x

    assert double(Foreign()) is double and double(adjoint.ones(1)).item() == 2
    assert triple(Foreign()) is triple and triple(adjoint.ones(1)).item() == 3


class Made(Tensor):
    """A subclass that `__new__` makes, with an attribute."""

    def __new__(cls, data: Any, extra: Any) -> Any:
        tensor = super().__new__(cls, data)
        tensor.extra = extra  # type: ignore[attr-defined]
        return tensor


class Viewed(Tensor):
    def __new__(cls, data: Any, extra: Any = None) -> Any:
        return adjoint.as_tensor(data).as_subclass(cls)

    def __init__(self, data: Any, extra: Any = None) -> None:
        super().__init__()
        self.extra = extra


class Weight(adjoint.nn.Parameter):
    def __new__(cls, data: Any = None, side: Any = None, requires_grad: bool = True) -> Any:
        tensor = adjoint.nn.Parameter.__new__(cls, data, requires_grad=requires_grad)
        tensor.side = side  # type: ignore[attr-defined]
        return tensor


def test_subclasses_with_arguments_of_their_own() -> None:
    import copy
    import pickle

    instance, viewed, weight = Made([1.0, 2.0], 3), Viewed([1.0, 2.0], extra=4), Weight(adjoint.ones(2), side="left")
    assert instance.tolist() == viewed.tolist() == [1, 2] and weight.tolist() == [1, 1] and weight.requires_grad
    assert (instance.extra, viewed.extra, weight.side) == (3, 4, "left")  # type: ignore[attr-defined]
    assert type(instance * 2) is Made and type(viewed + instance.as_subclass(Tensor)) is Viewed
    assert type(weight * 2) is Tensor
    for each in (instance, viewed, weight):
        for twin in (copy.deepcopy(each), pickle.loads(pickle.dumps(each))):
            assert type(twin) is type(each) and twin.tolist() == each.tolist()
            for name in ("extra", "place"):
                assert getattr(twin, name, None) == getattr(each, name, None)
