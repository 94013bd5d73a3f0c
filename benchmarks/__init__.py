"""Paired times of adjoint, of its peers, and of NumPy by hand: `python -m benchmarks`."""
