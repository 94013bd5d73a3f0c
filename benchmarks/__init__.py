"""Paired timings of adjoint beside its peers and beside NumPy written by hand: `python -m benchmarks`."""
