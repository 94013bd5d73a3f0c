"""A training step of a small classifier on the shape of the digits data, with its update."""

from __future__ import annotations

import numpy as np

from ..workload import Data, Steps

BATCH, PIXELS, HIDDEN, CLASSES = 64, 64, 128, 10
RATE = 1e-3  # so small that step 1000 has numbers like those of the first step
PARAMETERS = ("w1", "b1", "w2", "b2")


def make_data() -> Data:
    rng = np.random.default_rng(0)

    def normal(*shape, scale=1.0):
        return (scale * rng.normal(size=shape)).astype(np.float32)

    return {
        "images": rng.uniform(size=(BATCH, PIXELS)).astype(np.float32),
        "labels": rng.integers(CLASSES, size=BATCH),
        "rows": np.arange(BATCH),
        "w1": normal(PIXELS, HIDDEN, scale=PIXELS**-0.5),
        "b1": normal(HIDDEN, scale=0.1),
        "w2": normal(HIDDEN, CLASSES, scale=HIDDEN**-0.5),
        "b2": normal(CLASSES, scale=0.1),
    }


def in_torch(torch, data):
    images, labels, rows = (torch.from_numpy(data[name]) for name in ("images", "labels", "rows"))
    parameters = [torch.from_numpy(data[name]).requires_grad_() for name in PARAMETERS]
    w1, b1, w2, b2 = parameters

    def step():
        logits = (images @ w1 + b1).relu() @ w2 + b2
        loss = -logits.log_softmax(1)[rows, labels].mean()
        loss.backward()
        gradients = [parameter.grad for parameter in parameters]
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter -= RATE * gradient
                parameter.grad = None
        return gradients

    return step


def in_mygrad(mygrad, data):
    from mygrad.nnet.activations import logsoftmax, relu

    images, labels, rows = data["images"], data["labels"], data["rows"]
    parameters = [mygrad.tensor(data[name]) for name in PARAMETERS]
    w1, b1, w2, b2 = parameters

    def step():
        logits = relu(mygrad.matmul(images, w1) + b1) @ w2 + b2
        loss = -logsoftmax(logits)[rows, labels].mean()
        loss.backward()
        gradients = [parameter.grad for parameter in parameters]
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.data -= RATE * gradient
            parameter.null_grad()
        return gradients

    return step


def in_autograd(autograd, data):
    import autograd.numpy as numpy_like

    images, labels, rows = data["images"], data["labels"], data["rows"]

    def loss(parameters):
        w1, b1, w2, b2 = parameters
        logits = numpy_like.maximum(images @ w1 + b1, 0) @ w2 + b2
        shifted = logits - numpy_like.max(logits, axis=1, keepdims=True)
        logs = shifted - numpy_like.log(numpy_like.sum(numpy_like.exp(shifted), axis=1, keepdims=True))
        return -numpy_like.mean(logs[rows, labels])

    parameters = [data[name] for name in PARAMETERS]
    gradient_of = autograd.grad(loss)

    def step():
        gradients = gradient_of(parameters)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter -= RATE * gradient
        return gradients

    return step


def in_jax(jax, data):
    images, labels, rows = (jax.numpy.asarray(data[name]) for name in ("images", "labels", "rows"))

    def loss(parameters):
        w1, b1, w2, b2 = parameters
        logits = jax.nn.relu(images @ w1 + b1) @ w2 + b2
        return -jax.nn.log_softmax(logits, axis=1)[rows, labels].mean()

    gradient_of = jax.grad(loss)
    parameters = [jax.numpy.asarray(data[name]) for name in PARAMETERS]

    def step():
        nonlocal parameters
        gradients = gradient_of(parameters)
        parameters = [parameter - RATE * gradient for parameter, gradient in zip(parameters, gradients, strict=True)]
        jax.block_until_ready(parameters)
        return gradients

    return step


def in_numpy(numpy, data):
    images, labels, rows = data["images"], data["labels"], data["rows"]
    w1, b1, w2, b2 = parameters = [data[name] for name in PARAMETERS]

    def step():
        hidden = numpy.maximum(images @ w1 + b1, 0)
        logits = hidden @ w2 + b2
        logits -= logits.max(axis=1, keepdims=True)
        logs = logits - numpy.log(numpy.exp(logits).sum(axis=1, keepdims=True))
        -logs[rows, labels].mean()
        g = numpy.exp(logs)
        g[rows, labels] -= 1
        g /= BATCH
        g_hidden = (g @ w2.T) * (hidden > 0)
        gradients = (images.T @ g_hidden, g_hidden.sum(axis=0), hidden.T @ g, g.sum(axis=0))
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter -= RATE * gradient
        return gradients

    return step


WORKLOADS = (
    Steps(
        name="mlp",
        title=f"classifier {PIXELS}-{HIDDEN}-{CLASSES}, batch {BATCH}, log_softmax, SGD, float32",
        data=make_data,
        programs={
            "torch": in_torch,
            "autograd": in_autograd,
            "mygrad": in_mygrad,
            "jax": in_jax,
            "numpy": in_numpy,
        },
    ),
)
