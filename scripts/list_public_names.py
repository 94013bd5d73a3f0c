"""Write the list of public names that tests/test_public_names.py compares with. Run after an intended change:

python scripts/list_public_names.py
"""

import json
import runpy
from pathlib import Path

import adjoint

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tests" / "data" / "public_names.json"
public = runpy.run_path(str(ROOT / "scripts" / "generate_stubs.py"))["public"]
SPACES = {
    "adjoint": adjoint,
    "adjoint.Tensor": adjoint.Tensor,
    "adjoint.accelerator": adjoint.accelerator,
    "adjoint.autograd": adjoint.autograd,
    "adjoint.autograd.forward_ad": adjoint.autograd.forward_ad,
    "adjoint.autograd.graph": adjoint.autograd.graph,
    "adjoint.autograd.profiler": adjoint.autograd.profiler,
    "adjoint.backends": adjoint.backends,
    "adjoint.cpu": adjoint.cpu,
    "adjoint.cuda": adjoint.cuda,
    "adjoint.fft": adjoint.fft,
    "adjoint.func": adjoint.func,
    "adjoint.implicit": adjoint.implicit,
    "adjoint.integrate": adjoint.integrate,
    "adjoint.linalg": adjoint.linalg,
    "adjoint.masked": adjoint.masked,
    "adjoint.nn": adjoint.nn,
    "adjoint.nn.functional": adjoint.nn.functional,
    "adjoint.optim": adjoint.optim,
    "adjoint.optim.lr_scheduler": adjoint.optim.lr_scheduler,
    "adjoint.optimize": adjoint.optimize,
    "adjoint.profiler": adjoint.profiler,
    "adjoint.random": adjoint.random,
    "adjoint.signal.windows": adjoint.signal.windows,
    "adjoint.special": adjoint.special,
    "adjoint.testing": adjoint.testing,
    "adjoint.utils": adjoint.utils,
    "adjoint.utils.checkpoint": adjoint.utils.checkpoint,
    "adjoint.utils.hooks": adjoint.utils.hooks,
}


def names() -> dict[str, list[str]]:
    """The public names of each module and of Tensor, sorted."""
    return {space: public(value) for space, value in SPACES.items()}


if __name__ == "__main__":
    LIST.write_text(json.dumps(names(), indent=1) + "\n")
    print({space: len(listed) for space, listed in names().items()})
