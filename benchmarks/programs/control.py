"""Control: regulators, robots, policies, flows."""

from __future__ import annotations

from .program import Field, with_gradients

PROGRAMS = Field("control")


@PROGRAMS
def riccati_control(torch, draw):
    """The cost of a linear regulator over 20 steps, by the backward Riccati recursion and a run forward."""
    a, b, start = draw.leaf(4, 4, scale=0.3), draw.leaf(4, 2), draw.normal(4)
    eye4, eye2 = torch.eye(4, dtype=torch.float64), torch.eye(2, dtype=torch.float64)

    def loss():
        cost, gains = eye4, []
        for _ in range(20):
            gain = torch.linalg.solve(eye2 + b.T @ cost @ b, b.T @ cost @ a)
            cost = eye4 + a.T @ cost @ (a - b @ gain)
            gains.append(gain)
        state, total = start, 0.0
        for gain in reversed(gains):
            control = -gain @ state
            total = total + state @ state + control @ control
            state = a @ state + b @ control
        return total

    return with_gradients(torch, loss, [a, b])


@PROGRAMS
def robot_arm(torch, draw):
    """The position of a robot's hand for 20 postures: a chain of six homogeneous transforms."""
    angles, lengths, goal = draw.leaf(20, 6), draw.leaf(6, shift=1.0, scale=0.1), draw.normal(20, 3)

    def loss():
        pose = torch.eye(4, dtype=torch.float64).expand(20, 4, 4)
        zero, one = torch.zeros(20, dtype=torch.float64), torch.ones(20, dtype=torch.float64)
        for k in range(6):
            c, s, l = torch.cos(angles[:, k]), torch.sin(angles[:, k]), lengths[k].expand(20)
            if k % 2:
                rows = [c, -s, zero, l * c, s, c, zero, l * s, zero, zero, one, zero, zero, zero, zero, one]
            else:
                rows = [c, zero, s, l * c, zero, one, zero, zero, -s, zero, c, -l * s, zero, zero, zero, one]
            pose = pose @ torch.stack(rows, -1).reshape(20, 4, 4)
        return (pose[:, :3, 3] - goal).norm(dim=1).sum()

    return with_gradients(torch, loss, [angles, lengths])


@PROGRAMS
def policy_gradient(torch, draw):
    """REINFORCE on returns of 60 steps, with an entropy bonus and a learned baseline."""
    states, actions, rewards = draw.normal(60, 6), draw.whole(60, n=3), draw.normal(60)
    w1, b1, w2, v = draw.leaf(12, 6, scale=0.4), draw.leaf(12), draw.leaf(3, 12, scale=0.4), draw.leaf(12, scale=0.3)
    steps = torch.arange(60)
    discount = torch.tril(0.95 ** (steps[:, None] - steps[None]).clamp(min=0).double()).T

    def loss():
        hidden = torch.tanh(torch.nn.functional.linear(states, w1, b1))
        choice = torch.distributions.Categorical(logits=hidden @ w2.T)
        returns = discount @ rewards
        baseline = hidden @ v
        advantage = (returns - baseline).detach()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        policy = -(choice.log_prob(actions) * advantage).mean() - 0.01 * choice.entropy().mean()
        return policy + 0.5 * torch.nn.functional.smooth_l1_loss(baseline, returns)

    return with_gradients(torch, loss, [w1, b1, w2, v])


@PROGRAMS
def neural_flow(torch, draw):
    """A network as the right-hand side of a differential equation, by ten Runge-Kutta steps with four stages."""
    start, goal = draw.normal(16, 2), draw.normal(16, 2)
    w1, b1, w2, b2 = draw.leaf(16, 3, scale=0.3), draw.leaf(16), draw.leaf(2, 16, scale=0.3), draw.leaf(2)

    def loss():
        def slope(t, x):
            time = torch.full((16, 1), t, dtype=torch.float64)
            hidden = torch.nn.functional.silu(torch.nn.functional.linear(torch.cat([x, time], 1), w1, b1))
            return torch.nn.functional.linear(hidden, w2, b2)

        x, h = start, 0.1
        for i in range(10):
            t = i * h
            k1 = slope(t, x)
            k2 = slope(t + h / 2, x + h / 2 * k1)
            k3 = slope(t + h / 2, x + h / 2 * k2)
            k4 = slope(t + h, x + h * k3)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return torch.nn.functional.mse_loss(x, goal)

    return with_gradients(torch, loss, [w1, b1, w2, b2])
