"""Training programs under torch's names, with their losses and times in adjoint and in PyTorch."""
