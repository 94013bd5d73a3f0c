"""functional_call, under its older name: torch.nn.utils.stateless."""

from adjoint.transforms.stateless import functional_call

__all__ = ["functional_call"]
