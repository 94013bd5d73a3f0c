"""Networks so small that the operations around the matrix products count, in single precision."""

from __future__ import annotations

from .program import Field, with_gradients

PROGRAMS = Field("networks")


@PROGRAMS
def perceptron_with_adam(torch, draw):
    """A training step with Adam by hand."""
    draw.single()
    x, labels = draw.normal(32, 20), draw.whole(32, n=5)
    sizes = ((40, 20), (40,), (40, 40), (40,), (5, 40), (5,))
    weights = [draw.leaf(*size, scale=0.2) for size in sizes]
    firsts, seconds = [torch.zeros_like(w) for w in weights], [torch.zeros_like(w) for w in weights]
    linear, relu = torch.nn.functional.linear, torch.relu

    def step():
        h = relu(linear(x, weights[0], weights[1]))
        h = relu(linear(h, weights[2], weights[3]))
        loss = torch.nn.functional.cross_entropy(linear(h, weights[4], weights[5]), labels)
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for w, g, m, v in zip(weights, gradients, firsts, seconds, strict=True):
                m.mul_(0.9).add_(g, alpha=0.1)
                v.mul_(0.99).addcmul_(g, g, value=0.01)
                w.addcdiv_(m, v.sqrt().add_(1e-8), value=-1e-6)
        return gradients

    return step


@PROGRAMS
def convolutional_classifier(torch, draw):
    """Two convolutions, pooling, a linear layer; 8 images of 12 x 12."""
    draw.single()
    functional = torch.nn.functional
    images, labels = draw.normal(8, 1, 12, 12), draw.whole(8, n=4)
    weights = [draw.leaf(*size, scale=0.2) for size in ((6, 1, 3, 3), (6,), (8, 6, 3, 3), (8,), (4, 72), (4,))]

    def loss():
        h = functional.max_pool2d(torch.relu(functional.conv2d(images, weights[0], weights[1], padding=1)), 2)
        h = functional.max_pool2d(torch.relu(functional.conv2d(h, weights[2], weights[3], padding=1)), 2)
        return functional.cross_entropy(functional.linear(h.flatten(1), weights[4], weights[5]), labels)

    return with_gradients(torch, loss, weights)


@PROGRAMS
def lstm_by_hand(torch, draw):
    """15 steps of an LSTM cell of 24 units, batch 8."""
    draw.single()
    inputs, wx, wh, b = (
        draw.normal(15, 8, 10),
        draw.leaf(96, 10, scale=0.2),
        draw.leaf(96, 24, scale=0.2),
        draw.leaf(96),
    )

    def loss():
        h = c = torch.zeros(8, 24)
        for x in inputs:
            i, f, g, o = (x @ wx.T + h @ wh.T + b).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return h.square().mean()

    return with_gradients(torch, loss, [wx, wh, b])


@PROGRAMS
def self_attention(torch, draw):
    """One transformer block: layer norm, four heads with a causal mask, the residual, and a feed-forward part."""
    draw.single()
    functional = torch.nn.functional
    x, scale, shift = draw.normal(2, 16, 32), draw.leaf(32, shift=1.0, scale=0.1), draw.leaf(32)
    qkv, out = draw.leaf(96, 32, scale=0.2), draw.leaf(32, 32, scale=0.2)
    up, down = draw.leaf(64, 32, scale=0.2), draw.leaf(32, 64, scale=0.2)
    hidden = draw.constant([[j > i for j in range(16)] for i in range(16)])

    def loss():
        h = functional.layer_norm(x, (32,), scale, shift)
        q, k, v = functional.linear(h, qkv).reshape(2, 16, 3, 4, 8).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-2, -1) / 8**0.5).masked_fill(hidden, float("-inf"))
        mixed = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(2, 16, 32)
        h = x + functional.linear(mixed, out)
        h = h + functional.linear(functional.gelu(functional.linear(h, up)), down)
        return h.square().mean()

    return with_gradients(torch, loss, [scale, shift, qkv, out, up, down])


@PROGRAMS
def autoencoder(torch, draw):
    """Huber's loss of the output of three layers."""
    draw.single()
    functional = torch.nn.functional
    x = draw.uniform(40, 36)
    sizes = ((12, 36), (12,), (3, 12), (3,), (36, 3), (36,))
    weights = [draw.leaf(*size, scale=0.3) for size in sizes]

    def loss():
        h = functional.leaky_relu(functional.linear(x, weights[0], weights[1]), 0.1)
        h = torch.tanh(functional.linear(h, weights[2], weights[3]))
        return functional.huber_loss(torch.sigmoid(functional.linear(h, weights[4], weights[5])), x, delta=0.5)

    return with_gradients(torch, loss, weights)


@PROGRAMS
def bag_of_words(torch, draw):
    """Mean embeddings of 32 sentences with padding, and their classes."""
    draw.single()
    functional = torch.nn.functional
    words, labels, table = draw.whole(32, 12, n=200), draw.whole(32, n=6), draw.leaf(200, 16)
    w, b = draw.leaf(6, 16, scale=0.3), draw.leaf(6)

    def loss():
        vectors = functional.embedding(words, table)
        mask = (words != 0).to(vectors.dtype)
        means = (vectors * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        return functional.cross_entropy(functional.linear(means, w, b), labels, label_smoothing=0.1)

    return with_gradients(torch, loss, [table, w, b])


@PROGRAMS
def graph_network(torch, draw):
    """Two rounds of messages along 120 edges between 40 nodes."""
    draw.single()
    source, target = draw.whole(120, n=40), draw.whole(120, n=40)
    x, w1, w2, w3 = draw.normal(40, 8), draw.leaf(16, 8, scale=0.3), draw.leaf(16, 16, scale=0.3), draw.leaf(16)
    degree = torch.zeros(40).index_add(0, target, torch.ones(120)).clamp(min=1.0)

    def loss():
        h = x
        for w in (w1, w2):
            messages = (h @ w.T)[source]
            h = torch.relu(torch.zeros(40, 16).index_add(0, target, messages) / degree[:, None])
        return torch.sigmoid(h @ w3).mean()

    return with_gradients(torch, loss, [w1, w2, w3])


@PROGRAMS
def siamese(torch, draw):
    """A triplet loss of normalised codes of three batches."""
    draw.single()
    functional = torch.nn.functional
    batches = [draw.normal(24, 10) for _ in range(3)]
    w, b = draw.leaf(8, 10, scale=0.4), draw.leaf(8)

    def loss():
        codes = [functional.normalize(functional.linear(x, w, b), dim=1) for x in batches]
        return functional.triplet_margin_loss(*codes, margin=0.5)

    return with_gradients(torch, loss, [w, b])


@PROGRAMS
def batch_normalised(torch, draw):
    """Two layers with batch norm by hand and running statistics."""
    draw.single()
    x, y = draw.normal(48, 12), draw.normal(48)
    w1, w2, scale, shift = draw.leaf(20, 12), draw.leaf(20), draw.leaf(20, shift=1.0), draw.leaf(20)
    running_mean, running_var = torch.zeros(20), torch.ones(20)

    def loss():
        h = x @ w1.T
        mean, var = h.mean(0), h.var(0, unbiased=False)
        with torch.no_grad():
            running_mean.lerp_(mean, 0.1)
            running_var.mul_(0.9).add_(var, alpha=0.1)
        h = torch.nn.functional.silu((h - mean) * torch.rsqrt(var + 1e-5) * scale + shift)
        return torch.nn.functional.mse_loss(h @ w2, y)

    return with_gradients(torch, loss, [w1, w2, scale, shift])


@PROGRAMS
def gradient_penalty(torch, draw):
    """A critic with a penalty on the norm of its gradient, which needs a second derivative."""
    draw.single()
    real, fake, mix = draw.normal(16, 6), draw.normal(16, 6), draw.uniform(16, 1)
    w1, b1, w2 = draw.leaf(24, 6, scale=0.4), draw.leaf(24), draw.leaf(24)

    def critic(x):
        return torch.nn.functional.elu(x @ w1.T + b1) @ w2

    def loss():
        between = (mix * real + (1 - mix) * fake).requires_grad_()
        (slope,) = torch.autograd.grad(critic(between).sum(), [between], create_graph=True)
        return critic(fake).mean() - critic(real).mean() + 10 * ((slope.norm(dim=1) - 1) ** 2).mean()

    return with_gradients(torch, loss, [w1, b1, w2])


@PROGRAMS
def experts(torch, draw):
    """The weighted outputs of the two best of six experts, by a gate."""
    draw.single()
    x, gate, weights = draw.normal(30, 8), draw.leaf(6, 8), draw.leaf(6, 8, 8, scale=0.4)

    def loss():
        scores, indices = torch.topk(x @ gate.T, 2, dim=1)
        shares = torch.softmax(scores, 1)
        outputs = torch.einsum("ni,eio->neo", x, weights)
        picked = torch.gather(outputs, 1, indices[:, :, None].expand(-1, -1, 8))
        return (shares[:, :, None] * picked).sum(1).square().mean()

    return with_gradients(torch, loss, [gate, weights])


@PROGRAMS
def soft_distillation(torch, draw):
    """A student learns from a teacher's probabilities and from labels."""
    draw.single()
    functional = torch.nn.functional
    x, teacher, labels = draw.normal(64, 10), draw.normal(64, 7), draw.whole(64, n=7)
    w, b = draw.leaf(7, 10), draw.leaf(7)

    def loss():
        logits = functional.linear(x, w, b)
        soft = functional.kl_div(torch.log_softmax(logits / 3, 1), torch.softmax(teacher / 3, 1), reduction="batchmean")
        return 9 * soft + functional.nll_loss(torch.log_softmax(logits, 1), labels)

    return with_gradients(torch, loss, [w, b])


@PROGRAMS
def language_model(torch, draw):
    """One attention layer over 12 tokens, with one table for the input and the output."""
    functional = torch.nn.functional
    table, places = draw.leaf(40, 16), draw.leaf(12, 16)
    parts, back = draw.leaf(16, 48, scale=0.2), draw.leaf(16, 16, scale=0.2)
    symbols, following = draw.whole(4, 12, n=40), draw.whole(4, 12, n=40)

    def heads(x):
        return x.view(4, 12, 2, 8).transpose(1, 2)

    def loss():
        x = functional.embedding(symbols, table) + places
        query, key, value = (heads(part) for part in (x @ parts).split(16, -1))
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + mixed.transpose(1, 2).contiguous().view(4, 12, 16) @ back
        scores = functional.layer_norm(x, (16,)) @ table.T
        return functional.cross_entropy(scores.view(-1, 40), following.view(-1))

    return with_gradients(torch, loss, [table, places, parts, back])


@PROGRAMS
def burgers_equation(torch, draw):
    """A network that satisfies Burgers' equation at 64 points, by second derivatives."""
    first, inner, last = draw.leaf(2, 20, scale=0.7), draw.leaf(20, 20, scale=0.3), draw.leaf(20, 1, scale=0.3)
    offset, places, times = draw.leaf(20, scale=0.1), draw.normal(64, 1), draw.uniform(64, 1)

    def loss():
        x, t = places.clone().requires_grad_(), times.clone().requires_grad_()
        u = torch.tanh(torch.tanh(torch.cat([x, t], 1) @ first + offset) @ inner) @ last
        ones = torch.ones_like(u)
        by_x, by_t = torch.autograd.grad(u, [x, t], ones, create_graph=True)
        (curvature,) = torch.autograd.grad(by_x, x, ones, create_graph=True)
        return ((by_t + u * by_x - 0.01 * curvature) ** 2).mean()

    return with_gradients(torch, loss, [first, offset, inner, last])


@PROGRAMS
def own_activation(torch, draw):
    """Five layers with a custom function as activation."""

    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, beta):
            s = torch.sigmoid(beta * x)
            ctx.save_for_backward(x, s)
            ctx.beta = beta
            return x * s

        @staticmethod
        def backward(ctx, g):
            x, s = ctx.saved_tensors
            return g * (s + ctx.beta * x * s * (1 - s)), None

    x, weight = draw.leaf(10, 6), draw.leaf(6, 6, scale=0.3)

    def loss():
        h = x
        for _ in range(5):
            h = Swish.apply(h @ weight, 1.5)
        return h.sum()

    return with_gradients(torch, loss, [x, weight])
