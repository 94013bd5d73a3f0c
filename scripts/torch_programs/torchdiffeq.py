from torchdiffeq import odeint, odeint_adjoint


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(torch.tensor([[-0.1, 2.0], [-2.0, -0.1]], dtype=torch.float64))

    def forward(self, t, y):
        return y**3 @ self.a


field, t = Field(), torch.linspace(0, 2, 21, dtype=torch.float64)
start = torch.tensor([[1.2, 0.0]], dtype=torch.float64, requires_grad=True)
for solve in (odeint, odeint_adjoint):
    for method in ("dopri5", "rk4", "dopri8", "implicit_adams", "bosh3"):
        y = solve(field, start, t, method=method)
        show(y, *torch.autograd.grad(y.pow(2).sum(), [start, field.a]))
