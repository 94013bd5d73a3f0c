"""CUDA, which CuPy serves."""

import importlib.util as _importlib_util

__all__ = ["is_built", "matmul"]


def is_built() -> bool:
    """True if CuPy is installed.

    `adjoint.cuda.is_available` says whether CuPy sees a device.
    """
    return _importlib_util.find_spec("cupy") is not None


class _Matmul:
    """Permissions for products of matrices on a device. CuPy's products do without, whatever is set here."""

    __slots__ = ("allow_bf16_reduced_precision_reduction", "allow_fp16_reduced_precision_reduction", "allow_tf32")

    def __init__(self) -> None:
        self.allow_tf32 = False
        self.allow_fp16_reduced_precision_reduction = True
        self.allow_bf16_reduced_precision_reduction = True


matmul = _Matmul()
