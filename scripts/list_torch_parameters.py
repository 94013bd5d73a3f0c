"""Write the parameter names of PyTorch's functions and classes for tests/test_parameters.py.

Needs PyTorch; run for a new release of it: python scripts/list_torch_parameters.py
"""

import importlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

LIST = Path(__file__).parents[1] / "tests" / "data" / "torch_parameters.json"
SPACES = (
    *("", "autograd", "autograd.forward_ad", "autograd.function", "autograd.functional", "autograd.grad_mode"),
    *("autograd.gradcheck", "autograd.graph", "autograd.profiler", "compiler", "distributions"),
    *("distributions.constraints", "distributions.kl", "distributions.transforms", "func", "nn", "nn.functional"),
    *("nn.init", "nn.parameter", "nn.utils", "nn.utils.parametrizations", "nn.utils.parametrize", "nn.utils.prune"),
    *("nn.utils.rnn", "nn.utils.stateless", "optim", "optim.lr_scheduler", "optim.swa_utils", "profiler", "random"),
    *("testing", "utils.checkpoint", "utils.data", "utils.hooks"),
)


def parameters(value: Any) -> list[str] | None:
    """The names of the parameters of a callable, without self and without those that begin with an underscore."""
    try:
        every = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return None
    by_name = [each.name for each in every if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    return [name for name in by_name if name != "self" and not name.startswith("_")]


def callables(space: str) -> Iterator[tuple[str, Any]]:
    """The functions and classes that a module defines, and the methods that its classes define."""
    module = importlib.import_module(f"torch.{space}".rstrip("."))
    for name in sorted(dir(module)):
        value = getattr(module, name)
        if name.startswith("_") or not callable(value) or not str(value.__module__).startswith("torch"):
            continue
        if space and value is getattr(torch, name, module):
            continue
        if name.endswith("Storage") or (name.endswith("Tensor") and value is not torch.Tensor):
            continue
        yield name, value
        if inspect.isclass(value):
            for method, function in sorted(vars(value).items()):
                if not method.startswith("_") and inspect.isfunction(function):
                    yield f"{name}.{method}", function


if __name__ == "__main__":
    # by number; the objects are kept, so that no other one gets the number
    values: dict[int, Any] = {}
    by_space: dict[str, dict[str, str]] = {}
    for space in SPACES:
        for name, value in callables(space):
            names = parameters(value)
            if names and id(value) not in values:
                values[id(value)] = value
                by_space.setdefault(space, {})[name] = " ".join(names)
    release = torch.__version__.split("+")[0]
    LIST.write_text(json.dumps({"torch": release, "parameters": by_space}, indent=1) + "\n")
    print({space: len(listed) for space, listed in by_space.items()})
