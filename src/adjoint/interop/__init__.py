"""Floor 5: how other libraries meet Tensors: NumPy's protocols, the array API standard, DLPack."""
