"""Names of older versions of PyTorch, and names that are left out."""
