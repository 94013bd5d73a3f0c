import torchbnn

layer = torchbnn.BayesLinear
model = fixed(torch.nn.Sequential(layer(0, 0.1, 3, 4), torch.nn.ReLU(), layer(0, 0.1, 4, 1)))
loss = torchbnn.BKLLoss()(model)
loss.backward()
show(loss, *(p.grad for p in model.parameters()))
