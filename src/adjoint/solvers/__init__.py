"""SciPy's solvers fed with derivatives, and derivatives of solutions; the faces are `implicit` and `optimize`."""
