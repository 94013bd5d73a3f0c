import zuko

flow = fixed(zuko.flows.NSF(3, 2, transforms=2, hidden_features=(16, 16)))
x, context = torch.linspace(-1, 1, 12).view(4, 3), torch.linspace(0, 1, 8).view(4, 2)
loss = -flow(context).log_prob(x).mean()
loss.backward()
show(loss, *(p.grad.norm() for p in flow.parameters() if p.grad is not None))
