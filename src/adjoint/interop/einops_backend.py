"""The backend that einops calls on Tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from adjoint.core.graph import new_tensor
from adjoint.interop.operands import is_tensor
from adjoint.interop.table import FUNCTIONS

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def backend_class(base: Any) -> Any:
    """The class of the backend, which einops finds among the subclasses of its own."""

    class TensorBackend(base):  # type: ignore[misc]
        """einops over Tensors."""

        framework_name = "adjoint"

        def is_appropriate_type(self, tensor: object) -> bool:
            return is_tensor(tensor)

        def from_numpy(self, x: Any) -> Tensor:
            return new_tensor(x)

        def to_numpy(self, x: Tensor) -> Any:
            return x.detach().numpy()

        def arange(self, start: int, stop: int) -> Tensor:
            return FUNCTIONS["arange"](start, stop)

        def shape(self, x: Tensor) -> tuple[int, ...]:
            return tuple(x.shape)

        def transpose(self, x: Tensor, axes: Sequence[int]) -> Tensor:
            return x.permute(tuple(axes))

        def reduce(self, x: Tensor, operation: str, axes: Sequence[int]) -> Tensor:
            return FUNCTIONS[operation](x, axis=tuple(axes))

        def stack_on_zeroth_dimension(self, tensors: list[Tensor]) -> Tensor:
            return FUNCTIONS["stack"](tensors)

        def add_axis(self, x: Tensor, new_position: int) -> Tensor:
            return x.unsqueeze(new_position)

        def tile(self, x: Tensor, repeats: Sequence[int]) -> Tensor:
            return FUNCTIONS["tile"](x, tuple(repeats))

        def concat(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
            return FUNCTIONS["concatenate"](tensors, axis)

        def is_float_type(self, x: Tensor) -> bool:
            return bool(x.is_floating_point() or x.is_complex())

        def einsum(self, pattern: str, *x: Tensor) -> Tensor:
            return FUNCTIONS["einsum"](pattern, *x)

    return TensorBackend
