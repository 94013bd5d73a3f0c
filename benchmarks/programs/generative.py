"""Generative models: autoencoders, diffusion, decoding with a cache, gates."""

from __future__ import annotations

import math

from .program import Field, with_gradients

PROGRAMS = Field("generative models")


@PROGRAMS
def variational_autoencoder(torch, draw):
    """The evidence bound of a variational autoencoder of binary images."""
    functional = torch.nn.functional
    images, noise = draw.uniform(32, 64).round(), draw.normal(32, 8)
    enc, enc_b, heads = draw.leaf(32, 64, scale=0.1), draw.leaf(32), draw.leaf(16, 32, scale=0.1)
    dec, dec_b, out, out_b = draw.leaf(32, 8, scale=0.1), draw.leaf(32), draw.leaf(64, 32, scale=0.1), draw.leaf(64)

    def loss():
        hidden = functional.relu(functional.linear(images, enc, enc_b))
        mean, logvar = functional.linear(hidden, heads).chunk(2, dim=1)
        code = mean + (0.5 * logvar).exp() * noise
        logits = functional.linear(functional.relu(functional.linear(code, dec, dec_b)), out, out_b)
        misfit = functional.binary_cross_entropy_with_logits(logits, images, reduction="sum") / 32
        divergence = -0.5 * torch.sum(1 + logvar - mean.pow(2) - logvar.exp(), dim=1).mean()
        return misfit + divergence

    return with_gradients(torch, loss, [enc, enc_b, heads, dec, dec_b, out, out_b])


@PROGRAMS
def denoising_step(torch, draw):
    """The loss of a diffusion model with noise at random times, an embedding of the time, and a small network."""
    functional = torch.nn.functional
    x, noise, times = draw.normal(24, 10), draw.normal(24, 10), draw.whole(24, n=100)
    w1, b1, wt, w2, b2 = (
        draw.leaf(32, 10, scale=0.2),
        draw.leaf(32),
        draw.leaf(32, 16, scale=0.2),
        draw.leaf(10, 32, scale=0.2),
        draw.leaf(10),
    )
    signal = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 100, dtype=torch.float64), 0)

    def loss():
        share = signal[times][:, None]
        noisy = share.sqrt() * x + (1 - share).sqrt() * noise
        frequencies = torch.exp(-math.log(1e4) * torch.arange(8, dtype=torch.float64) / 8)
        angles = times[:, None] * frequencies[None]
        embedding = torch.cat([angles.sin(), angles.cos()], dim=-1)
        hidden = functional.gelu(functional.linear(noisy, w1, b1) + functional.linear(embedding, wt))
        return functional.mse_loss(functional.linear(hidden, w2, b2), noise)

    return with_gradients(torch, loss, [w1, b1, wt, w2, b2])


@PROGRAMS
def cached_decoding(torch, draw):
    """Six tokens, one after the other, through an attention layer that caches keys and values."""
    functional = torch.nn.functional
    table, wq, wk, wv, wo = draw.leaf(20, 16), *(draw.leaf(16, 16, scale=0.3) for _ in range(4))
    symbols = draw.whole(3, 7, n=20)

    def loss():
        keys = values = None
        total = 0.0
        for t in range(6):
            x = functional.embedding(symbols[:, t : t + 1], table)
            q, k, v = ((x @ w).view(3, 1, 2, 8).transpose(1, 2) for w in (wq, wk, wv))
            keys = k if keys is None else torch.cat([keys, k], dim=2)
            values = v if values is None else torch.cat([values, v], dim=2)
            shares = torch.softmax(q @ keys.transpose(-2, -1) / 8**0.5, dim=-1)
            mixed = (shares @ values).transpose(1, 2).reshape(3, 1, 16)
            logits = functional.layer_norm(x + mixed @ wo, (16,)) @ table.T
            total = total + functional.cross_entropy(logits[:, 0], symbols[:, t + 1])
        return total / 6

    return with_gradients(torch, loss, [table, wq, wk, wv, wo])


@PROGRAMS
def gated_unit(torch, draw):
    """A gated recurrent unit in single operations: 20 steps of a batch of 8."""
    inputs, target = draw.normal(20, 8, 5), draw.normal(8, 10)
    wx, wh, bias = draw.leaf(30, 5, scale=0.3), draw.leaf(30, 10, scale=0.3), draw.leaf(30)

    def loss():
        h = torch.zeros(8, 10, dtype=torch.float64)
        for x in inputs:
            gx, gh = x @ wx.t() + bias, h @ wh.t()
            rx, zx, nx = gx.chunk(3, 1)
            rh, zh, nh = gh.chunk(3, 1)
            r, z = torch.sigmoid(rx + rh), torch.sigmoid(zx + zh)
            n = torch.tanh(nx + r * nh)
            h = (1 - z) * n + z * h
        return (h - target).pow(2).mean()

    return with_gradients(torch, loss, [wx, wh, bias])
