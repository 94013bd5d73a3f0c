"""Steps of optimizers against reference steps: the formulas of the papers for a single array."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import adjoint
from adjoint import nn, optim


def adam(p, g, s, t, lr, b1=0.9, b2=0.999, eps=1e-8):
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g**2
    return p - lr * (s["m"] / (1 - b1**t)) / (np.sqrt(s["v"] / (1 - b2**t)) + eps)


def amsgrad(p, g, s, t, lr, b1=0.9, b2=0.999, eps=1e-8):
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g**2
    s["top"] = np.maximum(s.get("top", 0), s["v"])
    return p - lr * (s["m"] / (1 - b1**t)) / (np.sqrt(s["top"] / (1 - b2**t)) + eps)


def adamw(p, g, s, t, lr):
    return adam(p - lr * 0.01 * p, g, s, t, lr)


def sgd(p, g, s, t, lr):
    g = g + 0.1 * p
    s["b"] = g if t == 1 else 0.9 * s["b"] + 0.8 * g
    return p - lr * s["b"]


def nesterov(p, g, s, t, lr):
    s["b"] = 0.9 * s.get("b", 0) + g
    return p - lr * (g + 0.9 * s["b"])


def adamax(p, g, s, t, lr):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["u"] = np.maximum(0.999 * s.get("u", 0), np.abs(g) + 1e-8)
    return p - lr / (1 - 0.9**t) * s["m"] / s["u"]


def nadam(p, g, s, t, lr):
    now, after = (0.9 * (1 - 0.5 * 0.96 ** (n * 0.004)) for n in (t, t + 1))
    s["product"] = s.get("product", 1) * now
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g**2
    mean = after * s["m"] / (1 - s["product"] * after) + (1 - now) * g / (1 - s["product"])
    return p - lr * mean / (np.sqrt(s["v"] / (1 - 0.999**t)) + 1e-8)


def radam(p, g, s, t, lr):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g**2
    mean, limit = s["m"] / (1 - 0.9**t), 2 / 0.001 - 1
    length = limit - 2 * t * 0.999**t / (1 - 0.999**t)
    if length <= 5:
        return p - lr * mean
    factor = np.sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length))
    return p - lr * mean * factor * np.sqrt(1 - 0.999**t) / (np.sqrt(s["v"]) + 1e-8)


def adadelta(p, g, s, t, lr):
    s["g"] = 0.9 * s.get("g", 0) + 0.1 * g**2
    change = np.sqrt(s.get("d", 0) + 1e-6) / np.sqrt(s["g"] + 1e-6) * g
    s["d"] = 0.9 * s.get("d", 0) + 0.1 * change**2
    return p - lr * change


def adagrad(p, g, s, t, lr):
    s["sum"] = s.get("sum", 0.1) + g**2
    return p - lr / (1 + (t - 1) * 0.01) * g / (np.sqrt(s["sum"]) + 1e-10)


def rmsprop(p, g, s, t, lr):
    s["v"] = 0.99 * s.get("v", 0) + 0.01 * g**2
    s["m"] = 0.99 * s.get("m", 0) + 0.01 * g
    s["b"] = 0.9 * s.get("b", 0) + g / (np.sqrt(s["v"] - s["m"] ** 2) + 1e-8)
    return p - lr * s["b"]


def rprop(p, g, s, t, lr):
    agrees = g * s.get("g", 0)
    s["size"] = np.clip(s.get("size", lr) * np.where(agrees > 0, 1.2, np.where(agrees < 0, 0.5, 1)), 1e-6, 50)
    s["g"] = np.where(agrees < 0, 0, g)
    return p - np.sign(s["g"]) * s["size"]


def asgd(p, g, s, t, lr):
    p = p * (1 - 0.01 * s.get("eta", lr)) - s.get("eta", lr) * g
    s["mean"] = p if s.get("mu", 1) == 1 else s["mean"] + s["mu"] * (p - s["mean"])
    s["eta"], s["mu"] = lr / (1 + 0.01 * lr * t) ** 0.75, 1 / max(1, t - 10)
    return p


#: The optimizer, its options, and the reference step.
CASES = {
    "SGD": ("SGD", {"momentum": 0.9, "dampening": 0.2, "weight_decay": 0.1}, sgd),
    "SGD, Nesterov": ("SGD", {"momentum": 0.9, "nesterov": True}, nesterov),
    "Adam": ("Adam", {}, adam),
    "Adam, amsgrad": ("Adam", {"amsgrad": True}, amsgrad),
    "AdamW": ("AdamW", {}, adamw),
    "Adamax": ("Adamax", {}, adamax),
    "NAdam": ("NAdam", {}, nadam),
    "RAdam": ("RAdam", {}, radam),
    "Adadelta": ("Adadelta", {}, adadelta),
    "Adagrad": ("Adagrad", {"lr_decay": 0.01, "initial_accumulator_value": 0.1}, adagrad),
    "RMSprop": ("RMSprop", {"momentum": 0.9, "centered": True}, rmsprop),
    "Rprop": ("Rprop", {}, rprop),
    "ASGD": ("ASGD", {"lambd": 0.01, "t0": 10}, asgd),
}
#: Small parameters, a parameter as large as several tiles, and a parameter with another memory order.
SHAPES = [(3, 4), (5,), (), (2, 3, 4), (200, 200)]


def parameters(dtype="float64"):
    draw = np.random.default_rng(0)
    contiguous = [nn.Parameter(adjoint.from_numpy(np.array(draw.standard_normal(shape), dtype))) for shape in SHAPES]
    return [*contiguous, nn.Parameter(adjoint.from_numpy(draw.standard_normal((4, 3)).astype(dtype)).T)]


def gradient(value, k, t):
    return 2 * value + np.cos(3 * value + k + 0.1 * t)


@pytest.mark.parametrize(("name", "options", "twin"), CASES.values(), ids=CASES)
def test_fifty_steps(name, options, twin):
    params = parameters()
    optimizer = getattr(optim, name)(params, lr=0.01, **options)
    values, states = [p.detach().numpy().copy() for p in params], [{} for _ in params]
    counts = [0] * len(params)
    for t in range(50):
        for k, p in enumerate(params):
            # one parameter sometimes has no gradient
            p.grad = None if k == 1 and t % 3 == 0 else adjoint.from_numpy(np.array(gradient(p.detach().numpy(), k, t)))
            if p.grad is not None:
                counts[k] += 1
                values[k] = twin(values[k], gradient(values[k], k, t), states[k], counts[k], 0.01)
        optimizer.step()
    # the numbers of the state are in single precision, as in torch
    rtol = 1e-5 if name in ("NAdam", "ASGD") else 1e-9
    for p, value in zip(params, values, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), value, rtol=rtol, atol=rtol / 1000)


@pytest.mark.parametrize(("name", "options", "twin"), CASES.values(), ids=CASES)
def test_differentiable_steps_have_the_same_values(name, options, twin):
    draw = np.random.default_rng(1)
    start, grad = (adjoint.from_numpy(draw.standard_normal(4)) for _ in range(2))
    plain = nn.Parameter(start.clone())
    root = start.clone().requires_grad_()
    copied = root.clone()
    results = []
    for p, flag in ((plain, False), (copied, True)):
        optimizer = getattr(optim, name)([p], lr=0.01, differentiable=flag, **options)
        p.grad = grad.clone()
        optimizer.step()
        results.append(p.detach().numpy())
    np.testing.assert_allclose(*results, rtol=1e-12)
    (derivative,) = adjoint.autograd.grad(copied.sum(), root)
    assert bool(derivative.isfinite().all())


@pytest.mark.parametrize("name", ["SGD", "Adam", "Rprop", "Adagrad"])
def test_complex_parameters_are_pairs_of_real_ones(name):
    value = np.array([1 + 2j, -0.5 + 0.1j])
    whole, parts = nn.Parameter(adjoint.from_numpy(value)), nn.Parameter(adjoint.from_numpy(value.view("f8").copy()))
    for p, grad in ((whole, value * 1j), (parts, (value * 1j).view("f8"))):
        p.grad = adjoint.from_numpy(grad.copy())
        getattr(optim, name)([p], lr=0.1).step()
    np.testing.assert_array_equal(whole.detach().numpy().view("f8"), parts.detach().numpy())


def test_ascent_and_closures():
    w = nn.Parameter(adjoint.ones(2))
    optimizer = optim.SGD([w], lr=0.5, maximize=True)

    def closure():
        optimizer.zero_grad()
        loss = w.sum()
        loss.backward()
        return loss

    with adjoint.no_grad():
        assert optimizer.step(closure).item() == 2
    assert w.tolist() == [1.5, 1.5]


def test_a_step_is_a_change_in_place():
    w = nn.Parameter(adjoint.ones(2))
    result = (w * w).sum()
    w.grad = adjoint.ones(2)
    optim.Adam([w]).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.backward()


# groups, states, hooks -----------------------------------------------------------------------------------------------


def weights():
    return [nn.Parameter(adjoint.ones(2))]


WRONG = {
    "optimizer got an empty parameter list": lambda: optim.SGD([]),
    "Invalid learning rate: -1": lambda: optim.SGD(weights(), lr=-1),
    "Invalid momentum value: -1": lambda: optim.SGD(weights(), momentum=-1),
    "Invalid weight_decay value: -1": lambda: optim.Adam(weights(), weight_decay=-1),
    "Invalid epsilon value: -1": lambda: optim.Adam(weights(), eps=-1),
    "Invalid beta parameter at index 1: 2": lambda: optim.Adam(weights(), betas=(0.9, 2)),
    "Invalid rho value: 2": lambda: optim.Adadelta(weights(), rho=2),
    "Invalid eta values: 2, 1": lambda: optim.Rprop(weights(), etas=(2, 1)),
    "Nesterov momentum requires a momentum and zero dampening": lambda: optim.SGD(weights(), nesterov=True),
    "Tensor lr must be 1-element": lambda: optim.SGD(weights(), lr=adjoint.ones(2)),
    "can't optimize a non-leaf Tensor": lambda: optim.SGD([weights()[0] * 1]),
    "some parameters appear in more than one parameter group": lambda: optim.SGD(
        [{"params": w} for w in (weights(),) * 2]
    ),
    "LBFGS doesn't support per-parameter options (parameter groups)": lambda: optim.LBFGS(
        [{"params": weights()}, {"params": weights()}]
    ),
    "Learning rate should be >= 0 but is: -1": lambda: optim.Adafactor(weights(), lr=-1),
    "all optimizer params should be with/without names. Some param names are missing": lambda: optim.SGD(
        [*weights(), ("a", *weights())]
    ),
    "Invalid learning rate: -2": lambda: optim.LBFGS(weights(), lr=-2),
}


@pytest.mark.parametrize("message", WRONG)
def test_bad_options(message):
    with pytest.raises(ValueError) as caught:
        WRONG[message]()
    assert str(caught.value) == message


def test_bad_parameters():
    for params, message in (
        (adjoint.ones(2), "should be an iterable of Tensors or dicts, but got adjoint.FloatTensor"),
        ([3], "optimizer can only optimize Tensors, but one of the params is int"),
        ([{"params": set(weights())}], "organized in ordered collections"),
    ):
        with pytest.raises(TypeError, match=message):
            optim.SGD(params)
    sgd = optim.SGD(weights())
    with pytest.raises(TypeError, match="param_group must be a dict"):
        sgd.add_param_group(3)
    with pytest.raises(ValueError, match="cannot add param group with names"):
        sgd.add_param_group({"params": [("a", *weights())]})
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD(weights() * 2)
    needed = type("Needed", (optim.Optimizer,), {"step": lambda self: None})
    with pytest.raises(ValueError, match="required optimization parameter lr"):
        needed(weights(), {"lr": optim.optimizer.required})
    with pytest.raises(NotImplementedError):
        optim.Optimizer(weights(), {}).step()


def run(optimizer, params, n):
    for t in range(n):
        for k, p in enumerate(params):
            p.grad = adjoint.from_numpy(np.array(gradient(p.detach().numpy(), k, t)))
        optimizer.step()


@pytest.mark.parametrize("name", ["SGD", "Adam", "ASGD", "Adafactor"])
def test_states_go_on_where_they_ended(name):
    options = {"momentum": 0.9} if name == "SGD" else {}
    first, second = parameters(), parameters()
    optimizer, other = (getattr(optim, name)(each, lr=0.02, **options) for each in (first, second))
    run(optimizer, first, 3)
    for p, q in zip(first, second, strict=True):
        q.data = p.detach().clone()
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    run(optimizer, first, 3)
    run(other, second, 3)
    for p, q in zip(first, second, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-6, atol=1e-7)
    for state, message in (
        ({"state": {}, "param_groups": []}, "different number of parameter groups"),
        ({"state": {}, "param_groups": [{"params": [0]}]}, "doesn't match the size"),
    ):
        with pytest.raises(ValueError, match=message):
            other.load_state_dict(state)


def test_names_stay_with_their_parameters():
    model = nn.Linear(2, 3)
    optimizer = optim.SGD(model.named_parameters(), lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.state_dict()["param_groups"][0]["params"] == [0, 1]
    optimizer.load_state_dict(optimizer.state_dict())
    assert "param_names" not in repr(optim.SGD(model.parameters()))


def test_hooks_run_around_steps_and_states():
    w, calls = weights(), []
    optimizer = optim.SGD(w)
    optimizer.register_step_pre_hook(lambda of, args, kwargs: calls.append("before" if args == (of,) else args))
    optimizer.register_step_post_hook(lambda of, args, kwargs: calls.append("after" if args == (of,) else args))
    optimizer.register_state_dict_post_hook(lambda optimizer, state: calls.append("state"))
    optimizer.register_state_dict_pre_hook(lambda optimizer: calls.append("first"), prepend=True)
    optimizer.step()
    optimizer.state_dict()
    assert calls == ["before", "after", "first", "state"]
    optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: 3)
    with pytest.raises(RuntimeError, match=r"SGD.step must return None or a tuple of \(new_args, new_kwargs\)"):
        optimizer.step()


def test_an_optimizer_around_another_one_has_no_tables_of_hooks():
    class Around(optim.Optimizer):
        def __init__(self, inner):
            self.inner, self.defaults = inner, inner.defaults

        def step(self, closure=None):
            return self.inner.step(closure)

    p = adjoint.ones(2, requires_grad=True)
    around = Around(optim.SGD([p], lr=0.5))
    (p * p).sum().backward()
    around.step()
    assert p.tolist() == [0.0, 0.0]


def test_text_has_the_options_in_order():
    text = repr(optim.Adamax(weights()))
    assert text.splitlines()[:4] == [
        "Adamax (",
        "Parameter Group 0",
        "    betas: (0.9, 0.999)",
        "    capturable: False",
    ]


# L-BFGS --------------------------------------------------------------------------------------------------------------


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


@pytest.mark.parametrize("history", [3, 100])
def test_lbfgs_with_line_search_finds_the_minimum(history):
    x = adjoint.linspace(-1.2, 1.1, 6, dtype=adjoint.float64).requires_grad_()
    optimizer = optim.LBFGS([x], line_search_fn="strong_wolfe", history_size=history, max_iter=200)

    def closure():
        optimizer.zero_grad()
        loss = rosenbrock(x)
        loss.backward()
        return loss

    optimizer.step(closure)
    assert (x - 1).abs().max() < 1e-3
    state = optimizer.state[x]
    assert state["n_iter"] <= state["func_evals"] <= 250


def test_lbfgs_without_line_search_descends():
    x = adjoint.tensor([3.0, -2.0], requires_grad=True)
    optimizer = optim.LBFGS([x], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = x.square().sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 13
    assert x.abs().max() < 1e-4
    assert optimizer.step(closure).item() < 1e-7
    optimizer.param_groups[0]["line_search_fn"] = "other"
    with adjoint.no_grad():
        x.fill_(5.0)
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optimizer.step(closure)


def test_strong_wolfe_conditions_hold():
    from adjoint.optim.lbfgs import _strong_wolfe

    x, d = adjoint.tensor([-1.2, 1.0], dtype=adjoint.float64), adjoint.tensor([1.0, 0.5], dtype=adjoint.float64)

    def evaluate(x, t, d):
        point = (x + t * d).detach().requires_grad_()
        value = rosenbrock(point)
        value.backward()
        return value.item(), point.grad

    f, g = evaluate(x, 0.0, d)
    slope = g.dot(d)
    d = d if slope < 0 else -d
    slope = -abs(slope)
    value, grad, t, n = _strong_wolfe(evaluate, x, 1.0, d, f, g, slope)
    assert value <= f + 1e-4 * t * slope and abs(grad.dot(d)) <= 0.9 * abs(slope) and n >= 1
