"""adjoint: torch.autograd for NumPy arrays.

>>> import adjoint
>>> x = adjoint.tensor([1.0, 2.0, 3.0], requires_grad=True)
>>> y = (x**2).sum()
>>> y.backward()
>>> x.grad
tensor([2., 4., 6.])
"""

import typing as _typing
from collections.abc import Callable as _Callable
from importlib import import_module as _import_module
from math import e, inf, nan, pi
from typing import Any as _Any

from adjoint import runtime
from adjoint.arrays.determinism import (
    are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode,
    is_deterministic_algorithms_warn_only_enabled,
    set_deterministic_debug_mode,
    use_deterministic_algorithms,
)
from adjoint.arrays.dtypes import (
    ALIASES as _ALIASES,
)
from adjoint.arrays.dtypes import (
    bfloat16,
    can_cast,
    complex64,
    complex128,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from adjoint.arrays.layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    strided,
)
from adjoint.arrays.size import Size, device
from adjoint.core.modes.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled
from adjoint.core.modes.grad_mode import (
    enable_grad,
    inference_mode,
    is_inference,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from adjoint.core.modes.random import Generator, initial_seed, manual_seed, seed
from adjoint.core.modes.state import is_grad_enabled
from adjoint.functions.binding import functions as _functions
from adjoint.interop import registration as _registration
from adjoint.interop.dlpack import from_dlpack, to_dlpack
from adjoint.runtime.once import is_warn_always_enabled, set_warn_always
from adjoint.runtime.threads import get_num_threads, set_num_threads
from adjoint.tensor.default_device import PUBLIC as _made
from adjoint.tensor.default_device import (
    get_default_device,
    get_device,
    get_float32_matmul_precision,
    set_default_device,
    set_float32_matmul_precision,
)
from adjoint.tensor.formatting import set_printoptions
from adjoint.tensor.memory.files import load, save
from adjoint.tensor.memory.storage import TypedStorage, UntypedStorage, is_storage
from adjoint.tensor.older.left_out import AttributeOf as _AttributeOf
from adjoint.tensor.protocol_hooks import protocols as _protocols
from adjoint.tensor.tensor import Tensor
from adjoint.tensor.types import TENSOR_TYPES as _TENSOR_TYPES
from adjoint.tensor.types import set_default_tensor_type
from adjoint.transforms.batching.vmap import vmap
from adjoint.transforms.passing import Values as _Values

from . import autograd, fft, linalg, masked, memory, nn, random, signal, special

if _typing.TYPE_CHECKING:
    from . import accelerator, backends, cpu, cuda, func, mps, mtia, profiler, return_types, testing, utils, xpu
    from .autograd import custom
    from .func import grad, hessian, jacobian, jvp, value_and_grad, vjp
    from .interop.choice import safe_where

__version__ = "0.1.0.dev0"

newaxis = None

_public = _functions[""] | _made | _ALIASES | _TENSOR_TYPES
globals().update(_public)
runtime.check_switches()


def _load_protocols() -> dict[str, _Callable[..., _Any]]:
    from adjoint.interop.protocols import answers

    return answers()


def _load_values() -> dict[str, _Callable[..., _Any]]:
    # the namespace of arrays, which enters itself there
    from . import numpy as _numpy
    from .interop.numpy_array.passing import answers

    return answers()


_protocols.load = _load_protocols
_Values.load = staticmethod(_load_values)
_registration.register_tensors()

# imported when they are first used, which spares time at import
_LATER = frozenset(
    ("accelerator", "backends", "compat", "cpu", "cuda", "distributed", "func", "implicit", "integrate", "mps", "mtia")
    + ("numpy", "optimize", "profiler", "return_types", "scipy", "testing", "utils", "xpu")
)
# names of other modules that are public here, too, by the module that is imported when one is first used
_MADE_LATER = {
    "custom": "adjoint.autograd",
    "safe_where": "adjoint.interop.choice",
    **dict.fromkeys(("grad", "hessian", "jacobian", "jvp", "value_and_grad", "vjp"), "adjoint.func"),
}
# the floors behind the public names; `tensor` is public as a function
_FLOORS = frozenset(
    ("arrays", "core", "functions", "interop", "program", "rules", "runtime", "solvers", "tools", "transforms")
)
__all__ = sorted({name for name in globals() if not name.startswith("_")} - _FLOORS | _LATER | _MADE_LATER.keys())


def __dir__() -> list[str]:
    return sorted([*__all__, "__doc__", "__version__"])


def __getattr__(name: str) -> object:
    if name in _LATER:
        return _import_module(f"adjoint.{name}")
    if name in _MADE_LATER:
        return globals().setdefault(name, getattr(_import_module(_MADE_LATER[name]), name))
    return _made_when_asked_for(name)


def _out_of_memory_error() -> object:
    from adjoint import cuda

    return cuda.OutOfMemoryError


# the default generator is created at first use
_made_when_asked_for = _AttributeOf(
    "adjoint", default_generator=lambda: random.default_generator, OutOfMemoryError=_out_of_memory_error
)
