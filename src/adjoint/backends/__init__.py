"""The libraries behind the arithmetic, under torch.backends' names: each module reports whether one is used.

Switches of libraries that are not used can be set, as programs do, and change nothing.
"""

import typing as _typing

from adjoint.tensor.older.absent import AttributeOf as _AttributeOf

from . import cpu, cuda, cudnn, mkl, mkldnn, mps, nnpack, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum"]

if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)
