import torchopt

net = fixed(torch.nn.Linear(3, 2))
params = tuple(net.parameters())
x = torch.ones(2, 3)
for make in (
    torchopt.adam,
    torchopt.sgd,
    torchopt.rmsprop,
    torchopt.adamw,
    torchopt.adagrad,
    torchopt.adadelta,
    torchopt.adamax,
):
    p = tuple(q.detach().clone().requires_grad_() for q in params)
    o = make(lr=0.01)
    s = o.init(p)
    for _ in range(4):
        l = (x @ p[0].T + p[1]).pow(2).sum()
        gr = torch.autograd.grad(l, p)
        up, s = o.update(gr, s, params=p, inplace=False)
        p = torchopt.apply_updates(p, up, inplace=False)
    show(*p)
meta = torch.nn.Parameter(torch.tensor(1.0))
net = fixed(torch.nn.Linear(3, 2))
o = torchopt.MetaAdam(net, lr=0.1)
for _ in range(3):
    o.step(meta * net(x).pow(2).sum())
l = net(x).pow(2).sum()
l.backward()
show(l, meta.grad)


@torchopt.diff.implicit.custom_root(
    torch.func.grad(lambda p, a: ((p - a) ** 2).sum() + (p**4).sum(), argnums=0), argnums=1
)
def solve(p, a):
    for _ in range(200):
        p = p - 0.05 * (2 * (p - a) + 4 * p**3)
    return p


a = torch.tensor([1.0, 2.0], requires_grad=True)
r = solve(torch.zeros(2), a)
r.sum().backward()
show(r, a.grad)
