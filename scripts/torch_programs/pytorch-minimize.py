from torchmin import least_squares, minimize
from torchmin.benchmarks import rosen

x0 = torch.tensor([1.0, 8.0], dtype=torch.float64)
for method in ("bfgs", "l-bfgs", "cg", "newton-cg", "newton-exact", "trust-ncg", "trust-exact"):
    show(minimize(rosen, x0, method=method, tol=1e-10).x)
show(least_squares(lambda x: torch.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]]), x0).x)
