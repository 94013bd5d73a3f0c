"""Operations and backward passes give the same bits as programs and without programs.

Plain Python has no programs. The tests with Tensors also run there.
"""

import threading
import warnings

import numpy as np
import pytest

import adjoint
from adjoint.core.recorded import operations
from adjoint.program import machine
from adjoint.rules import TABLE
from support.samples import domain

rng = np.random.default_rng(7)

# kernels and formulas -------------------------------------------------------------------------------------------------

KIND = "elementwise"
ELEMENTWISE = [rule for rule in TABLE.values() if rule.kind == KIND and rule.has_derivative and rule.dtypes != "any"]
# some of their derivatives do not exist
ELEMENTWISE = [rule for rule in ELEMENTWISE if rule.name not in ("igamma", "igammac", "special_zeta")]


def arguments_of(rule, shape, kind):
    required = [p.name for p in rule.parameters if p.name in rule.inputs]
    return {name: rng.uniform(*domain(rule, name), shape).astype(kind) for name in required}


#: Inputs without a derivative.
ORDERS = {"jv": "v", "yv": "v"}


def call(rule, arrays):
    tensors = {name: adjoint.from_numpy(array) for name, array in arrays.items()}
    for name in tensors.keys() - {ORDERS.get(rule.name)}:
        tensors[name].requires_grad_()
    result = operations[rule.name](**tensors)
    return result, [tensor for tensor in tensors.values() if tensor.requires_grad]


@pytest.mark.parametrize("rule", ELEMENTWISE, ids=lambda rule: rule.name)
def test_gradients_equal_those_of_recorded_formulas(rule):
    required = {p.name for p in rule.parameters if p.default is p.empty}
    if not required <= set(rule.inputs):
        pytest.skip("needs parameters that only samples have")
    for shape, kind in (((5,), "f8"), ((3, 4), "f4"), ((1100,), "f8")):
        arrays = arguments_of(rule, shape, kind)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            first, again = call(rule, arrays), call(rule, arrays)
        g = adjoint.from_numpy(rng.normal(size=shape).astype(kind))
        quick = adjoint.autograd.grad(first[0], first[1], g, allow_unused=True)
        # with create_graph, formulas run on Tensors, one operation after the other
        plain = adjoint.autograd.grad(again[0], again[1], g, create_graph=True, allow_unused=True)
        for a, b in zip(quick, plain, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a.numpy(), b.detach().numpy(), rtol=1e-6 if kind == "f4" else 1e-14)
                assert a.dtype == b.dtype


def test_numbers_in_formulas_are_told_apart():
    for exponent in (2, 2.0, True, 3, -1, 0.5, 0, 0.0, -0.0, 1, 2, 3.7):
        x = adjoint.tensor([0.5, 1.5, 2.0], dtype=adjoint.float64, requires_grad=True)
        y = x**exponent
        (slope,) = adjoint.autograd.grad(y.sum(), x)
        values = x.detach().numpy()
        np.testing.assert_array_equal(y.detach().numpy(), values**exponent)
        np.testing.assert_allclose(slope.numpy(), float(exponent) * values ** (float(exponent) - 1), rtol=1e-15)
    for k in range(200):
        # there are more numbers than programs in the cache
        x = adjoint.tensor([1.5], dtype=adjoint.float64, requires_grad=True)
        ((x ** (k + 0.25)) / (k + 1)).backward()
        assert x.grad.item() == pytest.approx((k + 0.25) * 1.5 ** (k - 0.75) / (k + 1), rel=1e-13)


def test_a_number_is_an_operand_whichever_way_led_to_the_program():
    x = adjoint.tensor([0.5, 1.5, 2.0], dtype=adjoint.float64)
    for number in (2, 3):
        expected = (x * number).numpy()  # the first call finds a program for this number
        for _ in range(3):
            value, tangent = adjoint.func.jvp(lambda x, number=number: x * number, (x,), (x,))
            np.testing.assert_array_equal(value.numpy(), expected)
            np.testing.assert_array_equal(tangent.numpy(), expected)


# NumPy's warnings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "value", "message"),
    [
        (lambda x: x.log(), 0.0, "divide by zero"),
        (lambda x: x.exp(), 1000.0, "overflow"),
        (lambda x: x / 0.0, 1.0, "divide by zero"),
        (lambda x: x * 1e300, 1e300, "overflow"),
        (lambda x: x.sqrt(), -1.0, "invalid value"),
        (lambda x: x - x, np.inf, "invalid value"),
    ],
)
def test_warnings_of_numpy_are_not_lost(function, value, message):
    x = adjoint.tensor([1.0, value, 2.0], dtype=adjoint.float64)
    with pytest.warns(RuntimeWarning, match=message):
        function(x)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match=message):
        function(x)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert function(x).shape == (3,)


def test_backward_passes_are_quiet_and_leave_the_setting_as_it_was():
    before = np.geterr()
    x = adjoint.tensor([0.0, 1.0], dtype=adjoint.float64, requires_grad=True)
    with np.errstate(divide="raise"):
        x.sqrt().sum().backward()
        assert x.grad.tolist() == [float("inf"), 0.5]
        assert np.geterr()["divide"] == "raise"
        x.register_hook(lambda g: None if np.geterr()["divide"] == "ignore" else g * 0)
        x.grad = None
        x.sqrt().sum().backward()
        assert x.grad.tolist() == [float("inf"), 0.5]
    assert np.geterr() == before

    def fail(g):
        raise KeyError("hook")

    x.register_hook(fail)
    with pytest.raises(KeyError):
        x.sqrt().sum().backward()
    assert np.geterr() == before


# aliasing, retained graphs, hooks, threads ----------------------------------------------------------------------------


def test_results_never_share_memory_with_what_is_saved_or_delivered():
    x = adjoint.rand(6, dtype=adjoint.float64, requires_grad=True)
    grads = []
    y = x.tanh()
    y.register_hook(lambda g: grads.append(g))
    z = (y * 2.0 + y) * y
    for _ in range(3):
        z.sum().backward(retain_graph=True)
    first = [array.numpy().copy() for array in (*grads, y.detach(), x.grad)]
    x.grad.mul_(0)
    for k, value in enumerate(grads):
        value.mul_(7)
        assert not np.may_share_memory(value.numpy(), x.grad.numpy()), k
    x.grad = None
    for _ in range(3):
        z.sum().backward(retain_graph=True)
    np.testing.assert_array_equal(y.detach().numpy(), first[-2])
    np.testing.assert_array_equal(x.grad.numpy(), first[-1])


def test_root_without_arguments_is_checked_as_ever():
    x = adjoint.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        x.tanh().backward()
    with pytest.raises(RuntimeError, match="does not require grad"):
        adjoint.tensor(1.0).backward()
    with pytest.raises(RuntimeError, match="does not require grad"):
        adjoint.autograd.grad(x.sum(), adjoint.tensor(1.0))
    with pytest.raises(RuntimeError, match="appears to not have been used"):
        adjoint.autograd.grad(x.sum(), adjoint.tensor(1.0, requires_grad=True))
    leaf = adjoint.tensor(3.0, requires_grad=True)
    leaf.backward()
    leaf.backward()
    assert leaf.grad.item() == 2
    assert adjoint.autograd.grad(leaf, (leaf, leaf))[1].item() == 1
    y = x.sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        (y * x.sum()).backward() or x.exp().sum().backward() or twice(x)


def twice(x):
    y = (x * x).sum()
    y.backward()
    y.backward()


def test_threads_share_programs():
    x = adjoint.rand(2000, dtype=adjoint.float64)
    expected = (np.tanh(x.numpy()) * 2 + 1) ** 2
    failures = []

    def work():
        for _ in range(50):
            leaf = x.clone().requires_grad_()
            y = (leaf.tanh() * 2 + 1) ** 2
            y.sum().backward()
            if not np.array_equal(y.detach().numpy(), expected) or leaf.grad is None:
                failures.append(y)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_arrays_long_enough_to_let_other_threads_run():
    x = adjoint.rand(70_000, dtype=adjoint.float64, requires_grad=True)
    y = x.tanh()
    y.sum().backward()
    np.testing.assert_array_equal(y.detach().numpy(), np.tanh(x.detach().numpy()))
    result = y.detach().numpy()
    np.testing.assert_array_equal(x.grad.numpy(), 1 - result * result)


# methods and attributes -----------------------------------------------------------------------------------------------


def test_methods_of_operations_behave_as_functions_in_a_class():
    import inspect
    import pickle

    method = adjoint.Tensor.tanh
    x = adjoint.tensor([0.0, 1.0])
    assert x.tanh.__self__ is x and method(x).tolist() == x.tanh().tolist() and repr(method) == "<method Tensor.tanh>"
    assert (method.__name__, method.__qualname__) == ("tanh", "Tensor.tanh") and "tanh" in method.__doc__
    assert str(inspect.signature(adjoint.Tensor.add)).startswith("(self, other")
    assert str(inspect.signature(x.add)).startswith("(other")
    assert pickle.loads(pickle.dumps(method)) is method
    assert x.add_(1, alpha=2).tolist() == [2, 3] and adjoint.Tensor.add_.__doc__.startswith(
        "In-place version of add()."
    )
    with pytest.raises(TypeError, match="got an unexpected keyword argument"):
        x.tanh(wrong=1)
    with pytest.raises(TypeError, match="takes"):
        x.tanh(1, 2)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        adjoint.tanh()

    class Net:
        act = adjoint.tanh

    assert Net().act(x).tolist() == x.tanh().tolist()


def test_attributes_of_tensors_and_nodes():
    x = adjoint.tensor([0.0, 1.0], requires_grad=True)
    assert not machine.compiled or x.__dict__ == {}
    x.label = "input"
    y = x.tanh()
    y.grad_fn.label = "node"
    assert (x.__dict__["label"], y.grad_fn.label) == ("input", "node")
