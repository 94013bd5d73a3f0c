from asteroid_filterbanks import make_enc_dec

torch.manual_seed(0)
x = torch.sin(torch.arange(800) * 0.3).view(1, 1, 800).requires_grad_()
for fb in ("stft", "free", "param_sinc", "analytic_free"):
    enc, dec = make_enc_dec(fb, 32, 16, stride=8)
    fixed(enc)
    fixed(dec)
    y = dec(enc(x))
    show(y.pow(2).sum(), torch.autograd.grad(y.pow(2).sum(), x)[0].norm())
