"""SciPy's solvers with derivatives supplied, and derivatives of solutions: the code of `implicit` and `optimize`."""
