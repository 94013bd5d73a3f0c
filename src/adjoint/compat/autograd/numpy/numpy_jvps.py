"""The derivatives of NumPy's functions in forward mode are in adjoint's table; new ones are given with these."""

from adjoint.compat.autograd.extend import def_linear, defjvp, defjvp_argnum, defjvp_argnums, vspace

__all__ = ["def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums", "vspace"]
