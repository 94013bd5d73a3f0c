import higher

model = fixed(torch.nn.Linear(2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.linspace(-1, 1, 8).view(4, 2), torch.arange(4.0).view(4, 1)
with higher.innerloop_ctx(model, optimizer) as (inner, steps):
    for _ in range(3):
        steps.step((inner(x) - y).pow(2).mean())
    loss = (inner(x) - y).pow(2).mean()
show(loss, *torch.autograd.grad(loss, inner.parameters(time=0)))
