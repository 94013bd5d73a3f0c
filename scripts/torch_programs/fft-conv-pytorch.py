from fft_conv_pytorch import fft_conv

x = torch.sin(torch.arange(200)).view(1, 2, 10, 10).requires_grad_()
w = torch.cos(torch.arange(54)).view(3, 2, 3, 3).requires_grad_()
y = fft_conv(x, w, bias=torch.ones(3), padding=1, stride=2, dilation=1)
show(y, *torch.autograd.grad(y.pow(2).sum(), [x, w]))
