import tensorly as tl
from tensorly.decomposition import parafac, tensor_train, tucker

tl.set_backend("pytorch")
t = torch.sin(torch.arange(60, dtype=torch.float64)).view(3, 4, 5)
show(tl.unfold(t, 1), tl.norm(t))
f = parafac(t, rank=2, init="svd", n_iter_max=20)
show(tl.cp_to_tensor(f))
core, fs = tucker(t, rank=[2, 2, 2])
show(tl.tucker_to_tensor((core, fs)))
show(tl.tt_to_tensor(tensor_train(t, rank=[1, 2, 2, 1])))
fs = [torch.sin(torch.arange(2 * n, dtype=torch.float64) + n).view(n, 2).requires_grad_() for n in (3, 4, 5)]
l = tl.norm(tl.cp_to_tensor((None, fs)) - t) ** 2
show(l, *torch.autograd.grad(l, fs))
