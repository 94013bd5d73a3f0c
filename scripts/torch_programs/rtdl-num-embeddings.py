import rtdl_num_embeddings as r

x = torch.sin(torch.arange(12)).view(4, 3)
torch.manual_seed(0)
for m in (
    r.LinearEmbeddings(3, 5),
    r.PeriodicEmbeddings(3, 4, lite=False),
    r.PiecewiseLinearEmbeddings(
        r.compute_bins(torch.sin(torch.arange(90.0)).view(30, 3), n_bins=4), 5, activation=True, version="B"
    ),
):
    fixed(m)
    y = m(x)
    y.pow(2).sum().backward()
    show(y, *[p.grad for p in m.parameters()])
