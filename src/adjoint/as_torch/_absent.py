"""Names of torch that adjoint leaves out, for programs that import them without need.

`import torch.fx` and `from torch.nn import LazyLinear` succeed under the name torch: many libraries import such names
for annotations, for isinstance, or for functions that a program does not call. The result is a class without
instances. So isinstance is False, which is right, and a call raises an error with the reason. The same holds for
attributes that are classes, dtypes and modules, such as torch.SymInt and torch.fx. `hasattr` of a function that was not
imported is False, so that programs which ask for it see that it is absent.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from adjoint.arrays import dtypes
from adjoint.as_torch._private import never
from adjoint.tensor.older.left_out import LEFT_OUT, Group

__all__ = ["Absent", "absent", "group_of", "is_absent"]

#: Modules that torch does not import by itself, and a name that is left out for the same reason.
_LIKE = {
    "_dynamo.OptimizedModule": ("", "fx"),
    "_dynamo._trace_wrapped_higher_order_op": ("", "fx"),
    "_dynamo.eval_frame": ("", "fx"),
    "_subclasses": ("", "library"),
    "_library": ("", "library"),
    "distributed._composable": ("distributed", "rpc"),
    "distributed._tensor": ("distributed", "rpc"),
    "distributed.checkpoint": ("distributed", "rpc"),
    "distributed.elastic": ("distributed", "rpc"),
    "distributed.fsdp": ("distributed", "rpc"),
    "distributed.optim": ("distributed", "rpc"),
    "distributed.tensor": ("distributed", "rpc"),
    "nn.parallel.distributed": ("nn", "DataParallel"),
    "nn.parallel.DistributedDataParallel": ("nn", "DataParallel"),
    "utils.cpp_extension": ("", "cpp"),
    "utils.data.DistributedSampler": ("distributed", "rpc"),
    "utils.data.dataloader._BaseDataLoaderIter": ("distributed", "rpc"),
    "utils.data.dataloader._MultiProcessingDataLoaderIter": ("distributed", "rpc"),
    "utils.data.distributed": ("distributed", "rpc"),
}
#: Modules that `import torch` imports: programs use them as its attributes.
_MODULES = frozenset(("ao", "export", "futures", "fx", "hub", "monitor", "nested", "package"))
#: The names of classes and dtypes.
_TYPE = re.compile("[A-Z]|float[48]_|complex32|chalf|q?u?int[1-8]|bits")
#: Functions by which a program asks for a feature; the answer is no.
_QUESTIONS = frozenset(("is_available", "is_enabled", "is_initialized"))


def group_of(name: str) -> Group | None:
    """The group of names of `left_out` with a name, such as "torch.fx.Node", or with what contains it; else None."""
    parts = name.replace("torch._C.", "torch.").split(".")[1:]
    for count in range(1, len(parts) + 1):
        path = ".".join(parts[:count])
        space, _, last = path.rpartition(".")
        group = LEFT_OUT.get(_LIKE.get(path, (space, last)))
        if group is not None:
            return group
    return None


def is_absent(name: str) -> bool:
    """Whether the attribute of a module is an absent class: that of a class, a dtype, or a module that is left out."""
    path = name.partition(".")[2].removeprefix("_C.")
    space, _, last = path.rpartition(".")
    return path in _LIKE or path in _MODULES or ((space, last) in LEFT_OUT and _TYPE.match(last) is not None)


class Absent(type):
    """The type of names that are left out: classes without instances, whose attributes are left out, too."""

    def __call__(cls, *arguments: Any, **options: Any) -> NoReturn:
        name = next(vars(base)["_name"] for base in cls.__mro__ if "_name" in vars(base))
        group = group_of(name)
        assert group is not None
        raise NotImplementedError(
            f"{name} is left out of adjoint on purpose: {group.reason}; instead, use {group.instead}"
        )

    def __getattr__(cls, name: str) -> Any:
        if "_name" not in vars(cls) or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}", name=name, obj=cls)
        value = never if name in _QUESTIONS else absent(f"{cls._name}.{name}")
        setattr(cls, name, value)
        return value

    def __getitem__(cls, parameters: Any) -> Absent:
        return cls

    def __bool__(cls) -> NoReturn:
        cls()

    def __repr__(cls) -> str:
        return f"<{vars(cls).get('_name', cls.__qualname__)}: left out of adjoint>"


def finfo(type: Any = None) -> Any:
    """adjoint.finfo; for a dtype that is left out, the limits that ml_dtypes knows."""
    if not isinstance(type, Absent):
        return dtypes.finfo(type)
    import ml_dtypes

    return ml_dtypes.finfo(getattr(ml_dtypes, type.__name__))  # type: ignore[no-untyped-call]


def absent(name: str) -> Absent:
    """The class for a name of torch that is left out."""
    module, _, last = name.rpartition(".")
    return Absent(last, (), {"_name": name, "__module__": module, "__path__": []})
