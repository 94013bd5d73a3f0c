"""gradcheck and gradgradcheck find planted faults in derivatives, and describe them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.autograd import gradcheck, gradgradcheck
from adjoint.autograd.gradcheck import GradcheckError
from tools.planted import plant

Tensors = tuple[Any, ...]


def real(*shape: int, seed: int = 0) -> Any:
    values = np.random.default_rng(seed).uniform(0.5, 1.5, shape)
    return adjoint.tensor(values, dtype=adjoint.float64, requires_grad=True)


def cmplx(*shape: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.5, 1.5, shape) + 1j * rng.uniform(0.5, 1.5, shape)
    return adjoint.tensor(values, dtype=adjoint.complex128, requires_grad=True)


@dataclass
class Fault:
    """A function with a wrong derivative, the kind of the error, and words of the message."""

    function: Callable[..., Any]
    inputs: Tensors
    says: str
    options: dict[str, Any] = field(default_factory=dict)
    check: Callable[..., bool] = gradcheck


def second_order(**kwargs: Any) -> dict[str, Any]:
    return {"check": gradgradcheck, **kwargs}


FORWARD = {"options": {"check_forward_ad": True}}
A = adjoint.tensor(np.random.default_rng(7).normal(size=(3, 3)), dtype=adjoint.float64)
noise = itertools.count()


def crash_if_undefined(x: Any) -> Any:
    y = x * 3

    def hook(g: Any) -> None:
        if g is None:
            raise ValueError("no cotangent")

    y.register_hook(hook)
    return y


class OneIfUndefined(adjoint.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return adjoint.ones(3, dtype=adjoint.float64) if g is None else g * 3


def saved_then_changed(x: Any) -> Any:
    y = x * 2
    factor = y.detach().clone()
    result = y * factor
    factor.data.zero_()
    return result


def only_first_member(g: Any, x: Any) -> Any:
    """A vjp that ignores that its cotangent may be batched."""
    if "Batched" in type(g[0]._array).__name__:
        return g[0] * 0 + 2
    return g[0] * 2


def float32_of(x: Any) -> Any:
    return x.to(adjoint.float32)


FAULTS = {
    # values
    "wrong sign": Fault(plant(lambda x: x.sin(), lambda g, x: -g[0] * x.cos()), (real(3),), "wrong sign"),
    "missing factor": Fault(plant(lambda x: x**3, lambda g, x: g[0] * x**2), (real(3),), "is 1/3 times"),
    "factor too many": Fault(plant(lambda x: x * x, lambda g, x: g[0] * 4 * x), (real(3),), "is 2 times"),
    "zero": Fault(plant(lambda x: x.exp(), lambda g, x: g[0] * 0), (real(3),), "no gradient reaches"),
    "none": Fault(plant(lambda x: x.exp(), lambda g, x: None), (real(3),), "no gradient reaches"),
    "detached": Fault(lambda x: x * x.detach(), (real(3),), "is 1/2 times"),
    "nan": Fault(plant(lambda x: x * 2, lambda g, x: g[0] * (x - x) / (x - x)), (real(3),), "gives NaN or inf"),
    "transposed Jacobian": Fault(plant(lambda x: A @ x, lambda g, x: A @ g[0]), (real(3),), "Jacobian is transposed"),
    "transposed gradient": Fault(
        plant(lambda x: x.exp(), lambda g, x: (g[0] * x.exp()).t()), (real(3, 3),), "axes are transposed"
    ),
    "gradient in the wrong order": Fault(
        plant(lambda x: x.t() * 2, lambda g, x: g[0].reshape(2, 3) * 2), (real(2, 3),), "axes are transposed"
    ),
    "missing unbroadcast": Fault(
        plant(lambda x, b: x * b, lambda g, x, b: (g[0] * b, (g[0] * x)[0])),
        (real(4, 3), real(3, seed=1)),
        "a broadcast reduction is missing",
    ),
    "mean instead of sum": Fault(
        plant(lambda x, b: x + b, lambda g, x, b: (g[0], g[0].mean(0))),
        (real(4, 3), real(3, seed=1)),
        "averaged over axes",
    ),
    "missing term": Fault(
        plant(lambda x: x.exp() / x.exp().sum(), lambda g, x: g[0] * x.exp() / x.exp().sum()),
        (real(3),),
        "9 of 9 entries differ",
    ),
    "one entry left out": Fault(
        plant(lambda x: x * 2, lambda g, x: g[0] * adjoint.tensor([2.0, 0.0, 2.0])), (real(3),), "1 of 3 entries"
    ),
    "wrong saved value": Fault(plant(lambda x: x.tanh(), lambda g, x: g[0] * (1 - x**2)), (real(3),), "3 of 9"),
    "saved value changed": Fault(saved_then_changed, (real(3),), "no gradient reaches"),
    "inputs exchanged": Fault(
        plant(lambda x, y: x / y, lambda g, x, y: (-g[0] * x / y**2, g[0] / y)),
        (real(2), real(2, seed=1)),
        "argument 0",
    ),
    "second input": Fault(
        plant(lambda x, y: x * y, lambda g, x, y: (g[0] * y, g[0] * y)), (real(2), real(2, seed=1)), "argument 1"
    ),
    "second output": Fault(plant(lambda x: (x * 2, x * 3), lambda g, x: g[0] * 2 + g[1] * 2), (real(2),), "result 1"),
    "rounded": Fault(plant(lambda x: x.round(), lambda g, x: g[0]), (real(3),), "so its derivative is zero"),
    "cut off": Fault(lambda x: x.detach() * 2, (real(3),), "expected to be zero"),
    # complex
    "missing conjugate": Fault(
        plant(lambda z: z * z, lambda g, z: g[0] * 2 * z), (cmplx(2),), "a conjugate is missing"
    ),
    "conjugate of a real input": Fault(
        plant(lambda x: x * (1 + 2j), lambda g, x: (g[0] * (1 + 2j)).real), (real(2),), "a conjugate is missing"
    ),
    "imaginary part dropped": Fault(
        plant(lambda z: (z * z.conj()).real, lambda g, z: (2 * g[0] * z).real + 0j),
        (cmplx(2),),
        "imaginary part is missing",
    ),
    "conjugate in forward mode": Fault(
        plant(lambda z: z * z, lambda g, z: g[0] * 2 * z.conj(), lambda t, z: t[0] * 2 * z.conj()),
        (cmplx(2),),
        "a conjugate is missing",
        **FORWARD,
    ),
    # forward mode
    "wrong jvp": Fault(
        plant(lambda x: x * x, lambda g, x: g[0] * 2 * x, lambda t, x: t[0] * x),
        (real(2),),
        "is 1/2 times",
        **FORWARD,
    ),
    "no jvp": Fault(plant(lambda x: x * x, lambda g, x: g[0] * 2 * x), (real(2),), "no tangent leaves", **FORWARD),
    "undefined tangent": Fault(
        plant(
            lambda x, y: x * y,
            lambda g, x, y: (g[0] * y, g[0] * x),
            lambda t, x, y: x * t[1] * 7 if t[0] is None else t[0] * y + (0 if t[1] is None else x * t[1]),
        ),
        (real(2), real(2, seed=1)),
        "has an undefined tangent value",
        **FORWARD,
    ),
    "undefined tangent crashes": Fault(
        plant(lambda x, y: x * y, lambda g, x, y: (g[0] * y, g[0] * x), lambda t, x, y: t[0] * y + x * t[1]),
        (real(2), real(2, seed=1)),
        "to handle undefined input tangents",
        **FORWARD,
    ),
    # shapes, dtypes and other properties
    "not deterministic": Fault(
        plant(lambda x: x * 2, lambda g, x: g[0] * (2 + 1e-8 * next(noise))), (real(2),), "Backward is not reentrant"
    ),
    "not linear in the cotangent": Fault(
        plant(lambda x: x.sum(), lambda g, x: adjoint.ones(3, dtype=adjoint.float64)),
        (real(3),),
        "backward not multiplied by grad_output",
    ),
    "wrong dtype": Fault(
        plant(lambda x: x * 2, lambda g, x: float32_of(g[0] * 2)),
        (real(3),),
        "Gradient has dtype mismatch",
        {"check_grad_dtypes": True},
    ),
    "wrong shape": Fault(
        plant(lambda x: x * 2, lambda g, x: (g[0] * 2).reshape(3, 1)), (real(3),), "has incorrect size"
    ),
    "undefined cotangent crashes": Fault(crash_if_undefined, (real(3),), "to handle undefined output grads"),
    "undefined cotangent counts": Fault(OneIfUndefined.apply, (real(3),), "undefined or zero"),
    "not made for batches": Fault(
        plant(lambda x: x * 2, only_first_member), (real(3),), "while testing batched", {"check_batched_grad": True}
    ),
    "data-dependent": Fault(
        plant(lambda x: x * 2, lambda g, x: g[0] * 2 if float(g[0].sum()) > -100 else g[0]),
        (real(3),),
        "While computing batched gradients, got: ",
        {"check_batched_grad": True},
    ),
    # second order
    "wrong at second order": Fault(
        plant(lambda x: x**3, lambda g, x: g[0] * 3 * x * x.detach()), (real(2),), "is 1/2 times", **second_order()
    ),
    "not differentiable twice": Fault(
        plant(lambda x: x**3, lambda g, x: (g[0] * 3 * x**2).detach()),
        (real(2),),
        "expected to be zero",
        **second_order(),
    ),
    "cotangent detached": Fault(
        plant(lambda x: x**3, lambda g, x: g[0].detach() * 3 * x**2),
        (real(2),),
        "argument 1",
        **second_order(),
    ),
    "wrong forward over backward": Fault(
        plant(lambda x: x**2, lambda g, x: g[0] * 2 * wrong_jvp(x)),
        (real(2),),
        "computed with forward mode",
        **second_order(options={"check_fwd_over_rev": True}),
    ),
}

identity_with_wrong_jvp = plant(lambda x: x * 1, lambda g, x: g[0], lambda t, x: t[0] * 3)


def wrong_jvp(x: Any) -> Any:
    return identity_with_wrong_jvp(x)


def test_there_are_thirty() -> None:
    assert len(FAULTS) >= 30


@pytest.mark.filterwarnings("ignore:Backwards compatibility")
@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found(name: str) -> None:
    fault = FAULTS[name]
    with pytest.raises(GradcheckError) as caught:
        fault.check(fault.function, fault.inputs, **fault.options)
    assert fault.says in str(caught.value)
    assert fault.check(fault.function, fault.inputs, raise_exception=False, **fault.options) is False


@pytest.mark.filterwarnings("ignore:Backwards compatibility")
@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found_in_fast_mode(name: str) -> None:
    fault = FAULTS[name]
    with pytest.raises(GradcheckError) as caught:
        fault.check(fault.function, fault.inputs, fast_mode=True, **fault.options)
    assert fault.says in str(caught.value)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_without_a_fault_all_checks_pass(fast_mode: bool) -> None:
    """Without a fault, the helper's functions pass all checks."""
    square = plant(lambda z: z * z, lambda g, z: g[0] * 2 * z.conj(), lambda t, z: t[0] * 2 * z)

    def value_or_zero(t: Any) -> Any:
        return 0 if t is None else t

    product = plant(
        lambda x, y: (x * y, x - y),
        lambda g, x, y: (g[0] * y + g[1], g[0] * x - g[1]),
        lambda t, x, y: (value_or_zero(t[0]) * y + x * value_or_zero(t[1]), value_or_zero(t[0]) - value_or_zero(t[1])),
    )
    every = {"check_forward_ad": True, "check_grad_dtypes": True, "check_batched_grad": True, "fast_mode": fast_mode}
    assert gradcheck(square, cmplx(2), **every)
    assert gradcheck(product, (real(2), real(2, seed=1)), **every)
    assert gradgradcheck(square, cmplx(2), fast_mode=fast_mode)
    assert gradgradcheck(product, (real(2), real(2, seed=1)), fast_mode=fast_mode)
