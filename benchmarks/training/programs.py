"""Five training programs. Each is a function of the library and returns a function that makes one step.

First values, data and noise come from NumPy, so that both libraries compute the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: A program's step: computes the loss, the gradients, and changes the parameters. Returns the loss.
Step = Callable[[], float]


def begin(torch: Any, model: Any, seed: int = 0) -> Any:
    """A model with first values from NumPy: uniform values for matrices, the layer's own values for vectors."""
    draw = np.random.default_rng(seed)
    with torch.no_grad():
        for _, parameter in model.named_parameters():
            if parameter.ndim > 1:
                bound = (6 / sum(parameter.shape[:2])) ** 0.5
                values = draw.uniform(-bound, bound, tuple(parameter.shape)).astype("float32")
                parameter.copy_(torch.from_numpy(values))
            elif not bool((parameter == 1).all()):
                parameter.zero_()
    return model


def batch(torch: Any, shape: tuple[int, ...], seed: int, classes: int | None = None) -> Any:
    """Normal numbers, or classes."""
    draw = np.random.default_rng(seed)
    if classes is not None:
        return torch.from_numpy(draw.integers(classes, size=shape))
    return torch.from_numpy(draw.standard_normal(shape).astype("float32"))


def step_of(optimizer: Any, loss_of: Callable[[], Any], after: Callable[[], Any] | None = None) -> Step:
    """One step: gradients, an optional function of the gradients, and the change of the parameters."""

    def step() -> float:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        if after is not None:
            after()
        optimizer.step()
        return float(loss.item())

    return step


def mlp(torch: Any) -> Step:
    """Multilayer perceptron of 25 layers with Adam: many small parameters."""
    nn = torch.nn
    layers = [layer for _ in range(24) for layer in (nn.Linear(32, 32), nn.Tanh())]
    model = begin(torch, nn.Sequential(*layers, nn.Linear(32, 10)))
    x, y = batch(torch, (64, 32), 1), batch(torch, (64,), 2, classes=10)
    loss = nn.CrossEntropyLoss()
    return step_of(torch.optim.Adam(model.parameters(), lr=1e-3), lambda: loss(model(x), y))


def convolution(torch: Any) -> Step:
    """Convolutions with batch norm and pooling, SGD with momentum and a schedule."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(256, 10),
    )
    model = begin(torch, model)
    x, y = batch(torch, (32, 1, 16, 16), 1), batch(torch, (32,), 2, classes=10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 20, gamma=0.5)
    loss = nn.CrossEntropyLoss(label_smoothing=0.1)
    inner = step_of(optimizer, lambda: loss(model(x), y))

    def step() -> float:
        value = inner()
        schedule.step()
        return value

    return step


def lstm(torch: Any) -> Step:
    """Two layers of LSTM over sequences, NAdam, gradients clipped."""
    nn = torch.nn

    class Model(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(8, 32, num_layers=2, batch_first=True)
            self.head = nn.Linear(32, 4)

        def forward(self, x: Any) -> Any:
            output, _ = self.lstm(x)
            return self.head(output[:, -1])

    model = begin(torch, Model())
    x, y = batch(torch, (16, 20, 8), 1), batch(torch, (16, 4), 2)
    loss = nn.MSELoss()
    return step_of(
        torch.optim.NAdam(model.parameters(), lr=1e-3),
        lambda: loss(model(x), y),
        lambda: nn.utils.clip_grad_norm_(model.parameters(), 1.0),
    )


def attention(torch: Any) -> Step:
    """Two layers of a transformer over embeddings, AdamW and a cosine schedule."""
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    model = begin(torch, nn.Sequential(nn.Embedding(50, 32), encoder, nn.Linear(32, 50)))
    tokens = batch(torch, (8, 24), 1, classes=50)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 50)
    loss = nn.CrossEntropyLoss()
    inner = step_of(optimizer, lambda: loss(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()))

    def step() -> float:
        value = inner()
        schedule.step()
        return value

    return step


def autoencoder(torch: Any) -> Step:
    """Variational autoencoder, its divergence and likelihood by torch.distributions."""
    nn, distributions = torch.nn, torch.distributions
    encoder = begin(torch, nn.Sequential(nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 16)), 3)
    decoder = begin(torch, nn.Sequential(nn.Linear(8, 64), nn.SiLU(), nn.Linear(64, 64)), 4)
    x, noise = (batch(torch, (32, 64), 1) > 0).float(), batch(torch, (32, 8), 2)
    model = nn.ModuleList([encoder, decoder])

    def loss() -> Any:
        mean, log_scale = encoder(x).chunk(2, dim=-1)
        posterior = distributions.Normal(mean, log_scale.exp())
        sample = posterior.mean + posterior.stddev * noise
        prior = distributions.Normal(torch.zeros_like(mean), torch.ones_like(mean))
        likelihood = distributions.Bernoulli(logits=decoder(sample)).log_prob(x).sum(-1)
        return (distributions.kl_divergence(posterior, prior).sum(-1) - likelihood).mean()

    return step_of(torch.optim.Adam(model.parameters(), lr=3e-3), loss)


PROGRAMS: dict[str, Callable[[Any], Step]] = {
    "MLP": mlp,
    "convolution": convolution,
    "LSTM": lstm,
    "attention": attention,
    "VAE": autoencoder,
}
#: The number of steps whose losses are compared.
N_STEPS = 50


def losses(torch: Any, name: str) -> list[float]:
    """The losses of the first steps of a program."""
    step = PROGRAMS[name](torch)
    return [step() for _ in range(N_STEPS)]
