"""Mechanics: energies, forces and equations of motion."""

from __future__ import annotations

from .program import Field, with_gradients

PROGRAMS = Field("mechanics")


@PROGRAMS
def gravitation(torch, draw):
    """The potential of 30 bodies and its forces."""
    places, masses = draw.leaf(30, 3), draw.uniform(30, low=0.5, high=2.0)
    i, j = torch.triu_indices(30, 30, offset=1)

    def loss():
        r = places[i] - places[j]
        return -(masses[i] * masses[j] / ((r * r).sum(1) + 0.01).sqrt()).sum()

    return with_gradients(torch, loss, [places])


@PROGRAMS
def lennard_jones(torch, draw):
    """The energy of all pairs of 40 atoms, by broadcasting."""
    places = (draw.normal(40, 3, scale=2.0)).requires_grad_()
    upper = draw.constant([[i < j for j in range(40)] for i in range(40)])

    def loss():
        r = places[:, None, :] - places[None, :, :]
        squares = torch.where(upper, r.pow(2).sum(-1), 1.0).clamp(min=0.5)
        inverse = squares.reciprocal() ** 3
        return (4 * (inverse * inverse - inverse) * upper).sum()

    return with_gradients(torch, loss, [places])


@PROGRAMS
def spring_chain(torch, draw):
    """20 velocity Verlet steps of a chain of 16 masses, differentiated by the stiffness."""
    stiffness, start = draw.uniform(15, low=0.5, high=2.0).requires_grad_(), draw.leaf(16)

    def force(x):
        pull = stiffness * (x[1:] - x[:-1])
        return torch.nn.functional.pad(pull, (0, 1)) - torch.nn.functional.pad(pull, (1, 0))

    def loss():
        x, v = start, torch.zeros_like(start)
        a = force(x)
        for _ in range(20):
            x = x + 0.1 * v + 0.005 * a
            new = force(x)
            v = v + 0.05 * (a + new)
            a = new
        return 0.5 * (v * v).sum() + x[0] ** 2

    return with_gradients(torch, loss, [stiffness, start])


@PROGRAMS
def predator_and_prey(torch, draw):
    """40 Runge-Kutta steps of Lotka and Volterra's equations, fitted to data."""
    rates, start, data = (
        draw.uniform(4, low=0.4, high=1.0).requires_grad_(),
        draw.leaf(2, shift=2.0),
        draw.normal(40, 2),
    )

    def slope(z):
        x, y = z[0], z[1]
        return torch.stack([rates[0] * x - rates[1] * x * y, rates[2] * x * y - rates[3] * y])

    def loss():
        z, path = start, []
        for _ in range(40):
            k1 = slope(z)
            k2 = slope(z + 0.025 * k1)
            k3 = slope(z + 0.025 * k2)
            k4 = slope(z + 0.05 * k3)
            z = z + 0.05 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            path.append(z)
        return (torch.stack(path) - data).square().mean()

    return with_gradients(torch, loss, [rates, start])


@PROGRAMS
def double_pendulum(torch, draw):
    """The equations of motion from the Lagrangian, by second derivatives."""
    angles, speeds = draw.normal(2), draw.normal(2)

    def lagrangian(q, v):
        kinetic = v[0] ** 2 + 0.5 * v[1] ** 2 + v[0] * v[1] * torch.cos(q[0] - q[1])
        return kinetic + 9.81 * (2 * torch.cos(q[0]) + torch.cos(q[1]))

    def step():
        mass = torch.func.hessian(lagrangian, argnums=1)(angles, speeds)
        mixed = torch.func.jacrev(torch.func.grad(lagrangian, argnums=1), argnums=0)(angles, speeds)
        force = torch.func.grad(lagrangian)(angles, speeds)
        return (torch.linalg.solve(mass, force - mixed @ speeds),)

    return step


@PROGRAMS
def heat_by_slices(torch, draw):
    """30 explicit steps of the heat equation on a line of 200 points, in place."""
    start, conductivity = draw.leaf(200), draw.uniform(198, low=0.1, high=0.4).requires_grad_()

    def loss():
        u = start.clone()
        for _ in range(30):
            u[1:-1] += conductivity * (u[2:] - 2 * u[1:-1] + u[:-2])
        return (u * u).mean()

    return with_gradients(torch, loss, [start, conductivity])


@PROGRAMS
def wave_by_rolls(torch, draw):
    """20 leapfrog steps of the wave equation on a torus of 24 x 24."""
    start, speed = draw.leaf(24, 24), draw.leaf(shift=0.3, scale=0.01)

    def loss():
        before = now = start
        for _ in range(20):
            around = torch.roll(now, 1, 0) + torch.roll(now, -1, 0) + torch.roll(now, 1, 1) + torch.roll(now, -1, 1)
            before, now = now, 2 * now - before + speed**2 * (around - 4 * now)
        return now[5:10, 5:10].square().sum()

    return with_gradients(torch, loss, [start, speed])


@PROGRAMS
def truss(torch, draw):
    """The compliance of a truss of 20 nodes and 50 bars, whose stiffness matrix index_add assembles."""
    places, areas = draw.normal(20, 2, scale=3.0), draw.uniform(50, low=0.5, high=2.0).requires_grad_()
    ends = draw.rng.integers(20, size=50)
    i, j = draw.constant(ends), draw.constant((ends + draw.rng.integers(1, 20, size=50)) % 20)
    load = draw.normal(40)
    ground = 0.5 * torch.eye(40, dtype=torch.float64)

    def loss():
        bar = places[j] - places[i]
        length = torch.linalg.norm(bar, dim=1)
        direction = bar / length[:, None]
        stiff = (areas / length)[:, None, None] * direction[:, :, None] * direction[:, None, :]
        blocks = torch.zeros(400, 2, 2, dtype=torch.float64)
        for rows, columns, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
            blocks = blocks.index_add(0, rows * 20 + columns, stiff, alpha=sign)
        matrix = blocks.reshape(20, 20, 2, 2).permute(0, 2, 1, 3).reshape(40, 40)
        return load @ torch.linalg.solve(matrix + ground, load)

    return with_gradients(torch, loss, [areas])


@PROGRAMS
def projectile(torch, draw):
    """A throw with drag: 50 steps of a state of four numbers, by unbind and stack."""
    angle, speed, drag = draw.leaf(shift=0.8, scale=0.05), draw.leaf(shift=20.0), draw.leaf(shift=0.05, scale=0.001)

    def loss():
        x = y = torch.zeros((), dtype=torch.float64)
        vx, vy = speed * torch.cos(angle), speed * torch.sin(angle)
        for _ in range(50):
            resistance = drag * torch.sqrt(vx * vx + vy * vy)
            x, y = x + 0.02 * vx, y + 0.02 * vy
            vx, vy = vx - 0.02 * resistance * vx, vy - 0.02 * (9.81 + resistance * vy)
        return (torch.stack([x, y]) - 10.0).pow(2).sum()

    return with_gradients(torch, loss, [angle, speed, drag])


@PROGRAMS
def rigid_body(torch, draw):
    """30 steps of Euler's equations, with a quaternion that is normalised in each step."""
    spin, inertia = draw.leaf(3), draw.uniform(3, low=1.0, high=3.0).requires_grad_()
    upright = draw.constant([1.0, 0.0, 0.0, 0.0])

    def loss():
        w, q = spin, upright
        for _ in range(30):
            w = w + 0.02 * torch.linalg.cross(inertia * w, w) / inertia
            rate = torch.cat([-(q[1:] @ w)[None], q[0] * w + torch.linalg.cross(q[1:], w)])
            q = torch.nn.functional.normalize(q + 0.01 * rate, dim=0)
        return (q[1:] ** 2).sum() + q[0]

    return with_gradients(torch, loss, [spin, inertia])


@PROGRAMS
def balanced_pole(torch, draw):
    """A controller of two layers for ten carts with poles, over 10 time steps."""
    first, second, start = draw.leaf(4, 8, scale=0.5), draw.leaf(8, 1, scale=0.5), draw.normal(10, 4, scale=0.1)

    def loss():
        state, cost = start, 0.0
        for _ in range(10):
            force = 5 * (torch.tanh(state @ first) @ second).squeeze(-1)
            x, speed, angle, turning = state.unbind(-1)
            s, c = torch.sin(angle), torch.cos(angle)
            push = (force + 0.05 * turning**2 * s) / 1.1
            spin = (9.8 * s - c * push) / (0.5 * (4 / 3 - 0.1 * c**2 / 1.1))
            pull = push - 0.05 * spin * c / 1.1
            state = torch.stack(
                [x + 0.02 * speed, speed + 0.02 * pull, angle + 0.02 * turning, turning + 0.02 * spin], -1
            )
            cost = cost + (state[:, 2] ** 2 + 0.1 * state[:, 0] ** 2).mean()
        return cost

    return with_gradients(torch, loss, [first, second])


@PROGRAMS
def forces_of_springs(torch, draw):
    """Energy and forces of 120 springs between 50 masses, and derivatives of the squared forces."""
    places, stiffness = draw.leaf(50, 2), draw.uniform(120).requires_grad_()
    i, j, rest = draw.whole(120, n=50), draw.whole(120, n=50), draw.uniform(120)

    def step():
        d = places[i] - places[j]
        length = torch.sqrt((d * d).sum(-1) + 1e-6)
        energy = 0.5 * (stiffness * (length - rest) ** 2).sum()
        (force,) = torch.autograd.grad(energy, places, create_graph=True)
        return energy, force, *torch.autograd.grad((force**2).sum(), [places, stiffness])

    return step
