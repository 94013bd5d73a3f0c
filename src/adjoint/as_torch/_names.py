"""The names of torch with another location in adjoint, and the version that torch reports.

This file has public names and modules; `_private.py` has private names.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from adjoint.as_torch._foreach import FOREACH
from adjoint.as_torch._private import MODULES, NAMES

#: The release of PyTorch that adjoint follows; libraries check it for features.
VERSION = "2.13.0"

_HERE = "adjoint.as_torch._private"

#: Modules of torch without a corresponding file: the module with their names, or "" for names from the tables only. A
#: star stands for the lower-case name of a class in that module.
_MIRRORS = {
    "torch.autograd.gradcheck": "adjoint.autograd.gradcheck",
    "torch.distributions.*": "adjoint.distributions",
    "torch.distributions.exp_family": "adjoint.distributions",
    "torch.functional": "adjoint",
    "torch.library": "adjoint.as_torch._library",
    "torch.multiprocessing": "multiprocessing",
    "torch.nn.modules": "adjoint.nn",
    "torch.nn.parallel": "",
    "torch.nn.modules.*": "adjoint.nn",
    "torch.nn.utils.clip_grad": "adjoint.nn.utils",
    "torch.nn.utils.convert_parameters": "adjoint.nn.utils",
    "torch.nn.utils.spectral_norm": "adjoint.nn.utils.hooked",
    "torch.nn.utils.weight_norm": "adjoint.nn.utils.hooked",
    "torch.optim.*": "adjoint.optim",
    "torch.serialization": "adjoint",
    "torch.storage": "adjoint",
    "torch.torch_version": "",
    "torch.types": "",
    "torch.utils.data._utils": "",
    "torch.utils.data._utils.collate": "adjoint.utils.data",
    "torch.utils.flop_counter": "adjoint.as_torch._flops",
    "torch.version": "",
    **dict.fromkeys(MODULES, ""),
}

#: Public names by module of torch, and their locations: "module:attribute", or a module.
_PUBLIC = {
    "torch": {
        "__config__": "adjoint.as_torch._config",
        "__version__": f"{_HERE}:version",
        "ops": "adjoint.as_torch._library:ops",
    },
    "torch.nn": {"DataParallel": "adjoint.as_torch._parallel:DataParallel"},
    "torch.nn.parallel": {"DataParallel": "adjoint.as_torch._parallel:DataParallel"},
    "torch.torch_version": {"TorchVersion": f"{_HERE}:TorchVersion", "__version__": f"{_HERE}:version"},
    "torch.types": {"Number": f"{_HERE}:Number", "Device": f"{_HERE}:Device", "_size": f"{_HERE}:Sizes"},
    "torch.version": {
        "__version__": f"{_HERE}:version",
        **dict.fromkeys(("cuda", "hip", "xpu", "git_version"), f"{_HERE}:NOTHING"),
        "debug": f"{_HERE}:NO",
    },
}

#: Packages of adjoint for which torch has no module, or a function with this name.
_INNER = frozenset(
    ("as_torch", "arrays", "compilation", "core", "demo", "functions", "interop", "program", "rules", "runtime")
    + ("solvers", "tensor", "tools", "transforms", "numpy", "scipy", "compat")
)


def own_names(module: str) -> dict[str, str]:
    """The names of a module of torch that the corresponding module lacks, and their locations."""
    lists = {name: f"adjoint.as_torch._foreach:{name}" for name in FOREACH} if module == "torch" else {}
    return _PUBLIC.get(module, {}) | NAMES.get(module, {}) | lists


def source_of(module: str) -> str | None:
    """The module of adjoint for a module of torch, "" without one, or None if torch.X does not exist here."""
    root, _, rest = module.partition(".")
    if module == "functorch":
        return "adjoint.as_torch._functorch"
    if root != "torch":
        return None
    if not rest:
        return "adjoint"
    if module in _MIRRORS:
        return _MIRRORS[module]
    if rest.partition(".")[0] in _INNER:
        return None
    if _exists(f"adjoint.{rest}"):
        return f"adjoint.{rest}"
    parent, _, name = module.rpartition(".")
    holder = _MIRRORS.get(f"{parent}.*")
    return holder if holder and _exists(holder) and _is_of_class(name, import_module(holder)) else None


def _is_of_class(name: str, holder: ModuleType) -> bool:
    """Whether a name is the lower-case name of a class in a module."""
    return name.replace("_", "").lower() in {each.lower() for each in dir(holder)}


def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        # a parent is not a package
        return False
