"""Calls of modules with hooks, and classes of layers from declarations."""
