from torchcrf import CRF

m = CRF(4, batch_first=True)
fixed(m)
e = torch.sin(torch.arange(40)).view(2, 5, 4).requires_grad_()
t = (torch.arange(10) % 4).view(2, 5)
mask = torch.ones(2, 5, dtype=torch.bool)
mask[1, 3:] = False
l = m(e, t, mask=mask)
l.backward()
show(l, e.grad, *[p.grad for p in m.parameters()])
print(*[tag for tags in m.decode(e, mask) for tag in tags])
