import normflows as nf

base = nf.distributions.base.DiagGaussian(2)
net = lambda: nf.nets.MLP([1, 8, 8, 2], init_zeros=False)
layers = [nf.flows.AffineCouplingBlock(net()), nf.flows.Permute(2, "swap"), nf.flows.AffineCouplingBlock(net())]
model = fixed(nf.NormalizingFlow(base, layers))
loss = model.forward_kld(torch.linspace(-1, 1, 8).view(4, 2))
loss.backward()
show(loss, *(p.grad.norm() for p in model.parameters() if p.grad is not None))
