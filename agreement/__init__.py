"""The agreement of adjoint with PyTorch, by entry: `python -m agreement`."""
