"""Loops over truncated power series."""
