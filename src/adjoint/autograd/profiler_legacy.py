"""The older profiler, under the names of torch.autograd.profiler_legacy."""

from adjoint.tools.profiler.legacy import profile

__all__ = ["profile"]
