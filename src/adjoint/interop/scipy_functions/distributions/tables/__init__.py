"""Formulas of standard forms by family, in adjoint's operations: where SciPy's own code does not run on Arrays."""
