from prodigyopt import Prodigy

net = fixed(torch.nn.Linear(3, 2))
o = Prodigy(net.parameters(), lr=1.0, weight_decay=0.01)
for _ in range(8):
    o.zero_grad()
    net(torch.ones(2, 3)).pow(2).sum().backward()
    o.step()
show(*net.parameters())
