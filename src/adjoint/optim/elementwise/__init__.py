"""Optimizers with an elementwise formula for a step."""
