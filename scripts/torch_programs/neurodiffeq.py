from neurodiffeq import diff
from neurodiffeq.operators import curl, laplacian
from neurodiffeq.operators import grad as g

x, y, z = [torch.linspace(0.1 + i, 1 + i, 5).view(-1, 1).requires_grad_() for i in range(3)]
u = torch.sin(x * y) * z**2
show(diff(u, x), diff(u, y, order=2), laplacian(u, x, y, z), *g(u, x, y, z), *curl(u, x * y, z * x, x, y, z))
