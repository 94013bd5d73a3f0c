"""Helpers of distributions: broadcasting of parameters, and conversion between probabilities and logits."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from numbers import Number
from typing import Any

import adjoint

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Broadcast tensors and numbers to one shape; numbers get the dtype of the tensors, or the default dtype.

    Raises ValueError for other objects.

    >>> import adjoint
    >>> adjoint.distributions.utils.broadcast_all(adjoint.zeros(2), 3.0)
    (tensor([0., 0.]), tensor([3., 3.]))
    """
    if not all(adjoint.overrides.is_tensor_like(each) or isinstance(each, Number) for each in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    first = next((each for each in values if adjoint.is_tensor(each)), None)
    options = (
        {"dtype": adjoint.get_default_dtype()} if first is None else {"dtype": first.dtype, "device": first.device}
    )
    tensors = [each if adjoint.overrides.is_tensor_like(each) else adjoint.tensor(each, **options) for each in values]
    return tuple(adjoint.broadcast_tensors(*tensors))


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """Probabilities from their logarithms up to a constant along the last axis, or from log odds.

    is_binary: `logits` are log odds. The result has the same shape and dtype.
    """
    return adjoint.sigmoid(logits) if is_binary else adjoint.nn.functional.softmax(logits, dim=-1)


def clamp_probs(probs: Any) -> Any:
    """Probabilities, clamped to [eps, 1 - eps] for the eps of their dtype.

    So log(p) and log(1 - p) are finite. The result has the same shape and dtype.
    """
    eps = adjoint.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """Logarithms of probabilities, or log odds.

    is_binary: return log odds. The result has the same shape and dtype.
    """
    inner = clamp_probs(probs)
    return adjoint.log(inner) - adjoint.log1p(-inner) if is_binary else adjoint.log(inner)


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """A lower triangular matrix from its elements, row by row. diag: the highest diagonal with elements.

    Shapes: vec (..., n), the result (..., m, m); m follows from n.
    """
    n = round((-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2)
    rows, columns = adjoint.tril_indices(n, n, diag)
    matrix = vec.new_zeros((*vec.shape[:-1], n, n))
    matrix[..., rows, columns] = vec
    return matrix


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """The elements of the lower triangle of a matrix, row by row.

    Shapes: mat (..., m, m), the result (..., n). diag: the highest diagonal. Raises ValueError for a diagonal outside
    the matrix.
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = adjoint.tril_indices(n, n, diag)
    return mat[..., rows, columns]


class lazy_property:
    """A property that is computed at the first access and then stored as an attribute.

    The computation is recorded even if gradient recording is disabled.
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with adjoint.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value
