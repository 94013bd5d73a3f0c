import torch_dct as d

x = torch.sin(torch.arange(24, dtype=torch.float64)).view(4, 6).requires_grad_()
for f in (d.dct, d.idct, d.dct1, d.idct1, d.dct_2d, d.idct_2d):
    y = f(x)
    show(y, *torch.autograd.grad(y.pow(3).sum(), x))
