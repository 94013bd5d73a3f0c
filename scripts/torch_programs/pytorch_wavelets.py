from pytorch_wavelets import DTCWTForward, DTCWTInverse, DWTForward, DWTInverse

x = torch.linspace(-1, 1, 256).view(1, 1, 16, 16).requires_grad_()
low, high = DWTForward(J=2, wave="db3", mode="zero")(x)
back = DWTInverse(wave="db3", mode="zero")((low, high))
show(low, *high, back, *torch.autograd.grad(low.pow(2).sum(), x))
low, high = DTCWTForward(J=2)(x)
show(low, *high, DTCWTInverse()((low, high)))
