from torchjd import autojac
from torchjd.aggregation import IMTLG, MGDA, AlignedMTL, Mean

net = fixed(torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2)).double())
x = torch.linspace(-1, 1, 12, dtype=torch.float64).view(3, 4)
for agg in (Mean(), MGDA(), AlignedMTL(), IMTLG()):
    out = net(x)
    losses = out.pow(2).mean(0)
    J = torch.stack(
        [
            torch.cat([g.reshape(-1) for g in torch.autograd.grad(l, list(net.parameters()), retain_graph=True)])
            for l in losses
        ]
    )
    show(agg(J))
net.zero_grad()
losses = net(x).pow(2).mean(0)
autojac.backward([losses[0], losses[1]])
for p in net.parameters():
    show(p.jac)
