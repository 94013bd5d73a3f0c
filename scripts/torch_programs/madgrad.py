from madgrad import MADGRAD, MirrorMADGRAD

for make in (MADGRAD, MirrorMADGRAD):
    net = fixed(torch.nn.Linear(3, 2))
    o = make(net.parameters(), lr=0.01)
    for _ in range(5):
        o.zero_grad()
        net(torch.ones(2, 3)).pow(2).sum().backward()
        o.step()
    show(*net.parameters())
