from pytorch_tcn import TCN

for kw in (
    dict(),
    dict(use_norm="weight_norm"),
    dict(use_norm="layer_norm", activation="gelu"),
    dict(causal=False, use_skip_connections=True),
):
    net = fixed(TCN(3, [4, 4], kernel_size=3, dropout=0.0, **kw)).eval()
    x = torch.sin(torch.arange(60)).view(1, 3, 20).requires_grad_()
    y = net(x)
    show(y, torch.autograd.grad(y.pow(2).sum(), x)[0])
