"""adjoint under the name torch, for programs and libraries that import torch.

    python -m adjoint.as_torch script.py arguments
    python -m adjoint.as_torch -m pytest tests

These commands run a program without changes to it. `install()` does the same inside a process. docs/torch-libraries.md
lists the libraries that were tried.
"""

from adjoint.as_torch._installation import install, is_installed, uninstall

__all__ = ["install", "is_installed", "uninstall"]
