"""SciPy's sparse arrays as operands of differentiable functions."""
