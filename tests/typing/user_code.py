"""Users' code for the type checker: `mypy --strict` must find no error. The code also runs."""

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint
from adjoint import Tensor


def rosenbrock(x: Tensor) -> Tensor:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def gradient(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    y = f(x)
    y.backward()
    if x.grad is None:
        raise RuntimeError("f does not depend on x")
    return x.grad


def fit(steps: int = 3) -> list[float]:
    adjoint.manual_seed(0)
    weight = adjoint.randn(3, 1, dtype=adjoint.float64, requires_grad=True)
    inputs, targets = adjoint.rand(8, 3, dtype=adjoint.float64), adjoint.zeros((8, 1), dtype=adjoint.float64)
    losses: list[float] = []
    for _ in range(steps):
        loss: Tensor = ((inputs @ weight - targets) ** 2).mean()
        (slope,) = adjoint.autograd.grad(loss, weight)
        with adjoint.no_grad():
            weight -= 0.1 * slope
        losses.append(loss.item())
    return losses


def shapes(x: Tensor) -> tuple[int, ...]:
    rows, columns = x.shape
    flat = x.reshape(rows * columns).view(-1, 1).expand(-1, 2).permute(1, 0)
    both = adjoint.cat([flat, flat], dim=0)
    return tuple(both.size()) + both.T.stride() + (len(both), both.ndim, both.numel())


def mix(x: Tensor) -> Tensor:
    array = np.ones(3)
    total: Tensor = x + 1 - 2.0 * x / x.abs().clamp(min=1e-3)
    total = total * array + 1j
    mask: Tensor = (x > 0) & (x <= 3) | ~(x == 2)
    result: Tensor = adjoint.where(mask, total.real, adjoint.tanh(x))
    return result.to(adjoint.float32)


def select(x: Tensor) -> tuple[Tensor, Tensor]:
    result = adjoint.topk(x, 2)
    first, places = adjoint.sort(x, descending=True)
    return result.values + first[:2], result.indices.long() + places[:2]


def solve(a: Tensor, b: Tensor) -> Tensor:
    size: adjoint.Size = a.shape
    eye = adjoint.eye(size[0], dtype=a.dtype)
    return adjoint.linalg.solve(a + eye, b) + adjoint.nn.functional.relu(b)


def numbers(x: Tensor) -> tuple[float, int, bool, str]:
    kind: adjoint.dtype = x.dtype
    return float(x.detach().sum()), int(x[0].item()), bool(x.any()), f"{kind} {x.detach().numpy().shape}"


class Cube(adjoint.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> Tensor:
        x: Tensor = ctx.saved_tensors[0]
        return 3 * x**2 * grad_outputs[0]


def energy(x: Tensor) -> Tensor:
    return (x**3).sum()


def transform(x: Tensor) -> list[Tensor]:
    slope: Tensor = adjoint.func.grad(energy)(x)
    rows: Tensor = adjoint.func.vmap(adjoint.func.grad(energy))(adjoint.stack([x, x]))
    value, tangent = adjoint.func.jvp(energy, (x,), (adjoint.ones_like(x),))
    result, pull = adjoint.func.vjp(energy, x)
    curvature: Tensor = adjoint.func.hessian(energy)(x)
    return [slope, rows, value, tangent, result, *pull(adjoint.ones(())), curvature]


def functional(x: Tensor) -> tuple[Tensor, ...]:
    matrix = adjoint.autograd.functional.jacobian(energy, x)
    with adjoint.autograd.forward_ad.dual_level():
        dual = adjoint.autograd.forward_ad.make_dual(x, adjoint.ones_like(x))
        primal, tangent = adjoint.autograd.forward_ad.unpack_dual(dual * dual)
    return matrix, primal, tangent if tangent is not None else primal


def hook(x: Tensor) -> list[Tensor]:
    grads: list[Tensor] = []
    handle = x.register_hook(grads.append)
    with adjoint.autograd.graph.save_on_cpu(), adjoint.enable_grad():
        y = adjoint.utils.checkpoint.checkpoint(energy, x, use_reentrant=False)
    y.backward()
    handle.remove()
    node = y.grad_fn
    assert node is not None and node.next_functions
    return grads


@adjoint.no_grad()
def predict(x: Tensor) -> Tensor:
    return adjoint.softmax(x, dim=-1)


def measure_time(x: Tensor) -> str:
    with adjoint.autograd.profiler.profile() as profile:
        adjoint.nn.functional.cross_entropy(adjoint.stack([x, x]), adjoint.tensor([0, 1])).backward()
    return profile.key_averages().table(row_limit=3)


def minimum() -> float:
    solution = adjoint.optimize.minimize(rosenbrock, np.zeros(2), method="BFGS")
    return float(solution.fun)


def parameters() -> dict[str, Tensor]:
    weight: adjoint.nn.Parameter = adjoint.nn.Parameter(adjoint.ones(2))
    return {"weight": weight, "fft": adjoint.fft.rfft(weight), "gamma": adjoint.special.gammaln(weight)}


def main() -> None:
    x = adjoint.tensor([1.0, 2.0, 3.0], requires_grad=True)
    print(gradient(rosenbrock, x), fit(), shapes(adjoint.ones(2, 3)), mix(x), select(x), numbers(x))
    print(solve(adjoint.ones(2, 2), adjoint.ones(2, 1)))
    y: Tensor = Cube.apply(x)
    y.sum().backward()
    print(transform(x.detach()), functional(x.detach()), hook(x), predict(x), measure_time(x), minimum(), parameters())
    assert adjoint.autograd.gradcheck(energy, (x.detach().double().requires_grad_(),))
    adjoint.testing.assert_close(x, x)


if __name__ == "__main__":
    main()
