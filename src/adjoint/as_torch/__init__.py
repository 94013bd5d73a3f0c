"""adjoint under the name torch, for programs and libraries that import torch.

    python -m adjoint.as_torch script.py arguments
    python -m adjoint.as_torch -m pytest tests

runs a program without editing it, and `install()` does the same inside a process. docs/torch-libraries.md says which
libraries were tried.
"""

from adjoint.as_torch._installation import install, is_installed, uninstall

__all__ = ["install", "is_installed", "uninstall"]
