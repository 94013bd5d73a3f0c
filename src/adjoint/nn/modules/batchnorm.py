"""Batch normalization, and its base class, which instance normalization shares."""

from __future__ import annotations

from typing import Any

from adjoint.arrays.size import type_name as _type_name
from adjoint.core.modes.grad_mode import no_grad
from adjoint.nn import functional as F
from adjoint.nn import init
from adjoint.nn.modules.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.tensor import creation
from adjoint.tensor.tensor import Tensor


class _NormBase(Module):
    """Normalization of channels: a factor and an offset for each channel, and running statistics as buffers."""

    _version = 2
    weight: Tensor | None
    bias: Tensor | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        for name, there in (("weight", affine), ("bias", affine and bias)):
            values = creation.empty(num_features, device=device, dtype=dtype) if there else None
            self.register_parameter(name, None if values is None else Parameter(values))
        tracked: dict[str, Any] = dict.fromkeys(("running_mean", "running_var", "num_batches_tracked"))
        if track_running_stats:
            tracked["running_mean"] = creation.zeros(num_features, device=device, dtype=dtype)
            tracked["running_var"] = creation.ones(num_features, device=device, dtype=dtype)
            tracked["num_batches_tracked"] = creation.tensor(0)
        for name, buffer in tracked.items():
            self.register_buffer(name, buffer)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Reset the running statistics: mean 0, variance 1, no batches."""
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any) -> None:
        key = prefix + "num_batches_tracked"
        # version 1 of the state has no number of batches
        if local_metadata.get("version", 1) < 2 and self.track_running_stats and key not in state_dict:
            count = self.num_batches_tracked
            state_dict[key] = creation.tensor(0) if count is None else count
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    """Batch normalization of inputs with any number of axes."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            with no_grad():
                self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / float(self.num_batches_tracked)
        of_batch = self.training or (self.running_mean is None and self.running_var is None)
        uses_statistics = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if uses_statistics else None,
            self.running_var if uses_statistics else None,
            self.weight,
            self.bias,
            of_batch,
            momentum,
            self.eps,
        )


def _check_axes(input: Tensor, *numbers: int) -> None:
    """Raise ValueError unless the input has one of these numbers of axes."""
    if input.ndim not in numbers:
        expected = " or ".join(f"{number}D" for number in numbers)
        raise ValueError(f"expected {expected} input (got {input.ndim}D input)")


class BatchNorm1d(_BatchNorm):
    """Normalize each channel of a batch (N, C) or (N, C, L) to mean 0 and variance 1, then scale and shift it.

    The output is `normalized * weight + bias`, of the input's shape. Training uses the statistics of the batch, and
    updates the running statistics by momentum; with momentum=None these are the mean over all batches. Evaluation
    uses the running statistics.

    Raises ValueError for other numbers of axes.

    >>> import adjoint
    >>> adjoint.nn.BatchNorm1d(1)(adjoint.tensor([[1.0], [3.0]])).detach().round(decimals=3)
    tensor([[-1.],
            [ 1.]])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        _check_axes(input, 2, 3)


class BatchNorm2d(_BatchNorm):
    """BatchNorm1d for images (N, C, H, W). Raises ValueError for other numbers of axes.

    >>> import adjoint
    >>> adjoint.nn.BatchNorm2d(2).eval()(adjoint.ones(1, 2, 3, 3)).shape
    adjoint.Size([1, 2, 3, 3])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        _check_axes(input, 4)


class BatchNorm3d(_BatchNorm):
    """BatchNorm1d for volumes (N, C, D, H, W). Raises ValueError for other numbers of axes.

    >>> import adjoint
    >>> adjoint.nn.BatchNorm3d(2).eval()(adjoint.ones(1, 2, 3, 3, 3)).shape
    adjoint.Size([1, 2, 3, 3, 3])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        _check_axes(input, 5)


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Remove the running statistics of all batch norms of a module; returns the module.

    Function transformations need this, since they cannot change buffers in place. Raises TypeError unless `root` is a
    module.

    >>> from adjoint import func, nn
    >>> func.replace_all_batch_norm_modules_(nn.Sequential(nn.BatchNorm1d(2)))[0].running_mean is None
    True
    """
    if not isinstance(root, Module):
        raise TypeError(f"{_type_name(root)} is not a Module subclass")
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
