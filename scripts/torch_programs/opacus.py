from opacus import GradSampleModule

for make, x in (
    (
        lambda: torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3)),
        torch.linspace(-1, 1, 12).view(3, 4),
    ),
    (
        lambda: torch.nn.Sequential(
            torch.nn.Conv2d(1, 2, 2), torch.nn.GroupNorm(1, 2), torch.nn.Flatten(), torch.nn.Linear(8, 3)
        ),
        torch.linspace(-1, 1, 27).view(3, 1, 3, 3),
    ),
    (
        lambda: torch.nn.Sequential(torch.nn.Embedding(7, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 2)),
        torch.arange(6).view(3, 2),
    ),
):
    m = GradSampleModule(fixed(make()))
    m(x).pow(2).sum().backward()
    for p in m.parameters():
        show(p.grad_sample)
from opacus import PrivacyEngine

net = fixed(torch.nn.Linear(4, 2))
o = torch.optim.SGD(net.parameters(), lr=0.1)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(8, 4), torch.ones(8, 2)), batch_size=4)
e = PrivacyEngine(accountant="rdp")
net, o, data = e.make_private(
    module=net, optimizer=o, data_loader=data, noise_multiplier=0.0, max_grad_norm=1.0, poisson_sampling=False
)
for a, b in data:
    o.zero_grad()
    (net(a) - b).pow(2).mean().backward()
    o.step()
show(*net.parameters())
from opacus.layers import DPLSTM

m = GradSampleModule(fixed(DPLSTM(3, 4, batch_first=True)))
y, _ = m(torch.sin(torch.arange(30)).view(2, 5, 3))
y.pow(2).sum().backward()
for p in m.parameters():
    show(p.grad_sample)
