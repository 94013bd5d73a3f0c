"""Functions that define derivatives in forward mode. Those of NumPy's functions are in adjoint's table."""

from adjoint.compat.autograd.extend import def_linear, defjvp, defjvp_argnum, defjvp_argnums, vspace

__all__ = ["def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums", "vspace"]
