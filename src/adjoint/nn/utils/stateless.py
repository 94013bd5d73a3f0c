"""functional_call under the name of its older module, torch.nn.utils.stateless."""

from __future__ import annotations

import warnings
from typing import Any

from adjoint.arrays.size import printed
from adjoint.nn.modules.module import Module
from adjoint.transforms import stateless

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The result of a module with other parameters and buffers; deprecated, use `adjoint.func.functional_call`.

    >>> import adjoint, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", FutureWarning)
    ...     adjoint.nn.utils.stateless.functional_call(adjoint.nn.Identity(), {}, adjoint.ones(1))
    tensor([1.])
    """
    warnings.warn(
        f"`{printed.module}.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in "
        f"a future version. Please use `{printed.module}.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return stateless.functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )
