"""Tools for those who write and check derivatives: checkpoints, numerical checks, pictures of the graph."""
