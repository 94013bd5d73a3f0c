from torch_ema import ExponentialMovingAverage

net = fixed(torch.nn.Linear(3, 2))
e = ExponentialMovingAverage(net.parameters(), decay=0.9)
with torch.no_grad():
    for p in net.parameters():
        p.add_(0.5)
e.update()
with e.average_parameters():
    show(*net.parameters())
show(*net.parameters())
