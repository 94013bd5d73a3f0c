"""Scans: recurrences in time, and running sums and products."""

from __future__ import annotations

from .program import Field, with_gradients

PROGRAMS = Field("scans")


@PROGRAMS
def discounted_returns(torch, draw):
    """The gradient of a policy, with advantages by running sums of rewards."""
    rewards, logits, actions = draw.normal(8, 50), draw.leaf(8, 50, 4), draw.whole(8, 50, n=4)
    discounts = draw.constant([0.97**t for t in range(50)])

    def loss():
        returns = torch.flip(torch.cumsum(torch.flip(rewards * discounts, (1,)), 1), (1,)) / discounts
        advantages = (returns - returns.mean(1, keepdim=True)) / returns.std(1, keepdim=True)
        logs = torch.log_softmax(logits, -1).gather(-1, actions[..., None])[..., 0]
        return -(logs * advantages).mean()

    return with_gradients(torch, loss, [logits])


@PROGRAMS
def autoregression(torch, draw):
    """60 steps of an autoregression of second order, compared with data."""
    a, noise, data = draw.uniform(2, low=-0.4, high=0.4).requires_grad_(), draw.normal(60), draw.normal(60)

    def loss():
        x = [noise[0], noise[1]]
        for t in range(2, 60):
            x.append(a[0] * x[-1] + a[1] * x[-2] + noise[t])
        return (torch.stack(x) - data).square().mean()

    return with_gradients(torch, loss, [a])


@PROGRAMS
def garch(torch, draw):
    """The likelihood of 80 returns. The variance depends on earlier returns."""
    returns, free = draw.normal(80), draw.leaf(3, scale=0.3, shift=-1.0)

    def loss():
        omega, alpha, beta = free.exp() / (1 + free.exp().sum())
        variance, total = torch.ones((), dtype=torch.float64), 0.0
        for r in returns.unbind():
            total = total + torch.log(variance) + r * r / variance
            variance = omega + alpha * r * r + beta * variance
        return 0.5 * total

    return with_gradients(torch, loss, [free])


@PROGRAMS
def smoothing(torch, draw):
    """Holt's smoothing of 12 series of 40 points, with rates between 0 and 1."""
    series, free = draw.normal(40, 12), draw.leaf(2, 12)

    def loss():
        alpha, beta = torch.sigmoid(free)
        level, trend, errors = series[0], torch.zeros_like(series[0]), []
        for y in series[1:]:
            forecast = level + trend
            errors.append(y - forecast)
            new = alpha * y + (1 - alpha) * forecast
            level, trend = new, beta * (new - level) + (1 - beta) * trend
        return torch.stack(errors).abs().mean()

    return with_gradients(torch, loss, [free])


@PROGRAMS
def survival(torch, draw):
    """Discrete hazards of 64 cases over 24 months, by running products."""
    x, w, months = draw.normal(64, 6), draw.leaf(24, 6, scale=0.3), draw.whole(64, n=24)

    def loss():
        hazard = torch.sigmoid(x @ w.T - 2)
        alive = torch.cumprod(1 - hazard, dim=1)
        before = torch.cat([torch.ones(64, 1, dtype=torch.float64), alive[:, :-1]], 1)
        return -((hazard * before).gather(1, months.unsqueeze(1)) + 1e-12).log().mean()

    return with_gradients(torch, loss, [w])


@PROGRAMS
def chain_of_labels(torch, draw):
    """The normaliser and the score of a conditional random field, batch 6, 20 tokens, 5 labels."""
    scores, moves, labels = draw.leaf(6, 20, 5), draw.leaf(5, 5), draw.whole(6, 20, n=5)

    def loss():
        alpha = scores[:, 0]
        for t in range(1, 20):
            alpha = torch.logsumexp(alpha[:, :, None] + moves, 1) + scores[:, t]
        gold = scores.gather(2, labels[:, :, None]).sum((1, 2)) + moves[labels[:, :-1], labels[:, 1:]].sum(1)
        return (torch.logsumexp(alpha, 1) - gold).mean()

    return with_gradients(torch, loss, [scores, moves])


@PROGRAMS
def running_extrema(torch, draw):
    """The maximal drawdown of 10 paths of 250 steps, by cummax."""
    returns, weights = draw.normal(10, 250, scale=0.01), draw.leaf(10)

    def loss():
        wealth = torch.exp(torch.cumsum(torch.softmax(weights, 0) @ returns, 0))
        falls = 1 - wealth / torch.cummax(wealth, 0).values
        return falls.max() + falls.mean()

    return with_gradients(torch, loss, [weights])


@PROGRAMS
def warped_time(torch, draw):
    """Soft dynamic time warping of two sequences of 6 numbers, by a table of scalars."""
    first, second, n = draw.leaf(6), draw.normal(6), 6
    never, zero = torch.tensor(1e8, dtype=torch.float64), torch.zeros((), dtype=torch.float64)

    def loss():
        costs = (first[:, None] - second) ** 2
        best = {(i, j): never for i in range(n + 1) for j in range(n + 1)} | {(0, 0): zero}
        for i in range(1, n + 1):
            for j in range(1, n + 1):
                before = torch.stack([-best[i - 1, j], -best[i, j - 1], -best[i - 1, j - 1]])
                best[i, j] = costs[i - 1, j - 1] - torch.logsumexp(before, 0)
        return best[n, n]

    return with_gradients(torch, loss, [first])
