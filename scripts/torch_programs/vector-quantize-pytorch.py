from vector_quantize_pytorch import FSQ, VectorQuantize

torch.manual_seed(0)
vq = VectorQuantize(dim=4, codebook_size=6, decay=0.8, commitment_weight=1.0)
with torch.no_grad():
    vq._codebook.embed.copy_(torch.sin(torch.arange(24)).view(1, 6, 4))
x = torch.cos(torch.arange(40)).view(1, 10, 4).requires_grad_()
q, i, l = vq(x)
(q.sum() + l.sum()).backward()
show(q, i, l, x.grad)
f = FSQ(levels=[8, 5, 5])
z = torch.cos(torch.arange(12)).view(1, 4, 3).requires_grad_()
q, i = f(z)
q.pow(2).sum().backward()
show(q, i, z.grad)
