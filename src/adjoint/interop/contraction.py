"""The functions that opt_einsum calls on Tensors."""

from adjoint.interop.table import FUNCTIONS

einsum, tensordot, transpose = FUNCTIONS["einsum"], FUNCTIONS["tensordot"], FUNCTIONS["transpose"]
