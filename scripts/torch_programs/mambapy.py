from mambapy.mamba import Mamba, MambaConfig

torch.manual_seed(0)
for pscan in (True, False):
    m = fixed(Mamba(MambaConfig(d_model=8, n_layers=2, d_state=4, pscan=pscan)))
    x = torch.sin(torch.arange(64)).view(1, 8, 8).requires_grad_()
    y = m(x)
    y.pow(2).sum().backward()
    show(y, x.grad, *[p.grad.norm() for p in m.parameters() if p.grad is not None])
