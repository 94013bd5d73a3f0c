"""Estimation of states, alignments and trees from observations."""

from __future__ import annotations

import math

from .program import Field, with_gradients

PROGRAMS = Field("estimation")


@PROGRAMS
def aligned_points(torch, draw):
    """The rotation and shift from one set of 40 points to another, by a singular value decomposition."""
    points, others, weights = draw.leaf(40, 3), draw.normal(40, 3), draw.uniform(40, low=0.5, high=1.0)

    def loss():
        w = (weights / weights.sum())[:, None]
        centre, other = (w * points).sum(0), (w * others).sum(0)
        u, _, vh = torch.linalg.svd((points - centre).T @ (w * (others - other)))
        sign = torch.sign(torch.linalg.det(u @ vh)).detach()
        flip = torch.stack([torch.ones_like(sign), torch.ones_like(sign), sign])
        rotation = (u * flip) @ vh
        images = (points - centre) @ rotation + other
        return ((images - others) ** 2).sum(1).mean()

    return with_gradients(torch, loss, [points])


@PROGRAMS
def kalman_smoother(torch, draw):
    """Filter and smoother over 15 steps of a system of four states. Two of the states are observed."""
    observed, noise = draw.normal(15, 2), draw.leaf(4, scale=0.3)
    step = torch.eye(4, dtype=torch.float64) + 0.1 * torch.diag(torch.ones(2, dtype=torch.float64), 2)
    observation = torch.eye(4, dtype=torch.float64)[:2]

    def loss():
        q, r = torch.diag(noise.exp()), 0.1 * torch.eye(2, dtype=torch.float64)
        mean, cov = torch.zeros(4, dtype=torch.float64), torch.eye(4, dtype=torch.float64)
        means, covs, predicted, ahead = [], [], [], []
        for y in observed:
            mean, cov = step @ mean, step @ cov @ step.T + q
            predicted.append(mean)
            ahead.append(cov)
            gain = torch.linalg.solve(observation @ cov @ observation.T + r, observation @ cov).T
            mean, cov = mean + gain @ (y - observation @ mean), cov - gain @ observation @ cov
            means.append(mean)
            covs.append(cov)
        total = means[-1].square().sum()
        smooth = means[-1]
        for t in range(13, -1, -1):
            back = torch.linalg.solve(ahead[t + 1], step @ covs[t]).T
            smooth = means[t] + back @ (smooth - predicted[t + 1])
            total = total + (smooth[:2] - observed[t]).square().sum()
        return total

    return with_gradients(torch, loss, [noise])


@PROGRAMS
def alignment_of_series(torch, draw):
    """A differentiable time warping of two series, soft minima along antidiagonals."""
    x, y, gamma = draw.leaf(12, 2), draw.normal(10, 2), 0.5

    def loss():
        distances = (x[:, None, :] - y[None, :, :]).square().sum(-1)
        far = torch.full((), 1e6, dtype=torch.float64)
        above = [torch.zeros((), dtype=torch.float64)] + [far] * 10
        for i in range(12):
            row = [far]
            for j in range(10):
                before = torch.stack([above[j], above[j + 1], row[j]])
                row.append(distances[i, j] - gamma * torch.logsumexp(-before / gamma, 0))
            above = row
        return above[-1]

    return with_gradients(torch, loss, [x])


@PROGRAMS
def spline_fit(torch, draw):
    """A natural cubic spline of 8 knots at 60 points. The curvatures solve a linear system."""
    heights, places, values = draw.leaf(8), draw.uniform(60, low=0.01, high=6.99), draw.normal(60)

    def loss():
        inner = heights[2:] - 2 * heights[1:-1] + heights[:-2]
        ones = torch.ones(5, dtype=torch.float64)
        matrix = torch.diag(4 * torch.ones(6, dtype=torch.float64)) + torch.diag(ones, 1) + torch.diag(ones, -1)
        curve = torch.nn.functional.pad(torch.linalg.solve(matrix, 6 * inner), (1, 1))
        left = torch.clamp(places.floor().long(), 0, 6)
        t = places - left
        y0, y1, c0, c1 = heights[left], heights[left + 1], curve[left], curve[left + 1]
        line = y0 * (1 - t) + y1 * t
        bend = ((1 - t) ** 3 - (1 - t)) * c0 / 6 + (t**3 - t) * c1 / 6
        return torch.nn.functional.huber_loss(line + bend, values)

    return with_gradients(torch, loss, [heights])


@PROGRAMS
def hierarchical_logits(torch, draw):
    """A logistic regression with an intercept for each of 12 groups that have a common normal prior."""
    x, y, group = draw.normal(200, 5), draw.whole(200, n=2).double(), draw.whole(200, n=12)
    weights, offsets, mean, spread = draw.leaf(5), draw.leaf(12), draw.leaf(), draw.leaf()

    def loss():
        scale = torch.nn.functional.softplus(spread)
        logits = x @ weights + (mean + scale * offsets)[group]
        misfit = torch.nn.functional.binary_cross_entropy_with_logits(logits, y, reduction="sum")
        prior = torch.distributions.Normal(0.0, 1.0).log_prob(offsets).sum() - scale - 0.5 * weights.square().sum()
        return misfit - prior

    return with_gradients(torch, loss, [weights, offsets, mean, spread])


@PROGRAMS
def tree_of_species(torch, draw):
    """The likelihood of sequences at the leaves of a tree of 8 species, by the pruning algorithm with logarithms."""
    lengths, rates, tips = draw.leaf(14), draw.leaf(4, 4), draw.whole(8, 30, n=4)

    def loss():
        exchange = rates.exp() * (1 - torch.eye(4, dtype=torch.float64))
        generator = exchange - torch.diag(exchange.sum(1))
        moves = torch.log(
            torch.matrix_exp(torch.nn.functional.softplus(lengths)[:, None, None] * 0.1 * generator) + 1e-12
        )
        letters = torch.nn.functional.one_hot(tips, 4).double()
        level, k = list((letters + 1e-6).log()), 0
        while len(level) > 1:
            above = []
            for i in range(0, len(level), 2):
                left = torch.logsumexp(moves[k][None] + level[i][:, None, :], 2)
                right = torch.logsumexp(moves[k + 1][None] + level[i + 1][:, None, :], 2)
                k += 2
                above.append(left + right)
            level = above
        return -(torch.logsumexp(level[0], 1) - math.log(4)).sum()

    return with_gradients(torch, loss, [lengths, rates])
