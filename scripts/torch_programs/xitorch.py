import xitorch
from xitorch.interpolate import Interp1D
from xitorch.linalg import solve, symeig
from xitorch.optimize import rootfinder

a = torch.tensor([[2.0, 0.3], [0.3, 1.0]], dtype=torch.float64, requires_grad=True)
x = solve(xitorch.LinearOperator.m(a), torch.ones(2, 1, dtype=torch.float64))
values, _ = symeig(xitorch.LinearOperator.m(a, is_hermitian=True))
root = rootfinder(lambda y, a: y**3 + (a @ y) - 1, torch.zeros(2, dtype=torch.float64), params=(a,))
show(x, values, root, *torch.autograd.grad(x.sum() + values.prod() + root.sum(), a))
t = torch.linspace(0, 1, 6, dtype=torch.float64)
show(Interp1D(t, torch.sin(t), method="cspline")(torch.tensor([0.33], dtype=torch.float64)))
