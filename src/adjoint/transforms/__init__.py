"""Transformations of functions: forward mode, vmap, the functional API."""
