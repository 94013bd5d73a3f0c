import sympy
import sympytorch

x, y = sympy.symbols("x y")
m = sympytorch.SymPyModule(
    expressions=[
        sympy.cos(1.5 * x) * sympy.exp(y),
        sympy.sqrt(x) + sympy.Max(x, y) - 3 * y**2,
        sympy.sin(x) / (1 + y**2),
    ]
)
a = torch.rand(3) * 0 + torch.tensor([0.3, 0.5, 0.9])
r = m(x=a, y=a * 2)
r.sum().backward()
show(r, *[p.grad for p in m.parameters()])
