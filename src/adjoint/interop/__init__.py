"""Tensors in other libraries: NumPy's protocols, the array API standard, DLPack."""
