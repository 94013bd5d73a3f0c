import curvlinops as c

net = fixed(torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Sigmoid(), torch.nn.Linear(5, 3)).double())
x = torch.linspace(-1, 1, 24, dtype=torch.float64).view(6, 4)
y = torch.arange(6) % 3
data = [(x[:3], y[:3]), (x[3:], y[3:])]
params = list(net.parameters())
loss = torch.nn.CrossEntropyLoss()
n = sum(p.numel() for p in params)
v = torch.linspace(0, 1, n, dtype=torch.float64)
for cls in (c.HessianLinearOperator, c.GGNLinearOperator, c.EFLinearOperator):
    show(cls(net, loss, params, data) @ v)
show(c.KFACLinearOperator(net, loss, params, data, fisher_type="empirical") @ v)
