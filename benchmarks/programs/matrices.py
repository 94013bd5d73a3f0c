"""Linear algebra: factorisations, solvers and iterations."""

from __future__ import annotations

from .program import Field, with_gradients

PROGRAMS = Field("linear algebra")


@PROGRAMS
def ridge_regression(torch, draw):
    """The validation error of a ridge regression, differentiated by its penalty and weights."""
    x, y, x_new, y_new = draw.normal(80, 12), draw.normal(80), draw.normal(40, 12), draw.normal(40)
    log_penalty = draw.leaf(12, scale=0.3)

    def loss():
        gram = x.T @ x + torch.diag(log_penalty.exp())
        beta = torch.linalg.solve(gram, x.T @ y)
        return (x_new @ beta - y_new).pow(2).mean()

    return with_gradients(torch, loss, [log_penalty])


@PROGRAMS
def power_iteration(torch, draw):
    """The largest eigenvalue of a symmetric matrix by 20 products."""
    a, start = draw.leaf(25, 25), draw.normal(25)

    def loss():
        s, v = a @ a.T, start
        for _ in range(20):
            v = s @ v
            v = v / v.norm()
        return v @ (s @ v)

    return with_gradients(torch, loss, [a])


@PROGRAMS
def low_rank(torch, draw):
    """A product of two thin factors, fitted to the known entries."""
    table, mask = draw.normal(60, 50), draw.uniform(60, 50) < 0.3
    u, v = draw.leaf(60, 4), draw.leaf(50, 4)

    def loss():
        error = torch.where(mask, table - u @ v.mT, 0.0)
        return (error * error).sum() + 0.1 * (u.norm() ** 2 + v.norm() ** 2)

    return with_gradients(torch, loss, [u, v])


@PROGRAMS
def deformations(torch, draw):
    """The energy of 100 elements of neo-Hookean material, by determinants and inverses of 3 x 3 matrices."""
    f = draw.constant(draw.rng.normal(size=(100, 3, 3)) * 0.1 + [[1.0, 0, 0], [0, 1, 0], [0, 0, 1]]).requires_grad_()

    def loss():
        j = torch.linalg.det(f)
        c = f.transpose(1, 2) @ f
        return (
            0.5 * (torch.linalg.inv(c) * c).sum() + 0.5 * (c.diagonal(dim1=1, dim2=2).sum(1) - 3 - 2 * j.log())
        ).sum()

    return with_gradients(torch, loss, [f])


@PROGRAMS
def spectrum(torch, draw):
    """The entropy of the spectrum of 20 symmetric matrices."""
    a = draw.leaf(20, 8, 8)

    def loss():
        values = torch.linalg.eigvalsh(a @ a.mT + torch.eye(8, dtype=torch.float64))
        p = values / values.sum(-1, keepdim=True)
        return -(p * p.log()).sum(-1).mean()

    return with_gradients(torch, loss, [a])


@PROGRAMS
def least_squares_by_qr(torch, draw):
    """A polynomial of degree 6 fitted by QR, and its error elsewhere."""
    knots, y, elsewhere = draw.uniform(50).requires_grad_(), draw.normal(50), draw.uniform(30)

    def powers(t):
        return torch.stack([t**k for k in range(7)], dim=1)

    def loss():
        q, r = torch.linalg.qr(powers(knots))
        beta = torch.linalg.solve_triangular(r, (q.T @ y)[:, None], upper=True)
        return (powers(elsewhere) @ beta).square().mean()

    return with_gradients(torch, loss, [knots])


@PROGRAMS
def multivariate_normal(torch, draw):
    """Log density of 60 points by a triangular factor from free parameters."""
    x, mean, free = draw.normal(60, 5), draw.leaf(5), draw.leaf(5, 5)

    def loss():
        factor = torch.tril(free, -1) + torch.diag(torch.diagonal(free).exp())
        z = torch.linalg.solve_triangular(factor, (x - mean).T, upper=False)
        return 0.5 * (z * z).sum() + 60 * torch.diagonal(free).sum()

    return with_gradients(torch, loss, [mean, free])


@PROGRAMS
def matrix_exponential(torch, draw):
    """A Markov chain in continuous time with five states."""
    rates, times = draw.leaf(5, 5), (0.3, 0.7, 1.1)
    off = 1 - torch.eye(5, dtype=torch.float64)

    def loss():
        q = rates.exp() * off
        q = q - torch.diag(q.sum(1))
        return -sum(torch.linalg.matrix_exp(q * t).diagonal().log().sum() for t in times)

    return with_gradients(torch, loss, [rates])


@PROGRAMS
def conjugate_gradients(torch, draw):
    """Ten differentiated steps of conjugate gradients."""
    a, b = draw.leaf(20, 20, scale=0.2), draw.normal(20)

    def loss():
        s = a @ a.T + torch.eye(20, dtype=torch.float64)
        x, r = torch.zeros_like(b), b
        p, squares = r, r @ r
        for _ in range(10):
            sp = s @ p
            alpha = squares / (p @ sp)
            x, r = x + alpha * p, r - alpha * sp
            new = r @ r
            p, squares = r + new / squares * p, new
        return x @ b

    return with_gradients(torch, loss, [a])


@PROGRAMS
def optimal_transport(torch, draw):
    """20 steps of Sinkhorn's method between two clouds of 25 and 30 points."""
    x, y = draw.leaf(25, 2), draw.normal(30, 2)

    def loss():
        cost = torch.cdist(x, y)
        logs = -cost / 0.5
        f, g = torch.zeros(25, 1, dtype=torch.float64), torch.zeros(1, 30, dtype=torch.float64)
        for _ in range(20):
            f = -torch.logsumexp(logs + g, dim=1, keepdim=True)
            g = -torch.logsumexp(logs + f, dim=0, keepdim=True)
        return ((logs + f + g).exp() * cost).sum()

    return with_gradients(torch, loss, [x])


@PROGRAMS
def tensor_train(torch, draw):
    """A tensor of five axes from its tensor train, compared with samples, by einsum."""
    cores = [draw.leaf(*size, scale=0.5) for size in ((1, 4, 3), (3, 4, 3), (3, 4, 3), (3, 4, 3), (3, 4, 1))]
    target = draw.normal(4, 4, 4, 4, 4)

    def loss():
        full = torch.einsum("aib,bjc,ckd,dle,emf->ijklm", *cores)
        return (full - target).pow(2).mean()

    return with_gradients(torch, loss, cores)


@PROGRAMS
def rigid_alignment(torch, draw):
    """The best rotation between two clouds, by a singular value decomposition."""
    x, y = draw.leaf(50, 3), draw.normal(50, 3)

    def loss():
        a, b = x - x.mean(0), y - y.mean(0)
        u, _, vh = torch.linalg.svd(a.T @ b)
        return (a @ (u @ vh) - b).square().sum(1).mean()

    return with_gradients(torch, loss, [x])


@PROGRAMS
def quantum_circuit(torch, draw):
    """Three layers of rotations and a controlled gate on two qubits, in complex numbers."""
    angles = draw.leaf(6)
    controlled = torch.tensor([1, 1, 1, -1], dtype=torch.complex128)

    def rotation(angle):
        c, s = torch.cos(angle / 2), torch.sin(angle / 2)
        return torch.stack([torch.stack([c, -s]), torch.stack([s, c])]).to(torch.complex128)

    def loss():
        state = torch.zeros(4, dtype=torch.complex128)
        state[0] = 1
        for k in range(0, 6, 2):
            state = controlled * (torch.kron(rotation(angles[k]), rotation(angles[k + 1])) @ state)
        return state.abs().square()[1] + state.real[0]

    return with_gradients(torch, loss, [angles])
