"""Optimizers whose step is a formula for each element."""
