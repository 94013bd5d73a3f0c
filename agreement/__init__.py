"""How far adjoint agrees with PyTorch, entry by entry: `python -m agreement`."""
