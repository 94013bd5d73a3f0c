"""What torch.nn has that is no class: the functions of `adjoint.nn.functional`."""

from . import functional

__all__ = ["functional"]
