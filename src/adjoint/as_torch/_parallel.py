"""DataParallel, a base class in libraries: it runs the module on one device."""

from __future__ import annotations

from typing import Any

from adjoint import nn

__all__ = ["DataParallel"]


class DataParallel(nn.Module):
    """A wrapper that calls its module. Raises RuntimeError for more than one device.

    The names of parameters begin with "module.", as in torch.
    """

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        if device_ids is not None and len(device_ids) > 1:
            raise RuntimeError(f"DataParallel runs on one device, but got device_ids={device_ids}")
        self.module, self.output_device, self.dim = module, output_device, dim
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The result of the module."""
        return self.module(*inputs, **kwargs)
