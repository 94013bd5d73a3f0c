from pytorch_revgrad import RevGrad

x = torch.ones(3, requires_grad=True)
RevGrad(alpha=2.0)(x * 2).pow(2).sum().backward()
show(x.grad)
