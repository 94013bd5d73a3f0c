"""Forward mode under torch.autograd.forward_ad's names: dual levels, dual tensors.

A backward pass inside a level computes cotangents with tangents from duals: forward over reverse mode. The results of
`grad` have tangents. Unlike in torch, each `.grad` that `backward` stores has one, too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from adjoint.core.graph import TensorBase
from adjoint.core.modes.grad_mode import _GradMode, set_grad_enabled
from adjoint.core.modes.state import SET, change_modes, current
from adjoint.tensor.table import ops
from adjoint.tensor.tensor import Tensor
from adjoint.transforms.forward import around, dual, forget_level, new_level, opening, taken_apart, tangent_of

# torch counts levels from 0; here only level 0 exists, and -1 means no level. A mode of the thread holds the number of
# the open level among all derivations.
_LEVEL, _NONE = 0, -1


class UnpackedDualTensor(NamedTuple):
    """The two parts of a dual tensor, as `unpack_dual` returns them.

    primal: a tensor. tangent: a tensor of the same shape, or None without a tangent at this level.
    """

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Enter a new forward grad level; returns its number, 0.

    Raises RuntimeError if one is open in this thread: this interface does not nest (`adjoint.func.jvp` does).
    """
    change_modes(_level_changes())
    return _LEVEL


def _level_changes() -> Any:
    """The changes that open a level."""
    if current().public_level != _NONE:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    number = new_level()
    return *opening(number), (SET, "public_level", number)


def exit_dual_level(*, level: int | None = None) -> None:
    """Leave the forward grad level and drop its tangents.

    Raises RuntimeError if no level is open, or if the given level is not the last one entered.
    """
    state = current()
    if state.public_level == _NONE:
        raise RuntimeError("Dual level must be a positive number.")
    if level not in (None, _LEVEL):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    number = state.public_level
    if state.dual_stack[-1:] != (number,):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    fewer = tuple([other for other in state.open_levels if other != number])
    change_modes(
        (
            (SET, "dual_stack", state.dual_stack[:-1]),
            (SET, "open_levels", fewer),
            (SET, "public_level", _NONE),
        )
    )
    forget_level(number)


class dual_level(_GradMode):
    """The level for the duration of a with block, or of a call of a decorated function.

    All forward-mode computation happens inside one.

    >>> import adjoint
    >>> from adjoint.autograd import forward_ad
    >>> x, t = adjoint.tensor([1.0, 2.0]), adjoint.tensor([1.0, 0.0])
    >>> with forward_ad.dual_level():
    ...     y = forward_ad.make_dual(x, t) ** 2
    ...     forward_ad.unpack_dual(y).tangent
    tensor([2., 0.])
    """

    def _changes(self) -> Any:
        changes = _level_changes()
        self._number = changes[0][2]
        return changes

    def _entry_value(self) -> int:
        return _LEVEL

    def _after_exit(self, error: BaseException | None) -> None:
        forget_level(self._number)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of `tensor` with `tangent` as its forward gradient.

    Args:
        tensor: the primal, floating point or complex.
        tangent: of the same shape, floating point or complex.

    Raises:
        RuntimeError: no level is open, shapes differ, or the tensor has a tangent already.
        ValueError: a tensor of whole numbers, or a complex tangent for a real primal.

    >>> import adjoint
    >>> with adjoint.autograd.forward_ad.dual_level():
    ...     x = adjoint.autograd.forward_ad.make_dual(adjoint.tensor(2.0), adjoint.tensor(1.0))
    ...     adjoint.autograd.forward_ad.unpack_dual(x * x).tangent
    tensor(4.)
    """
    state = current()
    if _asked_for(level) < _LEVEL:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    if state.public_level == _NONE:
        raise RuntimeError(
            "Trying to access a forward AD level with an invalid index. This index was either not created or is "
            "already deleted."
        )
    if level not in (None, _LEVEL):
        raise RuntimeError("Invalid level given to _make_dual")
    return dual(tensor, tangent, state.public_level)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The primal and the tangent of a tensor.

    Inside a level the primal is a view, and the tangent is None if there is none. Outside of all levels, the tensor
    itself is the primal.

    >>> import adjoint
    >>> with adjoint.autograd.forward_ad.dual_level():
    ...     x = adjoint.autograd.forward_ad.make_dual(adjoint.tensor(2.0), adjoint.tensor(1.0))
    ...     adjoint.autograd.forward_ad.unpack_dual(x.sin()).primal
    tensor(0.9093)
    """
    state = current()
    number = state.public_level
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    if _asked_for(level) < _LEVEL:
        return UnpackedDualTensor(tensor, None)
    # inside of a custom function's forward, levels are hidden
    if number == _NONE or number not in state.dual_stack:
        return UnpackedDualTensor(ops.view(tensor, tensor._array.shape), None)
    if level not in (None, _LEVEL) and tangent_of(tensor, number) is not None:
        raise RuntimeError("Invalid level given to _fw_primal")
    return UnpackedDualTensor(*taken_apart(tensor, number, *around(number)))


def _asked_for(level: int | None) -> int:
    """The number of a level in torch's count: by default the open level, -1 if none is open."""
    if level is not None:
        return level
    return _NONE if current().public_level == _NONE else _LEVEL


def is_fwd_grad_enabled() -> bool:
    """True unless forward mode is switched off in this thread.

    >>> from adjoint.autograd import forward_ad
    >>> with forward_ad.set_fwd_grad_enabled(False):
    ...     forward_ad.is_fwd_grad_enabled()
    False
    """
    return not current().forward_off


class set_fwd_grad_enabled(set_grad_enabled):
    """Switches forward mode on or off: at once when called, undone at the end of a with block.

    While it is off, no tensor has a tangent.

    >>> from adjoint.autograd import forward_ad
    >>> import adjoint
    >>> x = adjoint.ones(2)
    >>> with forward_ad.dual_level(), forward_ad.set_fwd_grad_enabled(False):
    ...     forward_ad.unpack_dual(forward_ad.make_dual(x, x)).tangent is None
    True
    """

    _mode = "forward_off"

    @staticmethod
    def _value(enabled: bool) -> bool:
        return not enabled
