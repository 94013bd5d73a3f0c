import io
import sys

import deepxde as dde
import numpy as np

dde.config.set_default_float("float64")
g = dde.geometry.Interval(-1, 1)
pde = lambda x, y: -dde.grad.hessian(y, x) - np.pi**2 * torch.sin(np.pi * x)
bc = dde.icbc.DirichletBC(g, lambda x: 0, lambda x, on: on)
data = dde.data.PDE(g, pde, bc, 16, 2, train_distribution="uniform")
net = fixed(dde.nn.FNN([1] + [8] * 2 + [1], "tanh", "Glorot uniform"))
out, sys.stdout = (sys.stdout, io.StringIO())
model = dde.Model(data, net)
model.compile("adam", lr=0.01)
model.train(iterations=20, display_every=100)
sys.stdout = out
show(*net.parameters())
