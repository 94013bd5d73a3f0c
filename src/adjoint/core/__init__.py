"""The graph and the engine. This folder's README states the invariants."""
