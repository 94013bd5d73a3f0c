"""Jacobians by backward and by forward mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from adjoint.tensor.differentiate import grad
from adjoint.tensor.tensor import Tensor
from adjoint.transforms import forward_ad

from .bases import Units
from .functions import Array, Function, as_tuple, tensor_like, tensors_to_check, wide


class Pulled(NamedTuple):
    """The result of backward mode for one output: a matrix for each input, and whether sizes and dtypes were right."""

    matrices: list[Array]
    sizes: bool
    dtypes: bool


def pull_back(
    output: Tensor, inputs: Sequence[Tensor], cotangents: Units, directions: Sequence[Units], unit: complex
) -> Pulled:
    """The gradients for all cotangents, times `unit`: a row for each direction, a column for each cotangent."""
    columns: list[list[Array]] = [[] for _ in inputs]
    sizes = dtypes = True
    for v in cotangents.vectors():
        gradients = grad(output, inputs, tensor_like(unit * v, output), retain_graph=True, allow_unused=True)
        for g, x, basis, column in zip(gradients, inputs, directions, columns, strict=True):
            fits = g is None or g.shape == x.shape
            sizes = sizes and fits
            dtypes = dtypes and (g is None or g.dtype == x.dtype)
            column.append(basis.products(flat(g if fits else None, x)))
    matrices = [
        numpy.array(column, dtype=complex if x.is_complex() else float).reshape(len(column), basis.size).T
        for column, x, basis in zip(columns, inputs, directions, strict=True)
    ]
    return Pulled(matrices, sizes, dtypes)


def flat(gradient: Tensor | None, model: Tensor) -> Array:
    """The elements of a gradient; zeros for an undefined one."""
    if gradient is None:
        return numpy.zeros(model.numel())
    return wide(gradient._array).reshape(-1)


def push_forward(
    func: Function, inputs: tuple[Any, ...], position: int, outputs: dict[int, Tensor], basis: Units, unit: complex
) -> list[Array]:
    """The tangents for steps of one input along a basis, times `unit`: for each output, a row for each direction."""
    rows = []
    for v in basis.vectors():
        steps = {i: unit * v if i == position else numpy.zeros(x.shape) for i, x in tensors_to_check(inputs).items()}
        tangents = {i: tensor_like(step, inputs[i]) for i, step in steps.items()}
        tangents_out = jvp(func, inputs, tangents)
        rows.append([flat(tangents_out[o], y) for o, y in outputs.items()])
    return [
        numpy.array([row[o] for row in rows], dtype=complex if y.is_complex() else float).reshape(len(rows), y.numel())
        for o, y in enumerate(outputs.values())
    ]


def jvp(func: Function, inputs: tuple[Any, ...], tangents: Mapping[int, Tensor | None]) -> list[Tensor | None]:
    """The tangents of all outputs, from tangents of the checked inputs by place (None: undefined).

    The function gets inputs that require a gradient, so that it may run backward passes itself.
    """
    with forward_ad.dual_level():
        duals = list(inputs)
        for i, x in tensors_to_check(inputs).items():
            t = tangents[i]
            dual = x.detach() if t is None else forward_ad.make_dual(x.detach(), t)
            duals[i] = dual.requires_grad_()
        results = as_tuple(func(*duals))
        tangents_out = [forward_ad.unpack_dual(y).tangent for y in results]
        return [None if t is None else t.detach() for t in tangents_out]
