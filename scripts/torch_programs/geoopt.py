import geoopt

ball = geoopt.PoincareBall()
x, y = torch.tensor([0.1, 0.2]), torch.tensor([-0.3, 0.4])
show(ball.dist(x, y), ball.mobius_add(x, y), ball.expmap(x, y), ball.logmap(x, y))
p = geoopt.ManifoldParameter(torch.eye(3, 2), manifold=geoopt.Stiefel())
optimizer = geoopt.optim.RiemannianSGD([p], lr=0.1)
for _ in range(5):
    optimizer.zero_grad()
    (p - torch.arange(6.0).view(3, 2)).pow(2).sum().backward()
    optimizer.step()
show(p.detach(), p.detach().T @ p.detach())
