import pypose as pp

a = pp.so3(torch.tensor([[0.3, -0.5, 0.8]], dtype=torch.float64))
R = a.Exp()
show(
    R.tensor(),
    R.matrix(),
    R.Log().tensor(),
    (R @ R).tensor(),
    R.Inv().tensor(),
    R.Act(torch.ones(1, 3, dtype=torch.float64)),
)
t = torch.tensor([[0.3, -0.5, 0.8, 0.1, 0.2, 0.3]], dtype=torch.float64, requires_grad=True)
X = pp.se3(t).Exp()
l = X.matrix().pow(2).sum() + X.Log().tensor().sum()
l.backward()
show(l, t.grad)


class Inv(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.pose = pp.Parameter(pp.se3(torch.tensor([0.3, -0.5, 0.8, 0.1, 0.2, 0.3], dtype=torch.float64)).Exp())

    def forward(self, x):
        return (self.pose @ x).Log().tensor()


x = pp.se3(torch.tensor([[0.1, -0.2, 0.3, 0.4, -0.1, 0.2]], dtype=torch.float64)).Exp()
net = Inv()
o = pp.optim.LM(net)
for _ in range(4):
    l = o.step(x)
show(l * 0, (net.pose @ x).Log().tensor().round(decimals=4) * 1)
