from pytorch_msssim import ms_ssim, ssim

a = (
    torch.rand(2, 3, 180, 180, generator=torch.Generator().manual_seed(1)) * 0
    + torch.sin(torch.arange(2 * 3 * 180 * 180) * 0.37).view(2, 3, 180, 180) * 0.5
    + 0.5
)
b = torch.cos(torch.arange(2 * 3 * 180 * 180) * 0.21).view(2, 3, 180, 180) * 0.5 + 0.5
a.requires_grad_()
s = ssim(a, b, data_range=1.0)
show(s, torch.autograd.grad(s, a)[0].norm(), ms_ssim(a, 0.9 * a.detach() + 0.1 * b, data_range=1.0))
