import julius

x = torch.sin(torch.arange(400, dtype=torch.float64) ** 2 * 0.3).view(1, 400).requires_grad_()
for y in (
    julius.resample_frac(x, 4, 3),
    julius.lowpass_filter(x, 0.1),
    julius.bandpass_filter(x, 0.1, 0.3),
    julius.fft_conv1d(x[None], torch.ones(1, 1, 21, dtype=torch.float64) / 21),
    julius.split_bands(x, 100, 4),
):
    show(y.sum(), y.std(), torch.autograd.grad(y.pow(2).sum(), x, retain_graph=True)[0].norm())
