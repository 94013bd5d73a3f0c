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
from math import e, inf, nan, pi
from typing import Any as _Any

from adjoint import runtime
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
from adjoint.arrays.size import Size, device
from adjoint.core.modes.grad_mode import (
    enable_grad,
    inference_mode,
    is_inference,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from adjoint.core.modes.state import is_grad_enabled
from adjoint.functions.binding import functions as _functions
from adjoint.interop import registration as _registration
from adjoint.runtime.lazy import LateAttributes as _LateAttributes
from adjoint.runtime.lazy import by_name as _by_name
from adjoint.runtime.threads import get_num_threads, set_num_threads
from adjoint.tensor.default_device import PUBLIC as _creation
from adjoint.tensor.older.absent import AttributeOf as _AttributeOf
from adjoint.tensor.protocol_hooks import protocols as _protocols
from adjoint.tensor.protocol_hooks import values as _values
from adjoint.tensor.tensor import Tensor

if _typing.TYPE_CHECKING:
    from . import (
        accelerator,
        autograd,
        backends,
        cpu,
        cuda,
        fft,
        func,
        jit,
        linalg,
        masked,
        memory,
        mps,
        mtia,
        nn,
        optim,
        overrides,
        profiler,
        random,
        return_types,
        signal,
        sparse,
        special,
        testing,
        utils,
        xpu,
    )
    from .autograd import custom
    from .compiler import compile
    from .func import grad, hessian, jacobian, jvp, value_and_grad, vjp
    from .interop.choice import safe_where
    from .tools.configuration import show_config
    from .tools.explanation import explain

__version__ = "0.1.0"

newaxis = None

globals().update(_ALIASES)
runtime.check_switches()


def _load_protocols() -> dict[str, _Callable[..., _Any]]:
    from adjoint.interop.protocols import answers

    return answers()


def _load_values() -> dict[str, _Callable[..., _Any]]:
    # the namespace of arrays, which enters itself there
    from . import numpy as _numpy
    from .interop.numpy_array.passing import answers

    return answers() | {"compile": _compile}


def _compile(function: _Callable[..., _Any]) -> _Callable[..., _Any]:
    from .compiler import compile

    return compile(function)


_protocols.load = _load_protocols
_values.load = _load_values
_registration.register_tensors()

#: Public modules, which are imported when they are first used.
_MODULES = """
    accelerator as_torch autograd backends compat compiler cpu cuda distributed distributions fft func implicit
    integrate jit linalg masked memory mps mtia nn numpy optim optimize overrides profiler quasirandom random
    return_types scipy signal sparse special testing utils xpu
"""
#: Names that are public here, by the module that holds them.
_HELD = {
    "adjoint.arrays.determinism": """
        are_deterministic_algorithms_enabled get_deterministic_debug_mode is_deterministic_algorithms_warn_only_enabled
        set_deterministic_debug_mode use_deterministic_algorithms
    """,
    "adjoint.arrays.layout": """
        channels_last channels_last_3d contiguous_format layout memory_format preserve_format sparse_bsc sparse_bsr
        sparse_coo sparse_csc sparse_csr strided
    """,
    "adjoint.autograd": "custom",
    "adjoint.compiler": "compile",
    "adjoint.core.modes.anomaly": "is_anomaly_check_nan_enabled is_anomaly_enabled",
    "adjoint.core.modes.random": "Generator initial_seed manual_seed seed",
    "adjoint.func": "grad hessian jacobian jvp value_and_grad vjp",
    "adjoint.interop.choice": "safe_where",
    "adjoint.interop.dlpack": "from_dlpack to_dlpack",
    "adjoint.runtime.once": "is_warn_always_enabled set_warn_always",
    "adjoint.tensor.default_device": """
        get_default_device get_device get_float32_matmul_precision set_default_device set_float32_matmul_precision
    """,
    "adjoint.tensor.formatting": "set_printoptions",
    "adjoint.tensor.memory.files": "load save",
    "adjoint.tensor.memory.storage": "TypedStorage UntypedStorage is_storage",
    "adjoint.tensor.types": """
        BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor
        ShortTensor set_default_tensor_type
    """,
    "adjoint.tools.configuration": "show_config",
    "adjoint.tools.explanation": "explain",
    "adjoint.transforms.batching.vmap": "vmap",
}


def _out_of_memory_error() -> object:
    from adjoint import cuda

    return cuda.OutOfMemoryError


def _default_generator() -> object:
    # it is created at first use
    from adjoint import random

    return random.default_generator


_made_when_asked_for = _AttributeOf(
    "adjoint", default_generator=_default_generator, OutOfMemoryError=_out_of_memory_error
)
__getattr__ = _LateAttributes(
    __name__, dict.fromkeys(_MODULES.split(), "") | _by_name(_HELD), (_creation, _functions[""]), _made_when_asked_for
)
# the package `adjoint.tensor` has the name of the function
tensor = _creation["tensor"]
# the floors behind the public names
_FLOORS = frozenset(
    ("arrays", "compilation", "core", "functions", "interop", "program", "rules", "runtime", "solvers", "tools")
    + ("transforms",)
)
__all__ = sorted({name for name in {*globals(), *__getattr__.names()} if not name.startswith("_")} - _FLOORS)


def __dir__() -> list[str]:
    return sorted([*__all__, "__doc__", "__version__"])
