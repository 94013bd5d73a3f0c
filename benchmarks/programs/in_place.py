"""Programs that write in place."""

from __future__ import annotations

from .program import Field, with_gradients

PROGRAMS = Field("in place")


@PROGRAMS
def in_place_changes(torch, draw):
    """A feature map with many small in-place changes."""
    x, w = draw.leaf(12, 8), draw.leaf(8)

    def loss():
        h = x * w
        for k in range(6):
            h.mul_(0.9).add_(x, alpha=0.1 * k).sub_(h.mean(0))
            h[:, k].sin_()
        return h.clamp_(-5.0, 5.0).pow(2).sum()

    return with_gradients(torch, loss, [x, w])


@PROGRAMS
def forward_substitution(torch, draw):
    """A triangular system, solved row by row in a buffer."""
    lower, b = draw.leaf(12, 12, scale=0.2), draw.leaf(12)

    def loss():
        y = torch.zeros(12, dtype=torch.float64)
        for i in range(12):
            y[i] = (b[i] - lower[i, :i] @ y[:i].clone()) / (1 + lower[i, i] ** 2)
        return y.square().sum()

    return with_gradients(torch, loss, [lower, b])


@PROGRAMS
def masked_writes(torch, draw):
    """Scores with masked elements, dropped elements and a new border."""
    scores, mask = draw.leaf(20, 20), draw.uniform(20, 20) < 0.2

    def loss():
        s = scores.clone()
        s.masked_fill_(mask, -4.0)
        s[0, :] = 0.0
        s[:, -1] = s[:, 0]
        s[mask] += 1.0
        return torch.softmax(s, 1).diagonal().log().neg_().sum()

    return with_gradients(torch, loss, [scores])


@PROGRAMS
def buffer_of_states(torch, draw):
    """The states of a recurrence in one buffer, which is read later."""
    w, x = draw.leaf(6, 6, scale=0.3), draw.leaf(25, 6)

    def loss():
        buffer = torch.zeros(26, 6, dtype=torch.float64)
        for t in range(25):
            buffer[t + 1].copy_(torch.tanh(buffer[t].clone() @ w + x[t]))
        return buffer[1:].square().mean()

    return with_gradients(torch, loss, [w, x])


@PROGRAMS
def counted_places(torch, draw):
    """A table by index_put_, index_add_ and scatter_."""
    values, rows, columns = draw.leaf(60), draw.whole(60, n=10), draw.whole(60, n=10)
    shift, order = draw.leaf(5, 10), draw.constant([7, 2, 4, 0, 9])
    indices = columns[:10][None]

    def loss():
        table = torch.zeros(10, 10, dtype=torch.float64)
        table.index_put_((rows, columns), values, accumulate=True)
        table.index_add_(0, order, shift, alpha=0.5)
        table.scatter_(0, indices, values[None, :10] ** 2)
        return torch.sin(table).sum()

    return with_gradients(torch, loss, [values, shift])
