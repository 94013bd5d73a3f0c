import torchcde

t = torch.linspace(0, 1, 9, dtype=torch.float64)
x = torch.stack([t, torch.sin(3 * t)], -1).unsqueeze(0)


class Field(torch.nn.Module):
    def forward(self, t, z):
        return torch.stack([z, z.tanh()], -1)


for spline in (torchcde.natural_cubic_coeffs, torchcde.hermite_cubic_coefficients_with_backward_differences):
    path = torchcde.CubicSpline(spline(x))
    z0 = torch.ones(1, 3, dtype=torch.float64, requires_grad=True)
    z = torchcde.cdeint(X=path, func=Field(), z0=z0, t=path.interval, adjoint=False)
    show(path.evaluate(0.3), path.derivative(0.3), z, *torch.autograd.grad(z.sum(), z0))
