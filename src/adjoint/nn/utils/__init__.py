"""Functions of torch.nn.utils: clipping of gradients, parameters as one vector, parametrizations, sequences.

`foreach`, which selects an implementation in torch, is accepted without effect.
"""

from __future__ import annotations

import typing as _typing
import warnings
from collections.abc import Generator, Iterable

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

SMALLEST_NORM = 1e-6  # added to the norm, which may be zero, before a division


def tensors_of(tensors: Tensor | Iterable[Tensor], name: str = "parameters", position: int = 1) -> list[Tensor]:
    """The list of tensors of an argument, which is one tensor or an iterable. Raises TypeError for other objects."""
    members = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    for member in members:
        if not isinstance(member, Tensor):
            raise TypeError(
                f"argument '{name}' (position {position}) must be a Tensor or Tensors, and one is "
                f"{type(member).__name__}"
            )
    return members


def grads_of(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    """The existing gradients of the parameters. Raises TypeError for objects other than tensors."""
    return [parameter.grad for parameter in tensors_of(parameters) if parameter.grad is not None]


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of one vector with the elements of all tensors: a tensor with shape () that does not require grad.

    The tensors may have any shapes and floating-point or complex dtypes. Raises RuntimeError for a norm that is not
    finite if `error_if_nonfinite`.

    >>> import adjoint
    >>> adjoint.nn.utils.get_total_norm([adjoint.tensor([3.0]), adjoint.tensor([[4.0]])])
    tensor(5.)
    """
    order = float(norm_type)  # also of the text "inf"
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
    """Multiply the gradients of the parameters by max_norm / total_norm, in place, if this factor is less than 1.

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
    """Scale the gradients in place so that the norm of all their elements is at most `max_norm`.

    It returns the previous norm, a tensor with shape (). Raises RuntimeError for a norm that is not finite if
    `error_if_nonfinite`; the gradients do not change then.

    >>> import adjoint
    >>> w = adjoint.tensor([3.0, 4.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> adjoint.nn.utils.clip_grad_norm_([w], max_norm=1.0), w.grad
    (tensor(10.), tensor([0.6000, 0.8000]))
    """
    is_generator = isinstance(parameters, Generator)
    parameters = tensors_of(parameters)  # an iterator can be read only once
    if is_generator and not parameters:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    total = get_total_norm(grads_of(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Limit each element of the gradients to [-clip_value, clip_value], in place.

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
    """One differentiable vector with all elements of the parameters. Raises ValueError without parameters.

    >>> import adjoint
    >>> adjoint.nn.utils.parameters_to_vector([adjoint.zeros(2), adjoint.ones(1, 2)])
    tensor([0., 0., 1., 1.])
    """
    return ops.cat([parameter.reshape(-1) for parameter in tensors_of(parameters)])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Set the data of each parameter to a view of its part of a vector: the inverse of parameters_to_vector().

    Raises TypeError unless `vec` is a Tensor, and RuntimeError if it is too short.

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


_MODULES = ("parametrizations", "parametrize", "prune", "rnn", "stateless")
_HELD = {"adjoint.nn.utils.hooked": "remove_spectral_norm remove_weight_norm skip_init spectral_norm weight_norm"}

check_functions(globals(), __all__)
if not _typing.TYPE_CHECKING:
    __getattr__ = _LateAttributes(
        __name__, dict.fromkeys(_MODULES, "") | _by_name(_HELD), missing=_AttributeOf(__name__)
    )
__all__ += [*_MODULES, *_by_name(_HELD)]


def __dir__() -> list[str]:
    return sorted(__all__)
