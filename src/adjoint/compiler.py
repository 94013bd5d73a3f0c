"""Control of compiled functions, see `adjoint.compile`."""

from adjoint.compilation.compiled import compile, disable, is_compiling, reset
from adjoint.compilation.recordings.recording import Unsupported

__all__ = ["Unsupported", "compile", "disable", "is_compiling", "reset"]
