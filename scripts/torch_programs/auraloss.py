import auraloss

# signals with all frequencies: the gradient of a logarithm is ill-conditioned where a spectrum is near 0
n = torch.arange(3000, dtype=torch.float64)
a = torch.sin(n**2 * 0.37).view(1, 1, 3000).requires_grad_()
b = torch.cos(n**2 * 0.23).view(1, 1, 3000)
for l in (
    auraloss.freq.STFTLoss().double(),
    auraloss.freq.MultiResolutionSTFTLoss().double(),
    auraloss.time.SISDRLoss(),
    auraloss.time.ESRLoss(),
    auraloss.time.LogCoshLoss(),
    auraloss.time.SNRLoss(),
    auraloss.time.DCLoss(),
):
    v = l(a, b)
    show(v, torch.autograd.grad(v, a)[0].norm())
