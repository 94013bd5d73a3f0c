"""Functions recorded once and replayed without Python: the parts of `adjoint.compile`."""
