"""Write the public names of PyTorch for tests/test_left_out.py. Needs PyTorch; run for a new release of it:

python scripts/list_torch_names.py
"""

import importlib
import json
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

LIST = Path(__file__).parents[1] / "tests" / "data" / "torch_names.json"
SPACES = (
    *("", "Tensor", "accelerator", "autograd", "autograd.anomaly_mode", "autograd.forward_ad", "autograd.function"),
    *("autograd.functional", "autograd.grad_mode", "autograd.gradcheck", "autograd.graph", "autograd.profiler"),
    *(
        "autograd.variable",
        "backends",
        "cpu",
        "cuda",
        "cuda.nvtx",
        "cuda.profiler",
        "distributed",
        "fft",
        "func",
        "linalg",
        "masked",
    ),
    *("nn", "nn.functional", "nn.init", "nn.parameter", "nn.utils", "profiler", "random", "special", "testing"),
    *("utils", "utils.checkpoint", "utils.dlpack"),
)
# modules that libraries use and that their parents do not import
FURTHER = ("distributed.nn",)
# names that modules of PyTorch use themselves and do not document
HELPERS = {
    "TYPE_CHECKING",
    "torch",
    "common_args",
    "common_notes",
    "factory_common_args",
    "multi_dim_common",
    "factory_kwargs",
}
HELPERS |= {"handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"}
HELPERS |= {"reproducibility_notes", "sparse_support_notes", "tf32_notes", "log", "np", "m", "F", "fwAD"}


def names(space: str) -> Iterator[str]:
    """The names that a module or Tensor defines, without those that it only imports."""
    module = torch.Tensor if space == "Tensor" else importlib.import_module(f"torch.{space}".rstrip("."))
    for name in dir(module):
        if not (name.startswith("_") or name in HELPERS):
            value = getattr(module, name, None)
            imported = space not in ("", "Tensor") and value is getattr(torch, name, module)
            if not imported and (space == "Tensor" or home(value) in ("torch", "builtins")):
                yield name


def home(value: Any) -> str:
    """The package of a value. A constant has no package, and counts as PyTorch's."""
    where = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return (where or "torch").split(".")[0]


if __name__ == "__main__":
    for module in FURTHER:
        importlib.import_module(f"torch.{module}")
    by_space = {space: sorted(names(space)) for space in SPACES}
    release = torch.__version__.split("+")[0]
    LIST.write_text(json.dumps({"torch": release, "names": by_space}, indent=1) + "\n")
    print({space: len(listed) for space, listed in by_space.items()})
