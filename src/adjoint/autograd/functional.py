"""Products with Jacobians and Hessians, and these matrices themselves, under torch.autograd.functional's names."""

from adjoint.transforms.functional import hessian, hvp, jacobian, jvp, vhp, vjp

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
