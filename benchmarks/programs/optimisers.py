"""Optimisers by hand, and methods with many small updates."""

from __future__ import annotations

from .program import Field, with_gradients

PROGRAMS = Field("optimisers")


def parameters_of(draw, n=50):
    """Parameters and gradients of many small shapes."""
    shapes = [(8,), (4, 8), (16,), (3, 3, 2)]
    weights = [draw.leaf(*shapes[k % 4]) for k in range(n)]
    return weights, [draw.normal(*w.shape) for w in weights]


@PROGRAMS
def adam(torch, draw):
    """One step of Adam over 50 parameters."""
    weights, gradients = parameters_of(draw)
    firsts, seconds = [torch.zeros_like(w) for w in weights], [torch.zeros_like(w) for w in weights]

    def step():
        with torch.no_grad():
            for w, g, m, v in zip(weights, gradients, firsts, seconds, strict=True):
                m.mul_(0.9).add_(g, alpha=0.1)
                v.mul_(0.999).addcmul_(g, g, value=0.001)
                denominator = (v / 0.5).sqrt_().add_(1e-8)
                w.addcdiv_(m, denominator, value=-1e-9)
        return firsts

    return step


@PROGRAMS
def momentum(torch, draw):
    """One step of Nesterov's momentum method with weight decay over 50 parameters."""
    weights, gradients = parameters_of(draw)
    buffers = [torch.zeros_like(w) for w in weights]

    def step():
        with torch.no_grad():
            for w, g, b in zip(weights, gradients, buffers, strict=True):
                g = g.add(w, alpha=1e-4)
                b.mul_(0.9).add_(g)
                w.add_(g.add(b, alpha=0.9), alpha=-1e-9)
        return buffers

    return step


@PROGRAMS
def clipped_adagrad(torch, draw):
    """The norm of all gradients, clipping, and a step of Adagrad over 50 parameters."""
    weights, gradients = parameters_of(draw)
    sums = [torch.ones_like(w) for w in weights]

    def step():
        with torch.no_grad():
            norm = torch.stack([torch.linalg.vector_norm(g) for g in gradients]).norm()
            scale = torch.clamp(1.0 / (norm + 1e-6), max=1.0)
            for w, g, s in zip(weights, gradients, sums, strict=True):
                g = g * scale
                s.addcmul_(g, g)
                w.addcdiv_(g, s.sqrt(), value=-1e-9)
        return (norm,)

    return step


@PROGRAMS
def limited_memory(torch, draw):
    """15 steps of L-BFGS with five pairs, on a function of 30 variables."""
    start, scales = draw.normal(30), draw.uniform(30, low=0.5, high=5.0)

    def value(x):
        return (scales * x * x).sum() + torch.cos(x).sum()

    def slope(x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(value(x), [x])[0]

    def step():
        x, g, pairs = start, slope(start), []
        for _ in range(15):
            q, alphas = g.clone(), []
            for s, y, rho in reversed(pairs):
                alphas.append(rho * s.dot(q))
                q.sub_(alphas[-1] * y)
            for (s, y, rho), a in zip(pairs, reversed(alphas), strict=True):
                q.add_((a - rho * y.dot(q)) * s)
            new = x - 0.05 * q
            new_g = slope(new)
            s, y = new - x, new_g - g
            pairs = [*pairs[-4:], (s, y, 1 / y.dot(s))]
            x, g = new, new_g
        return x, g

    return step


@PROGRAMS
def newton(torch, draw):
    """Three steps of Newton for a logistic regression, with the Hessian of autograd.functional."""
    x, y = draw.normal(60, 4), (draw.uniform(60) < 0.5).double()

    def loss(w):
        return torch.nn.functional.binary_cross_entropy_with_logits(x @ w, y) + 0.05 * w.dot(w)

    def step():
        w = torch.zeros(4, dtype=torch.float64)
        for _ in range(3):
            hessian = torch.autograd.functional.hessian(loss, w)
            gradient = torch.func.grad(loss)(w)
            w = w - torch.linalg.solve(hessian, gradient)
        return (w,)

    return step


@PROGRAMS
def shrinkage(torch, draw):
    """20 steps of FISTA for a lasso."""
    a, b = draw.normal(40, 60, scale=0.1), draw.normal(40)

    def step():
        x = y = torch.zeros(60, dtype=torch.float64, requires_grad=True)
        t = 1.0
        for _ in range(20):
            (g,) = torch.autograd.grad(0.5 * (a @ y - b).square().sum(), [y])
            with torch.no_grad():
                new = torch.nn.functional.softshrink(y - 0.5 * g, 0.05)
                later = (1 + (1 + 4 * t * t) ** 0.5) / 2
                y = (new + (t - 1) / later * (new - x)).requires_grad_()
            x, t = new, later
        return (x,)

    return step


@PROGRAMS
def hypergradient(torch, draw):
    """The gradient of a learning rate through eight steps of descent."""
    x, y, start = draw.normal(30, 5), draw.normal(30), draw.normal(5)
    rate, penalty = draw.leaf(scale=0.01, shift=0.05), draw.leaf(scale=0.1)

    def loss(w):
        return (x @ w - y).pow(2).mean() + penalty.exp() * w.pow(2).sum()

    def step():
        w = start.clone().requires_grad_()
        for _ in range(8):
            (g,) = torch.autograd.grad(loss(w), [w], create_graph=True)
            w = w - rate * g
        end = (x @ w - y).pow(2).mean()
        return end, *torch.autograd.grad(end, [rate, penalty])

    return step


@PROGRAMS
def meta_learning(torch, draw):
    """Weights from which two gradient steps fit each of three functions. The gradient passes through the steps."""
    weights = [draw.leaf(1, 20), draw.leaf(20), draw.leaf(20, 1, scale=0.3), draw.leaf(1)]
    support, query = draw.normal(3, 10, 1), draw.normal(3, 10, 1)
    mse_loss = torch.nn.functional.mse_loss

    def network(weights, x):
        first, offset, second, shift = weights
        return torch.tanh(x @ first + offset) @ second + shift

    def loss():
        total = 0.0
        for x, y in zip(support, query, strict=True):
            adapted = weights
            for _ in range(2):
                slopes = torch.autograd.grad(mse_loss(network(adapted, x), torch.sin(x)), adapted, create_graph=True)
                adapted = [weight - 0.05 * slope for weight, slope in zip(adapted, slopes, strict=True)]
            total = total + mse_loss(network(adapted, y), torch.sin(y))
        return total / 3

    return with_gradients(torch, loss, weights)
