"""Weights that a hook normalizes before each forward pass: the older forms of the functions in parametrizations."""

from __future__ import annotations

import warnings
from typing import Any

from adjoint.arrays.size import printed
from adjoint.core.modes.grad_mode import no_grad
from adjoint.core.operations.arguments import check_functions
from adjoint.nn.modules.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.nn.utils.parametrizations import _SpectralNorm, norm_except

__all__ = ["remove_spectral_norm", "remove_weight_norm", "skip_init", "spectral_norm", "weight_norm"]


class _Hook:
    """Computes and sets a weight before each forward pass, from tensors with suffixes in their names."""

    kind = ""

    def __init__(self, name: str) -> None:
        self.name = name

    def compute(self, module: Module) -> Any:
        """The new weight."""
        raise NotImplementedError

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute(module))

    def part(self, module: Module, end: str) -> Any:
        """The tensor whose name has this suffix."""
        return getattr(module, f"{self.name}_{end}")

    @classmethod
    def check_new(cls, module: Module, name: str) -> None:
        """Raise RuntimeError if a hook of this class computes the weight already."""
        for hook in module._forward_pre_hooks.values():
            if type(hook) is cls and hook.name == name:
                raise RuntimeError(f"Cannot register two {cls.kind} hooks on the same parameter {name}")

    def start(self, module: Module) -> None:
        """Replace the parameter by the computed weight, and register the hook."""
        setattr(module, self.name, self.compute(module).detach())
        module.register_forward_pre_hook(self)


class WeightNorm(_Hook):
    """The hook of weight_norm()."""

    kind = "weight_norm"

    def __init__(self, name: str, dim: int | None) -> None:
        super().__init__(name)
        self.dim = -1 if dim is None else dim

    def compute(self, module: Module) -> Any:
        g, v = self.part(module, "g"), self.part(module, "v")
        return v * (g / norm_except(v, self.dim))


class SpectralNorm(_Hook):
    """The hook of spectral_norm()."""

    kind = "spectral_norm"

    def __init__(self, name: str, norm: _SpectralNorm) -> None:
        super().__init__(name)
        self.norm = norm

    def compute(self, module: Module) -> Any:
        # the singular vectors are buffers of the module, not of the norm
        self.norm._u, self.norm._v = self.part(module, "u"), self.part(module, "v")
        return self.norm.train(module.training)(self.part(module, "orig"))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Compute a weight `g * v / norm(v)` from two parameters, name_g and name_v, before each forward pass.

    The norm is over all axes except `dim`, or over all axes for None. It returns the module.

    >>> from adjoint import nn
    >>> [name for name, _ in nn.utils.weight_norm(nn.Linear(2, 3)).named_parameters()]
    ['bias', 'weight_g', 'weight_v']
    """
    warnings.warn(
        f"`{printed.module}.nn.utils.weight_norm` is deprecated in favor of "
        f"`{printed.module}.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm.check_new(module, name)
    hook, weight = WeightNorm(name, dim), getattr(module, name)
    delattr(module, name)
    module.register_parameter(f"{name}_g", Parameter(norm_except(weight, hook.dim).detach()))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    hook.start(module)
    return module


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value before each forward pass; the parameter is name_orig.

    It returns the module. Raises ValueError for n_power_iterations below 1.

    >>> from adjoint import nn
    >>> [name for name, _ in nn.utils.spectral_norm(nn.Linear(2, 3)).named_parameters()]
    ['bias', 'weight_orig']
    """
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    SpectralNorm.check_new(module, name)
    weight = getattr(module, name)
    norm = _SpectralNorm(weight, n_power_iterations, dim, eps)
    delattr(module, name)
    module.register_parameter(f"{name}_orig", weight)
    module.register_buffer(f"{name}_u", norm._u)
    module.register_buffer(f"{name}_v", norm._v)
    SpectralNorm(name, norm).start(module)
    return module


def _remove(module: Module, name: str, cls: type[_Hook], ends: tuple[str, ...]) -> Module:
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, cls) and hook.name == name:
            with no_grad():
                weight = hook.compute(module)
            for part in (name, *(f"{name}_{end}" for end in ends)):
                delattr(module, part)
            module.register_parameter(name, Parameter(weight.detach()))
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"{cls.kind} of '{name}' not found in {module}")


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make a weight of weight_norm() a parameter again; returns the module. Raises ValueError for other weights.

    >>> from adjoint import nn
    >>> [name for name, _ in nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(2, 3))).named_parameters()]
    ['bias', 'weight']
    """
    return _remove(module, name, WeightNorm, ("g", "v"))


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make a weight of spectral_norm() a parameter again; returns the module. Raises ValueError for other weights.

    >>> from adjoint import nn
    >>> [name for name, _ in nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(2, 3))).named_parameters()]
    ['bias', 'weight']
    """
    return _remove(module, name, SpectralNorm, ("u", "v", "orig"))


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """A module with uninitialized parameters. Here it takes as long as an initialized module.

    >>> from adjoint import nn
    >>> nn.utils.skip_init(nn.Linear, 2, 3)
    Linear(in_features=2, out_features=3, bias=True)
    """
    return module_cls(*args, **kwargs).to_empty(device=kwargs.get("device", "cpu"))


check_functions(globals(), __all__)
