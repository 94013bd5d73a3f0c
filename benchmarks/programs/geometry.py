"""Geometry, vision and finance: formulas of many small operations."""

from __future__ import annotations

from .program import Field, with_gradients

PROGRAMS = Field("geometry and finance")


@PROGRAMS
def cameras(torch, draw):
    """The error of projections of 60 points by 5 cameras with axis-angle rotations."""
    axes, shifts, points = draw.leaf(5, 3, scale=0.3), draw.leaf(5, 3, scale=0.1), draw.leaf(60, 3)
    camera, point, pixels = draw.whole(200, n=5), draw.whole(200, n=60), draw.normal(200, 2)

    def loss():
        angle = axes.norm(dim=1, keepdim=True)
        axis, turn = (axes / angle)[camera], angle[camera]
        p = points[point]
        along = (axis * p).sum(1, keepdim=True) * axis
        p = p * turn.cos() + torch.linalg.cross(axis, p) * turn.sin() + along * (1 - turn.cos())
        p = p + shifts[camera]
        return torch.nn.functional.smooth_l1_loss(p[:, :2] / (p[:, 2:] + 8), pixels)

    return with_gradients(torch, loss, [axes, shifts, points])


@PROGRAMS
def rays(torch, draw):
    """The intersections of rays with three spheres, and the shade of the first intersection."""
    origins, ways = draw.normal(100, 3, scale=0.1), draw.normal(100, 3)
    centres, radii = draw.leaf(3, 3, scale=2.0), draw.uniform(3, low=0.5, high=1.5).requires_grad_()

    def loss():
        d = ways / ways.norm(dim=-1, keepdim=True)
        to = origins[:, None] - centres
        b = (to * d[:, None]).sum(-1)
        under = b * b - (to * to).sum(-1) + radii**2
        t = torch.where(under > 0, -b - torch.sqrt(under.clamp(min=1e-9)), 10.0)
        return torch.exp(-t.abs()).max(1).values.sum() + torch.tanh(t.amin(1)).mean()

    return with_gradients(torch, loss, [centres, radii])


@PROGRAMS
def curves(torch, draw):
    """The length and the bending of a Bézier curve with ten control points, by de Casteljau."""
    control, t = draw.leaf(10, 2), torch.linspace(0, 1, 40, dtype=torch.float64)[:, None, None]

    def loss():
        points = control.expand(40, 10, 2)
        for _ in range(9):
            points = (1 - t) * points[:, :-1] + t * points[:, 1:]
        path = points.squeeze(1)
        sides = path.diff(dim=0)
        return sides.norm(dim=1).sum() + sides.diff(dim=0).pow(2).sum()

    return with_gradients(torch, loss, [control])


@PROGRAMS
def mesh_smoothing(torch, draw):
    """Areas and normals of 120 triangles on 80 vertices."""
    vertices, faces = draw.leaf(80, 3), draw.constant(draw.rng.permuted([list(range(80))] * 120, axis=1)[:, :3])

    def loss():
        a, b, c = vertices[faces].unbind(1)
        normals = torch.linalg.cross(b - a, c - a)
        areas = 0.5 * torch.linalg.vector_norm(normals, dim=1)
        return areas.var() + torch.nn.functional.cosine_similarity(normals, normals.roll(1, 0), dim=1).mean()

    return with_gradients(torch, loss, [vertices])


@PROGRAMS
def option_prices(torch, draw):
    """Prices of 50 options by Black and Scholes' formula, their Greeks, and a second derivative."""
    strike, time = draw.uniform(50, low=80.0, high=120.0), draw.uniform(50, low=0.1, high=2.0)
    spot, volatility, rate = (
        draw.leaf(shift=100.0),
        draw.leaf(scale=0.01, shift=0.2),
        draw.leaf(scale=0.001, shift=0.02),
    )

    def normal(x):
        return 0.5 * (1 + torch.erf(x / 2**0.5))

    def step():
        spread = volatility * time.sqrt()
        d1 = (torch.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / spread
        value = (spot * normal(d1) - strike * torch.exp(-rate * time) * normal(d1 - spread)).sum()
        greeks = torch.autograd.grad(value, [spot, volatility, rate], create_graph=True)
        return value, *greeks, *torch.autograd.grad(greeks[0], [spot])

    return step


@PROGRAMS
def simulated_barrier(torch, draw):
    """A smoothed barrier option on 200 paths of 30 steps."""
    noise, spot, sigma = draw.normal(200, 30), draw.leaf(shift=1.0, scale=0.01), draw.leaf(shift=0.3, scale=0.01)

    def loss():
        steps = sigma * noise * 30**-0.5 - 0.5 * sigma**2 / 30
        paths = spot * torch.exp(torch.cumsum(steps, 1))
        alive = torch.sigmoid((1.3 - paths.amax(1)) / 0.02)
        return (alive * torch.relu(paths[:, -1] - 1.0)).mean()

    return with_gradients(torch, loss, [spot, sigma])


@PROGRAMS
def yield_curve(torch, draw):
    """Prices of 12 bonds by Nelson and Siegel's curve, and yields by Newton's method."""
    free, coupons = draw.leaf(4, scale=0.01, shift=0.05), draw.uniform(12, 1, low=0.01, high=0.05)
    times = draw.constant([float(t) for t in range(1, 11)])
    due = draw.constant([[float(t <= k % 10 + 1) for t in range(1, 11)] for k in range(12)])

    def loss():
        decay = 1 + free[3].exp()
        x = times / decay
        hump = (1 - torch.exp(-x)) / x
        zero = free[0] + free[1] * hump + free[2] * (hump - torch.exp(-x))
        prices = (coupons * due * torch.exp(-zero * times)).sum(1)
        y = torch.full((12, 1), 0.05, dtype=torch.float64)
        for _ in range(4):
            terms = coupons * due * torch.exp(-y * times)
            y = y + ((terms.sum(1, keepdim=True) - prices[:, None]) / (terms * times).sum(1, keepdim=True))
        return y.mean()

    return with_gradients(torch, loss, [free])


@PROGRAMS
def chemical_equilibrium(torch, draw):
    """Reaction rates of six species in eight reactions with powers, and an implicit step of the stiff equation."""
    rates, start = draw.leaf(8, scale=0.3), draw.uniform(6, low=0.5, high=1.5)
    orders, balance = draw.whole(8, 6, n=3).double(), draw.normal(6, 8, scale=0.3)
    eye = torch.eye(6, dtype=torch.float64)

    def slope(c):
        return balance @ (rates.exp() * torch.prod(c**orders, 1))

    def loss():
        c = start
        for _ in range(3):
            jacobian = torch.autograd.functional.jacobian(slope, c, create_graph=True)
            c = c + torch.linalg.solve(eye - 0.01 * jacobian, 0.01 * slope(c))
        return c.square().sum()

    return with_gradients(torch, loss, [rates])


@PROGRAMS
def turned_cameras(torch, draw):
    """100 observations of 30 points by 8 cameras with quaternion rotations, by cross products and gathered elements."""
    turns, shifts, points = draw.leaf(8, 4), draw.leaf(8, 3), draw.leaf(30, 3, shift=3.0)
    camera, point, targets = draw.whole(100, n=8), draw.whole(100, n=30), draw.normal(100, 2)

    def loss():
        unit = (turns / turns.norm(dim=-1, keepdim=True))[camera]
        w, v, x = unit[:, :1], unit[:, 1:], points[point]
        c = torch.cross(v, x, dim=1)
        x = x + 2 * (w * c + torch.cross(v, c, dim=1)) + shifts[camera]
        return torch.nn.functional.huber_loss(x[:, :2] / (x[:, 2:] + 10), targets)

    return with_gradients(torch, loss, [turns, shifts, points])
