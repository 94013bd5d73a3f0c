"""Calls with random options, from a grammar of calls under names that adjoint and PyTorch share (grammar.txt).

This module runs beside PyTorch too, and does not import adjoint.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trust.fuzz.observations import NARROW, Error, Observations, array, attempt, shake_values

LINES = [
    line
    for line in (Path(__file__).parent / "grammar.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
#: Functions with a kink or a jump at equal elements. Their inputs have no equal rows.
TIES = re.compile(
    "max|min|sort|median|quantile|segment|svd|norm|lstsq|std|cond|dist|topk|eig|kthvalue|clamp|mode|pinv|loss|det|linalg|inverse|corrcoef"
)
CHOICE = re.compile(r"<([^<>]*)>")
#: The dtypes of the inputs, repeated according to their frequency.
DTYPES = {"float64": 12, "float32": 3, "complex128": 4, "float16": 1, "bfloat16": 1}
ROUNDING = {"float32": NARROW, "float16": 16 * NARROW, "bfloat16": 64 * NARROW}
#: An input, the numbers in its parentheses, and the lengths that one of them may become.
SHAPE = re.compile(r"\b([XPDBI])\(([\d, ]+)\)")
LENGTHS = (0, 1, 1, 6, 9, 17, 33, 70, 130, 300)
MOST_ELEMENTS = 2000


@dataclass(frozen=True)
class Call:
    """An expression, and the seed, dtype and layouts of its inputs.

    shake: the number of a change of all inputs by rounding, 0 for none.
    """

    text: str
    seed: int
    dtype: str
    layouts: bool
    shake: int = 0

    @property
    def rounding(self) -> float:
        """The additional tolerance for intermediate numbers of less than 64 bits."""
        return ROUNDING.get(self.dtype, 0.0)

    def __str__(self) -> str:
        return f"{self.text}  # seed {self.seed}, {self.dtype}{', layouts' * self.layouts}"


def call(seed: int, most: int = MOST_ELEMENTS) -> Call:
    """The call of a seed. Its inputs have at most this number of elements, or the number in its text."""
    draw = random.Random(f"call {seed}")
    text = draw.choice(LINES)
    while CHOICE.search(text):
        text = CHOICE.sub(lambda match: draw.choice(match[1].split("|")), text, count=1)
    if draw.random() < 0.5:
        text = resize(text, draw, most)
    return Call(text, seed, draw.choices(list(DTYPES), list(DTYPES.values()))[0], draw.random() < 0.5)


def resize(text: str, draw: random.Random, most: int) -> str:
    """The call with another length of all axes of one length, in its inputs or in its whole text."""
    lengths = sorted({number for _, numbers in SHAPE.findall(text) for number in re.findall(r"\d+", numbers)})
    if not lengths:
        return text
    old, new = draw.choice(lengths), draw.choice(LENGTHS)
    number = re.compile(rf"(?<![\d.\w-]){old}(?![\d.\w])")
    everywhere = new < 10 and draw.random() < 0.5
    other = number.sub(str(new), text) if everywhere else SHAPE.sub(lambda match: number.sub(str(new), match[0]), text)
    sizes = [math.prod(map(int, re.findall(r"\d+", numbers))) for _, numbers in SHAPE.findall(other)]
    return other if max(sizes) <= most else text


class Inputs:
    """Makes the inputs of a call as tensors of one library, in the order of the expression."""

    def __init__(self, library: Any, call: Call, wrap: Callable[[Any, int], Any]) -> None:
        self.library, self.call, self.wrap = library, call, wrap
        self.leaves: list[Any] = []
        #: All inputs, also those without derivatives.
        self.all: list[Any] = []
        self.count = 0

    def rng(self) -> np.random.Generator:
        self.count += 1
        return np.random.default_rng([self.call.seed, self.count])

    def add(self, values: Any) -> Any:
        """An input that is differentiated; perhaps its elements do not lie one after another."""
        kind = random.Random(f"{self.call.seed} {self.count}").randrange(5) if self.call.layouts else 0
        dtype = getattr(self.library, self.call.dtype)

        def tensor(part: Any) -> Any:
            part = shake_values(part, self.call.shake, self.call.dtype)
            wide = self.library.complex128 if part.dtype.kind == "c" else self.library.float64
            values = self.library.tensor(np.ascontiguousarray(part).tolist(), dtype=wide)
            return values.to(dtype).reshape(part.shape)

        if kind == 1 and values.ndim > 1:
            tensor_with_layout = tensor(np.swapaxes(values, 0, -1)).transpose(0, -1)
        elif kind == 2 and values.ndim:
            tensor_with_layout = tensor(np.repeat(values, 2, -1))[..., ::2]
        elif kind == 3 and values.ndim:
            tensor_with_layout = tensor(np.concatenate([values[:1], values]))[1:]
        elif kind == 4 and values.ndim and values.shape[0] > 1 and not TIES.search(self.call.text):
            # elements that share memory become different elements when they are shaken
            repeated = values[:1] if not self.call.shake else np.broadcast_to(values[:1], values.shape)
            tensor_with_layout = tensor(repeated).expand(values.shape)
        else:
            tensor_with_layout = tensor(values)
        leaf = self.wrap(tensor_with_layout, len(self.leaves))
        self.leaves.append(leaf)
        self.all.append(leaf)
        return leaf

    def real(self, *shape: int) -> Any:
        rng = self.rng()
        return self.add(self.uniform(rng, shape, 0.1, 1.2) * rng.choice([-1.0, 1.0], shape))

    def positive(self, *shape: int) -> Any:
        return self.add(self.uniform(self.rng(), shape, 0.2, 1.2))

    def definite(self, *shape: int) -> Any:
        matrix = self.uniform(self.rng(), shape, -1, 1)
        matrices = self.add(matrix @ np.swapaxes(matrix, -1, -2).conj() + np.diag(np.arange(1.0, shape[-1] + 1)))
        return symmetric(matrices)

    def uniform(self, rng: np.random.Generator, shape: tuple[int, ...], low: float, high: float) -> Any:
        """Numbers of the inputs' kind."""
        real = np.asarray(rng.uniform(low, high, shape))
        return real + 1j * rng.uniform(-1, 1, shape) if self.call.dtype.startswith("complex") else real

    def integers(self, n: int, *shape: int) -> Any:
        self.all.append(
            self.library.tensor(self.rng().integers(0, n, shape).tolist(), dtype=self.library.int64).reshape(shape)
        )
        return self.all[-1]

    def mask(self, *shape: int) -> Any:
        values = self.rng().random(shape) < 0.6
        self.all.append(self.library.tensor(values.tolist(), dtype=self.library.bool).reshape(shape))
        return self.all[-1]


class Stored:
    """Gives inputs that were made before, in their order."""

    def __init__(self, inputs: Sequence[Any]) -> None:
        self.left = iter(inputs)

    def take(self, *numbers: int) -> Any:
        return next(self.left)

    def definite(self, *shape: int) -> Any:
        return symmetric(self.take())

    real = positive = integers = mask = take


def symmetric(matrix: Any) -> Any:
    return (matrix + matrix.mH) / 2


def outputs(library: Any, call: Call, wrap: Callable[[Any, int], Any]) -> tuple[list[Any], list[Any]]:
    """The differentiable results of a call, and its inputs."""
    inputs = Inputs(library, call, wrap)
    library.manual_seed(0)
    return evaluate(library, call, inputs), inputs.leaves


def evaluate(library: Any, call: Call, inputs: Inputs | Stored) -> list[Any]:
    """The tensors in the result of a call."""
    space = {
        "L": library, "F": library.nn.functional, "inf": float("inf"), "nan": float("nan"),
        "X": inputs.real, "P": inputs.positive, "D": inputs.definite, "I": inputs.integers, "B": inputs.mask,
    }  # fmt: skip
    return [part for part in flatten(eval(call.text, space)) if hasattr(part, "numel")]


def flatten(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in flatten(part)] if isinstance(value, (tuple, list)) else [value]


def numbers(shape: tuple[int, ...], is_complex: bool, k: int) -> Any:
    """The numbers of a cotangent or a tangent."""
    rng = np.random.default_rng([len(shape), int(np.prod(shape)), k])
    values = rng.uniform(-1, 1, shape)
    return values + 1j * rng.uniform(-1, 1, shape) if is_complex else values


def wave(library: Any, like: Any, k: int) -> Any:
    values = np.asarray(numbers(tuple(like.shape), like.is_complex(), k))
    dtype = library.complex128 if like.is_complex() else library.float64
    return library.tensor(values.tolist(), dtype=dtype).reshape(values.shape).to(like.dtype)


def leaf(tensor: Any, k: int) -> Any:
    return tensor.requires_grad_()


def leaf_for(seed: int, share: float) -> Callable[[Any, int], Any]:
    """A maker of leaves. This share of the inputs needs a gradient."""
    draw = random.Random(f"leaves {seed}")
    needs = [draw.random() < share for _ in range(16)]
    return lambda tensor, k: tensor.requires_grad_(needs[k])


def observe(library: Any, call: Call) -> Observations:
    """The observations of a call: values, gradients, gradients of gradients, and tangents."""
    library.set_grad_enabled(True)
    results_and_leaves = attempt(lambda: outputs(library, call, leaf))
    if isinstance(results_and_leaves, Error):
        return [("value", results_and_leaves)]
    results, leaves = results_and_leaves
    observed: Observations = [(f"value {k}", array(result)) for k, result in enumerate(results)]
    ys = [y for y in results if y.requires_grad]
    if not ys:
        return observed
    backward = attempt(lambda: derivatives(library, ys, leaves))
    observed += backward if isinstance(backward, list) else [("gradient", backward)]
    forward = attempt(lambda: tangents(library, call)) if not call.rounding else []
    return observed + (forward if isinstance(forward, list) else [("tangent", forward)])


def derivatives(library: Any, ys: list[Any], leaves: list[Any]) -> Observations:
    grad = library.autograd.grad
    cotangents = [wave(library, y, k).requires_grad_() for k, y in enumerate(ys)]
    grads = grad(ys, leaves, cotangents, create_graph=True, allow_unused=True)
    observed: Observations = [
        (f"gradient {k}", zeros(g, x)) for k, (g, x) in enumerate(zip(grads, leaves, strict=True))
    ]
    usable = [(g, wave(library, g, 7)) for g in grads if g is not None and g.requires_grad]
    if usable:
        inputs = [*leaves, *cotangents]
        seconds = attempt(lambda: grad([g for g, _ in usable], inputs, [w for _, w in usable], allow_unused=True))
        if isinstance(seconds, Error):
            return [*observed, ("second order", seconds)]
        observed += [(f"second order {k}", zeros(g, x)) for k, (g, x) in enumerate(zip(seconds, inputs, strict=True))]
    return observed


def tangents(library: Any, call: Call) -> Observations:
    forward_ad = library.autograd.forward_ad
    with forward_ad.dual_level():
        results, _ = outputs(library, call, lambda x, k: forward_ad.make_dual(x, wave(library, x, k)))
        pairs = [forward_ad.unpack_dual(y) for y in results if y.is_floating_point() or y.is_complex()]
        return [(f"tangent {k}", zeros(pair.tangent, pair.primal)) for k, pair in enumerate(pairs)]


def zeros(tensor: Any, like: Any) -> Any:
    return np.zeros_like(array(like)) if tensor is None else array(tensor)
