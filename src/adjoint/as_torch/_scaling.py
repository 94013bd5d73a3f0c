"""GradScaler, which training programs for half precision use: it scales losses and leaves out steps that overflow."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from enum import Enum
from typing import Any

import adjoint

__all__ = ["GradScaler", "OptState", "cuda_scaler"]

_NO_SCALE = (
    "Attempted {} but {} is None.  This may indicate your script did not use scaler.scale(loss or outputs) earlier in "
    "the iteration."
)


class OptState(Enum):
    """What was done with an optimizer since the last update()."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class _Progress:
    """The state of one optimizer since the last update(), and whether its gradients overflowed."""

    def __init__(self) -> None:
        self.stage = OptState.READY
        self.overflow: bool | None = None


class GradScaler:
    """Scales losses, so that gradients of small numbers do not vanish in half precision.

    `scale(loss)` multiplies by the scale, `step(optimizer)` divides the gradients by it and calls the optimizer unless
    a gradient is infinite or NaN, and `update()` makes the scale smaller after such a step, or larger after
    `growth_interval` steps without one. Without `enabled` it passes everything through.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda" and not adjoint.cuda.is_available():
            warnings.warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
                stacklevel=2,
            )
            self._enabled = False
        if self._enabled:
            assert growth_factor > 1.0, "The growth factor must be > 1.0."
            assert backoff_factor < 1.0, "The backoff factor must be < 1.0."
            self._init_scale = init_scale
            self._scale: Any = None
            self._growth_factor = growth_factor
            self._backoff_factor = backoff_factor
            self._growth_interval = growth_interval
            self._growth_tracker = 0
            self._progress: dict[int, _Progress] = {}

    def _progress_of(self, optimizer: Any) -> _Progress:
        return self._progress.setdefault(id(optimizer), _Progress())

    def _check_scale(self, name: str) -> None:
        assert self._scale is not None, _NO_SCALE.format(name, "_scale")

    def scale(self, outputs: Any) -> Any:
        """A tensor, or an iterable of tensors, multiplied by the scale. Raises ValueError for other objects."""
        if not self._enabled:
            return outputs
        if self._scale is None:
            self._scale = adjoint.tensor(self._init_scale, dtype=adjoint.float32)
        if isinstance(outputs, adjoint.Tensor):
            return outputs * self._scale.to(outputs.device)
        if not isinstance(outputs, Iterable):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        members = map(self.scale, outputs)
        return type(outputs)(members) if isinstance(outputs, (list, tuple)) else members

    def _unscale(self, optimizer: Any) -> bool | None:
        """Divide the gradients by the scale; True if one of them is not finite, None if there is none."""
        factor = self._scale.double().reciprocal().float()
        overflow: bool | None = None
        with adjoint.no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    gradient = parameter.grad
                    if gradient is None:
                        continue
                    if gradient.dtype == adjoint.float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    values = gradient._values() if gradient.is_sparse else gradient
                    overflow = bool(overflow) or not bool(values.isfinite().all())
                    values.mul_(factor.to(values.dtype))
        return overflow

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, before they are clipped, say.

        Raises RuntimeError for a second time, or after step(); ValueError for gradients of half precision.
        """
        if not self._enabled:
            return
        self._check_scale("unscale_")
        progress = self._progress_of(optimizer)
        if progress.stage is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if progress.stage is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        progress.overflow = self._unscale(optimizer)
        progress.stage = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """The result of the optimizer's step; None where gradients overflowed, and the step is left out.

        Raises RuntimeError for a second step since the last update(), and for a closure.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale("step")
        progress = self._progress_of(optimizer)
        if progress.stage is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if progress.stage is OptState.READY:
            self.unscale_(optimizer)
        assert progress.overflow is not None, "No inf checks were recorded for this optimizer."
        result = None if progress.overflow else optimizer.step(*args, **kwargs)
        progress.stage = OptState.STEPPED
        return result

    def update(self, new_scale: Any = None) -> None:
        """Change the scale after the steps of an iteration, or set it to a new one."""
        if not self._enabled:
            return
        self._check_scale("update")
        if new_scale is not None:
            self._scale = adjoint.tensor(float(new_scale), dtype=adjoint.float32)
        else:
            overflows = [progress.overflow for progress in self._progress.values() if progress.overflow is not None]
            assert overflows, "No inf checks were recorded prior to update."
            self._follow(any(overflows))
        self._progress = {}

    def _follow(self, overflow: bool) -> None:
        """The scale after an iteration."""
        if overflow:
            self._growth_tracker = 0
            self._scale = self._scale * self._backoff_factor
            return
        self._growth_tracker += 1
        if self._growth_tracker == self._growth_interval:
            self._growth_tracker = 0
            larger = self._scale * self._growth_factor
            if math.isfinite(larger.item()):
                self._scale = larger

    def get_scale(self) -> float:
        """The scale; 1.0 if nothing is scaled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """The factor after `growth_interval` steps without an overflow."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor of growth."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """The factor after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """The number of steps without an overflow after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of steps after which the scale grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """True if losses are scaled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The scale and its settings, empty if nothing is scaled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the state of another scaler. Raises RuntimeError for that of one that scales nothing."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = float(state_dict["scale"])
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]


def cuda_scaler(*args: Any, **kwargs: Any) -> GradScaler:
    """The scaler for a CUDA device, under its older name."""
    return GradScaler("cuda", *args, **kwargs)
