import geotorch

layer = torch.nn.Linear(3, 3)
geotorch.orthogonal(layer, "weight")
show(layer.weight.detach().T @ layer.weight.detach())
