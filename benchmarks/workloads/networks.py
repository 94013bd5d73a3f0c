"""Networks of usual size: a classifier, a small convolutional net, a block of attention, and an embedding."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..workload import Data, Steps


def normal(rng: np.random.Generator, *shape: int, fan: int | None = None) -> np.ndarray:
    return (rng.normal(size=shape) / (fan or 1) ** 0.5).astype(np.float32)


def gradients(torch, data, names, loss):
    """The step of a loss, a function of the named parameters."""
    parameters = [torch.from_numpy(data[name]).requires_grad_() for name in names]

    def step():
        loss(*parameters).backward()
        grads = [parameter.grad for parameter in parameters]
        for parameter in parameters:
            parameter.grad = None
        return grads

    return step


# classifier -----------------------------------------------------------------------------------------------------------

LAYERS, BATCH = (784, 512, 512, 10), 256


def classifier_data() -> Data:
    rng = np.random.default_rng(0)
    data = {"x": normal(rng, BATCH, LAYERS[0]), "labels": rng.integers(LAYERS[-1], size=BATCH)}
    for k, (before, after) in enumerate(pairwise(LAYERS)):
        data[f"w{k}"], data[f"b{k}"] = normal(rng, after, before, fan=before), normal(rng, after, fan=100)
    return data


def classifier_in_torch(torch, data):
    f = torch.nn.functional
    x, labels = torch.from_numpy(data["x"]), torch.from_numpy(data["labels"])

    def loss(w0, b0, w1, b1, w2, b2):
        hidden = f.relu(f.linear(f.relu(f.linear(x, w0, b0)), w1, b1))
        return f.cross_entropy(f.linear(hidden, w2, b2), labels)

    return gradients(torch, data, ("w0", "b0", "w1", "b1", "w2", "b2"), loss)


def classifier_in_numpy(numpy, data):
    x, labels, rows = data["x"], data["labels"], numpy.arange(BATCH)
    weights = [data[f"w{k}"] for k in range(3)]
    biases = [data[f"b{k}"] for k in range(3)]

    def step():
        states = [x]
        for w, b in zip(weights[:2], biases[:2], strict=True):
            states.append(numpy.maximum(states[-1] @ w.T + b, 0))
        logits = states[-1] @ weights[2].T + biases[2]
        logits -= logits.max(axis=1, keepdims=True)
        logs = logits - numpy.log(numpy.exp(logits).sum(axis=1, keepdims=True))
        -logs[rows, labels].mean()
        g = numpy.exp(logs)
        g[rows, labels] -= 1
        g /= BATCH
        grads = []
        for k in (2, 1, 0):
            grads = [g.T @ states[k], g.sum(axis=0), *grads]
            if k:
                g = (g @ weights[k]) * (states[k] > 0)
        return grads

    return step


# convolutional net ----------------------------------------------------------------------------------------------------


def images_data() -> Data:
    rng = np.random.default_rng(0)
    return {
        "x": normal(rng, 32, 1, 28, 28),
        "labels": rng.integers(10, size=32),
        "k0": normal(rng, 8, 1, 3, 3, fan=9),
        "c0": normal(rng, 8, fan=100),
        "k1": normal(rng, 16, 8, 3, 3, fan=72),
        "c1": normal(rng, 16, fan=100),
        "w": normal(rng, 10, 16 * 5 * 5, fan=400),
        "b": normal(rng, 10, fan=100),
    }


def images_in_torch(torch, data):
    f = torch.nn.functional
    x, labels = torch.from_numpy(data["x"]), torch.from_numpy(data["labels"])

    def loss(k0, c0, k1, c1, w, b):
        h = f.max_pool2d(f.relu(f.conv2d(x, k0, c0)), 2)
        h = f.max_pool2d(f.relu(f.conv2d(h, k1, c1)), 2)
        return f.cross_entropy(f.linear(h.flatten(1), w, b), labels)

    return gradients(torch, data, ("k0", "c0", "k1", "c1", "w", "b"), loss)


# attention ------------------------------------------------------------------------------------------------------------

SEQUENCES, LENGTH, WIDTH, HEADS = 4, 64, 128, 4


def attention_data() -> Data:
    rng = np.random.default_rng(0)
    data = {"x": normal(rng, SEQUENCES, LENGTH, WIDTH), "scale": 1 + normal(rng, WIDTH, fan=100)}
    data["shift"] = normal(rng, WIDTH, fan=100)
    return data | {name: normal(rng, WIDTH, WIDTH, fan=WIDTH) for name in ("q", "k", "v", "o")}


def attention_in_torch(torch, data):
    f = torch.nn.functional
    x = torch.from_numpy(data["x"])

    def loss(scale, shift, q, k, v, o):
        z = f.layer_norm(x, (WIDTH,), scale, shift)

        def heads(weight):
            return f.linear(z, weight).reshape(SEQUENCES, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2)

        scores = (heads(q) @ heads(k).transpose(2, 3)) * (WIDTH // HEADS) ** -0.5
        mixed = scores.softmax(-1) @ heads(v)
        y = x + f.linear(mixed.transpose(1, 2).reshape(SEQUENCES, LENGTH, WIDTH), o)
        return (y * y).mean()

    return gradients(torch, data, ("scale", "shift", "q", "k", "v", "o"), loss)


# embedding ------------------------------------------------------------------------------------------------------------


def embedding_data() -> Data:
    rng = np.random.default_rng(0)
    return {
        "table": normal(rng, 5000, 64),
        "words": rng.integers(5000, size=(32, 50)),
        "weights": normal(rng, 32, 50, 64),
    }


def embedding_in_torch(torch, data):
    words, weights = torch.from_numpy(data["words"]), torch.from_numpy(data["weights"])
    return gradients(
        torch, data, ("table",), lambda table: (torch.nn.functional.embedding(words, table) * weights).sum()
    )


def embedding_in_numpy(numpy, data):
    table, words, weights = data["table"], data["words"], data["weights"]

    def step():
        (table[words] * weights).sum()
        gradient = numpy.zeros_like(table)
        numpy.add.at(gradient, words, weights)
        return (gradient,)

    return step


WORKLOADS = (
    Steps(
        name="mlp-large",
        title="classifier 784-512-512-10, batch 256, cross entropy, gradients only, float32",
        data=classifier_data,
        programs={"torch": classifier_in_torch, "numpy": classifier_in_numpy},
    ),
    Steps(
        name="conv-net",
        title="32 images of 28 x 28, two 3 x 3 convolutions with relu and max-pooling, float32",
        data=images_data,
        programs={"torch": images_in_torch},
    ),
    Steps(
        name="attention",
        title=f"layer norm and attention, {SEQUENCES} x {LENGTH} x {WIDTH}, {HEADS} heads, float32",
        data=attention_data,
        programs={"torch": attention_in_torch},
    ),
    Steps(
        name="embedding",
        title="1600 rows of a table of 5000 x 64 and its gradient, float32",
        data=embedding_data,
        programs={"torch": embedding_in_torch, "numpy": embedding_in_numpy},
    ),
)
