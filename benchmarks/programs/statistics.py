"""Statistics: likelihoods, posteriors and estimators."""

from __future__ import annotations

from .program import Field, with_gradients

PROGRAMS = Field("statistics")


@PROGRAMS
def logistic_regression(torch, draw):
    """The penalised log likelihood of 200 trials with 6 regressors."""
    x, beta = draw.normal(200, 6), draw.leaf(6)
    success = draw.uniform(200) < 0.5

    def loss():
        eta = x @ beta
        return torch.where(success, torch.nn.functional.softplus(-eta), torch.nn.functional.softplus(eta)).sum() + (
            0.5 * (beta * beta).sum()
        )

    return with_gradients(torch, loss, [beta])


@PROGRAMS
def gaussian_mixture(torch, draw):
    """Log likelihood of 300 points in the plane under 4 components, by broadcasting."""
    points = draw.normal(300, 1, 2)
    means, log_scales, weights = draw.leaf(4, 2), draw.leaf(4, 2, scale=0.1), draw.leaf(4)

    def loss():
        z = (points - means) * torch.exp(-log_scales)
        logs = -0.5 * (z * z).sum(-1) - log_scales.sum(-1)
        return -torch.logsumexp(logs + torch.log_softmax(weights, 0), dim=1).mean()

    return with_gradients(torch, loss, [means, log_scales, weights])


@PROGRAMS
def poisson_regression(torch, draw):
    """The likelihood of counts with an exposure and a clamped rate."""
    x, counts = draw.normal(150, 4), draw.whole(150, n=6).double()
    exposure, beta, bias = draw.uniform(150, low=0.5, high=2.0), draw.leaf(4, scale=0.3), draw.leaf(1)

    def loss():
        eta = torch.clamp(x @ beta + bias + exposure.log(), -10.0, 10.0)
        return (eta.exp() - counts * eta + torch.lgamma(counts + 1)).mean()

    return with_gradients(torch, loss, [beta, bias])


@PROGRAMS
def eight_schools(torch, draw):
    """Log density of a hierarchical model of eight groups, in the uncentred form."""
    y, sigma = draw.normal(8, scale=10.0), draw.uniform(8, low=9.0, high=18.0)
    mu, log_tau, eta = draw.leaf(), draw.leaf(), draw.leaf(8)

    def loss():
        tau = log_tau.exp()
        theta = mu + tau * eta
        log_prior = -0.5 * (mu / 5) ** 2 - torch.log1p((tau / 5) ** 2) + log_tau - 0.5 * (eta**2).sum()
        return -(log_prior - (0.5 * ((y - theta) / sigma) ** 2 + sigma.log()).sum())

    return with_gradients(torch, loss, [mu, log_tau, eta])


@PROGRAMS
def student_regression(torch, draw):
    """A robust regression whose degrees of freedom are estimated, too."""
    x, y = draw.normal(100, 3), draw.normal(100)
    beta, log_scale, log_nu = draw.leaf(3), draw.leaf(), draw.leaf(shift=1.0)

    def loss():
        nu, scale = log_nu.exp(), log_scale.exp()
        z = (y - x @ beta) / scale
        constant = torch.lgamma((nu + 1) / 2) - torch.lgamma(nu / 2) - 0.5 * torch.log(nu) - log_scale
        return -(constant - (nu + 1) / 2 * torch.log1p(z * z / nu)).sum()

    return with_gradients(torch, loss, [beta, log_scale, log_nu])


@PROGRAMS
def gaussian_process(torch, draw):
    """Marginal likelihood of 40 points with a squared exponential kernel."""
    x, y = draw.uniform(40, 2, high=4.0), draw.normal(40)
    log_length, log_noise, log_scale = draw.leaf(2, scale=0.2), draw.leaf(shift=-1.0, scale=0.1), draw.leaf(scale=0.2)
    eye = draw.constant([[float(i == j) for j in range(40)] for i in range(40)])

    def loss():
        z = x / log_length.exp()
        squares = (z * z).sum(1)
        distances = squares[:, None] + squares[None, :] - 2 * z @ z.T
        covariance = (log_scale - 0.5 * distances).exp() + eye * (2 * log_noise).exp()
        factor = torch.linalg.cholesky(covariance)
        alpha = torch.linalg.solve_triangular(factor, y[:, None], upper=False)
        return 0.5 * (alpha * alpha).sum() + factor.diagonal().log().sum()

    return with_gradients(torch, loss, [log_length, log_noise, log_scale])


@PROGRAMS
def kalman_filter(torch, draw):
    """Likelihood of 30 observations of a state of two numbers."""
    observations = draw.normal(30)
    transition, log_q, log_r = draw.leaf(2, 2, scale=0.4), draw.leaf(2, scale=0.2), draw.leaf(scale=0.2)
    eye = draw.constant([[1.0, 0.0], [0.0, 1.0]])

    def loss():
        mean, covariance, total = torch.zeros(2, dtype=torch.float64), eye, 0.0
        noise, q = log_r.exp(), torch.diag(log_q.exp())
        for y in observations:
            mean = transition @ mean
            covariance = transition @ covariance @ transition.T + q
            spread = covariance[0, 0] + noise
            gain = covariance[:, 0] / spread
            error = y - mean[0]
            total = total + 0.5 * (spread.log() + error * error / spread)
            mean = mean + gain * error
            covariance = covariance - torch.outer(gain, covariance[0])
        return total

    return with_gradients(torch, loss, [transition, log_q, log_r])


@PROGRAMS
def hidden_markov(torch, draw):
    """The forward algorithm in logarithms: 5 states, 40 symbols."""
    symbols = [int(k) for k in draw.rng.integers(7, size=40)]
    start, move, emit = draw.leaf(5), draw.leaf(5, 5), draw.leaf(5, 7)

    def loss():
        log_move, log_emit = torch.log_softmax(move, 1), torch.log_softmax(emit, 1)
        alpha = torch.log_softmax(start, 0) + log_emit[:, symbols[0]]
        for symbol in symbols[1:]:
            alpha = torch.logsumexp(alpha[:, None] + log_move, dim=0) + log_emit[:, symbol]
        return -torch.logsumexp(alpha, 0)

    return with_gradients(torch, loss, [start, move, emit])


@PROGRAMS
def cox_regression(torch, draw):
    """Partial likelihood of 200 sorted survival times."""
    x, events, beta = draw.normal(200, 5), draw.uniform(200) < 0.7, draw.leaf(5)

    def loss():
        risk = x @ beta
        log_sums = torch.logcumsumexp(risk.flip(0), 0).flip(0)
        return -(risk - log_sums)[events].mean()

    return with_gradients(torch, loss, [beta])


@PROGRAMS
def beta_binomial(torch, draw):
    """The likelihood of 80 counts among 20 trials, with more spread than a binomial distribution."""
    k = draw.whole(80, n=21).double()
    log_a, log_b = draw.leaf(scale=0.3), draw.leaf(scale=0.3)

    def log_beta(a, b):
        return torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)

    def loss():
        a, b = log_a.exp(), log_b.exp()
        return -(log_beta(k + a, 20 - k + b) - log_beta(a, b)).sum()

    return with_gradients(torch, loss, [log_a, log_b])


@PROGRAMS
def hamiltonian_monte_carlo(torch, draw):
    """Five leapfrog steps on a banana of 10 dimensions."""
    start, momentum = draw.normal(10), draw.normal(10)

    def energy(q):
        return ((q[1:] - q[:-1] ** 2) ** 2).sum() + 0.05 * ((1 - q) ** 2).sum()

    def step():
        q, p = start.clone().requires_grad_(), momentum.clone()
        for _ in range(5):
            (g,) = torch.autograd.grad(energy(q), [q])
            p.sub_(g, alpha=0.005)
            with torch.no_grad():
                q.add_(p, alpha=0.01)
            (g,) = torch.autograd.grad(energy(q), [q])
            p.sub_(g, alpha=0.005)
        return q, p

    return step


@PROGRAMS
def kernel_density(torch, draw):
    """Leave-one-out likelihood of a density estimate of 100 points, by its bandwidth."""
    x, log_h = draw.normal(100), draw.leaf(shift=-1.0, scale=0.1)
    mask = draw.constant([[i == j for j in range(100)] for i in range(100)])

    def loss():
        z = (x[:, None] - x[None, :]) * torch.exp(-log_h)
        logs = (-0.5 * z.square() - log_h).masked_fill(mask, float("-inf"))
        return -torch.logsumexp(logs, 1).mean()

    return with_gradients(torch, loss, [log_h])


@PROGRAMS
def evidence_bound(torch, draw):
    """A variational bound of a posterior of 6 dimensions, by 16 draws."""
    x, y, noise = draw.normal(60, 6), draw.normal(60), draw.normal(16, 6)
    mean, rho = draw.leaf(6), draw.leaf(6, shift=-1.0)

    def loss():
        scale = torch.nn.functional.softplus(rho)
        w = mean + scale * noise
        log_likelihood = -0.5 * (y - w @ x.T).pow(2).sum(1).mean()
        divergence = 0.5 * (scale**2 + mean**2 - 1 - 2 * scale.log()).sum()
        return divergence - log_likelihood

    return with_gradients(torch, loss, [mean, rho])


@PROGRAMS
def ordinal_regression(torch, draw):
    """Five ordered classes by their cut points, 120 cases."""
    x, labels = draw.normal(120, 3), draw.whole(120, n=5)
    beta, first, gaps = draw.leaf(3), draw.leaf(1), draw.leaf(3, scale=0.2)

    def loss():
        cuts = torch.cat([first, first + torch.cumsum(gaps.exp(), 0)])
        below = torch.sigmoid(cuts - (x @ beta)[:, None])
        edges = torch.cat([torch.zeros_like(below[:, :1]), below, torch.ones_like(below[:, :1])], dim=1)
        chances = edges[:, 1:] - edges[:, :-1]
        return -torch.log(chances.gather(1, labels[:, None]) + 1e-9).mean()

    return with_gradients(torch, loss, [beta, first, gaps])


@PROGRAMS
def coupled_flow(torch, draw):
    """The likelihood of 64 points under a normalizing flow of four couplings."""
    couplings, x = [(draw.leaf(2, 12, scale=0.3), draw.leaf(12, 4, scale=0.3)) for _ in range(4)], draw.normal(64, 4)

    def loss():
        z, volume = x, 0.0
        for first, second in couplings:
            first_half, second_half = z[:, :2], z[:, 2:]
            numbers = torch.tanh(first_half @ first) @ second
            logs = torch.tanh(numbers[:, :2])
            volume = volume + logs.sum(1)
            z = torch.cat([second_half * logs.exp() + numbers[:, 2:], first_half], 1)
        return (0.5 * (z**2).sum(1) - volume).mean()

    return with_gradients(torch, loss, [matrix for pair in couplings for matrix in pair])
