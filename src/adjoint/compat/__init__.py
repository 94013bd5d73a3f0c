"""Other libraries' interfaces over adjoint: code that was written for them runs by changing an import."""
