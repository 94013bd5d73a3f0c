from laplace import Laplace

net = fixed(torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)))
x = torch.sin(torch.arange(16)).view(8, 2)
y = x.sum(1, keepdim=True)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=4)
from laplace.curvature.backpack import BackPackGGN

for sub in ("last_layer", "all"):
    for st in ("diag", "full", "kron"):
        la = Laplace(net, "regression", subset_of_weights=sub, hessian_structure=st, backend=BackPackGGN)
        la.fit(data)
        show(la.log_marginal_likelihood(), *la(x[:2]))
