"""Images and physical fields: rays, splats, pyramids, projections, beams, spins."""

from __future__ import annotations

import math

from .program import Field, with_gradients

PROGRAMS = Field("images and physics")


@PROGRAMS
def bent_beam(torch, draw):
    """The deflection of a beam of 12 elements: index_put assembles the stiffness matrix, and the system is solved."""
    stiffness, load = draw.leaf(12, scale=0.1), draw.normal(26)
    l = 1.0 / 12
    local = draw.constant(
        [
            [12, 6 * l, -12, 6 * l],
            [6 * l, 4 * l * l, -6 * l, 2 * l * l],
            [-12, -6 * l, 12, -6 * l],
            [6 * l, 2 * l * l, -6 * l, 4 * l * l],
        ]
    )
    numbers = 2 * torch.arange(12)[:, None] + torch.arange(4)[None]
    rows, columns = numbers[:, :, None].expand(12, 4, 4), numbers[:, None, :].expand(12, 4, 4)

    def loss():
        parts = stiffness.exp()[:, None, None] * local / l**3
        matrix = torch.zeros(26, 26, dtype=torch.float64).index_put((rows, columns), parts, accumulate=True)
        bent = torch.linalg.solve(matrix[2:, 2:], load[2:] * 1e-3)
        return bent @ load[2:] + bent[::2].square().sum()

    return with_gradients(torch, loss, [stiffness])


@PROGRAMS
def mean_field(torch, draw):
    """Magnetisations of 30 coupled spins: 25 damped steps of the mean-field equations, and their free energy."""
    couplings, fields = draw.leaf(30, 30, scale=0.15), draw.leaf(30, scale=0.3)

    def loss():
        j = (couplings + couplings.T) / 2
        j = j - torch.diag(torch.diagonal(j))
        m = torch.zeros(30, dtype=torch.float64)
        for _ in range(25):
            m = 0.5 * m + 0.5 * torch.tanh(j @ m + fields)
        p = (1 + m) / 2
        entropy = -(torch.xlogy(p, p) + torch.xlogy(1 - p, 1 - p)).sum()
        return -0.5 * m @ j @ m - fields @ m - entropy

    return with_gradients(torch, loss, [couplings, fields])


@PROGRAMS
def tomography(torch, draw):
    """Projections of an image at 8 angles by sums into bins, compared with measured ones, with a smoothness term."""
    image, measured = draw.leaf(16, 16), draw.normal(8, 24)
    y, x = torch.meshgrid(
        torch.arange(16, dtype=torch.float64) - 7.5, torch.arange(16, dtype=torch.float64) - 7.5, indexing="ij"
    )
    angles = torch.arange(8, dtype=torch.float64) * math.pi / 8
    bins = (
        (torch.cos(angles)[:, None] * x.reshape(1, -1) + torch.sin(angles)[:, None] * y.reshape(1, -1) + 12)
        .long()
        .clamp(0, 23)
    )

    def loss():
        pixels = torch.nn.functional.softplus(image).reshape(-1)
        rays = torch.stack([torch.zeros(24, dtype=torch.float64).index_add(0, line, pixels) for line in bins])
        rough = (image[1:] - image[:-1]).abs().sum() + (image[:, 1:] - image[:, :-1]).abs().sum()
        return (rays - measured).square().mean() + 0.01 * rough

    return with_gradients(torch, loss, [image])


@PROGRAMS
def marched_rays(torch, draw):
    """The points where rays reach the surface of a smooth union of spheres, by sphere tracing, and their light."""
    centres, radii = draw.leaf(5, 3, scale=0.5), draw.leaf(5, scale=0.05, shift=0.5)
    u, v = torch.meshgrid(
        torch.linspace(-1, 1, 10, dtype=torch.float64), torch.linspace(-1, 1, 10, dtype=torch.float64), indexing="ij"
    )
    ways = torch.nn.functional.normalize(torch.stack([u, v, 2 * torch.ones_like(u)], -1).reshape(-1, 3), dim=-1)
    eye = draw.constant([0.0, 0.0, -3.0])

    def distance(p):
        each = (p[:, None, :] - centres).norm(dim=-1) - radii
        return -0.1 * torch.logsumexp(-each / 0.1, dim=-1)

    def loss():
        t = torch.zeros(100, dtype=torch.float64)
        for _ in range(12):
            t = t + distance(eye + t[:, None] * ways)
        hit = torch.sigmoid(-(t - 4.0) * 4)
        return (hit * torch.exp(-0.2 * t.clamp(max=6.0))).mean()

    return with_gradients(torch, loss, [centres, radii])


@PROGRAMS
def painted_splats(torch, draw):
    """An image of 30 Gaussian splats in order of depth, blended by products of transmittances."""
    centres, logs, colours, opacity = (
        draw.leaf(30, 2, scale=0.5),
        draw.leaf(30, 2, scale=0.2, shift=-1.0),
        draw.leaf(30, 3),
        draw.leaf(30),
    )
    target, depth = draw.uniform(12, 12, 3), draw.uniform(30)
    u, v = torch.meshgrid(
        torch.linspace(-1, 1, 12, dtype=torch.float64), torch.linspace(-1, 1, 12, dtype=torch.float64), indexing="ij"
    )
    pixels = torch.stack([u, v], -1)

    def loss():
        order = torch.argsort(depth)
        away = (pixels[:, :, None, :] - centres[order]) / logs[order].exp()
        alpha = torch.sigmoid(opacity[order]) * torch.exp(-0.5 * away.square().sum(-1))
        clear = torch.cumprod(1 - alpha + 1e-10, -1)
        through = torch.cat([torch.ones_like(clear[..., :1]), clear[..., :-1]], -1)
        image = ((alpha * through)[..., None] * torch.sigmoid(colours[order])).sum(-2)
        return torch.nn.functional.l1_loss(image, target)

    return with_gradients(torch, loss, [centres, logs, colours, opacity])


@PROGRAMS
def registered_pyramid(torch, draw):
    """The shift between two images on three levels of a pyramid, by bilinear interpolation."""
    functional, shift = torch.nn.functional, draw.leaf(1, 2, 4, 4, scale=0.1)
    one, two = draw.normal(1, 1, 24, 24), draw.normal(1, 1, 24, 24)
    identity = functional.affine_grid(draw.constant([[[1.0, 0, 0], [0, 1.0, 0]]]), (1, 1, 24, 24), align_corners=False)

    def loss():
        field = functional.interpolate(shift, size=(24, 24), mode="bilinear", align_corners=True)
        warped = functional.grid_sample(
            one, identity + field.permute(0, 2, 3, 1), padding_mode="border", align_corners=False
        )
        total, a, b = 0.0, warped, two
        for _ in range(3):
            total = total + functional.mse_loss(a, b)
            a, b = functional.avg_pool2d(a, 2), functional.avg_pool2d(b, 2)
        return total + 0.1 * (field[:, :, 1:] - field[:, :, :-1]).square().mean()

    return with_gradients(torch, loss, [shift])


@PROGRAMS
def scattering(torch, draw):
    """Two orders of a wavelet scattering of signals: convolutions, moduli, averages."""
    functional, signal = torch.nn.functional, draw.leaf(4, 1, 128)
    bank, second, target = draw.normal(6, 1, 17, scale=0.2), draw.normal(4, 1, 9, scale=0.3), draw.normal(4, 6, 8)

    def loss():
        first = functional.conv1d(signal, bank, padding=8).abs()
        low = functional.avg_pool1d(first, 16)
        again = functional.conv1d(first.reshape(24, 1, 128), second, stride=2, padding=4).abs()
        deep = functional.avg_pool1d(again, 16).reshape(4, 6, 4, 4)
        return (low - target).abs().mean() + torch.log1p(deep).mean()

    return with_gradients(torch, loss, [signal])


@PROGRAMS
def small_unet(torch, draw):
    """A small U-net: convolutions, group norm, pooling, bilinear upsampling, a skip connection."""
    functional, image, target = torch.nn.functional, draw.normal(2, 1, 16, 16), draw.normal(2, 1, 16, 16)
    w1, w2, w3, w4 = (
        draw.leaf(8, 1, 3, 3, scale=0.3),
        draw.leaf(16, 8, 3, 3, scale=0.1),
        draw.leaf(8, 24, 3, 3, scale=0.1),
        draw.leaf(1, 8, 1, 1),
    )
    g1, b1 = draw.leaf(8, shift=1.0, scale=0.1), draw.leaf(8)

    def loss():
        a = functional.silu(functional.group_norm(functional.conv2d(image, w1, padding=1), 4, g1, b1))
        b = functional.silu(functional.conv2d(functional.avg_pool2d(a, 2), w2, padding=1))
        up = functional.interpolate(b, scale_factor=2, mode="bilinear", align_corners=False)
        c = functional.silu(functional.conv2d(torch.cat([a, up], 1), w3, padding=1))
        return functional.mse_loss(functional.conv2d(c, w4), target)

    return with_gradients(torch, loss, [w1, w2, w3, w4, g1, b1])
