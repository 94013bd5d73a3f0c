"""Paired times of adjoint, of other libraries, and of NumPy code with derivatives by hand: `python -m benchmarks`."""
