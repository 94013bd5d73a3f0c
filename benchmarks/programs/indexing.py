"""Indexing: indices, masks, gather and scatter, sorting."""

from __future__ import annotations

from .program import Field, with_gradients

PROGRAMS = Field("indexing")


@PROGRAMS
def ratings(torch, draw):
    """Factors and biases of 300 ratings of 50 items by 40 users."""
    user, item, stars = draw.whole(300, n=40), draw.whole(300, n=50), draw.normal(300)
    p, q, bu, bi = draw.leaf(40, 5), draw.leaf(50, 5), draw.leaf(40), draw.leaf(50)

    def loss():
        guess = (p[user] * q[item]).sum(1) + bu[user] + bi[item]
        return (guess - stars).pow(2).mean() + 0.01 * (p.pow(2).sum() + q.pow(2).sum())

    return with_gradients(torch, loss, [p, q, bu, bi])


@PROGRAMS
def negative_sampling(torch, draw):
    """Word vectors by a centre, a context and five negative samples."""
    centre, context, others = draw.whole(40, n=100), draw.whole(40, n=100), draw.whole(40, 5, n=100)
    inner, outer = draw.leaf(100, 12), draw.leaf(100, 12)

    def loss():
        v = inner[centre]
        near = (v * outer[context]).sum(1)
        far = torch.bmm(outer[others], v[:, :, None]).squeeze(2)
        return -(torch.nn.functional.logsigmoid(near) + torch.nn.functional.logsigmoid(-far).sum(1)).mean()

    return with_gradients(torch, loss, [inner, outer])


@PROGRAMS
def soft_histogram(torch, draw):
    """A histogram in which each value counts linearly in two bins, by scatter_add."""
    x, target = draw.uniform(200, high=9.0).requires_grad_(), draw.uniform(11)

    def loss():
        below = x.detach().floor()
        share = x - below
        bins = below.long()
        counts = torch.zeros(11, dtype=torch.float64).scatter_add(0, bins, 1 - share).scatter_add(0, bins + 1, share)
        return (counts / 200 - target).square().sum()

    return with_gradients(torch, loss, [x])


@PROGRAMS
def triangle_from_vector(torch, draw):
    """A correlation matrix of six variables from its free parameters, written by index."""
    free, sample = draw.leaf(15, scale=0.3), draw.normal(6, 6)
    rows, columns = torch.tril_indices(6, 6, offset=-1)

    def loss():
        factor = torch.eye(6, dtype=torch.float64)
        factor[rows, columns] = torch.tanh(free)
        factor = factor / factor.norm(dim=1, keepdim=True)
        return ((factor @ factor.T - sample @ sample.T / 6) ** 2).sum()

    return with_gradients(torch, loss, [free])


@PROGRAMS
def expected_shortfall(torch, draw):
    """The mean loss of a portfolio in the worst twentieth of 400 scenarios, by sorting."""
    scenarios, w = draw.normal(400, 8, scale=0.02), draw.leaf(8)

    def loss():
        returns = scenarios @ torch.softmax(w, 0)
        return -torch.sort(returns).values[:20].mean()

    return with_gradients(torch, loss, [w])


@PROGRAMS
def sparse_product(torch, draw):
    """A product of a sparse matrix of 600 entries and a vector, three times, by index_add."""
    rows, columns, entries, x = draw.whole(600, n=80), draw.whole(600, n=80), draw.leaf(600, scale=0.2), draw.leaf(80)

    def loss():
        v = x
        for _ in range(3):
            v = torch.zeros(80, dtype=torch.float64).index_add_(0, rows, entries * v[columns])
        return torch.tanh(v).sum()

    return with_gradients(torch, loss, [entries, x])


@PROGRAMS
def masked_sequences(torch, draw):
    """A loss on the tokens of a batch outside of the padding, by a mask."""
    lengths, scores, labels = draw.whole(10, n=15) + 5, draw.leaf(10, 20, 8), draw.whole(10, 20, n=8)
    mask = torch.arange(20)[None, :] < lengths[:, None]

    def loss():
        return torch.nn.functional.cross_entropy(scores[mask], labels[mask])

    return with_gradients(torch, loss, [scores])


@PROGRAMS
def segment_softmax(torch, draw):
    """A softmax within 20 groups of 150 edges, by scatter_reduce and gather."""
    group, scores, values = draw.whole(150, n=20), draw.leaf(150), draw.leaf(150, 4)

    def loss():
        top = torch.zeros(20, dtype=torch.float64).scatter_reduce(0, group, scores, "amax", include_self=False)
        weights = (scores - top[group]).exp()
        sums = torch.zeros(20, dtype=torch.float64).scatter_add(0, group, weights)
        shares = weights / torch.gather(sums, 0, group)
        return torch.zeros(20, 4, dtype=torch.float64).index_add(0, group, shares[:, None] * values).square().sum()

    return with_gradients(torch, loss, [scores, values])


@PROGRAMS
def nearest_neighbours(torch, draw):
    """The distances of 30 points to their three nearest neighbours among 50 others."""
    x, y = draw.leaf(30, 3), draw.leaf(50, 3)

    def loss():
        distances = (x[:, None] - y[None]).pow(2).sum(-1)
        near, places = distances.topk(3, dim=1, largest=False)
        centres = y[places].mean(1)
        return near.sqrt().mean() + (x - centres).abs().sum()

    return with_gradients(torch, loss, [x, y])


@PROGRAMS
def interpolation(torch, draw):
    """Interpolation in a table at 100 points."""
    table, places = draw.leaf(30), draw.uniform(100, high=0.999).requires_grad_()
    knots = torch.linspace(0.0, 1.0, 30, dtype=torch.float64)

    def loss():
        right = torch.searchsorted(knots, places.detach()).clamp(1, 29)
        share = (places - knots[right - 1]) / (knots[right] - knots[right - 1])
        return torch.lerp(table[right - 1], table[right], share).square().mean()

    return with_gradients(torch, loss, [table, places])


@PROGRAMS
def best_and_chosen(torch, draw):
    """Selected elements of rows, sorted and added to their positions, and products of each row's three largest ones."""
    x, indices = draw.leaf(30, 20), draw.whole(30, 5, n=20)

    def loss():
        ordered = torch.sort(x.gather(1, indices), 1, descending=True).values
        added = torch.zeros(30, 20, dtype=torch.float64).scatter_add(1, indices, ordered)
        return (added * x).sum() + torch.topk(x, 3, 1).values.prod(1).sum()

    return with_gradients(torch, loss, [x])
