"""Variable, volatile, older names of arguments, and reinforce."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import adjoint
from adjoint.autograd import Variable, backward, grad, variable
from adjoint.core.modes.state import current

VOLATILE = "volatile is deprecated. Use `with adjoint.no_grad\\(\\):` instead."


@pytest.fixture
def x() -> adjoint.Tensor:
    return adjoint.tensor([1.0, 2.0], requires_grad=True)


# Variable -------------------------------------------------------------------------------------------------------------


def test_a_variable_is_a_leaf_tensor_with_the_same_memory(x: adjoint.Tensor) -> None:
    for data in (x, x * 2, adjoint.ones(2)):
        variable = Variable(data)
        assert type(variable) is adjoint.Tensor and variable.is_leaf and not variable.requires_grad
        assert variable is not data and variable.data_ptr() == data.data_ptr()
    assert Variable(x, True).requires_grad and Variable(data=x, requires_grad=True).requires_grad
    assert Variable().shape == Variable(None).shape == (0,)


def test_every_tensor_is_a_variable(x: adjoint.Tensor) -> None:
    assert isinstance(x, Variable) and not isinstance(3, Variable)
    assert Variable is variable.Variable is adjoint.autograd.variable.Variable
    assert type(Variable).__name__ == "VariableMeta" and not issubclass(adjoint.Tensor, Variable)


def test_variables_share_versions() -> None:
    data = adjoint.ones(2)
    variable = Variable(data)
    data.add_(1)
    assert variable._version == data._version == 1


@pytest.mark.parametrize("data", [[1.0], 2.0, adjoint.ones(2).numpy()])
def test_data_must_be_a_tensor(data: object) -> None:
    with pytest.raises(TypeError, match=r"Variable data has to be a tensor, but got (list|float|numpy.ndarray)"):
        Variable(data)


def test_what_a_variable_cannot_be(x: adjoint.Tensor) -> None:
    both = "can't be volatile and require_grad"
    with pytest.warns(UserWarning, match=VOLATILE), pytest.raises(ValueError, match=both):
        Variable(x, requires_grad=True, volatile=True)
    with pytest.raises(RuntimeError, match="floating point"):
        Variable(adjoint.ones(2, dtype=adjoint.int64), requires_grad=True)


# volatile -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def silent() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.usefixtures("silent")
class TestVolatile:
    def test_spreads_and_keeps_no_history(self, x: adjoint.Tensor) -> None:
        v = Variable(adjoint.ones(2), volatile=True)
        for y in (v * x, x * v, v.sin(), adjoint.cat([x, v]), (v * x) + x, v[:1], v.detach(), v @ x):
            assert not y.requires_grad and y.grad_fn is None and y.volatile
        values, indices = v.max(dim=0)
        assert values.volatile and indices.volatile
        assert (x * 2).requires_grad and not (x * 2).volatile

    def test_values_are_the_same(self, x: adjoint.Tensor) -> None:
        v = Variable(adjoint.tensor([3.0, 4.0]), volatile=True)
        assert (v * x + 1).tolist() == [4.0, 9.0]
        assert adjoint.stack([x, v]).tolist() == [[1, 2], [3, 4]]

    def test_in_place(self, x: adjoint.Tensor) -> None:
        v = Variable(adjoint.ones(2), volatile=True)
        y = x * 2
        y.add_(v)
        assert y.tolist() == [3, 5] and y.grad_fn is None and y.volatile
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            x.add_(v)
        assert x.tolist() == [1, 2]
        with adjoint.no_grad():
            x.add_(v)
        assert x.tolist() == [2, 3] and x.requires_grad and x.is_leaf and not x.volatile

    def test_switched_on_a_leaf(self, x: adjoint.Tensor) -> None:
        x.volatile = True
        assert x.volatile and not x.requires_grad and not (x * 2).requires_grad
        x.volatile = False
        assert not x.volatile and not (x * 2).volatile
        with pytest.raises(RuntimeError, match="volatile can be changed only on leaf tensors"):
            (x.requires_grad_() * 2).volatile = True

    def test_costs_nothing_when_all_are_gone(self) -> None:
        before = current().unusual
        v = Variable(adjoint.ones(2), volatile=True)
        w = v * 2
        assert current().unusual == before + 1 and w.volatile
        del v, w
        gc.collect()
        assert current().unusual == before and current().interceptors == ()

    def test_in_all_threads(self, x: adjoint.Tensor) -> None:
        v = Variable(adjoint.ones(2), volatile=True)
        flags: list[bool] = []
        thread = threading.Thread(target=lambda: flags.append((v * x).requires_grad))
        thread.start()
        thread.join()
        assert flags == [False]

    def test_custom_function(self, x: adjoint.Tensor) -> None:
        class Mixed(adjoint.autograd.Function):
            @staticmethod
            def forward(ctx: Any, a: adjoint.Tensor, b: adjoint.Tensor, c: adjoint.Tensor) -> Any:
                ctx.save_for_backward(b)
                ctx.mark_dirty(c)
                return a * b, a, c.mul_(2), 3

        v = Variable(adjoint.tensor([3.0, 4.0]), volatile=True)
        changed = x * 1
        product, same, doubled, number = Mixed.apply(x, v, changed)
        for y in (product, same, doubled):
            assert not y.requires_grad and y.grad_fn is None and y.volatile
        assert product.tolist() == [3, 8] and same.tolist() == [1, 2] and number == 3
        assert doubled.tolist() == changed.tolist() == [2, 4]
        assert same is not x and not x.volatile and x.requires_grad

    def test_copies(self) -> None:
        v = Variable(adjoint.ones(2), volatile=True)
        for twin in (copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
            assert twin.tolist() == [1, 1] and not twin.volatile


def test_volatile_warns(x: adjoint.Tensor) -> None:
    with pytest.warns(UserWarning, match=VOLATILE):
        variable = Variable(x, volatile=True)
    with pytest.warns(UserWarning, match=VOLATILE):
        assert variable.volatile
    with pytest.warns(UserWarning, match=VOLATILE):
        variable.volatile = False


# arguments ------------------------------------------------------------------------------------------------------------


def test_arguments_of_backward(x: adjoint.Tensor) -> None:
    y = (x * x).sum()
    with pytest.warns(FutureWarning, match="`retain_variables` is deprecated. Use `retain_graph` instead."):
        y.backward(retain_variables=True)
    with pytest.warns(FutureWarning, match="`retain_variables`|`variables` is deprecated. Use `tensors` instead."):
        backward(variables=y, retain_variables=True)
    with pytest.warns(FutureWarning, match="`grad_variables` is deprecated. Use `grad_tensors` instead."):
        backward(y, grad_variables=adjoint.tensor(2.0))
    assert x.grad.tolist() == [8.0, 16.0]


def test_one_argument_under_both_names(x: adjoint.Tensor) -> None:
    y = (x * x).sum()
    with pytest.raises(TypeError, match="got both 'retain_graph' and 'retain_variables', its older name"):
        y.backward(retain_graph=True, retain_variables=True)
    both = "`grad_tensors` and `grad_variables` \\(deprecated\\) arguments both passed"
    with pytest.warns(FutureWarning, match="grad_variables"), pytest.raises(RuntimeError, match=both):
        backward(y, grad_tensors=adjoint.tensor(1.0), grad_variables=adjoint.tensor(1.0))
    assert x.grad is None


def test_only_inputs_is_ignored(x: adjoint.Tensor) -> None:
    w = adjoint.ones(2, requires_grad=True)
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated and is ignored now"):
        (gradient,) = grad((x * w).sum(), x, only_inputs=False)
    assert gradient.tolist() == [1, 1] and w.grad is None


# reinforce ------------------------------------------------------------------------------------------------------------


def reinforce(draws: adjoint.Tensor, reward: object) -> adjoint.Tensor:
    with pytest.warns(DeprecationWarning, match="loss = -log_prob"):
        draws.reinforce(reward)  # type: ignore[attr-defined]
    return draws


def test_bernoulli_gets_its_score() -> None:
    p = adjoint.tensor([0.2, 0.5, 0.9], dtype=adjoint.float64, requires_grad=True)
    reward = adjoint.tensor([1.0, 2.0, 3.0], dtype=adjoint.float64)
    y = reinforce(p.bernoulli(), reward)
    y.backward()
    log_p = (y.detach() * p.log() + (1 - y.detach()) * (1 - p).log()) * reward
    (expected,) = grad(-log_p.sum(), p)
    adjoint.testing.assert_close(p.grad, expected)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("shape", [(4,), (3, 4)])
def test_multinomial_gets_its_score(shape: tuple[int, ...], replacement: bool) -> None:
    adjoint.manual_seed(1)
    w = (adjoint.rand(shape, dtype=adjoint.float64) + 0.1).requires_grad_()
    y = w.multinomial(3, replacement)
    reward = adjoint.rand(y.shape, dtype=adjoint.float64)
    assert not y.requires_grad
    reinforce(y, reward).backward()
    log_p = adjoint.zeros(shape[:-1], dtype=adjoint.float64)
    left = adjoint.ones(shape, dtype=adjoint.float64)
    for k in range(3):
        index = y.detach()[..., k : k + 1]
        chance = (w * left).gather(-1, index) / (w * left).sum(-1, keepdim=True)
        log_p = log_p + (chance.log() * reward[..., k : k + 1]).squeeze(-1)
        if not replacement:
            left = left.scatter(-1, index, 0.0)
    (expected,) = grad(-log_p.sum(), w)
    adjoint.testing.assert_close(w.grad, expected)


@pytest.mark.parametrize("which", ["mean", "std", "both"])
def test_normal_gets_its_score(which: str) -> None:
    mean = adjoint.tensor([0.5, -1.0], dtype=adjoint.float64, requires_grad=which != "std")
    std = adjoint.tensor([2.0, 0.7], dtype=adjoint.float64, requires_grad=which != "mean")
    y = reinforce(adjoint.normal(mean, std), 3.0)
    y.backward()
    log_p = -(((y.detach() - mean) / std) ** 2) / 2 - std.log()
    inputs = [p for p in (mean, std) if p.requires_grad]
    for p, expected in zip(inputs, grad(-3 * log_p.sum(), inputs), strict=True):
        adjoint.testing.assert_close(p.grad, expected)


@pytest.mark.parametrize("number", ["mean", "std"])
def test_normal_with_one_number(number: str) -> None:
    p = adjoint.tensor([2.0, 0.5], dtype=adjoint.float64, requires_grad=True)
    mean, std = (1.0, p) if number == "mean" else (p, 1.5)
    y = reinforce(adjoint.normal(mean, std), 1.0)
    y.backward()
    log_p = -(((y.detach() - mean) / std) ** 2) / 2 - (std.log() if number == "mean" else 0)
    adjoint.testing.assert_close(p.grad, grad(-log_p.sum(), p)[0])


def test_reward_after_the_draw_was_used() -> None:
    x = adjoint.ones(3, requires_grad=True)
    other = adjoint.ones(3, requires_grad=True)
    z = adjoint.normal(x + 2, 2.0)
    loss = (z + other).sum()
    reinforce(z, adjoint.tensor([1.0, -1.0, 2.0]))
    loss.backward()
    assert other.grad.tolist() == [1, 1, 1]
    adjoint.testing.assert_close(x.grad, -adjoint.tensor([1.0, -1.0, 2.0]) * (z.detach() - 3) / 4)


def test_several_draws_in_one_pass_without_cotangents() -> None:
    p = adjoint.tensor([0.25, 0.75], requires_grad=True)
    first, second = reinforce(p.bernoulli(), 1.0), reinforce(p.bernoulli(), -1.0)
    backward([first, second], [None, None])
    if first.tolist() == second.tolist():
        assert p.grad.tolist() == [0, 0]
    assert p.grad is not None and p.grad.isfinite().all()


def test_without_a_reward_the_gradient_is_zero() -> None:
    p = adjoint.tensor([0.25, 0.75], requires_grad=True)
    assert grad(p.bernoulli().sum(), p)[0].tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        p.bernoulli().backward()


def test_the_expected_gradient_is_that_of_the_expected_reward() -> None:
    adjoint.manual_seed(0)
    p = adjoint.full((20000,), 0.3, dtype=adjoint.float64, requires_grad=True)
    y = p.bernoulli()
    # E[r(y)] = p r(1) + (1 - p) r(0) has the derivative r(1) - r(0) = 4
    reinforce(y, 1 + 4 * y.detach()).backward()
    assert abs(p.grad.mean().item() + 4) < 0.15


def check_refusal(draws: adjoint.Tensor, reward: object, error: type[Exception], match: str) -> None:
    with pytest.warns(DeprecationWarning, match="loss = -log_prob"), pytest.raises(error, match=match):
        draws.reinforce(reward)  # type: ignore[attr-defined]


def test_what_cannot_be_reinforced() -> None:
    p = adjoint.tensor([0.25, 0.75], requires_grad=True)
    with adjoint.no_grad():
        constant = p.bernoulli()
    for tensor in (p * 2, p, p.detach().bernoulli(), p.bernoulli() * 1, constant):
        check_refusal(tensor, 1.0, RuntimeError, "can be called only on what bernoulli")
    draws = p.bernoulli()
    check_refusal(draws, adjoint.ones(3), ValueError, r"reward of shape \[3\] for a draw of shape \[2\]")
    check_refusal(reinforce(draws, 1.0), 1.0, RuntimeError, "called on this draw before")


def test_draws_do_not_hold_themselves() -> None:
    p = adjoint.tensor([0.25, 0.75], requires_grad=True)
    draws = reinforce(p.multinomial(1), 1.0)
    dead = weakref.ref(draws)
    gc.disable()
    try:
        del draws
        assert dead() is None
    finally:
        gc.enable()


# callbacks at the end of a backward pass ------------------------------------------------------------------------------

ENGINE = Variable._execution_engine


def hook(x, *actions):
    """Double x, with a hook that queues callbacks for the end of the pass."""
    y = x * 2
    for action in actions:
        y.register_hook(lambda gradient, action=action: ENGINE.queue_callback(action))
    return y


def test_callbacks_run_after_all_nodes():
    x, grads = adjoint.ones(2, requires_grad=True), []
    y = hook(x, lambda: grads.append(x.grad.tolist()), lambda: grads.append("second"))
    y.sum().backward()
    assert grads == [[2, 2], "second"]
    (x * 3).sum().backward()
    assert len(grads) == 2, "the next pass does not call them again"


def test_a_callback_may_ask_for_another():
    x, notes = adjoint.ones(2, requires_grad=True), []
    hook(x, lambda: ENGINE.queue_callback(lambda: notes.append("late"))).sum().backward()
    assert notes == ["late"]


def test_callbacks_belong_to_the_pass_that_runs():
    x, order = adjoint.ones(2, requires_grad=True), []

    def inner(gradient):
        with adjoint.enable_grad():
            hook(x.detach().requires_grad_(), lambda: order.append("inner")).sum().backward()
        order.append("outer node")

    y = hook(x, lambda: order.append("outer"))
    y.register_hook(inner)
    adjoint.autograd.grad(y.sum(), x)
    assert order == ["inner", "outer node", "outer"]


def test_callbacks_are_dropped_with_an_error():
    x, notes = adjoint.ones(2, requires_grad=True), []
    y = x * 1
    y.register_hook(lambda gradient: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        hook(y, lambda: notes.append(1)).sum().backward()
    with pytest.raises(ZeroDivisionError):
        hook(x, lambda: 1 / 0, lambda: notes.append(2)).sum().backward()
    assert notes == []


def test_no_callbacks_outside_of_a_pass():
    with pytest.raises(RuntimeError, match=r"Final callbacks can only be installed during backward pass."):
        ENGINE.queue_callback(print)
    assert not ENGINE.is_checkpoint_valid()


@pytest.mark.parametrize("accumulate", [True, False])
def test_is_checkpoint_valid(accumulate):
    x, notes = adjoint.ones(2, requires_grad=True), []
    y = x * 2
    y.register_hook(lambda gradient: notes.append(ENGINE.is_checkpoint_valid()))
    y.sum().backward() if accumulate else adjoint.autograd.grad(y.sum(), x)
    assert notes == [accumulate]
