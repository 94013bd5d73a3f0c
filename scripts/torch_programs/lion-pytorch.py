from lion_pytorch import Lion

net = fixed(torch.nn.Linear(3, 2))
o = Lion(net.parameters(), lr=0.01, weight_decay=0.01)
for _ in range(5):
    o.zero_grad()
    net(torch.ones(2, 3)).pow(2).sum().backward()
    o.step()
show(*net.parameters())
