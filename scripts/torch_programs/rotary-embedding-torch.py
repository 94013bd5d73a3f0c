from rotary_embedding_torch import RotaryEmbedding

r = RotaryEmbedding(dim=8)
q = torch.sin(torch.arange(64)).view(1, 1, 8, 8).requires_grad_()
y = r.rotate_queries_or_keys(q)
y.pow(3).sum().backward()
show(y, q.grad)
