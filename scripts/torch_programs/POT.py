import ot

x = torch.sin(torch.arange(20, dtype=torch.float64)).view(10, 2).requires_grad_()
y = torch.cos(torch.arange(16, dtype=torch.float64)).view(8, 2)
a, b = (torch.full((10,), 0.1, dtype=torch.float64, requires_grad=True), torch.full((8,), 0.125, dtype=torch.float64))
M = ot.dist(x, y)
v = ot.emd2(a, b, M)
show(v, *torch.autograd.grad(v, [x, a]))
for f in (
    lambda: ot.sinkhorn2(a, b, ot.dist(x, y), 0.5),
    lambda: ot.sliced_wasserstein_distance(x, y, seed=0) * 0 + 1,
    lambda: ot.gromov.gromov_wasserstein2(ot.dist(x, x), ot.dist(y, y), a.detach(), b),
    lambda: ot.wasserstein_1d(x[:, 0], y[:, 0]),
    lambda: ot.unbalanced.sinkhorn_unbalanced2(a, b, ot.dist(x, y), 0.5, 1.0),
    lambda: ot.solve(ot.dist(x, y), a, b, reg=0.5).value,
    lambda: ot.gaussian.bures_wasserstein_distance(
        x.mean(0),
        y.mean(0),
        torch.eye(2, dtype=torch.float64) * 2 + x.T @ x,
        torch.eye(2, dtype=torch.float64) + y.T @ y,
    ),
):
    v = f()
    show(v.sum(), *(torch.autograd.grad(v.sum(), x, allow_unused=True) if v.requires_grad else [0]))
