"""functional_call under the name of its older module, torch.nn.utils.stateless."""

from adjoint.transforms.stateless import functional_call

__all__ = ["functional_call"]
