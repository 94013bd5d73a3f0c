from entmax import entmax15, entmax_bisect, sparsemax, sparsemax_loss

x = torch.tensor([[0.5, -1.0, 2.0], [0.1, 0.2, 0.3]], requires_grad=True)
for f in (sparsemax, entmax15, lambda x, dim: entmax_bisect(x, 1.7, dim)):
    y = f(x, dim=-1)
    show(y, *torch.autograd.grad((y**2).sum(), x))
show(sparsemax_loss(x, torch.tensor([0, 2])))
