"""Training programs, written once under torch's names: their losses and their times in adjoint and in PyTorch."""
