from e3nn import o3

x = torch.tensor([[0.3, -0.5, 0.8], [1.0, 0.2, -0.1]], dtype=torch.float64, requires_grad=True)
y = o3.spherical_harmonics([0, 1, 2, 3], x, normalize=True)
show(y, *torch.autograd.grad(y.pow(3).sum(), x))
