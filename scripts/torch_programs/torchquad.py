from torchquad import Boole, GaussLegendre, Simpson, Trapezoid

domain = torch.tensor([[0.0, 1.0], [-1.0, 1.0]], dtype=torch.float64, requires_grad=True)
f = lambda x: torch.sin(x[:, 0]) + torch.exp(x[:, 1])
for rule in (Trapezoid, Simpson, Boole, GaussLegendre):
    result = rule().integrate(f, dim=2, N=121, integration_domain=domain, backend="torch")
    show(result, *torch.autograd.grad(result, domain))
