"""Blocks whose `__torch_function__` gets all calls of functions: overrides.TorchFunctionMode."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import adjoint
from adjoint import Tensor, overrides
from adjoint.nn import functional as F


class Log(overrides.TorchFunctionMode):
    def __init__(self) -> None:
        self.functions: list[Any] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.functions.append(func)
        return func(*args, **(kwargs or {}))


class Doubled(overrides.TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        return result * 2 if func is adjoint.add else result


class Refusing(overrides.TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented


class Sub(Tensor):
    pass


CALLS: dict[str, Any] = {
    "operator": (lambda x: x + x, adjoint.add),
    "one operand": (lambda x: -x, adjoint.neg),
    "number first": (lambda x: 2 * x, adjoint.mul),
    "method": (lambda x: x.exp(), adjoint.exp),
    "reduction": (lambda x: x.sum(0), adjoint.sum),
    "composite": (lambda x: F.softmax(x, 0), F.softmax),
    "sequence": (lambda x: adjoint.cat([x, x]), adjoint.cat),
    "index": (lambda x: x[0], Tensor.__getitem__),
    "creation": (lambda x: adjoint.zeros(2), adjoint.zeros),
    "data": (lambda x: adjoint.tensor([1.0]), adjoint.tensor),
    "linear algebra": (lambda x: adjoint.linalg.norm(x), adjoint.linalg.norm),
}


@pytest.mark.parametrize("call", CALLS)
def test_blocks_get_the_functions_that_users_call(call):
    run, function = CALLS[call]
    x = adjoint.ones(2, 2)
    outside = run(x)
    with Log() as log:
        result = run(x)
    assert log.functions == [function]
    assert adjoint.equal(result, outside)
    run(x)
    assert log.functions == [function]


def test_functions_in_place_are_seen_and_run():
    x = adjoint.ones(2)
    with Log() as log:
        x.mul_(3)
    assert [each.__name__ for each in log.functions] == ["mul_"]
    assert x.tolist() == [3, 3]


def test_the_inner_block_is_asked_first():
    x = adjoint.ones(2)
    with Doubled():
        assert (x + 1).tolist() == [4, 4]
        with Doubled():
            assert (x + 1).tolist() == [8, 8]
    assert (x + 1).tolist() == [2, 2]


def test_a_block_may_change_arguments():
    class Double(overrides.BaseTorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is adjoint.zeros:
                kwargs = (kwargs or {}) | {"dtype": adjoint.float64}
            return super().__torch_function__(func, types, args, kwargs)

    with Double():
        assert adjoint.zeros(2).dtype is adjoint.float64


def test_gradients_are_those_without_the_block():
    x = adjoint.tensor([1.0, 2.0], requires_grad=True)
    with Log() as log:
        (x * x).sum().backward()
    assert x.grad.tolist() == [2, 4]
    assert [each.__name__ for each in log.functions] == ["mul", "sum"]


def test_types_are_the_classes_with_an_override():
    types: list[Any] = []

    class Types(overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
            types.append(kinds)
            return func(*args, **(kwargs or {}))

    with Types():
        result = adjoint.add(adjoint.ones(2).as_subclass(Sub), adjoint.ones(2))
    assert types[-1] == (Sub,)
    assert type(result) is Sub


def test_a_block_that_answers_nothing_is_an_error():
    with pytest.raises(TypeError, match=r"failed for 'adjoint\.ones'[^-]*- mode object <.*Refusing"), Refusing():
        adjoint.ones(2)
    assert adjoint.ones(2).tolist() == [1, 1]


def test_an_error_of_the_block_ends_it():
    class Failing(overrides.TorchFunctionMode):
        pass

    with pytest.raises(NotImplementedError), Failing():
        adjoint.ones(2)
    assert adjoint.ones(2).tolist() == [1, 1]


def test_other_threads_are_not_in_the_block():
    with Log() as log:
        thread = threading.Thread(target=lambda: adjoint.ones(2) + 1)
        thread.start()
        thread.join()
    assert log.functions == []


def test_has_torch_function_is_true_in_a_block():
    with Log():
        assert overrides.has_torch_function((1,))
    assert not overrides.has_torch_function((1,))


def test_subclasses_print_their_name():
    assert repr(adjoint.tensor([1.0]).as_subclass(Sub)) == "Sub([1.])"
