from ema_pytorch import EMA

net = fixed(torch.nn.Linear(3, 2))
e = EMA(net, beta=0.9, update_after_step=0, update_every=1)
for _ in range(3):
    with torch.no_grad():
        for p in net.parameters():
            p.add_(0.5)
    e.update()
show(*e.ema_model.parameters(), e(torch.ones(1, 3)))
