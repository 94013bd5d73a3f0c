"""Functions of all parameters of a model: gradients clipped, parameters as one vector. Names of torch.nn.utils.

`foreach`, which selects an implementation in torch, is accepted without effect.
"""

from __future__ import annotations

import typing as _typing
from collections.abc import Iterable

from adjoint.core.modes.grad_mode import no_grad
from adjoint.core.operations.arguments import check_functions
from adjoint.runtime.lazy import LateAttributes as _LateAttributes
from adjoint.runtime.lazy import by_name as _by_name
from adjoint.tensor.creation import tensor as as_tensor
from adjoint.tensor.older.absent import AttributeOf as _AttributeOf
from adjoint.tensor.table import ops
from adjoint.tensor.tensor import Tensor

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "vector_to_parameters",
]

SMALLEST_NORM = 1e-6  # added to a norm by which gradients are divided


def tensors_of(tensors: Tensor | Iterable[Tensor], name: str = "parameters", position: int = 1) -> list[Tensor]:
    """One tensor or several, the argument of this name, as a list. Raises TypeError for other objects."""
    members = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    for member in members:
        if not isinstance(member, Tensor):
            raise TypeError(
                f"argument '{name}' (position {position}) must be a Tensor or Tensors, and one is "
                f"{type(member).__name__}"
            )
    return members


def grads_of(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    """The gradients of the parameters that have one. Raises TypeError for anything but tensors."""
    return [parameter.grad for parameter in tensors_of(parameters) if parameter.grad is not None]


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all tensors' elements as if they were one vector, a tensor without axes and without gradient.

    Raises RuntimeError if it is not finite and `error_if_nonfinite`.

    >>> import adjoint
    >>> adjoint.nn.utils.get_total_norm([adjoint.tensor([3.0]), adjoint.tensor([[4.0]])])
    tensor(5.)
    """
    order = float(norm_type)  # "inf" as well
    with no_grad():
        norms = [tensor.norm(order) for tensor in tensors_of(tensors, "tensors")]
        total = ops.stack(norms).norm(order) if norms else as_tensor(0.0)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Multiply the parameters' gradients by max_norm / total_norm, if that is less than 1.

    >>> import adjoint
    >>> w = adjoint.ones(2, requires_grad=True)
    >>> w.grad = adjoint.tensor([3.0, 4.0])
    >>> adjoint.nn.utils.clip_grads_with_norm_(w, 1.0, adjoint.tensor(10.0))
    >>> w.grad
    tensor([0.3000, 0.4000])
    """
    if not isinstance(total_norm, Tensor):
        raise TypeError(f"argument 'total_norm' (position 3) must be a Tensor, not {type(total_norm).__name__}")
    with no_grad():
        factor = (max_norm / (total_norm + SMALLEST_NORM)).clamp(max=1.0)
        for grad in grads_of(parameters):
            grad.mul_(factor)


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Shrink the gradients so that their norm, as of one vector, is at most `max_norm`; returns the norm before.

    Raises RuntimeError, and changes nothing, if the norm is not finite and `error_if_nonfinite`.

    >>> import adjoint
    >>> w = adjoint.tensor([3.0, 4.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> adjoint.nn.utils.clip_grad_norm_([w], max_norm=1.0), w.grad
    (tensor(10.), tensor([0.6000, 0.8000]))
    """
    parameters = tensors_of(parameters)  # which may be an iterator
    total = get_total_norm(grads_of(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Limit each element of the gradients to [-clip_value, clip_value].

    >>> import adjoint
    >>> w = adjoint.ones(2, requires_grad=True)
    >>> w.grad = adjoint.tensor([0.3, -4.0])
    >>> adjoint.nn.utils.clip_grad_value_(w, 0.5)
    >>> w.grad
    tensor([ 0.3000, -0.5000])
    """
    with no_grad():
        for grad in grads_of(parameters):
            grad.clamp_(-clip_value, clip_value)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of the parameters in one vector, through which gradients flow. ValueError if there are none.

    >>> import adjoint
    >>> adjoint.nn.utils.parameters_to_vector([adjoint.zeros(2), adjoint.ones(1, 2)])
    tensor([0., 0., 1., 1.])
    """
    return ops.cat([parameter.reshape(-1) for parameter in tensors_of(parameters)])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make each parameter's data a view of its part of the vector, the reverse of parameters_to_vector().

    Raises TypeError if `vec` is no Tensor, RuntimeError if it is too short.

    >>> import adjoint
    >>> a, b = adjoint.zeros(2), adjoint.zeros(1, 2)
    >>> adjoint.nn.utils.vector_to_parameters(adjoint.arange(4.0), [a, b])
    >>> a, b
    (tensor([0., 1.]), tensor([[2., 3.]]))
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected adjoint.Tensor, but got: {type(vec).__name__}")
    start = 0
    for parameter in tensors_of(parameters, position=2):
        stop = start + parameter.numel()
        parameter.data = vec[start:stop].view_as(parameter).data
        start = stop


_MODULES = ("parametrizations", "parametrize", "rnn", "stateless")
_HELD = {"adjoint.nn.utils.hooked": "remove_spectral_norm remove_weight_norm skip_init spectral_norm weight_norm"}

check_functions(globals(), __all__)
if not _typing.TYPE_CHECKING:
    __getattr__ = _LateAttributes(
        __name__, dict.fromkeys(_MODULES, "") | _by_name(_HELD), missing=_AttributeOf(__name__)
    )
__all__ += [*_MODULES, *_by_name(_HELD)]


def __dir__() -> list[str]:
    return sorted(__all__)
