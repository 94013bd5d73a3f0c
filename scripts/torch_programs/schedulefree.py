import schedulefree

for make in (schedulefree.AdamWScheduleFree, schedulefree.SGDScheduleFree, schedulefree.RAdamScheduleFree):
    for foreach in (True, False):
        net = fixed(torch.nn.Linear(3, 2))
        o = make(net.parameters(), lr=0.01, foreach=foreach)
        o.train()
        for _ in range(6):
            o.zero_grad()
            net(torch.ones(2, 3)).pow(2).sum().backward()
            o.step()
        o.eval()
        show(*net.parameters())
