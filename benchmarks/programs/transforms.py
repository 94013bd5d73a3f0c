"""Transformations of functions: second derivatives, batches of members, forward mode."""

from __future__ import annotations

from .program import Field

PROGRAMS = Field("transforms")


@PROGRAMS
def gradients_of_samples(torch, draw):
    """A gradient for each of 32 samples."""
    func = torch.func
    x, y, w1, w2 = draw.normal(32, 6), draw.normal(32), draw.normal(10, 6), draw.normal(10)

    def loss(w1, w2, x, y):
        return (torch.tanh(w1 @ x) @ w2 - y) ** 2

    of_each = func.vmap(func.grad(loss, argnums=(0, 1)), in_dims=(None, None, 0, 0))
    return lambda: of_each(w1, w2, x, y)


@PROGRAMS
def jacobians_backward(torch, draw):
    """The Jacobian of a map at each of 16 points, in reverse mode."""
    func, x, w = torch.func, draw.normal(16, 4), draw.normal(4, 4)

    def flow(v):
        return torch.tanh(w @ v) * v + torch.sin(v).sum()

    of_each = func.vmap(func.jacrev(flow))
    return lambda: (of_each(x),)


@PROGRAMS
def jacobians_forward(torch, draw):
    """The Jacobian of spherical coordinates at each of 16 points, in forward mode."""
    func, points = torch.func, draw.normal(16, 3)

    def spherical(v):
        r = torch.sqrt((v * v).sum())
        return torch.stack([r, torch.acos(v[2] / r), torch.atan2(v[1], v[0])])

    of_each = func.vmap(func.jacfwd(spherical))
    return lambda: (of_each(points),)


@PROGRAMS
def hessian_of_rosenbrock(torch, draw):
    """The Hessian of Rosenbrock's function of 8 variables."""
    x = draw.normal(8)

    def rosenbrock(x):
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    return lambda: (torch.func.hessian(rosenbrock)(x),)


@PROGRAMS
def tangent_of_network(torch, draw):
    """The derivative of a network along a direction of its weights, in forward mode."""
    func, x = torch.func, draw.normal(20, 10)
    primals = tuple(draw.normal(*size, scale=0.3) for size in ((16, 10), (16,), (16, 16), (16,), (1, 16)))
    tangents = tuple(draw.normal(*p.shape) for p in primals)
    silu, linear = torch.nn.functional.silu, torch.nn.functional.linear

    def network(w1, b1, w2, b2, w3):
        return linear(silu(linear(silu(linear(x, w1, b1)), w2, b2)), w3)

    return lambda: func.jvp(network, primals, tangents)


@PROGRAMS
def hessian_products(torch, draw):
    """Products of the Hessian of a network's loss with a vector, forward over reverse."""
    func, x, y = torch.func, draw.normal(30, 5), draw.normal(30)
    w, direction, v = draw.normal(8, 5), draw.normal(8, 5), draw.normal(8)

    def loss(w):
        return ((torch.tanh(x @ w.T) @ v - y) ** 2).mean()

    return lambda: func.jvp(func.grad(loss), (w,), (direction,))


@PROGRAMS
def laplacian(torch, draw):
    """The Laplacian of a small network at 12 points, as part of a physical loss."""
    func, points, w1, w2 = torch.func, draw.normal(12, 2), draw.normal(10, 2), draw.normal(10)

    def u(p):
        return torch.tanh(w1 @ p) @ w2

    def of_one(p):
        return torch.trace(func.hessian(u)(p))

    of_all = func.vmap(of_one)
    return lambda: (of_all(points),)


@PROGRAMS
def rigid_members(torch, draw):
    """Torques, energies and parts of 40 members under vmap: slices, products, crosses."""
    func, places, forces = torch.func, draw.normal(40, 3), draw.normal(40, 3)

    def of_one(r, f):
        torque = torch.linalg.cross(r, f)
        return torque * r[0] + f[:3], torch.dot(r, f), torch.cat([r[1:], f[:1]])

    of_each = func.vmap(of_one)
    return lambda: of_each(places, forces)


@PROGRAMS
def natural_gradient(torch, draw):
    """The Fisher information of a categorical model by a Jacobian, and a natural gradient step."""
    func, x, w = torch.func, draw.normal(25, 3), draw.normal(9)

    def logs(w):
        return torch.log_softmax(x @ w.reshape(3, 3).T, 1)

    def step():
        jacobian = func.jacrev(logs)(w)
        weights = logs(w).exp()
        fisher = torch.einsum("nk,nki,nkj->ij", weights, jacobian, jacobian) + 0.1 * torch.eye(9, dtype=torch.float64)
        gradient = func.grad(lambda w: -logs(w)[:, 0].mean())(w)
        return (torch.linalg.solve(fisher, gradient),)

    return step


@PROGRAMS
def implicit_function(torch, draw):
    """Newton steps with Jacobians for a system of three equations and 8 members."""
    func, start, c = torch.func, draw.normal(8, 3, scale=0.1), draw.uniform(8, 3)

    def residual(x, c):
        return x + 0.1 * torch.sin(x.flip(0)) * x.sum() - c

    def solve(x, c):
        for _ in range(3):
            x = x - torch.linalg.solve(func.jacfwd(residual)(x, c), residual(x, c))
        return x

    of_each = func.vmap(solve)
    return lambda: (of_each(start, c),)


@PROGRAMS
def pullback(torch, draw):
    """A vjp of a map with several results, and its Jacobian by autograd.functional."""
    x, g = draw.normal(6), (draw.normal(6), draw.normal(6))

    def parts(x):
        return torch.sin(x) * x[0], torch.cumsum(x * x, 0)

    def step():
        values, pull = torch.func.vjp(parts, x)
        jacobians = torch.autograd.functional.jacobian(parts, x)
        return (*values, *pull(g), *jacobians)

    return step


@PROGRAMS
def ensemble(torch, draw):
    """Five networks at once, and the spread of their outputs."""
    func, x = torch.func, draw.normal(20, 4)
    w1, b1, w2 = draw.normal(5, 12, 4), draw.normal(5, 12), draw.normal(5, 12)

    def network(w1, b1, w2):
        return torch.relu(torch.nn.functional.linear(x, w1, b1)) @ w2

    def spread(w1, b1, w2):
        return func.vmap(network)(w1, b1, w2).var(0).mean()

    gradient = func.grad_and_value(spread, argnums=(0, 1, 2))
    return lambda: gradient(w1, b1, w2)[0]


@PROGRAMS
def dual_numbers(torch, draw):
    """A tangent through a layer and a logsumexp, by dual numbers."""
    forward_ad, x, v, weight = torch.autograd.forward_ad, draw.normal(10), draw.normal(10), draw.normal(10, 10)

    def step():
        with forward_ad.dual_level():
            x_dual = forward_ad.make_dual(x, v)
            y = torch.tanh(weight @ x_dual) * x_dual.exp()
            value, tangent = forward_ad.unpack_dual(y.sum() + torch.logsumexp(y, 0))
        return value, tangent

    return step
